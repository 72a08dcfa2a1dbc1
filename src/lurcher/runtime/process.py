"""Whether this process is lurcher's own, as that of a command is, or a program that uses lurcher as a library.

Only our own may be copied (runtime/fork.py): we know what runs in it.
"""

from __future__ import annotations

_owned = False


def claim_process() -> None:
    """From now on this process counts as ours."""
    global _owned
    _owned = True


def is_own_process() -> bool:
    return _owned
