"""Plain words in any case are found without regular expressions where the expressions find them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.query.text_pattern import IGNORE, TextPattern, compile_pattern

WORDS = st.text(alphabet="aAbBkKsS .-'", min_size=1, max_size=4)
PIECES = st.sampled_from(["a", "A", "b", "k", "K", "s", "S", "\u017f", "\u212a", " ", ".", "\n", "é", "aB", "\xff"])
DATA = st.lists(PIECES, max_size=40).map(lambda parts: "".join(parts).encode("utf-8")) | st.binary(max_size=20)


def by_expression(pattern: TextPattern, data: bytes) -> list[int]:
    return [match.start() for match in pattern._expression.finditer(data)]


@settings(max_examples=500, deadline=None)
@given(WORDS, DATA, st.integers(0, 20))
def test_they_are_found_at_the_same_places(text: str, data: bytes, start: int) -> None:
    pattern = compile_pattern(text, fixed=True, case=IGNORE)
    assert pattern.starts(data) == by_expression(pattern, data)
    start = min(start, len(data))
    match = pattern._expression.search(data, start)
    assert pattern.first(data, start) == (None if match is None else match.span())


def test_many_matches() -> None:
    pattern = compile_pattern("ab", fixed=True, case=IGNORE)
    assert len(pattern.starts(b"aB " * 2000)) == 2000
    assert pattern.starts(b"") == []
