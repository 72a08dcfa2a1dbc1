"""Hostile settings of a project: any value for anything, to send text elsewhere, write elsewhere, or take the machine."""

from __future__ import annotations

import errno
import os
import random
import shutil
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lurcher.config import Settings
from tests.drills.commands import said_by, unsound
from tests.drills.drill import Drill
from tests.drills.trees import past
from tests.indexing.crashes import small_pieces

ADDRESSES = (
    "http://127.0.0.1:9", "https://evil.example", "qdrant://evil.example:6333", "postgres://evil.example/x", "file:///etc/passwd",
)  # fmt: skip
PLACES = (
    "/tmp/elsewhere", "../outside", ".git", ".git/.lurcher", ".", "src", "~/.lurcher", "$HOME/x", ".lurcher/../src", "/",
    "\\u0000",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 256, 10**6, 1 << 31, 1 << 63, -(1 << 63), 0.0, 1e308, -0.5)
WORDS = (
    "llm", "cross", "llm cross", "tei", "ollama", "openai", "onnx", "qdrant", "classic", "default", "", "x" * 10_000, "os",
    "\\u001b]0;T\\u0007", "../x",
)  # fmt: skip
SENDING = (
    'search.rerank = "llm"', 'search.rerank = "cross"', 'embedding.provider = "ollama"', 'embedding.provider = "tei"',
    'sparse.provider = "tei"', 'store.url = "qdrant://127.0.0.1:6333"', "index.workers = 256", 'index.dir = ".git/.lurcher"',
    "search.limit = 100", 'reranker.url = "http://127.0.0.1:9"', 'judge.url = "http://127.0.0.1:9"', 'judge.model = "other"',
)  # fmt: skip
COMMANDS = (
    ("search", "how are redirects followed"), ("index", "--rebuild"), ("search", "cookies", "--in", "all"), ("status",),
    ("doctor", "--quick"), ("notes", "redirects"), ("history", "cookies"), ("symbol", "Client"), ("config", "show"),
    ("search", "x", "--json"),
)  # fmt: skip
NO_SETTINGS = (
    "[", "a = ", "\x00", "[index]\nworkers = [1]\n", "x" * 100_000, "[" * 5_000, "a.b.c.d = 1\n", "[[index]]\n",
)  # fmt: skip
MOST_PROCESSES = 3 * (os.cpu_count() or 1) + 8


class Settings_(Drill):
    """No connection is made, nothing is written outside of the project, into .git or over its files, and no herd of processes
    is started: what a project may not decide is refused with a reason, the rest is followed."""

    name = "settings"
    short, long = 40, 1_000
    cpu_seconds = 120.0

    def __init__(self, folder: Path, sources: Sequence[Path]) -> None:
        super().__init__(folder, sources)
        self._pristine = past(folder / "pristine")
        self._keys = sorted(Settings().to_dict())
        self._connected: list[str] = []
        self._written: list[str] = []
        self._started = 0
        self._watching = False
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._watching:
            return
        if event == "socket.connect" and arguments[0].family != socket.AF_UNIX:
            self._connected.append(str(arguments[1]))
        elif event == "subprocess.Popen" and "python" in str(arguments[0]):
            self._started += 1
            if self._started > MOST_PROCESSES:  # enough to know
                raise OSError(errno.EAGAIN, "a drill allows no more processes")
        elif event == "os.mkdir" or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            path = os.fsdecode(arguments[0]) if isinstance(arguments[0], (str, bytes)) else ""
            if path.startswith("/") and not path.startswith(("/dev/", "/proc/", str(self.folder / "shop" / ".lurcher"))):
                self._written.append(path)

    def attempt(self, chance: random.Random) -> str | None:
        shop = self.folder / "shop"
        shutil.rmtree(shop, ignore_errors=True)
        shutil.copytree(self._pristine, shop)
        text = self._text(chance)
        name = chance.choice(("lurcher.toml", "pyproject.toml"))
        (shop / name).write_text(text if name == "lurcher.toml" else f"[tool.lurcher]\n{text}")
        before = _seen(shop)
        self._connected, self._written, self._started = [], [], 0
        command = chance.choice(COMMANDS)
        self._watching = True
        try:
            with small_pieces():
                said = said_by([*command, shop])
        finally:
            self._watching = False
        self.counts[f"commands that ended with {said.status}"] += 1
        wrong = unsound(said, command)
        if self._connected:
            wrong = f"it connected to {self._connected[:3]}"
        elif self._started > MOST_PROCESSES:
            wrong = f"it started {self._started} processes"
        elif outside := [path for path in self._written if "__pycache__" not in path and not path.startswith(_temporary())]:
            wrong = f"it wrote to {outside[:3]}"
        elif (after := _seen(shop)) != before:
            wrong = f"it changed files of the project: {sorted(set(after.items()) ^ set(before.items()))[:4]}"
        return wrong and f"{command}, {name}: {text!r}: {wrong}"

    def _text(self, chance: random.Random) -> str:
        if chance.random() < 0.1:  # no settings at all, in a file that is called so
            return chance.choice(NO_SETTINGS)
        lines = chance.sample(SENDING, chance.randint(1, 3))
        if chance.random() < 0.5:
            lines = [f"{key} = {_value(chance)}" for key in chance.sample(self._keys, chance.randint(1, 3))]
        keys: dict[str, str] = {line.partition(" = ")[0]: line for line in lines}
        return "".join(f"{line}\n" for line in sorted(keys.values()))


def _value(chance: random.Random) -> str:
    turn = chance.random()
    if turn < 0.4:
        return str(chance.choice(NUMBERS))
    if turn < 0.9:
        return '"' + chance.choice(ADDRESSES + PLACES + WORDS) + '"'
    return chance.choice(("true", "false", "[]", '["a", 1]', "{}", "nan", "inf", "1979-05-27", '""', "[[[[]]]]"))


def _temporary() -> tuple[str, ...]:
    return (os.environ["TMPDIR"], "/tmp/lurcher-")


def _seen(folder: Path) -> dict[str, tuple[int, int]]:
    """The files of the project, but for those of its index."""
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith(".lurcher") and name != ".git/index":
            status = path.stat()
            found[name] = status.st_size, status.st_mtime_ns
    return found


DRILL = Settings_
