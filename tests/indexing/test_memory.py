"""What an index costs in memory and on disk."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from lurcher.storage.container import Container
from tests.indexing.conftest import opened, write

BUILD = """
import resource, sys
from lurcher.engine import Engine
from lurcher.indexing import writer
from lurcher.storage import merge
from lurcher.storage import postings as merge_postings
writer.SHARD_BYTES = 250_000
merge._RELEASE_BYTES, merge_postings._SLICE_ROWS = 1 << 20, 20_000
overrides = {"index.workers": 1, "dense.model": "none"}
Engine.open(sys.argv[1], root=sys.argv[1], index_dir=sys.argv[2], overrides=overrides).index()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(tree: Path, index: Path) -> float:
    """Megabytes that a process needed at most to build an index of a tree."""
    done = subprocess.run([sys.executable, "-c", BUILD, str(tree), str(index)], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1000


def test_memory_does_not_grow_with_the_text(tmp_path: Path) -> None:
    """Four times the text may cost tables and terms, not memory for the text."""
    chance = random.Random(7)
    words = [f"{chance.choice(('get', 'set', 'read', 'find'))}_{chance.randrange(4000)}" for _ in range(4000)]
    for tree, files in (("small", 60), ("large", 240)):
        write(tmp_path / tree, {
            f"d{i % 7}/f{i}.txt": "\n".join(" ".join(chance.choices(words, k=9)) for _ in range(450)) for i in range(files)
        })  # fmt: skip
    small, large = (peak(tmp_path / tree, tmp_path / f"{tree}-index") for tree in ("small", "large"))
    text = sum(path.stat().st_size for path in (tmp_path / "large").rglob("*.txt")) / 1e6
    assert text > 8
    assert large - small < text / 4, f"{small} MB for a quarter of {text} MB, {large} MB for all of it"


def test_an_index_is_at_most_half_as_large_again_as_its_text(tmp_path: Path) -> None:
    """Of real code, with vectors: our own."""
    source = Path(__file__).resolve().parents[2] / "src" / "lurcher"
    index = tmp_path / "index"
    opened(source, index).index()
    text = sum(Container.open(path).length("text") for path in index.glob("*.segment"))
    size = sum(path.stat().st_size for path in index.iterdir())
    assert text > 300_000
    assert size <= 1.5 * text, f"{size} bytes for {text} bytes of text"
