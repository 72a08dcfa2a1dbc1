"""What files import, as two sections of a segment: a row per import, file by file, and its words in a text of their own.

The words of imports lie apart from other strings, in the order of the rows: a graph needs all of them, and nothing else.
"""

from __future__ import annotations

from lurcher.languages.base import KINDS
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.storage.container import Container
from lurcher.storage.segment import IMPORT
from lurcher.types import Import

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

_SEPARATOR = "\x1f"
"""Stands between words; no language has it in one."""
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


class ImportWriter:
    """Gathers the imports of one file after the other."""

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
    """The table of imports in the order of files and of their words, each row leading to what exists."""
    import numpy as np

    rows = container.table("imports", IMPORT)
    if len(rows) and (
        int(rows["file"][-1]) >= container.meta["files"]
        or int(rows["text"][-1]) >= container.length("import_texts")
        or int(rows["kind"].max()) >= len(KINDS)
        or any(bool((np.diff(rows[column].astype(np.int64)) < 0).any()) for column in ("file", "text"))
    ):
        raise container.corrupt("an import leads nowhere")
    return rows


class ImportRanges:
    """Where the rows of each file are, and their words: what is needed to take them elsewhere."""

    def __init__(self, container: Container) -> None:
        import numpy as np

        self.rows = read_import_table(container)
        first = np.searchsorted(self.rows["file"], np.arange(container.meta["files"] + 1))
        self.counts = np.diff(first)
        texts = np.append(self.rows["text"].astype(np.int64), container.length("import_texts"))[first]
        if len(texts):
            texts[0] = 0
        self.starts = texts[:-1]
        self.sizes = np.diff(texts)

    def relocate(self, files: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[Any]:
        """The rows of those files that go anywhere (-1: nowhere), each file's words now beginning at another place."""
        import numpy as np

        kept: NDArray[Any] = self.rows[files[self.rows["file"]] >= 0].copy()
        old = kept["file"]
        new = files[old]
        kept["text"] = kept["text"].astype(np.int64) - self.starts[old] + starts[new]
        kept["file"] = new
        return kept


def merge_import_tables(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One table out of several; a file's rows are all in one of them and keep their order."""
    import numpy as np

    rows = np.concatenate([np.zeros(0, IMPORT), *parts])
    return rows[np.argsort(rows["file"], kind="stable")]


def read_imports(container: Container, wanted: Sequence[bool]) -> Iterator[tuple[int, tuple[Import, ...]]]:
    """Each wanted file that imports something, with what that is."""
    rows = read_import_table(container)
    texts = bytes(container.section("import_texts")).decode("utf-8", "replace").split("\0")
    if len(texts) != len(rows) + 1:
        raise container.corrupt("its imports are not as many as it says")
    words: dict[str, tuple[str, tuple[str, ...]]] = {}
    current = -1
    found: list[Import] = []
    made = tuple.__new__  # by way of the class it would take twice as long
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


def read_imports_of(container: Container, files: Sequence[int]) -> Iterator[tuple[int, tuple[Import, ...]]]:
    """The same for a few files, which ascend, without reading those of all others."""
    import numpy as np

    rows = read_import_table(container)
    length = container.length("import_texts")
    starts = rows["file"].searchsorted(np.array(files, rows["file"].dtype)).tolist()
    ends = rows["file"].searchsorted(np.array(files, rows["file"].dtype), "right").tolist()
    for file, start, end in zip(files, starts, ends, strict=True):
        if start == end:
            continue
        first, last = int(rows["text"][start]), int(rows["text"][end]) if end < len(rows) else length
        texts = bytes(container.section("import_texts", first, last)).decode("utf-8", "replace").split("\0")
        if len(texts) != end - start + 1:
            raise container.corrupt("its imports are not as many as it says")
        found = []
        for line, kind, text in zip(rows["line"][start:end].tolist(), rows["kind"][start:end].tolist(), texts, strict=False):
            spec, *names = text.split(_SEPARATOR)
            found.append(Import(spec, tuple(names), line, KINDS[kind]))
        yield file, tuple(found)


def read_imports_of_kind(container: Container, kind: str) -> Iterator[tuple[int, str]]:
    """File and words of each import of one kind."""
    rows = read_import_table(container)
    rows = rows[rows["kind"] == _KIND_NUMBERS[kind]]
    texts = bytes(container.section("import_texts")) if len(rows) else b""
    for file, start in zip(rows["file"].tolist(), rows["text"].tolist(), strict=True):
        yield file, texts[start : texts.find(b"\0", start)].decode("utf-8", "replace").partition(_SEPARATOR)[0]
