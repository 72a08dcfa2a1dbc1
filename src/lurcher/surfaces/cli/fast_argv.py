"""Reads the usual arguments of `lurcher search`, `references`, `implementations` and `hook` without argparse.

That takes 19 ms of processor time to load and to set up. Anything unusual is left to argparse: help, errors, short flags in
one word, negative numbers, `--`. Both read the same arguments in the same way.
"""

from __future__ import annotations

from lurcher.errors import UsageError
from lurcher.surfaces import IMPLEMENTATIONS, REFERENCES, SEARCH, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


_COMMANDS = {"search": SEARCH, "references": REFERENCES, "implementations": IMPLEMENTATIONS}


class Arguments:
    """Each argument as an attribute, like argparse's `Namespace`."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)


def is_question(first: str) -> bool:
    """Whether a first argument is a query and no command: it has several words."""
    return first[:1] != "-" and any([character.isspace() for character in first.strip()])


def parse_usual(arguments: Sequence[str]) -> Arguments | None:
    """The arguments of one of these commands; None where argparse has to read them, or to say what is wrong with them."""
    if list(arguments) == ["hook"]:
        return Arguments({"command": "hook"})
    if arguments and is_question(arguments[0]):
        arguments = ["search", *arguments]
    command = arguments[0] if arguments else ""
    if command not in _COMMANDS:
        return None
    parameters = _COMMANDS[command]
    flags = {flag: parameter for parameter in parameters for flag in parameter.flags}
    values: dict[str, Any] = {"command": command}
    for parameter in parameters:
        values[parameter.target] = False if parameter.kind == "switch" else [] if parameter.many else None
    places: list[str] = []
    rest = iter(arguments[1:])
    for argument in rest:
        if argument[:1] != "-" or (argument == "-" and not places):
            places.append(argument)
            continue
        name, sign, text = argument.partition("=") if argument.startswith("--") else (argument, "", "")
        known = flags.get(name)
        if known is None or (sign and (known.kind == "switch" or not text)):
            return None
        if known.kind == "switch":
            values[known.target] = True
            continue
        text = text if sign else next(rest, "-")
        if text[:1] == "-":
            return None
        try:
            value = read(known, text, name, bounds=False)
        except UsageError:
            return None
        if known.many:
            values[known.target].append(value)
        else:
            values[known.target] = value
    if not places:
        return None
    values[parameters[0].name], *values["path"] = places
    return Arguments(values)
