"""The commits that wrote lines of a file."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lurcher import Engine
from lurcher.config.schema import BlameSettings
from lurcher.corpora.history.outcomes import Evidence, Outcome
from lurcher.errors import PathError, QueryError
from lurcher.inspect.explain import Related, explain, make_excerpt
from lurcher.sources.git.commit import Hunk
from lurcher.sources.git.log import line_runs, parse_blame, unquote_path
from tests.corpora.history.commits import EMAIL, Repository


@pytest.fixture(autouse=True)
def plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "r")


ONE = "def total(price, count):\n    return price * count\n\n\ndef tax(price):\n    return price * 0.2\n"
TWO = ONE.replace("price * count", "price * max(count, 0)")


Written = tuple[Repository, str, str]
"""A repository, and the two commits that its file is made of."""


@pytest.fixture
def written(repository: Repository) -> Written:
    first = repository.commit("Add a cart\n\nSo that people can buy.", cart__py=ONE)
    second = repository.commit("Fix negative counts\n\nThey were sold for less than nothing.", cart__py=TWO)
    return repository, first, second


def test_each_commit_with_its_lines_message_and_change(written: Written) -> None:
    repository, first, second = written
    answer = explain(repository.path, "cart.py")
    assert (answer.start_line, answer.end_line, answer.revision, answer.total) == (1, 6, "work tree", 2)
    new, old = answer.writers
    assert (new.sha, new.lines, new.line_count) == (second, ((2, 2),), 1)
    assert (new.subject, new.body, new.author, new.email) == (
        "Fix negative counts", "They were sold for less than nothing.", "Ada", EMAIL,
    )  # fmt: skip
    assert new.excerpt is not None
    assert new.excerpt.text == "-    return price * count\n+    return price * max(count, 0)"
    assert (old.sha, old.lines, old.date) == (first, ((1, 1), (3, 6)), "2020-09-13T13:26:40Z")


def test_only_the_requested_lines_are_explained(written: Written) -> None:
    repository, first, second = written
    assert [entry.sha for entry in explain(repository.path, "cart.py", 5, 6).writers] == [first]
    assert [entry.sha for entry in explain(repository.path, "cart.py", 2, 2).writers] == [second]
    limited = explain(repository.path, "cart.py", limit=1)
    assert ([entry.sha for entry in limited.writers], limited.total) == ([second], 2)


def test_it_says_what_blame_says(repository: Repository) -> None:
    text: list[str] = []
    for i in range(12):
        text = [*text[: i // 2], f"line {i}", f"more {i}", *text[i // 2 :]]
        if i % 3 == 0:
            text.pop()
        repository.commit(f"Change {i}", a__txt="\n".join(text) + "\n")
    plain = repository.git("blame", "-s", "-l", "--root", "-w", "-M", "a.txt").splitlines()
    expected = {number: line.split()[0] for number, line in enumerate(plain, 1)}
    answer = explain(repository.path, "a.txt")
    mine = {n: entry.sha for entry in answer.writers for a, b in entry.lines for n in range(a, b + 1)}
    assert mine == expected
    assert [entry.authored for entry in answer.writers] == sorted((entry.authored for entry in answer.writers), reverse=True)
    for entry in answer.writers:
        assert entry.excerpt is not None and entry.excerpt.text.count("+") > 0


def test_lines_that_are_not_committed(written: Written) -> None:
    repository, _, _ = written
    repository.write("cart.py", TWO.replace("0.2", "0.19"))
    entry = explain(repository.path, "cart.py", 6, 6).writers[0]
    assert (entry.sha, entry.subject, entry.lines, entry.date) == (None, "not committed yet", ((6, 6),), None)
    assert entry.to_dict()["committed"] is False


def test_a_renamed_file_has_its_earlier_commits(written: Written) -> None:
    repository, first, second = written
    repository.git("mv", "cart.py", "basket.py")
    third = repository.commit("Rename", basket__py=TWO + "\n\nEND = 1\n")
    by_sha = {entry.sha: entry for entry in explain(repository.path, "basket.py").writers}
    assert set(by_sha) == {first, second, third}
    assert (by_sha[first].path, by_sha[third].path) == ("cart.py", "basket.py")
    (alone,) = explain(repository.path, "basket.py", 9, 9).writers
    shown = alone.excerpt
    assert shown is not None and "price" not in shown.text and "+END = 1" in shown.text


def test_staged_and_renamed_but_not_committed(written: Written) -> None:
    repository, first, second = written
    repository.git("mv", "cart.py", "basket.py")
    assert {entry.sha for entry in explain(repository.path, "basket.py").writers} == {first, second}


def test_white_space_changes_and_ignored_revisions_are_skipped(written: Written) -> None:
    repository, first, second = written
    repository.commit("Indent", cart__py=TWO.replace("    ", "  "))
    assert {entry.sha for entry in explain(repository.path, "cart.py").writers} == {first, second}
    renamed = repository.commit("Rename", cart__py=TWO.replace("price", "amount"))
    assert renamed in {entry.sha for entry in explain(repository.path, "cart.py").writers}
    repository.write(".git-blame-ignore-revs", f"# formatting\n{renamed}\n{'ab' * 20}\n")
    assert renamed not in {entry.sha for entry in explain(repository.path, "cart.py").writers}
    off = BlameSettings(ignore="")
    assert renamed in {entry.sha for entry in explain(repository.path, "cart.py", settings=off).writers}


def test_outcomes_and_related_commits_come_from_outside(written: Written) -> None:
    repository, first, second = written
    mended = Outcome("hotfixed", 0.8, (Evidence("mended", second, 1_600_000_000, "Ada", "Fix negative counts"),))
    near = Related("ab" * 20, "Add a till", "2020-01-01T00:00:00Z", "same files", 0.4)
    answer = explain(
        repository.path, "cart.py", outcome=lambda sha: mended if sha == first else None, related=lambda entry: [near]
    )
    value = answer.to_dict()["commits"][1]
    assert value["outcome"]["verdict"] == "hotfixed"
    assert value["related"][0]["inferred"] is True
    assert answer.writers[0].outcome is None


def test_a_merge_that_wrote_a_line_itself(repository: Repository) -> None:
    repository.commit("Start", a__txt="1\n2\n3\n")
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("Side", a__txt="1\nside\n3\n")
    repository.git("checkout", "-q", "main")
    repository.commit("Main", a__txt="1\nmain\n3\n")
    repository.git("merge", "-q", "side", check=False)
    merged = repository.commit("Merge side", a__txt="1\nboth\n3\n")
    entry = explain(repository.path, "a.txt", 2, 2).writers[0]
    assert entry.sha == merged and entry.excerpt is not None
    assert entry.excerpt.text == "-main\n+both"


def test_odd_names_and_contents(repository: Repository) -> None:
    names = ('a "b"\tc.txt', "ü ö.txt", ":(top)z", "-w", "crlf.txt")
    for name in names:
        repository.write(name, f"{name}\r\nq\r\n")
    sha = repository.commit("Odd")
    for name in names:
        (entry,) = explain(repository.path, name).writers
        assert (entry.sha, entry.path) == (sha, name)
        assert entry.excerpt is not None and "\r" not in entry.excerpt.text


def test_an_empty_file_has_no_lines(repository: Repository) -> None:
    repository.commit("Start", empty__py="", last__txt="no newline")
    answer = explain(repository.path, "empty.py")
    assert (answer.writers, answer.start_line, answer.end_line, answer.total) == ((), 0, 0, 0)
    assert explain(repository.path, "last.txt").end_line == 1
    with pytest.raises(QueryError, match="has no lines"):
        explain(repository.path, "empty.py", 1, 1)


@pytest.mark.parametrize(("first", "last"), [(0, 1), (-3, 2), (4, 2), (7, 7), (1, 99), (99, None)])
def test_lines_that_are_not_there(written: Written, first: int, last: int | None) -> None:
    with pytest.raises(QueryError) as caught:
        explain(written[0].path, "cart.py", first, last)
    assert caught.value.hint


def test_files_without_a_past(written: Written) -> None:
    repository, _, _ = written
    repository.write("new.py", "x = 1\n")
    repository.write(".gitignore", "*.log\n")
    repository.write("x.log", "x\n")
    repository.write("folder/x.txt", "x\n")
    (repository.path / "link.py").symlink_to("cart.py")
    (repository.path / "binary.bin").write_bytes(b"\0\1\2")
    repository.git("add", "binary.bin")
    for path, words in {
        "new.py": "not tracked", "x.log": "ignored", "folder": "is a folder", "link.py": "symbolic link",
        "binary.bin": "binary", "gone.py": "there is no gone.py", "../cart.py": "outside", "/etc/passwd": "not a path",
        "": "not a path", "a\0b": "not a path", "cart.py/x": "there is no",
    }.items():  # fmt: skip
        with pytest.raises(PathError, match=words) as caught:
            explain(repository.path, path)
        assert caught.value.hint, path


def test_a_removed_file_names_the_commit_that_removed_it(written: Written) -> None:
    repository, _, _ = written
    gone = repository.commit("Close the shop", cart__py=None)
    with pytest.raises(PathError, match=f"removed or renamed by {gone[:7]}.* Close the shop"):
        explain(repository.path, "cart.py")


def test_no_commits_and_no_repository(repository: Repository, tmp_path: Path) -> None:
    repository.write("a.py", "x = 1\n")
    with pytest.raises(PathError, match="no commits"):
        explain(repository.path, "a.py")
    (tmp_path / "plain").mkdir()
    with pytest.raises(PathError, match="no commits"):
        explain(tmp_path / "plain", "a.py")


def test_a_bare_repository_is_read_at_its_head(written: Written, tmp_path: Path) -> None:
    repository, first, second = written
    subprocess.run(["git", "clone", "-q", "--bare", str(repository.path), str(tmp_path / "bare")], check=True)
    answer = explain(tmp_path / "bare", "cart.py")
    assert ([entry.sha for entry in answer.writers], answer.revision) == ([second, first], "HEAD")
    with pytest.raises(PathError, match="HEAD has no"):
        explain(tmp_path / "bare", "other.py")


def test_a_shallow_clone_says_that_it_is_cut_off(written: Written, tmp_path: Path) -> None:
    repository, _, second = written
    source, target = f"file://{repository.path}", str(tmp_path / "shallow")
    subprocess.run(["git", "clone", "-q", "--depth", "1", source, target], check=True)
    answer = explain(tmp_path / "shallow", "cart.py")
    assert [(entry.sha, entry.boundary) for entry in answer.writers] == [(second, True)]
    assert "cut off" in answer.degraded[0].reason


def test_a_repository_cannot_make_us_run_its_programs(written: Written) -> None:
    repository, first, second = written
    mark = repository.path / "ran"
    evil = ("filter.evil.clean", "filter.evil.process", "diff.evil.textconv", "diff.evil.command", "diff.external")
    for key in (*evil, "gpg.program"):
        repository.git("config", key, f"touch {mark}; cat")
    repository.git("config", "filter.evil.required", "true")
    repository.git("config", "log.showSignature", "true")
    repository.write(".gitattributes", "*.py filter=evil diff=evil\n")
    assert {entry.sha for entry in explain(repository.path, "cart.py").writers} == {first, second}
    assert not mark.exists()


def test_settings_of_a_user_change_nothing(written: Written) -> None:
    repository, _, _ = written
    before = explain(repository.path, "cart.py")
    for key, value in {
        "diff.noprefix": "true", "diff.mnemonicPrefix": "true", "color.ui": "always", "blame.showRoot": "true",
        "blame.showEmail": "true", "diff.context": "9", "log.follow": "true", "diff.orderFile": "missing",
        "core.quotePath": "true",
    }.items():  # fmt: skip
        repository.git("config", key, value)
    assert explain(repository.path, "cart.py") == before


def test_a_setting_of_git_that_breaks_blame_is_named(written: Written) -> None:
    repository, _, _ = written
    repository.git("config", "blame.ignoreRevsFile", "missing")
    with pytest.raises(PathError) as caught:
        explain(repository.path, "cart.py")
    assert "blame.ignoreRevsFile names missing" in caught.value.hint


# -- the engine and the command ----------------------------------------------------------------------------------------


def test_the_engine_explains_without_an_index(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    repository, first, _ = written
    monkeypatch.chdir(repository.path)
    with Engine.open(repository.path) as engine:
        assert engine.explain("cart.py", 5, 6).writers[0].sha == first
        assert engine.explain(repository.path / "cart.py").path == "cart.py"
        with pytest.raises(PathError):
            engine.explain(repository.path.parent / "elsewhere.py")
    assert not (repository.path / ".lurcher").exists()


def test_a_repository_within_another_has_its_own_past(written: Written) -> None:
    repository, _, _ = written
    inner = Repository(repository.path / "lib")
    sha = inner.commit("Inside", x__py="x = 1\n")
    with Engine.open(repository.path) as engine:
        answer = engine.explain(repository.path / "lib/x.py")
    assert (answer.path, answer.writers[0].sha, answer.writers[0].path) == ("lib/x.py", sha, "lib/x.py")


def test_the_command(written: Written, run: Callable[..., Any]) -> None:
    repository, first, second = written
    result = run("explain", "cart.py:2", cwd=repository.path)
    assert (result.status, result.out.splitlines()) == (
        0,
        [
            f"cart.py:2  {second[:10]}  2020-09-13  Ada",
            "    Fix negative counts",
            "    They were sold for less than nothing.",
            "    -     return price * count",
            "    +     return price * max(count, 0)",
        ],
    )
    value = run("explain", "cart.py:5-6", "--json", cwd=repository.path).json
    assert [entry["sha"] for entry in value["commits"]] == [first]
    assert json.dumps(value)
    result = run("explain", "cart.py", "-k", "1", cwd=repository.path)
    assert result.err == "1 of 2 commits; more: -k 2\n"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("cart.py:9-12", "has 6 lines"),
        ("cart.py:", "names no lines"),
        ("none.py", "no none.py"),
        ("cart.py:3-2", "no lines 3-2"),
    ],
)
def test_the_command_on_bad_input(written: Written, run: Callable[..., Any], asked: str, words: str) -> None:
    result = run("explain", asked, cwd=written[0].path)
    assert result.status == 2 and words in result.err and result.out == ""


def test_the_command_in_a_bare_repository(written: Written, run: Callable[..., Any], tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "-q", "--bare", str(written[0].path), str(tmp_path / "bare")], check=True)
    result = run("explain", "cart.py:2", cwd=tmp_path / "bare")
    assert result.status == 0 and "Fix negative counts" in result.out


# -- the parts ---------------------------------------------------------------------------------------------------------


def test_porcelain_is_parsed_as_documented() -> None:
    output = (
        b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 3 1 2\nauthor A \xff\nauthor-mail <a@b>\nauthor-time 5\nauthor-tz +0000\n"
        b'summary S\nprevious bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb "o\\tld"\nfilename new\n\tone\r\n'
        b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 4 2\n\taaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1 1\n"
    )
    found = parse_blame(output)
    assert [(line.number, line.original, line.path, line.text) for line in found.lines] == [
        (1, 3, "new", "one"), (2, 4, "new", "a" * 40 + " 1 1"),
    ]  # fmt: skip
    header = found.headers["a" * 40]
    assert (header.email, header.authored, header.subject, header.previous) == ("a@b", 5, "S", "o\tld")


@given(st.binary(max_size=300))
@example(b"\\8")
def test_no_output_of_git_raises(output: bytes) -> None:
    parse_blame(output)
    unquote_path(b'"' + output + b'"')


@given(st.sets(st.integers(1, 60)))
def test_runs_cover_exactly_the_numbers(numbers: set[int]) -> None:
    assert {n for first, last in line_runs(sorted(numbers)) for n in range(first, last + 1)} == numbers


def test_an_excerpt_shows_the_requested_lines() -> None:
    hunk = Hunk(1, 10, "", ("old",), tuple(f"new {i}" for i in range(10, 60)))
    shown = make_excerpt("a", (hunk,), [40], 5)
    assert shown is not None
    assert (shown.start_line, shown.text.split("\n")[:2], shown.left_out) == (40, ["-old", "+new 40"], 46)
    assert make_excerpt("a", (hunk,), [99], 5) is None
