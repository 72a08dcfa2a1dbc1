"""The kernel merges terms and postings as the reference does, and says which part is broken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.storage import postings as merge_postings
from lurcher.storage.container import Container
from lurcher.storage.container_writer import as_bytes, encode_container
from lurcher.storage.postings import _pack_in_python, pack_postings
from lurcher.terms.count import Postings
from tests.kernel import kernel

pytestmark = kernel.needed
WORDS = st.lists(st.binary(max_size=3), unique=True, max_size=12).map(sorted)


def packed_part(terms: list[bytes], rows: dict[tuple[int, int], int]) -> Container:
    """A container with these terms, and one family of postings over them: (term, owner) and how often."""
    keys = sorted(rows)
    postings = Postings(
        np.array([term for term, _ in keys], np.uint32), np.array([owner for _, owner in keys], np.uint32),
        np.array([rows[key] for key in keys], np.uint8),
    )  # fmt: skip
    packed = pack_postings(postings)
    ends = np.cumsum([len(term) for term in terms]).astype("<u4")
    sections: dict[str, tuple[str, Any]] = {
        "terms": ("u1", b"".join(terms)), "term_ends": ("<u4", as_bytes(ends)), "f.data": ("u1", as_bytes(packed.data)),
        "f.terms": ("<u4", as_bytes(packed.terms.astype("<u4"))),
        "f.rows": ("<u4", as_bytes(np.cumsum(packed.rows).astype("<u4"))),
        "f.ends": ("<u4", as_bytes(np.cumsum(packed.sizes).astype("<u4"))),
    }  # fmt: skip
    return Container(b"".join(encode_container(sections, {"terms": len(terms)})), "part")


def merged(parts: list[Container], targets: list[Any]) -> tuple[Any, list[Any]]:
    union, maps = merge_postings.merge_terms(parts)
    slices = merge_postings._merge_slices(parts, "f", maps, len(union.ends), targets, lambda part, family: OWNERS)
    found = [(packed.terms.tolist(), packed.rows.tolist(), packed.sizes.tolist(), packed.data.tolist()) for packed in slices]
    return (bytes(union.text), union.ends.tolist(), [each.tolist() for each in maps]), found


OWNERS = 700


@st.composite
def parts_to_merge(draw: st.DrawFn) -> tuple[list[Container], list[Any]]:
    count = draw(st.integers(1, 4))
    free = draw(st.permutations(range(0, 400_000, 400_000 // (count * OWNERS))))
    parts, targets = [], []
    for number in range(count):
        terms = draw(WORDS)
        owner = st.integers(0, OWNERS - 1)
        keys = st.tuples(st.integers(0, len(terms) - 1), owner) if terms else st.nothing()
        parts.append(packed_part(terms, draw(st.dictionaries(keys, st.integers(1, 255), max_size=20 if terms else 0))))
        target = np.array(free[number * OWNERS : (number + 1) * OWNERS], np.int64)
        if draw(st.booleans()):
            target = np.sort(target)
        if draw(st.booleans()):
            targets.append(np.arange(OWNERS) + 500_000 + number * OWNERS)  # they stay together
            continue
        target[draw(st.lists(owner, max_size=30))] = -1
        targets.append(target)
    return parts, targets


@given(parts_to_merge(), st.sampled_from((1, 5, 1000)))
@settings(max_examples=40, deadline=None)
def test_parts_are_merged_alike(given_parts: tuple[list[Container], list[Any]], rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge_postings, "_SLICE_ROWS", rows)
        ours = merged(*given_parts)
        patch.setattr(merge_postings, "native", lambda: None)
        assert ours == merged(*given_parts)


@given(st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 2**32 - 1) | st.integers(0, 300)), st.integers(1, 255)))
def test_rows_are_packed_alike(rows: dict[tuple[int, int], int]) -> None:
    keys = sorted(rows)
    columns = ([term for term, _ in keys], [owner for _, owner in keys], [rows[key] for key in keys])
    postings = Postings(*map(np.array, columns, (np.uint32, np.uint32, np.uint8)))
    ours: Any
    reference: Any
    for ours, reference in zip(pack_postings(postings), _pack_in_python(postings), strict=True):
        assert ours.tolist() == reference.tolist()
        assert ours.dtype == reference.dtype


def test_rows_without_an_owner_are_refused() -> None:
    for columns in ((bytes(4), b"", b"\1"), (bytes(4), bytes(4), b""), (bytes(3), bytes(3), b"\1"), ("x", b"", b"")):
        with pytest.raises((TypeError, ValueError)):
            kernel.module().packed_postings(*columns)


def test_terms_out_of_order_and_broken_lists_name_their_part() -> None:
    united, merge = kernel.module().united_terms, kernel.module().merged_postings
    good = (b"ab", np.array([1, 2], np.uint32))
    for text, ends in ((b"ba", [1, 2]), (b"aa", [1, 2]), (b"ab", [2, 1]), (b"ab", [1, 3]), (b"ab", [3, 3])):
        with pytest.raises(ValueError, match=r"^1$"):
            united([good, (text, np.array(ends, np.uint32))])

    def part(
        numbers: list[int], rows: list[int], ends: list[int], data: bytes, owners: int = 9, row: int = 0, byte: int = 0
    ) -> Any:
        arrays = (np.array(numbers, np.int64), np.array(rows, np.uint32), np.array(ends, np.uint32))
        return (*arrays, row, data, byte, np.arange(owners))

    fine = part([0, 3], [1, 2], [2, 4], b"\1\5\2\6")
    terms, rows, sizes, data = merge([fine])
    assert (np.frombuffer(terms, np.uint32).tolist(), bytes(data)) == ([0, 3], b"\1\5\2\6")
    assert np.frombuffer(rows, np.int64).tolist() == [1, 1] and np.frombuffer(sizes, np.int64).tolist() == [2, 2]
    broken = [
        part([0], [1], [2], b"\1"), part([0], [1], [2], b"\x09\1"), part([0], [0], [2], b"\1\1"), part([0], [1], [1], b"\1\1"),
        part([0], [1], [4], b"\1\1\1\1"), part([3, 3], [1, 2], [2, 4], b"\1\5\2\6"), part([3, 0], [1, 2], [2, 4], b"\1\5\2\6"),
        part([0, 1], [1, 2], [2, 1], b"\1\5\2\6"), part([-1], [1], [2], b"\1\1"), part([1 << 32], [1], [2], b"\1\1"),
        part([0], [1], [2], b"\1\1", row=1), part([0], [1], [2], b"\1\1", byte=3),
        (*fine[:-1], np.full(9, 1 << 32)),
    ]  # fmt: skip
    for each in broken:
        with pytest.raises(ValueError, match=r"^1$"):
            merge([fine, each])
    for wrong in ((), [1], [(b"",)], [(*fine[:-1], "x")], [(fine[0], fine[1][:1], *fine[2:])]):
        with pytest.raises(TypeError):
            merge(wrong)
        with pytest.raises(TypeError):
            united(wrong)


def test_a_filter_needs_room() -> None:
    filter_ = kernel.module().filter
    assert filter_(b"", 0) == b""
    for arguments in ((bytes(8), 0), (bytes(7), 64), (bytes(8), -1)):
        with pytest.raises(ValueError):
            filter_(*arguments)
