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
    from lurcher.inspect.brief import BriefAnswer
    from lurcher.inspect.context import ContextAnswer
    from lurcher.inspect.exists import ExistsAnswer
    from lurcher.inspect.explain import ExplainAnswer
    from lurcher.inspect.impact import ImpactAnswer
    from lurcher.inspect.outline import OutlineAnswer
    from lurcher.inspect.references.answer import ReferencesAnswer
    from lurcher.inspect.references.calls import CallsAnswer, ImplementationsAnswer
    from lurcher.inspect.why import WhyAnswer
    from lurcher.lanes.symbol import SymbolAnswer
    from lurcher.runtime import VERSION as __version__
    from lurcher.types import Answer, CommitInfo, Hit, Place

__all__ = [
    "Answer", "BriefAnswer", "BroadRoot", "CallsAnswer", "ClosedEngine", "CommitInfo", "ConfigError", "ContextAnswer",
    "CorruptIndex", "CursorError", "DatasetError", "DeadlineExceeded", "Engine", "ExistsAnswer", "ExplainAnswer", "FilterError",
    "Hit", "ImpactAnswer", "ImplementationsAnswer", "IndexBuilding", "IndexError_", "IndexLocked", "LurcherError",
    "MissingExtra", "ModelError", "OutdatedIndex", "OutlineAnswer", "PathError", "Place", "QueryError", "ReferencesAnswer",
    "RootGone", "ServerError", "StoreError", "SymbolAnswer", "UsageError", "WhyAnswer", "__version__",
]  # fmt: skip

_WHERE = {
    "Answer": "types", "CommitInfo": "types", "Hit": "types", "Place": "types", "Engine": "engine", "__version__": "runtime",
    "BriefAnswer": "inspect.brief", "CallsAnswer": "inspect.references.calls", "ContextAnswer": "inspect.context",
    "ExistsAnswer": "inspect.exists", "ExplainAnswer": "inspect.explain", "ImpactAnswer": "inspect.impact",
    "ImplementationsAnswer": "inspect.references.calls", "OutlineAnswer": "inspect.outline",
    "ReferencesAnswer": "inspect.references.answer", "SymbolAnswer": "lanes.symbol", "WhyAnswer": "inspect.why",
}  # fmt: skip
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
