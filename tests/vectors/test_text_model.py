"""An index whose vectors come from a provider: made once for each text, kept by what they are of, missed without a failure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lurcher.engine import Engine, diagnose
from lurcher.indexing import embed as embedding_work
from lurcher.net import resilience
from lurcher.storage import disk
from lurcher.types import Answer
from lurcher.vectors import service
from tests.conftest import Run, git
from tests.rerank import server
from tests.rerank.server import Conduct, Played, playing
from tests.vectors.servers import after, embedding, saying, texts_in, vectors, wrongly

TREE = {
    "src/client.py": (
        'class Client:\n    """Follows redirects."""\n\n    def follow_redirects(self, response):\n        return response\n'
    ),
    "src/cookies.py": "# Cookies in a jar.\ndef parse_cookie(header):\n    return dict(header)\n",
    "server/pool.go": "package server\n\n// Pool keeps idle connections.\ntype Pool struct{}\n\nfunc (p *Pool) Acquire() {}\n",
    "src/retry.py": "def retry(send):\n    # one attempt after the other, with backoff after a failure\n    send()\n",
    "docs/guide.md": "# Guide\n\n## Larder\n\nThe cache keeps entries until they are expired.\n",
}
QUESTION = "where does the biscuit of a visitor go"
"""Shares no word with what it asks for."""
TEXTS, UNIQUE = 10, 8
"""One unit and one card for each file; short files with one name are their own cards."""


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk.os, "fsync", lambda descriptor: None)
    monkeypatch.setattr(resilience, "SERVICE", resilience.Backoff(0.01, attempts=6, jitter=0.5))
    monkeypatch.setenv("LURCHER_CONFIG", "/dev/null")
    monkeypatch.delenv("LURCHER_INDEX_DIR", raising=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path / "tree", TREE)


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def engine_at(root: Path, url: str = "http://127.0.0.1:9", **values: Any) -> Engine:
    named = {"provider": "tei", "url": url, "seconds": 2.0, "query_seconds": 2.0, **values}
    return Engine.open(root, root=root, overrides={f"embedding.{name}": value for name, value in named.items()})


@contextmanager
def indexed(root: Path, conduct: Conduct | None = None, **values: Any) -> Iterator[tuple[Engine, Played]]:
    with playing(conduct or embedding()) as played:
        engine = engine_at(root, played.url, **values)
        engine.index()
        yield engine, played


def told(answer: Answer) -> list[tuple[str, str]]:
    return [(note.stage, note.reason) for note in answer.degraded]


def files_in(root: Path, kind: str) -> set[str]:
    return {path.name for path in (root / ".lurcher").glob(f"*.{kind}")}


def forbid_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever parses or counts from now on fails."""
    for name in ("lurcher.indexing.build.parse", "lurcher.indexing.build.parse_note", "lurcher.indexing.build.make_counter"):
        monkeypatch.setattr(name, None)


# -- good days ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", ["tei", "openai", "ollama"])
def test_a_question_finds_what_it_means_without_a_word_of_it(root: Path, provider: str) -> None:
    with indexed(root, provider=provider, model="subjects") as (engine, played):
        for mode in ("dense", "auto"):
            answer = engine.search(QUESTION, mode=mode)
            assert answer.hits[0].path == "src/cookies.py" and answer.degraded == ()
            assert answer.hits[0].why.lanes["dense"].rank == 1
        assert len(texts_in(played)) == UNIQUE + 1, "a text is embedded once, and so is a question"


def test_a_text_is_embedded_under_its_path_and_its_name(root: Path) -> None:
    with indexed(root) as (_, played):
        found = texts_in(played)
    assert any(text.startswith("src/client.py\nClient\nclass Client:") for text in found)
    assert any(text.startswith("docs/guide.md\n") and "Larder" in text for text in found)
    assert any(text.startswith("src/client.py\nClient, follow_redirects\nclass Client") for text in found), "a file's card"


def test_by_meaning_or_by_a_unit_alike_or_by_adding_up(root: Path) -> None:
    with indexed(root) as (engine, _):
        related = engine.related(root / "src/cookies.py", 2)
        assert related.degraded == () and related.hits
        assert engine.search(QUESTION, fusion="linear").hits[0].path == "src/cookies.py"
        assert engine.search(QUESTION, ranking="classic").hits[0].path == "src/cookies.py"


