"""A small array is made, read, written and handed on as numpy's are, and nothing outside of it is touched."""

from __future__ import annotations

import array
import gc
import sys
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.runtime.kernel import np as small
from tests.kernel import kernel
from tests.kernel.arrays import KINDS, REAL, REFUSED, WHOLE, arrays, image, of, quiet, same, same_number

pytestmark = kernel.needed
FAST = settings(max_examples=80, deadline=None)


# -- making -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_zeros_ones_and_full_are_of_the_kind_requested(kind: str) -> None:
    for named in (kind, np.dtype(kind), np.dtype(kind).type, np.dtype(kind).str):
        same(small.zeros(3, named), np.zeros(3, kind))
    same(small.zeros(2, dtype=kind), np.zeros(2, kind))
    same(small.ones(2, kind), np.ones(2, kind))
    same(small.full(4, 1, kind), np.full(4, 1, kind))
    same(small.zeros(0, kind), np.zeros(0, kind))


def test_without_a_kind_numbers_say_which() -> None:
    for value in (True, 7, 2.5):
        same(small.full(2, value), np.full(2, value))
    for values in ([], [True, False], [1, 2], [1, 2.5], [True, 2], [False, 0.5], (3, 4), range(3), range(5, 1, -2)):
        same(small.array(values), np.array(values))
        same(small.asarray(values), np.asarray(values))
    same(small.zeros(2), np.zeros(2))
    same(small.fromiter((x for x in (1, 2)), "uint8"), np.fromiter((1, 2), "uint8"))
    same(small.fromiter([1.5]), np.array([1.5]))
    for count in (-1, 0, 2, 3):
        same(small.fromiter([5, 6, 7], "int32", count), np.fromiter([5, 6, 7], "int32", count))
    for bounds in ((0,), (5,), (-3,), (2, 6), (6, 2), (-2, 2)):
        same(small.arange(*bounds), np.arange(*bounds))


@FAST
@given(arrays(), st.sampled_from(KINDS))
def test_any_buffer_of_numbers_is_taken_and_cast(plain: Any, kind: str) -> None:
    backwards, every_other, raw = plain[::-1], np.repeat(plain, 2)[::2], np.empty(plain.nbytes + 1, np.uint8)
    raw[1:] = plain.view(np.uint8)
    unaligned = raw[1:].view(plain.dtype)
    locked = plain.copy()
    locked.flags.writeable = False
    for source in (plain, backwards, every_other, unaligned, locked, memoryview(plain), of(plain)):
        for make in (small.array, small.asarray):
            same(make(source), np.array(source))
    same(small.frombuffer(plain.tobytes(), plain.dtype), plain)
    same(small.frombuffer(plain, "uint8"), plain.view(np.uint8))
    # Casting what a kind cannot hold is left to the processor by numpy: only what it can hold is compared.
    with quiet():
        there = plain.astype(kind)
        if kind in REAL or plain.dtype.kind != "f" or np.array_equal(there.astype(plain.dtype), plain):
            same(of(plain).astype(kind), there)
            same(small.array(plain, kind), there)
    same(of(plain).copy(), plain)
    assert of(plain).tobytes() == plain.tobytes()
    assert repr(of(plain).tolist()) == repr(plain.tolist())


def test_reals_beyond_a_kind_become_the_nearest_of_it() -> None:
    wild = of(np.array([np.nan, np.inf, -np.inf, 1e300, -1e300, 2.9, -2.9]))
    low, high = np.iinfo("int64").min, np.iinfo("int64").max
    assert wild.astype("int64").tolist() == [0, high, low, high, low, 2, -2]
    for kind in WHOLE:
        assert of(np.array([np.nan, 2.9, 127.0])).astype(kind).tolist() == [0, 2, 127]


def test_sharing_memory_is_what_asarray_does_and_array_does_not() -> None:
    plain = np.arange(5.0)
    shared, apart = small.asarray(plain), small.array(plain)
    plain[2] = 9
    assert shared[2] == 9.0 and apart[2] == 2.0
    shared[3] = 8
    assert plain[3] == 8.0
    assert small.asarray(shared) is shared
    assert small.asarray(shared, "float64") is shared
    assert small.array(shared) is not shared


