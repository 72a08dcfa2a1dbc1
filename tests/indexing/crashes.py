"""A tree that keeps changing, and an index that is written in many small pieces."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lurcher.indexing import writer
from tests.indexing.conftest import write

LINES = (
    "def follow_redirects(response):\n    return response.next\n", "# keeps connections and cookies\n",
    "class Session:\n    def parse_cookie(self): pass\n", "type Pool struct {}\n", "redirected = redirects + 1\n",
)  # fmt: skip


@contextmanager
def small_pieces(segments: int = 3, shard: int = 400) -> Iterator[None]:
    """Segments merge often, and even a small tree is built in several pieces, by children where those are wanted."""
    wanted = {"MAX_SEGMENTS": segments, "SHARD_BYTES": shard, "PARALLEL_BYTES": shard}
    kept = {name: getattr(writer, name) for name in wanted}
    try:
        for name, value in wanted.items():
            setattr(writer, name, value)
        yield
    finally:
        for name, value in kept.items():
            setattr(writer, name, value)


def edit(root: Path, chance: random.Random) -> None:
    """Change the tree in a few places."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        files = sorted(path for path in root.rglob("*") if path.is_file())
        path = chance.choice(files)
        kind = chance.choice(("write", "write", "append", "delete", "rename"))
        text = "".join(chance.choice(LINES) for _ in range(chance.randint(1, 12)))
        if kind == "write" or len(files) < 8:
            write(root, {f"more/m{chance.randrange(12)}.py": text})
        elif kind == "append":
            path.write_bytes(path.read_bytes()[-2000:] + text.encode())
        elif kind == "delete":
            path.unlink()
        else:
            path.rename(path.with_name(f"r{chance.randrange(10**6)}{path.suffix}"))
