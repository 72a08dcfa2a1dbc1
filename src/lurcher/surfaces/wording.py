"""What errors and notes say, in the words of the surface that tells it.

The engine speaks as the command line does: `use --mode hybrid`, `run: lurcher index --history`. Other surfaces have no flags;
each says by its `Words` what it calls the same things, and puts everything it tells through them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lurcher.types import Degraded

_VALUE = r"""'[^']*'|"[^"]*"|[A-Za-z0-9_][\w./:|*#-]*"""
_FLAG = re.compile(rf"(?<![\w'\"-])--(?P<name>[a-z][a-z-]*)(?:(?:=|\ )(?P<value>{_VALUE}))?")
_COMMAND = re.compile(r"(?:run: )?lurcher (?P<name>[a-z]+)(?P<flags>(?: --[a-z][a-z-]*(?: [A-Z][A-Z:]*(?![\w]))?)*)")
_OTHERS = re.compile(r"(\b(?:git|hf|pip|python3?|lurcher mcp) [^;,]*)")
"""Commands of other programs, and the one that a program's settings start."""
_TOLD = frozenset({"hint", "reason", "problem", "message"})


@dataclass(frozen=True, slots=True)
class Words:
    """What one surface calls what the command line has."""

    names: Mapping[str, str]
    """The parameter for a flag; `mode=literal` is one with its value. Flags that are not here are told as options."""
    switches: frozenset[str] = frozenset()
    """Flags that take no value."""
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The values that a flag may have, where these are few."""
    commands: frozenset[str] = frozenset()
    """Commands that the surface has too, under the same name."""

    def of(self, text: str) -> str:
        if "--" not in text:
            return text
        parts = _OTHERS.split(text)
        parts[::2] = [_FLAG.sub(self._flag, _COMMAND.sub(self._command, part)) for part in parts[::2]]
        return "".join(parts)

    def notes(self, degraded: Sequence[Degraded]) -> tuple[Degraded, ...]:
        return tuple(Degraded(note.stage, self.of(note.reason), self.of(note.hint)) for note in degraded)

    def told(self, value: Any) -> Any:
        """A JSON value whose errors and notes are in these words; what repositories hold is left as it is."""
        if isinstance(value, dict):
            return {
                name: self.of(one) if name in _TOLD and isinstance(one, str) else one if name == "hits" else self.told(one)
                for name, one in value.items()
            }
        return [self.told(one) for one in value] if isinstance(value, list) else value

    def _flag(self, found: re.Match[str]) -> str:
        name, value = found["name"], found["value"]
        known = self.names.get(name)
        if known is not None and "=" in known:
            return known + (f" {value}" if value else "")
        if name in self.switches:
            return (f"{known}=true" if known else f"the option {name}") + (f" {value}" if value else "")
        apart = f" {value}" if value else ""
        if value and not self._is_value(name, value):
            value = None
        else:
            apart = ""
        if known is None:
            return f"the option {name}" + (f" {value}" if value else "") + apart
        return (f"{known}={value}" if value else f"'{known}'") + apart

    def _is_value(self, name: str, value: str) -> bool:
        """Whether what follows a flag belongs to it, and is not the next word of the sentence."""
        if name in self.choices:
            return value in self.choices[name]
        return not (value.isalpha() and value.islower())

    def _command(self, found: re.Match[str]) -> str:
        if not found["flags"]:
            return found[0]
        name, flags = found["name"], [part.strip() for part in found["flags"].split(" --") if part.strip()]
        if name in self.commands and all("=" in self.names.get(flag, "") or flag in self.switches for flag in flags):
            here = [known if "=" in (known := self.names.get(flag, flag)) else f"{known}=true" for flag in flags]
            return f"call {name} with {' and '.join(here)}"
        return f"run lurcher {name} in a terminal, with its option{'s' if len(flags) > 1 else ''} {' and '.join(flags)}"
