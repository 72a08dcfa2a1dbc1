"""Lanes added up by alpha, and the choice of unlike units."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher.engine import Engine
from lurcher.errors import QueryError


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    for i in range(4):
        text = "def read_cookie(jar):\n    '''Parse a cookie header.'''\n    return jar.cookie\n"
        (tmp_path / f"copy{i}.py").write_text(text)
    (tmp_path / "session.py").write_text("def store(session):\n    '''A session is kept in a cookie.'''\n    return session\n")
    (tmp_path / "pool.py").write_text("def close_pool(pool):\n    return pool.close()\n")
    # The model that is shipped: to a made-up one copies under other names are not alike.
    return Engine.open(tmp_path, root=tmp_path, overrides={"dense.model": "builtin"})


def test_the_score_is_the_weighted_sum_of_scaled_lanes(engine: Engine) -> None:
    found = engine.search("parse a cookie", fusion="linear", alpha=0.25, limit=50)
    assert found.ranking == "linear" and len(found.hits) >= 5
    lexical = [hit.why.scores["bm25"] for hit in found.hits]
    highest = max(lexical)
    words_only = engine.search("parse a cookie", fusion="linear", alpha=0, limit=50)
    shares = [hit.why.scores["bm25"] / highest for hit in words_only.hits]
    assert [hit.score for hit in words_only.hits] == pytest.approx(shares)
    assert {hit.path for hit in words_only.hits} == {"copy0.py", "copy1.py", "copy2.py", "copy3.py", "session.py"}
    for hit in found.hits:
        rest = hit.why.fused - 0.75 * hit.why.scores["bm25"] / highest
        assert -1e-9 <= rest <= 0.25 + 1e-9
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


def test_unlike_units_come_earlier_with_mmr(engine: Engine) -> None:
    plain = [hit.path for hit in engine.search("parse a cookie", fusion="linear", limit=50).hits]
    diverse = engine.search("parse a cookie", fusion="linear", mmr=0.3, limit=50)
    paths = [hit.path for hit in diverse.hits]
    assert sorted(paths) == sorted(plain) and paths[0] == plain[0]
    assert plain[1].startswith("copy") and not paths[1].startswith("copy")
    assert "mmr" in diverse.hits[0].why.scores
    assert [hit.path for hit in engine.search("parse a cookie", fusion="linear", mmr=1.0, limit=50).hits] == plain


def test_rrf_is_the_classic_ranking(engine: Engine) -> None:
    one, other = engine.search("parse a cookie", fusion="rrf"), engine.search("parse a cookie", ranking="classic")
    assert one.ranking == "classic" and one.hits == other.hits


def test_pages_partition_the_answer(engine: Engine) -> None:
    whole = engine.search("parse a cookie", fusion="linear", mmr=0.5, limit=50)
    seen, cursor = [], None
    for _ in range(50):
        page = engine.search("parse a cookie", fusion="linear", mmr=0.5, limit=2, cursor=cursor)
        seen += [hit.id for hit in page.hits]
        cursor = page.next
        if cursor is None:
            break
    assert seen == [hit.id for hit in whole.hits]


def test_what_makes_no_sense_is_an_error(engine: Engine) -> None:
    for options in ({"alpha": 0.5}, {"mmr": 0.5}, {"fusion": "linear", "alpha": 2.0}, {"fusion": "sum"}):
        with pytest.raises(QueryError):
            engine.search("cookie", **options)  # type: ignore[arg-type]


def test_one_match_is_found_too(engine: Engine) -> None:
    found = engine.search("close_pool", fusion="linear", alpha=0)
    assert [hit.path for hit in found.hits] == ["pool.py"]


def test_nothing_found_is_nothing(engine: Engine) -> None:
    assert not engine.search("zzzqqq", fusion="linear", alpha=0, mmr=0.5).hits
