"""Numbers and what they count."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lurcher.inspect import Basis
from lurcher.inspect.impact import Dependent, ImpactAnswer
from lurcher.runtime.process import format_count
from lurcher.surfaces.cli import print_inspect
from lurcher.types import IndexState
from tests.corpora.history.repo import Repo


@pytest.mark.parametrize(("number", "said"), [(0, "0 files"), (1, "1 file"), (2, "2 files"), (12_000, "12,000 files")])
def test_numbers_of_things(number: int, said: str) -> None:
    assert format_count(number, "file") == said


def test_other_plurals() -> None:
    assert (format_count(1, "match", "matches"), format_count(3, "match", "matches")) == ("1 match", "3 matches")


def test_of_one_thing_every_command_says_one(tmp_path: Path, run: Callable[..., Any]) -> None:
    repo = Repo(tmp_path / "repo")
    repo.put({"a.py": "def helper(): ...\n"})
    repo.git("add", "-A")
    repo.git("commit", "-qm", "Begin")
    repo.put({"b.py": "import a\n\na.helper()\n"})
    wrong = re.compile(r"(?<![\d.,:])1 (?:of them )?(?!is\b|was\b|success\b|ms\b)[a-z]+s\b")
    said = run("index", "--history", cwd=repo.top)
    texts = [said.out, said.err]
    for command in (
        ["status"], ["doctor"], ["symbol", "helper"], ["impact", "a.py"], ["outline", "a.py"], ["context", "a.py"],
        ["brief", "a.py"], ["search", "helper", "-k", "1"], ["history", "begin"], ["explain", "a.py"],
        ["why", "a.py", "helper"], ["search", "helper", "--explain"],
    ):  # fmt: skip
        done = run(*command, cwd=repo.top)
        texts += [done.out, done.err]
    for text in texts:
        found = wrong.search(text)
        assert found is None, found[0] + "\n" + text
    assert "1 segment" in texts[2] and "1 use" in "".join(texts)


def test_a_number_says_what_it_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    entry = Dependent("b.py", 1, "a.py", ("helper",), 3, 0.0625, "python", False)
    basis = Basis(IndexState(1, True, 0), ())
    print_inspect.print_impact(ImpactAnswer("a.py", "python", None, 1, (entry,), (), basis), tmp_path.joinpath)
    assert capsys.readouterr().out.endswith("helper  confidence 0.06\n")
