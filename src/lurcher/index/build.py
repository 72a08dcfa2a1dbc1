"""Files → a segment: cut, name, count."""

from __future__ import annotations

import re
import unicodedata
import zlib
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from lurcher.chunking.code import parse
from lurcher.chunking.languages import HEAD, detect
from lurcher.index.imports import ImportPool
from lurcher.index.roles import roles
from lurcher.index.segment import (
    DEFINITION,
    EXPORTED,
    FILE,
    FUNCTION_KINDS,
    KINDS,
    TYPE_KINDS,
    UNIT,
    UNIT_FAMILIES,
    UNSEEN,
    SegmentData,
    StringPool,
)
from lurcher.notes.kinds import is_note
from lurcher.notes.parse import parse_note
from lurcher.terms.count import Postings, TermCounter, term_counter
from lurcher.terms.paths import folders_of, name_of, name_parts
from lurcher.terms.split import compound, split, words
from lurcher.types import HEADING, Definition, ParsedFile, Span

if TYPE_CHECKING:
    from lurcher.embedding.table import Table

_WORD_BYTE = re.compile(rb"[\w\x80-\xff]")
_HEADINGS = "§"
"""The term under which all headings are filed."""
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


def build(
    inputs: Iterable[tuple[str, bytes]],
    chunk_chars: int,
    table: Table | None = None,
    plain: Collection[str] = (),
    begin: Callable[[str], None] | None = None,
) -> SegmentData:
    """A segment of `inputs` (path, UTF-8 text), which come in path order; with vectors where there is a table.

    Files in `plain` are not given to a grammar; `begin` is told of each file before it is, and of none when all are read.
    """
    import numpy as np

    counter = term_counter()
    paths, strings = StringPool(), StringPool()
    languages: dict[str, int] = {}
    files: list[tuple[int, ...]] = []
    units: list[tuple[int, ...]] = []
    definitions: list[tuple[int, ...]] = []
    imports = ImportPool()
    texts: list[bytes | memoryview] = []
    offset = 0
    keys: list[str] = []
    stems: list[tuple[str, int]] = []
    for path, text in inputs:
        number = len(files)
        if begin is not None:
            begin(path)
        language = "text" if path in plain else detect(path, text[:HEAD])
        parsed = parse_note(text, language) if is_note(path, language) else parse(text, language, chunk_chars)
        name, folders = name_of(path), folders_of(path)
        parts, stem = name_parts(name), compound(name)
        counter.add("name", number, " ".join(parts))
        counter.add("folder", number, " ".join(folders))
        counter.require(stem)
        stems.append((stem, int(len(parts) > 1)))
        first_unit, first_definition, first_string = len(units), len(definitions), strings.next_file()
        starts = [chunk.start_byte for chunk in parsed.chunks]
        owners = [bisect_right(starts, definition.start_byte) - 1 for definition in parsed.definitions]
        shown = _shown(parsed, owners)
        for i, chunk in enumerate(parsed.chunks):
            _count_chunk(counter, first_unit + i, chunk, text, parsed.comments)
            units.append((
                number, chunk.start_byte, chunk.end_byte, chunk.start_line, chunk.end_line,
                -1 if shown[i] < 0 else first_definition + shown[i], 0, 0, 0, 0,
            ))  # fmt: skip
        for i, words_above in enumerate(parsed.above):
            counter.add("above", first_unit + i, words_above)
        for definition, owner in zip(parsed.definitions, owners, strict=True):
            # A heading is no name that code would ask for: it is filed apart and counts among what stands above its unit.
            heading = definition.kind == HEADING
            if not heading:
                counter.add("symbols", first_unit + owner, definition.name)
            key = _HEADINGS if heading else compound(definition.name)
            counter.require(key)
            keys.append(key)
            named = name_parts(definition.name) if definition.kind in TYPE_KINDS else []
            if named:
                counter.add("types", len(definitions), " ".join(named))
            definitions.append(_row(definition, number, first_unit + owner, len(named), strings))
        imports.put(number, parsed.imports)
        files.append((
            offset, len(text), first_unit, len(parsed.chunks), first_definition, len(parsed.definitions), paths.put(path),
            first_string, zlib.crc32(text), languages.setdefault(parsed.language, len(languages)), roles(path),
            len(parts), min(_length(" ".join(folders)), 65535), int(len(parts) > 1),
            UNSEEN if _unseen(text, starts) else 0,
        ))  # fmt: skip
        texts.append(text)
        offset += len(text)
    if begin is not None:
        begin("")
    terms, postings = counter.finish((*UNIT_FAMILIES, "name", "folder", "types"))
    number_of = {term: i for i, term in enumerate(terms)}
    postings["stem"] = _one_each([number_of[stem] for stem, _ in stems], [count for _, count in stems])
    postings["definitions"] = _one_each([number_of[key] for key in keys], [1] * len(keys))
    unit_table = np.array(units, UNIT)
    for field in UNIT_FAMILIES:
        rows = postings[field]
        unit_table[field] = np.bincount(rows.owners, rows.counts, len(units)) if len(units) else 0
    file_table = np.array(files, FILE)
    for field in ("body", "comments"):
        incomplete = counter.incomplete(field)
        file_table["flags"][unit_table["file"][incomplete]] |= UNSEEN
    data = SegmentData(
        file_table, unit_table, np.array(definitions, DEFINITION), imports.rows(), imports.texts(), terms, postings,
        paths.data(), strings.data(), list(languages), texts,
    )  # fmt: skip
    if table is None:
        return data
    from lurcher.embedding.static import embed

    return replace(data, vectors=embed(data, table), model=table.digest)


