"""Hostile names: files, folders, links, pipes and sockets called whatever a file system allows, and texts to match."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import socket
import stat
from pathlib import Path

from tests.conftest import git
from tests.drills.commands import said_by, unsound
from tests.drills.drill import Drill

PIECES = (
    b"a", b"client", b".py", b".md", b".ts", b" ", b"-", b"--", b"-rf", b".", b"..x", b"\n", b"\r", b"\t", b"\x1b]0;T\x07",
    b"\x1b[31m", b"\x07", b"\x08", b"\x7f", b"\xc2\x9b31m", b"\xe2\x80\xae", b"\xe2\x80\x8b", b"\xff", b"\xc3",
    b"\xed\xa0\x80", b"\\", b'"', b"'", b"`", b"$(touch x)", b";", b"|", b"&", b"*", b"?", b"[", b"]", b"{", b"}", b"~", b"!",
    b"#", b"%", b"%2e%2e", b":", b"@", b"=", b"<b>", b"\xf0\x9f\x98\x80", b"\xe6\xbc\xa2", b"e\xcc\x81", b"CON", b"nul",
    b"x" * 60, b"\xc3\xa9" * 40,
)  # fmt: skip
NAMES = (
    b"-", b"--json", b"-k", b".GIT", b".git ", b".git.", b"git~1", b".g\xe2\x80\x8cit", b".gitignore\n", b".lurcher2",
    b"lurcher.toml ", b"__init__.py", b"\x1b]0;T\x07.py", b"a\nb.py", b" .py", b".py", b"...", b"x" * 255, b"\xff\xfe.py",
    b"con.py", b"a:1:2.py", b"http:", b"evil\x1b[2J.md",
)  # fmt: skip
TEXTS = (
    b"def follow_redirects(response):\n    return response\n", b"class Client:\n    pass\n",
    b"# Guide\n\nredirects [[x]] and cookies\n", b"\x1b]0;redirects\x07\x1b[31m redirects\x9b\n", b"redirects \xff\xfe\x80\n",
    b"\xef\xbb\xbfredirects\r\nmore\r\n", b"", b"\n", b"redirects\0\0\n", b"redirects " * 3000,
    "redirects \u202e\u200d\u2028 漢字\n".encode(), b"def \x1b[31mredirects(): pass\n", b"redirects \x07\x08\x7f\r over\n",
)  # fmt: skip
COMMANDS = (
    ("index",), ("search", "redirects"), ("search", "redirects", "--json"), ("search", "redirects", "--explain"),
    ("search", "redirects", "--mode", "literal"), ("search", "redirects", "--in", "all"), ("symbol", "Client"),
    ("symbol", "follow_redirects", "--json"), ("status",), ("status", "--json"), ("doctor",), ("notes", "redirects"),
    ("history", "redirects"), ("history", "redirects", "--json"), ("exists", "redirects"), ("context", "."), ("outline", "."),
    ("search", "redirects", "--format", "vimgrep"), ("status", "--skipped"),
)  # fmt: skip
OF_FILE = ("brief", "outline", "impact", "context", "explain")


class Names(Drill):
    """Commands end well, say nothing that a terminal would obey, and JSON is JSON."""

    name = "names"
    short, long = 25, 2_000
    cpu_seconds = 120.0

    def attempt(self, chance: random.Random) -> str | None:
        root = self.folder / "tree"
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        files = grow(os.fsencode(root), chance)
        if chance.random() < 0.7:
            self._commit(root, chance)
        for command in chance.sample(COMMANDS, 4):
            if wrong := self._run([command[0], *([] if command[1:] == (".",) else command[1:]), root]):
                return wrong
        for name in chance.sample(OF_FILE, 2):
            if files and (wrong := self._run([name, os.fsdecode(chance.choice(files))])):
                return wrong
        return None

    def _run(self, arguments: list[str | Path]) -> str | None:
        said = said_by(arguments)
        self.counts[f"commands that ended with {said.status}"] += 1
        return unsound(said, arguments)

    def _commit(self, root: Path, chance: random.Random) -> None:
        """A history with hostile messages and authors, where git takes the names."""
        author = os.fsdecode(b"".join(chance.choices(PIECES, k=3)).translate(None, b"\n<>\0\r"))
        message = os.fsdecode(b"redirects " + b"".join(chance.choices(PIECES, k=5)))
        with contextlib.suppress(Exception):
            git(root, "init", "-q")
            git(root, "add", "-A")
            git(root, "-c", f"user.name={author}x", "commit", "-q", "--cleanup=verbatim", "-m", message)


def grow(root: bytes, chance: random.Random) -> list[bytes]:
    """A tree of such names; its regular files."""
    folders, files = [root], []
    for _ in range(chance.randint(3, 25)):
        folder = chance.choice(folders)
        name = chance.choice(NAMES) if chance.random() < 0.3 else b"".join(chance.choices(PIECES, k=chance.randint(1, 5)))
        path = os.path.join(folder, name.replace(b"/", b"_")[:255])
        turn = chance.random()
        with contextlib.suppress(OSError, ValueError):
            if turn < 0.6:
                if os.path.lexists(path):
                    continue
                with open(path, "wb") as handle:
                    handle.write(chance.choice(TEXTS))
                files.append(path)
            elif turn < 0.75:
                Path(os.fsdecode(path)).mkdir()
                folders.append(path)
            elif turn < 0.85:
                leads = chance.choice((b".", b"..", name, b"/etc/passwd", b"/dev/zero", b"nowhere", *files))
                Path(os.fsdecode(path)).symlink_to(os.fsdecode(leads))
            elif turn < 0.9:
                os.mkfifo(path)
            elif turn < 0.95:
                with socket.socket(socket.AF_UNIX) as made:
                    made.bind(path)
            else:
                os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # zeros without end, where one may make it
    return files


DRILL = Names
