"""Ends a process that a grammar does not give back.

A grammar is native code: while it runs, Python neither hears of Ctrl-C nor of anything else, and some run for ever on broken
text, taking more and more memory. The system's alarm ends such a process; the lock still says at which file, and whoever writes
next reads that one as plain text. Only a program that is ours alone may be ended so: the command line asks for it.
"""

from __future__ import annotations

SECONDS = 15.0
"""A file of the largest size takes about one."""

_enabled: bool | None = False
"""None: as soon as it is known whether the alarm is free."""


def enable() -> None:
    """From now on, no file may take longer than SECONDS; without effect where somebody else uses the alarm."""
    global _enabled
    _enabled = None


def is_enabled() -> bool:
    """Whether this program is ours alone."""
    return _enabled is not False


def begin() -> None:
    """A file is given to a grammar."""
    _set(SECONDS)


def end() -> None:
    _set(0)


def _set(seconds: float) -> None:
    global _enabled
    if _enabled is False:
        return
    import signal  # most commands read no file

    if _enabled is None:
        _enabled = hasattr(signal, "setitimer") and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    if _enabled:
        signal.setitimer(signal.ITIMER_REAL, seconds)
