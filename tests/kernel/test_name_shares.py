"""Which units of a file are best, and how much of a question the names around and in them have, is the same from the kernel as
from Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lurcher.ranking import places
from lurcher.runtime.kernel import np as arrays
from tests.kernel import kernel
from tests.small import context_of

pytestmark = kernel.needed

WORD = st.sampled_from(["follow", "redirect", "HTTP", "follow_redirect", "getRedirect", "x" * 130, "größe", "v2", "_"])
QUERIES = ["how does it follow a redirect", "where is the HTTP größe", "follow_redirect", "v2 " + " ".join(map(str, range(90)))]


def source(names: list[str], lines: int) -> str:
    body = "        value = 1  # redirect\n" * lines
    return "".join(f"class {name}:\n    def {other}(self):\n{body}\n" for name, other in zip(names, names[::-1], strict=True))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(WORD, min_size=1, max_size=6), min_size=1, max_size=3), st.sampled_from(QUERIES), st.integers(1, 60))
@example([["follow", "größe"], ["redirect"]], QUERIES[0], 40)
def test_the_shares_are_the_same(files: list[list[str]], query: str, lines: int) -> None:
    context = context_of({f"src/f{i}.py": source(names, lines) for i, names in enumerate(files)}, query)
    snapshot = context.snapshot
    numbers = list(range(snapshot.file_total))
    units = [list(range(int(snapshot.unit_counts[file])))[::-1] for file in numbers]
    native = places._Names(context).shares(numbers, units)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places, "native", lambda: None)
        assert native == places._Names(context).shares(numbers, units)


def test_names_in_ascii_are_not_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    text = source(["follow", "Other", "getRedirect"], 40)
    context = context_of({"src/a.py": text, "src/b.py": text}, "how does it follow a redirect")
    monkeypatch.delattr(places._Names, "_compare")
    count = int(context.snapshot.unit_counts[1])
    around, largest = places._Names(context).shares([0, 1], [[0], list(range(count))])[1]
    assert max(around) > 0 and max(largest) > 0 and min(around) == 0 and count > 2


@given(st.lists(st.sampled_from([0.0, 0.5, 0.25, 1.5, -1.0, float("nan")]), max_size=60), st.data())
def test_the_best_units_are_the_same(values: list[float], data: Any) -> None:
    first = data.draw(st.integers(0, len(values)))
    runs = [(0, len(values)), (first, len(values) - first), (first, 0)]
    expected = [places._find_best_of(np.array(values[start : start + count], np.float64)) for start, count in runs]
    assert places._find_best(arrays.array(values, arrays.float64), runs) == expected


def test_what_is_not_there_is_refused() -> None:
    module = kernel.module()
    for runs in ([(0, 4)], [(-1, 2)], [(4, 0)], [(1, 1 << 62)], [(1,)], [3]):
        with pytest.raises((ValueError, TypeError)):
            module.best_of_runs(np.ones(3), runs, 2)
    with pytest.raises(ValueError):
        module.best_of_runs(np.ones(3), [], 0)
    units, rows, marks = (12, 4, 8), (40, 4, 8, 12, 24, 28, 36), b"\1"
    good = (bytes(24), 0, bytes(80), 0, 2, b"a\0", 0)
    assert module.name_shares(["a"], b"\0", [1.0], 1.0, units, rows, marks, [(good, [0, 1])]) == [([0.0, 0.0], [1.0, 0.0])]
    for other in (
        (bytes(24), 2, *good[2:]), (bytes(24), -1, *good[2:]), (*good[:3], 1, 2, *good[5:]), (*good[:3], -1, 1, *good[5:]),
        (*good[:4], 1 << 62, *good[5:]), (*good[:5], b"a", 0), (*good[:5], b"", 0), (*good[:5], b"\xc3\xa4\0", 0),
        (*good[:6], 1),
    ):  # fmt: skip
        assert module.name_shares(["a"], b"\0", [1.0], 1.0, units, rows, marks, [(other, [0, 1])]) == [None]
    assert module.name_shares(["a"], b"\0", [1.0], 1.0, units, rows, marks, [(good, [0, 2]), (good, [-1])]) == [None, None]
    for terms, groups, worths in ((["a"], b"", [1.0]), (["a"], b"\1", [1.0]), ([b"a"], b"\0", [1.0]), (["a"], b"\0", ["b"])):
        with pytest.raises((ValueError, TypeError)):
            module.name_shares(terms, groups, worths, 1.0, units, rows, marks, [])
    assert module.name_shares(["\ud800"], b"\0", [1.0], 1.0, units, rows, marks, []) == []
    for narrow in ((10, 4, 8), (12, -1, 8)):
        with pytest.raises(ValueError):
            module.name_shares(["a"], b"\0", [1.0], 1.0, narrow, rows, marks, [])
