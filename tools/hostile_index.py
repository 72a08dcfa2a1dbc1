"""Index files as somebody might write them who wants a question to go wrong, and questions to them.

A real index of a small tree is taken apart; numbers in its sections are replaced, parts of them cut off or put in, and all
of it is put together again with checksums that are right, so that nobody but its readers can tell. A question may be answered,
or the index may be called damaged; anything else is a mistake of ours.
"""

from __future__ import annotations

import os
import random
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lurcher.engine import Engine
from lurcher.errors import LurcherError
from lurcher.index.container import BLOCKS, PACKED, Container, checksum
from lurcher.index.packing import Builder
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
}
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
    def _heal(self, progress: Any = silent) -> None:
        raise Damaged


class Hostile:
    """A tree with an index, whose files are replaced for each question."""

    def __init__(self, rng: random.Random) -> None:
        self._random = rng
        self._held = tempfile.TemporaryDirectory(prefix="lurcher-fuzz-")
        self._root = Path(self._held.name)
        os.environ["LURCHER_CONFIG"] = os.devnull
        for name, text in TREE.items():
            (self._root / name).parent.mkdir(parents=True, exist_ok=True)
            (self._root / name).write_text(text)
            os.utime(self._root / name, (10**9, 10**9))
        with self._opened() as engine:
            engine.index()
        self._folder = self._root / ".lurcher"
        self._manifest = (self._folder / "manifest").read_bytes()
        self._segments = [path.read_bytes() for path in self._folder.glob("*.segment")]

    def _opened(self) -> Unhealed:
        engine = Unhealed.open(self._root, root=self._root, overrides={"index.workers": 1})
        assert isinstance(engine, Unhealed)
        return engine

    def ask(self) -> bool:
        """Whether the index was believed, and an answer came of it."""
        written = self._replace()
        try:
            with self._opened() as engine:
                for question, options in self._random.sample(QUESTIONS, 3):
                    engine.search(question, refresh=False, check=False, **options)
                engine.related("src/client.py", 4, refresh=False, check=False)
                engine.outline("web/router.ts", refresh=False, check=False)
                engine.impact("src/cookies.py", refresh=False, check=False)
                if self._random.random() < 0.1:  # these look at the tree, and may make the index anew
                    engine.symbol("Client")
                    engine.search("redirects")
        except (LurcherError, Damaged):
            return False
        return (self._folder / "manifest").read_bytes() == written

    def _replace(self) -> bytes:
        """Puts another index into the folder; its manifest."""
        for path in self._folder.glob("*.segment"):
            path.unlink()
        named = []
        for segment in self._segments:
            data, digest = self._bent(segment)
            named.append(f"{digest}.segment")
            (self._folder / named[-1]).write_bytes(data)
        # A segment is found by its digest, and one that has the stamp of a file that we wrote would be believed unread.
        data, _ = self._bent(self._manifest, {"segments": named, "stamps": {}}, often=0.2)
        (self._folder / "manifest").write_bytes(data)
        return data

    def _bent(self, data: bytes, said: Mapping[str, Any] | None = None, often: float = 0.9) -> tuple[bytes, str]:
        """A container with other sections, and checksums that are right; and its digest."""
        container, bent = Container(data, "a container"), self._random.random() < often
        names = sorted(container._table)
        chosen = self._random.sample(names, self._random.choice((1, 1, 2, 4))) if bent else []
        out, packed = bytearray(), b""
        builder = Builder(out.extend)
        for section, entry in sorted(container._table.items(), key=lambda item: item[1].position):
            stored = data[entry.position : entry.position + entry.length]
            if section in chosen:
                stored = self._other(stored, 1 if entry.kind == PACKED else 4)
            if section.endswith(BLOCKS) and self._random.random() < 0.9:
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
        self._held.cleanup()
