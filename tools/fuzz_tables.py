"""What reads tables, lists and paths as they lie in an index, with such as nobody would have written; and looks at a tree."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from lz4.block import LZ4BlockError, compress, decompress

from lurcher.sources import MARK, mark_of

if TYPE_CHECKING:
    from kernel_fuzz import Fuzz

SIZES = (1, 2, 4, 8, -4, 0, 3, -1)
NEVER = (1 << 63) - 1


class Tables:
    def __init__(self, fuzz: Fuzz) -> None:
        self.fuzz, self.kernel, self.random, self.numbers = fuzz, fuzz.kernel, fuzz.random, fuzz.numbers
        self._held = tempfile.TemporaryDirectory(prefix="lurcher-fuzz-")
        self._root = Path(self._held.name)
        self._folders = ["", *(f"f{i}" for i in range(4)), "f0/inner"]
        self._paths = sorted(f"{folder}/{i}".lstrip("/") for folder in self._folders for i in range(60))
        for folder in self._folders[1:]:
            (self._root / folder).mkdir()
        for path in self._paths:
            (self._root / path).write_text(path)
        self._marks = {
            name: MARK.pack(*mark_of(str(self._root / name), follow=False)) for name in (*self._paths, *self._folders)
        }
        self._opened = os.open(self._root, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        os.close(self._opened)
        self._held.cleanup()

    def quick(self) -> list[Callable[[], None]]:
        return [
            self.lengths,
            self.within,
            self.unpack,
            self.paths,
            self.spans,
            self.places,
            self.terms,
            self.lists,
            self.filter,
        ]

    def edge(self, *usual: int) -> int:
        """Mostly one of the usual numbers."""
        return self.random.choice(usual if self.random.random() < 0.85 else self.fuzz.amounts)

    # -- tables -----------------------------------------------------------------------------------------------------------

    def lengths(self) -> None:
        width, file_width, files = (
            self.random.choice((4, 12, 28)),
            self.random.choice((4, 9, 20)),
            self.random.choice((0, 1, 5, 40)),
        )
        units = self.fuzz.raw(self.random.choice((0, 1, 7, 90)) * width).view(np.uint8)
        table = units.reshape(-1, width)
        if files and self.random.random() < 0.8:  # for the most part, every unit is in a file
            table[:, :4] = np.sort(self.numbers.integers(0, files, len(table))).astype("<u4").view(np.uint8).reshape(-1, 4)
        fields: tuple[Any, ...] = tuple(
            (of_file, self.edge(0, 4, (file_width if of_file else width) - 4), self.edge(4, 4, 4, 2, 1) % (1 << 31), 0.5)
            for of_file in (False, False, False, True, True, True)
        )
        fields = fields if self.random.random() < 0.6 else fields[self.random.randrange(6) :] * self.random.choice((1, 3, 4))
        if self.random.random() < 0.05:
            fields = (*fields, self.random.choice((None, (), 1, (True, 0, 4))))
        rows = self.fuzz.raw(files * file_width + self.random.choice((0, 0, 0, 1)))
        live = self.random.choice((None, np.ones(files, bool), np.zeros(files + 1, bool)))
        space, first = len(table) + self.random.choice((0, 0, 0, 5, -1)), self.edge(0, 0, 0, 5)
        room = np.zeros(max(space, 0))
        self.fuzz.refusable(
            self.kernel.lengths, units, self.edge(width), rows, self.edge(file_width), self.edge(0), live, fields, room, first
        )
        self.fuzz.refusable(
            self.kernel.normed, room, *(self.random.choice((0.0, 1.0, -1.0, float("nan"), 1e308)) for _ in range(3))
        )

    def within(self) -> None:
        width, count = self.random.choice((8, 17, 40)), self.random.choice((0, 1, 9, 513, 1200))
        rows = self.fuzz.raw(width * count).tobytes()
        if self.random.random() < 0.3:  # sums beyond what a number holds
            rows = self.random.choice((b"\xff", b"\x80", b"\0")) * len(rows)
        limits = tuple(
            (self.edge(0, 1, width - 8), self.random.choice(SIZES), self.edge(-1, -1, 0, width - 8), self.random.choice(SIZES),
             self.edge(0, -1), self.edge(0, 300, 1 << 40))
            for _ in range(self.edge(0, 1, 3, 17) % 20)
        )  # fmt: skip
        given = self.edge(width)
        try:
            found = self.kernel.within(rows, given, limits)
        except self.fuzz.refused:
            return
        whole = [rows[start : start + given] for start in range(0, len(rows), given)]
        assert found is all(_keeps(row, limit) for row in whole for limit in limits), "rows that keep to other limits"

    def unpack(self) -> None:
        plain = self.fuzz.text().encode() * self.random.choice((1, 3, 40)) + self.random.randbytes(
            self.random.choice((0, 1, 30))
        )
        block = bytearray(compress(plain, store_size=False))
        assert self.kernel.unpack(bytes(block), len(plain)) == plain, "another text"
        for _ in range(self.random.choice((1, 1, 4))):
            turn = self.random.random()
            if turn < 0.6 and block:
                block[self.random.randrange(len(block))] = self.random.choice((0, 15, 240, 255, self.random.randrange(256)))
            elif turn < 0.8:
                del block[self.random.randrange(len(block) + 1) :]
            else:
                block += self.random.randbytes(self.random.choice((1, 2, 20)))
        size = self.edge(len(plain), len(plain), len(plain) - 1, 5, 1 << 20)
        found = self.fuzz.refusable(self.kernel.unpack, bytes(block), size)
        if found and size <= 1 << 20:  # of nothing there are more forms than the library takes
            try:
                assert decompress(bytes(block), uncompressed_size=size) == found, "another text than the library's"
            except LZ4BlockError:
                raise AssertionError("the library refuses this block") from None

    # -- paths ------------------------------------------------------------------------------------------------------------

    def paths(self) -> None:
        pick = self.random.choices
        pieces = ("a", "b.py", "..", ".", "/", "", "ß", "a/../b", "..a", "x/..")
        names = "\0".join("/".join(pick(pieces, k=self.random.randrange(3))) for _ in range(self.random.randrange(5)))
        data, strict = names.encode() + self.random.choice((b"", b"\0", b"\xff", b"\xc3")), self.random.random() < 0.5
        found = self.fuzz.quietly(self.kernel.paths, data, strict)
        if found is not None:
            listed = data.decode("utf-8", "surrogateescape").split("\0") if data else []
            leads_out = any(path.startswith("/") or ".." in path.split("/") for path in listed)
            assert found == (len(listed), leads_out), "other paths"

    def look(self) -> None:
        """Rows of a manifest and marks of folders, most of them of files and folders that are there."""
        known, folders = list(self._paths), list(self._folders)
        for names in (known, folders):
            for _ in range(self.random.choice((0, 0, 1, 3))):
                other = self.random.choice(
                    ("gone", "f0/gone", "x/y/z", "f1", "", ".", "a" * 999, "b/" * 700 + "c", "f0//1", "ä")
                )
                names[self.random.randrange(len(names))] = other
        if self.random.random() < 0.1:
            known, folders = known[: self.random.randrange(2)], folders[: self.random.randrange(3)]
        width = self.random.choice((32, 32, 61))
        first = self.edge(width - 32)
        rows = b"".join(self._marked(name).rjust(width, b"x") for name in known)
        marks = b"".join(self._marked(name) for name in folders)
        if self.random.random() < 0.1:
            rows, marks = rows[: -self.random.choice((1, width)) or None], marks * self.random.choice((0, 1, 2))
        young = self.random.choice((NEVER, 0, 1))
        opened = self.edge(self._opened) if self.random.random() < 0.1 else self._opened
        opened = opened if opened == self._opened or not 0 <= opened < 1 << 20 else -1
        common = ("\0".join(known).encode(), rows, self.edge(width), first, opened, young)
        whole = dict.fromkeys(folders)
        for _ in range(self.random.choice((1, 1, 3))):
            try:
                look = self.fuzz.refusable(self.kernel.begin_check, *common, "\0".join(folders).encode(), marks)
                if look is not None and self.random.random() < 0.7:
                    self.fuzz.refusable(self.kernel.end_check, look)
                    self.fuzz.refusable(self.kernel.end_check, look)
                self.fuzz.refusable(self.kernel.unlike_rows, *common, whole)
            except OSError:  # a descriptor that is none
                continue
        table = {name: (b"", *MARK.unpack(self._marked(name))) for name in known}
        self.fuzz.refusable(self.kernel.unlike, table, self.edge(1), self._opened, young, self.random.random() < 0.5)

    def _marked(self, name: str) -> bytes:
        return self._marks.get(name, bytes(MARK.size))

    # -- terms and lists --------------------------------------------------------------------------------------------------

    def ends(self, most: int, count: int) -> Any:
        """Where so many things end, which are so long together: nearly always in order."""
        found = np.sort(self.numbers.integers(0, most + 1, count)).astype(np.uint32)
        if count and self.random.random() < 0.2:
            found[self.random.randrange(count)] = self.edge(most, most + 1) % (1 << 32)
        return found

    def spans(self) -> None:
        count = self.fuzz.size()
        terms, rows = np.arange(count, dtype=np.uint32) * self.random.choice((1, 2)), self.ends(300, count)
        ends = (rows * self.random.choice((2, 3, 5, 4))).astype(np.uint32)
        asked = np.unique(self.fuzz.whole(2 * count + 1))
        data = self.fuzz.raw(self.random.choice((0, 600, 1500))).tobytes()
        found = self.fuzz.refusable(self.kernel.spans, asked, terms, rows, ends)
        mask = self.kernel.zeros(self.random.choice((0, 1, 300, 70_000)), "bool")
        if found is not None:
            self.fuzz.refusable(self.kernel.mark, data, *found, mask)
        self.fuzz.refusable(self.kernel.mark, data, self.fuzz.whole(600), self.fuzz.whole(600), self.fuzz.whole(90), mask)

    def places(self) -> None:
        text = self.fuzz.text().encode()
        wanted: list[Any] = [self.fuzz.text()[:4] for _ in range(5)] + [self.random.choice(("", "\ud800", None, 3))]
        self.fuzz.refusable(self.kernel.places, text, self.ends(len(text), self.fuzz.size()), wanted)

    def terms(self) -> None:
        parts: list[Any] = []
        for _ in range(self.random.randrange(5)):
            words = sorted(
                {self.fuzz.text()[: self.random.choice((0, 1, 3))].encode() for _ in range(self.random.randrange(9))}
            )
            text, ends = b"".join(words), np.cumsum([len(word) for word in words] or [0]).astype(np.uint32)[: len(words)]
            ends = ends if self.random.random() < 0.8 else self.ends(len(text), len(ends))
            parts.append((self.fuzz.bent(text), self.fuzz.bent(ends)))
        parts = parts if self.random.random() < 0.95 else [*parts, self.random.choice((None, (), (b"",), 3))]
        self.fuzz.refusable(self.kernel.united_terms, parts)

    def lists(self) -> None:
        parts: list[Any] = []
        for _ in range(self.random.randrange(4)):
            count, width = self.random.randrange(6), self.random.choice((1, 2, 4))
            rows = np.cumsum(self.numbers.integers(1, 9, count)).astype(np.uint32) if count else np.zeros(0, np.uint32)
            if count and self.random.random() < 0.15:
                rows = self.ends(60, count)
            ends = (rows * (width + 1)).astype(np.uint32)
            numbers = np.cumsum(self.numbers.integers(self.random.random() < 0.9, 4, count)).astype(np.int64)
            data = self.fuzz.raw(int(ends[-1]) if count and int(ends[-1]) < 9999 else 3).tobytes()
            targets = self.numbers.integers(-1, 300, self.random.choice((9, 300, 4000)))
            if self.random.random() < 0.1:
                targets[0] = self.edge(0)
            part = (numbers, rows, ends, self.edge(0) % (1 << 32), data, self.edge(0) % (1 << 32), targets)
            parts.append(tuple(map(self.fuzz.bent, part)))
        self.fuzz.refusable(self.kernel.merged_postings, parts)
        count = self.fuzz.size()
        terms, owners = (self.numbers.integers(0, 9, count).astype(np.uint32) for _ in range(2))
        self.fuzz.refusable(self.kernel.packed_postings, terms, owners, self.fuzz.raw(count).view(np.uint8))

    def filter(self) -> None:
        hashes = self.numbers.integers(0, 1 << 63, self.fuzz.size()).astype(np.uint64)
        self.fuzz.refusable(self.kernel.filter, hashes, self.edge(1, 64, 4096))

    # -- what takes a second core -----------------------------------------------------------------------------------------

    def threads(self) -> None:
        """Enough for two threads each: whatever is wrong is wrong for one of them, or for both."""
        files, units = 2000, 200_000
        counts = np.full(files, units // files)
        first = np.cumsum(counts) - counts
        if self.random.random() < 0.5:
            first[self.random.choice((3, files - 3))] = self.edge(units - 5)
        scores, sums = np.abs(self.fuzz.real(units)), np.zeros(files)
        self.fuzz.refusable(self.kernel.best_units, scores, first, counts)
        most = self.random.choice((units // files, 3))
        self.fuzz.refusable(
            self.kernel.harmonic, scores, np.ones(files), first, counts, np.ones(files, bool), np.ones(most), sums
        )
        terms = self.fuzz.raw(8_100_000).tobytes()
        ends = self.ends(len(terms), 100_000)
        self.fuzz.refusable(self.kernel.terms_with, terms, ends, terms[77:79], self.random.choice((1 << 40, 5, 0)))


def _keeps(row: bytes, limit: tuple[int, ...]) -> bool:
    """Whether a row keeps to a limit, in numbers that hold everything; as in the kernel, none is beyond 2^62."""
    place, size, other, other_size, low, high = limit

    def number(at: int, size: int) -> int:
        return min(int.from_bytes(row[at : at + abs(size)], "little", signed=size < 0), 1 << 62)

    first = number(place, size)
    return low <= (first if first == 1 << 62 or other < 0 else first + number(other, other_size)) <= high
