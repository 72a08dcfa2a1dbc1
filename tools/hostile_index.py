"""Index files as somebody might write them who wants a question to go wrong, and questions to them.

Real indexes of a small tree, its notes and its commits are taken apart; numbers in their sections are replaced, parts of them
cut off or put in, and all of it is put together again with checksums that are right, so that nobody but their readers can tell.
A question may be answered, or the index may be called damaged; anything else is a mistake of ours.

    python tools/hostile_index.py SECONDS [SEED]
"""

from __future__ import annotations

import collections
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lurcher.corpora.history.index import HistoryIndex
from lurcher.engine import Engine
from lurcher.errors import LurcherError
from lurcher.storage.container import BLOCK_LIST_SUFFIX, PACKED, Container, checksum
from lurcher.storage.container_writer import ContainerWriter
from lurcher.types import silent

TREE = {
    "src/client.py": (
        'import http\n\nclass Client(Base):\n    """Follows redirects."""\n\n    def follow_redirects(self, response):\n'
        "        return parse_cookie(response)\n"
    ),
    "src/cookies.py": "# Cookies of a session.\nfrom src import client\n\ndef parse_cookie(header):\n    return dict(header)\n",
    "web/router.ts": "import { x } from './other'\nexport class Router {\n    register(path: string) { return path }\n}\n",
    "web/other.ts": "export const x = 1\n" + "export function step() { return x }\n" * 200,
    "server/pool.go": "package server\n\n// Pool keeps connections.\ntype Pool struct{}\n\nfunc (p *Pool) Acquire() {}\n",
    "docs/guide.md": "# Guide\n\nThe client follows [redirects](../src/client.py) and keeps cookies.\n",
    "docs/cookies.md": (
        "---\ntitle: Cookies\naliases: [biscuits]\ntags: [web/session]\ndate: 2024-05-01\n---\n# Cookies\n\nSee [[guide]] and "
        "[the pool](pool.md#acquire).\n\n## Acquire\n\nA session keeps its cookies.\n\n## Acquire\n\nAgain.\n"
    ),
    "docs/pool.md": "# Pool\n\n#server\n\nConnections are kept, see [[biscuits]] and `parse_cookie`.\n\n## Acquire\n\nText.\n",
}
COMMITS: tuple[tuple[str, str, str], ...] = (
    ("src/client.py", "\n# Redirects are limited.\n", "Limit redirects\n\nA client could follow them for ever.\n"),
    ("src/cookies.py", "\ndef drop_cookie(name):\n    return None\n", "Add a way to drop cookies\n"),
    ("src/cookies.py", "", 'Revert "Add a way to drop cookies"\n\nThis broke sessions.\n'),
    ("server/pool.go", "\nfunc (p *Pool) Release() {}\n", "Fix a leak of connections\n\nFixes the pool.\n"),
)
"""What is added to a file, or taken from it again, and the message."""
QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("how are redirects followed", {}),
    ("parse_cookie", {}),
    ("Pool.Acquire", {"context": "function"}),
    ("router register path", {"ranking": "classic"}),
    ("keeps connections cookies", {"mode": "lexical"}),
    ("sessions of a client", {"mode": "dense"}),
    ("cookie", {"mode": "literal"}),
    ("/re[gd]i/", {"mode": "literal"}),
    ("TypeError in src/client.py\n  at Client.follow_redirects\n  parse_cookie(header) failed\n", {"limit": 30}),
)  # fmt: skip
NUMBERS = (0, 1, 2, 3, 7, 127, 128, 255, 256, 65535, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 61, 1 << 62,
    (1 << 63) - 1, 1 << 63, (1 << 64) - 1)  # fmt: skip


class Damaged(Exception):
    """The engine wants to make its index anew, which is as good an answer as any."""


class Unhealed(Engine):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._workspace.repair = _no_repair  # type: ignore[method-assign]


def _no_repair(progress: Any = silent) -> None:
    raise Damaged


def _no_new_history(self: HistoryIndex, *arguments: Any) -> Any:
    raise Damaged


