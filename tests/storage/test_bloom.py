"""The filter over a segment's text: never a false no, seldom a false yes."""

from __future__ import annotations

import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.storage import bloom
from lurcher.storage.bloom import BloomBuilder, hash_text, may_contain

PIECES = st.lists(
    st.sampled_from(("foo", "bar_1", "Zed", "größe", "検索", " ", "\n", "->", "::", "(", ");", "…", "_", "9", "\t\t")),
    max_size=60,
)


def filter_of(*texts: str) -> memoryview:
    entries = BloomBuilder()
    for text in texts:
        entries.add(text.encode())
    return memoryview(entries.build())


def has(filter: memoryview, text: str) -> bool:
    return may_contain(filter, hash_text(text.encode()))


@given(PIECES, st.data())
@settings(max_examples=200, deadline=None)
def test_the_filter_never_denies_a_whole_word_of_the_text(pieces: list[str], data: st.DataObject) -> None:
    text = "".join(pieces)
    filter = filter_of("something else", text)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    part = text[start:end]
    alone = re.compile(rf"(?<!\w){re.escape(part)}(?!\w)")
    if part and alone.search(text):
        assert has(filter, part)


def test_words_at_the_border_of_a_piece_are_whole() -> None:
    text = " ".join(f"name_{i}" for i in range(30_000))  # several pieces
    filter = filter_of(text)
    assert all(has(filter, f"name_{i} name_{i + 1}") for i in range(0, 29_999, 7))
    assert len(text) > 3 * bloom._PIECE_BYTES
    assert not has(filter, "name_")


def test_a_word_longer_than_a_piece_does_no_harm() -> None:
    filter = filter_of(f"before {'x' * 3 * bloom._PIECE_BYTES} after")
    assert has(filter, "before") and has(filter, "after") and not has(filter, "between")


def test_parts_of_words_other_spellings_and_other_signs_are_denied() -> None:
    filter = filter_of("def get_user(id):\n    return db.load(id)\n")
    assert has(filter, "get_user") and has(filter, "get_user(id)") and has(filter, "db.load")
    for absent in ("user", "get", "Get_User", "getUser", "db->load", "load[id]", "get_user()"):
        assert not has(filter, absent), absent


def test_an_empty_text_gives_an_empty_filter() -> None:
    assert filter_of() == filter_of("", "") == b""
    assert not has(filter_of(), "x")


def test_false_yes_is_rarer_than_one_in_fifty_over_nine_segments() -> None:
    chooser = random.Random(5)
    letters = "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJ0123456789"
    names = ["".join(chooser.choices(letters, k=chooser.randint(4, 14))) for _ in range(24_000)]
    filters = [filter_of(" ".join(names[i : i + 2_000])) for i in range(0, 18_000, 2_000)]
    known = set(names[:18_000])
    absent = [hash_text(name.encode()) for name in names[18_000:] if name not in known]
    wrong = sum(any(may_contain(filter, name) for filter in filters) for name in absent)
    assert len(absent) > 5_500
    assert 0 < wrong < 0.02 * len(absent)
    alone = sum(may_contain(filters[0], name) for name in absent)
    assert alone < 0.004 * len(absent)


def test_order_and_repetition_of_texts_do_not_matter() -> None:
    texts = [f"word_{i} other_{i % 7}" for i in range(50)]
    assert filter_of(*texts) == filter_of(*reversed(texts), *texts[:9])