def test_columns_come_out_of_rows_that_are_not_aligned() -> None:
    layout = np.dtype([("a", "u1"), ("b", "<i4"), ("c", "<f8"), ("d", "<u2"), ("e", "<u8"), ("f", "<f4")])
    rows = np.frombuffer(np.random.default_rng(1).bytes(layout.itemsize * 7), layout)
    for name in layout.names or ():
        kind, place = layout.fields[name][:2]  # type: ignore[index]
        same(kernel.module().column(rows.tobytes(), place, layout.itemsize, kind.str), rows[name])
    for wrong in ((b"12345", 0, 4, "u1"), (b"1234", 1, 4, "<u4"), (b"1234", -1, 4, "u1"), (b"1234", 0, 0, "u1"),
                  (b"1234", 0, -4, "u1"), (b"1234", 3, 2, "<u8"), (b"1234", 1 << 62, 4, "u1"),
                      (b"1234", 0, (1 << 63) - 1, "<u8")):  # fmt: skip
        with pytest.raises(ValueError):
            kernel.module().column(*wrong)
    assert len(kernel.module().column(b"", 0, 4, "<u4")) == 0


def test_what_cannot_be_made_is_refused() -> None:
    refused: list[tuple[Any, ...]] = [
        (small.zeros, -1), (small.zeros, 1 << 60), (small.zeros, 1 << 70), (small.zeros, "3"), (small.zeros, 2.5),
        (small.zeros,),
        (small.zeros, 3, "int16"), (small.zeros, 3, "complex128"), (small.zeros, 3, ">i4"), (small.zeros, 3, 5),
        (small.zeros, 3, "U"),
        (small.full, 3), (small.full, -1, 0), (small.full, 3, 300, "uint8"), (small.full, 3, [1, 2]), (small.full, 3, "x"),
        (small.arange,), (small.arange, 0, 9, 2), (small.arange, 2.5), (small.arange, 1 << 63),
        (small.arange, -(1 << 62), 1 << 61),
        (small.array,), (small.array, 5), (small.array, None), (small.array, ["a"]), (small.array, "abc"),
        (small.array, [1 << 63]),
        (small.array, [-1], "uint64"), (small.array, [256], "uint8"), (small.array, [float("nan")], "int64"),
        (small.array, [None]),
        (small.array, [float("inf")], "uint64"), (small.array, [1], "int64", 3), (small.array, np.zeros((2, 2))),
        (small.array, [[1]]),
        (small.fromiter,), (small.fromiter, 5), (small.fromiter, [1], "x"), (small.fromiter, [1], "int64", 3),
        (small.fromiter, [1], "int64", "a"),
        (small.frombuffer,), (small.frombuffer, b"123", "uint16"), (small.frombuffer, np.arange(6)[::2], "int64"),
        (small.frombuffer, "text", "uint8"), (small.frombuffer, np.zeros((2, 2)), "float64"), (small.frombuffer, None),
        (kernel.module().column, b"", 0, 4), (kernel.module().column, None, 0, 4, "u1"),
        (kernel.module().column, b"", 0, 4, "x"),
    ]  # fmt: skip
    for function, *arguments in refused:
        with pytest.raises(REFUSED):
            function(*arguments)
    for function, keywords in ((small.zeros, {"order": "C"}), (small.arange, {"dtype": "int32"}), (small.array, {"": 1}),
                               (small.array, {"dtyp": "int8"}), (small.array, {"dtype\0": "int8"})):  # fmt: skip
        with pytest.raises(TypeError, match="is no argument"):
            function(3, **keywords)
    with pytest.raises(TypeError, match="cannot create"):
        type(small.zeros(1))()


def test_memory_that_is_gone_is_refused() -> None:
    view = memoryview(bytearray(8))
    view.release()
    for make in (small.array, small.asarray, lambda gone: small.frombuffer(gone, "uint8")):
        with pytest.raises(ValueError):
            make(view)


