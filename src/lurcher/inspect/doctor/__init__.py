"""`lurcher doctor`: checks everything an answer depends on, and says how to repair it. Changes nothing.

Here is what a check reports, a `Finding`; `checks` has the list of checks.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.errors import LurcherError

if TYPE_CHECKING:
    from lurcher.inspect.doctor.services import Health


OK, NOTE, PROBLEM = "ok", "note", "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    state: str
    """ok, note (worth knowing, but nothing is wrong) or problem"""
    message: str
    hint: str = ""
    root: str = ""
    """The root it is about; empty for the installation."""
    health: Health | None = None
    """The details, if it is about a service."""

    def to_dict(self) -> dict[str, Any]:
        plain = {name: value for name, value in asdict(self).items() if name != "health"}
        return {**plain, **({"service": self.health.to_dict()} if self.health is not None else {})}


def run_check(name: str, check: Callable[[], Iterator[Finding]], root: str = "") -> Iterator[Finding]:
    """The findings of a check; a check that fails is reported as a problem."""
    try:
        for finding in check():
            yield replace(finding, root=root)
    except LurcherError as error:
        yield Finding(name, PROBLEM, error.message, error.hint, root)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        yield Finding(name, PROBLEM, f"{where}{error.strerror or error}", "check that it can be read", root)
    except Exception as error:  # the other checks go on
        yield Finding(name, PROBLEM, f"the check itself failed: {type(error).__name__}: {error}", "please report this", root)


def run_hint(text: str, root: Path) -> str:
    """A hint to run a command on `root`, which is named unless it is around the current folder."""
    try:
        inside = Path.cwd().is_relative_to(root)
    except OSError:
        inside = False
    return f"run: {text}" if inside else f"run: {text} {shlex.quote(str(root))}"


def first_few(names: list[str], most: int = 3) -> str:
    """The first few names of many."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")
