from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lurcher.indexing.build import build_segment
from lurcher.storage.segment_writer import SegmentData
from lurcher.vectors import quantise
from lurcher.vectors.quantise import normalise_sums, weighted_sums
from lurcher.vectors.static import CARD_NAMES, embed
from lurcher.vectors.table import DOCUMENT, Table
from tests.tables import WORDS, table_of

FILES = {
    "net/redirect.py": '"""Follow the location."""\ndef follow(response):\n    return response.location  # redirect redirect\n',
    "net/cookie_jar.py": "class CookieJar:\n    def parse(self, header):\n        return header\n",
    "empty.py": "",
}


ONLY_SUMMARY = {"summary": 1.0, "name": 0.0, "folder": 0.0, "comments": 0.0, "units": 0.0}


def built(files: dict[str, str]) -> SegmentData:
    return build_segment([(path, text.encode()) for path, text in sorted(files.items())], 300)


def by_hand(table: Table, weighted: list[tuple[str, float]]) -> NDArray[np.float64]:
    terms = [term for term, _ in weighted]
    total = np.array([amount for _, amount in weighted]) @ table.vectors(terms, DOCUMENT).astype(np.float64)
    found: NDArray[np.float64] = total / np.linalg.norm(total)
    return found


def test_a_units_vector_worked_by_hand() -> None:
    fields = {"body": 1.0, "comments": 3.0, "symbols": 0.5, "name": 2.0, "folder": 0.25}
    table = table_of(WORDS, weights={"redirect": 2.0}, fields=fields)
    data = built({"net/pool.py": "def acquire(redirect):\n    return redirect  # cookie cookie\n"})
    vectors = embed(data, table)
    root = 2**0.5
    expected = by_hand(table, [
        ("def", 1.0), ("acquire", 1.0), ("redirect", root), ("return", 1.0), ("cookie", 3 * root), ("acquire", 0.5),
        ("pool", 2.0), ("net", 0.25),
    ])  # fmt: skip
    assert vectors.units.shape == (1, 32)
    assert vectors.units[0] * vectors.unit_scales[0] @ expected > 0.9995


def test_a_files_card_worked_by_hand() -> None:
    table = table_of(WORDS, views=ONLY_SUMMARY)
    names = "".join(f"def step{i}(): pass\n" for i in range(CARD_NAMES + 20))
    data = built({"a/server/pool.py": f"# cookie jar\nLIMIT = 1\n\nclass Router:\n    pass\n\n{names}"})
    expected = by_hand(table, [
        ("pool", 2.0), ("a", 1.0), ("server", 1.0), ("cookie", 1.0), ("jar", 1.0), ("router", 1.0),
        *((f"step{i}", 1.0) for i in range(CARD_NAMES - 1)), ("step", (CARD_NAMES - 1) ** 0.5),
        *((str(i), 1.0) for i in range(CARD_NAMES - 1)),
    ])  # fmt: skip
    vectors = embed(data, table)
    assert vectors.cards[0] * vectors.card_scales[0] @ expected > 0.999


def test_a_card_is_the_weighted_mean_of_its_views() -> None:
    views = {"summary": 0.0, "name": 1.0, "folder": 2.0, "comments": 3.0, "units": 4.0}
    table = table_of(WORDS, views=views)
    data = built({"server/pool.py": "# cookie jar\ndef acquire(redirect):\n    return redirect\n"})
    vectors = embed(data, table)
    unit = vectors.units[0] * vectors.unit_scales[0]
    parts = [(1.0, by_hand(table, [("pool", 1.0)])), (2.0, by_hand(table, [("server", 1.0)])),
             (3.0, by_hand(table, [("cookie", 1.0), ("jar", 1.0)])), (4.0, unit)]  # fmt: skip
    card = vectors.cards[0] * vectors.card_scales[0]
    for question in (by_hand(table, [("cookie", 1.0)]), by_hand(table, [("server", 1.0), ("redirect", 2.0)])):
        assert card @ question == pytest.approx(sum(weight * (part @ question) for weight, part in parts) / 10, abs=0.01)
    assert np.linalg.norm(card) < 1


