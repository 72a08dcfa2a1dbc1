"""Calls the kernel with arguments that are nearly right, and compares what it says with the reference, for some seconds.

    python tools/kernel_fuzz.py SECONDS [SEED]

Wrong arguments must raise ValueError, TypeError, IndexError, BufferError, OverflowError or MemoryError, and never crash; right
ones must give what numpy gives. Meant to be run by tools/kernel-sanitize, under which reading or writing out of bounds ends the
process.
"""

from __future__ import annotations

import array
import contextlib
import operator
import random
import sys
import time
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from fuzz_parser import Parsing
from fuzz_tables import Tables
from hostile_index import Hostile

from lurcher.answer import token_table
from lurcher.runtime.kernel import native
from lurcher.storage import bloom
from lurcher.terms.count import NativeCounter, ReferenceCounter

REFUSED = (ValueError, TypeError, IndexError, BufferError, OverflowError, MemoryError)
EDGES = (0, 1, -1, 2, 7, 8, 63, 64, 65, 127, 128, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 61, (1 << 63) - 1, -(1 << 63))
AMOUNTS = tuple(edge for edge in EDGES if abs(edge) < 1 << 20 or abs(edge) > 1 << 60)
"""Edges that may be how many there are of something: memory for those between would be had, and take its time."""
KINDS = ("bool", "int8", "uint8", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
QUICK = 12
"""How often in a round what takes next to no time is called."""
TWO_SIDED = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.and_, operator.or_, operator.xor,
    operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge,
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.iand, operator.ior,
)  # fmt: skip
PARSED = 5
"""Texts to a round."""
LETTERS = "aZ_09 \n\t.-ßé中文\u0301\u200d한नि١²ΣİǅX" + "abcXYZ012_" * 4


