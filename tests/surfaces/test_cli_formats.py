"""`--format`, and help on topics."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lurcher.surfaces.cli.flags import parse
from lurcher.surfaces.cli.reference import TOPICS

LINE = re.compile(r"(.+?):(\d+):(\d+):(.*)")


def test_vimgrep_leads_to_lines_that_are_there(shared: Path, run: Callable[..., Any]) -> None:
    result = run("search", "how are redirects followed", shared, "--format", "vimgrep", "-k", "5", cwd=shared)
    assert result.status == 0
    rows = result.out.splitlines()
    assert len({row.partition(":")[0] for row in rows}) == 5
    for row in rows:
        match = LINE.fullmatch(row)
        assert match is not None
        path, line, column, text = match.groups()
        assert (shared / path).read_text().split("\n")[int(line) - 1] == text
        assert int(column) == 1 + len(text) - len(text.lstrip())
    assert "redirect" in rows[0].lower()


def test_vimgrep_gives_every_match_of_exact_text(shared: Path, run: Callable[..., Any]) -> None:
    result = run("search", "parse_cookie", shared, "--literal", "--format", "vimgrep", cwd=shared)
    assert "src/cookies.py:4:5:def parse_cookie(header):" in result.out.splitlines()


def test_vimgrep_of_symbols_history_and_related(shared: Path, run: Callable[..., Any]) -> None:
    assert run("symbol", "Client", shared, "--format", "vimgrep", cwd=shared).out.startswith("src/client.py:5:1:class Client")
    past = run("history", "begin", shared, "--format", "vimgrep", cwd=shared).out
    assert LINE.fullmatch(past.splitlines()[0]) is not None and past.rstrip().endswith("Begin")
    assert LINE.match(run("related", "src/client.py:12", "--format", "vimgrep", cwd=shared).out) is not None


def test_json_by_either_name(shared: Path, run: Callable[..., Any]) -> None:
    by_format = run("search", "redirects", shared, "--format", "json", cwd=shared)
    assert json.loads(by_format.out) == json.loads(run("search", "redirects", shared, "--json", cwd=shared).out)
    assert run("search", "redirects", shared, "--format", "vimgrep", "--json").status == 2
    error = run("search", "x", shared / "nowhere", "--format", "json")
    assert json.loads(error.out)["error"]["code"] == "path"


def test_nothing_found_ends_with_one(shared: Path, run: Callable[..., Any]) -> None:
    result = run("search", "zzzyxq", shared, "--literal", "--format", "vimgrep")
    assert (result.status, result.out) == (1, "")


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_fits_a_screen(run: Callable[..., Any], topic: str) -> None:
    result = run("help", topic)
    assert result.status == 0
    lines = result.out.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 128


def test_help_lists_topics_and_leads_to_commands(run: Callable[..., Any]) -> None:
    assert all(topic in run("help").out for topic in TOPICS)
    assert run("help", "search").out.startswith("usage: lurcher search")
    unknown = run("help", "qeury")
    assert unknown.status == 2 and "did you mean query?" in unknown.err


def test_commands_in_topics_parse_without_an_error() -> None:
    for _, text in TOPICS.values():
        for line in text.splitlines():
            match = re.match(r"  (?:\w+\s{2,})?(lurcher [a-z].*?)(?:\s{3,}.*)?$", line)
            if match and "…" not in line and "FILE," not in line:
                parse(shlex.split(match.group(1).replace("| source", ""))[1:])
