"""`lurcher index --history`, and what `status` and `doctor` say of it."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Run
from tests.corpora.history.repo import Repo


def test_history_is_indexed_on_request(repository: Path, ask: Run) -> None:
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


def test_files_that_a_commit_changed_too_are_counted_in_the_right_number(repository: Path, ask: Run) -> None:
    Repo.at(repository).commit("Number the invoices", {"x.py": "invoice = 1\n", "y.py": "z = 2\n"})
    assert "and 1 more file\n" in ask("history", "number the invoices", repository, "-k", "1").out


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
    assert "1 of 1 commit in 1 segment" in sound.out and "do not belong" not in sound.out
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
    from tests.corpora.history.repo import open_history, silent

    open_history(repository).view(silent, seconds=None)
    assert ask("search", "redirects", repository).status == 0
    assert ask("index", repository, "--history", "--json").json["history"]["commits"] == 1


def test_history_as_text_and_as_json(repository: Path, ask: Run) -> None:
    sha = Repo.at(repository).commit("Follow redirects twice\n\nOnce was not enough.", {"src/twice.py": "twice = 2\n"})
    text = ask("history", "follow redirects twice", repository)
    assert text.status == 0
    assert text.out.startswith(f"{sha[:10]}  2023-11-")
    assert "    Follow redirects twice\n" in text.out and "    Once was not enough.\n" in text.out
    assert "    src/twice.py @@ -0 +1 @@\n    + twice = 2\n" in text.out
    value = ask("history", "follow redirects twice", repository, "--json").json
    assert value["hits"][0]["commit"]["sha"] == sha and value["index"]["coverage"] == {"history": 1.0}
    assert value == ask("search", "follow redirects twice", repository, "--in", "history", "--json").json
    assert "lane: rank" in ask("history", "follow redirects twice", repository, "--explain").out
    assert ask("history", "zzzqqq", repository, "--mode", "lexical").status == 1


def test_flags_of_one_source_are_not_for_another(repository: Path, ask: Run) -> None:
    for flags in (("--since", "30d"), ("--outcome", "reverted"), ("--rerank", "outcome")):
        told = ask("search", "x", repository, *flags)
        assert told.status == 2 and "--in history" in told.err
    assert ask("search", "x", repository, "--in", "history", "--literal").status == 2
    assert ask("history", "x", repository, "--alpha", "0.5").status == 2


def test_a_bare_repository_has_a_past_too(repository: Path, tmp_path: Path, ask: Run) -> None:
    sha = Repo.at(repository).commit("Feed the giraffe", {"g.py": "g = 1\n"})
    Repo.at(repository).git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    found = ask("history", "giraffe", tmp_path / "bare.git", "--json")
    assert found.status == 0 and found.json["hits"][0]["commit"]["sha"] == sha


def test_brief_as_a_command(repository: Path, ask: Run) -> None:
    told = ask("brief", repository / "src/client.py")
    assert told.status == 0 and told.out.startswith("# Before you edit src/client.py\n")
    assert "tests/test_client.py" in told.out and "tokens of 1,500" in told.err
    assert ask("brief", repository / "src/client.py", "--json").json["path"] == "src/client.py"
