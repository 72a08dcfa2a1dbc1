"""Pages hold the best places that fit, and following them shows every place exactly once."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.answer import MAX_PLACES, MAX_WAITING, START, PackState, Page, pack
from lurcher.errors import CursorError, QueryError

cost_lists = st.lists(st.integers(0, 40), max_size=200)
budgets = st.none() | st.integers(1, 60)
limits = st.integers(1, 20)


def one(costs: list[int], *, budget: int | None, limit: int = 10, start: PackState = START) -> Page:
    return pack(costs.__getitem__, len(costs), budget=budget, limit=limit, start=start)


def all_pages(costs: list[int], *, budget: int | None, limit: int) -> list[Page]:
    pages = [one(costs, budget=budget, limit=limit)]
    while (state := pages[-1].next) is not None:
        assert len(pages) <= len(costs), "following the cursor does not end"
        pages.append(one(costs, budget=budget, limit=limit, start=state))
    return pages


def test_without_a_budget_a_page_is_the_next_limit_hits() -> None:
    first = one([5] * 5, budget=None, limit=3)
    assert first == Page((0, 1, 2), (5, 5, 5), (), PackState(3))
    assert one([5] * 5, budget=None, limit=3, start=PackState(3)) == Page((3, 4), (5, 5), (), None)


def test_a_hit_that_does_not_fit_waits_and_a_smaller_one_takes_its_place() -> None:
    first = one([6, 7, 3, 9], budget=10)
    assert first == Page((0, 2), (6, 3), (), PackState(4, (1, 3)))
    assert first.tokens == 9


def test_what_waited_comes_first_on_the_next_page() -> None:
    second = one([6, 7, 3, 9, 1], budget=10, start=PackState(4, (1, 3)))
    assert second == Page((1, 4), (7, 1), (), PackState(5, (3,)))


def test_a_hit_larger_than_the_budget_is_reported_once_and_blocks_nothing() -> None:
    pages = all_pages([99, 6, 6, 99], budget=10, limit=10)
    assert [page.indices for page in pages] == [(1,), (2,)]
    assert [page.oversized for page in pages] == [(0, 3), ()]


def test_only_oversized_hits_left_do_not_promise_another_page() -> None:
    assert one([5, 99, 99], budget=10, limit=1) == Page((0,), (5,), (1, 2), None)


def test_nothing_found_is_one_empty_page() -> None:
    assert one([], budget=10) == Page((), (), (), None)


def test_costs_are_computed_only_until_the_budget_is_full() -> None:
    asked: list[int] = []

    def cost(index: int) -> int:
        asked.append(index)
        return 5

    pack(cost, 100, budget=10, limit=10)
    assert asked == [0, 1, 2]
    asked.clear()
    pack(cost, 100, budget=None, limit=4)
    assert asked == [0, 1, 2, 3]


def test_few_enough_hits_wait_that_the_cursor_stays_short() -> None:
    page = one([6] * 500, budget=10)
    assert page.indices == (0,)
    assert page.next == PackState(MAX_WAITING + 1, tuple(range(1, MAX_WAITING + 1)))


@given(cost_lists, budgets, limits)
def test_pages_partition_the_results(costs: list[int], budget: int | None, limit: int) -> None:
    pages = all_pages(costs, budget=budget, limit=limit)
    too_large = [i for i, price in enumerate(costs) if budget is not None and price > budget]
    shown = [i for page in pages for i in page.indices]
    reported = [i for page in pages for i in page.oversized]
    assert sorted(shown) == [i for i in range(len(costs)) if i not in too_large]
    assert sorted(reported) == too_large


@given(cost_lists, budgets, limits)
def test_every_page_respects_budget_limit_and_order(costs: list[int], budget: int | None, limit: int) -> None:
    pages = all_pages(costs, budget=budget, limit=limit)
    for page in pages:
        assert budget is None or page.tokens <= budget
        assert len(page.indices) <= limit
        assert list(page.indices) == sorted(page.indices)
        assert page.costs == tuple(costs[i] for i in page.indices)
    assert all(page.indices for page in pages[1:])
    assert pages[0].indices or len(pages) == 1


@given(cost_lists, budgets, limits)
def test_each_cost_is_computed_once_per_page(costs: list[int], budget: int | None, limit: int) -> None:
    state: PackState | None = START
    while state is not None:
        asked: list[int] = []

        def cost(index: int, asked: list[int] = asked) -> int:
            asked.append(index)
            return costs[index]

        state = pack(cost, len(costs), budget=budget, limit=limit, start=state).next
        assert len(asked) == len(set(asked))


def one_each(index: int) -> int:
    return 1


def test_a_further_place_of_a_hit_needs_no_room_among_the_hits() -> None:
    page = pack(one_each, 6, budget=None, limit=2, group="ababcb".__getitem__)
    assert page == Page((0, 1, 2, 3), (1, 1, 1, 1), (), PackState(4))  # c would be a third hit


def test_places_above_the_most_of_a_hit_wait_for_the_next_page() -> None:
    first = pack(one_each, 9, budget=None, limit=2, group="aaaaaaaba".__getitem__)
    assert first.indices == (0, 1, 2, 3, 4, 7)
    assert first.next == PackState(9, (5, 6, 8))
    following = pack(one_each, 9, budget=None, limit=2, group="aaaaaaaba".__getitem__, start=first.next)
    assert following == Page((5, 6, 8), (1, 1, 1), (), None)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=150), budgets, limits)
def test_pages_of_hits_with_places_partition_the_places(places: list[tuple[int, int]], budget: int | None, limit: int) -> None:
    costs, files = [price for price, _ in places], [file for _, file in places]
    pages: list[Page] = []
    state: PackState | None = START
    while state is not None:
        assert len(pages) <= len(places) + 1, "following the cursor does not end"
        page = pack(costs.__getitem__, len(costs), budget=budget, limit=limit, start=state, group=files.__getitem__)
        pages.append(page)
        state = page.next
    too_large = [i for i, price in enumerate(costs) if budget is not None and price > budget]
    assert sorted(i for page in pages for i in page.indices) == [i for i in range(len(costs)) if i not in too_large]
    assert sorted(i for page in pages for i in page.oversized) == too_large
    for page in pages:
        shown = Counter(files[i] for i in page.indices)
        assert budget is None or page.tokens <= budget
        assert len(shown) <= limit
        assert max(shown.values(), default=0) <= MAX_PLACES
    assert all(page.indices for page in pages[1:])


@pytest.mark.parametrize(("budget", "limit"), [(0, 1), (-5, 1), (None, 0), (10, -1)])
def test_a_page_that_could_hold_nothing_is_refused(budget: int | None, limit: int) -> None:
    with pytest.raises(QueryError) as caught:
        one([1], budget=budget, limit=limit)
    assert caught.value.hint


def test_a_place_past_the_end_is_refused() -> None:
    with pytest.raises(CursorError):
        one([1, 2], budget=None, start=PackState(3))


@pytest.mark.parametrize("state", [(-1, ()), (2, (2,)), (5, (3, 1)), (5, (1, 1)), (5, (-1,)), (99, tuple(range(65)))])
def test_a_place_that_no_page_leaves_behind_cannot_be_made(state: tuple[int, tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match="not a place"):
        PackState(*state)
