"""Why a file is not among the hits: ranks, stages and words are those of the search itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lurcher import Engine
from lurcher.errors import PathError, QueryError

FILES = {
    "src/redirect.py": "def follow_redirects(response):\n    return resend(response.location)\n",
    "src/session.py": "class Session:\n    def send(self):\n        return follow_redirects(self)\n",
    "src/cookies.py": "def parse_cookie(text):\n    return text.split(';')\n",
    "tests/test_redirect.py": "def test_follow_redirects():\n    assert follow_redirects(None)\n",
}
QUERY = "how are redirects followed"


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    for name, text in FILES.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Engine.open(tmp_path / "tree", root=tmp_path / "tree")


def test_a_hit_has_its_rank_and_what_earned_it(engine: Engine) -> None:
    answer = engine.why("src/redirect.py", QUERY)
    assert answer.shown and answer.verdict == f"it is hit 1 of {answer.total}"
    assert answer.here is not None and answer.here.rank == 1
    assert answer.there is not None and answer.there.rank == 2
    hit = engine.search(QUERY).hits[0]
    assert (answer.here.path, answer.here.score) == (hit.path, hit.score)
    assert [word.word for word in answer.words if word.here] == ["followed", "redirects"]


def test_stages_add_up_to_the_scores_of_both(engine: Engine) -> None:
    for ranking in ("default", "classic"):
        answer = engine.why("tests/test_redirect.py", QUERY, ranking=ranking)
        assert answer.here is not None and answer.there is not None and answer.here.rank is not None
        assert sum(effect.here for effect in answer.effects) == pytest.approx(answer.here.score)
        assert sum(effect.there for effect in answer.effects) == pytest.approx(answer.there.score)
        noise = next(effect for effect in answer.effects if effect.stage == "noise")
        assert noise.here < 0 == noise.there and "test" in noise.note


def test_what_is_behind_the_limit_says_what_it_lacks(engine: Engine) -> None:
    answer = engine.why("src/session.py", "how are redirects followed in responses by location", limit=1)
    assert not answer.shown and answer.here is not None and answer.here.rank is not None and answer.here.rank > 1
    assert answer.there is not None and answer.there.rank == 1
    assert f"it is hit {answer.here.rank} of {answer.total}, and 1 are shown" in answer.verdict
    assert "what it lacks most against hit 1 is" in answer.verdict and "it does not say" in answer.verdict
    assert {"responses", "location"} <= set(answer.to_dict()["lacks"])


def test_lanes_show_rank_score_and_the_best_score(engine: Engine) -> None:
    lanes = engine.why("src/session.py", QUERY).lanes
    hits = {hit.path: hit for hit in engine.search(QUERY).hits}
    assert lanes["lexical"]["rank"] == hits["src/session.py"].why.lanes["lexical"].rank
    assert lanes["lexical"]["best"] >= lanes["lexical"]["score"] > 0


def test_a_file_without_any_of_the_words(engine: Engine) -> None:
    answer = engine.why("src/cookies.py", "redirects", mode="lexical")
    assert answer.here is not None and answer.here.rank is None
    assert "none of the question's words stand in it" in answer.verdict
    assert [(word.here, word.in_file) for word in answer.words] == [(False, False)]


def test_a_line_selects_the_unit_around_it(engine: Engine, tmp_path: Path) -> None:
    many = "".join(f"def step_{i}():\n" + "    compute(data, more_data)\n" * 30 + "\n\n" for i in range(6))
    (tmp_path / "tree/src/steps.py").write_text(many + "def follow_redirects_twice():\n    pass\n")
    answer = engine.why("src/steps.py", QUERY, line=3, mode="lexical")
    assert answer.here is not None and answer.here.start_line == 1 and answer.here.rank is None
    assert "another part of the file is hit" in answer.verdict
    with pytest.raises(QueryError, match="has no line 9999"):
        engine.why("src/steps.py", QUERY, line=9999)


def test_a_filter_is_named_as_the_reason(engine: Engine) -> None:
    assert engine.why("src/redirect.py", QUERY, excludes=["src/redirect.py"]).verdict == "the filter leaves it out"


def test_what_is_not_in_the_index_says_why(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    (tree / "a.py").write_text("redirect = 1\n")
    (tree / "b.py").write_bytes(b"\0\1\2" * 100)
    (tree / ".gitignore").write_text("*.log\nout/\n")
    (tree / "x.log").write_text("redirect\n")
    (tree / ".lurcherignore").write_text("secret.py\n")
    (tree / "secret.py").write_text("redirect = 2\n")
    engine = Engine.open(tree)
    assert engine.why("x.log", "redirect").verdict == "it is not in the index: git ignores it (.gitignore:1:*.log)"
    assert "it is binary" in engine.why("b.py", "redirect").verdict
    assert ".lurcherignore" in engine.why("secret.py", "redirect").verdict
    assert engine.why("x.log", "redirect").here is None
    with pytest.raises(PathError, match="not in the index"):
        engine.why("nowhere.py", "redirect")


def test_modes_with_a_ranking_of_their_own(engine: Engine) -> None:
    assert engine.why("src/session.py", r"follow_redirects\(", mode="literal").shown
    assert not engine.why("src/cookies.py", r"follow_redirects\(", mode="literal").shown
    answer = engine.why("src/cookies.py", QUERY, mode="dense")
    assert answer.mode == "dense" and answer.here is not None
