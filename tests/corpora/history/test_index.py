"""The life cycle of a history index: built newest first, updated, interrupted, damaged, shared."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lurcher.corpora.history import update
from lurcher.corpora.history.index import HistoryIndex, HistoryView
from lurcher.corpora.history.snapshot import HistorySnapshot
from lurcher.errors import PathError
from lurcher.sources.git import log
from lurcher.storage.tables import to_direction
from lurcher.vectors.table import QUERY
from tests.corpora.history.repo import Repo, dump_snapshot, open_history, silent

LINES = "".join(f"def alpha_{i}(value):\n    return value + {i}\n\n" for i in range(12))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "FIRST_BATCH", 5)


@pytest.fixture(scope="module")
def seventeen(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """A repository to copy: git takes most of the time of these tests."""
    return add_commits(Repo(tmp_path_factory.mktemp("seventeen") / "repo"), 17)


@pytest.fixture
def repo(seventeen: Repo, tmp_path: Path) -> Repo:
    shutil.copytree(seventeen.top, tmp_path / "repo", symlinks=True)
    copy = Repo.at(tmp_path / "repo")
    copy.now = seventeen.now
    return copy


def add_commits(repo: Repo, count: int) -> Repo:
    """One commit after the other, of several kinds."""
    for i in range(count):
        repo.commit(f"{'fix' if i % 3 else 'add'} number {i}\n\nline one of {i}", {
            "src/a.py": LINES.replace(f"+ {i % 12}\n", f"+ {i} + one\n"), f"src/b{i % 4}.py": f"beta = {i}\n",
            "tests/test_a.py": f"def test_gamma():\n    assert {i}\n", "README.md": f"limit {i}\n",
        })  # fmt: skip
    return repo


def build_index(top: Path, folder: Path, **options: Any) -> HistorySnapshot:
    """An index of all commits, made at once."""
    return open_history(top, folder, **options).view(silent, seconds=None).history


def dump_fresh_index(repo: Repo, tmp_path: Path, **options: Any) -> dict[str, Any]:
    folder = tmp_path / f"fresh-{len(list(tmp_path.glob('fresh-*')))}"
    return dump_snapshot(build_index(repo.top, folder, batch=1000, **options))


def test_indexed_commits_equal_those_of_git(repo: Repo, tmp_path: Path) -> None:
    history = build_index(repo.top, tmp_path / "i", batch=3)
    commits = repo.read()
    assert [history.commit(i) for i in history.newest_first.tolist()] == commits
    assert history.coverage == 1.0
    assert history.commit_count == history.total == 17
    number = history.number_of(commits[3].sha[:10])
    assert number is not None and history.sha(number) == commits[3].sha
    assert history.number_of(commits[3].sha[:11].upper()) == number
    assert history.number_of("0000000000") is None and history.number_of("no hash") is None and history.number_of("") is None


def test_units_fields_and_columns(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    before = {"src/pool.py": LINES, "tests/test_pool.py": "x = 1\n", "docs/guide.md": "old words\n", "CHANGES.rst": "x\n"}
    repo.commit("base", {**before})
    changed = LINES.replace("return value + 4", "return cached_value + 4")
    repo.commit("Cache the getHTTPResponse result\n\nIt was slow.", {
        "src/pool.py": changed + "class RetryPolicy:\n    pass\n", "tests/test_pool.py": "x = assertion_word\n",
        "docs/guide.md": "documentation words\n", "CHANGES.rst": "changelog words\n",
    })  # fmt: skip
    history = build_index(repo.top, tmp_path / "i")
    newest = int(history.newest_first[0])

    def has(family: str, word: str) -> bool:
        owners = history.postings(family, word)[0]
        commits = history.hunk_commit[owners] if family in ("hunk", "symbols") else owners
        return newest in commits.tolist()

    assert has("subject", "gethttpresponse") and has("subject", "response") and not has("body", "response")
    assert has("body", "slow")
    assert has("paths", "pool") and has("paths", "tests")
    assert has("headings", "alpha") and not has("headings", "return")
    assert has("code", "cached") and not has("code", "assertion") and not has("code", "documentation")
    assert has("tests", "assertion") and not has("tests", "cached")
    assert has("hunk", "old") and has("hunk", "documentation") and has("hunk", "changelog")
    assert has("symbols", "retrypolicy") and has("symbols", "alpha")
    kinds = {view.path: view.kind for view in history.changes_of(newest)}
    assert kinds == {"src/pool.py": "code", "tests/test_pool.py": "test", "docs/guide.md": "docs", "CHANGES.rst": "changelog"}
    hunks = [history.hunk(i) for view in history.changes_of(newest) if view.path == "src/pool.py" for i in view.hunks]
    assert [(hunk.name, hunk.language) for hunk in hunks] == [("alpha_4", "python"), ("alpha_11", "python")]
    first = next(i for view in history.changes_of(newest) if view.path == "src/pool.py" for i in view.hunks)
    assert history.hunk_lines(first) == (("    return value + 4",), ("    return cached_value + 4",))
    assert len(history.postings("subject", "cache")[0]) == 1
    assert history.lengths("subject")[0][newest] == len("cache the gethttpresponse get http response result".split())


def test_vectors_point_at_what_was_requested(repo: Repo, tmp_path: Path) -> None:
    made = open_history(repo.top, tmp_path / "i", batch=4)
    history = made.view(silent, seconds=None).history
    table = made.model.table
    assert table is not None and history.dims == table.dims
    whole = build_index(repo.top, tmp_path / "j", batch=1000)
    direction = to_direction(table.vectors(["limit", "number"], QUERY).astype(float).sum(axis=0))
    by_name = {history.sha(i): value for i, value in enumerate(history.commit_cosines(direction).tolist())}
    assert by_name == {whole.sha(i): value for i, value in enumerate(whole.commit_cosines(direction).tolist())}
    assert len(history.hunk_cosines(direction)) == history.hunk_total
    some = history.live_hunks.nonzero()[0][::3]
    assert history.cosines_of_hunks(some, direction).tolist() == history.hunk_cosines(direction)[some].tolist()


def test_the_newest_come_first_and_the_rest_follows(repo: Repo, tmp_path: Path) -> None:
    made = open_history(repo.top, tmp_path / "i", batch=4)
    view = made.view(silent, seconds=0)
    assert view.history.commit_count == 5
    assert [view.history.sha(i) for i in view.history.newest_first.tolist()] == [commit.sha for commit in repo.read()[:5]]
    assert view.coverage == pytest.approx(5 / 17)
    assert [note.reason for note in view.degraded] == ["the newest 5 of 17 commits are searched so far (29 %)"]
    counts = [made.view(silent, seconds=0).history.commit_count for _ in range(15)]
    assert counts[-1] == 17 and counts == sorted(counts)
    assert dump_snapshot(made.view(silent).history) == dump_fresh_index(repo, tmp_path)


def test_an_unchanged_history_is_recognised_without_git(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = open_history(repo.top, tmp_path / "i")
    before = made.view(silent, seconds=None)
    monkeypatch.setattr("subprocess.Popen", None)
    again = made.view(silent)
    assert again.history is before.history
    assert again.fresh
    assert open_history(repo.top, tmp_path / "i").view(silent).history.commit_count == 17


@pytest.mark.parametrize("packed", [False, True])
def test_a_moved_head_is_noticed_with_loose_and_with_packed_refs(repo: Repo, tmp_path: Path, packed: bool) -> None:
    made = open_history(repo.top, tmp_path / "i")
    made.view(silent, seconds=None)
    if packed:
        repo.git("pack-refs", "--all")
    assert made.view(silent, refresh=False).fresh
    repo.commit("more", {"x": "1\n"})
    stale = made.view(silent, refresh=False)
    assert not stale.fresh and "HEAD has moved" in stale.degraded[0].reason
    assert made.view(silent).history.commit_count == 18


def test_only_new_commits_are_read(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = open_history(repo.top, tmp_path / "i")
    made.view(silent, seconds=None)
    asked = record_reads(monkeypatch)
    new = [repo.commit(f"further {i}", {"src/a.py": f"one = {i}\n"}) for i in range(2)]
    view = made.view(silent)
    assert asked == new[::-1]
    assert dump_snapshot(view.history) == dump_fresh_index(repo, tmp_path)


@pytest.mark.parametrize("back", [60, 300, 100_000])
def test_a_clock_that_went_wrong_does_not_disturb_the_order(repo: Repo, tmp_path: Path, back: int) -> None:
    made = open_history(repo.top, tmp_path / "i")
    made.view(silent, seconds=None)
    repo.git("checkout", "-q", "-b", "side", "HEAD~3")
    repo.now -= back
    for i in range(3):
        repo.commit(f"early {i}", {f"early{i}.py": f"one = {i}\n"})
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "late", "side")
    history = made.view(silent, seconds=None).history
    assert dump_snapshot(history) == dump_fresh_index(repo, tmp_path)
    rank = {history.sha(i): place for place, i in enumerate(history.newest_first.tolist())}
    for commit in repo.read():
        assert all(rank[commit.sha] < rank[parent] for parent in commit.parents if parent in rank)


def record_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commits that are read from now on."""
    asked: list[str] = []
    real = log.read_commits

    def read(top: Path, shas: list[str], *rest: Any) -> Any:
        asked.extend(shas)
        return real(top, shas, *rest)

    monkeypatch.setattr(log, "read_commits", read)
    return asked