def test_other_kinds_and_byte_orders_are_read_number_by_number() -> None:
    same(small.array(np.array([1, -2], np.int16)), np.array([1, -2]))
    same(small.array(np.array([1, -2], ">i4")), np.array([1, -2]))
    same(small.array(array.array("d", [1.5])), np.array([1.5]))
    same(small.array(array.array("q")), np.zeros(0, np.int64))


# -- reading -----------------------------------------------------------------------------------------

PLACES = st.integers(-25, 25)
SLICES = st.builds(slice, st.none() | PLACES, st.none() | PLACES, st.none() | st.integers(-4, 4).filter(bool))


@FAST
@given(arrays(), st.lists(PLACES, max_size=6), SLICES, st.randoms())
def test_any_way_of_reading(plain: Any, wanted: list[int], part: slice, random: Any) -> None:
    ours = of(plain)
    inside = [place for place in wanted if -len(plain) <= place < len(plain)]
    for place in wanted:
        if place in inside:
            for key in (place, np.int64(place), np.int8(place)):
                same_number(ours[key], plain[place])
        else:
            for key in (place, [place], np.array([place]), small.array([0, place])):
                with pytest.raises(IndexError):
                    ours[key]
    same(ours[part], plain[part])
    mask = np.array([random.random() < 0.5 for _ in plain], bool)
    for key, where in ((mask, mask), (of(mask), mask), (mask.tolist(), mask), (inside, np.array(inside, np.int64)),
                       (np.array(inside, np.int8), np.array(inside, np.int64)),
                           (small.array(inside, "int32"), inside)):  # fmt: skip
        if len(where):
            same(ours[key], plain[where])
    same(ours[[]], plain[:0])
    assert [repr(x) for x in ours] == [repr(x) for x in plain.tolist()] and len(ours) == ours.size == plain.size
    assert ours.shape == plain.shape


def test_keys_that_are_none_are_refused() -> None:
    ours = small.arange(3)
    for key in (None, "a", 1.0, [0.5], [None], [True], [True] * 4, small.zeros(4, "bool"), (0, 1, 3), 1 << 70, -(1 << 70),
        [1 << 62],
                slice("a", None), slice(0, 3, 0), np.array([1 << 63], np.uint64), [-4], {"a"}):  # fmt: skip
        with pytest.raises(REFUSED):
            ours[key]
            raise AssertionError(key)
        with pytest.raises(REFUSED):
            ours[key] = 1
    assert ours.tolist() == [0, 1, 2]


# -- writing -----------------------------------------------------------------------------------------


@FAST
@given(st.data(), st.sampled_from(KINDS))
def test_any_way_of_writing(data: st.DataObject, kind: str) -> None:
    plain = data.draw(arrays((kind,)))
    keys: list[Any] = [data.draw(SLICES), np.array([data.draw(st.booleans()) for _ in plain], bool)]
    if len(plain):
        keys.append(np.array(data.draw(st.lists(st.integers(-len(plain), len(plain) - 1), max_size=9)), np.int64))
    for key in keys:
        count = len(plain[key])
        values, one = data.draw(arrays((kind,), size=count)), data.draw(arrays((kind,), size=1))
        for value in (values, of(values), values.tolist(), one, one[0].item(), one.tolist()):
            theirs, ours = plain.copy(), of(plain)
            theirs[key] = value
            ours[key if not isinstance(key, np.ndarray) else of(key)] = of(value) if isinstance(value, np.ndarray) else value
            same(ours, theirs)
        too_many = small.zeros(count + 2, kind)
        ours = of(plain)
        with pytest.raises(ValueError):
            ours[key] = too_many
        same(ours, plain)
    for place in range(-len(plain), len(plain)):
        theirs, ours, value = plain.copy(), of(plain), data.draw(arrays((kind,), size=1))[0]
        theirs[place] = value
        ours[place] = value.item()
        same(ours, theirs)


