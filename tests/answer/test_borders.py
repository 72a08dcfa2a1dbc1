"""The lines of a place that a terminal shows begin and end between statements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.answer.borders import MOST_MOVED, find_borders, settle_window
from lurcher.languages.highlight import Span, split_by_line, syntax_spans
from lurcher.runtime.kernel import native

CODE = '''\
def send(request):
    """Sends a request.

    And waits (for the answer
    """
    # the first line of a comment
    # and its second
    answer = call(
        request.method,
        request.url,
    )
    total = (answer.a
             + answer.b)
    if total:
        log("(")
        return total
    return None
'''
ROWS = CODE.rstrip("\n").split("\n")
INSIDE = [3, 4, 6, 8, 9, 10, 12]
"""Rows that go on with the one above, but for the blank one."""


def _parse(code: str, language: str) -> list[list[Span]] | None:
    spans = syntax_spans(code, language)
    return None if spans is None else split_by_line(code, spans)


@pytest.mark.parametrize("parsed", [True, False])
def test_borders_are_between_statements(parsed: bool) -> None:
    if parsed and native() is None:
        pytest.skip("no parser")
    borders = find_borders(ROWS, _parse("\n".join(ROWS), "python") if parsed else None)
    assert len(borders) == len(ROWS) + 1
    assert [i for i, border in enumerate(borders) if not border and ROWS[i].strip()] == INSIDE


def test_braces_hold_statements_and_comments_are_whole() -> None:
    rows = """\
function open(path) {
  /* what a
   * file is */
  const all = { a: 1,
    b: 2 };
  return read(path)
    .then(close)
    .catch(log);
}""".split("\n")
    inside = [2, 4, 6, 7]
    assert [i for i, border in enumerate(find_borders(rows, None)) if not border] == inside
    if native() is not None:
        assert [i for i, border in enumerate(find_borders(rows, _parse("\n".join(rows), "javascript"))) if not border] == inside


def test_a_window_moves_to_the_borders_next_to_it() -> None:
    assert settle_window(ROWS, 8, 12, (9, 9)) == (7, 11)
    assert settle_window(ROWS, 11, 16, (13, 13)) == (11, 16)  # on borders already
    assert settle_window(ROWS, 12, 16, (13, 13)) == (13, 16)  # room for one line more there is not


def test_a_window_far_from_borders_stays() -> None:
    rows = ["call(", *[f"    {i}," for i in range(20)], ")"]
    assert settle_window(rows, 8, 15, (10, 10)) == (8, 15)


LINE = st.sampled_from([
    "", "x = 1", "    y(", ")", "    a,", '"""', "# note", "  /* a", "  */", "}", "def f():", "a +", "    .b()", "é = '('",
    "\t[", "]",
])  # fmt: skip


@given(st.lists(LINE, min_size=1, max_size=40), st.data())
def test_a_window_never_grows_and_keeps_its_best_lines(rows: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(rows) - 1))
    end = data.draw(st.integers(start + 1, len(rows)))
    best = data.draw(st.integers(start, end - 1))
    below = data.draw(st.integers(best, end - 1))
    syntax = data.draw(st.sampled_from([None, _parse("\n".join(rows), "python"), _parse("\n".join(rows), "go")]))
    first, last = settle_window(rows, start, end, (best, below), syntax)
    assert 0 <= first <= best <= below < last <= len(rows)
    assert last - first <= end - start
    assert abs(first - start) <= MOST_MOVED and abs(last - end) <= MOST_MOVED
    borders = find_borders(rows, syntax)
    if borders[start] and rows[start].strip() and rows[start] != "}" and borders[end]:
        assert (first, last) == (start, end)
