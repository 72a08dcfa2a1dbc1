"""Outcomes in the index: computed while it is updated, read by queries, the same however it grew."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lurcher import config
from lurcher.config.schema import OutcomeSettings
from lurcher.corpora.history import fixes, update
from lurcher.corpora.history.fixes import commit_order, decode_fixes, find_fixes, find_indexed_fixes, match_positions
from lurcher.corpora.history.index import HistoryIndex, HistoryView
from lurcher.corpora.history.outcomes import StoredVerdicts
from lurcher.indexing.root_index import select_model
from lurcher.storage import disk
from tests.corpora.history.repo import Repo, open_history, silent

CART = "def total(price, count):\n    result = price * count\n    return result + shipping\n"
MENDED = CART.replace("price * count", "price * max(count, 0)")


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "FIRST_BATCH", 4)


def open_with_rules(top: Path, folder: Path, **outcomes: Any) -> HistoryIndex:
    loaded = config.load(None, {f"outcomes.{name}": value for name, value in outcomes.items()})
    return HistoryIndex(top, loaded, folder / "history", select_model(loaded, top), "elsewhere")


def build_view(top: Path, folder: Path, **outcomes: Any) -> HistoryView:
    return open_with_rules(top, folder, **outcomes).view(silent, seconds=None)


def dump_outcomes(view: HistoryView) -> dict[str, Any]:
    """All outcomes by hash, and their mix."""
    history = view.history
    shas = [history.sha(number) for number in history.newest_first.tolist()]
    return {**{sha: view.verdicts.outcome_of(sha) for sha in shas}, "mix": view.verdicts.counts()}


def outcomes_file(folder: Path) -> Path:
    (path,) = (folder / "history").glob("*.outcomes")
    return path


def add_notes(repo: Repo, count: int) -> None:
    for i in range(count):
        repo.commit(f"note {i}", {f"notes/{i % 3}.md": f"{repo.now}\n"})


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A cart that was mended, a cache that was taken back, and others in between."""
    repo = Repo(tmp_path / "repo")
    repo.commit("begin", {"README.md": "x\n"})
    repo.commit("Add a cart", {"src/cart.py": CART})
    repo.commit("Fix negative counts", {"src/cart.py": MENDED})
    cache = repo.commit("Add a cache", {"src/cache.py": "cache = Cache(limit=10)\n"})
    add_notes(repo, 3)
    repo.put({"src/cache.py": None})
    repo.commit(f'Revert "Add a cache"\n\nIt leaked.\n\nThis reverts commit {cache}.\n')
    add_notes(repo, 2)
    return repo


def sha_of_subject(repo: Repo, subject: str) -> str:
    return next(commit.sha for commit in repo.read() if commit.subject == subject)


# What is told.


def test_outcomes_reverted_hotfixed_and_success(repo: Repo, tmp_path: Path) -> None:
    verdicts = build_view(repo.top, tmp_path / "i").verdicts
    back = verdicts.outcome_of(sha_of_subject(repo, "Add a cache"))
    assert (back.verdict, [entry.kind for entry in back.evidence]) == ("reverted", ["reverted"])
    assert (back.evidence[0].author, back.evidence[0].note) == ("Ada", "It leaked.")
    mended = verdicts.outcome_of(sha_of_subject(repo, "Add a cart"))
    assert mended.verdict == "hotfixed"
    assert mended.evidence[0].sha == sha_of_subject(repo, "Fix negative counts")
    assert mended.evidence[0].note.endswith("rewrites 1 line of it")
    assert verdicts.outcome_of(sha_of_subject(repo, "Fix negative counts")).verdict == "success"
    assert verdicts.counts() == {"reverted": 1, "hotfixed": 1, "success": 8}
    cache, cart = sha_of_subject(repo, "Add a cache"), sha_of_subject(repo, "Add a cart")
    assert verdicts.failed() == {cache: "reverted", cart: "hotfixed"}
    assert verdicts.recorded[sha_of_subject(repo, "Add a cart")] == mended
    assert verdicts.outcome_of("0" * 40).verdict == "success" and verdicts.outcome_of("no hash").verdict == "success"


def test_a_revert_that_is_reverted_in_turn(repo: Repo, tmp_path: Path) -> None:
    made = open_with_rules(repo.top, tmp_path / "i")
    assert made.view(silent).verdicts.outcome_of(sha_of_subject(repo, "Add a cache")).verdict == "reverted"
    revert = sha_of_subject(repo, 'Revert "Add a cache"')
    repo.commit(f'Reapply "Add a cache"\n\nThis reverts commit {revert}.\n', {"src/cache.py": "cache = Cache(limit=10)\n"})
    again = made.view(silent).verdicts
    assert again.outcome_of(sha_of_subject(repo, "Add a cache")).verdict == "success"
    assert [entry.kind for entry in again.outcome_of(sha_of_subject(repo, "Add a cache")).evidence] == ["revert-undone"]
    assert again.outcome_of(revert).verdict == "reverted"


