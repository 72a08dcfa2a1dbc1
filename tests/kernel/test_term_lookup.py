"""Terms are found where they stand among sorted ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.runtime.kernel import trim_heap
from tests.kernel import kernel

pytestmark = kernel.needed
WORDS = st.lists(st.text(st.characters(), max_size=4) | st.sampled_from(["a", "ab", "b", "", "\ud800", "é"]), max_size=20)


@given(WORDS, WORDS)
def test_every_term_has_its_place_or_none(known: list[str], asked: list[str]) -> None:
    encoded = sorted({word.encode("utf-8", "surrogatepass") for word in known})
    ends = np.cumsum([len(word) for word in encoded]).astype(np.uint32)
    wanted = [*asked, *known]
    found = np.frombuffer(kernel.module().places(b"".join(encoded), ends, wanted), np.int64).tolist()
    place = {word: number for number, word in enumerate(encoded)}
    assert found == [place.get(word.encode("utf-8", "surrogatepass"), -1) for word in wanted]


def test_what_is_no_list_of_terms_is_refused() -> None:
    places = kernel.module().places
    for text, ends, wanted in (
        (b"ab", [1, 3], []), (b"ab", [2, 1], []), (b"ab", [1], [b"a"]), (b"ab", [1], [1]), (b"ab", [1], ("a",)),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            places(text, np.array(ends, np.uint32), wanted)
    with pytest.raises(ValueError, match="array"):
        places(b"ab", b"123", [])


def test_trimming_the_heap_does_not_raise() -> None:
    trim_heap()
