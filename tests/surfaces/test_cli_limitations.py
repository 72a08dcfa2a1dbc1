"""An answer says what it is not based on, before the hits: what was not read, what is missing, what is not near."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lurcher.engine import Engine
from lurcher.surfaces.mcp import answers

Run = Callable[..., Any]


def reasons(answer: Any) -> str:
    return "\n".join(note["reason"] for note in answer["degraded"])


LEFT_OUT: dict[str, tuple[str, bytes]] = {
    "oversized": ("data/big.sql", b"-- xyzzy_word\n" + b"select 1;\n" * 110_000),
    "minified": ("lib/packed.js", b"var xyzzy_word=1;" * 9000),
    "minified-name": ("lib/packed.min.js", b"var xyzzy_word = 1;\n"),
    "lock-file": ("package-lock.json", b'{"xyzzy_word": 1}\n'),
    "vendored": ("node_modules/left/index.js", b"var xyzzy_word = 1;\n"),
    "binary": ("notes.txt", b"xyzzy_word\0\n"),
    "drawing": ("plan.svg", b"<svg>xyzzy_word</svg>\n"),
    "source-map": ("app.map", b'{"xyzzy_word": 1}\n'),
}


@pytest.mark.parametrize("git", [True, False], ids=["git", "walk"])
@pytest.mark.parametrize("reason", LEFT_OUT)
def test_no_is_not_certain_while_a_file_was_not_read(
    tmp_path: Path, reason: str, git: bool, git_in: Callable[..., str], ask: Run
) -> None:
    path, data = LEFT_OUT[reason]
    (tmp_path / "main.py").write_text("def begin():\n    return 1\n")
    if git:
        git_in(tmp_path, "init", "-q")
    sure = ask("exists", "xyzzy_word", tmp_path, "--json").json
    assert (sure["exists"], sure["certain"], sure["degraded"]) == (False, True, [])
    assert ask("exists", "xyzzy_word", tmp_path).out == "no\n"
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_bytes(data)
    if git:
        git_in(tmp_path, "add", "-A")
    for asked in (("--json",), ("--exact", "--json"), ("--json",)):
        answer = ask("exists", "xyzzy_word", tmp_path, *asked).json
        assert (answer["exists"], answer["certain"]) == (False, False)
        assert f"{reason} 1 (" in reasons(answer) and path.split("/")[0] in reasons(answer)
    shown = ask("exists", "xyzzy_word", tmp_path)
    assert (shown.status, shown.out) == (1, "no, as far as files were read\n")
    assert reason in shown.err
    found = ask("exists", "begin", tmp_path, "--exact", "--json").json
    assert (found["exists"], found["certain"], found["degraded"]) == (True, True, [])
    with Engine.open(tmp_path) as engine:
        told = answers.render_exists(engine.exists("xyzzy_word"))
    assert told.data["certain"] is False and told.text.splitlines()[0].startswith("note: 1 file or folder was not read")
    (tmp_path / path).unlink()
    if git:
        git_in(tmp_path, "add", "-A")
    if path.startswith("node_modules"):
        (tmp_path / path).parent.rmdir()
        (tmp_path / "node_modules").rmdir()
    assert ask("exists", "xyzzy_word", tmp_path, "--json").json["certain"]


def test_images_and_what_was_ignored_on_purpose_leave_a_no_certain(tmp_path: Path, ask: Run) -> None:
    (tmp_path / "main.py").write_text("def begin():\n    return 1\n")
    (tmp_path / "logo.png").write_bytes(b"\x89PNG xyzzy_word")
    (tmp_path / ".lurcherignore").write_text("private/\n")
    (tmp_path / "private").mkdir()
    (tmp_path / "private/a.py").write_text("xyzzy_word = 1\n")
    assert ask("exists", "xyzzy_word", tmp_path, "--json").json["certain"]


def test_a_stale_index_is_not_certain(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("def begin():\n    return 1\n")
    with Engine.open(tmp_path) as engine:
        assert engine.exists("xyzzy_word").certain
        (tmp_path / "more.py").write_text("xyzzy_word = 1\n")
        assert not engine.exists("xyzzy_word", refresh=False).certain
        assert not engine.exists("xyzzy_word", check=False).certain
        assert engine.exists("xyzzy_word").exists


def test_exists_ignores_text_outside_of_the_given_folders(tmp_path: Path, ask: Run) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "main.py").write_text(f"only_in_{name} = 1\n")
    ask("index", tmp_path)
    with Engine.open(tmp_path / "one", root=tmp_path) as engine:
        assert engine.exists("only_in_one").path == "one/main.py"
        assert (engine.exists("only_in_two").exists, engine.exists("only_in_two").certain) == (False, True)


@pytest.mark.parametrize("kind", ["tracked", "untracked", "walk"])
def test_a_folder_that_may_not_be_read_is_reported(
    tmp_path: Path, kind: str, git_in: Callable[..., str], run: Run, without_privileges: tuple[str, ...]
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "secret.py").write_text("def xyzzy_word():\n    return 1\n")
    (tmp_path / "main.py").write_text("def begin():\n    return 1\n")
    if kind != "walk":
        git_in(tmp_path, "init", "-q")
    if kind == "tracked":
        git_in(tmp_path, "add", "-A")
    if kind == "untracked":
        git_in(tmp_path, "add", "main.py")
    closed.chmod(0)
    try:
        for asked in (
            ("search", "begin", "--mode", "literal"), ("search", "where does it begin"), ("search", "where does it begin"),
            ("symbol", "xyzzy_word"), ("exists", "xyzzy_word"), ("search", "begin", "--in", "all"), ("outline",),
            ("search", "begin", "--mode", "literal"),
        ):  # fmt: skip
            where = () if asked == ("outline",) else (tmp_path,)
            answer = run(*asked, *where, "--json", cwd=tmp_path, before=without_privileges).json
            assert "cannot be read" in reasons(answer) and "closed" in reasons(answer), asked
        assert not run("exists", "xyzzy_word", tmp_path, "--json", before=without_privileges).json["certain"]
        shown = run("search", "where does it begin", tmp_path, before=without_privileges)
        assert shown.status == 0 and "note: " in shown.err and "main.py" in shown.out
    finally:
        closed.chmod(0o755)
    answer = run("symbol", "xyzzy_word", tmp_path, "--json", before=without_privileges).json
    assert (len(answer["definitions"]), answer["degraded"]) == (1, [])


def test_notes_come_before_the_hits(repository: Path, git_in: Callable[..., str], tmp_path: Path, run: Run) -> None:
    git_in(repository, "commit", "-q", "--allow-empty", "-m", "Follow redirects of the client")
    git_in(repository, "clone", "-q", "--depth", "1", f"file://{repository}", str(tmp_path / "clone"))
    both = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:], stderr=subprocess.STDOUT).returncode)"
    before = ("python3", "-c", both)
    for asked in (
        ("history", "follow redirects"), ("search", "follow redirects", "--in", "all"), ("brief", "src/client.py"),
        ("history", "follow redirects", "--format", "vimgrep"),
    ):  # fmt: skip
        lines = run(*asked, "-q", cwd=tmp_path / "clone", before=before).out.splitlines()
        told = [number for number, line in enumerate(lines) if line.startswith("note: the clone is shallow")]
        assert told == [0], (asked, lines[:5])
    with Engine.open(tmp_path / "clone") as engine:
        told_text = answers.render_search(engine.search("follow redirects", sources=["history"]), 2000).text
    assert told_text.startswith("note: the clone is shallow")


def test_how_much_of_its_history_a_shallow_clone_has_is_not_known(
    repository: Path, git_in: Callable[..., str], tmp_path: Path, ask: Run
) -> None:
    git_in(repository, "commit", "-q", "--allow-empty", "-m", "Follow redirects of the client")
    clone = tmp_path / "clone"
    git_in(repository, "clone", "-q", "--depth", "1", f"file://{repository}", str(clone))
    answers_ = [
        ask("history", "follow redirects", clone, "--json").json,
        ask("search", "follow redirects", clone, "--in", "all", "--json").json,
    ]
    with Engine.open(clone) as engine:
        answers_.append(engine.brief(clone / "src/client.py").to_dict())
    for answer in answers_:
        assert "the clone is shallow" in reasons(answer)
        assert "history" not in answer["index"]["coverage"]
    status = ask("status", clone, "--json").json["history"]
    assert (status["shallow"], status["coverage"]) == (True, None)
    assert "of a shallow clone" in ask("status", clone).out
    assert ask("index", clone, "--history", "-q").status == 0
    git_in(clone, "fetch", "-q", "--unshallow")
    answer = ask("history", "follow redirects", clone, "--json").json
    assert (answer["degraded"], answer["index"]["coverage"]) == ([], {"history": 1.0})


def test_a_folder_without_git_has_no_history_and_says_so(tmp_path: Path, git_in: Callable[..., str], ask: Run) -> None:
    plain, kept = tmp_path / "plain", tmp_path / "kept"
    for folder in (plain, kept):
        folder.mkdir()
        (folder / "main.py").write_text("def begin():\n    return 1\n")
    git_in(kept, "init", "-q")
    git_in(kept, "add", "-A")
    git_in(kept, "commit", "-q", "-m", "Begin")
    answer = ask("search", "where does it begin", plain, "--in", "all", "--json").json
    assert "has no git history" in reasons(answer) and answer["hits"]
    shown = ask("search", "where does it begin", plain, "--in", "all")
    assert "has no git history" in shown.err
    for asked in (("search", "begin", "--in", "all"), ("history", "begin")):
        answer = ask(*asked, plain, kept, "--json").json
        assert "plain has no git history" in reasons(answer) and answer["hits"]
    assert reasons(ask("search", "where does it begin", kept, "--in", "all", "--json").json) == ""


@pytest.mark.parametrize("kernel", ["", "python"])
def test_how_often_a_name_occurs_is_distinguished_from_its_parts(tmp_path: Path, kernel: str, run: Run) -> None:
    (tmp_path / "router.py").write_text("def db_for_write(model):\n    return model\n")
    (tmp_path / "use.py").write_text("from router import db_for_write\n\nvalue = db_for_write(1)\n")
    for number in range(12):
        (tmp_path / f"more_{number}.py").write_text(f"def write_{number}(db):\n    return db\n")
    env = {"LURCHER_KERNEL": kernel} if kernel else {}
    answer = run("search", "db_for_write", tmp_path, "-k", "1", "--json", env=env).json
    assert (answer["named"], answer["total"]) == (2, 14)
    shown = run("search", "db_for_write", tmp_path, "-k", "1", env=env).err
    assert "1 hit; the name is in 2 places, 12 more have parts of it; more: --continue" in shown
    assert "named" not in run("search", "where do models write", tmp_path, "-k", "1", "--json", env=env).json
    with Engine.open(tmp_path) as engine:
        assert "the name is in 2 places" in answers.render_search(engine.search("db_for_write", limit=1), 2000).text


def test_a_single_reverted_commit_is_in_the_singular(repository: Path, git_in: Callable[..., str]) -> None:
    (repository / "src/cookies.py").write_text("def parse_cookie(header):\n    return {}\n")
    git_in(repository, "commit", "-qam", "Parse less")
    git_in(repository, "revert", "--no-edit", "HEAD")
    with Engine.open(repository) as engine:
        assert "; 1 was reverted and 0 fixed later" in engine.brief(repository / "src/cookies.py").text
