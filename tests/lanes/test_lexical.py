from __future__ import annotations

from dataclasses import replace
from math import log

import pytest

from lurcher.lanes import lexical
from lurcher.query.expand import Group
from lurcher.settings import LexicalSettings
from tests.small import snapshot_of

PLAIN = LexicalSettings(symbols=0.0, name=0.0, folder=0.0)


def test_bm25_worked_by_hand() -> None:
    snapshot = snapshot_of({"a.txt": "apple apple pear\n", "b.txt": "pear plum plum plum plum\n", "c.txt": "fig fig fig fig\n"})
    scores = lexical.score(snapshot, (Group("apple", 1.0, ()),), PLAIN)
    idf = log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    norm = 1.5 * (1 - 0.75 + 0.75 * 3 / 4)
    assert scores.scores[0] == pytest.approx(idf * 2 * 2.5 / (2 + norm))
    assert scores.scores[1] == scores.scores[2] == 0
    assert scores.terms_of(0) == {"apple": pytest.approx(scores.scores[0])}
    assert scores.terms_of(1) == {}


def test_a_group_is_as_rare_as_its_word_and_its_forms_on_average() -> None:
    snapshot = snapshot_of({"a.txt": "redirect\n", "b.txt": "redirects\n", "c.txt": "other\n"})
    scores = lexical.score(snapshot, (Group("redirects", 1.0, ("redirect",)),), PLAIN)
    own, together = log(1 + (3 - 1 + 0.5) / (1 + 0.5)), log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    assert scores.idf["redirects"] == pytest.approx((own + together) / 2)
    absent = lexical.score(snapshot, (Group("redirecting", 1.0, ("redirect", "redirects")),), PLAIN)
    assert absent.idf["redirecting"] == pytest.approx(together)
    assert scores.scores[1] > scores.scores[0] > 0


def test_fields_weigh_as_set() -> None:
    files = {"a.py": "# apple\nx = 1\n", "b.py": "apple = 1\n"}
    quiet = lexical.score(snapshot_of(files), (Group("apple", 1.0, ()),), replace(PLAIN, comments=0.0))
    assert quiet.scores[0] == 0 and quiet.scores[1] > 0


def test_a_files_name_counts_for_each_of_its_units() -> None:
    snapshot = snapshot_of({"net/cookie_jar.py": "x = 1\n", "other.py": "y = 2\n"})
    scores = lexical.score(snapshot, (Group("cookie", 1.0, ()),), LexicalSettings())
    assert scores.scores[0] > 0 and scores.scores[1] == 0


def test_only_the_best_terms_are_kept() -> None:
    snapshot = snapshot_of({"a.txt": "rare common\n", "b.txt": "common\n", "c.txt": "common\n"})
    scores = lexical.score(snapshot, (Group("common", 1.0, ()), Group("rare", 1.0, ())), PLAIN, keep=1)
    assert list(scores.idf) == ["rare"]


def test_nothing_known_scores_nothing() -> None:
    scores = lexical.score(snapshot_of({"a.txt": "x\n"}), (Group("absent", 1.0, ()),), PLAIN)
    assert not scores.scores.any() and scores.idf == {}


def test_an_empty_snapshot_is_no_error() -> None:
    assert len(lexical.score(snapshot_of({}), (Group("x", 1.0, ()),), PLAIN).scores) == 0