@pytest.mark.parametrize("name", [1.0, -1.0, -3.0])
def test_whatever_a_table_says_of_its_views_a_card_is_one_long_at_most(name: float) -> None:
    views = {"summary": 1.0, "name": name, "folder": 0.0, "comments": 0.0, "units": 0.5}
    vectors = embed(built(FILES), table_of(WORDS, views=views))
    assert (vectors.card_scales >= 0).all()
    assert (np.linalg.norm(vectors.cards * vectors.card_scales[:, None], axis=1) < 1.01).all()


def test_vectors_are_one_long_and_nothing_known_is_zero() -> None:
    table = table_of(("redirect",), compose="none")
    vectors = embed(built({"x.py": "y = 1\n", "redirect.py": "z = 2\n"}), table)
    lengths = np.linalg.norm(vectors.units * vectors.unit_scales[:, None], axis=1)
    assert lengths == pytest.approx([1.0, 0.0])
    assert not vectors.cards[1].any() and vectors.card_scales[1] == 0


def test_nothing_has_no_vectors() -> None:
    vectors = embed(built({}), table_of(WORDS))
    assert vectors.units.shape == vectors.cards.shape == (0, 32)
    empty = embed(built({"empty.py": ""}), table_of(WORDS))
    assert empty.cards.shape == (1, 32)


@given(st.lists(st.sampled_from(WORDS) | st.text("abcdefgh_", min_size=1, max_size=9), max_size=60), st.integers(1, 64))
@settings(max_examples=40, deadline=None)
def test_a_vector_has_the_same_bytes_in_any_company(words: list[str], block: int) -> None:
    """Otherwise an index that grew would differ from one made at once."""
    table = table_of(WORDS, dims=24)
    mine = {"net/mine.py": f"x = '{' '.join(words)}'\n"}
    alone = embed(built(mine), table)
    before, quantise._BLOCK = quantise._BLOCK, block
    try:
        together = embed(built({**FILES, **mine, **{f"a/{i}.py": f"{word} = {i}\n" for i, word in enumerate(words)}}), table)
    finally:
        quantise._BLOCK = before
    data = built({**FILES, **mine, **{f"a/{i}.py": f"{word} = {i}\n" for i, word in enumerate(words)}})
    place = sorted([*FILES, *mine, *(f"a/{i}.py" for i in range(len(words)))]).index("net/mine.py")
    first, count = int(data.tables["files"]["unit"][place]), int(data.tables["files"]["units"][place])
    assert together.units[first : first + count].tobytes() == alone.units.tobytes()
    assert together.unit_scales[first : first + count].tobytes() == alone.unit_scales.tobytes()
    assert together.cards[place].tobytes() == alone.cards[0].tobytes()


@given(st.integers(0, 10**6), st.integers(1, 40))
@settings(max_examples=30, deadline=None)
def test_sums_are_whole_numbers_and_close(seed: int, total: int) -> None:
    chance = np.random.default_rng(seed)
    rows = chance.integers(-127, 128, (50, 16)).astype(np.int8)
    count = 200
    owners, places = chance.integers(0, total, count), chance.integers(0, 50, count)
    amounts = chance.standard_normal(count) * 10.0 ** chance.integers(-3, 3)
    for here, found, factors in weighted_sums(owners, places, amounts, total, rows.__getitem__, 50):
        assert (found == np.rint(found)).all() and np.abs(found).max() <= 2**24
        for i, owner in enumerate(range(here.start, here.stop)):
            mine = owners == owner
            expected = amounts[mine] @ rows[places[mine]].astype(float)
            assert found[i] * factors[i] == pytest.approx(expected, rel=1e-3, abs=0.02 * (np.abs(amounts[mine]).sum() + 1e-9))


def test_bytes_and_scale_make_a_row_one_long() -> None:
    numbers, scales = normalise_sums(np.array([[3.0, -4.0], [0.0, 0.0], [1e6, 1.0]], np.float32))
    assert numbers.tolist() == [[95, -127], [0, 0], [127, 0]]
    assert np.linalg.norm(numbers * scales[:, None], axis=1) == pytest.approx([1.0, 0.0, 1.0])
