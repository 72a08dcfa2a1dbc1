"""What to know about a file or folder before working on it, as text within a budget of tokens.

    figures → documentation → entry points → skeletons → imports both ways

Sections come in this order. Each may use a share of the remaining budget, so that a long one does not starve those after it,
and says how many entries it left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from lurcher.answer import count_tokens
from lurcher.errors import QueryError
from lurcher.indexing.import_graph import import_graph_around
from lurcher.inspect import Basis, plain_fields
from lurcher.inspect.outline import OutlineSymbol, nested
from lurcher.lanes.symbol import SymbolMatch, count_references
from lurcher.runtime.process import format_count
from lurcher.sources.roles import ASIDE
from lurcher.storage.segment import FUNCTION_KINDS, TYPE_KINDS
from lurcher.storage.snapshot import Snapshot
from lurcher.terms import compound

_SHARES = {"documentation": 0.4, "entry points": 0.4, "skeletons": 0.7, "imported by": 0.5, "imports": 1.0}
"""For each section, the share of the remaining budget that it may use."""
_MOST_LOOKED_AT = 400
"""Definitions considered as entry points; those of the most imported files come first."""
_MOST_COUNTED = 24
"""Entry points whose uses are counted, chosen by how often their names occur."""
_MOST_NAMES = 8
_ENTRIES = TYPE_KINDS | FUNCTION_KINDS


@dataclass(frozen=True, slots=True)
class Section:
    """One section: its entries as lines of text, and how many more there are."""

    name: str
    entries: tuple[str, ...]
    left_out: int

    def to_dict(self) -> dict[str, Any]:
        return plain_fields(self)


@dataclass(frozen=True, slots=True)
class ContextAnswer:
    """The sections about a file or folder, and the whole text."""

    path: str
    budget: int
    tokens: int
    files: int
    lines: int
    languages: dict[str, int]
    """Language to its number of files."""
    sections: tuple[Section, ...]
    text: str
    """The whole text, ready for a prompt; `tokens` is its size."""
    basis: Basis

    def to_dict(self) -> dict[str, Any]:
        out = plain_fields(self)
        del out["basis"]
        return {**out, "sections": [section.to_dict() for section in self.sections], **self.basis.to_dict()}


def context(
    snapshot: Snapshot, path: str, files: Sequence[int], whole: bool, budget: int, index: Basis
) -> ContextAnswer:
    if budget < 1:
        raise QueryError(f"the budget is {budget} tokens", "use 1 or more, or leave it out")
    lines = sum(snapshot.lines_of(file) for file in files)
    languages = dict(sorted(Counter(map(snapshot.language, files)).items(), key=lambda item: (-item[1], item[0])))
    inward, outward = _edges(snapshot, files)
    fan_in = {file: import_graph_around(snapshot, file).fan_in(snapshot.bare_path(file)) for file in files}
    weighty = sorted(files, key=lambda file: (-fan_in[file], snapshot.path(file)))
    written = {
        "documentation": _documentation(snapshot, path, files),
        "entry points": _entry_points(snapshot, weighty),
        "skeletons": _skeletons(snapshot, weighty, whole),
        "imported by": inward,
        "imports": outward,
    }
    figures = ", ".join(f"{name} {number:,}" for name, number in languages.items())
    head = f"# {path}\n{format_count(len(files), 'file')}, {format_count(lines, 'line')}: {figures}\n"
    sections, text = packed(head, written, _SHARES, budget)
    return ContextAnswer(path, budget, count_tokens(text), len(files), lines, languages, sections, text, index)


def _aside(snapshot: Snapshot, file: int) -> bool:
    return bool(int(snapshot.file_roles[file]) & ASIDE)


def _documentation(snapshot: Snapshot, path: str, files: Sequence[int]) -> list[str]:
    """The first paragraph of each file: the README of the folder first, then the others by path, tests last."""
    found = []
    for file in files:
        own = snapshot.path(file)
        folder, _, name = own.rpartition("/")
        readme = name.lower().startswith("readme") and folder == ("" if path == "." else path)
        head = head_of(snapshot.text(file, 0, min(int(snapshot.file_column("size")[file]), 8000)), snapshot.language(file))
        if head:
            found.append((not readme, _aside(snapshot, file), own, head if len(files) == 1 else f"{own}: {head}"))
    return [entry for _, _, _, entry in sorted(found)]


def _entry_points(snapshot: Snapshot, files: Sequence[int]) -> list[str]:
    """Exported top-level types and functions, most used first; those of tests and examples only if there are no others."""
    found: list[tuple[int, SymbolMatch]] = []
    reach: dict[int, Set[int]] = {}
    for file in [file for file in files if not _aside(snapshot, file)] or files:
        if len(found) >= _MOST_LOOKED_AT:
            break
        reach[file] = _reach(snapshot, file)
        for number, item in zip(snapshot.definition_numbers(file), snapshot.definitions_of(file), strict=True):
            if item.exported and not item.container and item.kind in _ENTRIES:
                _, unit = snapshot.definition_place(number)
                units, counts = snapshot.postings("body", compound(item.name))
                owners = snapshot.unit_file[units].tolist()
                estimate = sum(n for owner, n in zip(owners, counts.tolist(), strict=True) if owner in reach[file])
                found.append((estimate, SymbolMatch(item.name, number, file, unit, item, 1.0, True)))
    found.sort(key=lambda entry: (-entry[0], snapshot.path(entry[1].file), entry[1].definition.start_line))
    matches = [match for _, match in found[:_MOST_COUNTED]]
    used = count_references(snapshot, matches, reach)
    matches.sort(
        key=lambda match: (-used[match.number], snapshot.path(match.file), match.definition.start_line, match.number)
    )
    return [
        f"{match.definition.name}  {snapshot.path(match.file)}:{match.definition.start_line}  "
        f"{match.definition.kind}, {format_count(used[match.number], 'use')}"
        for match in matches
    ]


def _reach(snapshot: Snapshot, file: int) -> Set[int]:
    """Files where a name can refer to this file: those that import it, and its folder, where some languages need no import."""
    prefix, (folder, _, _) = snapshot.prefix(file), snapshot.path(file).rpartition("/")
    importers = import_graph_around(snapshot, file).importers(snapshot.bare_path(file))
    beside = snapshot.folders.get(folder, ())
    return {snapshot.live_paths[prefix + link.path] for link in importers} | {file} | set(beside)


def _skeletons(snapshot: Snapshot, files: Sequence[int], whole: bool) -> list[str]:
    """Signatures: all of one file, nested, or the outermost types and functions of several files."""
    found = []
    for file in sorted(files, key=lambda file: _aside(snapshot, file)):
        definitions = snapshot.definitions_of(file)
        kept = definitions if whole else [item for item in definitions if not item.container and item.kind in _ENTRIES]
        symbols = nested(kept)
        if symbols and not whole:
            found.append(snapshot.path(file))
        found += [line for symbol in symbols for line in _lines(symbol, "" if whole else "  ")]
    return found


def _lines(symbol: OutlineSymbol, indent: str) -> Iterator[str]:
    yield f"{indent}{symbol.signature}  :{symbol.start_line}"
    for child in symbol.children:
        yield from _lines(child, indent + "  ")


def _edges(snapshot: Snapshot, files: Sequence[int]) -> tuple[list[str], list[str]]:
    """Imports of these files by others, and of other files by these, one per line."""
    inward: list[tuple[str, int, str, str]] = []
    outward: list[tuple[str, int, str, str]] = []
    here = {snapshot.path(file) for file in files}
    for file in files if len(files) < snapshot.file_count else ():
        prefix, path, bare = snapshot.prefix(file), snapshot.path(file), snapshot.bare_path(file)
        graph = import_graph_around(snapshot, file)
        inward += [
            (prefix + link.path, link.line, path, _describe_names(link.names))
            for link in graph.importers(bare)
            if prefix + link.path not in here
        ]
        outward += [
            (path, link.line, prefix + link.path, _describe_names(link.names))
            for link in graph.imports(bare)
            if prefix + link.path not in here
        ]
    alone = len(files) == 1
    return (
        [f"{source}:{line}{'' if alone else f' → {target}'}{names}" for source, line, target, names in sorted(inward)],
        [f"{'' if alone else f'{source}:{line} → '}{target}{names}" for source, line, target, names in sorted(outward)],
    )


def _describe_names(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f", … {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"  {', '.join(names[:_MOST_NAMES])}{more}"

# -- one page of sections, within a token budget --------------------------------------------------------------------------


_FURTHER = "… {} more"


def packed(
    head: str, written: Mapping[str, Sequence[str]], shares: Mapping[str, float], budget: int
) -> tuple[tuple[Section, ...], str]:
    """The first entries of each section that fit its share of the remaining budget; the whole text never exceeds the budget."""
    taken: dict[str, int] = dict.fromkeys(written, 0)
    left = budget - count_tokens(head)
    for name, entries in written.items():
        title = count_tokens(_write_title(name)) + count_tokens(_FURTHER.format(len(entries)) + "\n")
        room = int(left * shares[name]) - title
        spent = title
        for entry in entries:
            cost = count_tokens(entry + "\n")
            if cost > room:
                break
            room -= cost
            spent += cost
            taken[name] += 1
        left -= spent if taken[name] else 0
    # The whole text rarely has more tokens than its lines together; if so, the last lines are removed.
    while (text := _text(head, written, taken)) and count_tokens(text) > budget:
        last = next((name for name in reversed(taken) if taken[name]), None)
        if last is None:
            text = ""
            break
        taken[last] -= 1
    kept = {name: tuple(entries[: taken[name]]) for name, entries in written.items()}
    return tuple(Section(name, kept[name], len(entries) - taken[name]) for name, entries in written.items()), text


def _write_title(name: str) -> str:
    return f"\n## {name[0].upper()}{name[1:]}\n"


def _text(head: str, written: Mapping[str, Sequence[str]], taken: dict[str, int]) -> str:
    parts = [head]
    for name, entries in written.items():
        if taken[name]:
            parts += [_write_title(name), *(f"{entry}\n" for entry in entries[: taken[name]])]
            if taken[name] < len(entries):
                parts.append(_FURTHER.format(len(entries) - taken[name]) + "\n")
    return "".join(parts)

# -- the head of a file: its docstring, first comment or first paragraph ---------------------------------------------------


_MOST = 400
"""Characters of a head."""
_PROSE = frozenset({"markdown", "rst", "text", "asciidoc", "org"})
_STRING = re.compile(r"""\s*[rRuU]?(\"\"\"|''')(.*?)\1""", re.S)
_BLOCK = re.compile(r"\s*(?:/\*+!?|\{-\|?|<!--)(.*?)(?:\*/|-\}|-->)", re.S)
_LINES = re.compile(r"\s*((?:[ \t]*(?://[/!]?|#+|--+|;+|%+)[^\n]*\n?)+)")
_MARKS = re.compile(r"^[ \t]*(?://[/!]?|#+|--+|;+|%+|\*+)?[ \t]?", re.M)
_LICENCE = re.compile(r"copyright|licen[cs]e|spdx|all rights reserved|-\*-|eslint|prettier|pragma|nocheck|generated by", re.I)
_MARKUP = re.compile(r"^(?:!?\[|<|\||```|={3,}|-{3,}|:\w+:|\.\. )")


def head_of(text: str, language: str) -> str:
    """The first paragraph on one line, or nothing."""
    if text.startswith("#!"):
        text = text.partition("\n")[2]
    if language in _PROSE:
        return _first_paragraph(text)
    for _ in range(4):  # a licence may come first
        match = _STRING.match(text) if language == "python" else None
        match = match or _BLOCK.match(text) or _LINES.match(text)
        if match is None:
            return ""
        body = match[match.lastindex or 0]
        plain = body if match.re is _STRING else _MARKS.sub("", body)
        if not _LICENCE.search(plain):
            return _first_paragraph(plain)
        text = text[match.end() :]
    return ""


def _first_paragraph(text: str) -> str:
    """The first paragraph without headings and markup; a heading if there is nothing else."""
    heading = ""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in paragraph.splitlines()]
        words = [line for line in lines if line and not line.startswith("#") and not _MARKUP.match(line)]
        if words:
            whole = " ".join(" ".join(words).split())
            return whole if len(whole) <= _MOST else whole[: _MOST - 1].rstrip() + "…"
        heading = heading or next((line.lstrip("# ") for line in lines if line.startswith("#")), "")
    return heading
