"""Which commits a message reverts, and which of them stay reverted."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.corpora.history.classify import commit_traits, describes_fix
from lurcher.corpora.history.reverts import Revert, extract_reason, find_claims, find_reverts
from lurcher.sources.git.commit import Commit
from lurcher.sources.git.log import read_messages
from tests.corpora.history.commits import Repository, commit, sha_of

A, B, C = (sha_of(number) for number in (1, 2, 3))


def shas(subject: str, body: str = "", trailers: tuple[tuple[str, str], ...] = ()) -> list[str]:
    return [claim.value for claim in find_claims(subject, body, trailers) if claim.how == "sha"]


def find(*commits: Commit) -> dict[str, tuple[Revert, ...]]:
    """Given oldest first, as one writes them."""
    return find_reverts(list(reversed(commits)))


def reverted(*commits: Commit) -> set[str]:
    return {sha for sha, entries in find(*commits).items() if any(entry.stands and not entry.partial for entry in entries)}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"This reverts commit {A}.", [A]),
        (f"This reverts commit {A[:8]}.", [A[:8]]),
        (f"This reverts commits {A}, {B} and {C}.", [A, B, C]),
        (f"This reverts commit {A} and {B}", [A, B]),
        (f"This reverts commit\n{A}.", [A]),
        (f"This reverts commit {A[:20]}\n{A[20:]}.", [A]),
        (f"This reverts commit {A}, reversing\nchanges made to {B}.", [A]),
        (f"Some words.\n\nThis reverts commit {A}.\n\nThis reverts commit {B}.", [A, B]),
        (f"Reverts {A[:10]}", [A[:10]]),
        (f"Reverting commits:\n\n{A[:7]}\n{B[:7]}\n{C[:7]}", [A[:7], B[:7], C[:7]]),
        (f"Reverts https://github.com/o/r/commit/{A}", [A]),
        (f"This reverts commit {A} due to a regression.", [A]),
        (f"This reverts commit {A} (Add a cache), {B} (Use it).", [A, B]),
        (f"It was reverted in {A}.", []),
        (f"The revert {A} broke the build.", []),
        (f"Follow-up to {A}, which was reverted in {B}.", []),
        (f"Do not revert the commit after {A}.", []),
        ("If that is added, revert this commit.", []),
        ("We revert to effaced deadbeef values.", []),
        (f"This reverts the range {A[:8]}..{B[:8]}", []),
        (f"This reverts commits {A[:8]}..{B[:8]}.", [B[:8]]),
    ],
)
def test_hashes_in_a_message(body: str, expected: list[str]) -> None:
    assert shas("Some subject", body) == expected


def test_hashes_in_the_subject_and_in_trailers() -> None:
    assert shas(f"Fix a doc oversight, and revert {A[:8]}.") == [A[:8]]
    assert shas("Take it back", "", (("Reverts", A), ("Signed-off-by", "A <a@b>"))) == [A]
    assert shas("Take it back", "", (("Refs", A),)) == []


@pytest.mark.parametrize(
    "body", [f"This partially reverts commit {A}.", f"Partially reverts {A}", f"Revert changes made to the parser in {A}."]
)
def test_a_part_is_not_the_whole(body: str) -> None:
    entries = find(commit(1), commit(2, body=body))[A]
    assert [(entry.by, entry.partial) for entry in entries] == [(B, True)]
    assert not reverted(commit(1), commit(2, body=body))


@pytest.mark.parametrize(
    ("subject", "reverting"),
    [
        ("Add a cache", 'Revert "Add a cache"'),
        ("Add a cache (#12)", 'Revert "Add a cache (#12)" (#13)'),
        ("Add a cache (#12)", 'Revert "Add a cache" (#13)'),
        ("Add a cache", 'Revert "Add a cache" - it failed CI'),
        ('Remove sass / haml "dependencies"', 'Revert "Remove sass / haml "dependencies""'),
        ('Revert "Add a cache"', 'Reapply "Add a cache"'),
        ('Revert "Add a cache"', 'Revert "Revert "Add a cache""'),
        ("Used utc instead of pytz.", 'Fixed #29514 -- Reverted "Used utc instead of pytz."'),
        ("Add a cache for the responses of the server", 'Revert "Add a cache for the responses of…'),
        ("Add a cache for the responses of the server", 'Revert "Add a cache for the responses of..."'),
        ("feat: add a cache", "revert: feat: add a cache"),
    ],
)
def test_subjects(subject: str, reverting: str) -> None:
    entries = find(commit(1, subject), commit(2, reverting))
    assert [(entry.by, entry.how) for entry in entries[A]] == [(B, "subject")]
    assert entries[A][0].confidence < 1


def test_two_subjects_in_one() -> None:
    assert reverted(commit(1, "Add a cache"), commit(2, "Use it"), commit(3, 'Revert "Add a cache" and "Use it"')) == {A, B}


def test_a_revert_refers_to_the_nearest_earlier_commit() -> None:
    history = [commit(1, "Tidy"), commit(2, "Tidy"), commit(3, 'Revert "Tidy"'), commit(4, "Tidy")]
    assert reverted(*history) == {B}
    assert find(*history)[B][0].confidence < find(commit(2, "Tidy"), commit(3, 'Revert "Tidy"'))[B][0].confidence


def test_a_hash_that_is_here_goes_before_the_subject_and_one_that_is_not_leaves_it() -> None:
    body = f"This reverts commit {A}."
    assert reverted(commit(1, "Tidy"), commit(2, "Tidy"), commit(3, 'Revert "Tidy"', body)) == {A}
    gone = f"This reverts commit {sha_of(99)}."
    assert reverted(commit(1, "Tidy"), commit(2, "Tidy"), commit(3, 'Revert "Tidy"', gone)) == {B}
    assert not reverted(commit(1, "Tidy"), commit(2, "Squash", f'* Revert "Tidy"\n\n{gone}'))


def test_an_abbreviation_that_fits_two_names_nothing() -> None:
    one, other = commit(1), commit(2)
    twin = Commit(A[:8] + "f" * 32, other.parents, "x", "x", 1, 1, "Twin", "")
    assert not reverted(one, twin, commit(3, "Undo", f"This reverts commit {A[:8]}."))


def test_numbers_of_pull_requests() -> None:
    merge = commit(3, "Merge pull request #12 from ada/cache", "Add a cache", parents=(1, 2))
    assert A not in reverted(commit(1), commit(2), merge, commit(4, "Undo", "Reverts ada/lace#12"))
    assert reverted(commit(1), commit(2, parents=(1,)), merge, commit(4, "Undo", "Reverts ada/lace#12")) == {sha_of(3), B}
    assert reverted(commit(1, "Add a cache (#12)"), commit(2, "Undo it", "This reverts #12.")) == {A}
    assert not reverted(commit(1, "Fix #12"), commit(2, "Undo it", "This reverts #12."))
    notes = "Bumps lib from 1 to 2.\n- Reverts other/lib#12"
    assert not reverted(commit(1, "Add a cache (#12)"), commit(2, "Bump lib from 1 to 2", notes))


def test_a_reverted_merge_reverts_its_commits_too() -> None:
    side = commit(2, "On a branch", parents=(1,))
    main = commit(3, "On the main line", parents=(1,))
    merge = commit(4, "Merge branch 'side'", parents=(3, 2))
    history = [commit(1), side, main, merge, commit(5, 'Revert "Merge branch \'side\'"')]
    entries = find(*history)
    assert set(entries) == {sha_of(4), B}
    assert entries[B][0].how == "merge"


def test_the_title_of_a_merged_request_is_found_in_the_merge() -> None:
    merge = commit(3, "Merge pull request #12 from ada/cache", "Add a cache", parents=(1, 2))
    assert sha_of(3) in reverted(commit(1), commit(2), merge, commit(4, 'Revert "Add a cache"'))


def test_a_merge_does_not_repeat_what_its_commits_say() -> None:
    revert = commit(2, 'Revert "Add a cache"')
    merge = commit(3, "Merge pull request #3 from ada/undo", 'Revert "Add a cache"', parents=(1, 2))
    again = commit(4, "Reapply", f"This reverts commit {B}.")
    history = [commit(1, "Add a cache"), revert, merge, again]
    assert [entry.by for entry in find(*history)[A]] == [B]
    assert reverted(*history) == {B}


def test_a_shallow_clone_does_not_blame_all_of_history_on_a_merge() -> None:
    merge = commit(4, "Merge branch 'side'", parents=(77, 2))
    assert reverted(commit(1), commit(2), merge, commit(5, 'Revert "Merge branch \'side\'"')) == {sha_of(4)}


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=2), min_size=3, max_size=25))
def test_what_a_merge_brought_is_what_only_its_side_leads_to(steps: list[list[int]]) -> None:
    """Against sets of ancestors, on any history: each commit's parents are given as steps back."""
    parents = {1: (0,)} | {
        number: tuple(dict.fromkeys(max(1, number - step) for step in some)) for number, some in enumerate(steps, 2)
    }
    history = [commit(number, parents=before) for number, before in parents.items()]
    tip = len(history)

    def ancestors(number: int) -> set[int]:
        return {number}.union(*(ancestors(before) for before in parents[number] if before))

    expected = set()
    if len(parents[tip]) > 1:
        expected = {sha_of(number) for number in ancestors(parents[tip][1]) - ancestors(parents[tip][0])}
    undo = commit(tip + 1, "Undo", f"This reverts commit {sha_of(tip)}.")
    assert set(find(*history, undo)) == expected | {sha_of(tip)}


