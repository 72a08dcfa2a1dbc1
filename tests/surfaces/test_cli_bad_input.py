"""Bad input: one line with a hint and exit status 2, or a sensible answer; never a traceback or a changed repository."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

QUESTION = "how are redirects followed"


def refused(result: Any, *words: str) -> None:
    """One line on stderr with a hint in brackets; nothing on stdout."""
    assert result.status == 2, result
    assert result.out == ""
    assert re.fullmatch(r"lurcher: [^\n]+ \([^\n]+\)\n", result.err), result.err
    assert all(word in result.err for word in words), result.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((QUESTION, "nowhere"), ["nowhere does not exist"]),
        ((QUESTION, os.devnull), ["neither a folder nor a regular file"]),
        (("",), ["query is empty"]),
        ((" \t\n ",), ["query is empty"]),
        (("\x01\x1b\x7f",), ["query is empty"]),
        ((QUESTION, "-k", "0"), ["limit is 0", "1 to 1000"]),
        ((QUESTION, "-k", "-3"), ["limit is -3"]),
        ((QUESTION, "-k", "100000"), ["limit is 100000"]),
        ((QUESTION, "-k", "ten"), ["ten", "a whole number"]),
        ((QUESTION, "--budget", "-5"), ["budget is -5"]),
        ((QUESTION, "--budget", "0"), ["budget is 0"]),
        ((QUESTION, "--budget", "1e3"), ["1e3"]),
        ((QUESTION, "--snippet-lines", "0"), ["snippet lines are 0"]),
        ((QUESTION, "--lang", "pythn"), ["unknown language 'pythn'", "did you mean python"]),
        ((QUESTION, "--lang", "qqqqq"), ["unknown language 'qqqqq'", "some that are known: "]),
        ((QUESTION, "--lang", ""), ["unknown language"]),
        ((QUESTION, "--path", ""), ["not a usable glob"]),
        ((QUESTION, "--exclude", "a" * 2000), ["not a usable glob"]),
        ((QUESTION, "--mode", "psychic"), ["psychic", "hybrid"]),
        ((QUESTION, "--ranking", "alphabetical"), ["alphabetical", "classic"]),
        ((QUESTION, "--context", "galaxy"), ["galaxy", "function"]),
        ((QUESTION, "--set", "search.limit"), ["not a setting", "section.name=value"]),
        ((QUESTION, "--set", "search.limt=3"), ["unknown setting", "search.limit"]),
        ((QUESTION, "--set", "search.limit=0"), ["cannot be 0", "1 to 1000"]),
        ((QUESTION, "--set", "search.limit=many"), ["whole number"]),
        ((QUESTION, "--set", "lexical.k1=nan"), ["lexical.k1"]),
        ((QUESTION, "--continue", "nonsense"), ["cursor is damaged"]),
        ((QUESTION, "--continue", ""), ["cursor is damaged"]),
        ((QUESTION, "--continue", "A" * 5000), ["cursor is too long"]),
        ((QUESTION, "--frobnicate"), ["--frobnicate"]),
        ((QUESTION, "--bud", "100"), ["--bud"]),
        ((), ["query"]),
    ],
)
def test_a_bad_question_is_refused_with_a_hint(
    shared: Path, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: list[str]
) -> None:
    monkeypatch.chdir(shared)
    refused(ask("search", *arguments), *words)


def test_the_process_refuses_in_the_same_way(shared: Path, run: Callable[..., Any]) -> None:
    refused(run("search", "", cwd=shared), "query is empty")
    refused(run("search", QUESTION, "--mode", "psychic", cwd=shared), "psychic")
    refused(run("frobnicate"), "frobnicate")
    refused(run("config", "shw", cwd=shared), "shw")
    refused(run("symbol", " ", cwd=shared), "empty")
    refused(run("symbol", "Client", "-k", "0", cwd=shared), "limit is 0")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("impct", "a.py"), ["'impct' is not a command", "did you mean impact?"]),
        (("serach", QUESTION), ["did you mean search?"]),
        (("timeouts",), ["'timeouts' is not a command", "lurcher search QUERY"]),
        (("search", QUESTION, "--rankng", "classic"), ["unknown flag --rankng", "did you mean --ranking?"]),
        (("index", "--wach"), ["did you mean --watch?"]),
        (("status", "--zzzz"), ["unknown flag --zzzz", "lurcher status --help"]),
        (("search", QUESTION, "--set", "serch.limit=5"), ["unknown setting", "did you mean 'search.limit'?"]),
        (("search", QUESTION, "--mode", "lexcal"), ["unknown mode 'lexcal'", "lexical"]),
        (("search", QUESTION, "--ranking", "clasic"), ["unknown ranking 'clasic'", "classic"]),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest_one(
    shared: Path, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: list[str]
) -> None:
    monkeypatch.chdir(shared)
    result = ask(*arguments)
    refused(result, *words)
    assert len(result.err) < 160, "not a list of everything there is"


def test_errors_are_json_too_on_request(shared: Path, ask: Callable[..., Any]) -> None:
    result = ask("search", "redirect", shared, "--json", "-k", "0")
    assert result.status == 2
    assert list(result.json) == ["error"]
    assert result.json["error"] == {"code": "query", "message": "the limit is 0", "hint": "use 1 to 1000"}
    assert result.err.count("\n") == 1


def test_a_query_of_a_megabyte_is_refused(shared: Path, run: Callable[..., Any]) -> None:
    refused(run("search", "-", shared, stdin="redirect " * 120_000), "characters", "at most 100,000")


def test_a_query_of_a_hundred_kilobytes_is_answered(shared: Path, run: Callable[..., Any]) -> None:
    assert run("search", "-", shared, stdin="how are redirects followed\n" * 3_700).status == 0


@pytest.mark.parametrize("query", ["?!", "... --- ...", "(((", "\\", "'", "*", "[", "\N{BLACK CHESS KNIGHT}", "$^"])
def test_punctuation_alone_finds_nothing(shared: Path, ask: Callable[..., Any], query: str) -> None:
    result = ask("search", "--", query, shared)
    assert (result.status, result.out, result.err) == (1, "", "nothing found\n")


@pytest.mark.parametrize("query", ["the", "how is it", "of the and"])
def test_stop_words_alone_are_taken_as_they_are(shared: Path, ask: Callable[..., Any], query: str) -> None:
    assert ask("search", query, shared, "--json").status in (0, 1)


@pytest.mark.parametrize("query", ["redirect\x00", "\x1b[31mredirect", "redirect\u202e", "redirect\ufffe\x07"])
def test_control_characters_are_ignored(shared: Path, ask: Callable[..., Any], query: str) -> None:
    result = ask("search", query, shared, "--json")
    assert result.status == 0
    assert "\\u001b" not in result.out and "\\u0000" not in result.out and "[31m" not in result.json["query"]


def test_arguments_that_are_not_utf8(shared: Path, run: Callable[..., Any]) -> None:
    refused(run("search", b"redirect \xff\xfe", shared, "-k", "1"), "not valid Unicode")
    refused(run("search", b"\xff\xfe", shared), "not valid Unicode")
    refused(run("search", "redirect", b"nowhere-\xff"), "does not exist")
    assert run("search", "redirect", shared, "--path", b"\xff*").status in (1, 2)
    refused(run("search", "redirect", shared, "--lang", b"\xff"), "unknown language")
    refused(run("search", "redirect", shared, "--continue", b"\xff"), "cursor is damaged")
    refused(run("symbol", b"\xff", shared), "not valid Unicode")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("limit = ", ["lurcher.toml", "not valid TOML"]),
        ("[search]\nlimt = 3\n", ["lurcher.toml", "search.limt", "search.limit"]),
        ("[search]\nlimit = 'three'\n", ["lurcher.toml", "search.limit", "whole number"]),
        ("[search]\nlimit = true\n", ["lurcher.toml", "search.limit", "whole number"]),
        ("[search]\nlimit = 5000\n", ["lurcher.toml", "search.limit", "1 to 1000"]),
        ("search = 3\n", ["lurcher.toml", "'search' is a section, and not a setting (write [search] on a line of its own"]),
        ("[search]\nmode = 'psychic'\n", ["lurcher.toml", "search.mode", "hybrid"]),
    ],
)
def test_a_broken_project_file_is_named(
    repository: Path, ask: Callable[..., Any], text: str, words: list[str]
) -> None:
    (repository / "lurcher.toml").write_text(text)
    refused(ask("search", QUESTION, repository), *words)


def test_a_broken_user_file_or_variable_is_named(shared: Path, tmp_path: Path, run: Callable[..., Any]) -> None:
    user = tmp_path / "mine.toml"
    user.write_bytes(b"\xff\xfe")
    refused(run("search", QUESTION, shared, env={"LURCHER_CONFIG": str(user)}), "mine.toml", "not valid TOML")
    refused(run("search", QUESTION, shared, env={"LURCHER_SEARCH_LIMIT": "many"}), "environment", "search.limit")


# -- files ----------------------------------------------------------------------------------------------------------------


def test_a_named_file_that_is_not_in_the_index_is_told(repository: Path, ask: Callable[..., Any]) -> None:
    (repository / "blob.py").write_bytes(b"redirects\0followed")
    result = ask("search", QUESTION, repository / "blob.py")
    assert result.status == 1 and result.out == ""
    assert "nothing found" in result.err
    assert re.search(r"^note: nothing is known of \S*blob\.py: it is not in the index: it is binary$", result.err, re.M)
    assert "is known" not in ask("search", "zebrawood", "--literal", repository / "src/client.py").err


def test_a_file_that_was_left_out_is_told_with_the_reason(
    repository: Path, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    (repository / "clients.py").write_bytes(b"a\0b")
    for command in ("outline", "impact", "context", "brief"):
        refused(ask(command, "clients.py"), "clients.py is not in the index: it is binary (to see what was left out")
    refused(ask("outline", "src/cliant.py"), "src/client.py")


def test_the_status_of_a_store_alone_says_nothing_of_this_folder(capsys: pytest.CaptureFixture[str]) -> None:
    from lurcher.surfaces.cli.print_inspect import print_status

    print_status({"exists": False, "root": "/nowhere", "shared": {"store": "postgres://db/here", "projects": []}})
    assert capsys.readouterr().out.split() == ["store", "postgres://db/here"]


def test_a_file_that_may_not_be_read_is_named_with_a_hint(
    repository: Path, run: Callable[..., Any], without_privileges: tuple[str, ...]
) -> None:
    closed = repository / "closed"
    closed.mkdir()
    (closed / "b.py").write_text("def b(): pass\n")
    closed.chmod(0)
    try:
        refused(run("outline", closed / "b.py", before=without_privileges), "b.py: Permission denied (check its permissions)")
    finally:
        closed.chmod(0o755)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_is_told_with_a_hint(shared: Path, run: Callable[..., Any]) -> None:
    result = run("outline", shared / "src/client.py", before=("sh", "-c", '"$@" > /dev/full', "sh"))
    assert result.status == 2
    assert result.err == "lurcher: No space left on device (make room on that disk, or write to another)\n"


# -- the index folder -----------------------------------------------------------------------------------------------------


def answered_from_memory(result: Any) -> None:
    assert result.status == 0
    assert "src/client.py" in result.out
    assert re.search(r"^note: the index is kept in memory only: .* \(set LURCHER_INDEX_DIR", result.err, re.M), result.err


def test_a_file_in_place_of_the_index_folder(repository: Path, run: Callable[..., Any]) -> None:
    (repository / ".lurcher").write_text("not a folder")
    refused(run("search", QUESTION, repository), ".lurcher is a file")
    assert (repository / ".lurcher").read_text() == "not a folder"


def test_a_file_in_place_of_a_shared_index_folder(shared: Path, tmp_path: Path, run: Callable[..., Any]) -> None:
    (tmp_path / "taken").write_text("")
    answered_from_memory(run("search", QUESTION, shared, env={"LURCHER_INDEX_DIR": str(tmp_path / "taken")}))


def test_a_place_where_nothing_can_be_written(
    repository: Path, run: Callable[..., Any], without_privileges: tuple[str, ...]
) -> None:
    repository.chmod(0o555)
    try:
        answered_from_memory(run("search", QUESTION, repository, before=without_privileges))
        noted = run("search", QUESTION, repository, "--json", before=without_privileges).json["degraded"]
        assert [note["stage"] for note in noted] == ["index"]
        assert run("symbol", "Client", repository, before=without_privileges).status == 0
        assert run("status", repository, before=without_privileges).status == 1
    finally:
        repository.chmod(0o755)
    assert not (repository / ".lurcher").exists()


def test_an_index_that_may_be_read_but_not_written(
    repository: Path, run: Callable[..., Any], without_privileges: tuple[str, ...]
) -> None:
    run("index", repository)
    (repository / "src" / "toy.py").write_text("def kaleidoscope():\n    return 1\n")
    (repository / ".lurcher").chmod(0o555)
    try:
        result = run("search", "kaleidoscope", repository, before=without_privileges)
    finally:
        (repository / ".lurcher").chmod(0o755)
    assert result.status == 0
    assert "toy.py" in result.out
    assert "in memory only" in result.err


def test_an_index_that_may_not_be_read(
    repository: Path, run: Callable[..., Any], without_privileges: tuple[str, ...]
) -> None:
    run("index", repository)
    (repository / ".lurcher").chmod(0)
    try:
        result = run("search", QUESTION, repository, before=without_privileges)
        status = run("status", repository, before=without_privileges)
    finally:
        (repository / ".lurcher").chmod(0o755)
    if result.status == 0:
        answered_from_memory(result)
    else:
        refused(result, "index")
    assert status.status in (1, 2)


def damage(path: Path, share: float) -> None:
    """Flip bits at some place of a file."""
    data = bytearray(path.read_bytes())
    position = min(int(len(data) * share), len(data) - 1)
    for i in range(position, min(position + 16, len(data))):
        data[i] ^= 0x5A
    path.write_bytes(data)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
@pytest.mark.parametrize("kind", ["manifest", "*.segment"])
def test_a_damaged_index_is_noticed_and_rebuilt(
    repository: Path, ask: Callable[..., Any], kind: str, share: float
) -> None:
    whole = ask("search", QUESTION, repository, "--json", "-k", "50").json
    damage(next((repository / ".lurcher").glob(kind)), share)
    result = ask("search", QUESTION, repository, "--json", "-k", "50")
    assert result.status == 0
    assert result.json["hits"] == whole["hits"]
    if result.json["degraded"]:
        assert result.json["degraded"][0]["stage"] == "index"
        assert "rebuilt" in result.json["degraded"][0]["reason"]
        assert ask("search", QUESTION, repository, "--json", "-k", "50").json["degraded"] == []
    else:
        # Bytes that no question of this kind reads are checked when something needs them.
        assert kind == "*.segment"


@pytest.mark.parametrize("kind", ["manifest", "*.segment"])
@pytest.mark.parametrize("how", ["emptied", "cut", "foreign", "gone"])
def test_a_lost_or_foreign_index_file_is_rebuilt(
    repository: Path, ask: Callable[..., Any], kind: str, how: str
) -> None:
    whole = ask("search", QUESTION, repository, "--json").json
    path = next((repository / ".lurcher").glob(kind))
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes({"emptied": b"", "cut": path.read_bytes()[:-10], "foreign": b"PK\x03\x04" * 50}[how])
    result = ask("search", QUESTION, repository, "--json")
    assert result.status == 0
    assert result.json["hits"] == whole["hits"]
    if (kind, how) != ("manifest", "gone"):
        assert "rebuilt" in result.json["degraded"][0]["reason"]
    assert ask("symbol", "Client", repository).status == 0


def test_symbol_survives_a_damaged_index(repository: Path, ask: Callable[..., Any]) -> None:
    before = ask("symbol", "Client", repository).out
    segment = next((repository / ".lurcher").glob("*.segment"))
    for share in (0.05, 0.4, 0.8):
        damage(segment, share)
    assert ask("symbol", "Client", repository).out == before


def test_a_damaged_index_where_nothing_can_be_written(
    repository: Path, run: Callable[..., Any], without_privileges: tuple[str, ...]
) -> None:
    run("index", repository)
    damage(next((repository / ".lurcher").glob("manifest")), 0.5)
    (repository / ".lurcher").chmod(0o555)
    try:
        result = run("search", QUESTION, repository, before=without_privileges)
    finally:
        (repository / ".lurcher").chmod(0o755)
    assert result.status == 0
    assert "src/client.py" in result.out
    assert "rebuilt" in result.err and "in memory only" in result.err


def test_the_repository_stays_clean(repository: Path, ask: Callable[..., Any], git_in: Callable[..., str]) -> None:
    ask("search", QUESTION, repository)
    ask("search", QUESTION, repository, "-k", "0")
    ask("index", repository, "--rebuild")
    ask("status", repository)
    ask("symbol", "Client", repository)
    ask("index", repository, "--clear")
    assert git_in(repository, "status", "--porcelain", "--untracked-files=all") == ""
