"""Times queries inside one process with semble's Python API: TREE QUERIES CONTENT → JSON on stdout."""

import json
import sys
import time
from pathlib import Path

from semble import SembleIndex
from semble.types import ContentType

LIMIT = 10


def main(tree: str, queries: str, content: str) -> None:
    texts = Path(queries).read_text("utf-8").split("\n")
    texts = [text for text in texts if text.strip()]
    kinds = list(ContentType) if content == "all" else [ContentType(content)]
    index = SembleIndex.from_path(tree, content=kinds)
    assert index.loaded_from_disk, "the cached index was not used"
    for text in texts:
        index.search(text, top_k=LIMIT)
    times = []
    for text in texts:
        started = time.perf_counter()
        index.search(text, top_k=LIMIT)
        times.append(1000 * (time.perf_counter() - started))
    stats = index.stats
    print(json.dumps({"ms": times, "files": stats.indexed_files, "chunks": stats.total_chunks}))


if __name__ == "__main__":
    main(*sys.argv[1:])