@given(st.integers(1, 12))
def test_reverts_of_reverts_to_any_depth(depth: int) -> None:
    history = [commit(1, "Add a cache")]
    for number in range(2, depth + 2):
        history.append(commit(number, f'Revert "{history[-1].subject}"', f"This reverts commit {sha_of(number - 1)}."))
    back = reverted(*history)
    assert (A in back) == (depth % 2 == 1)
    assert history[-1].sha not in back
    by_subject = [commit(i + 1, entry.subject) for i, entry in enumerate(history)]
    assert reverted(*by_subject) == back


def test_who_when_and_why() -> None:
    body = f"It leaked.\n\nThis reverts commit {A}.\n\nConflicts:\n\tsrc/cache.py\n"
    entry = find(commit(1), commit(2, 'Revert "Change 1"', body))[A][0]
    assert (entry.by, entry.who, entry.when, entry.why, entry.how, entry.confidence) == (
        B, "Author 2", 1_600_000_002, "It leaked.", "sha", 1.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("subject", "body", "expected"),
    [
        ('Revert "x"', f"This reverts commit {A}.", ""),
        ('Revert "x"', f"This reverts commit {A} due to a\nregression.", "due to a regression."),
        ('Revert "x" - it failed CI', f"This reverts commit {A}.", "it failed CI"),
        ('Revert "x"', f"This reverts commit {A}, reversing\nchanges made to {B}.\n\nToo slow.", "Too slow."),
        ('Revert "x"', "Reverts o/r#12", ""),
        ("Run tests in serial again", f"This reverts commit {A}.", "Run tests in serial again"),
        ('Revert "x"', "word " * 400, ("word " * 400)[:499].rstrip() + "…"),
    ],
)
def test_the_reason(subject: str, body: str, expected: str) -> None:
    assert extract_reason(subject, body) == expected