def _unseen(text: bytes, starts: list[int]) -> bool:
    """Whether a search for words of this text among its terms could miss one, as far as the text alone can tell."""
    # An accent that follows its letter is put onto it before words are read: the letter alone is not found then.
    if not text.isascii() and not unicodedata.is_normalized("NFC", text.decode("utf-8", "replace")):
        return True
    return any(start and _WORD_BYTE.match(text, start - 1) and _WORD_BYTE.match(text, start) for start in starts)


def _count_chunk(counter: TermCounter, unit: int, chunk: Span, text: bytes, comments: tuple[tuple[int, int], ...]) -> None:
    """Count a chunk's comments apart from its code, each byte once."""
    position = chunk.start_byte
    i = bisect_right(comments, (position, position))
    if i and comments[i - 1][1] > position:
        i -= 1
    code = []
    while i < len(comments) and comments[i][0] < chunk.end_byte:
        start, end = max(comments[i][0], position), min(comments[i][1], chunk.end_byte)
        code.append(text[position:start])
        counter.add("comments", unit, text[start:end].decode("utf-8", "replace"))
        position = end
        i += 1
    code.append(text[position : chunk.end_byte])
    counter.add("body", unit, b" ".join(code).decode("utf-8", "replace"))


def _length(text: str) -> int:
    return sum(len(split(word)) for word in words(text))


def _shown(parsed: ParsedFile, owners: list[int]) -> list[int]:
    """For each chunk the definition that names it: the largest that starts in it, else the innermost that encloses it."""
    shown = [-1] * len(parsed.chunks)
    weight = [(-1, 0)] * len(parsed.chunks)
    for i, (definition, owner) in enumerate(zip(parsed.definitions, owners, strict=True)):
        rank = 2 if definition.kind in TYPE_KINDS or definition.kind in FUNCTION_KINDS else 1
        mine = (rank, definition.end_byte - definition.start_byte)
        if mine > weight[owner]:
            weight[owner] = mine
            shown[owner] = i
    open_definitions: list[int] = []
    following = 0
    for number, chunk in enumerate(parsed.chunks):
        while following < len(parsed.definitions) and parsed.definitions[following].start_byte < chunk.start_byte:
            open_definitions.append(following)
            following += 1
        open_definitions = [i for i in open_definitions if parsed.definitions[i].end_byte > chunk.start_byte]
        if shown[number] < 0 and open_definitions:
            shown[number] = open_definitions[-1]
    return shown


def _row(definition: Definition, file: int, unit: int, parts: int, strings: StringPool) -> tuple[int, ...]:
    return (
        file, unit, definition.start_byte, definition.end_byte, definition.start_line, definition.end_line,
        strings.put(definition.name), strings.put(definition.container), strings.put(definition.signature),
        _KIND_NUMBERS.get(definition.kind, 0), EXPORTED if definition.exported else 0,
        parts,
    )  # fmt: skip


def _one_each(numbers: list[int], counts: list[int]) -> Postings:
    """Postings in which each owner, numbered in order, has exactly one term."""
    import numpy as np

    terms = np.array(numbers, np.uint32)
    order = np.argsort(terms, kind="stable")
    return Postings(terms[order], order.astype(np.uint32), np.array(counts, np.uint8)[order])
