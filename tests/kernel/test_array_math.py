"""What is worked out with small arrays is what numpy works out, to the last bit, or refused."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.runtime.kernel import np as small
from tests.kernel import kernel
from tests.kernel.arrays import KINDS, REAL, REFUSED, WHOLE, alike, arrays, either, numbers_of, of, quiet, same, same_number

pytestmark = kernel.needed
FAST = settings(max_examples=80, deadline=None)
THOROUGH = settings(max_examples=250, deadline=None)
ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv)
BITS = (operator.and_, operator.or_)
COMPARED = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)
IN_PLACE = (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.iand, operator.ior)
NUMBERS = st.booleans() | st.integers(-5, 300) | st.sampled_from([1 << 31, 1 << 40, -(1 << 63),
    (1 << 63) - 1]) | numbers_of("float64")


def no_kind(left: str, right: str) -> bool:
    """Numpy has one for these two, which small arrays do not have."""
    return {left, right} == {"int8", "uint8"}


def no_order(left: str, right: str) -> bool:
    """Whether no kind holds the numbers of both exactly."""
    return {left, right} in ({"uint64", "int8"}, {"uint64", "int32"}, {"uint64", "int64"})


# -- operators -----------------------------------------------------------------------------------------


@THOROUGH
@given(alike(), st.sampled_from((*ARITHMETIC, *BITS, *COMPARED)))
def test_arrays_and_arrays(pair: tuple[Any, Any], operation: Callable[[Any, Any], Any]) -> None:
    left, right = pair
    with quiet():
        for a, b in ((left, right), (right, left)):
            theirs, ours = either(lambda a=a, b=b: operation(a, b)), either(lambda a=a, b=b: operation(of(a), of(b)))
            if ours is None:
                apart = operation in COMPARED and no_order(a.dtype.name, b.dtype.name)
                assert theirs is None or apart or (no_kind(a.dtype.name, b.dtype.name) and operation is not operator.truediv)
            else:
                same(ours, theirs)


@THOROUGH
@given(arrays(), NUMBERS, st.sampled_from((*ARITHMETIC, *BITS, *COMPARED)), st.booleans())
def test_arrays_and_numbers(plain: Any, number: Any, operation: Callable[[Any, Any], Any], turned: bool) -> None:
    def run(array: Any) -> Any:
        return either(lambda: operation(number, array) if turned else operation(array, number))

    with quiet():
        theirs, ours = run(plain), run(of(plain))
    if ours is None:
        assert theirs is None
    else:
        same(ours, theirs)


@THOROUGH
@given(alike(), NUMBERS, st.sampled_from(IN_PLACE))
def test_in_place(pair: tuple[Any, Any], number: Any, operation: Callable[[Any, Any], Any]) -> None:
    left, right = pair
    with quiet():
        for other, of_other in ((right, of(right)), (number, number)):
            theirs, ours, before = left.copy(), of(left), of(left)
            found, wanted = either(lambda o=ours, b=of_other: operation(o, b)), either(lambda t=theirs,
                b=other: operation(t, b))
            if found is None:
                assert wanted is None or no_kind(left.dtype.name, right.dtype.name)
                assert ours.tobytes() == before.tobytes()
            else:
                assert found is ours
                same(ours, theirs)


def test_parts_that_overlap_are_read_before_they_are_written() -> None:
    for operation in IN_PLACE[:4]:
        theirs, ours = np.arange(1.0, 40.0), of(np.arange(1.0, 40.0))
        theirs[1:] = operation(theirs[1:], theirs[:-1])
        part = ours[1:]
        operation(part, ours[:-1])
        same(ours, theirs)
        operation(ours, ours)
        same(ours, operation(theirs, theirs))


@FAST
@given(arrays())
def test_one_array(plain: Any) -> None:
    with quiet():
        for operation in (operator.neg, operator.invert, small.abs):
            ours = either(lambda operation=operation: operation(of(plain)))
            theirs = either(lambda operation=operation: (np.abs if operation is small.abs else operation)(plain))
            refused = operation is small.abs and plain.dtype.name not in REAL
            assert (ours is None) == (theirs is None or refused)
            if ours is not None:
                same(ours, theirs)


def test_lengths_that_do_not_go_together_are_refused() -> None:
    for operation in (*ARITHMETIC, *BITS, *COMPARED, *IN_PLACE):
        with pytest.raises(REFUSED):
            operation(small.arange(3), small.arange(2))
    for one, other in (("uint64", "int64"), ("int8", "uint64")):
        with pytest.raises(TypeError):
            small.array([1, 2], one) < small.array([1, 2], other)  # noqa: B015
    with pytest.raises(REFUSED):
        operator.iadd(small.arange(1), small.arange(2))
    for other in (None, "a", [1, 2, 3], 1j, {}):
        with pytest.raises(TypeError):
            small.arange(3) + other


# -- all of them -----------------------------------------------------------------------------------------


@FAST
@given(arrays(), st.none() | st.integers(-9, 9))
def test_reductions_equal_numpy(plain: Any, initial: int | None) -> None:
    ours, kind = of(plain), plain.dtype.name
    with quiet():
        if kind != "float32":
            same_number(ours.sum(), plain.sum())
        same_number(ours.any(), plain.any())
        same_number(ours.all(), plain.all())
        for name in ("max", "min"):
            if len(plain):
                assert repr(getattr(ours, name)() + 0) == repr(getattr(plain, name)().item() + 0)
            if initial is not None and kind in ("int64", "float64"):
                assert repr(getattr(ours, name)(initial=initial) + 0.0) == repr(float(getattr(plain,
                    name)(initial=initial)) + 0.0)
        if len(plain) and kind != "float32" and abs(plain.astype(float)).max() < 1 << 40 and ours.sum() == ours.sum():
            same_number(ours.mean(), plain.mean())


def test_sums_are_added_up_in_the_order_of_numpy() -> None:
    random = np.random.default_rng(3)
    values = random.normal(size=5000) * 10.0 ** random.integers(-8, 9, 5000)
    ours = of(values)
    for count in (*range(300), *range(300, 1300, 7), *range(1300, 5001, 61), 1023, 1024, 1025, 4096, 5000):
        assert ours[:count].sum() == values[:count].sum(), count
        start = count % 13
        assert ours[start:count].sum() == values[start:count].sum(), count
    naive = 0.0
    for value in values:
        naive += value
    assert naive != values.sum(), "else any order would do"
    for count in range(30):
        assert repr(small.full(count, -0.0).sum()) == repr(float(np.full(count, -0.0).sum()))


def test_an_empty_array_has_no_extremes() -> None:
    for kind in KINDS:
        for name in ("max", "min", "mean"):
            with pytest.raises(ValueError):
                getattr(small.zeros(0, kind), name)()
        assert small.zeros(0, kind).max(initial=3) == 3
    with pytest.raises(TypeError):
        small.arange(3).max(0)
    with pytest.raises(TypeError):
        small.zeros(3, "float32").sum()


# -- functions -----------------------------------------------------------------------------------------


@THOROUGH
@given(alike(), NUMBERS, st.data())
def test_where_and_the_larger_and_the_smaller(pair: tuple[Any, Any], number: Any, data: st.DataObject) -> None:
    left, right = pair
    mask = np.array([data.draw(st.booleans()) for _ in range(len(left))], bool)
    with quiet():
        for a, b in ((left, right), (left, number), (number, left), (number, 3), (True, False)):
            ours = either(lambda a=a, b=b: small.where(of(mask), lifted(a), lifted(b)))
            theirs = either(lambda a=a, b=b: np.where(mask, a, b))
            if ours is None:
                assert theirs is None or kinds_apart(a, b) or isinstance(number, int)
            else:
                same(ours, theirs)
        for a, b in ((left, right), (left, number), (number, left)):
            for function, wanted in ((small.maximum, np.maximum), (small.minimum, np.minimum)):
                ours = either(lambda a=a, b=b, f=function: f(lifted(a), lifted(b)))
                theirs = either(lambda a=a, b=b, f=wanted: f(a, b))
                if ours is None:
                    assert theirs is None or kinds_apart(a, b)
                else:  # which of two zeros it is depends on how many numbers the processor compares at once
                    same(one_zero(ours), one_zero(theirs))


def one_zero(found: Any) -> Any:
    return found + 0.0 if str(found.dtype) in REAL else found


def lifted(value: Any) -> Any:
    return of(value) if isinstance(value, np.ndarray) else value


def kinds_apart(left: Any, right: Any) -> bool:
    return isinstance(left, np.ndarray) and isinstance(right, np.ndarray) and no_kind(left.dtype.name, right.dtype.name)


@FAST
@given(arrays())
def test_functions_of_one_array(plain: Any) -> None:
    ours, kind = of(plain), plain.dtype.name
    with quiet():
        same(small.flatnonzero(ours), np.flatnonzero(plain))
        same(ours.nonzero()[0], plain.nonzero()[0])
        assert small.count_nonzero(ours) == np.count_nonzero(plain)
        same(small.isfinite(ours), np.isfinite(plain))
        same(small.cumsum(ours), np.cumsum(plain))
        same(small.argsort(ours, kind="stable"), np.argsort(plain, kind="stable"))
        for function, wanted, kinds in (
            (small.trunc, np.trunc, REAL), (small.rint, np.rint, ("int32", "uint32", "int64", "uint64", *REAL)),
        ):  # fmt: skip
            if kind in kinds:
                same(function(ours), wanted(plain))
            else:
                with pytest.raises(TypeError):
                    function(ours)
        if kind != "bool":
            same(small.diff(ours), np.diff(plain))
            for before in (0, -1, 2.5, True):
                same(small.diff(ours, prepend=before), np.diff(plain, prepend=before))
        if len(plain):
            same(small.append(ours, plain[0].item()), np.append(plain, plain[0]))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_long_arrays_are_put_in_order_stably(kind: str, data: st.DataObject) -> None:
    seed, spread = data.draw(st.integers(0, 1 << 20)), data.draw(st.sampled_from((1, 3, 100)))
    random = np.random.default_rng(seed)
    plain = random.integers(0, spread, random.integers(0, 400)).astype(kind)
    if kind in REAL:
        plain[random.random(len(plain)) < 0.1] = np.nan
        plain[random.random(len(plain)) < 0.1] = -0.0
        plain[random.random(len(plain)) < 0.1] = -np.inf
    same(small.argsort(of(plain)), np.argsort(plain, kind="stable"))
    other = random.integers(0, 3, len(plain)).astype(random.choice(KINDS))
    third = np.where(random.random(len(plain)) < 0.5, np.nan, random.choice([0.0, -0.0, 1.0], len(plain)))
    for keys in ((plain,), (plain, other), (other, plain), (third, other, plain), (plain, third, other)):
        same(small.lexsort(tuple(map(of, keys))), np.lexsort(keys))


@FAST
@given(arrays(most=40), arrays(most=10))
def test_distinct_numbers(plain: Any, other: Any) -> None:
    numbers, first, many = small.unique(of(plain), return_index=True, return_counts=True)
    wanted, places, counts = np.unique(plain, return_index=True, return_counts=True)
    same(numbers, wanted)
    same(first, places)
    same(many, counts)
    same(small.unique(of(plain), return_counts=True)[1], counts)
    same(small.unique(of(plain), return_index=True)[1], places)
    assert np.array_equal(np.asarray(small.unique(of(plain))), wanted, equal_nan=plain.dtype.kind == "f")
    if no_kind(plain.dtype.name, other.dtype.name):
        for refused in (small.isin, small.union1d):
            with pytest.raises(TypeError):
                refused(of(plain), of(other))
        return
    joined = np.concatenate([plain, other])
    same(small.concatenate([of(plain), of(other)]), joined)
    same(small.isin(of(plain), of(other)), np.isin(plain.astype(joined.dtype), other.astype(joined.dtype)))
    assert np.array_equal(np.asarray(small.union1d(of(plain), of(other))), np.union1d(plain, other),
        equal_nan=joined.dtype.kind == "f")


def test_nothing_is_among_nothing() -> None:
    for kind in KINDS:
        same(small.isin(small.ones(3, kind), []), np.zeros(3, bool))
        same(small.isin(small.zeros(0, kind), [1]), np.zeros(0, bool))
    same(small.isin([0.5, 1.0], [1]), np.array([False, True]))


@FAST
@given(arrays(most=30), arrays(most=8), st.sampled_from(("left", "right")))
def test_where_a_number_would_stand(plain: Any, wanted: Any, side: Any) -> None:
    plain = np.sort(plain)
    if no_kind(plain.dtype.name, wanted.dtype.name):
        with pytest.raises(TypeError):
            of(plain).searchsorted(of(wanted), side)
        return
    same(of(plain).searchsorted(of(wanted), side), np.searchsorted(plain, wanted, side))
    same(small.searchsorted(plain, wanted.tolist(), side=side) if wanted.dtype != "uint64" else of(plain).searchsorted(wanted,
        side),
         np.searchsorted(plain, wanted, side))  # fmt: skip
    exact = max(np.abs(plain.astype(float)), default=0) < 1 << 50
    for number in wanted.tolist():
        if plain.dtype == "uint64" and not (exact and abs(number) < 1 << 50):
            continue  # numpy looks for it among rounded numbers
        if abs(number) < 1 << 63 or isinstance(number, float):
            found = of(plain).searchsorted(number, side)
            assert type(found) is int and found == np.searchsorted(plain, number, side)


@FAST
@given(st.lists(st.integers(0, 40), max_size=30), st.sampled_from(WHOLE[:-1]), st.integers(0, 50), st.data())
def test_counts_and_sums_by_owner(owners: list[int], kind: str, least: int, data: st.DataObject) -> None:
    plain, weights = np.array(owners, kind), data.draw(arrays(("float64", "float32", "int32", "uint8", "bool"),
        size=len(owners)))
    same(small.bincount(of(plain)), np.bincount(plain))
    same(small.bincount(of(plain), minlength=least), np.bincount(plain, minlength=least))
    same(small.bincount(owners, None, least), np.bincount(plain, None, least))
    with quiet():
        same(small.bincount(of(plain), of(weights), least), np.bincount(plain, weights, least))
        same(small.bincount(of(plain), weights=weights.tolist()), np.bincount(plain, weights=weights))


@FAST
@given(arrays(), st.data())
def test_repeating(plain: Any, data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(0, 4), min_size=len(plain), max_size=len(plain)))
    for often in (np.array(counts, np.int64), np.array(counts, np.uint8)):
        same(small.repeat(of(plain), of(often)), np.repeat(plain, often))
    if counts:
        same(small.repeat(of(plain), counts), np.repeat(plain, counts))
    for times in (0, 1, 3, np.int64(2), [2]):
        same(small.repeat(of(plain), times), np.repeat(plain, times))


def test_what_functions_cannot_do_is_refused() -> None:
    ours, real = small.arange(3), small.zeros(3)
    refused: list[tuple[Any, ...]] = [
        (small.bincount, [-1]), (small.bincount, [1 << 61]), (small.bincount, [0.5]), (small.bincount, real), (small.bincount,),
        (small.bincount, [1], [1.0, 2.0]), (small.bincount, [1], None, -1), (small.bincount, small.ones(1, "uint64")),
        (small.repeat, ours, -1), (small.repeat, ours, [1, 2]), (small.repeat, ours, 1 << 62),
        (small.repeat, ours, [1 << 62] * 3),
        (small.repeat, ours, 0.5), (small.repeat, ours, real), (small.repeat, ours), (small.repeat, ours, 1, 0),
        (small.concatenate, []), (small.concatenate, ours, ours), (small.concatenate, [1, 2]), (small.concatenate,),
        (small.concatenate, 5),
        (small.lexsort, ()), (small.lexsort, (ours, [1])), (small.lexsort, 5), (small.lexsort,), (small.lexsort, (ours, "abc")),
        (small.where, ours), (small.where, ours, ours), (small.where, ours, ours, [1, 2]), (small.where, ours > 0, "a", ours),
        (small.where, ours > 0, 1 << 70, 1), (small.maximum, 3, 4), (small.maximum, ours, "a"), (small.maximum, ours, [1, 2]),
        (small.diff, [True, False]), (small.diff,), (small.diff, ours, 2), (small.cumsum, ours, 0), (small.cumsum,),
        (small.argsort,), (small.argsort, ours, 1), (small.unique, ours, True), (small.unique,),
        (small.isin, ours), (small.isin, ours, ["a"]), (small.isin, ours, 5), (small.rint,), (small.abs, "a"), (small.abs, 5),
        (small.flatnonzero,), (small.flatnonzero, 3), (small.count_nonzero, None), (ours.searchsorted,),
        (ours.searchsorted, "a"),
        (ours.searchsorted, 1, "up"), (ours.searchsorted, 1, None), (ours.searchsorted, 1 << 70), (ours.astype,),
        (ours.astype, "x"),
    ]  # fmt: skip
    for function, *arguments in refused:
        with pytest.raises(REFUSED):
            function(*arguments)
            raise AssertionError((function, arguments))
    for function, keywords in ((small.cumsum, {"dtype": "int32"}), (small.unique, {"return_inverse": True}),
        (small.diff, {"n": 2}),
                               (small.diff, {"append": 1}), (small.argsort, {"axis": 0}), (ours.max, {"axis": 0})):  # fmt: skip
        with pytest.raises(TypeError):
            function(*([] if function == ours.max else [ours]), **keywords)
    assert ours.tolist() == [0, 1, 2]
