"""Jupyter notebooks, searched by the text of their cells.

A notebook is indexed as a text of its own, which `read_notebook` makes when the file is read: the sources of the cells, without
outputs and metadata. Where the file has each line of a source on a line of its own, as Jupyter writes it, every line keeps its
number and all others are blank: `start_line` and `end_line` of a hit are lines of the file. Otherwise they are lines of the
extracted text. `cell_at` says in both cases which cell a line is in, and which line of that cell it is.

The number of unit separators on the first line encodes the language of the code, the number of record separators on the line
before each cell its type: characters that no source has, and that are no words for a search.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from lurcher.chunking.code import parse
from lurcher.chunking.lines import chunk_lines
from lurcher.languages.occurrences import decode_occurrences, encode_occurrences
from lurcher.languages.parsed_file import ParsedFile, Span

_UNIT, _RECORD = "\x1f", "\x1e"
NOTEBOOK = _UNIT.encode()
"""What the text of a notebook begins with, and no other text."""
_LANGUAGES = ("", "python", "julia", "r", "scala", "javascript", "typescript", "ruby", "bash", "csharp", "fsharp", "java",
              "kotlin", "go", "rust", "haskell", "sql", "powershell", "cpp", "perl", "ocaml", "elixir", "lua")  # fmt: skip
"""By the number of unit separators, less one."""
_ALIASES = {"ipython": "python", "python3": "python", "c#": "csharp", "f#": "fsharp", "c++": "cpp", "shell": "bash"}
_TYPES = ("code", "markdown", "raw")
"""By the number of record separators, less one."""
_SEPARATORS = str.maketrans({_UNIT: " ", _RECORD: " ", "\r": " "})

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:\n]')
_MAGIC = re.compile(rb"(?m)^[ \t]*[%!?].*$")
"""Magic commands of IPython, which are not code of the language."""


class _Cell:
    """A cell of the file: the line of the key `source`, and each string of the source with its line."""

    __slots__ = ("key_line", "pieces", "type")

    def __init__(self) -> None:
        self.type = "raw"
        self.key_line = 0
        self.pieces: list[tuple[int, str]] = []


class Cell(NamedTuple):
    """A cell of an indexed notebook, in bytes of its text."""

    type: str
    start: int
    end: int
    line: int
    """The line of the text on which it begins, from 1."""


def read_notebook(data: bytes) -> bytes:
    """The text to index for a notebook; data that is no notebook is returned unchanged, and searched as plain text."""
    try:
        text = data.decode()
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return data
    if not isinstance(whole, dict) or not isinstance(whole.get("cells", whole.get("worksheets")), list):
        return data
    cells = list(_read_cells(text))
    header = _UNIT * (1 + _LANGUAGES.index(_detect_language(whole)))
    lines = _keep_lines_in_place(cells, header)
    if lines is None:
        lines = [header]
        for cell in cells:
            lines.append(_RECORD * (1 + _TYPES.index(cell.type)))
            source = "".join(piece for _, piece in cell.pieces)
            lines += source.translate(_SEPARATORS).split("\n") if source else []
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _detect_language(whole: dict[str, Any]) -> str:
    """The language of the code, from the metadata."""
    metadata = whole.get("metadata")
    for key, field in (("language_info", "name"), ("kernelspec", "language"), ("kernelspec", "name")):
        entry = metadata.get(key) if isinstance(metadata, dict) else None
        name = entry.get(field) if isinstance(entry, dict) else None
        if isinstance(name, str):
            name = _ALIASES.get(name.lower(), name.lower())
            if name in _LANGUAGES:
                return name
    return "" if metadata else "python"


def _read_cells(text: str) -> Iterator[_Cell]:
    """The cells of a valid notebook, in order. Reads tokens, because `json` does not report lines."""
    stack: list[tuple[str, str]] = []
    """The enclosing objects and lists, each with the key whose value it is."""
    line, key, is_key = 1, "", False
    cell: _Cell | None = None
    for match in _TOKEN.finditer(text):
        token = match.group()
        mark = token[0]
        if mark == "\n":
            line += 1
        elif mark in "{[":
            if mark == "{" and stack and stack[-1] == ("[", "cells") and len(stack) in (2, 4):
                cell = _Cell()
            stack.append((mark, key))
            is_key, key = mark == "{", "" if mark == "{" else key
        elif mark in "}]":
            if stack:
                stack.pop()
            if mark == "}" and cell is not None and stack and stack[-1] == ("[", "cells") and len(stack) in (2, 4):
                yield cell
                cell = None
            is_key = False
        elif mark == ",":
            is_key = bool(stack) and stack[-1][0] == "{"
        elif mark == ":":
            is_key = False
        elif is_key:
            key = token[1:-1]
            if cell is not None and key in ("source", "input") and _is_cell(stack):
                cell.key_line = line
        elif cell is not None:
            inside = _is_cell(stack)
            if inside and key == "cell_type":
                cell.type = token[1:-1] if token[1:-1] in _TYPES else "markdown"
            elif (inside and key in ("source", "input")) or (
                stack[-1] in (("[", "source"), ("[", "input")) and _is_cell(stack[:-1])
            ):
                cell.pieces.append((line, json.loads(token, strict=False)))


def _is_cell(stack: list[tuple[str, str]]) -> bool:
    return len(stack) in (3, 5) and stack[-2] == ("[", "cells")


def _keep_lines_in_place(cells: list[_Cell], header: str) -> list[str] | None:
    """The text with every line at its line of the file; None where several lines of a source share one."""
    lines = [header]
    for cell in cells:
        first = cell.pieces[0][0] if cell.pieces else cell.key_line + 1
        marker = cell.key_line if cell.key_line < first else first - 1
        if marker <= len(lines):
            return None
        lines += [""] * (marker - len(lines) - 1)
        lines.append(_RECORD * (1 + _TYPES.index(cell.type)))
        for line, piece in cell.pieces:
            if line <= len(lines) or "\n" in piece[:-1]:
                return None
            lines += [""] * (line - len(lines) - 1)
            lines.append(piece.removesuffix("\n").translate(_SEPARATORS))
    return lines


def find_cells(text: bytes) -> list[Cell]:
    """The cells of a text that `read_notebook` made; none of any other."""
    if not text.startswith(NOTEBOOK):
        return []
    record = _RECORD.encode()
    found: list[Cell] = []
    marker = text.find(b"\n" + record)
    line, counted = 1, 0
    while marker >= 0:
        start = text.find(b"\n", marker + 1) + 1
        following = text.find(b"\n" + record, start - 1)
        end = following + 1 if following >= 0 else len(text)
        line += text.count(b"\n", counted, start)
        counted = start
        type_ = _TYPES[min(start - marker - 2, len(_TYPES)) - 1]
        found.append(Cell(type_, start, start + len(text[start:end].rstrip()), line))
        marker = following
    return found


def find_cell(text: bytes, start_line: int, end_line: int) -> dict[str, Any] | None:
    """The cell that a line of an indexed notebook is in, counted from 1, and the lines of that cell; None outside of cells."""
    cells = find_cells(text)
    for number, cell in reversed(list(enumerate(cells, 1))):
        if cell.line <= start_line:
            last = cell.line + text.count(b"\n", cell.start, cell.end)
            if start_line > last:
                return None
            first = start_line - cell.line + 1
            return {
                "number": number,
                "type": cell.type,
                "start_line": first,
                "end_line": max(first, min(end_line, last) - cell.line + 1),
            }
    return None


def parse_notebook(text: bytes, target: int) -> ParsedFile:
    """Chunks of a notebook, none of which reaches over a cell's border, and what its code defines and imports."""
    cells = find_cells(text)
    if not cells:
        return ParsedFile("jupyter", chunk_lines(text, target), (), ())
    header = len(text[: text.find(b"\n")])
    language = _LANGUAGES[min(header, len(_LANGUAGES)) - 1]
    code = [cell for cell in cells if cell.type == "code" and cell.end > cell.start]
    prose = [(cell.start, cell.end) for cell in cells if cell.type == "markdown" and cell.end > cell.start]
    chunks: list[Span] = []
    reached = _SpanMaker(text)
    for cell in cells:
        if cell.end == cell.start:
            continue
        chunks += reached.gap(cell.start)
        inner = text[cell.start : cell.end]
        spans = chunk_lines(inner, target)
        if len(spans) > 1 and cell.type == "code" and language:
            spans = parse(_blank_magics(inner), language, target).chunks
        chunks += [reached.span(cell.start + span.end_byte) for span in spans]
    chunks += reached.gap(len(text))
    if not code or not language:
        return ParsedFile("jupyter", tuple(chunks), (), tuple(prose))
    masked = _mask_other_cells(text, code)
    found = parse(masked, language, target)
    comments = sorted([*prose, *found.comments])
    occurrences = [(start, kind) for start, _, kind in decode_occurrences(found.occurrences, masked)]
    return ParsedFile(
        "jupyter", tuple(chunks), found.definitions, tuple(comments), found.imports,
        occurrences=encode_occurrences(occurrences, text), gave_up=found.gave_up,
    )  # fmt: skip


class _SpanMaker:
    """Makes spans that follow each other, and counts lines on the way."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._byte, self._line = 0, 1

    def span(self, end: int) -> Span:
        start, line = self._byte, self._line
        last = line + self._text.count(b"\n", start, max(start, end - 1))
        self._byte, self._line = end, line + self._text.count(b"\n", start, end)
        return Span(start, end, line, last)

    def gap(self, end: int) -> list[Span]:
        """What lies between two cells: markers and blank lines."""
        return [self.span(end)] if end > self._byte else []


def _blank_magics(code: bytes) -> bytes:
    """Code with magic commands blanked out."""
    return _MAGIC.sub(lambda match: b" " * len(match.group()), code)


def _mask_other_cells(text: bytes, code: list[Cell]) -> bytes:
    """The text with everything but code blanked out, all offsets unchanged."""
    out = bytearray()
    for cell in code:
        out += bytes(byte if byte == 10 else 32 for byte in text[len(out) : cell.start])
        out += _blank_magics(text[cell.start : cell.end])
    out += bytes(byte if byte == 10 else 32 for byte in text[len(out) :])
    return bytes(out)
