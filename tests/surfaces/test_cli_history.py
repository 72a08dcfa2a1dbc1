"""`lurcher index --history`, and what `status` and `doctor` say of it."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Run
from tests.history.repo import Repo


def test_history_is_indexed_when_asked_for(repository: Path, ask: Run) -> None:
    assert ask("index", repository, "--json").json["history"] == {"exists": False}
    assert "none yet (lurcher index --history)" in ask("status", repository).out
    told = ask("index", repository, "--history", "--json").json["history"]
    assert (told["exists"], told["fresh"], told["complete"], told["commits"], told["total"]) == (True, True, True, 1, 1)
    assert told["coverage"] == 1.0
    Repo.at(repository).commit("more", {"x.py": "x = 1\n"})
    stale = ask("status", repository, "--json").json["history"]
    assert (stale["fresh"], stale["commits"]) == (False, 1)
    assert "HEAD has moved since" in ask("status", repository).out
    assert ask("index", repository, "--history", "--json").json["history"]["commits"] == 2
    assert "2 of 2 commits" in ask("status", repository).out
    assert "0 reverted, 0 hotfixed, 2 success" in ask("status", repository).out


def test_doctor_reads_outcomes_too(repository: Path, ask: Run) -> None:
    ask("index", repository, "--history")
    (path,) = (repository / ".lurcher/history").glob("*.outcomes")
    path.write_bytes(path.read_bytes()[:-1])
    assert ask("doctor", repository).status == 1
    ask("history", "redirects", repository)
    assert ask("doctor", repository).status == 0


def test_doctor_reads_every_byte_of_it(repository: Path, ask: Run) -> None:
    ask("index", repository, "--history")
    sound = ask("doctor", repository)
    assert "1 of 1 commits in 1 segments" in sound.out and "not ours" not in sound.out
    (segment,) = (repository / ".lurcher/history").glob("*.segment")
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    damaged = ask("doctor", repository)
    assert damaged.status == 1
    assert "lurcher index --history --rebuild" in damaged.out
    assert ask("index", repository, "--history", "--rebuild").status == 0
    assert ask("doctor", repository).status == 0


def test_clear_takes_it_along(repository: Path, ask: Run) -> None:
    ask("index", repository, "--history")
    assert ask("index", repository, "--clear").out == "the index was removed\n"
    assert not list((repository / ".lurcher").rglob("*.segment"))
    assert ask("status", repository, "--json").json["history"] == {"exists": False}
    assert ask("index", repository, "--clear", "--history").status == 2


def test_where_there_is_no_repository(tmp_path: Path, ask: Run) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    assert "history" not in ask("index", tmp_path, "--json").json
    told = ask("index", tmp_path, "--history")
    assert told.status == 2
    assert "has no git history" in told.err


def test_a_history_index_does_not_disturb_that_of_the_code(repository: Path, ask: Run) -> None:
    ask("index", repository)
    before = ask("search", "redirects", repository, "--json").json
    ask("index", repository, "--history")
    after = ask("search", "redirects", repository, "--json").json
    assert after == before
    assert after["index"]["fresh"]


def test_history_first_and_code_later(repository: Path, ask: Run) -> None:
    from tests.history.repo import project, silent

    project(repository).view(silent, seconds=None)
    assert ask("search", "redirects", repository).status == 0
    assert ask("index", repository, "--history", "--json").json["history"]["commits"] == 1
