from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lurcher.vectors.unseen_terms import hash_grams


def by_hand(term: str, lengths: list[int], buckets: int) -> list[int]:
    data = b"<" + term.encode("utf-8", "surrogatepass") + b">"
    found = []
    for start in range(len(data)):
        for length in sorted(lengths):
            if start + length <= len(data):
                state = 2166136261
                for byte in data[start : start + length]:
                    state = ((state ^ byte) * 16777619) % 2**32
                found.append(state % buckets)
    return found


ODD = ("größe", "検索語", "λόγος", "", "a", "\ud800", "🦮", "getuser")
TERMS = st.lists(st.text(max_size=12) | st.sampled_from(ODD), max_size=8)
LENGTHS = st.lists(st.integers(1, 7), min_size=1, max_size=4, unique=True)


@given(TERMS, LENGTHS, st.integers(1, 2**31))
def test_all_at_once_is_as_one_by_one(terms: list[str], lengths: list[int], buckets: int) -> None:
    found, owners = hash_grams(terms, lengths, buckets)
    assert sorted(owners.tolist()) == owners.tolist()
    for number, term in enumerate(terms):
        assert found[owners == number].tolist() == by_hand(term, lengths, buckets)


def test_the_hash_is_fnv_1a() -> None:
    """Its published value for the six bytes "foobar" is 0xbf9cf968."""
    found, _ = hash_grams(["foobar"], [6], 2**32 - 1)
    assert len(found) == 3
    assert found[1] == 0xBF9CF968


def test_short_terms_have_the_n_grams_that_fit() -> None:
    found, owners = hash_grams(["", "a", "ab"], [3, 4, 5], 1000)
    assert [int((owners == number).sum()) for number in range(3)] == [0, 1, 3]
    assert len(found) == 4


def test_nothing_has_no_n_grams() -> None:
    for terms, lengths, buckets in (([], [3], 10), (["a"], [], 10), (["a"], [3], 0)):
        assert len(hash_grams(terms, lengths, buckets)[0]) == 0
