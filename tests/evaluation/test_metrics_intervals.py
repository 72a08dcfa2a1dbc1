import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.evaluation.metrics import MIN_GROUPS, average, bootstrap, permutation_test, sign_test

scores = st.floats(0, 1, allow_nan=False).map(lambda value: round(value, 3))
groups_of_scores = st.dictionaries(
    st.text("abcdefghij", min_size=1, max_size=3), st.lists(scores, max_size=6), max_size=10
)


def test_a_small_repository_weighs_as_much_as_a_large_one_in_the_mean_over_repositories():
    groups = {"large": [1.0] * 9, "small": [0.0]}
    assert average(groups, "repositories") == 0.5
    assert average(groups, "queries") == 0.9


def test_whole_repositories_are_resampled_when_there_are_enough():
    # Inside each repository nothing varies, so only resampling repositories can give the interval a width.
    enough = {f"r{number}": [float(number % 2)] * 5 for number in range(MIN_GROUPS)}
    interval = bootstrap(enough, "repositories")
    assert interval.resampled == "repositories"
    assert interval.low < interval.mean < interval.high


def test_queries_are_resampled_inside_few_repositories():
    few = {"a": [1.0] * 5, "b": [0.0] * 5}
    interval = bootstrap(few, "repositories")
    assert (interval.resampled, interval.low, interval.mean, interval.high) == ("queries", 0.5, 0.5, 0.5)


def test_the_interval_has_about_the_width_that_theory_gives():
    # 400 fair coins: the standard error is 0.025, so 95 % lie within 0.049.
    interval = bootstrap({"r": [0.0, 1.0] * 200}, "queries")
    assert interval.mean == 0.5
    assert interval.high - interval.low == pytest.approx(0.098, abs=0.01)


def test_the_same_values_give_the_same_interval_in_any_order_of_repositories():
    one = {"a": [0.1, 0.9], "b": [0.4]}
    two = {"b": [0.4], "a": [0.1, 0.9]}
    assert bootstrap(one, "queries") == bootstrap(two, "queries")


def test_nothing_has_an_interval_of_zero():
    assert bootstrap({}, "queries").mean == 0.0


def test_five_equal_gains_have_a_chance_of_one_in_sixteen():
    assert permutation_test({"r": [0.2] * 5}, "queries") == pytest.approx(2 / 32)


def test_gains_and_losses_that_cancel_are_chance():
    assert permutation_test({"r": [0.5, -0.5]}, "queries") == 1.0
    assert permutation_test({"r": [0.0, 0.0]}, "queries") == 1.0


def test_many_equal_gains_are_hardly_chance_and_repeat_exactly():
    many = {"r": [0.1] * 60}
    assert permutation_test(many, "queries") == permutation_test(many, "queries") < 0.001


def test_with_enough_repositories_the_repositories_are_what_is_flipped():
    # Eight repositories that all gain: 2 of 256 signs are as extreme, however many queries each has.
    groups = {f"r{number}": [0.3] * 4 for number in range(8)}
    assert permutation_test(groups, "repositories") == pytest.approx(2 / 256)


def test_the_sign_test_by_hand():
    assert sign_test([1, 1, 1, 1, 1, 0]) == pytest.approx(2 / 32)
    assert sign_test([1, 1, 1, -1]) == pytest.approx(2 * 5 / 16)
    assert sign_test([0, 0]) == 1.0
    assert sign_test([1, -1]) == 1.0


@given(groups_of_scores, st.sampled_from(["repositories", "queries"]))
def test_an_interval_stays_within_the_values_and_a_p_value_within_its_range(groups, over):
    interval = bootstrap(groups, over)
    values = [value for group in groups.values() for value in group] or [0.0]
    assert min(values) - 1e-9 <= interval.low <= interval.high <= max(values) + 1e-9
    assert 0.0 < permutation_test(groups, over) <= 1.0
