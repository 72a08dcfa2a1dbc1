"""Commits that a later one fixed: the loose rule, the strict rule, and windows that continue earlier runs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.config.schema import OutcomeSettings
from lurcher.corpora.history.classify import describes_fix, mentions_fix, reads_as_fix
from lurcher.corpora.history.fixes import Fix, FixWindow, find_fixes
from lurcher.sources.git.commit import Change, Commit
from tests.corpora.history.commits import change, commit, sha_of

SETTINGS = OutcomeSettings()
LINE = "total = price * count"
BETTER = "total = price * max(count, 0)"


def find(*commits: Commit, settings: OutcomeSettings = SETTINGS) -> list[Fix]:
    """Given oldest first, as one writes them."""
    return find_fixes(list(reversed(commits)), settings)


def find_in_pair(subject: str, *changes: Change, path: str = "src/cart.py") -> list[Fix]:
    return find(commit(1, changes=[change(path, [LINE])]), commit(2, subject, changes=changes))


def test_a_fix_that_rewrites_what_was_added() -> None:
    (fix,) = find_in_pair("Fix negative counts", change("src/cart.py", [BETTER], [LINE]))
    assert (fix.earlier, fix.later, fix.distance, fix.overlap) == (sha_of(1), sha_of(2), 1, 1.0)
    assert (fix.strict, fix.rewritten, fix.share) == (True, 1, 1.0)
    assert 0.5 < fix.confidence < 1


def test_without_its_lines_it_is_loose_evidence() -> None:
    (fix,) = find_in_pair("Fix negative counts", change("src/cart.py", [BETTER], ["other = 12345"]))
    assert (fix.strict, fix.rewritten, fix.confidence) == (False, 0, 0.1)


def test_without_the_word_or_the_files_it_is_none() -> None:
    assert find_in_pair("Allow negative counts", change("src/cart.py", [BETTER], [LINE])) == []
    assert find_in_pair("Fix negative counts", change("src/other.py", [BETTER], [LINE])) == []
    wide = [commit(1, changes=[change(f"src/{i}.py", [LINE]) for i in range(4)])]
    later = commit(2, "Fix it", changes=[change(f"src/{i}.py", [BETTER]) for i in range(3, 8)])
    assert find(*wide, later) == []
    assert len(find(*wide, later, settings=OutcomeSettings(overlap=0.25))) == 1


@pytest.mark.parametrize("path", ["tests/test_cart.py", "docs/cart.md", "data/cart.json", "vendor/cart.py", "Cargo.lock"])
def test_only_source_files_count(path: str) -> None:
    assert [fix.strict for fix in find_in_pair("Fix it", change(path, [BETTER], [LINE]), path=path)] == [False]


@pytest.mark.parametrize(
    "line", ["", "}", "    return None", "import os", "from a import b", "# a comment", "else:", "__version__ = '1.2'"]
)
def test_lines_that_say_nothing_do_not_count(line: str) -> None:
    earlier = commit(1, changes=[change("src/cart.py", [line])])
    (fix,) = find(earlier, commit(2, "Fix it", changes=[change("src/cart.py", [], [line])]))
    assert not fix.strict


def test_what_is_only_moved_or_reformatted_is_not_rewritten() -> None:
    (fix,) = find_in_pair("Fix it", change("src/cart.py", [f"    {LINE}", BETTER], [LINE]))
    assert not fix.strict
    moved = commit(1, changes=[change("src/cart.py", [LINE]), change("src/old.py", [], [LINE])])
    (fix,) = find(moved, commit(2, "Fix it", changes=[change("src/cart.py", [BETTER], [LINE])]))
    assert not fix.strict


def test_a_large_fix_that_passes_over_a_line_is_not_sure() -> None:
    removed = [LINE, *(f"value_{i} = compute({i})" for i in range(20))]
    (fix,) = find_in_pair("Fix it", change("src/cart.py", [BETTER], removed))
    assert (fix.strict, fix.rewritten, fix.confidence) == (False, 1, 0.3)


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("Fix negative counts", True),
        ("fixed: negative counts", True),
        ("Hotfix for the cart", True),
        ("Fix #12", True),
        ("Add a cache, fixes #12", False),
        ("Fix a typo", False),
        ("fix(docs): the cart", False),
        ("Fix lint", False),
        ("Fix failing tests", False),
        ("Fix formatting", False),
        ("Bump version to fix the release", False),
        ("Add app.patch() and PATCH", False),
        ('Revert "Fix negative counts"', False),
        ("A prefix for carts", False),
    ],
)
def test_what_a_subject_says(subject: str, expected: bool) -> None:
    assert describes_fix(subject, SETTINGS.words) is expected


def test_words_are_a_setting_and_whole() -> None:
    assert mentions_fix("Fixes a thing", "fix hotfix") and mentions_fix("hot-patching: Patched", "patch")
    assert not mentions_fix("Fixture for prefixes", "fix")
    assert mentions_fix("Mend it", "mend, repair") and not mentions_fix("Fix it", "mend, repair")
    assert not mentions_fix("Fix it", " ")


def test_reads_as_fix() -> None:
    assert reads_as_fix("Prevent a crash on empty input") and not reads_as_fix("Add a cache")


def test_renames_are_followed_both_ways() -> None:
    first = commit(1, changes=[change("src/old.py", [LINE])])
    renamed = commit(2, changes=[change("src/new.py", old="src/old.py")])
    fix, loose = sorted(find(first, renamed, commit(3, "Fix it", changes=[change("src/new.py", [BETTER], [LINE])])), key=repr)
    assert {(entry.earlier, entry.strict) for entry in (fix, loose)} == {(sha_of(1), True), (sha_of(2), False)}
    (fix,) = find(first, commit(2, "Fix it", changes=[change("src/new.py", [BETTER], [LINE], old="src/old.py")]))
    assert fix.strict


def test_the_window_ends_after_its_number_of_commits() -> None:
    fix = commit(23, "Fix it", changes=[change("src/cart.py", [BETTER], [LINE])])
    between = [commit(i, changes=[change("README.md", ["x"])]) for i in range(4, 23)]
    assert [entry.distance for entry in find(commit(3, changes=[change("src/cart.py", [LINE])]), *between, fix)] == [20]
    assert find(commit(2, changes=[change("src/cart.py", [LINE])]), commit(3), *between, fix) == []


def test_nearer_and_larger_is_surer() -> None:
    lines = [f"line_{i} = compute({i})" for i in range(6)]
    fix = commit(30, "Fix it", changes=[change("src/cart.py", [BETTER], lines)])
    near = find(commit(1, changes=[change("src/cart.py", lines)]), fix)[0].confidence
    far = find(commit(1, changes=[change("src/cart.py", lines)]), *(commit(i) for i in range(2, 16)), fix)[0].confidence
    small = find(commit(1, changes=[change("src/cart.py", [*lines[:1], *(f"q_{i} = {i}{i}{i}" for i in range(9))])]), fix)
    assert near > far > small[0].confidence


def test_a_commit_without_changes_and_an_empty_history() -> None:
    assert find() == []
    assert find(commit(1), commit(2, "Fix it")) == []


# -- in pieces ---------------------------------------------------------------------------------------------------------

paths = st.sampled_from(["src/a.py", "src/b.py", "src/c.py"])
lines = st.lists(st.sampled_from([f"value_{i} = compute({i})" for i in range(6)]), max_size=4)
changes = st.lists(
    st.builds(
        lambda path, added, removed, old: change(path, added, removed, old=old if old != path else None),
        paths, lines, lines, st.one_of(st.none(), paths),
    ),
    max_size=3,
    unique_by=lambda entry: entry.path,
)  # fmt: skip
histories = st.lists(st.tuples(st.sampled_from(["Fix it", "Add it", "Fix a typo"]), changes), max_size=30).map(
    lambda rows: [commit(len(rows) - i, subject, changes=some) for i, (subject, some) in enumerate(rows)]
)
"""Newest first."""


@settings(max_examples=150, deadline=None)
@given(histories, st.integers(0, 30), st.integers(1, 6))
def test_newer_commits_later_give_what_one_pass_gives(history: list[Commit], seam: int, size: int) -> None:
    small = OutcomeSettings(window=size)
    older, newer = history[seam:], history[:seam]
    told = find_fixes(older, small)
    window = FixWindow(small)
    told += [fix for entry in newer for fix in window.feed(entry)]
    told += [fix for entry in older[:size] for fix in window.feed(entry, known=True)]
    assert sorted(told, key=repr) == sorted(find_fixes(history, small), key=repr)


@settings(max_examples=150, deadline=None)
@given(histories, st.integers(0, 30), st.integers(1, 6))
def test_older_commits_later_give_what_one_pass_gives(history: list[Commit], seam: int, size: int) -> None:
    small = OutcomeSettings(window=size)
    newer, older = history[:seam], history[seam:]
    told = find_fixes(newer, small)
    window = FixWindow(small)
    assert [fix for entry in newer[-size:] for fix in window.feed(entry, known=True)] == []
    told += [fix for entry in older for fix in window.feed(entry)]
    assert sorted(told, key=repr) == sorted(find_fixes(history, small), key=repr)
