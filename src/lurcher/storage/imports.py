"""The imports of files, as two sections of a segment: a table with a row per import, and the words of all imports.

The words have a section of their own, in the order of the rows: an import graph needs all of them and no other strings.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from lurcher.languages.base import KINDS
from lurcher.languages.parsed_file import Import
from lurcher.storage.container import Container
from lurcher.storage.segment import IMPORT, read_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from lurcher.storage.segment import Segment

_SEPARATOR = "\x1f"
"""Separates the words of an import; no language allows it in one."""
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


class ImportWriter:
    """Collects the imports of one file after the other."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, int, int]] = []
        self._parts: list[bytes] = []
        self._size = 0

    def put(self, file: int, imports: Sequence[Import]) -> None:
        for found in imports:
            words = _SEPARATOR.join((found.spec, *found.names)).replace("\0", " ").encode("utf-8", "replace") + b"\0"
            self._rows.append((file, found.line, self._size, _KIND_NUMBERS[found.kind]))
            self._parts.append(words)
            self._size += len(words)

    def rows(self) -> NDArray[Any]:
        import numpy as np

        return np.array(self._rows, IMPORT)

    def texts(self) -> bytes:
        return b"".join(self._parts)


def read_import_table(container: Container) -> NDArray[Any]:
    """The table of imports, ordered by file and offset; every reference in it is checked."""
    return read_table(container, "imports")


def read_imports(
    container: Container, wanted: Sequence[bool], rows: NDArray[Any] | None = None
) -> Iterator[tuple[int, tuple[Import, ...]]]:
    """The imports of all `wanted` files that have some; `rows` is the table, for who has read it without numpy."""
    rows = read_import_table(container) if rows is None else rows
    texts = bytes(container.section("import_texts")).decode("utf-8", "replace").split("\0")
    if len(texts) != len(rows) + 1:
        raise container.corrupt("the number of its imports is wrong")
    words: dict[str, tuple[str, tuple[str, ...]]] = {}
    current = -1
    found: list[Import] = []
    made = tuple.__new__  # calling the class would take twice as long
    columns = (rows[name].tolist() for name in ("file", "line", "kind"))
    for file, line, kind, text in zip(*columns, texts[:-1], strict=True):
        if not wanted[file]:
            continue
        if file != current:
            if found:
                yield current, tuple(found)
            current, found = file, []
        parts = words.get(text)
        if parts is None:
            spec, *names = text.split(_SEPARATOR)
            parts = words[text] = spec, tuple(names)
        found.append(made(Import, (*parts, line, KINDS[kind])))
    if found:
        yield current, tuple(found)


def read_imports_of(segment: Segment, files: Sequence[int]) -> Iterator[tuple[int, tuple[Import, ...]]]:
    """The same for a few ascending files, reading only their own; without numpy, which takes longer to import."""
    container, rows = segment.container, segment.table("imports")
    owners = rows["file"]
    length = container.length("import_texts")
    for first_file, last_file in _find_runs(files):
        start = bisect_left(owners, first_file)
        end = bisect_right(owners, last_file, start)
        if start == end:
            continue
        first, last = int(rows["text"][start]), int(rows["text"][end]) if end < len(rows) else length
        texts = bytes(container.section("import_texts", first, last)).decode("utf-8", "replace").split("\0")
        if len(texts) != end - start + 1:
            raise container.corrupt("the number of its imports is wrong")
        columns = (rows[name][start:end].tolist() for name in ("file", "line", "kind"))
        found: dict[int, list[Import]] = {}
        for file, line, kind, text in zip(*columns, texts, strict=False):
            spec, *names = text.split(_SEPARATOR)
            found.setdefault(file, []).append(Import(spec, tuple(names), line, KINDS[kind]))
        yield from ((file, tuple(imports)) for file, imports in found.items())


def _find_runs(files: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of files that follow each other."""
    first = last = -1
    for file in files:
        if file != last + 1 or first < 0:
            if first >= 0:
                yield first, last
            first = file
        last = file
    if first >= 0:
        yield first, last


def read_imports_of_kind(container: Container, kind: str) -> Iterator[tuple[int, str]]:
    """File and module of each import of one kind."""
    rows = read_import_table(container)
    rows = rows[rows["kind"] == _KIND_NUMBERS[kind]]
    texts = bytes(container.section("import_texts")) if len(rows) else b""
    for file, start in zip(rows["file"].tolist(), rows["text"].tolist(), strict=True):
        yield file, texts[start : texts.find(b"\0", start)].decode("utf-8", "replace").partition(_SEPARATOR)[0]
