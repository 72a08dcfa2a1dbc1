"""The engine as Python code uses it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from lurcher import Engine, LurcherError
from lurcher.errors import CursorError, FilterError, PathError, QueryError, UsageError

QUESTIONS = ("how are redirects followed", "Client", "parse cookies", "Buffer::write", "the evicted entries\nof the cache")


def test_an_answer_has_what_its_json_has(shared: Path) -> None:
    with Engine.open(shared) as engine:
        answer = engine.search("how are redirects followed", limit=5)
    assert answer.hits[0].path == "src/client.py"
    value = answer.to_dict()
    assert [hit["path"] for hit in value["hits"]] == [hit.path for hit in answer.hits]
    assert set(answer.timings_ms) >= {"refresh", "plan", "lexical", "ranking", "pack", "total"}


def test_every_option_of_the_command_line_is_an_argument(shared: Path) -> None:
    with Engine.open(shared) as engine:
        answer = engine.search(
            "redirect", limit=3, sources=["code"], mode="lexical", ranking="classic", languages=["py"], paths=["src/*"],
            excludes=["*_0.py"], budget=500, context="function", snippet_lines=4, refresh=False,
        )  # fmt: skip
    assert answer.hits and answer.tokens <= 500
    assert {hit.language for hit in answer.hits} == {"python"}
    assert all(hit.path.startswith("src/") and not hit.path.endswith("_0.py") for hit in answer.hits)


def test_a_function_context_shows_the_function_that_was_requested(shared: Path) -> None:
    with Engine.open(shared) as engine:
        hit = engine.search("step_2_11", context="function").hits[0]
    assert (hit.symbol, hit.text.split("(")[0]) == ("step_2_11", "def step_2_11")


def test_locate_leads_from_a_hit_to_its_file(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "login.py").write_text("def redirect_to_login():\n    return 1\n")
    for paths in ([shared], [shared, tmp_path]):
        with Engine.open(paths) as engine:
            hits = engine.search("redirect_to_login redirects", limit=50).hits
            assert hits and all(engine.locate(hit.path).is_file() for hit in hits)


def test_several_threads_get_equal_answers(shared: Path) -> None:
    with Engine.open(shared) as engine:
        expected = {question: [hit.to_dict() for hit in engine.search(question).hits] for question in QUESTIONS}
        found: list[bool] = []

        def work(first: int) -> None:
            for turn in range(10):
                question = QUESTIONS[(first + turn) % len(QUESTIONS)]
                found.append([hit.to_dict() for hit in engine.search(question).hits] == expected[question])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert found == [True] * 80


def test_several_threads_share_the_making_of_an_index(repository: Path) -> None:
    with Engine.open(repository) as engine:
        found: list[list[str]] = []
        threads = [
            threading.Thread(target=lambda: found.append([hit.path for hit in engine.search("Client").hits])) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert engine.status()["generation"] == 1
    assert len(found) == 8 and all(paths == found[0] and paths for paths in found)


def test_edits_are_seen_by_an_engine_that_stays_open(repository: Path) -> None:
    with Engine.open(repository) as engine:
        assert not engine.search("kaleidoscope").hits
        (repository / "toy.py").write_text("def kaleidoscope():\n    return 1\n")
        assert [hit.path for hit in engine.search("kaleidoscope").hits] == ["toy.py"]
        (repository / "toy.py").write_text("def telescope():\n    return 1\n")
        assert not engine.search("kaleidoscope").hits
        assert [hit.path for hit in engine.search("telescope").hits] == ["toy.py"]
        (repository / "toy.py").unlink()
        assert not engine.search("telescope").hits


def test_index_takes_every_change_whatever_the_limit(repository: Path) -> None:
    with Engine.open(repository, overrides={"index.refresh_limit": 2}) as engine:
        engine.index()
        for number in range(5):
            (repository / f"toy_{number}.py").write_text(f"def kaleidoscope_{number}():\n    return 1\n")
        stale = engine.search("kaleidoscope_3")
        assert (stale.index.fresh, stale.index.stale_paths) == (False, 5)
        assert "run: lurcher index" in [note.hint for note in stale.degraded]
        assert engine.refresh().fresh
        assert engine.search("kaleidoscope_3").hits[0].path == "toy_3.py"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"text": ""}, QueryError),
        ({"text": "redirect " * 120_000}, QueryError),
        ({"text": "x", "limit": 0}, QueryError),
        ({"text": "x", "budget": -1}, QueryError),
        ({"text": "x", "mode": "psychic"}, QueryError),
        ({"text": "x", "context": "galaxy"}, QueryError),
        ({"text": "x", "ranking": "alphabetical"}, UsageError),
        ({"text": "x", "ranking": "../default"}, UsageError),
        ({"text": "x", "sources": ["tea leaves"]}, UsageError),
        ({"text": "x", "languages": ["pythn"]}, FilterError),
        ({"text": "x", "paths": [""]}, FilterError),
        ({"text": "x", "cursor": "nonsense"}, CursorError),
    ],
)
def test_bad_arguments_raise_with_a_hint(shared: Path, arguments: dict[str, object], error: type[LurcherError]) -> None:
    with Engine.open(shared) as engine, pytest.raises(error) as caught:
        engine.search(**arguments)  # type: ignore[arg-type]
    assert caught.value.hint


def test_bad_paths_raise_with_a_hint(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path / "a\0b"):
        with pytest.raises(PathError) as caught:
            Engine.open(path)
        assert caught.value.hint
    with pytest.raises(UsageError):
        Engine.open([])


def test_importing_lurcher_is_light(clean_environment: Callable[..., dict[str, str]]) -> None:
    code = "import sys, lurcher; print([name for name in ('numpy', 'tree_sitter', 'ast_grep_py') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=clean_environment(), check=True
    )
    assert done.stdout == "[]\n"


def test_a_symbol_lookup_reports_that_a_damaged_index_was_rebuilt(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("def harmless():\n    return 1\n")
    with Engine.open(tmp_path) as engine:
        assert not engine.symbol("harmless").degraded
    for segment in (tmp_path / ".lurcher").glob("*.segment"):
        segment.write_bytes(segment.read_bytes()[:-20])
    with Engine.open(tmp_path) as engine:
        answer = engine.symbol("harmless")
        assert [hit.path for hit in answer] == ["code.py"]
        assert "rebuilt" in answer.degraded[0].reason
        assert not engine.symbol("harmless").degraded
