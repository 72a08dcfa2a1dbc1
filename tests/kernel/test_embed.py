"""The kernel makes of counts the vectors that the reference makes of them, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.indexing.build import build_segment
from lurcher.terms.count import Postings
from lurcher.vectors import quantise, static, table
from lurcher.vectors.static import embed, embed_groups
from lurcher.vectors.table import Table, pack_table
from tests.kernel import kernel
from tests.tables import WORDS, arguments, table_of

pytestmark = kernel.needed
NOTHING = "nothing"
"""A term whose row is all zeros."""


def made_table(known: list[str], bits: int, **options: Any) -> Table:
    terms, rows, *rest = arguments(known, **options)
    rows[[term == NOTHING for term in terms]] = 0
    return Table.of(b"".join(pack_table(terms, rows, *rest, bits=bits)))


def by_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (static, quantise, table):
        monkeypatch.setattr(module, "native", lambda: None)


def postings(random: np.random.Generator, terms: int, total: int, count: int) -> Postings:
    keys = np.unique((random.integers(0, terms, count) << 32) | random.integers(0, total, count))
    counts = random.integers(1, 256, len(keys)).astype(np.uint8)
    return Postings((keys >> 32).astype(np.uint32), (keys & 0xFFFFFFFF).astype(np.uint32), counts)


@st.composite
def counted(draw: st.DrawFn) -> dict[str, Any]:
    random = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    terms = sorted({*draw(st.lists(st.sampled_from([*WORDS, NOTHING, "unheard_of", "漢字", "zzzz"]), min_size=1, max_size=40))})
    total = draw(st.integers(1, 40))
    fields = draw(st.lists(st.tuples(st.integers(0, 120), st.sampled_from([1.0, 2.0, 0.3, -1.0])), max_size=4))
    weight = draw(st.sampled_from([0.0, 0.0, 0.5]))
    known = [word for word in (*WORDS, NOTHING) if random.random() < 0.8]
    return {
        "terms": terms, "total": total, "bits": draw(st.sampled_from([4, 8])), "dims": draw(st.sampled_from([1, 7, 32, 33])),
        "fields": [(postings(random, len(terms), total, count), amount) for count, amount in fields],
        "known": known, "weights": {word: float(random.choice([0.0, 1.0, 3.5, -0.25])) for word in known}, "composed": weight,
    }  # fmt: skip


@given(counted())
@settings(max_examples=150, deadline=None)
def test_vectors_are_the_same(given: dict[str, Any]) -> None:
    options = {"dims": given["dims"], "weights": given["weights"], "gram_weight_document": given["composed"]}
    made = made_table(given["known"], given["bits"], **options)
    groups = [(given["fields"], given["total"])]
    ((numbers, scales),) = embed_groups(given["terms"], groups, made)
    with pytest.MonkeyPatch.context() as monkeypatch:
        by_reference(monkeypatch)
        ((plain, plain_scales),) = embed_groups(given["terms"], groups, made)
    assert numbers.tobytes() == plain.tobytes()
    assert scales.tobytes() == plain_scales.tobytes()


@pytest.mark.parametrize("composed", [0.0, 0.5])
def test_units_and_cards_of_files_are_the_same(composed: float, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [
        ("net/client.py", b'"""Sends requests."""\n\nclass Client:\n    def send(self, request):\n        return unheard_of\n'),
        ("net/empty.py", b""),
        ("net/pool.c", b"/* idle connections */\nint acquire(void) { return 1; }\n"),
    ]
    data, made = build_segment(files, 60), table_of(WORDS, bits=4, gram_weight_document=composed)
    ours = embed(data, made)
    by_reference(monkeypatch)
    plain = embed(data, made)
    assert ours.units.any() and ours.cards.any()
    for column in ("units", "unit_scales", "cards", "card_scales"):
        assert getattr(ours, column).tobytes() == getattr(plain, column).tobytes()


def test_terms_that_weigh_nothing_are_not_composed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = build_segment([("a.py", b"redirect_unheard = unheard_of\n")], 1500)
    light, heavy = (table_of(WORDS, gram_weight_document=weight) for weight in (0.0, 0.5))
    expected = embed(data, light)
    composed: list[Any] = []
    original = table.Table._compose
    monkeypatch.setattr(table.Table, "_compose", lambda self, terms: composed.append(terms) or original(self, terms))
    assert embed(data, light).units.tobytes() == expected.units.tobytes() and not composed
    embed(data, heavy)
    assert composed


def test_what_does_not_fit_is_refused() -> None:
    owners, terms, counts = np.array([0, 1], np.uint32), np.array([0, 1], np.uint32), np.array([1, 2], np.uint8)
    places, weights, data = np.array([0, 1], np.int32), np.array([1.0, 2.0]), np.arange(8, dtype=np.int8)
    field = (owners, terms, counts, 1.0)
    function = kernel.module().owner_sums
    function([field], 2, places, weights, data, 8, 4)
    wrong: list[tuple[Any, ...]] = [
        ([(owners + 1, terms, counts, 1.0)], 2, places, weights, data, 8, 4),
        ([(owners, terms + 1, counts, 1.0)], 2, places, weights, data, 8, 4),
        ([(owners[:1], terms, counts, 1.0)], 2, places, weights, data, 8, 4),
        ([(owners, terms, counts[:1], 1.0)], 2, places, weights, data, 8, 4),
        ([(owners, terms, counts, "1")], 2, places, weights, data, 8, 4),
        ([(owners, terms, counts)], 2, places, weights, data, 8, 4), ([None], 2, places, weights, data, 8, 4),
        ([(owners, terms, counts, float("inf"))], 2, places, weights, data, 8, 4),
        (field, 2, places, weights, data, 8, 4), ([field], -1, places, weights, data, 8, 4),
        ([field], 1 << 60, places, weights, data, 8, 4), ([field], 2, places + 1, weights, data, 8, 4),
        ([field], 2, places[:1], weights, data, 8, 4), ([field], 2, places, weights * np.nan, data, 8, 4),
        ([field], 2, places, weights, data[:4], 8, 4), ([field], 2, places, weights, data, 7, 4),
        ([field], 2, places, weights, data, 8, 0), ([field], 2, places, weights, data, 8, 1 << 40),
    ]  # fmt: skip
    for bad in wrong:
        with pytest.raises((ValueError, TypeError, BufferError, OverflowError)):
            function(*bad)
