"""Lists become one: by strength, in their own order, each heard once where it has something to say."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lurcher.corpora.federation import Merged, Strength


def part(*scores: float) -> Any:
    class Listing:
        def __len__(self) -> int:
            return len(scores)

        def score(self, i: int) -> float:
            return scores[i]

    return SimpleNamespace(listing=Listing(), factors={})


def strength(value: float, relevant: bool = True) -> Strength:
    return Strength(value, 1.0, relevant, "")


def order(merged: Merged, count: int | None = None) -> list[tuple[int, int]]:
    return [merged._at(i)[1:] for i in range(len(merged) if count is None else count)]


def test_scores_are_shares_of_the_best_times_the_sources_strength() -> None:
    merged = Merged([part(8.0, 4.0), part(0.2, 0.18)], [strength(1.0), strength(0.75)], 10)
    assert order(merged) == [(0, 0), (1, 0), (1, 1), (0, 1)]
    assert [round(merged.score(i), 3) for i in range(4)] == [1.0, 0.75, 0.675, 0.5]


def test_the_first_hit_scores_as_in_its_source() -> None:
    merged = Merged([part(0.3, 0.15), part(0.2)], [strength(1.0), strength(0.5)], 10)
    assert [round(merged.score(i), 3) for i in range(3)] == [0.3, 0.15, 0.15]
    merged = Merged([part(), part(0.2, 0.1)], [strength(1.0), strength(0.5)], 10)
    assert [round(merged.score(i), 3) for i in range(2)] == [0.2, 0.1], "a source without hits counts for nothing"


def test_a_weak_source_is_last_on_the_first_page_if_it_is_relevant() -> None:
    strong = part(*[1.0 - i / 100 for i in range(20)])
    heard = Merged([strong, part(1.0, 0.9)], [strength(1.0), strength(0.01)], 10)
    assert order(heard, 10)[-1] == (1, 0)
    assert heard.score(10) <= heard.score(9) <= heard.score(8)
    unheard = Merged([strong, part(1.0, 0.9)], [strength(1.0), strength(0.01, relevant=False)], 10)
    assert all(number == 0 for number, _ in order(unheard, 10))


def test_a_page_of_few_hits_has_no_room_for_weak_sources() -> None:
    merged = Merged([part(1.0, 0.9, 0.8, 0.7), part(1.0), part(1.0)], [strength(1.0), strength(0.1), strength(0.2)], 4)
    assert order(merged, 4) == [(0, 0), (0, 1), (0, 2), (0, 3)]
    strong = part(*[1 - i / 10 for i in range(9)])
    one = Merged([strong, part(1.0), part(1.0)], [strength(1.0), strength(0.1), strength(0.2)], 6)
    assert {number for number, _ in order(one, 6)} == {0}, "room for one of the three, and the strongest is there already"


@given(
    st.lists(st.lists(st.floats(0.01, 1.0), max_size=8).map(lambda found: sorted(found, reverse=True)), min_size=1, max_size=3),
    st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), min_size=3, max_size=3),
    st.integers(1, 12),
)  # fmt: skip
def test_every_hit_comes_once_in_its_sources_order_and_scores_never_rise(
    lists: list[list[float]], strengths: list[tuple[float, bool]], limit: int
) -> None:
    merged = Merged([part(*scores) for scores in lists], [strength(*pair) for pair in strengths[: len(lists)]], limit)
    found = order(merged)
    assert sorted(found) == [(number, i) for number, scores in enumerate(lists) for i in range(len(scores))]
    for number in range(len(lists)):
        assert [i for other, i in found if other == number] == sorted(i for other, i in found if other == number)
    values = [merged.score(i) for i in range(len(merged))]
    assert all(a >= b for a, b in pairwise(values))