def test_an_array_written_to_itself_is_read_first() -> None:
    for key, part in (
        (slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None)), (slice(None, None, -1), slice(None)),
        (np.arange(1, 9), slice(0, 8)), (slice(1, None, 2), slice(0, 4)),
    ):  # fmt: skip
        theirs, ours = np.arange(9), small.arange(9)
        theirs[key] = theirs[part].copy()
        ours[key] = ours[part]
        same(ours, theirs)


def test_values_that_change_the_places_while_they_are_read_write_nowhere_else() -> None:
    places, ours = small.array([0, 1]), small.zeros(2)

    class Sly:
        def __len__(self) -> int:
            return 2

        def __getitem__(self, place: int) -> float:
            if place > 1:
                raise IndexError
            places[0] = 1 << 40
            return 1.0

    with pytest.raises(IndexError):
        ours[places] = Sly()
    assert ours.tolist() == [0.0, 0.0]


def test_values_that_do_not_fit_are_refused_and_change_nothing() -> None:
    for kind, value in product(WHOLE, (1 << 64, -(1 << 63) - 1, float("inf"), float("nan"), "1", None, [None, 1], 1j)):
        ours = small.full(2, 1, kind)
        for key in (0, slice(None), [0, 1], small.ones(2, "bool")):
            with pytest.raises(REFUSED):
                ours[key] = value
        assert ours.tolist() == [1, 1]
    for kind in WHOLE[:-2]:
        with pytest.raises(OverflowError):
            small.zeros(1, kind)[0] = int(np.iinfo(kind).max) + 1
    with pytest.raises(REFUSED):
        del small.zeros(1)[0]


# -- a buffer among others -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_numpy_takes_it_as_it_is(kind: str) -> None:
    ours = small.full(5, 1, kind)
    view = np.asarray(ours)
    assert view.dtype == kind and view.shape == (5,) and not view.flags.owndata
    view[2] = 0
    assert ours[2] == 0
    plain = memoryview(ours)
    assert (plain.format, plain.itemsize, plain.shape, plain.strides) == (view.dtype.char if kind[:5] not in ("int64",
        "uint6") else
                                                                         kind[0].replace("i", "q").replace("u", "Q"),
                                                                         view.itemsize, (5,), (view.itemsize,))  # fmt: skip
    assert bytes(ours) == ours.tobytes() == view.tobytes()
    part = ours[1:4]
    del ours, plain
    gc.collect()
    assert np.asarray(part).tolist() == view[1:4].tolist()


def test_what_must_not_be_written_stays_as_it_is() -> None:
    data = np.arange(4.0).tobytes()
    locked = small.frombuffer(data, "float64")
    for array_ in (locked, locked[1:], small.asarray(locked)):
        before = array_.tobytes()
        for write in (lambda a: a.__setitem__(0, 5.0), lambda a: a.__setitem__(slice(None), 5.0), lambda a: a.__iadd__(1.0),
                      lambda a: a.__iadd__(a),
                      lambda a: a.__setitem__([0], 1.0)):  # fmt: skip
            with pytest.raises((ValueError, TypeError)):
                write(array_)
        assert memoryview(array_).readonly and not np.asarray(array_).flags.writeable
        assert array_.tobytes() == before
    assert data == np.arange(4.0).tobytes()
    copy = locked.copy()
    copy[0] = 5.0
    assert copy[0] == 5.0 and locked[0] == 0.0


def test_memory_is_not_freed_while_a_view_exists() -> None:
    data = bytearray(np.arange(4).tobytes())
    ours = small.frombuffer(data, "int64")
    with pytest.raises(BufferError):
        data.append(0)
    part = ours[1:]
    del ours
    with pytest.raises(BufferError):
        data.append(0)
    assert part.tolist() == [1, 2, 3]
    del part
    data.append(0)


def test_parts_of_parts_of_parts_are_given_back_one_by_one() -> None:
    ours = small.arange(10)
    for _ in range(200_000):
        ours = ours[0:]
    assert ours.tolist() == list(range(10))
    del ours