class Hostile:
    """A repository with indexes, whose files are replaced for each question."""

    def __init__(self, rng: random.Random) -> None:
        self._random = rng
        self._held = tempfile.TemporaryDirectory(prefix="lurcher-fuzz-")
        self._root = Path(self._held.name)
        os.environ["LURCHER_CONFIG"] = os.devnull
        for name, text in TREE.items():
            (self._root / name).parent.mkdir(parents=True, exist_ok=True)
            (self._root / name).write_text(text)
        self._commit()
        for name in TREE:
            os.utime(self._root / name, (10**9, 10**9))
        with self._opened() as engine:
            engine.index(history=True)
        self._folder = self._root / ".lurcher"
        self._past = self._folder / "history"
        self._kept = {
            folder: {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix or path.name == "manifest"}
            for folder in (self._folder, self._past)
        }
        self._rebuild, HistoryIndex._rebuild = HistoryIndex._rebuild, _no_new_history  # type: ignore[method-assign]

    def _commit(self) -> None:
        def git(*arguments: str) -> None:
            settings = ("user.name=A", "user.email=a@example.org", "commit.gpgsign=false", "core.hooksPath=/dev/null")
            options = [item for setting in settings for item in ("-c", setting)]
            own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
            command, around = ["git", *options, *arguments], {**os.environ, **own}
            subprocess.run(command, cwd=self._root, check=True, capture_output=True, env=around)

        git("init", "-q")
        git("add", ".")
        git("commit", "-q", "-m", "Begin")
        for name, added, message in COMMITS:
            place = self._root / name
            place.write_text(place.read_text() + added if added else TREE[name])
            git("commit", "-q", "-a", "-m", message)

    def _opened(self) -> Unhealed:
        engine = Unhealed.open(self._root, root=self._root, overrides={"index.workers": 1})
        assert isinstance(engine, Unhealed)
        return engine

    def ask(self) -> bool:
        """Whether the index was believed, and an answer came of it."""
        written = self._replace()
        believed = True
        with self._opened() as engine:
            for question in self._questions(engine):
                try:
                    question()
                except (LurcherError, Damaged):
                    believed = False
        return believed and (self._folder / "manifest").read_bytes() == written

    def _questions(self, engine: Engine) -> list[Callable[[], Any]]:
        still: dict[str, Any] = {"refresh": False, "check": False}
        code: list[Callable[[], Any]] = [
            lambda question=question, options=options: engine.search(question, **still, **options)  # type: ignore[misc]
            for question, options in self._random.sample(QUESTIONS, 3)
        ]
        surveys: list[Callable[[], Any]] = [
            lambda: engine.related("src/client.py", 4, **still), lambda: engine.outline("web/router.ts", **still),
            lambda: engine.impact("src/cookies.py", **still), lambda: engine.context("src/client.py", **still),
            lambda: engine.exists("parse_cookie"), lambda: engine.why("docs/guide.md", "redirects", **still),
            lambda: engine.outline("docs/cookies.md", **still), lambda: engine.graph("src/client.py", **still),
        ]  # fmt: skip
        notes: list[Callable[[], Any]] = [
            lambda: engine.notes("where are cookies kept", **still), lambda: engine.notes("session", tags=["web"], **still),
            lambda: engine.notes("biscuits", since="2020-01-01", **still), lambda: engine.notes("pool", mode="dense", **still),
        ]  # fmt: skip
        past: list[Callable[[], Any]] = [
            lambda: engine.history("why were redirects limited", refresh=False),
            lambda: engine.history("cookies", mode="dense", refresh=False),
            lambda: engine.history("leak of connections", author="A", since="2000-01-01", refresh=False),
            lambda: engine.history("drop_cookie", mode="lexical", outcomes=["reverted"], refresh=False),
            lambda: engine.brief("src/cookies.py", **still), lambda: engine.explain("src/client.py"),
            lambda: engine.heat("server/pool.go"), lambda: engine.search("cookies", sources=["all"], **still),
        ]  # fmt: skip
        # These look at the tree, and may make the index anew.
        fresh: list[Callable[[], Any]] = [lambda: engine.symbol("Client"), lambda: engine.search("redirects"), engine.status]
        sample = self._random.sample
        found = [*code, *sample(surveys, 3), *sample(notes, 2), *sample(past, 2)]
        return [*found, *fresh] if self._random.random() < 0.1 else found

    def _replace(self) -> bytes:
        """Puts other indexes into the folders; the manifest of the files."""
        self._replace_in(self._past)
        return self._replace_in(self._folder)

    def _replace_in(self, folder: Path) -> bytes:
        for path in folder.iterdir():
            if path.suffix in (".segment", ".vectors", ".outcomes"):
                path.unlink()
        said: dict[str, Any] = {"segments": [], "stamps": {}}
        for name, content in self._kept[folder].items():
            kind = name.rpartition(".")[2]
            if kind in ("segment", "outcomes"):
                data, digest = self._bent(content)
                (folder / f"{digest}.{kind}").write_bytes(data)
                if kind == "segment":
                    said["segments"].append(f"{digest}.{kind}")
                else:
                    manifest = Container(self._kept[folder]["manifest"], "manifest")
                    said["judged"] = [f"{digest}.{kind}", *manifest.meta["judged"][1:]]
        # A segment is found by its digest, and one that has the stamp of a file that we wrote would be believed unread.
        data, _ = self._bent(self._kept[folder]["manifest"], said, often=0.2)
        (folder / "manifest").write_bytes(data)
        return data

    def _bent(self, data: bytes, said: Mapping[str, Any] | None = None, often: float = 0.9) -> tuple[bytes, str]:
        """A container with other sections, and checksums that are right; and its digest."""
        container, bent = Container(data, "a container"), self._random.random() < often
        names = sorted(container._table)
        chosen = self._random.sample(names, min(len(names), self._random.choice((1, 1, 2, 4)))) if bent else []
        out, packed = bytearray(), b""
        builder = ContainerWriter(out.extend)
        for section, entry in sorted(container._table.items(), key=lambda item: item[1].position):
            stored = data[entry.position : entry.position + entry.length]
            if section in chosen:
                stored = self._other(stored, 1 if entry.kind == PACKED else 4)
            if section.endswith(BLOCK_LIST_SUFFIX) and self._random.random() < 0.9:
                stored = self._resealed(stored, packed)
            # As it is stored: a packed section is not packed again.
            builder.begin(section, "V" if entry.kind == PACKED else entry.kind)
            builder.write(stored)
            builder.end()
            if entry.kind == PACKED:
                packed = stored
                builder._table[section][0] = PACKED
                builder._table[section][3] = []
        meta = {**container.meta, **(said or {})}
        if bent and self._random.random() < 0.1:
            meta[self._random.choice(sorted(meta))] = self._random.choice((None, [], {}, "", -1, 1.5, True, *NUMBERS))
        digest = builder.finish(meta)
        return bytes(out), digest

    def _other(self, data: bytes, width: int) -> bytes:
        changed = bytearray(data)
        for _ in range(self._random.choice((1, 1, 1, 3, 20))):
            turn, size = self._random.random(), self._random.choice((1, 2, 4, 4, 8))
            if turn < 0.8 and len(changed) >= size:
                place = self._random.randrange(0, len(changed) - size + 1)
                place -= place % size if self._random.random() < 0.7 else 0
                number = self._random.choice((*NUMBERS, self._random.getrandbits(64), len(changed), len(changed) // 4))
                near = int.from_bytes(changed[place : place + size], "little") + self._random.choice((-1, 1))
                number = near if self._random.random() < 0.3 else number
                changed[place : place + size] = (number % (1 << 8 * size)).to_bytes(size, "little")
            elif turn < 0.9:
                del changed[self._random.randrange(len(changed) // width + 1) * width :]
            else:
                changed += self._random.randbytes(width * self._random.choice((1, 2, 16)))
        return bytes(changed)

    def _resealed(self, blocks: bytes, packed: bytes) -> bytes:
        """The list of blocks of a packed section, with the checksums of what is there now."""
        numbers = list(struct.unpack(f"<{len(blocks) // 4}I", blocks[: len(blocks) // 4 * 4]))
        start = 0
        for place in range(2, len(numbers) - 1, 2):
            numbers[place + 1] = checksum()(packed[start : numbers[place]])
            start = numbers[place]
        return struct.pack(f"<{len(numbers)}I", *numbers)

    def close(self) -> None:
        HistoryIndex._rebuild = self._rebuild  # type: ignore[method-assign]
        self._held.cleanup()


def main(seconds: float, seed: int) -> int:
    hostile = Hostile(random.Random(seed))
    tries, believed, end = 0, 0, time.monotonic() + seconds
    failures: collections.Counter[str] = collections.Counter()
    while time.monotonic() < end:
        tries += 1
        try:
            believed += hostile.ask()
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            failures[f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"] += 1
            if failures.total() <= 3:
                traceback.print_exc()
    hostile.close()
    for failure, count in failures.most_common():
        print(f"{count} times {failure}")
    print(f"{tries} hostile indexes with seed {seed}: {believed} believed, {failures.total()} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())))