def test_notes_are_found_by_what_they_mean(root: Path) -> None:
    with indexed(root) as (engine, _):
        answer = engine.notes("stale food", mode="dense")
    assert [hit.path for hit in answer.hits] == ["docs/guide.md"] and answer.degraded == ()
    assert "dense" in answer.hits[0].why.lanes


def test_commits_are_found_by_what_they_mean(root: Path) -> None:
    git(root, "init", "-q")
    for path in sorted(TREE):
        git(root, "add", path)
        git(root, "commit", "-q", "-m", f"Add {Path(path).stem}")
    with playing(embedding()) as played:
        engine = engine_at(root, played.url)
        engine.index(history=True)
        commits = [text for text in texts_in(played) if text.startswith("Add ")]
        assert sorted(commits)[0] == "Add client\nsrc/client.py" and len(commits) == len(TREE)
        for ranking in ("default", "classic"):
            found = engine.history("where is the biscuit", ranking=ranking)
            assert found.hits[0].commit is not None and found.hits[0].commit.subject == "Add cookies"
            assert told(found) == []
        path = next((root / ".lurcher/history").glob("*.vectors"))
        data = bytearray(path.read_bytes())
        data[40] ^= 1
        path.write_bytes(data)
        mended = engine_at(root, played.url)
        assert mended.history_corpus.indexes[0].repair(lambda what, done, total: None), "damage that was not seen"
        assert mended.history("where is the biscuit").hits[0].commit == found.hits[0].commit
        assert told(mended.history("where is the biscuit")) == []
    lost = engine_at(root).history("biscuit cookies")
    assert lost.hits[0].commit is not None and lost.hits[0].commit.subject == "Add cookies"
    assert "by words" in next(reason for stage, reason in told(lost) if stage == "dense")


def test_all_sources_are_searched_by_meaning_in_one_query(root: Path) -> None:
    with indexed(root) as (engine, _):
        answer = engine.search(QUESTION, sources=["all"])
    assert answer.hits[0].path == "src/cookies.py"
    assert not [reason for stage, reason in told(answer) if stage == "dense"]