def rebased(repo: Repo) -> None:
    repo.git("checkout", "-q", "-B", "main", "HEAD~4")
    add_commits(repo, 2)


def amended(repo: Repo) -> None:
    repo.now += 60
    repo.git("commit", "-q", "--amend", "-m", "amended")


def dropped(repo: Repo) -> None:
    repo.git("reset", "-q", "--hard", "HEAD~9")


def another_branch(repo: Repo) -> None:
    repo.git("checkout", "-q", "--orphan", "unrelated")
    repo.commit("unrelated", {"q": "1\n"})


def merged(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "side", "HEAD~6")
    repo.commit("on the side", {"side.py": "gamma = 1\n"})
    repo.git("checkout", "-q", "main")
    repo.now += 60
    repo.git("merge", "-q", "--no-ff", "-m", "merge it", "side")


@pytest.mark.parametrize("rewrite", [rebased, amended, dropped, another_branch, merged])
def test_a_rewritten_history(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rewrite: Callable[[Repo], None]
) -> None:
    made = open_history(repo.top, tmp_path / "i", batch=4)
    before = {commit.sha for commit in repo.read()}
    made.view(silent, seconds=None)
    asked = record_reads(monkeypatch)
    rewrite(repo)
    view = made.view(silent, seconds=None)
    now = {commit.sha for commit in repo.read()}
    assert set(asked) == now - before
    assert dump_snapshot(view.history) == dump_fresh_index(repo, tmp_path)
    assert view.history.total == len(now)
    repo.git("checkout", "-q", "-B", "main", sorted(before)[0])
    assert dump_snapshot(made.view(silent, seconds=None).history) == dump_fresh_index(repo, tmp_path), "and back again"