def test_reverting_a_merge_reverts_its_commits(repo: Repo, tmp_path: Path) -> None:
    repo.git("checkout", "-q", "-b", "side")
    side = repo.commit("Add a queue", {"src/queue.py": "queue = Queue(limit=10)\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("beside", {"notes/x.md": "x\n"})
    repo.now += 60
    repo.git("merge", "-q", "--no-ff", "-m", "Merge branch 'side'", "side")
    repo.commit(f"Undo the queue\n\nThis reverts commit {repo.head}.\n", {"src/queue.py": None})
    verdicts = build_view(repo.top, tmp_path / "i").verdicts
    assert verdicts.outcome_of(side).verdict == "reverted"
    assert sum(verdicts.counts().values()) == len(repo.read())


def test_loose_evidence_decides_only_by_the_loose_rule(repo: Repo, tmp_path: Path) -> None:
    repo.commit("Fix the name", {"src/cart.py": MENDED + "# the end\nlast = shipping_of(everything)\n"})
    mender = sha_of_subject(repo, "Fix negative counts")
    strict = build_view(repo.top, tmp_path / "i").verdicts.outcome_of(mender)
    assert (strict.verdict, [entry.kind for entry in strict.evidence]) == ("success", ["followed"])
    assert build_view(repo.top, tmp_path / "j", strictness="loose").verdicts.outcome_of(mender).verdict == "hotfixed"


def test_fixes_from_the_index_are_those_from_git(repo: Repo, tmp_path: Path) -> None:
    repo.git("mv", "src/cart.py", "src/basket.py")
    repo.commit("Rename the cart")
    repo.commit("Fix the basket", {"src/basket.py": MENDED.replace("max(count, 0)", "abs(count)")})
    history = build_view(repo.top, tmp_path / "i").history
    order, rules = commit_order(history), OutcomeSettings()
    found = decode_fixes(find_indexed_fixes(history, order, rules), [history.sha(number) for number in order.tolist()])
    expected = find_fixes([commit for commit in repo.read() if len(commit.parents) < 2], rules)
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert any(fix.strict for fix in found) and not all(fix.strict for fix in found)


# However it grew.


def test_filled_in_part(repo: Repo, tmp_path: Path) -> None:
    made = open_with_rules(repo.top, tmp_path / "i")
    view = made.view(silent, seconds=0)
    assert view.history.commit_count == 4
    assert [note.reason for note in view.degraded] == ["the newest 4 of 10 commits are searched so far (40 %)"]
    assert view.verdicts.counts() == {"reverted": 0, "hotfixed": 0, "success": 4}
    while not (view := made.view(silent, seconds=0)).manifest.complete:
        assert sum(view.verdicts.counts().values()) == view.history.commit_count
    assert dump_outcomes(view) == dump_outcomes(build_view(repo.top, tmp_path / "j"))


def test_the_seam_between_what_was_there_and_what_came(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    first = repo.commit("Add a cart", {"src/cart.py": CART})
    made = open_with_rules(repo.top, tmp_path / "i")
    assert made.view(silent).verdicts.outcome_of(first).verdict == "success"
    repo.commit("Fix negative counts", {"src/cart.py": MENDED})
    assert made.view(silent).verdicts.outcome_of(first).verdict == "hotfixed"
    repo.git("reset", "-q", "--hard", "HEAD~1")
    assert made.view(silent).verdicts.outcome_of(first).verdict == "success"


def test_what_was_decided_is_not_decided_again(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = open_with_rules(repo.top, tmp_path / "i", window=2)
    made.view(silent, seconds=None)
    computed: list[tuple[int, int]] = []
    find_fixes_between = fixes._find_fixes_between

    def spy(history: Any, order: Any, start: int, end: int, rules: OutcomeSettings) -> Any:
        computed.append((start, end))
        return find_fixes_between(history, order, start, end, rules)

    monkeypatch.setattr(fixes, "_find_fixes_between", spy)
    repo.commit("one more", {"x.md": "x\n"})
    view = made.view(silent, seconds=None)
    assert computed == [(0, 3)], "the new one and the two in whose window it is"
    assert dump_outcomes(view) == dump_outcomes(build_view(repo.top, tmp_path / "j", window=2))


ACTS = st.sampled_from(["cart", "fix", "revert", "other", "rename", "amend", "back", "merge", "look"])


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    acts=st.lists(ACTS, min_size=3, max_size=12),
    window=st.integers(1, 4),
    batch=st.integers(1, 4),
    seconds=st.sampled_from([0.0, None]),
)
def test_grown_in_steps_is_as_made_at_once(
    tmp_path_factory: pytest.TempPathFactory, acts: list[str], window: int, batch: int, seconds: float | None
) -> None:
    folder = tmp_path_factory.mktemp("grown")
    repo = Repo(folder / "repo")
    repo.commit("begin", {"src/cart.py": CART, "src/b.py": "x = 1\n"})
    repo.commit("again", {"src/cart.py": MENDED})
    loaded = config.load(None, {"outcomes.window": window})
    made = HistoryIndex(repo.top, loaded, folder / "i/history", select_model(loaded, repo.top), "elsewhere")
    made.batch = batch
    for number, act in enumerate(acts):
        if act == "look":
            made.view(silent, seconds=seconds)
        else:
            act_on(repo, act, number)
    while not (view := made.view(silent, seconds=seconds)).manifest.complete:
        pass
    whole = build_view(repo.top, folder / "j", window=window)
    assert dump_outcomes(view) == dump_outcomes(whole)
    assert view.manifest.outcomes == whole.manifest.outcomes, "to the byte"


def act_on(repo: Repo, act: str, number: int) -> None:
    line = f"    result = price * {number} * count\n"
    cart = CART.replace("    result = price * count\n", line)
    name = next(iter(sorted(path.name for path in (repo.top / "src").glob("cart*"))))
    if act == "amend":
        repo.now += 60
        repo.git("commit", "-q", "--amend", "--allow-empty", "-m", f"amended {number}")
    elif act == "back":
        if len(repo.read()) > 2:
            repo.git("reset", "-q", "--hard", "HEAD~1")
    elif act == "rename":
        repo.git("mv", f"src/{name}", f"src/cart{number}.py")
        repo.commit(f"rename {number}")
    elif act == "merge":
        repo.git("checkout", "-q", "-b", f"side{number}", "HEAD~1")
        repo.commit(f"fix side {number}", {f"side{number}.py": f"limit = {number} * 1000\n"})
        repo.git("checkout", "-q", "main")
        repo.now += 60
        repo.git("merge", "-q", "--no-ff", "-m", f"merge {number}", f"side{number}")
    elif act == "revert":
        last = repo.read()[0]
        repo.commit(f'Revert "{last.subject}"\n\nThis reverts commit {last.sha}.\n')
    elif act == "other":
        repo.commit(f"other {number}", {"src/b.py": f"x = {number}\n"})
    else:
        repo.commit(f"{'Fix' if act == 'fix' else 'Change'} the cart {number}", {f"src/{name}": cart})


@given(
    st.lists(st.integers(1, 30), unique=True, max_size=30),
    st.lists(st.integers(1, 30), unique=True, max_size=30),
    st.integers(1, 5),
)
def test_unchanged_means_that_the_same_stand_before_it(old: list[int], new: list[int], window: int) -> None:
    import numpy as np

    found = match_positions(np.array(old, "<u8"), np.array(new, "<u8"), window).tolist()
    for place, before in enumerate(found):
        neighbours = new[max(0, place - window) : place + 1]
        same = [at for at in range(len(old)) if old[max(0, at - window) : at + 1] == neighbours]
        # Near the beginning the window must begin where the history does.
        assert before == (same[0] if same and (len(neighbours) > window or same[0] == place) else -1)


# Interrupted, changed, damaged.


def run_in_child(act: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException:
            os._exit(3)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_killed_at_any_step_of_it(repo: Repo, tmp_path: Path) -> None:
    expected = dump_outcomes(build_view(repo.top, tmp_path / "whole"))
    steps: list[bool] = []
    disk.observe_steps(lambda name, path: steps.append(name != "write" and "outcomes" in path.name))
    try:
        build_view(repo.top, tmp_path / "count")
    finally:
        disk.observe_steps(None)
    chosen = [number for number, ours in enumerate(steps) if ours]
    assert chosen
    # The step itself, and that behind it: the file is there then and no manifest names it.
    for number in sorted({*chosen, *(number + 1 for number in chosen)} - {len(steps)}):
        folder = tmp_path / f"killed-{number}"

        def act(number: int = number, folder: Path = folder) -> None:
            left = [number]

            def count(name: str, path: Path) -> None:
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)
                left[0] -= 1

            disk.observe_steps(count)
            build_view(repo.top, folder)

        assert run_in_child(act) == -signal.SIGKILL
        view = build_view(repo.top, folder)
        assert dump_outcomes(view) == expected
        # One that was to be removed when the end came stays until the next change.
        names = {path.name for path in (folder / "history").glob("*.outcomes")}
        assert view.manifest.outcomes.name in names and len(names) <= 2
        assert not list(folder.rglob("*.tmp"))


@pytest.mark.parametrize("changed", [{"window": 1}, {"overlap": 1.0}, {"words": "note"}, {"strictness": "loose"}])
def test_other_rules_are_noticed(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    before = build_view(repo.top, tmp_path / "i")
    unread = "git was read"
    read = lambda top, shas, *rest: pytest.fail(unread) if shas else iter(())  # noqa: E731
    monkeypatch.setattr("lurcher.sources.git.log.read_commits", read)
    after = build_view(repo.top, tmp_path / "i", **changed)
    assert after.manifest.segments == before.manifest.segments
    assert after.manifest.generation > before.manifest.generation
    monkeypatch.undo()
    assert dump_outcomes(after) == dump_outcomes(build_view(repo.top, tmp_path / "j", **changed))
    again = build_view(repo.top, tmp_path / "i", **changed)
    assert again.manifest.generation == after.manifest.generation


def test_who_must_not_write_still_judges_by_its_own_rules(repo: Repo, tmp_path: Path) -> None:
    build_view(repo.top, tmp_path / "i")
    view = open_with_rules(repo.top, tmp_path / "i", words="note").view(silent, refresh=False)
    assert dump_outcomes(view) == dump_outcomes(build_view(repo.top, tmp_path / "j", words="note"))
    assert view.manifest.outcomes.rules.count("words=fix") == 1


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9, 1.0, None])
def test_damage_is_noticed_and_what_is_damaged_rebuilt(repo: Repo, tmp_path: Path, share: float | None) -> None:
    expected = dump_outcomes(build_view(repo.top, tmp_path / "i"))
    path = outcomes_file(tmp_path / "i")
    sound = path.read_bytes()
    if share is None:
        path.unlink()
    else:
        data = bytearray(sound)
        data[min(int(len(data) * share), len(data) - 1)] ^= 0xFF
        path.write_bytes(data)
    made = open_with_rules(repo.top, tmp_path / "i")
    assert made.stored_verdicts(made.view(silent).manifest) is None
    assert dump_outcomes(made.view(silent)) == expected
    assert path.read_bytes() == sound
    assert isinstance(build_view(repo.top, tmp_path / "i").verdicts, StoredVerdicts)


def test_heal_rebuilds_them(repo: Repo, tmp_path: Path) -> None:
    made = open_with_rules(repo.top, tmp_path / "i")
    generation = made.view(silent).manifest.generation
    path = outcomes_file(tmp_path / "i")
    path.write_bytes(path.read_bytes()[:-1])
    assert made.repair(silent) and not made.repair(silent)
    assert made.view(silent).manifest.generation == generation, "the rest was sound"


def test_a_shallow_clone_and_its_deepening(repo: Repo, tmp_path: Path) -> None:
    cart, fix = sha_of_subject(repo, "Add a cart"), sha_of_subject(repo, "Fix negative counts")
    depth = next(i for i, commit in enumerate(repo.read()) if commit.sha == fix) + 1
    clone = Repo.at(tmp_path / "clone")
    repo.git("clone", "-q", "--depth", str(depth), f"file://{repo.top}", str(clone.top))
    made = open_with_rules(clone.top, tmp_path / "i")
    assert made.view(silent, seconds=None).verdicts.counts()["hotfixed"] == 0
    clone.git("fetch", "-q", "--unshallow")
    view = made.view(silent, seconds=None)
    assert view.verdicts.outcome_of(cart).verdict == "hotfixed"
    assert dump_outcomes(view) == dump_outcomes(build_view(repo.top, tmp_path / "j"))


def test_in_memory_where_nothing_can_be_written(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    made = open_with_rules(repo.top, tmp_path / "file")
    assert dump_outcomes(made.view(silent, seconds=None)) == dump_outcomes(build_view(repo.top, tmp_path / "i"))
    repo.commit(f"Undo\n\nThis reverts commit {sha_of_subject(repo, 'note 1')}.\n")
    assert dump_outcomes(made.view(silent, seconds=None)) == dump_outcomes(build_view(repo.top, tmp_path / "i"))


def test_no_commit(tmp_path: Path) -> None:
    view = open_history(Repo(tmp_path / "repo").top, tmp_path / "i").view(silent)
    assert view.verdicts.counts() == {"reverted": 0, "hotfixed": 0, "success": 0}


def test_stored_outcomes_are_read_without_git(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_view(repo.top, tmp_path / "i")
    monkeypatch.setattr("subprocess.Popen", None)
    assert build_view(repo.top, tmp_path / "i").verdicts.counts()["reverted"] == 1
