"""A text on which a grammar gives up holds up nobody, is cut by lines, and is named; in every kind of process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from lurcher.chunking import code
from lurcher.engine import Engine, diagnose
from lurcher.indexing import build
from tests.conftest import run_lurcher
from tests.indexing.conftest import opened, write
from tests.indexing.test_watcher import LONG, Watching
from tests.surfaces.http.conftest import serving, until
from tests.surfaces.mcp.talk import Talk

HANGING = "val x\n@a"
"""At its end, the scanner of Kotlin's grammar looks for ever."""
TREE = {"a.kt": HANGING, "b.kt": "fun hello() {}\n"}
SAID = "a.kt is cut by lines, without definitions: its grammar gave up on it"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    write(folder, TREE)
    return folder


def said(degraded: object) -> bool:
    return SAID in json.dumps(degraded)


@pytest.mark.parametrize("kernel", ["auto", "python"])
def test_a_command_answers_from_lines_and_says_so(tree: Path, kernel: str) -> None:
    for _ in range(2):
        ran = run_lurcher("search", "hello", str(tree), "--json", env={"LURCHER_KERNEL": kernel})
        assert ran.status == 0, ran.err
        answer = json.loads(ran.out)
        assert answer["hits"][0]["symbol"] == "hello"
        assert said(answer["degraded"])
    found = json.loads(run_lurcher("search", "val x", str(tree), "--json", env={"LURCHER_KERNEL": kernel}).out)
    assert found["hits"][0]["path"] == "a.kt"


def test_symbols_outlines_and_impacts_say_so(tree: Path) -> None:
    engine = opened(tree)
    assert said([note.to_dict() for note in engine.symbol("hello").degraded])
    assert said([note.to_dict() for note in engine.outline(tree / "a.kt").basis.degraded])
    assert not said([note.to_dict() for note in engine.outline(tree / "b.kt").basis.degraded])
    assert said([note.to_dict() for note in engine.impact(tree / "b.kt").basis.degraded])


def test_the_status_and_the_doctor_name_it(tree: Path) -> None:
    engine = opened(tree)
    engine.index()
    assert engine.status()["by_lines"] == {"gave_up": 1, "paths": ["a.kt"], "no_grammar": {}}
    assert any(SAID in finding.message for finding in diagnose(tree))
    assert "by lines    1 file, whose grammar gave up: a.kt" in run_lurcher("status", str(tree)).out
    (tree / "a.kt").write_text("val x\n@a fun g() {}\n")
    engine.index()
    assert engine.status()["by_lines"]["gave_up"] == 0
    assert engine.symbol("g").definitions


def test_an_edit_of_another_file_does_not_pay_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(tree).index()
    parsed = []
    real = build.parse

    def parse(text: bytes, language: str, target: int = code.TARGET) -> object:
        parsed.append(text)
        return real(text, language, target)

    monkeypatch.setattr(build, "parse", parse)
    write(tree, {"b.kt": "fun bye() {}\n"})
    engine = opened(tree)
    assert engine.symbol("bye").definitions
    assert parsed == [b"fun bye() {}\n"]
    assert engine.status()["by_lines"]["gave_up"] == 1
    # The same text elsewhere is new, and found out again in no time.
    (tree / "a.kt").rename(tree / "c.kt")
    assert "c.kt is cut by lines" in json.dumps([note.to_dict() for note in opened(tree).symbol("bye").degraded])


def test_a_watch_goes_on(tree: Path) -> None:
    (tree / "a.kt").unlink()
    watching = Watching("--json", str(tree))
    try:
        watching.next(3 * LONG)
        for text in (HANGING, "fun found() {}\n"):
            (tree / "a.kt").write_text(text)
            watching.next(3 * LONG)
            assert watching.process.poll() is None
        assert Engine.open(tree, root=tree).symbol("found").definitions
    finally:
        status = watching.end()
    assert status in (0, 130)


def test_a_server_goes_on(tree: Path) -> None:
    with serving(tree) as served:
        def answered(question: str) -> dict[str, Any]:
            try:
                with urlopen(f"{served.url}api/{question}", timeout=3 * LONG) as reply:
                    return dict(json.load(reply))
            except HTTPError as error:  # it is indexing still
                assert error.code == 503, error.read()
                return {}

        assert until(lambda: said(answered("search?q=hello").get("degraded")), 3 * LONG)
        (tree / "a.kt").write_text(HANGING + "b")
        (tree / "b.kt").write_text("fun again() {}\n")
        assert until(lambda: answered("symbol?name=again").get("definitions"), 3 * LONG)
        assert said(answered("symbol?name=again")["degraded"])
        assert served.process.poll() is None


def test_agents_are_answered(tree: Path) -> None:
    with Talk(tree) as talk:
        talk.data("index")
        assert said(talk.data("search", query="hello")["degraded"])
        (tree / "a.kt").write_text(HANGING + "b")
        assert said(talk.data("search", query="hello")["degraded"])