def test_the_old_tip_may_be_gone(repo: Repo, tmp_path: Path) -> None:
    made = open_history(repo.top, tmp_path / "i")
    made.view(silent, seconds=None)
    amended(repo)
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert dump_snapshot(made.view(silent).history) == dump_fresh_index(repo, tmp_path)


def test_a_picked_commit_is_one_change(repo: Repo, tmp_path: Path) -> None:
    repo.git("checkout", "-q", "-b", "release")
    original = repo.commit("the fix", {"fix.py": "limit = 7\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("unrelated", {"z.py": "z = 1\n"})
    repo.now += 60
    repo.git("cherry-pick", "-x", original)
    picked = repo.head
    repo.git("merge", "-q", "--no-ff", "-m", "back", "release")
    history = build_index(repo.top, tmp_path / "i")
    first, second = history.number_of(original), history.number_of(picked)
    assert first is not None and second is not None
    assert history.same_change[first] == history.same_change[second] == first
    assert sum(history.same_change[i] != i for i in range(history.commit_total)) == 1


def test_few_segments_however_it_grew(repo: Repo, tmp_path: Path) -> None:
    made = open_history(repo.top, tmp_path / "i", batch=1)
    assert len(made.view(silent, seconds=None).manifest.segments) <= 8
    for i in range(12):
        repo.commit(f"further {i}", {"src/a.py": f"one = {i}\n"})
        assert len(made.view(silent).manifest.segments) <= 8
    assert len(list((tmp_path / "i/history").glob("*.segment"))) <= 8, "what is no longer named is swept away"
    assert dump_snapshot(made.view(silent).history) == dump_fresh_index(repo, tmp_path)


def test_settings_decide(repo: Repo, tmp_path: Path) -> None:
    few = open_history(repo.top, tmp_path / "i", max_commits=7).view(silent, seconds=None)
    assert (few.history.commit_count, few.history.total) == (7, 17)
    assert [note.hint for note in few.degraded] == [""]
    merged(repo)
    plain = open_history(repo.top, tmp_path / "i").view(silent, seconds=None)
    assert plain.history.commit_count == 18
    other = open_history(repo.top, tmp_path / "i", first_parent=True)
    view = other.view(silent, seconds=None)
    assert "first_parent" in view.degraded[0].reason and "rebuilt" in view.degraded[0].reason
    assert view.history.commit_count == 18 and view.history.subject(int(view.history.newest_first[0])) == "merge it"
    repo.commit("later", {"x": "1\n"})
    assert other.view(silent).history.commit_count == 19
    everything = open_history(repo.top, tmp_path / "j", merges=True).view(silent, seconds=None)
    assert everything.history.commit_count == 20


def test_no_commit_and_no_repository(tmp_path: Path) -> None:
    empty = Repo(tmp_path / "empty")
    made = open_history(empty.top)
    view = made.view(silent)
    assert (view.history.commit_count, view.coverage, view.degraded, view.fresh) == (0, 1.0, (), True)
    assert view.history.newest_first.tolist() == [] and view.history.postings("subject", "x")[0].tolist() == []
    empty.commit("first", {"a": "1\n"})
    assert made.view(silent).history.commit_count == 1
    with pytest.raises(PathError, match="no git history"):
        open_history(tmp_path).view(silent)


def test_a_shallow_clone_and_its_deepening(repo: Repo, tmp_path: Path) -> None:
    repo.git("clone", "-q", "--depth", "4", f"file://{repo.top}", str(tmp_path / "shallow"))
    clone = Repo.at(tmp_path / "shallow")
    made = open_history(clone.top, tmp_path / "i")
    history = made.view(silent).history
    assert history.commit_count == history.total == 4
    last = int(history.newest_first[-1])
    assert history.changes_of(last) == [], "without its parent nobody knows what it changed"
    clone.git("fetch", "-q", "--unshallow")
    assert dump_snapshot(made.view(silent).history) == dump_fresh_index(repo, tmp_path)
    assert dump_snapshot(made.view(silent).history) == dump_fresh_index(repo, tmp_path)


def test_bare_and_further_work_trees(repo: Repo, tmp_path: Path) -> None:
    expected = dump_fresh_index(repo, tmp_path)
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    assert dump_snapshot(build_index(tmp_path / "bare.git", tmp_path / "i")) == expected
    repo.git("worktree", "add", "-q", "-b", "there", str(tmp_path / "there"))
    made = open_history(tmp_path / "there", tmp_path / "j")
    assert dump_snapshot(made.view(silent, seconds=None).history) == expected
    there = Repo.at(tmp_path / "there")
    there.commit("only there", {"q": "1\n"})
    assert made.view(silent).history.commit_count == 18


def test_a_partial_clone_says_what_is_missing(repo: Repo, tmp_path: Path) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("clone", "-q", "--filter=blob:none", f"file://{repo.top}", str(tmp_path / "partial"))
    view = open_history(tmp_path / "partial", tmp_path / "i", batch=3).view(silent, seconds=None)
    assert view.history.commit_count == 17
    assert any("this clone lacks" in note.reason for note in view.degraded)
    assert open_history(tmp_path / "partial", tmp_path / "i", batch=3).view(silent).degraded == view.degraded


# Interruptions, damage, company.


def test_killed_at_any_moment_goes_on_where_it_was(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = os.fork()
    if child == 0:
        slow = log.read_commits

        def read(*rest: Any) -> Any:
            for commit in slow(*rest):
                time.sleep(0.05)
                yield commit

        log.read_commits = read
        try:
            build_index(repo.top, tmp_path / "i", batch=2)
        finally:
            os._exit(0)
    time.sleep(0.65)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    made = open_history(repo.top, tmp_path / "i", batch=2)
    found = made.read_from_disk()
    known = found[1].commit_count if found else 0
    asked = record_reads(monkeypatch)
    assert dump_snapshot(made.view(silent, seconds=None).history) == dump_fresh_index(repo, tmp_path)
    assert len(asked) == 17 - known + 17, "what was there is not read again; the second 17 are those of the fresh index"


def test_two_that_fill_at_once(repo: Repo, tmp_path: Path) -> None:
    def act() -> None:
        made = open_history(repo.top, tmp_path / "i", batch=2)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if made.view(silent, seconds=0).coverage == 1:
                return
        raise AssertionError("it does not get on")

    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            try:
                act()
                os._exit(0)
            except BaseException:
                os._exit(3)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    view = open_history(repo.top, tmp_path / "i", batch=2).view(silent)
    assert dump_snapshot(view.history) == dump_fresh_index(repo, tmp_path)


def test_a_query_during_indexing_gets_what_is_indexed_so_far(repo: Repo, tmp_path: Path) -> None:
    made = open_history(repo.top, tmp_path / "i", batch=2)
    made.view(silent, seconds=0)
    other = open_history(repo.top, tmp_path / "i", batch=2)
    with made.store.lock(1):
        view = other.view(silent)
    assert view.history.commit_count == 5
    assert any("is writing the index" in note.reason for note in view.degraded)


def damage(path: Path, share: float) -> None:
    data = bytearray(path.read_bytes())
    place = min(int(len(data) * share), len(data) - 1)
    data[place] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("what", ["manifest", "*.segment"])
def test_damage_is_noticed_and_repaired(repo: Repo, tmp_path: Path, what: str, share: float) -> None:
    build_index(repo.top, tmp_path / "i")
    damage(max((tmp_path / "i/history").glob(what)), share)
    made = open_history(repo.top, tmp_path / "i")
    notes = [note.reason for note in made.view(silent, seconds=None).degraded]
    if not any("rebuilt" in note for note in notes):
        assert made.repair(silent), "damage that only shows when it is read"
    view = made.view(silent, seconds=None)
    assert view.degraded == ()
    assert dump_snapshot(view.history) == dump_fresh_index(repo, tmp_path)
    assert not made.repair(silent)


def test_damage_that_shows_only_when_the_history_moves(repo: Repo, tmp_path: Path) -> None:
    build_index(repo.top, tmp_path / "i")
    made = open_history(repo.top, tmp_path / "i")
    segment = max((tmp_path / "i/history").glob("*.segment"), key=lambda path: path.stat().st_size)
    data = bytearray(segment.read_bytes())
    data[100] ^= 0xFF  # in the table of commits, which opening does not read
    segment.write_bytes(data)
    amended(repo)
    view = made.view(silent, seconds=None)
    assert any("fails its checksum; it was rebuilt" in note.reason for note in view.degraded)
    assert dump_snapshot(view.history) == dump_fresh_index(repo, tmp_path)


def test_a_segment_under_the_name_of_another_is_seen(repo: Repo, tmp_path: Path) -> None:
    made = open_history(repo.top, tmp_path / "i", batch=4)
    made.view(silent, seconds=None)
    segments = sorted((tmp_path / "i/history").glob("*.segment"))
    segments[0].write_bytes(segments[1].read_bytes())
    view = open_history(repo.top, tmp_path / "i", batch=4).view(silent, seconds=None)
    assert any("another name" in note.reason for note in view.degraded)
    assert dump_snapshot(view.history) == dump_fresh_index(repo, tmp_path)


def test_an_index_that_came_with_the_repository_is_not_believed(repo: Repo, tmp_path: Path) -> None:
    open_history(repo.top).view(silent, seconds=None)
    shutil.copytree(repo.top, tmp_path / "copy")
    view = open_history(tmp_path / "copy").view(silent, seconds=None)
    assert any("another folder" in note.reason for note in view.degraded)


def test_where_nothing_can_be_written_memory_serves(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    made = open_history(repo.top, tmp_path / "file", batch=4)
    view = made.view(silent, seconds=None)
    assert dump_snapshot(view.history) == dump_fresh_index(repo, tmp_path)
    assert any("in memory only" in note.reason for note in view.degraded)
    repo.commit("more", {"x": "1\n"})
    assert made.view(silent).history.commit_count == 18


def test_clear_and_rebuild(repo: Repo, tmp_path: Path) -> None:
    made = open_history(repo.top, tmp_path / "i")
    first = made.view(silent, seconds=None)
    again = made.rebuild(silent)
    assert again.manifest.generation > first.manifest.generation
    assert dump_snapshot(again.history) == dump_snapshot(first.history)
    assert made.clear() and not made.clear()
    assert not made.has_index()
    assert made.view(silent, seconds=None).history.commit_count == 17


ACTS = st.sampled_from(["commit", "commit", "rename", "amend", "back", "merge", "pick", "look", "look"])


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(acts=st.lists(ACTS, min_size=3, max_size=9), batch=st.integers(1, 4), seconds=st.sampled_from([0.0, None]))
def test_grown_in_steps_is_as_made_at_once(
    tmp_path_factory: pytest.TempPathFactory, acts: list[str], batch: int, seconds: float | None
) -> None:
    folder = tmp_path_factory.mktemp("grown")
    repo = add_commits(Repo(folder / "repo"), 3)
    made = open_history(repo.top, folder / "i", batch=batch)
    for number, act in enumerate([*acts, "look"]):
        act_on(repo, act, number, made, seconds)
    while not (view := made.view(silent, seconds=seconds)).manifest.complete:
        pass
    assert dump_snapshot(view.history) == dump_snapshot(build_index(repo.top, folder / "j", batch=1000))


def act_on(repo: Repo, act: str, number: int, made: HistoryIndex, seconds: float | None) -> HistoryView | None:
    if act == "look":
        return made.view(silent, seconds=seconds)
    if act == "rename":
        repo.git("mv", "src/a.py", f"src/c{number}.py")
        repo.commit(f"rename {number}", {"src/a.py": LINES})
    elif act == "amend":
        amended(repo)
    elif act == "back":
        if len(repo.read()) > 2:
            repo.git("reset", "-q", "--hard", "HEAD~1")
    elif act in ("merge", "pick"):
        repo.git("checkout", "-q", "-b", f"side{number}", "HEAD~1")
        repo.commit(f"side {number}", {f"side{number}.py": f"limit = {number}\n"})
        repo.git("checkout", "-q", "main")
        repo.now += 60
        if act == "merge":
            repo.git("merge", "-q", "--no-ff", "-m", f"merge {number}", f"side{number}")
        else:
            repo.git("cherry-pick", f"side{number}")
    else:
        repo.commit(f"add value {number}", {f"src/v{number % 3}.py": f"value = {number}\n"})
    return None