def test_references_are_given_back() -> None:
    plain, ours = np.arange(50.0), small.arange(50)
    kind = type(ours)

    def work() -> None:
        shared = small.asarray(plain)
        for arguments in ((shared, ours), (ours, shared), (plain, ours)):
            arguments[0] + arguments[1], arguments[0] < arguments[1]
        shared[1:5][::2], shared[[1, 2]], shared[ours > 3], shared + 1, -shared, shared == None  # noqa: E711
        small.where(ours > 3, shared, 1.0), small.concatenate([ours, shared, plain]), small.unique(ours, return_index=True)
        small.lexsort((ours, shared)), small.bincount(ours, shared), small.diff(ours, prepend=-1), small.isin(ours, [1, 2])
        small.repeat(ours, 2), shared.max(initial=0.0), shared.searchsorted([1.0]), small.searchsorted(ours,
            3), ours.astype("uint8")
        for wrong in (lambda: shared + "a", lambda: shared[99], lambda: shared[[99]], lambda: ours + small.arange(3),
            lambda: ours[None],
                      lambda: small.isin(ours, ["a"]), lambda: small.lexsort((ours, [1])),
                          lambda: small.diff(ours, prepend="a"),
                      lambda: small.where(ours, ours, "a"), lambda: small.repeat(ours, [1, 2]),
                          lambda: ours.__setitem__(0, "a"),
                      lambda: ours.__setitem__(slice(3), "abc"), lambda: small.concatenate([ours, "a"]),
                          lambda: small.zeros(3, "x"),
                      lambda: small.bincount(ours, [1.0]), lambda: ours.searchsorted("a"),
                          lambda: small.unique(ours, True)):  # fmt: skip
            with pytest.raises(REFUSED):
                wrong()

    def counts() -> list[int]:
        gc.collect()
        return [sys.getrefcount(each) for each in (plain, ours, kind, None, NotImplemented, KINDS)]

    work()
    before = counts()
    for _ in range(50):
        work()
    assert all(abs(after - first) < 25 for first, after in zip(before, counts(), strict=True))


# -- next to numpy -----------------------------------------------------------------------------------------


@FAST
@given(arrays(most=8), st.data())
def test_numpy_and_small_arrays_work_on_each_other(plain: Any, data: st.DataObject) -> None:
    other = data.draw(arrays((plain.dtype.name,), size=len(plain)))
    ours = of(plain)
    with quiet():
        for function in (np.add, np.multiply, np.equal, np.less):
            for left, right in ((ours, other), (plain, of(other)), (ours, of(other))):
                assert image(function(left, right)) == image(function(plain, other))
        for found, wanted in (
            (ours + other, plain + other), (other + ours, other + plain), (ours == other, plain == other),
            (other < ours, other < plain),
            (ours + np.float64(2), plain + np.float64(2)), (np.float64(2) * ours, np.float64(2) * plain),
            (ours * np.int64(2), plain * np.int64(2)),
        ):  # fmt: skip
            assert found.dtype == wanted.dtype.name and image(found) == image(wanted)
    assert image(np.sort(ours)) == image(np.sort(plain)) and image(np.concatenate([ours,
        plain])) == image(np.concatenate([plain, plain]))
    places = small.arange(len(plain))[::-1]
    assert image(plain[places]) == image(plain[::-1]) and image(ours[np.asarray(places)]) == image(plain[::-1])
    mask = of(plain == plain)
    assert image(plain[mask]) == image(plain[np.asarray(mask)])


def test_it_has_no_hash_and_no_truth_and_equals_nothing_that_is_no_number() -> None:
    ours = small.arange(3)
    with pytest.raises(TypeError, match="unhashable"):
        hash(ours)
    for several in (ours, small.zeros(0)):
        with pytest.raises(ValueError, match="any"):
            bool(several)
    assert bool(small.array([2])) and not bool(small.array([0.0]))
    assert (ours == None) is False and (ours != "a") is True  # noqa: E711
    with pytest.raises(TypeError):
        ours < None  # noqa: B015
    assert repr(ours) == "array([0, 1, 2], int64)"
