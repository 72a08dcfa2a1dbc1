"""The engine's methods are there as they are written: nothing is added to the class when it is used."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from lurcher import ClosedEngine, Engine
from lurcher.runtime.process import Cache

METHODS = {
    "begin_history", "brief", "calls", "clear", "clear_library", "close", "context", "elsewhere", "examples",
    "exists", "explain", "export", "file", "graph", "heat", "history", "history_corpus", "impact", "implementations", "index",
    "index_library", "indexed", "labels", "libraries", "listed", "locate", "look", "name_of", "notes", "open", "outline",
    "overrides", "past_indexed", "projects", "references", "refresh", "related", "roots", "search", "shares", "status",
    "symbol", "watch", "why",
}  # fmt: skip


def test_all_that_is_public_is_in_dir_and_on_the_class_itself() -> None:
    assert {name for name in vars(Engine) if not name.startswith("_")} == METHODS
    assert set(dir(Engine)) >= METHODS
    assert Engine.__mro__ == (Engine, object)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_each_has_a_docstring_and_named_parameters(name: str) -> None:
    member = inspect.getattr_static(Engine, name)
    if name not in ("close", "roots"):
        assert inspect.getdoc(member)
    if inspect.isfunction(member):
        kinds = {parameter.kind for parameter in inspect.signature(member).parameters.values()}
        assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}


def test_importing_the_engine_loads_no_corpus_but_code() -> None:
    script = "import sys, lurcher.engine; print(*(name for name in sys.modules if name.startswith('lurcher.')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    later = ("corpora.history", "corpora.notes", "corpora.libraries", "corpora.documents", "corpora.federation", "inspect",
             "stores", "rerank.stage")  # fmt: skip
    assert not [name for name in done.stdout.split() if name.startswith(tuple(f"lurcher.{part}" for part in later))]


def test_hits_are_located_without_loading_what_has_none(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def redirect():\n    pass\n")
    script = (
        "import sys; from lurcher import Engine\n"
        f"engine = Engine.open({str(tmp_path)!r}, root={str(tmp_path)!r}, index_dir={str(tmp_path / 'index')!r})\n"
        "print(engine.locate(engine.search('redirect').hits[0].path), 'lurcher.corpora.libraries' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [str(tmp_path / "a.py"), "False"]


def test_a_cache_makes_each_value_once_and_a_value_may_need_another() -> None:
    cache = Cache()
    assert cache.peek("a") is None
    first = cache.get("a", lambda: [cache.get("b", list)])
    assert cache.get("a", list) is first and first[0] is cache.get("b", dict) and cache.peek("a") is first


def test_a_closed_engine_answers_nothing_and_can_be_closed_again(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def redirect():\n    pass\n")
    with Engine.open(tmp_path) as engine:
        assert engine.search("redirect")
    questions = (
        partial(engine.search, "redirect"), partial(engine.symbol, "redirect"), partial(engine.outline, "a.py"), engine.refresh,
        engine.status, partial(engine.history, "redirect"), partial(engine.exists, "redirect"),
    )  # fmt: skip
    for question in questions:
        with pytest.raises(ClosedEngine, match="closed"):
            question()
    engine.close()


def test_questions_can_be_asked_from_an_event_loop(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def redirect():\n    pass\n")

    async def ask() -> list[str]:
        with Engine.open(tmp_path) as engine:
            asked = [asyncio.to_thread(engine.search, question) for question in ("redirect", "how to redirect")]
            return [answer[0].path for answer in await asyncio.gather(*asked)]

    assert asyncio.run(ask()) == ["a.py", "a.py"]


def test_every_answer_can_be_pickled_copied_and_written_as_json(shared: Path) -> None:
    file = "src/client.py"
    with Engine.open(shared) as engine:
        answers = [
            engine.search("redirects"), engine.history("import"), engine.notes("client"), engine.symbol("Client"),
            engine.references("Client.send"), engine.calls("Client.send"), engine.implementations("Client"),
            engine.related(file, 8), engine.why(file, "redirects"), engine.impact(file), engine.outline(file),
            engine.context(file), engine.exists("redirects"), engine.brief(file), engine.explain(file, 1, 2),
        ]  # fmt: skip
        for answer in answers:
            again = pickle.loads(pickle.dumps(answer))
            assert again == answer == copy.deepcopy(answer) and again.to_dict() == answer.to_dict()
            assert json.loads(json.dumps(answer.to_dict())) and "Snapshot" not in repr(answer)


def test_an_engine_is_shown_as_what_it_answers_about(shared: Path) -> None:
    with Engine.open(shared) as engine:
        assert repr(engine) == f"<Engine of {shared.resolve()}>"