@given(st.text(max_size=200), st.text(max_size=400))
def test_any_text_is_survived(subject: str, body: str) -> None:
    find_claims(subject, body)
    find_claims(f'Revert "{subject}', f"This reverts commit {body}")
    extract_reason(subject, body)


def test_hostile_messages_take_little_time() -> None:
    started = time.process_time()
    many = "This reverts commit " + "a1b2c3d " * 20_000
    for text in ("revert " * 20_000, many, 'Revert "' * 5_000, "reverts (" + "(" * 50_000, "- " * 50_000 + "revert"):
        find_claims(text, text)
        extract_reason(text, text)
        describes_fix(text, "fix")
        commit_traits(commit(1, text))
    assert time.process_time() - started < 5


def test_in_a_real_repository(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r")
    repository.commit("Start", a__txt="1\n")
    added = repository.commit("Add a line", a__txt="1\n2\n")
    repository.git("revert", "--no-edit", "HEAD")
    reverting = repository.git("rev-parse", "HEAD")
    told = read_messages(repository.path)
    assert told is not None and len(told) == 3
    assert [(entry.by, entry.how, entry.stands) for entry in find_reverts(told)[added]] == [(reverting, "sha", True)]
    repository.clock += 10
    repository.git("revert", "--no-edit", "HEAD")
    again = read_messages(repository.path)
    assert again is not None
    entries = find_reverts(again)
    assert not entries[added][0].stands
    assert entries[reverting][0].stands


def test_no_repository_no_messages(tmp_path: Path) -> None:
    assert read_messages(tmp_path) is None
