"""Builds the rows of units and definitions of a segment, file by file, with their strings and term counts."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Protocol

from lurcher.runtime.kernel import hash_seed
from lurcher.storage.segment import CARD_FIELD, DEFINITION, EXPORTED, FUNCTION_KINDS, KINDS, TYPE_KINDS, UNIT
from lurcher.storage.segment_writer import StringPool
from lurcher.terms.count import NativeCounter, TermCounter
from lurcher.terms.split import compound, name_parts, words
from lurcher.types import HEADING, Definition, ParsedFile, Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADING_TERM = "§"
"""The term under which all headings are filed in the `definitions` family."""
_CARD_NAMES = 40
"""Types and functions whose names go onto a file's card; the kernel has the same constant."""
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


class RowBuilder(Protocol):
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of units, definitions, and bytes of strings so far."""

    def add_file(self, file: int, text: bytes, parsed: ParsedFile) -> None:
        """Add the chunks and definitions of a file."""

    def finish(self) -> tuple[NDArray[Any], NDArray[Any], bytes, list[str]]:
        """All units, all definitions, their strings, and the term under which each definition is filed."""


def make_row_builder(counter: TermCounter) -> RowBuilder:
    """A new builder that adds to the counter: native if the counter is."""
    return NativeRowBuilder(counter) if isinstance(counter, NativeCounter) else PythonRowBuilder(counter)


class NativeRowBuilder:
    """Uses the kernel: ASCII text is read and counted in C."""

    def __init__(self, counter: NativeCounter) -> None:
        self._counter = counter
        fields = tuple(map(counter.field, ("body", "comments", "symbols", "types", CARD_FIELD)))
        self._native = counter.kernel.Shelf(
            hash_seed(), counter.counter, fields, _KIND_NUMBERS, TYPE_KINDS, FUNCTION_KINDS, HEADING, HEADING_TERM, _spell_name
        )

    def sizes(self) -> tuple[int, int, int]:
        sizes: tuple[int, int, int] = self._native.sizes()
        return sizes

    def add_file(self, file: int, text: bytes, parsed: ParsedFile) -> None:
        first = self.sizes()[0]
        for number in self._native.put(file, text, parsed.chunks, parsed.definitions, parsed.comments):
            _count_chunk(self._counter, first + number, parsed.chunks[number], text, parsed.comments)

    def finish(self) -> tuple[NDArray[Any], NDArray[Any], bytes, list[str]]:
        import numpy as np

        units, definitions, strings, keys = self._native.take()
        return np.frombuffer(units, UNIT), np.frombuffer(definitions, DEFINITION), strings, keys


def _spell_name(name: str, is_type: bool) -> tuple[list[str], str, list[str], int]:
    """For the kernel: the words of a name, the term it is filed under, and for types the words and number of its parts."""
    parts = name_parts(name) if is_type else []
    return words(name), compound(name), words(" ".join(parts)), len(parts)


class PythonRowBuilder:
    """The reference for the kernel."""

    def __init__(self, counter: TermCounter) -> None:
        self._counter = counter
        self._strings = StringPool()
        self._units: list[tuple[int, ...]] = []
        self._definitions: list[tuple[int, ...]] = []
        self._keys: list[str] = []

    def sizes(self) -> tuple[int, int, int]:
        return len(self._units), len(self._definitions), self._strings.next_file()

    def add_file(self, file: int, text: bytes, parsed: ParsedFile) -> None:
        self._strings.next_file()
        counter, first_unit, first_definition = self._counter, len(self._units), len(self._definitions)
        starts = [chunk.start_byte for chunk in parsed.chunks]
        owners = [bisect_right(starts, definition.start_byte) - 1 for definition in parsed.definitions]
        shown = _choose_definitions(parsed, owners)
        for i, chunk in enumerate(parsed.chunks):
            _count_chunk(counter, first_unit + i, chunk, text, parsed.comments)
            self._units.append((
                file, chunk.start_byte, chunk.end_byte, chunk.start_line, chunk.end_line,
                -1 if shown[i] < 0 else first_definition + shown[i], 0, 0, 0, 0,
            ))  # fmt: skip
        names = 0
        for definition, owner in zip(parsed.definitions, owners, strict=True):
            if definition.kind in TYPE_KINDS or definition.kind in FUNCTION_KINDS:
                names += 1
                if names <= _CARD_NAMES:
                    counter.add(CARD_FIELD, file, definition.name)
            # A heading is not a symbol: it has a term of its own and counts among the words above its unit.
            heading = definition.kind == HEADING
            if not heading:
                counter.add("symbols", first_unit + owner, definition.name)
            self._keys.append(HEADING_TERM if heading else compound(definition.name))
            named = name_parts(definition.name) if definition.kind in TYPE_KINDS else []
            if named:
                counter.add("types", len(self._definitions), " ".join(named))
            self._definitions.append(_encode_definition(definition, file, first_unit + owner, len(named), self._strings))

    def finish(self) -> tuple[NDArray[Any], NDArray[Any], bytes, list[str]]:
        import numpy as np

        return np.array(self._units, UNIT), np.array(self._definitions, DEFINITION), self._strings.data(), self._keys


def _count_chunk(counter: TermCounter, unit: int, chunk: Span, text: bytes, comments: tuple[tuple[int, int], ...]) -> None:
    """Count comments and code of a chunk separately, each byte once."""
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


def _choose_definitions(parsed: ParsedFile, owners: list[int]) -> list[int]:
    """For each chunk the definition that names it: the largest that starts in it, else the innermost around it."""
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


def _encode_definition(definition: Definition, file: int, unit: int, parts: int, strings: StringPool) -> tuple[int, ...]:
    return (
        file, unit, definition.start_byte, definition.end_byte, definition.start_line, definition.end_line,
        strings.put(definition.name), strings.put(definition.container), strings.put(definition.signature),
        _KIND_NUMBERS.get(definition.kind, 0), EXPORTED if definition.exported else 0,
        parts,
    )  # fmt: skip