def test_several_roots_with_one_model_share_one_request(root: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other", {"src/jar.py": "# the cookie jar\nx = 1\n"})
    with playing(embedding()) as played:
        overrides = {"embedding.provider": "tei", "embedding.url": played.url}
        engine = Engine.open([root, other], overrides=overrides)
        engine.index()
        answer = engine.search(QUESTION, mode="dense")
    assert answer.degraded == () and {hit.path.split("/")[0] for hit in answer.hits[:2]} == {"tree", "other"}


# -- work is proportional to what changed ------------------------------------------------------------------------------


def test_only_what_is_new_is_embedded(root: Path) -> None:
    units = "".join(f"def step_{i}(request):\n    return {'request.again().' * 60}send({i})\n\n\n" for i in range(6))
    write(root, {"src/steps.py": units})
    with indexed(root) as (engine, played):
        played.asked.clear()
        write(root, {"src/steps.py": "# moved down\n\n\n" + units.replace("send(3)", "send(33)")})
        assert engine.search(QUESTION).degraded == ()
        found = [text for text in texts_in(played) if text != QUESTION]
        assert any("send(33)" in text for text in found) and not any("step_5" in text and "send(5)" in text for text in found)
        assert len(found) <= 4, found
        played.asked.clear()
        assert engine_at(root, played.url).search(QUESTION).degraded == ()
        assert texts_in(played) == [QUESTION]


def test_vectors_outlive_the_merging_of_segments(root: Path) -> None:
    with indexed(root) as (engine, played):
        for number in range(12):
            write(root, {f"late_{number}.py": f"def late_{number}():\n    return {number}\n"})
            assert engine.search(QUESTION).hits[0].path == "src/cookies.py"
        assert len(files_in(root, "segment")) < 10
        assert len(files_in(root, "vectors")) == len(files_in(root, "segment"))
        documents = [text for text in texts_in(played) if text != QUESTION]
        assert len(documents) == len(set(documents)) == UNIQUE + 12
        assert engine.status()["model"]["missing"] == 0


def test_many_new_units_are_left_to_the_next_run(root: Path) -> None:
    with indexed(root, refresh_units=3) as (engine, played):
        write(root, {f"late_{number}.py": f"def late_{number}():\n    pass\n" for number in range(4)})
        played.asked.clear()
        answer = engine.search(QUESTION)
        assert texts_in(played) == [QUESTION]
        assert told(answer) == [("dense", f"8 of {TEXTS + 8} texts have no vectors yet")]
        assert answer.degraded[0].hint == "run: lurcher index"
        assert engine.search("late_2").hits[0].path == "late_2.py"
        engine.index()
        assert engine.search(QUESTION).degraded == ()


# -- models of another kind --------------------------------------------------------------------------------------------


def crowded(texts: Any) -> list[list[float]]:
    """Vectors that all lie close together, as those of some models do: cosines of 0.9 and more."""
    return [[3.0, *row] for row in vectors(texts)]


@pytest.fixture
def wide(root: Path) -> Path:
    """A tree with enough files to tell what is usual."""
    words = ("window", "colour", "figure", "letter", "number", "corner", "margin", "border")
    return write(root, {f"ui/{word}_{i}.py": f"def {word}_{i}():\n    return {i}\n" for word in words for i in range(4)})


@pytest.mark.parametrize("embed", [vectors, crowded])
def test_files_are_distinguished_by_vectors_that_lie_close_together(wide: Path, embed: Any) -> None:
    with indexed(wide, embedding(embed)) as (engine, _):
        answer = engine.search(QUESTION)
        assert answer.hits[0].path == "src/cookies.py"
        assert answer.total < 10, "what is no nearer than anything else is no answer"


def test_what_has_no_vector_yet_is_found_by_words_as_before(wide: Path) -> None:
    with indexed(wide, embedding(crowded), refresh_units=0) as (engine, _):
        write(wide, {"ui/curtain.py": "def curtain():\n    '''Hangs a curtain before the window.'''\n"})
        answer = engine.search("where is a curtain hung before the window")
        assert answer.hits[0].path == "ui/curtain.py" and answer.hits[0].score > answer.hits[1].score
        assert "2 of" in answer.degraded[0].reason


# -- another model -----------------------------------------------------------------------------------------------------


def test_another_provider_makes_vectors_and_nothing_else(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Engine.open(root, root=root)
    before.index()
    with_table = before.search(QUESTION).to_dict()
    forbid_parsing(monkeypatch)
    segments = files_in(root, "segment")
    with indexed(root) as (engine, _):
        assert engine.search(QUESTION).hits[0].path == "src/cookies.py"
        assert files_in(root, "segment") == segments
    back = Engine.open(root, root=root)
    told_back = back.search(QUESTION).to_dict()
    assert files_in(root, "segment") == segments
    assert [hit["id"] for hit in told_back["hits"]] == [hit["id"] for hit in with_table["hits"]]


def test_an_index_without_a_table_gets_its_vectors_without_parsing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with indexed(root):
        pass
    fresh = Engine.open(root, root=root, index_dir=tmp_path / "fresh")
    fresh.index()
    forbid_parsing(monkeypatch)
    answer = Engine.open(root, root=root).search(QUESTION)
    assert "made anew" in answer.degraded[0].reason
    assert files_in(root, "segment") == {path.name for path in (tmp_path / "fresh").glob("*.segment")}
    assert files_in(root, "vectors") == set()


@pytest.mark.parametrize("change", [{"document_prefix": "passage: "}, {"model": "another"}, {"tokens": 64}])
def test_another_model_or_prefix_embeds_again_and_parses_nothing(
    root: Path, change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with indexed(root) as (_, played):
        forbid_parsing(monkeypatch)
        segments, old = files_in(root, "segment"), files_in(root, "vectors")
        played.asked.clear()
        engine = engine_at(root, played.url, **change)
        status = engine.index()
        assert len(texts_in(played)) == UNIQUE and status["model"]["missing"] == 0
        assert files_in(root, "segment") == segments and not files_in(root, "vectors") & old
        assert engine.search(QUESTION).hits[0].path == "src/cookies.py"


def test_a_prefix_of_questions_embeds_nothing_again(root: Path) -> None:
    with indexed(root) as (_, played):
        played.asked.clear()
        assert engine_at(root, played.url, query_prefix="query: ").search(QUESTION).degraded == ()
        assert texts_in(played) == [f"query: {QUESTION}"]


def test_what_is_cleared_is_gone(root: Path) -> None:
    with indexed(root) as (engine, _):
        assert files_in(root, "vectors")
        assert engine.clear() and not files_in(root, "vectors")


def test_status_names_the_model_of_the_vectors(root: Path) -> None:
    with indexed(root, model="subjects", document_prefix="d: ") as (engine, _):
        model = engine.status()["model"]
    assert (model["name"], model["dims"], model["texts"], model["missing"]) == ("tei subjects", 16, TEXTS, 0)
    assert model["about"] == {"provider": "tei", "model": "subjects", "document_prefix": "d: ", "served": "subjects"}


# -- bad days ----------------------------------------------------------------------------------------------------------


FAILURES: dict[str, Conduct] = {
    "fails": server.failing, "garbage": server.garbage, "not JSON": server.not_json, "half": server.half,
    "hangs": server.hanging, "wrong count": wrongly(lambda rows: rows[:-1]), "no numbers": wrongly(lambda rows: [[None]]),
    "not a number": wrongly(lambda rows: [[float("nan")] * len(row) for row in rows]),
}  # fmt: skip


@pytest.mark.parametrize("conduct", FAILURES.values(), ids=FAILURES)
def test_an_index_is_made_whatever_the_server_does_and_completed_later(root: Path, conduct: Conduct) -> None:
    with playing(conduct) as played:
        engine = engine_at(root, played.url, seconds=0.3, query_seconds=0.3)
        status = engine.index()
        assert status["files"] == len(TREE) and status["model"]["missing"] == TEXTS
        note = next(note for note in status["degraded"] if note["stage"] == "dense")
        assert "no vectors yet" in note["reason"] and "127.0.0.1" in note["reason"] and "lurcher index" in note["hint"]
        answer = engine.search("how are redirects followed")
        assert answer.hits[0].path == "src/client.py" and {stage for stage, _ in told(answer)} == {"dense"}
    with indexed(root) as (engine, _):
        assert engine.search(QUESTION).hits[0].path == "src/cookies.py"


def test_a_server_that_is_down_costs_a_question_its_meaning_only(root: Path, run: Run) -> None:
    with indexed(root):
        pass
    engine = engine_at(root)
    answer = engine.search("how are redirects followed")
    assert answer.hits[0].path == "src/client.py"
    assert told(answer) == [("dense", "nothing answers at http://127.0.0.1:9")]
    alone = engine.search("how are redirects followed", mode="dense")
    assert alone.hits[0].path == "src/client.py" and "by words" in alone.degraded[0].reason
    assert engine.notes("cache entries").hits
    env = {"LURCHER_EMBEDDING_PROVIDER": "tei", "LURCHER_EMBEDDING_URL": "http://127.0.0.1:9", "LURCHER_CONFIG": "/dev/null"}
    asked = run("search", "how are redirects followed", cwd=root, env=env)
    assert asked.status == 0 and "src/client.py" in asked.out and "nothing answers at" in asked.err


def test_vectors_made_before_a_failure_are_stored(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_work, "BATCH", 8)
    write(root, {f"more_{number}.py": f"def more_{number}():\n    return {number}\n" for number in range(20)})
    total = UNIQUE + 20
    with playing(after(3, embedding(), saying("401 Unauthorized"))) as played:
        engine = engine_at(root, played.url)
        status = engine.index()
        sent = len(texts_in(played)) - 8  # the last batch was refused
        assert 0 < sent < total and status["model"]["missing"] >= total - sent
        first = set(texts_in(played)[:sent])
    with indexed(root) as (engine, played):
        assert len(texts_in(played)) == total - sent and not first & set(texts_in(played))
        assert engine.status()["model"]["missing"] == 0
        assert engine.search(QUESTION).hits[0].path == "src/cookies.py"


def test_a_text_that_a_server_refuses_does_not_cost_the_others(root: Path) -> None:
    def picky(wire: Any, played: Played, path: str, body: Any) -> None:
        if path == "/embed" and any("Acquire" in text for text in body["inputs"]):
            server.send(wire, {"error": "input is too long"}, "413 Payload Too Large")
        else:
            embedding()(wire, played, path, body)

    with playing(picky) as played:
        engine = engine_at(root, played.url)
        status = engine.index()
        assert [note["reason"] for note in status["degraded"]] == ["the server refused 2 texts: there are no vectors of them"]
        played.asked.clear()
        answer = engine_at(root, played.url).search(QUESTION)
        assert answer.hits[0].path == "src/cookies.py" and answer.degraded == ()
        assert texts_in(played) == [QUESTION], "what was refused is not asked for again"
        assert engine.search("Pool.Acquire").hits[0].path == "server/pool.go"


def test_a_server_that_refuses_everything_is_no_fault_of_the_texts(root: Path) -> None:
    with playing(saying("422 Unprocessable Entity")) as played:
        status = engine_at(root, played.url).index()
        assert status["model"]["missing"] == TEXTS and len(played.asked) < 40
    with indexed(root) as (engine, _):
        assert engine.search(QUESTION).hits[0].path == "src/cookies.py"


def test_who_is_interrupted_has_the_old_generation_and_goes_on_from_there(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_work, "BATCH", 2)
    with indexed(root, model="old") as (old, played):
        before = [hit.id for hit in old.search(QUESTION).hits]

        def interrupt(what: str, done: int, total: int) -> None:
            if what == "embedding" and done >= 6:
                raise KeyboardInterrupt

        other = engine_at(root, played.url, model="new")
        with pytest.raises(KeyboardInterrupt):
            other.index(progress=interrupt)
        played.asked.clear()
        assert [hit.id for hit in engine_at(root, played.url, model="old").search(QUESTION).hits] == before
        assert texts_in(played) == [QUESTION], "vectors of the old model are there still"
        played.asked.clear()
        assert engine_at(root, played.url, model="new").index()["model"]["missing"] == 0
        assert len(texts_in(played)) == UNIQUE - 6, "what was embedded before is not embedded again"


def test_a_killed_run_continues_from_the_vectors_it_had_stored(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def kill(what: str, done: int, total: int) -> None:
        if what == "embedding" and done >= 6:
            raise Killed

    monkeypatch.setattr(embedding_work, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(embedding_work, "BATCH", 2)
    with playing(embedding()) as played:
        with pytest.raises(Killed):
            engine_at(root, played.url).index(progress=kill)
        answer = engine_at(root, refresh_units=0).search("how are redirects followed")
        assert answer.hits[0].path == "src/client.py" and "no vectors yet" in answer.degraded[-1].reason
        played.asked.clear()
        assert engine_at(root, played.url).index()["model"]["missing"] == 0
        assert 0 < len(texts_in(played)) < UNIQUE


def test_a_disk_that_fails_at_any_step_leaves_an_index_that_answers(root: Path) -> None:
    with indexed(root, model="old") as (_, played):
        step = 0
        while True:
            step += 1
            left = step

            def fail(name: str, path: Path) -> None:
                nonlocal left
                left -= 1
                if not left:
                    raise RuntimeError("power cut")

            disk.observe_steps(fail)
            try:
                engine_at(root, played.url, model=f"new {step}").index()
            except RuntimeError:
                pass
            finally:
                disk.observe_steps(None)
            answer = engine_at(root, played.url, model=f"new {step}").search("how are redirects followed")
            assert answer.hits[0].path == "src/client.py" and not any("rebuilt" in reason for _, reason in told(answer))
            if left > 0:
                break
        assert step > 5


@pytest.mark.parametrize("moment", ["question", "index"])
def test_vectors_of_another_size_are_refused_in_plain_words(root: Path, moment: str) -> None:
    with indexed(root):
        pass
    with playing(embedding(lambda texts: vectors(texts, 24))) as played:
        engine = engine_at(root, played.url)
        if moment == "index":
            write(root, {"late.py": "def late():\n    pass\n"})
            reasons = [note["reason"] for note in engine.index()["degraded"]]
        else:
            answer = engine.search("how are redirects followed")
            assert answer.hits[0].path == "src/client.py"
            reasons = [reason for _, reason in told(answer)]
        assert any("vectors of 24 dimensions, and those of the index have 16" in reason for reason in reasons)
        assert engine.index(rebuild=True)["model"]["dims"] == 24
        assert engine.search(QUESTION).hits[0].path == "src/cookies.py"


@pytest.mark.parametrize("moment", ["question", "index"])
def test_a_provider_that_fails_in_its_own_way_costs_meaning_only(
    root: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Any, texts: Any, deadline: Any) -> Any:
        raise ZeroDivisionError("division by zero")

    with indexed(root) as (_, played):
        monkeypatch.setattr(service.Service, "embed", broken)
        engine = engine_at(root, played.url)
        if moment == "index":
            write(root, {"late.py": "def late():\n    pass\n"})
            assert "ZeroDivisionError" in engine.index()["degraded"][0]["reason"]
        for mode in ("auto", "dense"):
            answer = engine.search("how are redirects followed", mode=mode)
            assert answer.hits[0].path == "src/client.py" and "ZeroDivisionError" in answer.degraded[0].reason


def test_vectors_of_another_model_of_the_same_size_are_not_put_beside_each_other(root: Path) -> None:
    with indexed(root):
        pass
    write(root, {"late.py": "def late():\n    pass\n"})
    with playing(embedding(model="another")) as played:
        note = engine_at(root, played.url).index()["degraded"][0]
    assert "the server has the model another now, and the vectors are of subjects" in note["reason"]


def test_damaged_vectors_are_rebuilt_and_nothing_else(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with indexed(root) as (_, played):
        forbid_parsing(monkeypatch)
        path = next((root / ".lurcher").glob("*.vectors"))
        data = bytearray(path.read_bytes())
        data[40] ^= 1
        path.write_bytes(data)
        found = list(diagnose(root, quick=False, overrides={"embedding.provider": "tei", "embedding.url": played.url}))
        assert any(finding.state == "problem" and path.name in finding.message for finding in found)
        assert engine_at(root, played.url).search(QUESTION).hits[0].path == "src/cookies.py"
        path = next((root / ".lurcher").glob("*.vectors"))
        path.unlink()
        assert engine_at(root, played.url).search(QUESTION).hits[0].path == "src/cookies.py"
        assert engine_at(root, played.url).search(QUESTION).degraded == ()


def test_indexing_repairs_damaged_vectors(root: Path) -> None:
    with indexed(root) as (_, played):
        path = next((root / ".lurcher").glob("*.vectors"))
        data = bytearray(path.read_bytes())
        data[40] ^= 1
        path.write_bytes(data)
        write(root, {"late.py": "def late():\n    pass\n"})
        engine = engine_at(root, played.url)
        assert engine.index()["model"]["missing"] == 0
        assert engine.search(QUESTION).hits[0].path == "src/cookies.py" and engine.search(QUESTION).degraded == ()


def test_the_doctor_says_who_embeds_and_how_fast(root: Path, ask: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    with indexed(root) as (_, played):
        monkeypatch.setenv("LURCHER_EMBEDDING_PROVIDER", "tei")
        monkeypatch.setenv("LURCHER_EMBEDDING_URL", played.url)
        line = next(line for line in ask("doctor", "--quick").out.splitlines() if " model " in line)
        assert "tei (subjects) answers, 16 numbers per vector" in line and line.startswith("ok")
        assert "provider        tei" in ask("model", "info").out
        assert "16 numbers per vector" in ask("status").out
    monkeypatch.setenv("LURCHER_EMBEDDING_URL", "http://127.0.0.1:9")
    line = next(line for line in ask("doctor", "--quick").out.splitlines() if " model " in line)
    assert line.startswith("problem") and "nothing answers at http://127.0.0.1:9" in line
