"""Reads and writes SCIP, the format in which compiler-grade indexers say what each identifier refers to.

An index is one protobuf message (https://github.com/sourcegraph/scip, `scip.proto`); of its fields, those that tell definitions
and references are read, and all others are skipped. The wire format needs a hundred lines, so no protobuf library is used.

A symbol is a string that is equal wherever the same thing is meant: `scheme manager package version` and descriptors from the
outermost to the innermost, as in ``scip-python python click 8.1 `click.core`/Context#invoke().``, or `local 12` for what only
one document can name.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lurcher.errors import PathError
from lurcher.runtime.process import open_file

MAX_BYTES = 1 << 30
"""Of a file that is read; the largest that indexers write of one repository have a few hundred MB."""
DEFINITION, IMPORT, WRITE, READ, GENERATED, TEST, FORWARD_DEFINITION = 1, 2, 4, 8, 16, 32, 64
"""Roles of an occurrence, each a bit."""
UTF8, UTF16, UTF32 = 1, 2, 3
"""Position encodings: what the characters of a range are."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
"""Wire types of protobuf."""
_DESCRIPTOR = re.compile(
    r"(?:`((?:[^`]|``)+)`|([\w+\-$]+))(?:(/)|(#)|(:)|(!)|(\((?:[\w+\-$]*)\)\.)|(\.))"
    r"|\[(?:`((?:[^`]|``)+)`|([\w+\-$]+))\]|\((?:`((?:[^`]|``)+)`|([\w+\-$]+))\)"
)
_PLAIN_NAME = re.compile(r"[\w+\-$]+", re.ASCII)

Range = tuple[int, int, int, int]
"""First line, first character, last line, the character behind the last one; all counted from 0."""


class Occurrence(NamedTuple):
    """A symbol at a place of a document."""

    range: Range
    symbol: str
    roles: int = 0
    enclosing: Range | None = None
    """Of a definition: all of it. Of a reference: the expression around it."""


class Relationship(NamedTuple):
    symbol: str
    is_reference: bool = False
    is_implementation: bool = False
    is_type_definition: bool = False
    is_definition: bool = False


