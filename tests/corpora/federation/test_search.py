"""Questions of all sources at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher import Engine
from lurcher.errors import CursorError, QueryError, UsageError
from lurcher.rerank.stage import Judged, Request
from tests.corpora.history.repo import Repo

Pottery = tuple[Repo, dict[str, str]]


def test_each_source_answers_what_is_its_own(engine: Engine) -> None:
    asked = {
        "mix ash and clay for a glaze": ("code", "src/glaze.py"),
        "opening hours of the pottery shop": ("notes", "docs/visitors.md"),
        "when did we slow the heat down because pots cracked": ("history", "src/kiln.py"),
    }
    for text, (source, path) in asked.items():
        first = engine.search(text, sources=["all"]).hits[0]
        assert (first.source, first.path) == (source, path), text


def test_the_answer_names_its_sources_and_covers_the_history(engine: Engine) -> None:
    answer = engine.search("kiln heat", sources=["all"])
    assert answer.sources == ("code", "history", "notes") and answer.index.fresh and answer.index.coverage == {"history": 1.0}
    assert {hit.source for hit in answer.hits} == {"code", "history", "notes"}
    assert [hit.score for hit in answer.hits] == sorted((hit.score for hit in answer.hits), reverse=True)


def test_within_a_source_the_order_is_the_sources_own(engine: Engine) -> None:
    text = "heat of the kiln"
    every = engine.search(text, sources=["all"], limit=50).hits
    for source in ("history", "notes"):
        alone = engine.search(text, sources=[source], limit=50).hits
        assert [hit.id for hit in every if hit.source == source] == [hit.id for hit in alone]
    alone = engine.search(text, sources=["code"], limit=50).hits
    assert [hit.path for hit in every if hit.source == "code"] == [hit.path for hit in alone if hit.language == "python"]


def test_documents_answer_as_notes_and_not_as_code_too(engine: Engine) -> None:
    hits = engine.search("firing pots", sources=["all"], limit=50).hits
    assert {hit.source for hit in hits if hit.path.endswith(".md") and hit.commit is None} == {"notes"}
    both = engine.search("firing pots", sources=["code", "history"], limit=50).hits
    assert any(hit.source == "code" and hit.path.endswith(".md") for hit in both)


def test_every_hit_says_how_its_source_was_weighed(engine: Engine) -> None:
    for hit in engine.search("raise the heat", sources=["all"]).hits:
        stage = next(stage for stage in hit.why.stages if stage.stage == "source")
        assert stage.factor is not None and "% of the question" in stage.note


def test_pages_partition_the_hits(engine: Engine) -> None:
    total = engine.search("kiln heat pots", sources=["all"]).total
    paged: list[str] = []
    cursor = None
    while True:
        page = engine.search("kiln heat pots", sources=["all"], limit=2, budget=1000, cursor=cursor)
        assert page.tokens <= 1000
        paged += [hit.id for hit in page.hits]
        cursor = page.next
        if cursor is None:
            break
    assert len(paged) == len(set(paged)) == total > 4


def test_a_cursor_of_other_sources_is_refused(engine: Engine) -> None:
    page = engine.search("kiln heat pots", sources=["all"], limit=1)
    assert page.next is not None
    with pytest.raises(CursorError):
        engine.search("kiln heat pots", sources=["code"], limit=1, cursor=page.next)


def test_filters_leave_out_sources_that_do_not_know_them(engine: Engine, pottery: Pottery) -> None:
    dated = engine.search("kiln heat", sources=["all"], since="2000-01-01")
    assert dated.sources == ("history", "notes") and "code left out" in dated.degraded[0].reason
    written = engine.search("kiln heat", sources=["all"], author="nobody of that name")
    assert written.sources == ("history",) and not written.hits
    tagged = engine.search("kiln heat", sources=["all"], tags=["pots"])
    assert tagged.sources == ("notes",) and not tagged.hits
    with pytest.raises(UsageError, match="--since is not for code"):
        engine.search("kiln heat", sources=["code", "notes"], since="2000-01-01")
    with pytest.raises(UsageError, match="no source has"):
        engine.search("kiln heat", sources=["all"], author="a", tags=["b"])


def test_paths_and_languages_narrow_every_source(engine: Engine) -> None:
    hits = engine.search("kiln heat glaze", sources=["all"], paths=["src/kiln.py"]).hits
    assert hits and all(hit.path == "src/kiln.py" for hit in hits)
    assert not engine.search("kiln heat glaze", sources=["all"], paths=["nothing/*"]).hits


def test_exact_text_is_searched_in_files(engine: Engine) -> None:
    answer = engine.search("raise_heat", sources=["all"], mode="literal")
    assert {hit.path for hit in answer.hits} == {"src/kiln.py", "docs/firing.md"}
    assert any("files alone" in note.reason for note in answer.degraded)


def test_no_repository_means_no_history_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def weigh(parcel):\n    return scale.read(parcel)\n")
    (tmp_path / "a.md").write_text("# Parcels\n\nWeigh each parcel twice.\n")
    with Engine.open(tmp_path, root=tmp_path) as engine:
        answer = engine.search("weigh a parcel", sources=["all"])
    assert answer.sources == ("code", "notes") and {hit.source for hit in answer.hits} == {"code", "notes"}
    assert [(note.stage, note.reason) for note in answer.degraded] == [("history", f"{tmp_path} has no git history")]


def test_nothing_found_is_an_answer(engine: Engine) -> None:
    answer = engine.search("zeppelin quokka", sources=["all"], mode="lexical")
    assert not answer.hits and answer.total == 0 and answer.next is None


def test_unknown_sources_and_rerankers_are_errors(engine: Engine) -> None:
    for sources in (["all", "wiki"], []):
        with pytest.raises(UsageError):
            engine.search("kiln", sources=sources)
    with pytest.raises(QueryError):
        engine.search("kiln", sources=["code", "notes"], rerank=["outcome"])


def test_rerankers_see_all_sources(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def prose_first(request: Request) -> Judged:
        assert len(request.candidates) == engine.search("kiln heat", sources=["all"]).total
        return Judged(tuple(float(".md " in f"{item.header} ") for item in request.candidates))

    monkeypatch.setattr("lurcher.rerank.stage.reranker_named", lambda name: (prose_first, lambda settings: 50))
    before = engine.search("mix_glaze of the kiln", sources=["all"]).hits[0]
    assert before.source == "code"
    found = engine.search("kiln heat", sources=["all"], rerank=["cross"]).hits
    assert found[0].path.endswith(".md") and [stage.stage for stage in found[0].why.stages][-1] == "cross"
    assert not engine.search("kiln heat", sources=["all"], rerank=["outcome"]).degraded, "a source's own second look is known"


def test_fusion_by_score_works_for_all_sources(engine: Engine) -> None:
    for options in ({"fusion": "linear", "alpha": 0.5, "mmr": 0.5}, {"fusion": "rrf"}):
        answer = engine.search("raise the heat of the kiln", sources=["all"], **options)  # type: ignore[arg-type]
        assert {hit.source for hit in answer.hits} == {"code", "history", "notes"}
        for source in ("code", "history", "notes"):
            assert engine.search("raise the heat of the kiln", sources=[source], **options).hits  # type: ignore[arg-type]


def test_a_short_page_has_the_best_hits_not_one_of_each(engine: Engine) -> None:
    hits = engine.search("mix_glaze", sources=["all"], limit=2).hits
    assert hits[0].path == "src/glaze.py" and hits[0].source == "code"


def test_the_same_question_gives_the_same_bytes(engine: Engine, pottery: Pottery, tmp_path: Path) -> None:
    def told(opened: Engine) -> dict[str, object]:
        return {**opened.search("heat of the kiln", sources=["all"]).to_dict(), "timings_ms": {}}

    with Engine.open(pottery[0].top, index_dir=tmp_path / "other") as other:
        assert told(other) == told(engine) == told(engine)
