"""Finds the code that answers a question: offline, in milliseconds, with the reason for every hit.

    from lurcher import Engine

    with Engine.open("path/to/repository") as engine:
        for hit in engine.search("how are redirects followed"):
            print(hit.path, hit.start_line, hit.score)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lurcher.engine import Engine
    from lurcher.errors import (
        BroadRoot,
        ClosedEngine,
        ConfigError,
        CorruptIndex,
        CursorError,
        DatasetError,
        DeadlineExceeded,
        FilterError,
        IndexBuilding,
        IndexError_,
        IndexLocked,
        LurcherError,
        MissingExtra,
        ModelError,
        OutdatedIndex,
        PathError,
        QueryError,
        RootGone,
        ServerError,
        StoreError,
        UsageError,
    )
    from lurcher.runtime import VERSION as __version__
    from lurcher.types import Answer, CommitInfo, Hit, Place

__all__ = [
    "Answer", "BroadRoot", "ClosedEngine", "CommitInfo", "ConfigError", "CorruptIndex", "CursorError", "DatasetError",
    "DeadlineExceeded", "Engine", "FilterError", "Hit", "IndexBuilding", "IndexError_", "IndexLocked", "LurcherError",
    "MissingExtra", "ModelError", "OutdatedIndex", "PathError", "Place", "QueryError", "RootGone", "ServerError", "StoreError",
    "UsageError", "__version__",
]  # fmt: skip

_WHERE = dict.fromkeys(("Answer", "CommitInfo", "Hit", "Place"), "types") | {"Engine": "engine", "__version__": "runtime"}
"""The modules of the public names that are not errors."""


def __getattr__(name: str) -> object:
    """The public names, each loaded when it is first used: a command that needs none of them loads none."""
    if name not in __all__:
        raise AttributeError(f"module 'lurcher' has no attribute '{name}'")
    import importlib

    module = importlib.import_module(f"lurcher.{_WHERE.get(name, 'errors')}")
    found: object = getattr(module, "VERSION" if name == "__version__" else name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
