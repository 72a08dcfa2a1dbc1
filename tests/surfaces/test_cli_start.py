"""The front door: what somebody meets who does not know the commands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lurcher.surfaces.cli.flags import COMMANDS
from tests.conftest import Run
from tests.surfaces.terminal import on_terminal

COMMAND = [sys.executable, "-m", "lurcher"]


@pytest.mark.parametrize("query", ["how are redirects followed", "follow_redirects", "HttpClient.retry"])
def test_a_question_and_a_name_from_code_need_no_command(repository: Path, run: Run, query: str) -> None:
    short, long = run(query, "--json", cwd=repository), run("search", query, "--json", cwd=repository)
    assert short.status == 0 and short.out == long.out


def test_a_mistyped_command_is_corrected_and_not_searched_for(repository: Path, run: Run) -> None:
    done = run("serach", "redirects", cwd=repository)
    assert done.status == 2 and "did you mean search?" in done.err and not done.out


@pytest.mark.parametrize(("given", "meant"), [("symbols", "symbol"), ("reference", "references"), ("note", "notes")])
def test_singular_and_plural_are_one_command(repository: Path, run: Run, given: str, meant: str) -> None:
    assert run(given, "retry", "--json", cwd=repository).out == run(meant, "retry", "--json", cwd=repository).out


def test_config_alone_shows_the_settings(repository: Path, run: Run) -> None:
    assert run("config", cwd=repository).out == run("config", "show", cwd=repository).out != ""


def test_help_of_search_has_groups_and_rare_flags_only_on_demand(run: Run) -> None:
    usual, all_of_it = run("search", "--help").out, run("search", "--help-all").out
    for title in ("what to search:", "filters:", "output:", "ranking:"):
        assert title in usual
    assert "--mmr" not in usual and "--mmr" in all_of_it
    assert len(usual.splitlines()) < len(all_of_it.splitlines())


def test_a_rare_flag_works_without_being_shown(repository: Path, run: Run) -> None:
    assert run("search", "redirects", "--fusion", "linear", "--mmr", "0.5", cwd=repository).status == 0


@pytest.mark.parametrize("indexed", [False, True])
def test_alone_on_a_terminal_it_shows_examples_with_names_of_the_repository(
    repository: Path, run: Run, clean_environment: Callable[..., dict[str, str]], indexed: bool
) -> None:
    if indexed:
        run("index", cwd=repository)
    status, seen = on_terminal(COMMAND, clean_environment(TERM="xterm"), repository)
    text = seen.decode()
    assert status == 0 and text.count("    lurcher ") == 4
    assert ("indexes this folder" in text) is not indexed
    assert indexed or not (repository / ".lurcher").exists()
    name = next(line.split()[2] for line in text.splitlines() if "lurcher symbol" in line)
    assert run("symbol", name, cwd=repository).status == 0


@pytest.mark.parametrize("columns", [30, 200])
def test_examples_are_not_broken_by_the_edge_of_the_terminal(
    repository: Path, run: Run, clean_environment: Callable[..., dict[str, str]], columns: int
) -> None:
    run("index", cwd=repository)
    text = on_terminal(COMMAND, clean_environment(TERM="xterm", COLUMNS=str(columns)), repository)[1].decode()
    beside = [line for line in text.splitlines() if "    lurcher symbol" in line and "show where" in line]
    assert len(beside) == (1 if columns == 200 else 0) and "show where a name is defined" in text


def test_in_a_pipe_it_prints_the_help(repository: Path, run: Run) -> None:
    assert "usage: lurcher" in run(cwd=repository).out


def test_an_empty_folder_gets_general_examples(tmp_path: Path, clean_environment: Callable[..., dict[str, str]]) -> None:
    status, seen = on_terminal(COMMAND, clean_environment(TERM="xterm"), tmp_path)
    assert status == 0 and seen.count(b"    lurcher ") == 4


def test_the_first_index_suggests_what_to_try_once(
    repository: Path, clean_environment: Callable[..., dict[str, str]]
) -> None:
    environment = clean_environment(TERM="xterm")
    seen = [on_terminal([*COMMAND, "search", "redirects"], environment, repository)[1] for _ in range(2)]
    assert [b"try next" in text for text in seen] == [True, False]


@pytest.mark.parametrize(
    ("flags_first", "usual"),
    [
        (("-k", "1", "how are redirects followed"), ("search", "how are redirects followed", "-k", "1")),
        (("--json", "symbol", "retry"), ("symbol", "retry", "--json")),
        (("--literal", "redirects"), ("search", "redirects", "--literal")),
    ],
)
def test_flags_may_come_before_the_question_and_the_command(
    repository: Path, run: Run, flags_first: tuple[str, ...], usual: tuple[str, ...]
) -> None:
    found = run(*flags_first, cwd=repository)
    assert found.status == 0 and found.out == run(*usual, cwd=repository).out


def test_a_dash_alone_searches_for_what_is_on_standard_input(repository: Path, run: Run) -> None:
    assert "src/client.py" in run("-", cwd=repository, stdin="how are redirects followed").out


def test_a_mistyped_flag_in_front_is_corrected(repository: Path, run: Run) -> None:
    assert "did you mean --version?" in run("--versio", cwd=repository).err
    assert "did you mean --limit?" in run("--limt", "3", "how are redirects followed", cwd=repository).err


def test_the_help_lists_every_command_once_on_one_screen(run: Run) -> None:
    lines = run("--help").out.splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")]
    assert sorted(listed) == sorted(command.name for command in COMMANDS)
    assert len(lines) <= 50 and max(map(len, lines)) <= 80


def test_suggestions_fit_a_narrow_terminal(
    repository: Path, clean_environment: Callable[..., dict[str, str]]
) -> None:
    environment = clean_environment(TERM="xterm", COLUMNS="40")
    text = on_terminal([*COMMAND, "search", "redirects", "-k", "1"], environment, repository)[1].decode()
    suggested = text[text.index("try next") :].splitlines()[1:]
    assert len(suggested) == 8 and not any("#" in line for line in suggested)  # what it does is on a line of its own
