"""The order of places is the same from the kernel as from Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lurcher.query import REPORT, SYMBOL
from lurcher.ranking import Context, places
from lurcher.runtime.kernel import np as arrays
from tests.kernel import kernel
from tests.small import context_of

pytestmark = kernel.needed

INLINE = (
    "pub fn follow(url: &str) -> String {\n" + "    let next = step(url);\n" * 60 + "    next\n}\n\n"
    "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn follows_a_redirect() {\n"
    + '        assert_eq!(follow("redirect"), "follow redirect");\n' * 24
    + "    }\n}\n"
)

WORD = st.sampled_from(["follow", "redirect", "HTTP", "follow_redirect", "getRedirect", "x" * 130, "größe", "v2", "_"])
QUERIES = ["how does it follow a redirect", "where is the HTTP größe", "follow_redirect", "v2 " + " ".join(map(str, range(90)))]


def source(names: list[str], lines: int) -> str:
    body = "        value = 1  # redirect\n" * lines
    return "".join(f"class {name}:\n    def {other}(self):\n{body}\n" for name, other in zip(names, names[::-1], strict=True))


def ordered(context: Context, files: list[int], values: list[float], leads: list[int]) -> tuple[Any, Any]:
    """The order of places from the kernel, and from Python."""
    weights = {REPORT: places.REPORTED, SYMBOL: places.NAME}.get(context.plan.intent, places.QUESTION)
    return (
        places._order_natively(context, weights, files, values, leads), places._order(context, weights, files, values, leads),
    )  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(WORD, min_size=1, max_size=6), min_size=1, max_size=3), st.sampled_from(QUERIES), st.integers(1, 60),
    st.data(),
)  # fmt: skip
@example([["follow", "größe"], ["redirect"]], QUERIES[0], 40, None)
def test_the_order_is_the_same(files: list[list[str]], query: str, lines: int, data: Any) -> None:
    texts = {f"src/f{i}.py": source(names, lines) for i, names in enumerate(files)}
    context = context_of({**texts, "src/inline.rs": INLINE}, query)
    snapshot = context.snapshot
    numbers = list(range(snapshot.file_total))
    leads = [int(snapshot.first_unit[file]) for file in numbers]
    if data is not None:
        leads = [lead + data.draw(st.integers(0, int(snapshot.unit_counts[file]) - 1)) for file, lead in enumerate(leads)]
        if data.draw(st.booleans()):
            units = [unit for file in numbers for unit in snapshot.units_of(file)]
            near = data.draw(st.lists(st.floats(-1, 1), min_size=len(units), max_size=len(units)))
            context.cosines = arrays.array(units, arrays.int64), arrays.array(near, arrays.float64)
    native, plain = ordered(context, numbers, [1.0 / (1 + file) for file in numbers], leads)
    assert native is None or native == plain


@pytest.mark.parametrize("query", ["how does it follow a redirect", "follow_redirect", "follow tests\n\nIt fails.\nAlways."])
def test_what_is_in_ascii_is_not_left_to_python(query: str) -> None:
    text = source(["follow", "Other", "getRedirect", "follow_redirect"], 40)
    context = context_of({"src/a.py": text, "src/b.py": text, "src/inline.rs": INLINE}, query)
    leads = [int(context.snapshot.first_unit[file]) for file in range(3)]
    native, plain = ordered(context, [0, 1, 2], [1.0, 0.75, 0.5], leads)
    assert native == plain and len(set(native[1])) > 3
    assert len(context.snapshot.inline_tests)


def test_what_is_not_there_is_left_to_python_or_refused() -> None:
    order = kernel.module().order_places
    columns, marks = ((12, 4, 8), (40, 4, 8, 12, 24, 28, 36)), b"\1"
    question, weights = (["a"], b"\0", [1.0], 1.0), (0.5, 3.0, 3.5, 0.15, 0.85, 0.02)
    rows = (bytes(24), 0, bytes(80), 0, 2, b"a\0", 0)
    scores, units, cosines = np.array([1.0, 0.5]), np.array([0, 1]), np.array([0.25, 0.5])

    def ask(
        rows: Any = rows, unit: tuple[int, int, int] = (0, 2, 0), scores: Any = scores, compared: Any = units,
        cosines: Any = cosines, roles: Any = None, most: int = 16, question: Any = question, columns: Any = columns,
    ) -> Any:  # fmt: skip
        files = [(rows, *unit, False, roles is not None, 0, 1.0)]
        return order(question, columns, marks, scores, compared, cosines, roles, -9.0, weights, most, True, files)

    assert ask()[0] == ask(compared=None, cosines=None)[0] == [0, 1]
    assert ask(roles=np.array([1, 0], np.uint8))[0] == [1, 0]
    for other in (
        (bytes(24), 1, *rows[2:]), (bytes(24), -1, *rows[2:]), (*rows[:3], 1, 2, *rows[5:]), (*rows[:3], -1, 1, *rows[5:]),
        (*rows[:4], 1 << 62, *rows[5:]), (*rows[:5], b"a", 0), (*rows[:5], b"", 0), (*rows[:5], b"\xc3\xa4\0", 0),
        (*rows[:6], 1),
    ):  # fmt: skip
        assert ask(other) is None
    assert ask(scores=np.zeros(2), unit=(0, 2, 2)) is None
    assert ask(compared=units[:1], cosines=cosines[:1]) is None
    assert ask(roles=np.zeros(1, np.uint8)) is None
    assert ask(question=(["\ud800"], b"\0", [1.0], 1.0)) is not None
    for refused in (
        {"unit": (0, 3, 0)}, {"unit": (-1, 2, 0)}, {"unit": (2, 1 << 62, 0)}, {"most": 0}, {"most": 65}, {"cosines": None},
        {"columns": ((10, 4, 8), columns[1])}, {"columns": ((12, -1, 8), columns[1])}, {"rows": rows[:5]},
        {"question": (["a"], b"", [1.0], 1.0)}, {"question": (["a"], b"\1", [1.0], 1.0)},
        {"question": ([b"a"], b"\0", [1.0], 1.0)}, {"question": (["a"], b"\0", ["b"], 1.0)},
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError)):
            ask(**refused)
