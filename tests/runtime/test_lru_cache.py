"""The cache of what was used last: it keeps to its capacity, and drops what was not used for longest."""

from __future__ import annotations

from lurcher.runtime.process import LruCache


def test_what_was_not_used_for_longest_goes_first() -> None:
    cache = LruCache(3)
    for number in range(3):
        cache.put(number, f"value {number}")
    assert cache.get(0) == "value 0"
    cache.put(3, "value 3")
    assert cache.get(1) is None
    assert [cache.get(key) for key in (0, 2, 3)] == ["value 0", "value 2", "value 3"]


def test_sizes_count_and_a_replaced_value_counts_once() -> None:
    cache = LruCache(10)
    cache.put("a", "small", 4)
    cache.put("a", "larger", 6)
    cache.put("b", "other", 4)
    assert (cache.get("a"), cache.get("b")) == ("larger", "other")
    cache.put("c", "one more", 1)
    assert cache.get("a") is None and cache.get("b") == "other"


def test_a_value_larger_than_the_cache_is_not_stored() -> None:
    cache = LruCache(10)
    cache.put("whole", "too large", 11)
    assert cache.get("whole") is None
    cache.put("part", "fits", 10)
    assert cache.get("part") == "fits"