class Fuzz:
    refused, amounts = REFUSED, AMOUNTS

    def __init__(self, kernel: ModuleType, seed: int) -> None:
        self.kernel = kernel
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.token_table = Path(token_table.FILE).read_bytes()
        self.token_counter = token_table.PythonCounter(self.token_table)

    # -- arguments ------------------------------------------------------------------------------------------------------

    def size(self) -> int:
        return self.random.choice((0, 1, 2, 3, 5, 8, 31, 64, 65, 200))

    def whole(self, limit: int) -> Any:
        found = self.numbers.integers(0, max(limit, 1), self.size())
        if len(found) and self.random.random() < 0.2:
            found[self.random.randrange(len(found))] = self.random.choice(EDGES)
        return found

    def real(self, size: int | None = None) -> Any:
        scale = self.random.choice((1, 100, 1e5))
        found: Any = np.trunc(self.numbers.normal(size=self.size() if size is None else size) * scale)
        if len(found) and self.random.random() < 0.1:
            found[self.random.randrange(len(found))] = self.random.choice((np.nan, np.inf, -np.inf, 0.5, 1e30, -0.0))
        return found

    def raw(self, size: int) -> Any:
        return self.numbers.integers(-128, 128, size).astype(np.int8)

    def bent(self, value: Any) -> Any:
        """Mostly the value itself; else something that a caller might give by mistake."""
        turn = self.random.random()
        if turn > 0.06 or not isinstance(value, np.ndarray):
            return value
        if turn < 0.01:
            return None
        if turn < 0.02:
            return value[::2]
        if turn < 0.03:
            return value.view(np.int8)[1:]
        if turn < 0.04:
            return bytes(value)
        return value[: len(value) // 2]

    def text(self) -> str:
        return "".join(self.random.choices(LETTERS, k=self.random.choice((0, 1, 5, 40, 150, 400))))

    # -- what is called -------------------------------------------------------------------------------------------------

    def refusable(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*map(self.bent, arguments))
        except REFUSED:
            return None

    def sums(self) -> None:
        dims, height = self.random.choice((1, 2, 31, 32, 64)), self.random.randrange(1, 20)
        bits = self.random.choice((8, 4, 4, 8, 7))
        ends = np.sort(self.whole(60))
        rows = self.numbers.integers(0, height, int(ends[-1]) if len(ends) and 0 <= ends[-1] < 1000 else 3)
        if len(rows) and self.random.random() < 0.2:
            rows[-1] = self.random.choice(EDGES)
        data = self.raw(height * (dims if bits == 8 else (dims + 1) // 2))
        asked = self.random.choice((dims, dims, dims, 0, -1, 1 << 40))
        self.refusable(self.kernel.row_sums, ends, rows, self.real(len(rows)), data, bits, asked)

    def owners(self) -> None:
        dims, height = self.random.choice((1, 2, 31, 32, 64)), self.random.randrange(1, 20)
        bits, terms = self.random.choice((8, 4, 4, 8, 7)), self.random.randrange(20)
        places = self.numbers.integers(-1, height + (self.random.random() < 0.1), terms).astype(np.int32)
        data = self.raw(height * (dims if bits == 8 else (dims + 1) // 2))
        total = self.random.choice((0, 1, 5, 60))
        fields = []
        for _ in range(self.random.randrange(4)):
            count = self.random.randrange(80)
            owners = self.numbers.integers(0, total + 1, count).astype(np.uint32)
            named = self.numbers.integers(0, terms + 1, count).astype(np.uint32)
            if self.random.random() < 0.8:  # for the most part, all that is named is there
                owners, named = owners % max(total, 1), named % max(terms, 1)
            counts = self.numbers.integers(0, 256, count).astype(np.uint8)
            fields.append((self.bent(owners), self.bent(named), self.bent(counts), self.random.choice((0.0, 1.0, -2.5, 1e300))))
        wanted = self.random.choice((total, total, total, -1, 1 << 40))
        asked = self.random.choice((dims, dims, dims, 0, -1, 1 << 40))
        with contextlib.suppress(*REFUSED):
            self.kernel.owner_sums(fields, wanted, self.bent(places), self.bent(self.real(terms)), self.bent(data), bits, asked)

    def products(self) -> None:
        dims, height = self.random.choice((1, 3, 32, 33, 256)), self.random.randrange(0, 20)
        rows, places = self.raw(dims * height), self.whole(height) if self.random.random() < 0.5 else None
        numbers = self.real(dims).astype(np.float32)
        self.refusable(self.kernel.products, rows, places, numbers, np.zeros(height if places is None else len(places)))

    def tally(self) -> None:
        total = self.random.choice((0, 1, 63, 64, 65, 300, 9000))
        parts: list[tuple[Any, ...]] = []
        for _ in range(self.random.randrange(4)):
            if self.random.random() < 0.5:
                rows, first = self.random.choice((0, 1, 5, 40, 40, -1, 1 << 40)), self.random.choice((0, 0, 1, total, -1))
                listed = self.raw(max(0, min(rows, 99)) * self.random.choice((2, 3, 5, 4)))
                parts.append((listed, rows, self.random.choice((total - first, total, 1 << 50, -1)), first, 0.5))
                continue
            owners = self.whole(total)
            values = self.real(len(owners))
            if self.random.random() < 0.5:
                values = self.numbers.integers(0, 256, len(owners)).astype(np.uint8)
            parts.append((self.bent(owners), self.bent(values), self.random.random()))
        self.refusable(self.kernel.tally, parts, self.random.choice((total, total, total, -1, 1 << 40)))
        scores = np.zeros(total)
        units = self.whole(total)
        self.refusable(self.kernel.bm25, units, self.real(len(units)), np.ones(total), 1.0, scores)

    def pieces(self) -> None:
        """Terms that may end anywhere."""
        terms, ends = self.text().encode(), self.numbers.integers(0, 300, self.size()).astype(np.uint32)
        if self.random.random() < 0.7:
            ends = np.sort(np.minimum(ends, len(terms))).astype(np.uint32)
        piece = self.text().encode()[: self.random.choice((0, 1, 2, 3, 40))]
        self.refusable(self.kernel.terms_with, terms, ends, piece, self.random.choice((0, 1, 50, -1)))

    def order(self) -> None:
        counts = self.whole(9)
        first = np.cumsum(counts) - counts
        total = self.size() if self.random.random() < 0.3 else int(np.clip(counts, 0, 99).sum())
        divisors, allowed = np.ones(self.random.choice((9, 9, 9, 0, 3))), np.ones(len(counts), bool)
        best, sums = self.real(len(counts)), np.zeros(len(counts))
        self.refusable(self.kernel.harmonic, self.real(total), best, first, counts, allowed, divisors, sums)
        self.refusable(self.kernel.best_units, self.real(total), first, counts)
        self.refusable(self.kernel.count_above_and_equal, self.real(), self.real())
        self.refusable(self.kernel.nearest, self.real(total), counts, self.random.choice((1, 3, 8, 0, 9)))
        most = self.random.choice((1, 2, 60, 0, -1, 1 << 62))
        self.refusable(self.kernel.largest, self.real(len(counts)), first, self.whole(99), most)

    def parts(self, total: int, *more: float) -> list[Any]:
        found = []
        for _ in range(self.random.randrange(4)):
            owners = self.whole(total)
            counts = self.numbers.integers(0, 256, len(owners)).astype(np.uint8)
            given = self.random.choice((self.bent(counts), counts, None))
            found.append((self.bent(owners), given, self.random.random(), *more))
        return found

    def evidence(self) -> None:
        files, total = self.size(), self.size()
        desk = np.zeros(2 * total + self.random.choice((0, 0, 5, -1)) if total else 0)
        width, places = self.random.choice((6, 6, 9, 3, 0)), [self.random.choice((0, 1, 4, 5, -1, 1 << 62)) for _ in range(2)]
        tables = [(self.numbers.integers(0, 2, total * 6).astype(np.uint8), width, *places,
                   self.random.choice((0, 0, 0, *EDGES))) for _ in range(2)]  # fmt: skip
        self.refusable(self.kernel.covered, self.parts(total, 0.5), tables, 1.5, self.random.choice((files, *AMOUNTS)), desk)
        assert not desk.any(), "the desk was left dirty"

    def rows(self) -> None:
        width, data = self.random.choice((4, 9, 40, 1, 0, -1)), self.raw(self.size() * 9)
        first, count = (self.random.choice((0, 1, 3, *EDGES)) for _ in range(2))
        columns = [self.random.choice((0, 1, 4, 5, 8, -1, 1 << 62)) for _ in range(3)]
        self.refusable(self.kernel.innermost, data, width, *columns, first, count, self.random.choice(EDGES), bytes(3))
        text, terms = self.text(), [self.text() for _ in range(self.random.choice((0, 3, 130)))]
        columns, strings = ((12, 4, 8), (40, 4, 8, 12, 24, 28, 36)), self.text().encode("utf-8", "replace") + b"\0"
        if self.random.random() < 0.1:
            columns = tuple(tuple(self.random.choice((width, *EDGES)) for width in table) for table in columns)
        tables = [(self.numbers.integers(0, 3, size * 4).astype(np.uint8).tobytes() if self.random.random() < 0.7 else
                   self.raw(size * 4)) for size in (30, 100)]  # fmt: skip
        rows = (tables[0], self.random.choice((0, 1, *EDGES)), tables[1], self.random.choice((0, 2, *EDGES)),
                self.random.choice((10, 7, *EDGES)), strings, self.random.choice((0, 0, 1, *EDGES)))  # fmt: skip
        scores, most = self.real(20), self.random.choice((1, 2, 16, 64, 65, 0, -1))
        units, cosines = self.random.choice(((None, None), (np.sort(self.whole(30)), self.real(30)), (self.whole(5), None)))
        files = [(rows, *[self.random.choice((0, 1, 9, 20, *EDGES)) for _ in range(3)], defining, True, 7, self.random.random())
                 for defining in (False, True)]  # fmt: skip
        self.refusable(
            self.kernel.order_places, (terms[:60], bytes(range(len(terms[:60]))), [0.5] * 60, 30.0), columns, b"\1\1\0", scores,
            units, cosines, self.random.choice((None, np.ones(20, np.uint8))), -1.0, (0.5, 3.0, 3.5, 0.15, 0.85, 0.02), most,
            self.random.random() < 0.5, files,
        )  # fmt: skip
        self.refusable(self.kernel.best_line, text, self.random.choice((text, text.lower(), self.text())), terms)
        marks = self.random.choice((None, bytes(7), bytearray(2)))
        starts, length = self.whole(70), self.random.choice((70, 20))
        size, length = (10, length) if self.random.random() < 0.7 else (self.random.choice(EDGES), self.random.choice(AMOUNTS))
        self.refusable(self.kernel.unchecked, starts, starts + self.random.choice((1, 0, 30)), size, length, marks)

    def small(self) -> Any:
        """A small array: over memory of its own, another's, locked, not aligned, or a part of one."""
        kind, size = self.random.choice(KINDS), self.size()
        plain = np.frombuffer(self.numbers.bytes(size * np.dtype(kind).itemsize), kind)
        if kind == "bool":
            plain = self.numbers.integers(0, 2, size).astype(bool)
        elif self.random.random() < 0.6:
            plain = self.numbers.integers(0, self.random.choice((3, 100)), size).astype(kind)
        found = self.kernel.asarray(self.random.choice((plain, plain.copy(), plain[::-1], plain.tobytes(), memoryview(plain))))
        if self.random.random() < 0.1:
            found = self.kernel.frombuffer(memoryview(bytes(9) + bytes(plain))[9:], kind)
        return found[self.random.randrange(4) :] if self.random.random() < 0.3 else found

    def any_one(self) -> Any:
        """Something that stands where an array is wanted."""
        turn = self.random.random()
        if turn < 0.5:
            return self.small()
        gone = memoryview(bytearray(8))
        if turn < 0.55:
            gone.release()
            return gone
        others: tuple[Any, ...] = (
            None, "a", b"", b"abc", [], [1, 2], [1.5, float("nan")], [None], [1 << 70], (), 0, 3, -1, 0.5, float("inf"), True,
            1j, 1 << 70,
            np.int64(3), np.float32(2), np.zeros((2, 3)), np.zeros(0), np.zeros(5, "complex64"), np.zeros(4, ">i4"),
                np.array(3),
            np.broadcast_to(np.int64(1), 7), np.arange(9)[::-2], array.array("d", [1, 2]), array.array("b"), iter((1, 2)),
                gone, {1: 2},
            range(5), slice(None), slice(5, 1, -1), slice(-100, 100, 3), slice(0, 9, 0), slice("a"),
            self.random.choice(EDGES), [self.random.choice(EDGES)],
            self.whole(9), self.real(), "int8", bool, np.float64, KINDS,
        )  # fmt: skip
        return self.random.choice(others)

    def arrays(self) -> None:
        names = (
            "maximum", "minimum", "where", "flatnonzero", "count_nonzero", "bincount", "repeat", "cumsum", "diff",
            "concatenate", "argsort", "lexsort", "unique", "isin", "abs", "trunc", "rint", "isfinite", "zeros", "full",
            "arange", "array", "asarray", "fromiter", "frombuffer", "column", "postings",
        )  # fmt: skip
        keywords = ("dtype", "kind", "prepend", "weights", "minlength", "return_index", "return_counts", "count", "initial",
            "side", "", "x y")
        for name in names:
            arguments = [self.any_one() for _ in range(self.random.choice((0, 1, 1, 2, 2, 3, 3, 4)))]
            named = {self.random.choice(keywords): self.any_one()} if self.random.random() < 0.15 else {}
            if name in ("concatenate", "lexsort") and self.random.random() < 0.8:
                some = range(self.random.randrange(4))
                arguments = [tuple(self.any_one() if self.random.random() < 0.1 else self.small() for _ in some)]
            if name in ("zeros", "full", "arange") and self.random.random() < 0.8:
                arguments = [self.random.choice(EDGES[:11]), 1, self.random.choice(KINDS)][: self.random.randrange(1, 4)]
            self.quietly(getattr(self.kernel, name), *arguments, **named)
        ours = self.small()
        methods = ("tolist", "copy", "tobytes", "nonzero", "sum", "max", "min", "mean", "any", "all", "searchsorted", "astype")
        for name in methods:
            self.quietly(getattr(ours, name), *(self.any_one() for _ in range(self.random.choice((0, 0, 1, 1, 2)))))
        for operation in TWO_SIDED:
            self.quietly(operation, ours, self.any_one())
            self.quietly(operation, self.any_one(), self.small())
        for operation in (operator.neg, operator.invert, bool, len, repr, list, memoryview, bytes, np.asarray):
            self.quietly(operation, ours)
        for _ in range(4):
            ours, key = self.small(), self.any_one()
            found = self.quietly(operator.getitem, ours, key)
            self.quietly(operator.setitem, ours, key,
                found if found is not None and self.random.random() < 0.3 else self.any_one())
            self.quietly(operator.setitem, ours, slice(None), ours[::-1])
        self.same_as_numpy()

    def quietly(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return function(*arguments, **named)
            except REFUSED:
                return None

    def same_as_numpy(self) -> None:
        kernel, ours = self.kernel, self.small()
        plain = np.array(ours)
        places = self.numbers.integers(-len(plain), len(plain), 9) if len(plain) else np.zeros(0, np.int64)
        mask = self.numbers.integers(0, 2, len(plain)).astype(bool)
        pairs: list[tuple[Any, Any]] = [
            (ours[places], plain[places]), (ours[mask], plain[mask]), (ours[::-3], plain[::-3]),
            (kernel.flatnonzero(ours), np.flatnonzero(plain)),
            (kernel.argsort(ours), np.argsort(plain, kind="stable")), (kernel.lexsort((ours, mask)), np.lexsort((plain, mask))),
            (kernel.unique(ours, return_counts=True)[1], np.unique(plain, return_counts=True)[1]),
            (kernel.repeat(ours, 2), np.repeat(plain, 2)),
        ]  # fmt: skip
        for found, wanted in pairs:
            assert np.asarray(found).tobytes() == np.ascontiguousarray(wanted).tobytes(), "another array than numpy's"
        if plain.dtype == np.float64:
            with np.errstate(all="ignore"):
                assert np.array_equal(ours.sum(), plain.sum(), equal_nan=True), "another sum"

    def postings(self) -> None:
        rows, width = self.size(), self.random.choice((1, 1, 2, 4, 3))
        data = self.random.randbytes(rows * (width + 1) + self.random.choice((0, 0, 0, 1)))
        total = self.random.choice((1 << 34, 1 << 16, 300, *EDGES))
        found = self.refusable(self.kernel.postings, data, self.random.choice((rows, rows, rows, rows + 1, -1, 1 << 61)), total)
        if found is not None:
            owners = np.asarray(found[0])
            assert owners[0] >= 0 and (np.diff(owners) >= 0).all() and owners[-1] < total, "an owner is not there"

    def stamps(self) -> None:
        row = (b"", *(self.random.choice((*EDGES, 1 << 70, None, "a", 0.5)) for _ in range(self.random.randrange(8))))
        rows = {self.random.choice((self.text(), ".", "/", "\0", "\ud800", "\udcff", 7)): row for _ in range(3)}
        folder, old = self.random.choice((-1, 0, 99)), self.random.choice((0, (1 << 63) - 1))
        first, folders = self.random.choice((0, 1, 3, -1, 1 << 40, (1 << 63) - 1)), self.random.random() < 0.5
        found = self.refusable(self.kernel.unlike, rows, first, folder, old, folders)
        assert found is None or found == list(rows), "such a file looks as it did"

    def checksum(self) -> None:
        data = self.random.randbytes(self.random.choice((0, 1, 15, 16, 63, 64, 65, 128, 1000, 5000)))
        assert self.kernel.crc32(memoryview(data)[1:]) == zlib.crc32(data[1:]), "another checksum"
        assert self.kernel.crc32(data) == zlib.crc32(data), "another checksum"

    def tokens(self) -> None:
        text = self.text()
        assert self.kernel.count_tokens(self.token_table, text) == self.token_counter.count(text), "another count of tokens"
        damaged = bytearray(self.token_table)
        for _ in range(self.random.choice((1, 1000))):
            damaged[self.random.randrange(self.random.choice((32, len(damaged))))] = self.random.randrange(256)
        self.refusable(self.kernel.count_tokens, damaged, text)
        self.refusable(self.kernel.count_tokens, damaged[: self.random.choice((0, 7, 19, 20, 5000))], text)

    def entries(self) -> None:
        text = self.numbers.integers(0, 256, self.random.choice((0, 1, 2, 3, 500, 70_000))).astype(np.uint8).tobytes()
        if self.random.random() < 0.3:
            text = text.replace(b" ", b"x").translate(bytes([120] * 200 + list(range(200, 256))))
        marks = np.zeros(1 << 21, bool)
        entries = self.kernel.Entries(self.random.getrandbits(64))
        entries.add(text, marks)
        found = np.frombuffer(entries.hashes(), np.uint64)
        words = [words for words, _ in bloom._split_entries(np.frombuffer(text, np.uint8))]
        distinct = np.unique(np.concatenate([np.zeros(0, np.uint64), *words]))
        assert np.array_equal(np.sort(found), distinct), "other words than the reference"

    def counter(self) -> None:
        native_one, reference = NativeCounter(), ReferenceCounter()
        for _ in range(self.random.randrange(6)):
            field, owner, text = self.random.choice(("body", "name")), self.random.randrange(5), self.text()
            native_one.add(field, owner, text)
            reference.add(field, owner, text)
        terms, postings = native_one.finish(("body", "name"))
        plain_terms, plain = reference.finish(("body", "name"))
        assert terms == plain_terms, "other terms than the reference"
        for field in plain:
            for column in ("terms", "owners", "counts"):
                assert np.array_equal(getattr(postings[field], column), getattr(plain[field], column)), "other counts"
            assert np.array_equal(native_one.incomplete(field), reference.incomplete(field)), "other incomplete owners"
        raw = self.kernel.Counter(self.random.getrandbits(64))
        for _ in range(4):
            field, owner = self.random.choice((0, 31, 32, 1 << 31)), self.random.choice((0, (1 << 32) - 1))
            beyond: list[Any] = self.random.choice(([], [((), True)], [(("a", "ß"), False)] * 9, [1]))
            self.refusable(raw.add, field, owner, self.text())
            self.refusable(raw.add_words, 0, 0, self.random.choice(([self.text()], [None], ["\ud800"], [])))
            self.refusable(raw.finish, self.random.choice((0, 1, 32, 33)), beyond, [self.text()])


def main(seconds: float, seed: int) -> int:
    kernel = native()
    if kernel is None:
        print("the kernel is not there", file=sys.stderr)
        return 2
    fuzz = Fuzz(kernel, seed)
    tables, parsing, hostile = Tables(fuzz), Parsing(fuzz), Hostile(fuzz.random)
    quick = (
        fuzz.sums, fuzz.owners, fuzz.products, fuzz.tally, fuzz.pieces, fuzz.order, fuzz.evidence, fuzz.rows,
        fuzz.stamps, fuzz.checksum, fuzz.postings, *tables.quick(),
    )  # fmt: skip
    calls, believed, end = 0, 0, time.monotonic() + seconds
    while time.monotonic() < end:
        for call in quick * QUICK:
            call()
        for call in (fuzz.counter, fuzz.tokens, fuzz.arrays, tables.look, *(parsing.parse, parsing.patterns) * PARSED):
            call()
        believed += hostile.ask()
        if calls % 20 == 0:  # these take longest
            fuzz.entries()
            tables.threads()
        calls += 1
    tables.close()
    hostile.close()
    print(f"{believed} hostile indexes were believed, and answered from")
    print(f"{calls} rounds with seed {seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())))
