"""Finds the code that answers a question: offline, in milliseconds, with the reason for every hit.

    from lurcher import Engine

    with Engine.open("path/to/repository") as engine:
        for hit in engine.search("how are redirects followed").hits:
            print(hit.path, hit.start_line, hit.score)
"""

from __future__ import annotations

import os

from lurcher.errors import LurcherError
from lurcher.light import TYPE_CHECKING
from lurcher.types import Answer, Hit
from lurcher.version import VERSION as __version__

if TYPE_CHECKING:
    from lurcher.engine import Engine

__all__ = ["Answer", "Engine", "Hit", "LurcherError", "__version__"]

# The arrays here are small: a pool of BLAS threads costs more at start-up than it ever gives back.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")


def __getattr__(name: str) -> object:
    if name == "Engine":
        from lurcher.engine import Engine

        return Engine
    raise AttributeError(f"module 'lurcher' has no attribute '{name}'")
