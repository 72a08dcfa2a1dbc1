"""Takes standard input and output for the protocol alone, before anything is imported that might print.

From then on the numbers 0 and 1 belong to nobody: what reads input finds none, and what prints, a library or a child process,
prints to stderr.
"""

from __future__ import annotations

import os
from typing import IO


def claimed() -> tuple[IO[bytes], IO[bytes]]:
    """Standard input and output for the protocol alone."""
    source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        os.dup2(2, 1)
    except OSError:  # started without stderr
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.close(nothing)
    return source, target