@dataclass(frozen=True, slots=True)
class Symbol:
    """What an index says about a symbol."""

    symbol: str
    kind: int = 0
    """A number of `SymbolInformation.Kind`; 0 where the indexer does not say."""
    name: str = ""
    enclosing: str = ""
    relationships: tuple[Relationship, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    path: str
    """Relative to the root of the index, with slashes."""
    language: str = ""
    occurrences: Sequence[Occurrence] = ()
    symbols: Sequence[Symbol] = ()
    text: str = ""
    """Empty where the indexer leaves it to the file."""
    encoding: int = 0


@dataclass(frozen=True, slots=True)
class Index:
    """An index: who made it, and its documents, which are decoded while they are iterated over."""

    tool: str
    version: str
    project_root: str
    documents: Iterable[Document] = field(default=())


# -- reading ----------------------------------------------------------------------------------------------------------


class _Malformed(ValueError):
    """The bytes are not the message they should be."""


def read_index(path: str | Path) -> Index:
    """The index in a file; PathError if there is none. Documents that turn out to be damaged raise it while iterating."""
    data = _read_file(path)
    try:
        metadata = b"".join(value for number, value in _fields(data) if number == 1 and isinstance(value, bytes))
        tool = version = root = ""
        for number, value in _fields(metadata):
            if number == 2:
                for part, content in _fields(_bytes(value)):
                    tool = _text(content) if part == 1 else tool
                    version = _text(content) if part == 2 else version
            elif number == 3:
                root = _text(value)
    except _Malformed as error:
        raise _not_scip(path, str(error)) from error
    if not metadata:
        raise _not_scip(path, "it has no metadata")
    return Index(tool, version, root, _Documents(path, data))


class _Documents:
    """The documents of an index, decoded anew by each iteration, one at a time."""

    def __init__(self, path: str | Path, data: bytes) -> None:
        self._path, self._data = path, data

    def __iter__(self) -> Iterator[Document]:
        try:
            for number, value in _fields(self._data):
                if number == 2:
                    yield _document(_bytes(value))
        except _Malformed as error:
            raise _not_scip(self._path, str(error)) from error


def _read_file(path: str | Path) -> bytes:
    try:
        descriptor = open_file(path, follow=True)
        with open(descriptor, "rb") as handle:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise PathError(f"{path} is not a file", "name the index.scip that an indexer wrote")
            if status.st_size > MAX_BYTES:
                most = f"at most {MAX_BYTES >> 20} MB are read"
                raise PathError(f"{path} has {status.st_size >> 20} MB; {most}", "have each package indexed by itself")
            return handle.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise PathError(f"cannot read {path}: {reason}", "name the index.scip that an indexer wrote") from error


def _not_scip(path: str | Path, reason: str) -> PathError:
    return PathError(f"{path} is not a SCIP index: {reason}", "make it anew, for example with scip-python or scip-typescript")


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field of a message: a number, or bytes."""
    position, end = 0, len(data)
    while position < end:
        key, position = _varint(data, position)
        wire = key & 7
        value: int | bytes
        if wire == _VARINT:
            value, position = _varint(data, position)
        else:
            if wire == _BYTES:
                length, position = _varint(data, position)
            elif wire in (_FIXED64, _FIXED32):
                length = 8 if wire == _FIXED64 else 4
            else:
                raise _Malformed(f"byte {position} has an unknown wire type")
            if length > end - position:
                raise _Malformed("it is cut short")
            value = data[position : position + length]
            position += length
        if key < 8:
            raise _Malformed("a field has the number 0")
        yield key >> 3, value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    try:
        while shift < 70:
            byte = data[position]
            position += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value, position
            shift += 7
    except IndexError:
        raise _Malformed("it is cut short") from None
    raise _Malformed("a number has more than ten bytes")


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise _Malformed("a field has the wrong type")
    return value


def _text(value: int | bytes) -> str:
    try:
        return str(_bytes(value), "utf-8")
    except UnicodeDecodeError as error:
        raise _Malformed("a string is not UTF-8") from error


def _number(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise _Malformed("a field has the wrong type")
    return value


def _document(data: bytes) -> Document:
    path = language = text = ""
    encoding = 0
    occurrences: list[Occurrence] = []
    symbols: list[Symbol] = []
    names: dict[str, str] = {}
    for number, value in _fields(data):
        if number == 2:
            occurrence = _occurrence(_bytes(value), names)
            if occurrence is not None:
                occurrences.append(occurrence)
        elif number == 3:
            symbols.append(_symbol(_bytes(value)))
        elif number == 1:
            path = _text(value)
        elif number == 4:
            language = _text(value)
        elif number == 5:
            text = _text(value)
        elif number == 6:
            encoding = _number(value)
    return Document(path, language, occurrences, symbols, text, encoding)


def _occurrence(data: bytes, names: dict[str, str]) -> Occurrence | None:
    """An occurrence; None where it only says how to highlight."""
    numbers: list[int] = []
    enclosing: list[int] = []
    symbol = ""
    roles = 0
    for number, value in _fields(data):
        if number == 1:
            _add_numbers(numbers, value)
        elif number == 2:
            symbol = _text(value)
        elif number == 3:
            roles = _number(value)
        elif number == 7:
            _add_numbers(enclosing, value)
        elif number in (8, 9):  # newer indexers: a message of its own instead of packed numbers
            numbers = _typed_range(_bytes(value), 5 - (number == 8))
        elif number in (10, 11):
            enclosing = _typed_range(_bytes(value), 5 - (number == 10))
    if not symbol:
        return None
    symbol = names.setdefault(symbol, symbol)  # one string for all of its occurrences
    return Occurrence(_range(numbers), symbol, roles, _range(enclosing) if enclosing else None)


def _add_numbers(numbers: list[int], value: int | bytes) -> None:
    """Add to a repeated number, packed or not."""
    if isinstance(value, int):
        numbers.append(value)
        return
    position = 0
    while position < len(value):
        number, position = _varint(value, position)
        numbers.append(number)


def _typed_range(data: bytes, count: int) -> list[int]:
    numbers = [0] * (count - 1)
    for number, value in _fields(data):
        if number < count:
            numbers[number - 1] = _number(value)
    return numbers


def _range(numbers: Sequence[int]) -> Range:
    if len(numbers) == 3:
        line, start, end = numbers
        last = line
    elif len(numbers) == 4:
        line, start, last, end = numbers
    else:
        raise _Malformed("a range has neither three nor four numbers")
    if max(numbers) >= 1 << 31 or (last, end) < (line, start):
        raise _Malformed("a range ends before it begins")
    return line, start, last, end


def _symbol(data: bytes) -> Symbol:
    symbol = name = enclosing = ""
    kind = 0
    relationships = []
    for number, value in _fields(data):
        if number == 1:
            symbol = _text(value)
        elif number == 4:
            related = dict(_fields(_bytes(value)))
            flags = (bool(_number(related.get(part, 0))) for part in range(2, 6))
            relationships.append(Relationship(_text(related.get(1, b"")), *flags))
        elif number == 5:
            kind = _number(value)
        elif number == 6:
            name = _text(value)
        elif number == 8:
            enclosing = _text(value)
    return Symbol(symbol, kind, name, enclosing, tuple(relationships))


# -- symbols ----------------------------------------------------------------------------------------------------------


def is_local(symbol: str) -> bool:
    """Whether only the document that a symbol occurs in can name it."""
    return symbol.startswith("local ")


def parse_descriptors(symbol: str) -> list[tuple[str, str]]:
    """Name and suffix of each descriptor of a symbol, the outermost first; empty for local and for malformed symbols.

    Suffixes: `/` namespace, `#` type, `.` term, `().` method, `:` meta, `!` macro, `[]` type parameter, `()` parameter.
    """
    position = _skip_package(symbol)
    found = []
    while 0 <= position < len(symbol):
        match = _DESCRIPTOR.match(symbol, position)
        if match is None:
            return []
        quoted, plain, *suffixes, quoted_type, plain_type, quoted_parameter, plain_parameter = match.groups()
        if quoted_type or plain_type:
            name, suffix = quoted_type or plain_type, "[]"
        elif quoted_parameter or plain_parameter:
            name, suffix = quoted_parameter or plain_parameter, "()"
        else:
            name, suffix = quoted or plain, next(filter(None, suffixes))
            suffix = "()." if suffix.startswith("(") else suffix
        found.append((name.replace("``", "`"), suffix))
        position = match.end()
    return found


def _skip_package(symbol: str) -> int:
    """Where the descriptors begin: behind four words, in which two spaces stand for one; -1 for local symbols."""
    if is_local(symbol):
        return -1
    position = 0
    for _ in range(4):
        while True:
            position = symbol.find(" ", position) + 1
            if not position:
                return -1
            if symbol[position : position + 1] != " ":
                break
            position += 1
    return position


def make_symbol(package: Sequence[str], descriptors: Iterable[tuple[str, str]]) -> str:
    """A symbol of four words, empty ones allowed, and descriptors as `parse_descriptors` gives them."""
    words = " ".join(word.replace(" ", "  ") or "." for word in package)
    return f"{words} {''.join(_descriptor(*descriptor) for descriptor in descriptors)}"


def _descriptor(name: str, suffix: str) -> str:
    name = name if _PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"
    return suffix[0] + name + suffix[1] if suffix in ("[]", "()") else name + suffix


# -- writing ----------------------------------------------------------------------------------------------------------


def encode_index(index: Index) -> Iterator[bytes]:
    """The bytes of an index, piece by piece."""
    tool = _field(1, index.tool) + _field(2, index.version)
    # Metadata: the tool, the root, and UTF-8 as the encoding of the files.
    yield _field(1, _field(2, tool) + _field(3, index.project_root) + _field(4, 1))
    for document in index.documents:
        yield _field(2, _encode_document(document))


def _encode_document(document: Document) -> bytes:
    out = [_field(1, document.path)]
    out += [_field(2, _encode_occurrence(occurrence)) for occurrence in document.occurrences]
    out += [_field(3, _encode_symbol(symbol)) for symbol in document.symbols]
    out += [_field(4, document.language), _field(5, document.text), _field(6, document.encoding)]
    return b"".join(out)


def _encode_occurrence(occurrence: Occurrence) -> bytes:
    enclosing = b"" if occurrence.enclosing is None else _field(7, _encode_range(occurrence.enclosing))
    return _field(1, _encode_range(occurrence.range)) + _field(2, occurrence.symbol) + _field(3, occurrence.roles) + enclosing


def _encode_range(range: Range) -> bytes:
    line, start, last, end = range
    return b"".join(map(_encode_varint, (line, start, end) if line == last else range))


def _encode_symbol(symbol: Symbol) -> bytes:
    related = (
        _field(4, _field(1, related.symbol) + b"".join(_field(number, int(flag)) for number, flag in enumerate(related[1:], 2)))
        for related in symbol.relationships
    )
    last = _field(5, symbol.kind) + _field(6, symbol.name) + _field(8, symbol.enclosing)
    return _field(1, symbol.symbol) + b"".join(related) + last


def _field(number: int, value: int | str | bytes) -> bytes:
    """A field; nothing where it has its default value."""
    if not value:
        return b""
    if isinstance(value, int):
        return _encode_varint(number << 3 | _VARINT) + _encode_varint(value)
    data = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return _encode_varint(number << 3 | _BYTES) + _encode_varint(len(data)) + data


def _encode_varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
