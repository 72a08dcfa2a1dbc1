"""`symbol`, `index`, `status`, `eval`, `config` and `--help`; `doctor` and `index --watch` have tests beside the index."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lurcher.storage import IndexFolder
from lurcher.surfaces.cli.flags import COMMANDS


@pytest.mark.parametrize(
    ("name", "path", "line", "qualified"),
    [
        ("Client", "src/client.py", 5, "Client"),
        ("Client.retry", "src/client.py", 19, "Client.retry"),
        ("Client#retry", "src/client.py", 19, "Client.retry"),
        ("Router.dispatch", "web/router.ts", 12, "Router.dispatch"),
        ("Pool", "server/pool.go", 4, "Pool"),
        ("Cache::evict", "engine/cache.rs", 10, "Cache.evict"),
    ],
)
def test_symbol_shows_where_a_name_is_defined(
    shared: Path, ask: Callable[..., Any], name: str, path: str, line: int, qualified: str
) -> None:
    first = ask("symbol", name, shared, "--json").json["definitions"][0]
    assert (first["path"], first["start_line"], first["qualified"]) == (path, line, qualified)
    assert first["signature"] in " ".join((shared / path).read_text().split())


def test_symbol_as_text(shared: Path, run: Callable[..., Any]) -> None:
    result = run("symbol", "Client.retry", cwd=shared)
    assert re.fullmatch(
        r"src/client\.py:19-26  Client\.retry  method, \d+ uses\n    def retry\(self, request\).*\n", result.out
    )
    assert result.err == ""


def test_symbol_limits_and_filters(shared: Path, ask: Callable[..., Any]) -> None:
    assert len(ask("symbol", "write", shared, "--json").json["definitions"]) == 2
    assert len(ask("symbol", "write", shared, "--json", "-k", "1").json["definitions"]) == 1
    assert ask("symbol", "write", shared, "--lang", "go").status == 1


def test_symbol_that_nothing_defines(shared: Path, ask: Callable[..., Any]) -> None:
    result = ask("symbol", "Nowhere", shared)
    assert (result.status, result.out, result.err) == (1, "", "nothing defines Nowhere\n")


def test_index_rebuild_clear_and_status(repository: Path, ask: Callable[..., Any]) -> None:
    before = ask("status", repository)
    assert before.status == 1
    assert "none yet; 13 files would be indexed" in before.out
    assert not (repository / ".lurcher").exists()

    assert ask("index", repository, "--json").json["generation"] == 1
    assert ask("index", repository, "--json").json["generation"] == 1
    assert ask("index", repository, "--rebuild", "--json").json["generation"] == 2

    status = ask("status", repository, "--json")
    assert status.status == 0
    assert status.json["exists"] and status.json["fresh"]
    assert status.json["files"] == 13
    assert status.json["languages"]["python"] == 6
    assert status.json["root"] == str(repository)
    text = ask("status", repository).out
    assert "generation 2, fresh" in text
    assert str(repository / ".lurcher") in text

    assert ask("index", repository, "--clear").out == "the index was removed\n"
    assert ask("index", repository, "--clear").out == "there was no index\n"
    assert ask("status", repository).status == 1


def test_status_counts_what_was_left_out(repository: Path, ask: Callable[..., Any]) -> None:
    (repository / "data.py").write_bytes(b"x = 1\0" * 100)
    (repository / "huge.py").write_bytes(b"value = 1\n" * 120_000)
    (repository / "logo.png").write_bytes(b"\x89PNG")
    ask("index", repository)
    skipped = ask("status", repository, "--json").json["skipped"]
    assert skipped["binary"] == 1
    assert skipped["oversized"] == 1
    assert skipped["binary-extension"] == 1


def test_status_lists_what_was_left_out(repository: Path, ask: Callable[..., Any]) -> None:
    (repository / "data.py").write_bytes(b"x = 1\0" * 100)
    (repository / "logo.png").write_bytes(b"\x89PNG")
    ask("index", repository)
    status = ask("status", repository, "--skipped", "--json").json
    assert status["skipped_paths"] == {"binary": ["data.py"], "binary-extension": ["logo.png"]}
    assert status["skipped"] == {"binary": 1, "binary-extension": 1}
    assert "binary  data.py" in ask("status", repository, "--skipped").out
    assert "data.py" not in ask("status", repository).out
    assert "skipped_paths" not in ask("status", repository, "--json").json


def test_status_shows_sizes_and_segments(repository: Path, ask: Callable[..., Any]) -> None:
    ask("index", repository)
    (repository / "src" / "client.py").write_text("class Client:\n    pass\n")
    ask("index", repository)
    status = ask("status", repository, "--json").json
    text = sum(path.stat().st_size for path in repository.rglob("*.*") if path.is_file() and ".git" not in str(path.parent))
    index = list((repository / ".lurcher").iterdir())
    text -= sum(path.stat().st_size for path in index if "." in path.name)
    assert status["text_bytes"] == text
    assert status["disk_bytes"] == sum(path.stat().st_size for path in index)
    assert status["ratio"] == round(status["disk_bytes"] / text, 3)
    assert [(segment["files"], segment["live"], segment["dead"]) for segment in status["segments"]] == [(13, 12, 1), (1, 1, 0)]
    assert sum(segment["bytes"] for segment in status["segments"]) == status["bytes"] < status["disk_bytes"]
    assert status["lock"] == {"held": False, "pid": None}
    assert status["listed_by"] == "git"
    shown = ask("status", repository).out
    assert f"{status['ratio']:.2f} times the text" in shown
    assert "12 files live, 1 dead" in shown


def test_status_of_a_damaged_index_says_so(repository: Path, ask: Callable[..., Any]) -> None:
    ask("index", repository)
    (repository / ".lurcher" / "manifest").write_bytes(b"nonsense")
    result = ask("status", repository)
    assert result.status == 1
    assert "problem     index file manifest is damaged" in result.out
    assert "lurcher index --rebuild" in result.out


def test_clear_goes_with_nothing_else(repository: Path, ask: Callable[..., Any]) -> None:
    result = ask("index", repository, "--clear", "--rebuild")
    assert (result.status, result.out) == (2, "")
    assert "contradict each other" in result.err


def test_status_notices_changes_and_changes_nothing(repository: Path, ask: Callable[..., Any]) -> None:
    ask("index", repository)
    (repository / "src" / "client.py").write_text("class Client:\n    pass\n")
    for _ in range(2):
        status = ask("status", repository, "--json").json
        assert (status["fresh"], status["stale_paths"], status["generation"]) == (False, 1, 1)


def test_the_index_can_live_elsewhere(repository: Path, tmp_path: Path, run: Callable[..., Any]) -> None:
    elsewhere = tmp_path / "indexes"
    assert run("search", "redirect", repository, env={"LURCHER_INDEX_DIR": str(elsewhere)}).status == 0
    assert not (repository / ".lurcher").exists()
    assert list(elsewhere.glob("shop-*/manifest"))


def test_eval_of_your_own_questions(shared: Path, tmp_path: Path, ask: Callable[..., Any]) -> None:
    questions = tmp_path / "questions.jsonl"
    rows = [
        {"query": "how are redirects followed", "relevant": ["src/client.py"]},
        {"query": "where do expired responses go", "pattern": r"fn evict"},
        {"query": "getUserById", "relevant": ["web/getUserById.js"]},
    ]
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    saved = tmp_path / "run.json"
    result = ask("eval", questions, "--root", shared, "--save", saved)
    assert result.status == 0
    assert "ndcg" in result.out.lower()
    assert json.loads(saved.read_text())

    report = ask("eval", questions, "--root", shared, "--json").json
    assert report["dataset"]["kind"] == "own"
    assert report["aggregates"]["query"]["queries"] == 3
    assert report["aggregates"]["query"]["mean_over_queries"]["hit@1"] == 1.0

    versus = ask("eval", questions, "--root", shared, "--versus", "search.ranking=classic")
    assert versus.status == 0 and "search.ranking" in versus.out

    compared = ask("eval", "--compare", saved, saved)
    assert compared.status == 0 and "3 equal" in compared.out


def test_eval_needs_two_runs_to_compare(tmp_path: Path, ask: Callable[..., Any]) -> None:
    result = ask("eval", "--compare", tmp_path / "one.json")
    assert result.status == 2
    assert "two saved runs" in result.err


def test_config_show_lists_every_setting_with_its_origin(repository: Path, tmp_path: Path, run: Callable[..., Any]) -> None:
    user = tmp_path / "user.toml"
    user.write_text("[search]\nlimit = 4\ncontext = 'function'\n[noise]\ntests = 0.5\n")
    (repository / "lurcher.toml").write_text("[search]\nlimit = 5\nmode = 'lexical'\n[noise]\nlegacy = 0.9\n")
    env = {"LURCHER_CONFIG": str(user), "LURCHER_SEARCH_MODE": "hybrid", "LURCHER_LEXICAL_K1": "1.2"}
    shown = run("config", "show", repository, "--json", "--set", "lexical.k1=1.1", env=env).json
    expected = {
        "search.limit": (5, "lurcher.toml"),
        "search.context": ("function", "user.toml"),
        "search.mode": ("hybrid", "environment"),
        "lexical.k1": (1.1, "flag"),
        "noise.tests": (0.5, "user.toml"),
        "noise.legacy": (0.9, "lurcher.toml"),
        "search.ranking": ("default", "default"),
    }
    assert {key: (shown[key]["value"], shown[key]["origin"]) for key in expected} == expected
    plain = run("config", "show", repository, env=env).out
    assert "search.limit = 5  # " in plain
    assert "search.limit = 5  [lurcher.toml]  # " in run("config", "show", repository, "--origin", env=env).out
    assert len(run("search", "redirect", repository, "--json", env=env).json["hits"]) == 5


def test_settings_may_live_in_pyproject(repository: Path, ask: Callable[..., Any]) -> None:
    (repository / "pyproject.toml").write_text("[project]\nname = 'shop'\n[tool.lurcher.search]\nlimit = 2\n")
    assert len(ask("search", "redirect", repository, "--json").json["hits"]) == 2


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_help_fits_a_screen_and_shows_an_example(run: Callable[..., Any], command: str) -> None:
    result = run(command, "--help", env={"COLUMNS": "100"})
    assert result.status == 0
    assert result.err == ""
    assert f"example: lurcher {command}" in result.out
    assert result.out.count("\n") <= 54


def test_help_names_the_choices_of_a_flag(run: Callable[..., Any]) -> None:
    text = " ".join(run("search", "--help").out.split())
    assert "auto, hybrid, lexical, dense, symbol" in text
    assert "none, block, function, class" in text


def test_version(run: Callable[..., Any]) -> None:
    assert re.fullmatch(r"lurcher \d+\.\d+\.\d+\n", run("--version").out)


def test_no_command_shows_the_help(run: Callable[..., Any]) -> None:
    result = run()
    assert result.status == 0
    assert all(command.name in result.out for command in COMMANDS)


def test_the_index_command_fails_where_nothing_can_be_written(
    repository: Path, ask: Callable[..., Any]
) -> None:
    (repository / ".lurcher").mkdir()
    (repository / ".lurcher" / "letter.txt").write_text("not an index")
    result = ask("index", repository)
    assert result.status == 2
    assert "kept in memory only" in result.err and "LURCHER_INDEX_DIR" in result.err
    assert ask("index", repository, "--json").json["degraded"][0]["stage"] == "index"
    assert [path.name for path in (repository / ".lurcher").iterdir()] == ["letter.txt"]


@pytest.mark.skipif("TESTS_WITHOUT_POSIX" in os.environ, reason="there are no locks")
def test_indexing_beside_another_writer_says_so(repository: Path, ask: Callable[..., Any]) -> None:
    assert ask("index", repository).status == 0
    (repository / "new.py").write_text("def zeppelin(): pass\n")
    with IndexFolder(str(repository / ".lurcher")).lock(1):
        result = ask("index", repository, "--set", "index.lock_seconds=0.1")
    assert result.status == 2
    assert f"process {os.getpid()} is writing the index" in result.err
    assert ask("index", repository).status == 0
