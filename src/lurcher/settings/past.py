"""The history of a repository: what is read of it, how commits are judged and ranked."""

from __future__ import annotations

from lurcher.runtime.light import dataclass
from lurcher.settings import setting


@dataclass(frozen=True)
class HistorySettings:
    """Which commits are indexed, and when."""

    first_parent: bool = setting(False, "Follow first parents only; a merge then stands for all that it brought.")
    merges: bool = setting(False, "Index merges too, each with its change against its first parent.")
    max_commits: int = setting(0, "Index no more than so many of the newest commits; 0: all.", low=0)
    diff_bytes: int = setting(
        20_000, "Bytes of changed lines kept of a commit, code before tests before the rest.", low=0, high=1_000_000
    )
    batch: int = setting(1_000, "Commits written together, after the newest 500.", low=1, high=100_000)
    brief_budget: int = setting(1500, "Tokens that `brief` may take.", low=1, high=10_000_000)
    refresh_seconds: float = setting(
        10.0, "For how long a question may wait while new commits are read; the newest 500 always are.", low=0, high=3600
    )


@dataclass(frozen=True)
class PastRankingSettings:
    """How commits are ranked."""

    ranking: str = setting("default", "Which ranking to use.")
    subject: float = setting(3.0, "A word in the subject.", low=0, high=100)
    body: float = setting(1.0, "A word in the rest of the message.", low=0, high=100)
    paths: float = setting(0.75, "A word in the path of a changed file.", low=0, high=100)
    headings: float = setting(0.5, "A word in the name of a changed function.", low=0, high=100)
    tests: float = setting(0.5, "A word in the added lines of tests.", low=0, high=100)
    code: float = setting(0.05, "A word in the added lines of code.", low=0, high=100)
    k1: float = setting(1.6, "BM25: how soon more of the same word counts for nothing.", low=0, high=100)
    variant: float = setting(0.4, "What another form of a word counts.", low=0, high=1)
    title: float = setting(2.5, "A word of the first line, where there are more lines.", low=0, high=100)
    keep_terms: int = setting(60, "Words of a question kept, by weight times rarity.", low=1, high=1000)
    meaning: float = setting(0.6, "A commit is near a question in meaning, against all its words together.", low=0, high=10)
    meaning_hunk: float = setting(0.2, "One of its hunks is near.", low=0, high=10)
    rrf_k: float = setting(60.0, "`classic`: 1/(k + rank).", low=0, high=10_000)
    lane: int = setting(100, "`classic`: candidates per lane.", low=1, high=100_000)
    fused: int = setting(50, "Candidates that go on to rerankers and to `--mmr`.", low=1, high=10_000)
    bm25_k1: float = setting(1.5, "BM25 of `classic` and of `--fusion linear`.", low=0, high=100)
    alpha: float = setting(0.6, "`--fusion linear`: weight of cosines.", low=0, high=1)


@dataclass(frozen=True)
class OutcomeSettings:
    """When a commit counts as mended by a later one."""

    window: int = setting(20, "How many later commits may mend a commit.", low=1, high=1000)
    overlap: float = setting(0.5, "Share of the smaller set of files that both must touch.", low=0, high=1)
    words: str = setting("fix hotfix patch bugfix", "Words of a subject that say that something is mended.")
    strictness: str = setting(
        "strict",
        "`strict`: the later commit must rewrite lines that the earlier one added; `loose`: words and files are enough.",
        choices=("strict", "loose"),
    )


@dataclass(frozen=True)
class CommitSettings:
    """Factors for commits that are rarely the answer; they multiply."""

    release: float = setting(0.7, "Version bumps and releases.", low=0, high=1)
    dependencies: float = setting(0.7, "Lock files and versions of dependencies.", low=0, high=1)
    reformat: float = setting(0.7, "Mass reformatting and changes of white space only.", low=0, high=1)
    merge: float = setting(0.7, "Merges.", low=0, high=1)
    docs: float = setting(0.8, "Commits that touch documentation only.", low=0, high=1)
    tests: float = setting(0.85, "Commits that touch tests only.", low=0, high=1)
    generated: float = setting(0.7, "Commits that touch generated or vendored files only.", low=0, high=1)
    fix: float = setting(1.1, "A commit whose subject reads as a fix, when the query reports a fault.", low=0, high=10)


@dataclass(frozen=True)
class RecencySettings:
    """A nudge for what is young: score · (1 + weight · exp(−age / days))."""

    weight: float = setting(0.05, "How much a commit of today gains.", low=0, high=10)
    days: float = setting(90.0, "Age at which a third of that is left.", low=0.001, high=100_000)


@dataclass(frozen=True)
class BlameSettings:
    """How `explain` finds the commits that wrote a line."""

    whitespace: bool = setting(True, "Look through changes of white space only.")
    moves: bool = setting(True, "Follow lines that were moved within a file.")
    copies: bool = setting(False, "Follow lines that came from other files changed in the same commit; slower.")
    ignore: str = setting(".git-blame-ignore-revs", "File with commits to look through, if it is there; empty: none.")
    seconds: float = setting(60.0, "How long git may take.", low=0.1, high=3600)
    excerpt_lines: int = setting(12, "Lines of a change that are shown.", low=1, high=1000)
