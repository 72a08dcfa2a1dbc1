"""The answers of lurcher to the golden questions are those that are recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden import answers, trees
from tests.golden.__main__ import compare, read
from tests.own_home import REPOSITORY


def check(tree: str, scratch: Path, **environment: str) -> None:
    """Check a tree in a process of its own, so that nothing which other tests did to this one counts."""
    try:
        trees.fetch(trees.SMALL[tree])
    except trees.Unavailable as error:
        pytest.skip(str(error))
    source = os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "tests.golden", "check", tree, "--in", str(scratch)]
    variables = {**os.environ, "PYTHONPATH": source, **environment}
    done = subprocess.run(command, cwd=REPOSITORY, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]


@pytest.mark.parametrize("tree", sorted(trees.SMALL))
def test_answers_are_as_recorded(tree: str, tmp_path: Path) -> None:
    check(tree, tmp_path, PYTHONHASHSEED="20")


def test_answers_without_the_kernel_are_as_recorded(tmp_path: Path) -> None:
    check("query-core", tmp_path, LURCHER_KERNEL="python", PYTHONHASHSEED="21")


@pytest.mark.parametrize("tree", sorted({**trees.SMALL, **trees.LARGE}))
def test_every_question_has_exactly_one_recorded_answer(tree: str) -> None:
    head, recorded = read(tree)
    assert head["head"] == {**trees.SMALL, **trees.LARGE}[tree].head
    assert sorted(recorded) == sorted(question.text for question in answers.read_questions(tree))


def test_a_different_answer_is_reported_with_what_changed_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    questions = {question.text: question for question in answers.read_questions("query-core")}
    _, recorded = read("query-core")
    text, row = next(item for item in sorted(recorded.items()) if len(item[1]["digest"]) > 3)
    other = answers.Answer(questions[text], "status 0\n", (*row["digest"][:-1], "- another.ts:1-2"))
    compare("query-core", [other])
    printed = capsys.readouterr().out
    assert text in printed
    assert f"-{row['digest'][-1]}" in printed
    assert "+- another.ts:1-2" in printed


def test_only_what_depends_on_place_and_time_is_replaced() -> None:
    output = '{"root": "/tmp/a/attrs", "age_seconds": 12, "score": 0.5, "next": "Acrg7LOOrIMc_KX1OmdPxDneb19aAQouLS28akU1WA"}'
    elsewhere = '{"root": "/tmp/b/attrs", "age_seconds": 3, "score": 0.5, "next": "Acrg7LOOrIMcG_VrQ4AGxDneb19aAQq-GgjrpB29rQ"}'
    one, other = answers.normalise(output, Path("/tmp/a/attrs")), answers.normalise(elsewhere, Path("/tmp/b/attrs"))
    assert one == other == '{"root": "/TREE", "age_seconds": 0, "score": 0.5, "next": "01cae0ecb38eac831c 010a"}'
