"""Writes what can be said of languages without importing their files: `languages/table.py`, and the table in docs/languages.md.

python tools/language_table.py          after a language file was added or changed
python tools/language_table.py --check  exit status 1 where a table is not what it would write
"""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import lurcher.languages
from lurcher.languages.base import Language

REPOSITORY = Path(__file__).parents[1]
TABLE = REPOSITORY / "src" / "lurcher" / "languages" / "table.py"
PAGE = REPOSITORY / "docs" / "languages.md"
BEGIN, END = "<!-- languages: written by tools/language_table.py -->", "<!-- end of languages -->"

SHARED = frozenset({
    "base", "definitions", "detect", "grammar", "graph", "highlight", "imports", "installed", "jvm", "node_packages", "nodes",
    "occurrences", "queries", "parsed_file", "resolution", "table",
})  # fmt: skip
"""Modules of `lurcher.languages` that describe no language."""


def language_files() -> dict[str, tuple[Language, ...]]:
    """The modules that describe languages, with what they describe."""
    names = sorted(module.name for module in pkgutil.iter_modules(lurcher.languages.__path__))
    return {name: import_module(f"lurcher.languages.{name}").LANGUAGES for name in names if name not in SHARED}


def entry_of(file: str, language: Language) -> tuple[Any, ...]:
    """The fields of `detect.Entry`, in order."""
    return (
        language.name, file, language.extensions, language.filenames, language.prefixes, language.aliases, language.also,
        language.interpreters, language.grammar, language.optional, language.ecosystem, language.sigil, language.ast_grep,
        language.markup, language.script, language.decide is not None,
    )  # fmt: skip


def table() -> str:
    rows = sorted(entry_of(file, language) for file, languages in language_files().items() for language in languages)
    lines = [
        '"""Names and grammars of all languages, in the order of `detect.Entry`; written by tools/language_table.py."""',
        "",
        "from __future__ import annotations",
        "",
        "TYPE_CHECKING = False",
        "if TYPE_CHECKING:",
        "    from typing import Any",
        "",
        "# fmt: off",
        "# ruff: noqa: E501",
        "ROWS: tuple[tuple[Any, ...], ...] = (",
        *(f"    {_literal(row)}," for row in rows),
        ")",
    ]
    return "\n".join(lines) + "\n"


def _literal(value: object) -> str:
    """As `repr`, with double quotes."""
    if isinstance(value, tuple):
        inside = ", ".join(map(_literal, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def documented() -> str:
    """The table of the languages that have a grammar, and the list of the others."""
    lines = ["| language | files | grammar | definitions | imports |", "|---|---|---|---|---|"]
    others = []
    for file, languages in language_files().items():
        for language in languages:
            names = ", ".join(f"`{name}`" for name in (*(f".{ext}" for ext in language.extensions), *language.filenames))
            if language.grammar is None and not language.script:
                others.append(f"{language.name} ({names})")
                continue
            grammar = f"`{language.grammar[0].replace('_', '-')}`" if language.grammar else "that of its scripts"
            extra = " (extra `languages`)" if language.optional else ""
            found = "yes" if language.definitions is not None or language.script else "no"
            imports = "resolved" if language.resolver is not None else "read" if language.imports is not None else "no"
            link = f"[{language.name}](../src/lurcher/languages/{file}.py)"
            lines.append(f"| {link} | {names} | {grammar}{extra} | {found} | {imports} |")
    return "\n".join([*lines, "", "Cut by lines, without definitions: " + "; ".join(sorted(others)) + "."])


def page(text: str) -> str:
    """The page with its table as it should be."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{documented()}\n{END}{rest.partition(END)[2]}"


def main() -> int:
    wanted = {TABLE: table(), PAGE: page(PAGE.read_text("utf-8"))}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(REPOSITORY)} is out of date; run: python tools/language_table.py", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.write_text(wanted[path], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
