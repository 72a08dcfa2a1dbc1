"""One verdict per commit, with its evidence."""

from __future__ import annotations

from lurcher.config.schema import OutcomeSettings
from lurcher.corpora.history.fixes import find_fixes
from lurcher.corpora.history.outcomes import Verdicts, decide_verdicts
from lurcher.sources.git.commit import Commit
from tests.corpora.history.commits import change, commit, sha_of

LINE, BETTER = "total = price * count", "total = price * max(count, 0)"
ADDED, MENDING = change("src/cart.py", [LINE]), change("src/cart.py", [BETTER], [LINE])


def verdicts_of(*commits: Commit, strictness: str = "strict") -> Verdicts:
    settings = OutcomeSettings(strictness=strictness)
    newest_first = list(reversed(commits))
    fixes = find_fixes((entry for entry in newest_first if len(entry.parents) < 2), settings)
    return decide_verdicts(newest_first, fixes, settings)


def test_three_verdicts_and_their_mix() -> None:
    verdicts = verdicts_of(
        commit(1, "Add a cache", changes=[change("src/cache.py", ["cache = Cache()"])]),
        commit(2, "Add a cart", changes=[ADDED]),
        commit(3, "Fix negative counts", changes=[MENDING]),
        commit(4, 'Revert "Add a cache"', f"It leaked.\n\nThis reverts commit {sha_of(1)}."),
    )
    assert [verdicts.outcome_of(sha_of(i)).verdict for i in (1, 2, 3, 4)] == ["reverted", "hotfixed", "success", "success"]
    assert verdicts.counts() == {"reverted": 1, "hotfixed": 1, "success": 2}
    (back,) = verdicts.outcome_of(sha_of(1)).evidence
    assert (back.kind, back.sha, back.author, back.note, back.how) == ("reverted", sha_of(4), "Author 4", "It leaked.", "sha")
    (mended,) = verdicts.outcome_of(sha_of(2)).evidence
    assert (mended.kind, mended.sha, mended.note) == ("mended", sha_of(3), "Fix negative counts; rewrites 1 line of it")
    assert verdicts.outcome_of(sha_of(2)).to_dict()["evidence"][0]["kind"] == "mended"


def test_a_revert_goes_before_a_fix() -> None:
    back = commit(3, "Undo", f"This reverts commit {sha_of(1)}.")
    outcome = verdicts_of(commit(1, changes=[ADDED]), commit(2, "Fix it", changes=[MENDING]), back).outcome_of(sha_of(1))
    assert (outcome.verdict, [entry.kind for entry in outcome.evidence]) == ("reverted", ["reverted", "mended"])


def test_alive_again() -> None:
    outcome = verdicts_of(commit(1, "Add"), commit(2, 'Revert "Add"'), commit(3, 'Reapply "Add"')).outcome_of(sha_of(1))
    assert (outcome.verdict, [entry.kind for entry in outcome.evidence]) == ("success", ["revert-undone"])


def test_a_partial_revert_means_that_a_part_was_wrong() -> None:
    partly = commit(2, "Undo some", f"This partially reverts commit {sha_of(1)}.")
    outcome = verdicts_of(commit(1, "Add"), partly).outcome_of(sha_of(1))
    assert (outcome.verdict, outcome.confidence) == ("hotfixed", 0.6)


def test_weak_evidence_is_reported_and_decides_only_on_request() -> None:
    history = [commit(1, changes=[ADDED]), commit(2, "Fix it", changes=[change("src/cart.py", ["x = compute(1)"])])]
    outcome = verdicts_of(*history).outcome_of(sha_of(1))
    assert (outcome.verdict, [entry.kind for entry in outcome.evidence]) == ("success", ["followed"])
    assert outcome.confidence < 0.9
    assert verdicts_of(*history, strictness="loose").outcome_of(sha_of(1)).verdict == "hotfixed"


def test_the_loose_rule_knows_reverts_by_their_subject_only() -> None:
    by_hash = [commit(1, "Add"), commit(2, "Undo", f"This reverts commit {sha_of(1)}.")]
    assert verdicts_of(*by_hash, strictness="loose").outcome_of(sha_of(1)).verdict == "success"
    by_subject = [commit(1, "Add"), commit(2, 'Revert "Add"')]
    assert verdicts_of(*by_subject, strictness="loose").outcome_of(sha_of(1)).verdict == "reverted"


def test_recent_commits_have_a_lower_confidence() -> None:
    verdicts = verdicts_of(*(commit(i) for i in range(1, 40)))
    sure = [verdicts.outcome_of(sha_of(i)).confidence for i in (39, 30, 19, 1)]
    assert sure == sorted(sure) and sure[0] == 0.5 and sure[-1] == 0.9


def test_merges_are_counted_only_when_reverted() -> None:
    merge = commit(3, "Merge branch 'x'", parents=(1, 2))
    assert verdicts_of(commit(1), commit(2), merge).counts() == {"reverted": 0, "hotfixed": 0, "success": 2}
    back = verdicts_of(commit(1), commit(2, parents=(1,)), merge, commit(4, 'Revert "Merge branch \'x\'"'))
    assert back.counts() == {"reverted": 2, "hotfixed": 0, "success": 2}


def test_nothing() -> None:
    assert verdicts_of().counts() == {"reverted": 0, "hotfixed": 0, "success": 0}
    assert verdicts_of().outcome_of("unknown").verdict == "success"
