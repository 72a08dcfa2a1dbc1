"""Builds a segment from files: reads them, cuts them into units, and counts their terms."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from lurcher.chunking.code import parse
from lurcher.chunking.notes import parse_note
from lurcher.languages.detect import HEAD, detect
from lurcher.languages.parsed_file import ParsedFile, Span
from lurcher.sources.content_roles import find_roles
from lurcher.sources.decode import Skip, Text, is_minified, read_text
from lurcher.sources.roles import TEST, is_note, roles
from lurcher.storage.container import checksum
from lurcher.storage.imports import ImportWriter
from lurcher.storage.segment import CARD_FIELD, FILE, GRAMMAR_GAVE_UP, HAS_UNINDEXED_WORDS, NO_GRAMMAR, UNIT_FAMILIES
from lurcher.storage.segment_writer import SegmentData, StringPool, make_row_builder
from lurcher.terms import compound, folders_of, name_of, name_parts, split, words
from lurcher.terms.count import Postings, make_counter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.vectors.table import Table


_WORD_BYTES = frozenset(byte for byte in range(256) if byte >= 128 or chr(byte) == "_" or chr(byte).isalnum())


def build_segment(
    inputs: Iterable[tuple[str, bytes]],
    chunk_chars: int,
    table: Table | None = None,
    plain: Collection[str] = (),
    begin: Callable[[str], None] | None = None,
    first: int = 0,
) -> SegmentData:
    """A segment of `inputs` (path, UTF-8 text) in path order; with vectors if there is a table.

    Files in `plain` are not parsed by a grammar. `begin` is called with each path before it is parsed, and with "" at the end.
    `first` is the offset of the first text.
    """
    import numpy as np

    counter = make_counter()
    rows = make_row_builder(counter)
    paths = StringPool()
    languages: dict[str, int] = {}
    files: list[tuple[int, ...]] = []
    imports = ImportWriter()
    texts: list[bytes | memoryview] = []
    occurrences: list[bytes] = []
    occurrence_size = 0
    offset = first
    crc32 = checksum()
    stems: list[tuple[str, int]] = []
    tests: list[int] = []
    for path, text in inputs:
        number = len(files)
        if begin is not None:
            begin(path)
        language = "text" if path in plain else detect(path, text[:HEAD])
        parsed = _parse(path, text, language, chunk_chars)
        name, folders = name_of(path), folders_of(path)
        parts = name_parts(name)
        counter.add("name", number, " ".join(parts))
        counter.add("folder", number, " ".join(folders))
        stems.append((compound(name), int(len(parts) > 1)))
        first_unit, first_definition, first_string = rows.sizes()
        rows.add_file(number, text, parsed)
        for i, words_above in enumerate(parsed.above):
            counter.add("above", first_unit + i, words_above)
        imports.put(number, parsed.imports)
        role, inline = find_roles(text, parsed, roles(path))
        tests += [first_unit + i for i in inline]
        files.append((
            offset, len(text), first_unit, len(parsed.chunks), first_definition, len(parsed.definitions), paths.put(path),
            first_string, occurrence_size, crc32(text), languages.setdefault(parsed.language, len(languages)), role,
            len(parts), min(_count_terms(" ".join(folders)), 65535), int(len(parts) > 1),
            _flags(text, parsed),
        ))  # fmt: skip
        texts.append(text)
        occurrences.append(parsed.occurrences)
        occurrence_size += len(parsed.occurrences)
        offset += len(text)
    if begin is not None:
        begin("")
    unit_table, definition_table, strings, keys = rows.finish()
    for stem, _ in stems:
        counter.require(stem)
    for key in keys:
        counter.require(key)
    terms, postings = counter.finish((*UNIT_FAMILIES, "name", "folder", "types", CARD_FIELD))
    numbers = counter.required()
    postings["stem"] = _one_term_each(numbers[: len(stems)], [count for _, count in stems])
    postings["definitions"] = _one_term_each(numbers[len(stems) :], [1] * len(keys))
    for field in UNIT_FAMILIES:
        found = postings[field]
        lengths = np.bincount(found.owners, found.counts, len(unit_table)) if len(unit_table) else 0
        unit_table[field] = np.minimum(lengths, np.iinfo(unit_table.dtype[field]).max)
    unit_table["roles"][tests] = TEST
    file_table = np.array(files, FILE)
    for field in ("body", "comments"):
        incomplete = counter.incomplete(field)
        file_table["flags"][unit_table["file"][incomplete]] |= HAS_UNINDEXED_WORDS
    data = SegmentData(
        {"files": file_table, "units": unit_table, "definitions": definition_table, "imports": imports.rows()}, terms, postings,
        {
            "import_texts": imports.texts(), "paths": paths.data(), "strings": strings,
            "occurrences": b"".join(occurrences),
        }, texts, list(languages),
    )  # fmt: skip
    if table is None:
        return data
    from lurcher.vectors.static import embed

    return replace(data, vectors=embed(data, table), model=table.digest)


def _parse(path: str, text: bytes, language: str, chunk_chars: int) -> ParsedFile:
    if is_note(path, language):
        return parse_note(text, language)
    if language == "jupyter":
        from lurcher.chunking.notebook import parse_notebook

        return parse_notebook(text, chunk_chars)
    return parse(text, language, chunk_chars)


def _flags(text: bytes, parsed: ParsedFile) -> int:
    flags = HAS_UNINDEXED_WORDS if _has_unindexed_words(text, parsed.chunks) else 0
    return flags | GRAMMAR_GAVE_UP * parsed.gave_up | NO_GRAMMAR * parsed.no_grammar


def _has_unindexed_words(text: bytes, chunks: tuple[Span, ...]) -> bool:
    """Whether some word of this text may be missing among its terms, as far as the text alone can tell."""
    # Terms are composed (NFC): a letter followed by a combining accent is not found as the letter alone.
    if not text.isascii() and not unicodedata.is_normalized("NFC", text.decode("utf-8", "replace")):
        return True
    for chunk in chunks:
        start = chunk.start_byte
        if start and text[start - 1] in _WORD_BYTES and text[start] in _WORD_BYTES:
            return True
    return False


@lru_cache(maxsize=1 << 12)
def _count_terms(text: str) -> int:
    return sum(len(split(word)) for word in words(text))


def _one_term_each(terms: NDArray[np.uint32], counts: list[int]) -> Postings:
    """Postings in which each owner has exactly one term; owners are numbered in the order of `terms`."""
    import numpy as np

    order = np.argsort(terms, kind="stable")
    return Postings(terms[order], order.astype(np.uint32), np.array(counts, np.uint8)[order])

InputFiles = list[tuple[str, bytes | None]]
"""Path and text of files; None where the builder is to read the text."""


class TreeReader(NamedTuple):
    """Reads files of a tree within the limits of the settings. Can be sent to a worker process."""

    root: str
    max_file_bytes: int
    follow_symlinks: bool
    secrets: bool = False

    def read(self, path: str) -> Text | Skip:
        found = read_text(
            f"{self.root}/{path}", self.max_file_bytes, follow_symlinks=self.follow_symlinks, secrets=self.secrets
        )
        if path.endswith(".ipynb") and isinstance(found, Text):
            from lurcher.chunking.notebook import read_notebook

            data = read_notebook(found.data)
            if data is found.data and is_minified(data, "json"):
                return Skip("minified", found.digest)
            return replace(found, data=data)
        return found


class ReadResult(NamedTuple):
    """The result of reading a file."""

    path: str
    reason: str
    """Why the file is left out; empty if it is not."""
    digest: str | None
    size: int = 0
    """Bytes of its text."""


def read_inputs(files: InputFiles, tree: TreeReader | None) -> tuple[list[tuple[str, bytes]], list[ReadResult]]:
    """The texts of files, read where they are missing, and the results of reading."""
    texts: list[tuple[str, bytes]] = []
    seen: list[ReadResult] = []
    for path, text in files:
        if text is None:
            assert tree is not None
            outcome = tree.read(path)
            reason = outcome.reason if isinstance(outcome, Skip) else ""
            seen.append(ReadResult(path, reason, outcome.digest, len(outcome.data) if isinstance(outcome, Text) else 0))
            if isinstance(outcome, Skip):
                continue
            text = outcome.data
        texts.append((path, text))
    return texts, seen
