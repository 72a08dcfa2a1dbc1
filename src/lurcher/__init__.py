"""Finds the code that answers a question: offline, in milliseconds, with the reason for every hit.

    from lurcher import Engine

    with Engine.open("path/to/repository") as engine:
        for hit in engine.search("how are redirects followed").hits:
            print(hit.path, hit.start_line, hit.score)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lurcher.engine import Engine
    from lurcher.errors import LurcherError
    from lurcher.runtime import VERSION as __version__
    from lurcher.types import Answer, Hit

__all__ = ["Answer", "Engine", "Hit", "LurcherError", "__version__"]

_WHERE = {
    "Answer": "lurcher.types", "Engine": "lurcher.engine", "Hit": "lurcher.types", "LurcherError": "lurcher.errors",
    "__version__": "lurcher.runtime",
}  # fmt: skip


def __getattr__(name: str) -> object:
    """The public names, each loaded when it is first used: a command that needs none of them loads none."""
    if name not in _WHERE:
        raise AttributeError(f"module 'lurcher' has no attribute '{name}'")
    import importlib

    found: object = getattr(importlib.import_module(_WHERE[name]), "VERSION" if name == "__version__" else name)
    globals()[name] = found
    return found
