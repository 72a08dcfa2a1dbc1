"""What a surface without flags calls parameters and commands, for the templates in errors and notes.

`lurcher.errors.Template` names a parameter neutrally; as a string it has the words of the command line. Surfaces put everything
they show through their `Wording`: `use --mode hybrid` becomes `use mode=hybrid`, `run: lurcher index --history` becomes
`call index with history=true` where there is such a tool. What the surface does not have is said to be the command line's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lurcher import surfaces
from lurcher.errors import Template
from lurcher.surfaces import Parameter
from lurcher.types import Degraded

_SHOWN_KEYS = frozenset({"hint", "reason", "problem", "message"})

DECLARED = {value.name: value for value in vars(surfaces).values() if isinstance(value, Parameter) and not value.place}
"""Every flag that is declared for all surfaces, by its neutral name."""


class Wording:
    """`operations` are the surface's calls, each with its parameters as it names them."""

    def __init__(self, surface: str, operations: Mapping[str, Sequence[Parameter]]) -> None:
        taken = {parameter.name for given in operations.values() for parameter in given}
        self._known = {
            name: known
            for name, declared in DECLARED.items()
            if getattr(declared, surface) is not None and (known := declared.on(surface)).name in taken
        }
        self._question = surfaces.QUERY.on(surface).name
        self._operations = {
            name: frozenset(parameter.name for parameter in given) for name, given in operations.items()
        }

    # -- what templates ask for ---------------------------------------------------------------------------------------------

    def parameter(self, name: str, value: str) -> str:
        name, value = self._resolve(name, value)
        known = self._known.get(name)
        if known is None:
            return f"the command-line option '{name.replace('_', '-')}'" + (f" {value}" if value else "")
        if known.kind == "switch":
            return f"{known.name}=true"
        return f"{known.name}={value}" if value else f"'{known.name}'"

    def command(self, name: str, options: list[tuple[str, str]], argument: str, *, run: bool) -> str:
        resolved = [self._resolve(*option) for option in options]
        taken = self._operations.get(name, frozenset())
        if all(option in self._known and self._known[option].name in taken for option, _ in resolved):
            values = [self.parameter(*option) for option in resolved]
            values += [f"{self._question}={argument}"] if argument else []
            return f"call {name} with {' and '.join(values)}"
        return self._in_terminal(name, options, argument)

    def _in_terminal(self, name: str, options: list[tuple[str, str]], argument: str) -> str:
        names = [" ".join(filter(None, (option.replace("_", "-"), value))) for option, value in options]
        target = " ".join(filter(None, ("lurcher", name, argument)))
        return f"run {target} in a terminal, with its option{'s' if len(names) > 1 else ''} {' and '.join(names)}"

    def _resolve(self, name: str, value: str) -> tuple[str, str]:
        """A switch that stands for a value of another parameter, as that: literal is mode=literal."""
        same_as = DECLARED[name].same_as if name in DECLARED else ""
        if not same_as:
            return name, value
        other, _, stands_for = same_as.partition("=")
        return (other, stands_for) if other in self._known else (name, value)

    # -- what surfaces show -------------------------------------------------------------------------------------------------

    def render(self, text: str) -> str:
        return text.render(self) if isinstance(text, Template) else text

    def render_notes(self, degraded: Sequence[Degraded]) -> tuple[Degraded, ...]:
        return tuple(Degraded(note.stage, self.render(note.reason), self.render(note.hint)) for note in degraded)

    def render_json(self, value: Any) -> Any:
        """A JSON value whose errors and notes are in these words. Hits are left alone: they hold what a repository says."""
        if isinstance(value, dict):
            return {
                name: self.render(item)
                if name in _SHOWN_KEYS and isinstance(item, str)
                else item
                if name == "hits"
                else self.render_json(item)
                for name, item in value.items()
            }
        return [self.render_json(item) for item in value] if isinstance(value, list) else value


_CONTROLS = {
    "mode=literal": "the switch Exact", "fixed": "the switch Exact without .*", "word": "the switches Exact and ab|",
    "case=exact": "the switches Exact and Aa", "in=code": "the tab Code", "in=history": "the tab History",
    "in=notes": "the tab Notes", "in=all": "the tab All", "in": "the tabs", "lang": "the filter Language",
    "path": "the filter Folder", "outcome": "the filter Outcome", "author": "the filter Author", "tag": "the filter Tag",
    "since": "the first date", "until": "the last date", "mode": "mode in the address",
}  # fmt: skip
"""What the page has for a parameter, or for a parameter with this value (see app.js and facets.js)."""


class PageWording(Wording):
    """The page in the browser: its switches, tabs and filters; a mode is written into the address."""

    def parameter(self, name: str, value: str) -> str:
        name, value = self._resolve(name, value)
        control = _CONTROLS.get(f"{name}={value}")
        if control is None and name == "mode" and value:
            return f"mode={value} in the address"
        if control is None and name in _CONTROLS:
            control = _CONTROLS[name] + (f" with {value}" if value else "")
        if control is None:
            control = f"the command-line option '{name.replace('_', '-')}'" + (f" {value}" if value else "")
        return control

    def command(self, name: str, options: list[tuple[str, str]], argument: str, *, run: bool) -> str:
        if name == "search":
            return f"{argument} with {' and '.join(self.parameter(*option) for option in options)}"
        return self._in_terminal(name, options, argument)
