"""Every measure on lists small enough to work out by hand, and the laws that hold for all lists."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.evaluation.metrics import (
    first_of_each,
    hit_at,
    match_rate,
    mean,
    ndcg,
    percentile,
    reciprocal_rank,
    target_ranks,
    token_recall,
    top1_diversity,
    top3_duplicate_rate,
)

SECOND = 1 / math.log2(3)  # what rank 2 is worth: 0.6309
THIRD = 0.5  # rank 3: 1 / log2(4)


def wants(*letters):
    return [lambda hit, letter=letter: hit[0] == letter for letter in letters]


def test_a_target_takes_the_rank_of_the_first_hit_that_satisfies_it():
    assert target_ranks(["x1", "b1", "a1", "b2"], wants("a", "b", "c")) == (3, 2, None)


def test_file_ranks_count_each_file_once():
    kept = first_of_each(["a1", "a2", "b1", "a3", "c1"], key=lambda hit: hit[0])
    assert kept == ["a1", "b1", "c1"]
    assert target_ranks(kept, wants("c")) == (3,)


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ((1,), 1.0),
        ((2,), SECOND),
        ((3,), THIRD),
        ((None,), 0.0),
        ((11,), 0.0),
        ((10,), 1 / math.log2(11)),
        ((1, 2), 1.0),
        ((2, 1), 1.0),
        ((1, None), 1 / (1 + SECOND)),
        ((1, 3), (1 + THIRD) / (1 + SECOND)),
        ((2, 3, None), (SECOND + THIRD) / (1 + SECOND + THIRD)),
        ((), 0.0),
    ],
)
def test_ndcg_by_hand(ranks, expected):
    assert ndcg(ranks, 10) == pytest.approx(expected)


def test_the_ideal_list_is_no_longer_than_k():
    assert ndcg((1, 2, None, None), 2) == 1.0


def test_one_hit_that_satisfies_two_targets_does_not_exceed_a_perfect_score():
    assert ndcg((1, 1), 10) == 1.0


@pytest.mark.parametrize(("k", "expected"), [(1, 0.0), (3, 0.0), (4, 1.0), (10, 1.0)])
def test_hit_at_k_counts_any_target(k, expected):
    assert hit_at((None, 4, 7), k) == expected


def test_reciprocal_rank_is_of_the_best_target_and_ends_at_k():
    assert reciprocal_rank((None, 4, 7), 10) == 0.25
    assert reciprocal_rank((10,), 10) == 0.1
    assert reciprocal_rank((11,), 10) == 0.0
    assert reciprocal_rank((None,), 10) == 0.0


@pytest.mark.parametrize(
    ("budget", "packed"),
    [(99, ""), (299, "cd"), (500, "ac"), (550, "acd"), (1300, "abd"), (1350, "abc"), (1450, "abcd")],
)
def test_token_recall_skips_what_does_not_fit_and_goes_on(budget, packed):
    sizes = {"a": 300, "b": 900, "c": 150, "d": 100}
    for letter in "abcd":
        assert token_recall("abcd", wants(letter), sizes.__getitem__, budget) == float(letter in packed)
    assert token_recall("abcd", wants(*"abcd"), sizes.__getitem__, budget) == len(packed) / 4


def test_token_recall_of_a_budget_below_every_hit_is_zero():
    assert token_recall("ab", wants("a"), lambda hit: 10, 9) == 0.0


def test_match_rate_counts_queries_that_returned_anything():
    assert match_rate([3, 0, 1, 20]) == 0.75
    assert match_rate([]) == 0.0


def test_top1_diversity_is_distinct_first_hits_per_query():
    assert top1_diversity([["a", "b"], ["a"], ["c"], []]) == 0.5


def test_top3_duplicate_rate_counts_three_hits_only():
    assert top3_duplicate_rate([["a", "b", "a"], ["a", "b", "c", "a"], ["a"], ["a", "a"]]) == 0.5


def test_percentiles_are_interpolated():
    assert percentile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5
    assert percentile([1.0, 2.0, 3.0, 4.0, 5.0], 0.95) == pytest.approx(4.8)
    assert percentile([7.0], 0.95) == 7.0
    assert percentile([], 0.5) == 0.0


def test_the_mean_does_not_depend_on_the_order():
    assert mean([1e16, 1.0, -1e16]) == mean([1e16, -1e16, 1.0]) == pytest.approx(1 / 3)
    assert mean([]) == 0.0


ranks_of_targets = st.lists(st.none() | st.integers(1, 30), min_size=1, max_size=12)


@given(ranks_of_targets, st.integers(1, 15))
def test_every_measure_lies_between_zero_and_one(ranks, k):
    for measure in (ndcg, hit_at, reciprocal_rank):
        assert 0.0 <= measure(ranks, k) <= 1.0


@given(st.integers(1, 12), st.integers(1, 15), st.randoms())
def test_targets_at_the_top_in_any_order_score_one(count, k, dice):
    ranks = list(range(1, count + 1))
    dice.shuffle(ranks)
    assert ndcg(ranks, k) == pytest.approx(1.0)


@given(ranks_of_targets, st.data())
def test_moving_a_target_up_never_lowers_the_score(ranks, data):
    position = data.draw(st.integers(0, len(ranks) - 1))
    better = list(ranks)
    better[position] = data.draw(st.integers(1, ranks[position] or 30))
    for measure in (ndcg, hit_at, reciprocal_rank):
        assert measure(better, 10) >= measure(ranks, 10)


@given(st.lists(st.sampled_from("abcxyz"), max_size=15), st.randoms())
def test_the_order_of_irrelevant_hits_below_the_last_target_does_not_matter(hits, dice):
    targets = wants("a", "b", "c")
    last = max((rank for rank in target_ranks(hits, targets) if rank is not None), default=0)
    below = hits[last:]
    dice.shuffle(below)
    shuffled = hits[:last] + below
    for depth in (3, 10):
        assert ndcg(target_ranks(hits, targets), depth) == ndcg(target_ranks(shuffled, targets), depth)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50)), max_size=10))
def test_token_recall_of_an_ample_budget_finds_what_the_list_holds(hits):
    everything = sum(size for _, size in hits)
    found = {letter for letter, _ in hits}
    assert token_recall(hits, wants("a", "b", "c"), lambda hit: hit[1], everything) == pytest.approx(len(found) / 3)
