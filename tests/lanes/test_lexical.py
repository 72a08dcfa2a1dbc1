from __future__ import annotations

from math import log

import pytest

from lurcher.config.schema import LexicalSettings
from lurcher.lanes import lexical
from lurcher.query import Group
from lurcher.storage.snapshot import Snapshot
from tests.small import snapshot_of

PLAIN = {"body": 1.0, "comments": 1.0, "symbols": 0.0, "name": 0.0, "folder": 0.0, "stem": 0.0}


def score(
    snapshot: Snapshot, *groups: Group, weights: dict[str, float] = PLAIN, keep: int | None = None
) -> lexical.LexicalScores:
    return lexical.score(snapshot, groups, LexicalSettings(), keep=keep, weights=weights)


def test_bm25_worked_by_hand() -> None:
    snapshot = snapshot_of({"a.txt": "apple apple pear\n", "b.txt": "pear plum plum plum plum\n", "c.txt": "fig fig fig fig\n"})
    scores = score(snapshot, Group("apple", 1.0, ()))
    idf = log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    norm = 1.5 * (1 - 0.75 + 0.75 * 3 / 4)
    assert scores.scores[0] == pytest.approx(idf * 2 * 2.5 / (2 + norm))
    assert scores.scores[1] == scores.scores[2] == 0
    assert scores.terms_of(0) == {"apple": pytest.approx(scores.scores[0])}
    assert scores.terms_of(1) == {}


def test_a_group_is_as_rare_as_its_word_and_its_forms_on_average() -> None:
    snapshot = snapshot_of({"a.txt": "redirect\n", "b.txt": "redirects\n", "c.txt": "other\n"})
    scores = score(snapshot, Group("redirects", 1.0, ("redirect",)))
    own, together = log(1 + (3 - 1 + 0.5) / (1 + 0.5)), log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    assert scores.idf["redirects"] == pytest.approx((own + together) / 2)
    absent = score(snapshot, Group("redirecting", 1.0, ("redirect", "redirects")))
    assert absent.idf["redirecting"] == pytest.approx(together)
    assert scores.scores[1] > scores.scores[0] > 0


def test_fields_have_weights() -> None:
    files = {"a.py": "# apple\nx = 1\n", "b.py": "apple = 1\n"}
    quiet = score(snapshot_of(files), Group("apple", 1.0, ()), weights={**PLAIN, "comments": 0.0})
    assert quiet.scores[0] == 0 and quiet.scores[1] > 0


def test_a_files_name_counts_for_each_of_its_units() -> None:
    snapshot = snapshot_of({"net/cookie_jar.py": "x = 1\n", "other.py": "y = 2\n"})
    scores = lexical.score(snapshot, (Group("cookie", 1.0, ()),), LexicalSettings())
    assert scores.scores[0] > 0 and scores.scores[1] == 0


def test_only_the_best_terms_are_scored() -> None:
    snapshot = snapshot_of({"a.txt": "rare common\n", "b.txt": "common\n", "c.txt": "common\n"})
    scores = score(snapshot, Group("common", 1.0, ()), Group("rare", 1.0, ()), keep=1)
    assert list(scores.idf) == ["rare"]


def test_nothing_known_scores_nothing() -> None:
    scores = score(snapshot_of({"a.txt": "x\n"}), Group("absent", 1.0, ()))
    assert not scores.scores.any() and scores.idf == {}


def test_an_empty_snapshot_is_no_error() -> None:
    assert len(score(snapshot_of({}), Group("x", 1.0, ())).scores) == 0
