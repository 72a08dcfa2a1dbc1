from __future__ import annotations

import numpy as np
import pytest

from lurcher.config import Settings
from lurcher.errors import ModelError
from lurcher.lanes import Request, dense
from lurcher.lanes.dense import DenseCosines
from lurcher.query import make_plan
from lurcher.vectors.table import Table
from tests.small import model_with, snapshot_of
from tests.tables import WORDS, table_of

TABLE = table_of(WORDS, dims=64)
FILES = {
    "net/redirect.py": "def follow(url):\n    return location\n",
    "net/cookie.py": "def parse(header):\n    return jar\n" + "x = 1\n" * 80 + "session = cookies\n",
    "other/pool.py": "def acquire():\n    return idle\n",
}


def lane_for(query: str, mode: str = "auto", table: Table = TABLE, files: dict[str, str] | None = None) -> DenseCosines:
    snapshot = snapshot_of(FILES if files is None else files, 300, table)
    plan = make_plan(query, mode, snapshot)
    return dense.run(Request(snapshot, plan, Settings(), snapshot.live_files, model_with(table)))


def test_words_that_are_not_there_find_what_means_the_same() -> None:
    """No file has "redirected" in it, but one has words like it."""
    cards = lane_for("what is redirected").cards()
    assert np.asarray(cards).argmax() == 1
    assert cards[1] > 0.3


def test_units_are_those_of_the_files_requested() -> None:
    lane = lane_for("where are cookies")
    units, cosines = lane.units(np.array([0, 2]))
    every = lane.scan()
    assert units.tolist() == sorted(units.tolist())
    assert cosines.tolist() == every[units].tolist()
    assert len(lane.units(np.array([1]))[0]) == 1
    assert len(every) == len(lane.units(np.array([0, 1, 2]))[0])


def test_the_rank_of_a_unit_is_among_all_compared_units() -> None:
    lane = lane_for("where are cookies")
    assert lane.why(0) is None
    cosines = lane.scan()
    places = {unit: lane.why(unit) for unit in range(len(cosines))}
    ranks = [why.rank for why in places.values() if why is not None]
    assert sorted(ranks) == list(range(1, len(cosines) + 1))
    best = places[int(np.asarray(cosines).argmax())]
    assert best is not None and best.rank == 1 and best.score == cosines.max() and not best.terms
    lane.units(np.array([1]))
    assert lane.why(0) is None


def test_equal_units_have_places_in_path_order() -> None:
    lane = lane_for("what is redirected", files={f"{name}.txt": "redirect\n" for name in ("aa", "ab", "ac")})
    lane.scan()
    whys = [lane.why(unit) for unit in range(3)]
    assert [why.rank for why in whys if why] == [1, 2, 3] or len({why.score for why in whys if why}) > 1


def test_repeated_words_count_by_their_root() -> None:
    snapshot = snapshot_of(FILES, table=TABLE)
    once = dense._count_words(make_plan("the cookie and the pool", "auto", snapshot))
    twice = dense._count_words(make_plan("cookie cookie cookie cookie pool", "auto", snapshot))
    assert once == {"cookie": 1.0, "pool": 1.0}
    assert twice == {"cookie": 4.0, "pool": 1.0}


def test_of_a_report_the_title_counts() -> None:
    snapshot = snapshot_of(FILES, table=TABLE)
    text = "cookie is lost\nIt happens in the pool, every time that a router is registered."
    assert set(dense._count_words(make_plan(text, "auto", snapshot))) == {"cookie", "lost"}
    assert "pool" in dense._count_words(make_plan(text, "dense", snapshot))
    assert "pool" in dense._count_words(make_plan("?!\nthe pool", "auto", snapshot))


def test_a_question_of_unseen_words_is_a_guess() -> None:
    assert lane_for("how does xyzzy frobnicate").known is False
    assert lane_for("how does xyzzy follow").known is True
    assert not lane_for("how does xyzzy frobnicate", table=table_of(WORDS, compose="none"))


def test_an_empty_index_has_nothing_near() -> None:
    lane = lane_for("what is redirected", files={})
    assert len(lane.cards()) == len(lane.scan()) == 0


def test_what_is_missing_is_an_error_with_a_hint() -> None:
    snapshot = snapshot_of(FILES, table=TABLE)
    plan = make_plan("what is redirected", "auto", snapshot)
    bare = snapshot_of(FILES)
    broken = model_with(None).with_problem(ModelError("it is damaged", "fix it"))
    for held, model, words in (
        (snapshot, model_with(None), "no model is in use"),
        (snapshot, broken, "it is damaged"),
        (bare, model_with(TABLE), "no vectors of this model"),
        (snapshot, model_with(table_of(WORDS, dims=32)), "no vectors of this model"),
    ):
        with pytest.raises(ModelError, match=words) as caught:
            dense.run(Request(held, plan, Settings(), held.live_files, model))
        assert caught.value.hint
