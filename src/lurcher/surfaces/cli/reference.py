"""Generates docs/reference.md from the declarations: `python -m lurcher.surfaces.cli.reference > docs/reference.md`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from lurcher import config
from lurcher.config.removed import REMOVED
from lurcher.config.trust import TABLE
from lurcher.surfaces.cli.flags import COMMANDS, Command
from lurcher.surfaces.parameters import Parameter

_HEAD = """\
# Reference

Written by `python -m lurcher.surfaces.cli.reference > docs/reference.md` from the declarations in the code; a test fails when
this page is behind them.

Exit status of every command: 0 something was found or done, 1 nothing was found, 2 an error, 130 interrupted. Some differ:
`doctor` ends with 1 if it found problems, `index --watch` with 0 when it is interrupted, since that is how it ends, and
`init` with 2 if it had to leave a file to the user. Results
go to stdout; notes, progress and errors go to stderr. With `--json` an error is also printed as
`{"error": {"code": …, "message": …, "hint": …}}`.

## Commands
"""

_SETTINGS_HEAD = """
## Settings

Each layer overrides the one before it:

1. the defaults below
2. the user file: `$LURCHER_CONFIG`, else `$XDG_CONFIG_HOME/lurcher/config.toml`, else `~/.config/lurcher/config.toml`
3. the project file at the root: `lurcher.toml`, else the table `[tool.lurcher]` of `pyproject.toml`
4. the environment: `LURCHER_` + section + `_` + name in capitals, such as `LURCHER_SEARCH_LIMIT=5`
5. flags, and `--set section.name=value` for what has no flag of its own

In a file a section is a table: `search.limit` is `limit` under `[search]`. An unknown key or a bad value is an error that
names the layer, the key and what is allowed. `lurcher config show --origin` prints every value and where it came from.

**What a project may set.** Who clones a repository has not read its settings. A project file may say how its code is cut,
ranked and shown. It may not have text sent anywhere, start processes, run code of other packages or of its own,
write elsewhere, or take much more time and memory than the defaults do: the column "in a project" says what is allowed
there. Anything else is an error, unless you have set the same yourself, in your own file, the environment or by a flag: then
yours counts.
"""


def render() -> str:
    """The whole page."""
    lines = [_HEAD]
    for command in COMMANDS:
        lines += _command(command)
    lines.append(_SETTINGS_HEAD)
    for section in config.sections():
        lines += _section(section)
    lines += _removed()
    return "\n".join(lines).rstrip() + "\n"


def _command(command: Command) -> Iterator[str]:
    yield f"### `lurcher {command.name}`"
    yield ""
    yield f"{command.help[0].upper()}{command.help[1:]}. For example: `{command.example}`"
    yield ""
    yield f"Usage: `lurcher {command.name} {command.usage}`"
    yield ""
    yield "| argument | meaning |"
    yield "|---|---|"
    for parameter in command.parameters:
        choices = f": {', '.join(f'`{choice}`' for choice in parameter.choices)}" if parameter.choices else ""
        yield f"| {_name(parameter)} | {_cell(parameter.flag_help)}{choices} |"
    yield ""


def _name(parameter: Parameter) -> str:
    if parameter.place:
        return f"`{parameter.usage}`"
    return ", ".join(f"`{flag} {parameter.metavar}`" if parameter.metavar else f"`{flag}`" for flag in parameter.flags)


def _section(section: str) -> Iterator[str]:
    part = getattr(config.Settings(), section)
    yield f"### `[{section}]`"
    yield ""
    if part.__doc__ and "(" not in part.__doc__.splitlines()[0]:
        yield part.__doc__.strip()
        yield ""
    yield "| setting | default | allowed | in a project | meaning |"
    yield "|---|---|---|---|---|"
    for item in fields(part):
        value = getattr(part, item.name)
        cells = (
            f"`{section}.{item.name}`",
            f"`{json.dumps(value)}`",
            _allowed(item.metadata, value),
            _in_project(f"{section}.{item.name}"),
            _cell(item.metadata["doc"]),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


_REMOVED_HEAD = """\
## Removed settings

A setting is what a user has a reason to change, or a constant of a published pipeline that `--ranking classic`,
`--fusion linear` and the rerankers follow. All other numbers are constants beside the formula that uses them, with the
measurement that chose them: to change one is a change of the code, checked by `lurcher eval`. Using one of these settings is
an error that says what the table says.

| setting | instead |
|---|---|"""


def _removed() -> Iterator[str]:
    yield _REMOVED_HEAD
    by_hint: dict[str, list[str]] = {}
    for key, hint in REMOVED.items():
        by_hint.setdefault(hint.partition("; docs/")[0], []).append(f"`{key}`")
    for hint, keys in by_hint.items():
        yield f"| {', '.join(keys)} | {_cell(hint)} |"


def _in_project(key: str) -> str:
    """What a project's own file may set of it."""
    rule = TABLE[key]
    if not rule.why:
        return "yes"
    if rule.words:
        return ", ".join(f"`{word}`" for word in rule.words)
    if rule.most is None:
        return "no"
    return f"{'' if rule.above is None else f'over {rule.above:g}, '}up to {rule.most:,g}"


SERVICES = ("embedding", "sparse", "reranker", "judge", "store", "qdrant", "postgres")
"""Sections about what runs elsewhere."""
SERVICES_HEAD = "| setting | environment | default | effect |"


def services() -> Iterator[str]:
    """The table of docs/services.md: every setting of every service."""
    yield SERVICES_HEAD
    yield "|---|---|---|---|"
    for key, value, _, meaning in config.Settings().rows():
        if key.partition(".")[0] in SERVICES:
            variable = f"`LURCHER_{key.upper().replace('.', '_')}`"
            yield f"| `{key}` | {variable} | `{json.dumps(value)}` | {_cell(meaning)} |"


def _allowed(bounds: Any, value: object) -> str:
    if bounds["choices"]:
        return ", ".join(f"`{choice}`" for choice in bounds["choices"])
    if isinstance(value, bool):
        return "`true`, `false`"
    low, high = bounds["low"], bounds["high"]
    if low is None and high is None:
        return "text" if isinstance(value, str) else "any"
    if high is None:
        return f"{low:,} or more"
    return f"{low:,} to {high:,}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    if len(sys.argv) == 2:  # a page that ends with the table of services
        page = Path(sys.argv[1])
        page.write_text(page.read_text("utf-8").partition(SERVICES_HEAD)[0] + "\n".join(services()) + "\n", "utf-8")
    else:
        sys.stdout.write(render())
