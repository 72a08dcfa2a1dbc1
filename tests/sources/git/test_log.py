"""Commits are read correctly whatever a repository contains and however git is configured."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lurcher.sources.git.commit import ADDED, DELETED, MODIFIED, RENAMED, RETYPED
from lurcher.sources.git.log import Losses
from tests.corpora.history.repo import BEGIN, Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


def test_a_commit_with_everything(repo: Repo) -> None:
    first = repo.commit("Begin", {"src/a.py": "def alpha():\n    return 1\n\n\ndef beta():\n    return 2\n"})
    message = "Return three\nfrom beta\n\nTwo was wrong.\n\nSecond paragraph.\n\nFixes: #12\nSigned-off-by: Ada <ada@x>\n"
    sha = repo.commit(message, {"src/a.py": "def alpha():\n    return 1\n\n\ndef beta():\n    return 3\n"})
    commit = repo.one()
    assert (commit.sha, commit.parents, commit.author, commit.email) == (sha, (first,), "Ada", "ada@example.invalid")
    assert commit.authored == commit.committed == BEGIN + 120
    assert commit.subject == "Return three from beta"
    assert commit.body == "Two was wrong.\n\nSecond paragraph."
    assert commit.trailers == (("Fixes", "#12"), ("Signed-off-by", "Ada <ada@x>"))
    (change,) = commit.changes
    assert (change.path, change.status, change.old_path, change.added, change.removed) == ("src/a.py", MODIFIED, None, 1, 1)
    (hunk,) = change.hunks
    assert (hunk.old_start, hunk.new_start, hunk.removed, hunk.added) == (6, 6, ("    return 2",), ("    return 3",))
    assert hunk.heading == "def beta():"
    assert len(commit.patch_id) == 32


def test_newest_first_and_merges_left_out(repo: Repo) -> None:
    repo.commit("one", {"a": "1\n"})
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("two", {"b": "1\n"})
    repo.git("checkout", "-q", "-b", "other", "main")
    repo.commit("three", {"c": "1\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("four", {"d": "1\n"})
    repo.git("merge", "-q", "--no-ff", "-m", "octopus", "side", "other")
    assert [commit.subject for commit in repo.read()] == ["four", "three", "two", "one"]
    whole = repo.read(merges=True)
    assert [commit.subject for commit in whole] == ["octopus", "four", "three", "two", "one"]
    assert len(whole[0].parents) == 3
    assert whole[0].paths == ("b", "c"), "what the merge brought to its first parent"
    assert [commit.subject for commit in repo.read(first_parent=True)] == ["octopus", "four", "one"]


def test_a_root_commit_and_an_empty_one(repo: Repo) -> None:
    repo.commit("begin", {"a.txt": "x\n"})
    repo.commit("nothing at all")
    empty, root = repo.read()
    assert (empty.changes, empty.patch_id) == ((), "")
    assert root.parents == ()
    assert [(change.path, change.status, change.added) for change in root.changes] == [("a.txt", ADDED, 1)]


def test_no_commit_yet(repo: Repo) -> None:
    assert repo.read() == []


@pytest.mark.parametrize(
    "message",
    [
        "\x1e0123456789012345678901234567890123456789\n:100644 100644 a b M\ndiff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "commit 0123456789012345678901234567890123456789\nAuthor: E <e@e>\n\n    fake\n",
        "",
        "\n\n\n",
        "one line without an end",
        "crlf subject\r\n\r\ncrlf body\r\nmore\r\n",
        "# not a comment\n\n# nor this",
        "tabs\tand \x01 control \x7f characters\n\nbody \x1b[31m red",
        "ünïcödé — 漢字 🙂\n\nkörper",
        "s" * 70_000,
    ],
)
def test_messages_in_the_form_of_other_output_are_messages(repo: Repo, message: str) -> None:
    repo.commit(message, {"x": "1\n"})
    repo.commit("after", {"y": "1\n"})
    after, commit = repo.read()
    assert after.subject == "after"
    assert after.paths == ("y",)
    assert commit.paths == ("x",)
    words = message.replace("\r", "").split()
    assert f"{commit.subject} {commit.body}".split() == words or commit.trailers


def test_a_message_in_another_encoding(repo: Repo) -> None:
    repo.git("config", "i18n.commitEncoding", "ISO-8859-1")
    repo.commit("Größe geändert".encode("latin-1"), {"a": "1\n"})
    repo.git("config", "--unset", "i18n.commitEncoding")
    repo.commit("Größe vergessen".encode("latin-1"), {"a": "2\n"})
    assert [commit.subject for commit in repo.read()] == ["Größe vergessen", "Größe geändert"]


@pytest.mark.parametrize(
    "name",
    [
        "with space", 'quo"te', "back\\slash", "new\nline", "tab\there", "ünïcödé", " lead", "a/b/c", "-dash", "b", ":(top)x",
        "diff --git a", "dev null", "*", "[a]",
    ],
)  # fmt: skip
def test_any_path(repo: Repo, name: str) -> None:
    repo.commit("one", {name: "first\n"})
    repo.commit("two", {name: "second\n"})
    repo.commit("three", {name: None})
    gone, changed, made = repo.read()
    assert [commit.paths for commit in (gone, changed, made)] == [(name,)] * 3
    assert [commit.changes[0].status for commit in (gone, changed, made)] == [DELETED, MODIFIED, ADDED]
    (hunk,) = changed.changes[0].hunks
    assert (hunk.removed, hunk.added) == (("first",), ("second",))


def test_a_path_that_is_no_text(repo: Repo) -> None:
    path = os.fsencode(repo.top) + b"/caf\xe9.txt"
    with open(path, "wb") as handle:
        handle.write(b"x\n")
    repo.commit("odd", {"z": "1\n"})
    assert repo.one().paths == ("café.txt", "z")


def test_lines_in_the_form_of_a_diff_are_text(repo: Repo) -> None:
    hostile = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n\\ No newline at end of file\ndiff --git a/q b/q\n\x1eabc\n-minus\n+plus\n"
    repo.commit("one", {"a.txt": hostile, "b.txt": "last\n"})
    repo.commit("two", {"a.txt": hostile[::-1].strip("\n") + "\n", "b.txt": "other"})
    two, one = repo.read()
    assert "\n".join(one.changes[0].hunks[0].added) + "\n" == hostile
    assert [change.path for change in two.changes] == ["a.txt", "b.txt"]
    assert two.changes[1].hunks[0].added == ("other",)
    assert two.changes[1].added == two.changes[1].removed == 1


def test_line_ends_zero_bytes_and_no_line_feed_at_the_end(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "false")
    repo.commit("one", {"crlf.txt": b"a\r\nb\r\n", "open.txt": b"x", "cr.txt": b"a\rb\n"})
    repo.commit("two", {"crlf.txt": b"a\nb\r\n", "open.txt": b"x\ny", "cr.txt": b"a\rc\n"})
    changes = {change.path: change for change in repo.one().changes}
    assert changes["crlf.txt"].hunks[0].added == ("a",)
    assert changes["open.txt"].hunks[0].added == ("x", "y")
    assert changes["open.txt"].hunks[0].removed == ("x",)
    assert changes["cr.txt"].hunks[0].added == ("a\rc",)


def test_text_with_zero_bytes_that_is_declared_to_be_text(repo: Repo) -> None:
    repo.commit("one", {".gitattributes": "*.dat diff\n", "x.dat": b"a\0b\n\0\0\nend\n", "z.txt": "z\n"})
    commit = repo.one()
    assert commit.changes[1].hunks[0].added == ("a\0b", "\0\0", "end")
    assert commit.changes[2].hunks[0].added == ("z",)


def test_lines_in_another_encoding(repo: Repo) -> None:
    repo.commit("one", {"latin.py": "größe = 1\n".encode("latin-1"), "mixed.py": "größe = 'ü'\n".encode() + b"# \xff\n"})
    changes = {change.path: change for change in repo.one().changes}
    assert changes["latin.py"].hunks[0].added == ("größe = 1",)
    assert changes["mixed.py"].hunks[0].added[0] == "größe = 'ü'"


def test_a_binary_file_is_noted(repo: Repo) -> None:
    repo.commit("one", {"data.raw": b"\0\1\2" * 100, "a.py": "x = 1\n"})
    binary = repo.one().changes[1]
    assert (binary.path, binary.binary, binary.hunks, binary.added) == ("data.raw", True, (), 0)


def test_renames_with_and_without_a_change(repo: Repo) -> None:
    lines = "".join(f"line number {i}\n" for i in range(30))
    repo.commit("one", {"old.py": lines, "same.py": lines.upper()})
    (repo.top / "old.py").rename(repo.top / "new.py")
    (repo.top / "same.py").rename(repo.top / "kept.py")
    repo.commit("two", {"new.py": lines.replace("number 7\n", "number seven\n")})
    changes = {change.path: change for change in repo.one().changes}
    assert (changes["new.py"].status, changes["new.py"].old_path) == (RENAMED, "old.py")
    assert changes["new.py"].hunks[0].added == ("line number seven",)
    assert (changes["kept.py"].status, changes["kept.py"].old_path, changes["kept.py"].hunks) == (RENAMED, "same.py", ())


def test_modes_links_and_types(repo: Repo) -> None:
    repo.commit("one", {"run.sh": "#!/bin/sh\n", "plain": "text\n", "zz.py": "z = 1\n"})
    (repo.top / "run.sh").chmod(0o755)
    (repo.top / "plain").unlink()
    (repo.top / "plain").symlink_to("zz.py")
    repo.commit("two", {"zz.py": "z = 2\n"})
    changes = {change.path: change for change in repo.one().changes}
    assert (changes["run.sh"].status, changes["run.sh"].hunks) == (MODIFIED, ())
    assert changes["plain"].status == RETYPED
    assert (changes["plain"].added, changes["plain"].removed) == (1, 1)
    assert changes["zz.py"].hunks[0].added == ("z = 2",)


def test_a_submodule_that_moves(repo: Repo, tmp_path: Path) -> None:
    inner = Repo(tmp_path / "inner")
    first = inner.commit("inner one", {"i": "1\n"})
    repo.git("submodule", "--quiet", "add", str(inner.top), "lib")
    repo.commit("with a submodule", {"z.py": "z = 1\n"})
    second = inner.commit("inner two", {"i": "2\n"})
    Repo.at(repo.top / "lib").git("pull", "-q")
    repo.commit("bump", {"z.py": "z = 2\n"})
    changes = {change.path: change for change in repo.one().changes}
    assert changes["lib"].hunks[0].removed == (f"Subproject commit {first}",)
    assert changes["lib"].hunks[0].added == (f"Subproject commit {second}",)
    assert changes["z.py"].hunks[0].added == ("z = 2",)


def test_what_machines_wrote_is_left_out(repo: Repo) -> None:
    repo.commit("one", {
        "package-lock.json": "{}\n", "web/app.min.js": "x\n", "node_modules/a.js": "x\n", "vendor/b.c": "x\n",
        "real.py": "x = 1\n", "gen.py": "# Generated by a tool. DO NOT EDIT.\nx = 1\n", "wide.js": "a" * 30_000 + "\n",
    })  # fmt: skip
    changes = {change.path: change for change in repo.one().changes}
    assert {path for path, change in changes.items() if change.hunks} == {"real.py"}
    assert {path for path, change in changes.items() if change.truncated} == set(changes) - {"real.py"}
    assert all(change.added >= 1 for change in changes.values()), "lines are counted all the same"


def test_a_huge_diff_is_capped_code_first_and_counted_whole(repo: Repo) -> None:
    text = "".join(f"some_words_of_line_{i} = {i}\n" for i in range(3000))
    repo.commit("one", {"a/data.json": text, "b/notes.md": text, "c/tests/test_x.py": text, "d/code.py": text[:9000]})
    commit = repo.one(diff_bytes=20_000)
    changes = {change.path: change for change in commit.changes}
    kept = {path: sum(len(line) + 1 for hunk in change.hunks for line in hunk.added) for path, change in changes.items()}
    assert sum(kept.values()) <= 20_100
    assert kept["d/code.py"] == 9001
    assert kept["c/tests/test_x.py"] > 10_000
    assert kept["a/data.json"] == 0
    assert [changes[path].added for path in ("a/data.json", "b/notes.md", "c/tests/test_x.py")] == [3000] * 3
    assert [changes[path].truncated for path in sorted(changes)] == [True, True, True, False]
    assert commit.patch_id == repo.one(diff_bytes=100).patch_id, "the cap does not decide which changes are the same"


def test_the_same_change_has_the_same_patch_id(repo: Repo) -> None:
    repo.commit("base", {"a.py": "".join(f"line {i}\n" for i in range(40))})
    repo.git("checkout", "-q", "-b", "side")
    original = repo.commit("change", {"a.py": "".join(f"line {i}\n" if i != 30 else "changed\n" for i in range(40))})
    repo.git("checkout", "-q", "main")
    repo.commit("shift", {"a.py": "new first\n" + "".join(f"line {i}\n" for i in range(40))})
    repo.now += 600
    repo.git("cherry-pick", "-x", original)
    picked = repo.one()
    (source,) = repo.read(original)
    assert picked.sha != original
    assert picked.patch_id == source.patch_id != ""
    assert ("Cherry-picked-from", original) in picked.trailers
    repo.commit("another", {"a.py": "something else\n"})
    assert repo.one().patch_id != source.patch_id
    by_git = {repo.git("patch-id", "--stable", feed=repo.raw("diff-tree", "-p", sha))[:40] for sha in (picked.sha, original)}
    assert len(by_git) == 1, "git agrees"


def test_blanks_do_not_make_another_change(repo: Repo) -> None:
    repo.commit("base", {"a.py": "start\n"})
    repo.commit("spaces", {"a.py": "start\n    value = 1\n"})
    spaces = repo.one().patch_id
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.commit("tabs", {"a.py": "start\n\tvalue  =  1\n"})
    assert repo.one().patch_id == spaces
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.commit("other file", {"b.py": "    value = 1\n"})
    assert repo.one().patch_id != spaces


HOSTILE_SETTINGS = {
    "diff.noprefix": "true", "diff.mnemonicPrefix": "true", "log.showSignature": "true", "core.quotePath": "true",
    "i18n.logOutputEncoding": "ISO-8859-1", "color.ui": "always", "diff.external": "false", "core.pager": "false",
    "diff.context": "9",
    "diff.renames": "false", "diff.algorithm": "patience", "log.date": "relative", "format.pretty": "oneline",
    "diff.suppressBlankEmpty": "true", "diff.orderFile": "missing", "diff.submodule": "log", "diff.interHunkContext": "9",
    "diff.python.textconv": "false", "diff.wsErrorHighlight": "all", "log.follow": "true", "diff.statGraphWidth": "3",
    "core.attributesFile": "missing", "diff.ignoreSubmodules": "all", "diff.relative": "true", "diff.indentHeuristic": "false",
    "diff.srcPrefix": "x", "log.mailmap": "false", "diff.colorMoved": "zebra", "diff.dirstat": "lines", "log.decorate": "full",
}  # fmt: skip


def test_no_setting_of_the_user_changes_anything(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"def name_{i}():\n    return {i}\n\n" for i in range(20))
    repo.commit("Größe\n\nkörper", {"ö.py": lines, "gone.py": lines.upper()})
    (repo.top / "gone.py").rename(repo.top / "ümlaut.py")
    repo.commit("zwei", {"ö.py": lines.replace("return 7", "return 77")})
    before = repo.read()
    for name, value in HOSTILE_SETTINGS.items():
        repo.git("config", name, value)
    assert repo.read() == before
    for name in ("EXTERNAL_DIFF", "PAGER", "DIR", "DIFF_OPTS", "OBJECT_DIRECTORY", "TRACE", "INDEX_FILE"):
        monkeypatch.setenv(f"GIT_{name}", "/nowhere")
    assert repo.read() == before


def test_nothing_that_a_repository_names_is_run(repo: Repo, tmp_path: Path) -> None:
    spy = tmp_path / "spy.sh"
    spy.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    spy.chmod(0o755)
    repo.commit("one", {".gitattributes": "*.py diff=evil filter=evil\n", "a.py": "x = 1\n"})
    for name in ("diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "core.fsmonitor", "core.pager"):
        repo.git("config", name, str(spy))
    repo.put({"a.py": "x = 2\n"})
    repo.git("-c", "core.fsmonitor=false", "-c", "filter.evil.clean=", "commit", "-q", "-am", "two")
    (tmp_path / "ran").unlink(missing_ok=True)
    assert repo.one().changes[0].hunks[0].added == ("x = 2",)
    assert not (tmp_path / "ran").exists()


def test_detached_and_in_a_further_work_tree_and_bare(repo: Repo, tmp_path: Path) -> None:
    repo.commit("one", {"a.py": "a = 1\n"})
    repo.commit("two", {"a.py": "a = 2\n"})
    whole = repo.read()
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "other"))
    assert Repo.at(tmp_path / "other").read() == whole
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    assert Repo.at(tmp_path / "bare.git").read() == whole
    repo.git("checkout", "-q", "--detach", "HEAD~1")
    assert repo.read() == whole[1:]
    assert Repo.at(repo.top).read(whole[0].sha) == whole[:1]


def test_a_partial_clone_is_read_without_fetching(repo: Repo, tmp_path: Path) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    for i in range(6):
        repo.commit(f"commit {i}", {"old.py": f"value = {i}\n", **({"kept.py": "kept = 1\n"} if i == 3 else {})})
    repo.git("clone", "-q", "--filter=blob:none", f"file://{repo.top}", str(tmp_path / "partial"))
    partial = Repo.at(tmp_path / "partial")
    partial.raw("checkout", "-q", "HEAD", env={"GIT_NO_LAZY_FETCH": "0"})
    objects = sorted((tmp_path / "partial/.git").rglob("*.pack"))
    losses = Losses()
    found = partial.read(losses=losses)
    assert [commit.subject for commit in found] == [f"commit {i}" for i in range(5, -1, -1)]
    assert [commit.paths for commit in found] == [commit.paths for commit in repo.read()]
    assert losses.paths >= 4
    mixed = next(commit for commit in found if commit.subject == "commit 3")
    changes = {change.path: change for change in mixed.changes}
    assert changes["kept.py"].hunks[0].added == ("kept = 1",)
    assert changes["old.py"].truncated and not changes["old.py"].hunks
    assert sorted((tmp_path / "partial/.git").rglob("*.pack")) == objects


def test_a_clone_without_trees(repo: Repo, tmp_path: Path) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    for i in range(4):
        repo.commit(f"commit {i}", {"a.py": f"value = {i}\n"})
    repo.git("clone", "-q", "--no-checkout", "--filter=tree:0", f"file://{repo.top}", str(tmp_path / "bald"))
    losses = Losses()
    found = Repo.at(tmp_path / "bald").read(losses=losses)
    assert [commit.subject for commit in found] == [f"commit {i}" for i in range(3, -1, -1)]
    assert losses.trees == 4


def test_a_lost_object_costs_no_more_than_its_file(repo: Repo) -> None:
    for i in range(5):
        repo.commit(f"commit {i}", {"a.py": f"a = {i}\n", "b.py": f"b = {i}\n"})
    lost = repo.git("rev-parse", "HEAD~2:a.py").strip()
    (repo.top / ".git/objects" / lost[:2] / lost[2:]).unlink()
    found = repo.read()
    assert [commit.subject for commit in found] == [f"commit {i}" for i in range(4, -1, -1)]
    shown = [{change.path for change in commit.changes if change.hunks} for commit in found]
    assert shown == [{"a.py", "b.py"}, {"b.py"}, {"b.py"}, {"a.py", "b.py"}, {"a.py", "b.py"}]
