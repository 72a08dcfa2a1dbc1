"""What agents saved: counted by servers alone, several at once, within a bounded file, whatever a crash left in it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lurcher.config import user_files
from lurcher.server import token_stats
from lurcher.server.token_stats import LOCK, NAME, TokenCount
from tests.conftest import environment, run_lurcher, write_repository


def test_an_answer_is_counted_against_a_grep(tmp_path: Path) -> None:
    token_stats.record_answer("mcp", "search", 120, 1000, tmp_path)
    token_stats.record_answer("mcp", "search", 80, 0, tmp_path)  # the grep would have found nothing
    token_stats.record_answer("mcp", "outline", 10, 0, tmp_path)
    token_stats.record_answer("mcp", "symbol", 50, 20, tmp_path)
    today = time.strftime("%Y-%m-%d")
    assert token_stats.read(tmp_path) == [
        TokenCount(today, "mcp", "outline", 1, 10, 0), TokenCount(today, "mcp", "search", 2, 200, 1000),
        TokenCount(today, "mcp", "symbol", 1, 50, 20),
    ]  # fmt: skip
    found = {entry.tool: entry.saved for entry in token_stats.by_tool(token_stats.read(tmp_path))}
    assert found == {"search": 800, "outline": 0, "symbol": -30}


def test_statistics_contain_no_query_and_no_path(tmp_path: Path) -> None:
    token_stats.record_answer("mcp", "search", 1, 2, tmp_path)
    entry = json.loads((tmp_path / NAME).read_text())
    assert set(entry) == {"day", "surface", "tool", "calls", "returned", "grep"}
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


def test_counts_against_whole_files_are_forgotten(tmp_path: Path) -> None:
    """Earlier versions compared with those, which cannot be added to the others."""
    row = {"day": time.strftime("%Y-%m-%d"), "surface": "mcp", "tool": "search", "calls": 9, "returned": 9, "whole": 9000}
    (tmp_path / NAME).write_text(json.dumps(row) + "\n")
    assert token_stats.read(tmp_path) == []


def test_broken_lines_are_passed_over(tmp_path: Path) -> None:
    token_stats.record_answer("mcp", "search", 1, 0, tmp_path)
    with (tmp_path / NAME).open("ab") as out:
        out.write(b'\x00\xff\n{"day": 5}\nnull\n[]\n')
        out.write(b'{"day": "x", "surface": "s", "tool": "t", "calls": -1, "returned": 0, "grep": 0}\n{"day": "20')
    token_stats.record_answer("mcp", "search", 2, 0, tmp_path)  # behind a line that was cut short
    assert [(entry.calls, entry.returned) for entry in token_stats.read(tmp_path)] == [(2, 3)]


def test_the_file_stays_small_and_the_sums_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_stats, "MAX_BYTES", 2000)
    for number in range(300):
        token_stats.record_answer("mcp", f"tool{number % 3}", 1, 0, tmp_path)
    assert (tmp_path / NAME).stat().st_size < 2300
    assert sum(entry.calls for entry in token_stats.read(tmp_path)) == 300
    assert {path.name for path in tmp_path.iterdir()} == {NAME, LOCK}


def test_old_entries_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_stats, "MAX_BYTES", 100)
    (tmp_path / NAME).write_text(json.dumps(TokenCount("2001-01-01", "mcp", "search").to_dict()) + "\n")
    token_stats.record_answer("mcp", "search", 1, 0, tmp_path)
    assert [entry.day for entry in token_stats.read(tmp_path)] == [time.strftime("%Y-%m-%d")]


def test_several_processes_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom lurcher.server import token_stats\ntoken_stats.MAX_BYTES = 3000\n"
        "for _ in range(150):\n    token_stats.record_answer('mcp', sys.argv[2], 1, 0, Path(sys.argv[1]))\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), f"tool{i}"], env=environment()) for i in range(4)
    ]
    assert [process.wait(60) for process in running] == [0, 0, 0, 0]
    assert [(entry.tool, entry.calls) for entry in token_stats.read(tmp_path)] == [(f"tool{i}", 150) for i in range(4)]


def test_counting_is_never_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("")
    token_stats.record_answer("mcp", "search", 1, 0, tmp_path / "a file" / "below")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / NAME).symlink_to(tmp_path / "a file")
    token_stats.record_answer("mcp", "search", 1, 0, tmp_path / "linked")
    assert (tmp_path / "a file").read_text() == ""


def test_days(tmp_path: Path) -> None:
    entries = [TokenCount("2026-01-01", "mcp", "a"), TokenCount("2026-01-30", "mcp", "a"), TokenCount("2026-01-31", "mcp", "a")]
    now = time.mktime((2026, 1, 31, 12, 0, 0, 0, 0, -1))
    assert [entry.day for entry in token_stats.last_days(entries, 2, now)] == ["2026-01-30", "2026-01-31"]


def test_the_command(tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    empty = run_lurcher("stats", env=env)
    assert empty.status == 1 and "nothing was counted yet" in empty.err
    token_stats.record_answer("mcp", "search", 100, 1001, tmp_path / "state/lurcher")
    shown = run_lurcher("stats", "--days", "7", env=env)
    assert shown.status == 0
    assert shown.out.splitlines()[1].split() == ["mcp", "search", "1", "100", "1,001", "90", "%"]
    assert "901 tokens saved" in shown.err and "not with reading these files whole" in shown.err
    data = json.loads(run_lurcher("stats", "--json", env=env).out)
    assert data["total"] == {"calls": 1, "returned": 100, "grep": 1001, "saved": 901}
    assert data["counting"] is True
    assert json.loads(run_lurcher("stats", "--json", env={**env, "LURCHER_SAVINGS_COUNT": "false"}).out)["counting"] is False
    assert run_lurcher("stats", "--days", "0", env=env).status == 2
    assert "removed" in run_lurcher("stats", "--clear", env=env).out
    assert run_lurcher("stats", env=env).status == 1


def test_a_search_from_the_command_line_counts_nothing(tmp_path: Path) -> None:
    folder = write_repository(tmp_path / "repository")
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    assert run_lurcher("search", "redirects", folder, env=env).status == 0
    assert not (tmp_path / "state").exists()


def test_the_state_folder_follows_the_environment(tmp_path: Path) -> None:
    assert user_files.state_folder({"XDG_STATE_HOME": "/x", "HOME": "/h"}) == Path("/x/lurcher")
    assert user_files.state_folder({"HOME": "/h"}) == Path("/h/.local/state/lurcher")
