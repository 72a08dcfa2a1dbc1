"""Arguments of the usual form, read without argparse, which takes ten milliseconds to load and to set up.

Everything unusual is left to argparse: help, errors, short flags in one word, negative numbers, `--`. What is read here is
read the same there.
"""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING
from lurcher.surfaces.cli.declared import SEARCH

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from lurcher.surfaces.cli.declared import Command, Flag

_KINDS = {"int": int, "float": float}


class Arguments:
    """Each argument by its name, as argparse's `Namespace` has them."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)


def straight(arguments: Sequence[str], command: Command = SEARCH) -> Arguments | None:
    """The arguments of a command; None where argparse has to read them, or to say what is wrong with them."""
    if not arguments or arguments[0] != command.name:
        return None
    flags = {name: flag for flag in command.flags for name in flag.names if name[0] == "-"}
    values: dict[str, Any] = {"command": command.name}
    for flag in command.flags:
        values[flag.target] = {"switch": False, "list": [], "paths": []}.get(flag.kind)
    placed: list[str] = []
    rest = iter(arguments[1:])
    for argument in rest:
        if argument[:1] != "-" or (argument == "-" and not placed):
            placed.append(argument)
            continue
        name, sign, value = argument.partition("=") if argument.startswith("--") else (argument, "", "")
        known = flags.get(name)
        if known is None or (sign and (known.kind == "switch" or not value)):
            return None
        if known.kind == "switch":
            values[known.target] = True
            continue
        value = value if sign else next(rest, "-")
        if value[:1] == "-" or not _put(values, known, value):
            return None
    if not placed:
        return None
    values["query"], *values["path"] = placed
    return Arguments(values)


def _put(values: dict[str, Any], flag: Flag, text: str) -> bool:
    """Adds what a flag was given; False where it cannot be that."""
    try:
        value = _KINDS.get(flag.kind, str)(text)
    except ValueError:
        return False
    if flag.choices and not flag.more and value not in flag.choices:
        return False
    if flag.kind == "list":
        values[flag.target].append(value)
    else:
        values[flag.target] = value
    return True
