"""Where a shared store is kept."""

from __future__ import annotations

from lurcher.runtime.light import dataclass
from lurcher.settings import setting


@dataclass(frozen=True)
class PostgresSettings:
    """A shared store in PostgreSQL."""

    schema: str = setting("lurcher", "The schema that holds the tables.")
    vectors: str = setting(
        "cells", "How near vectors are found: those in the nearest cells, all (`exact`), or by an index of pgvector (`hnsw`).",
        choices=("cells", "exact", "hnsw"),
    )  # fmt: skip
    probes: float = setting(0.035, "`cells`: the share of them that a question looks into, at least 16.", low=0.001, high=1)
    postings: int = setting(
        20_000, "Entries of words that a question reads, those that weigh most first.", low=1_000, high=100_000_000
    )
    connections: int = setting(4, "Connections that one process has at a time.", low=1, high=100)
    write_seconds: float = setting(900.0, "How long it may take for one step of writing.", low=1, high=86_400)


@dataclass(frozen=True)
class QdrantSettings:
    """A store in Qdrant ([qdrant.md](qdrant.md)). A project's own file cannot set these."""

    collection: str = setting("code_chunks", "The collection of units; files and projects are in two more beside it.")
    ca: str = setting("", "A file with the certificates to believe, for a server whose certificate your system does not know.")
    write_seconds: float = setting(60.0, "How long one batch may take.", low=0.05, high=3600)
    patience: float = setting(120.0, "How long a batch is tried again while the server cannot take it.", low=0, high=86_400)
    lease_seconds: float = setting(30.0, "A writer that is not heard of for so long is out of the way.", low=1, high=3600)
    batch: int = setting(500, "Units that are sent together.", low=1, high=10_000)
    concurrency: int = setting(4, "Batches that are under way at once.", low=1, high=64)
    fusion: str = setting(
        "auto", "Who fuses the legs: Qdrant, or lurcher `here`, which is half the work for it; `auto`: Qdrant, if on a server.",
        choices=("auto", "server", "here"),
    )  # fmt: skip
    exact: bool = setting(False, "Compare a question with every vector instead of going by the graph.")
    quantisation: str = setting(
        "none", "For a new collection: smaller copies of vectors, which are searched first.",
        choices=("none", "scalar", "binary"),
    )  # fmt: skip
    vectors_on_disk: bool = setting(False, "For a new collection: vectors are read from disk, not kept in memory.")
    payload_on_disk: bool = setting(True, "For a new collection: text and the like are read from disk, not kept in memory.")
    shards: int = setting(1, "For a new collection: parts it is cut into.", low=1, high=1000)
    replicas: int = setting(1, "For a new collection: copies of each part.", low=1, high=100)
