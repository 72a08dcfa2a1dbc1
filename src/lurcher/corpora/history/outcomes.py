"""What became of every commit: reverted, hotfixed or success, with a confidence and the evidence.

Outcomes are computed when the index is updated, stored in one small file, and read by queries. The file is written again
whenever the history has changed; the fixes in it, with the order of commits that they belong to, save most of that work.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.config.schema import OutcomeSettings
from lurcher.corpora.history.fixes import FIX_ROW, Fix, commit_order, decode_fixes, find_indexed_fixes, sha_prefixes
from lurcher.corpora.history.reverts import MessageLike, Revert, find_reverts
from lurcher.corpora.history.schema import HistoryManifest, OutcomesFile
from lurcher.corpora.history.snapshot import HistorySnapshot
from lurcher.errors import IndexError_
from lurcher.sources.git.log import read_messages
from lurcher.storage import IndexFolder
from lurcher.storage.container import PACKED, Container
from lurcher.storage.container_writer import ContainerWriter, as_bytes
from lurcher.types import HOTFIXED, REVERTED, SUCCESS, VERDICTS, Evidence, Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


PARTLY_REVERTED, REVERT_UNDONE, FIXED, POSSIBLY_FIXED = "partly-reverted", "revert-undone", "mended", "followed"
"""Kinds of evidence besides REVERTED, as they appear in JSON: FIXED by the strict rule, POSSIBLY_FIXED by the loose one."""


DEFAULT_OUTCOME = Outcome(SUCCESS, 0.9)
"""The outcome of a commit without any evidence."""
_MIN_SUCCESS_CONFIDENCE = 0.5
"""The confidence in the success of the newest commit."""
_MAX_POSSIBLE_FIXES = 3


class Verdicts:
    """The outcomes of all commits of a history, by hash."""

    def __init__(self, recorded: Mapping[str, Outcome], total: int) -> None:
        self._recorded = dict(recorded)
        self._total = total

    def outcome_of(self, sha: str) -> Outcome:
        """The outcome of a commit; DEFAULT_OUTCOME if nothing is recorded."""
        return self._recorded.get(sha, DEFAULT_OUTCOME)

    @property
    def recorded(self) -> Mapping[str, Outcome]:
        """The outcomes that are not the default."""
        return self._recorded

    def failed(self) -> dict[str, str]:
        """The verdicts other than success, by hash."""
        return {sha: outcome.verdict for sha, outcome in self._recorded.items() if outcome.verdict != SUCCESS}

    def counts(self) -> dict[str, int]:
        """Number of commits with each verdict."""
        counts = dict.fromkeys(VERDICTS, 0)
        for outcome in self._recorded.values():
            counts[outcome.verdict] += 1
        counts[SUCCESS] = self._total - counts[REVERTED] - counts[HOTFIXED]
        return counts


def decide_verdicts(commits: Sequence[MessageLike], fixes: Iterable[Fix], settings: OutcomeSettings) -> Verdicts:
    """Decide the verdicts on commits, given newest first. Merges serve as evidence only, unless they were reverted."""
    loose = settings.strictness == "loose"
    reverts_of = _reverts_by_subject(commits) if loose else find_reverts(commits)
    fixes_of: dict[str, list[Fix]] = {}
    for fix in fixes:
        fixes_of.setdefault(fix.earlier, []).append(fix)
    by_sha = {commit.sha: commit for commit in commits}
    recorded: dict[str, Outcome] = {}
    total = 0
    for commit in commits:
        if len(commit.parents) < 2:
            reverts, later = reverts_of.get(commit.sha, ()), fixes_of.get(commit.sha, ())
            if reverts or later:
                recorded[commit.sha] = _decide(reverts, later, by_sha, loose)
            elif total < settings.window:
                # It is too recent for a fix to be expected yet: the confidence grows with its age.
                gain = (DEFAULT_OUTCOME.confidence - _MIN_SUCCESS_CONFIDENCE) * total / settings.window
                recorded[commit.sha] = Outcome(SUCCESS, round(_MIN_SUCCESS_CONFIDENCE + gain, 3))
            total += 1
        elif commit.sha in reverts_of:
            recorded[commit.sha] = _decide(reverts_of[commit.sha], (), by_sha, loose)
            total += 1
    return Verdicts(recorded, total)


def _decide(reverts: Sequence[Revert], fixes: Sequence[Fix], by_sha: Mapping[str, MessageLike], loose: bool) -> Outcome:
    """The outcome of a commit with evidence: a full revert decides first, then strict fixes and partial reverts."""
    evidence = [_revert_evidence(entry) for entry in reverts]
    whole = [entry for entry in evidence if entry.kind == REVERTED]
    near = sorted(fixes, key=lambda fix: (not fix.strict, -fix.confidence, fix.distance, fix.later))
    strict = [_fix_evidence(fix, by_sha) for fix in near if fix.strict]
    possible = [_fix_evidence(fix, by_sha) for fix in near if not fix.strict][:_MAX_POSSIBLE_FIXES]
    evidence += strict + possible
    partial = [entry for entry in evidence if entry.kind == PARTLY_REVERTED]
    all_evidence = tuple(evidence)
    if whole:
        return Outcome(REVERTED, max(entry.confidence for entry in whole), all_evidence)
    if loose and (strict or possible):
        return Outcome(HOTFIXED, max(entry.confidence for entry in (*strict, *possible)), all_evidence)
    if strict or partial:
        return Outcome(HOTFIXED, max(entry.confidence for entry in (*strict, *partial)), all_evidence)
    doubt = max((entry.confidence for entry in possible), default=0.0)
    return Outcome(SUCCESS, round(DEFAULT_OUTCOME.confidence * (1 - doubt), 3), all_evidence)


def _revert_evidence(entry: Revert) -> Evidence:
    kind = REVERT_UNDONE if not entry.stands else PARTLY_REVERTED if entry.partial else REVERTED
    # Only a part was wrong, and the message does not say how large it is.
    confidence = round(entry.confidence * 0.6, 3) if kind == PARTLY_REVERTED else entry.confidence
    return Evidence(kind, entry.by, entry.when, entry.who, entry.why, entry.how, confidence)


def _fix_evidence(fix: Fix, by_sha: Mapping[str, MessageLike]) -> Evidence:
    later = by_sha.get(fix.later)
    lines = f"; rewrites {fix.rewritten} line{'s' if fix.rewritten != 1 else ''} of it" if fix.rewritten else ""
    note = (later.subject if later else "") + lines
    when, who = (later.authored, later.author) if later else (0, "")
    return Evidence(FIXED if fix.strict else POSSIBLY_FIXED, fix.later, when, who, note, confidence=fix.confidence)


def _reverts_by_subject(commits: Sequence[MessageLike]) -> dict[str, tuple[Revert, ...]]:
    """Reverts by the loose rule: a later commit has the subject `Revert "<this subject>"`."""
    later: dict[str, MessageLike] = {}
    found: dict[str, tuple[Revert, ...]] = {}
    for commit in commits:
        by = later.get(f'Revert "{commit.subject}"')
        if by is not None:
            found[commit.sha] = (Revert(commit.sha, by.sha, by.authored, by.author, "", "subject", 0.95),)
        later[commit.subject] = commit
    return found


def rules_dict(settings: OutcomeSettings) -> dict[str, Any]:
    """The rules by which outcomes are found, as they are stored with the outcomes."""
    return settings.values()


def rules_text(settings: OutcomeSettings) -> str:
    """The rules by which outcomes are found, as one text: outcomes found by other rules are not used."""
    return "\n".join(f"{name}={value}" for name, value in rules_dict(settings).items())


FORMAT = 1
OUTCOME_ROW = [
    ("sha", "V32"), ("sha_size", "<u4"), ("verdict", "<u4"), ("confidence", "<f8"), ("evidence", "<u4"), ("size", "<u4"),
]  # fmt: skip
"""A commit whose outcome is not the default one; its evidence is JSON text in another section."""
_SHA_BYTES = 32
_LISTED_PER_COMMIT, _LISTED_EXTRA = 2, 1000
"""Messages read for each indexed commit, and in addition: there are merges in between, which are not indexed."""


def with_outcomes(
    store: IndexFolder, top: Path, manifest: HistoryManifest, history: HistorySnapshot, settings: OutcomeSettings
) -> HistoryManifest:
    """Store the outcomes of all commits; returns the manifest that names their file. Uses stored fixes where possible."""
    write, count = compute_outcomes(store, top, manifest, history, settings)
    name = store.put(write, "outcomes")
    return manifest.replace(outcomes=OutcomesFile(name, count, rules_text(settings)))


def compute_outcomes(
    store: IndexFolder, top: Path, manifest: HistoryManifest, history: HistorySnapshot, settings: OutcomeSettings
) -> tuple[Callable[[ContainerWriter], str], int]:
    """A function that writes the outcomes of all live commits, and the number of these commits."""
    order = commit_order(history)
    known = None
    if manifest.outcomes.name:
        try:
            known = read_fixes(store.open_file(manifest.outcomes.name, "outcomes"), settings, manifest.head.shallow)
        except (IndexError_, OSError):
            known = None  # damaged or missing: all fixes are computed
    rows = find_indexed_fixes(history, order, settings, known)
    names = [name.hex() for segment in history.segments for name in segment.shas()]
    live = [names[number] for number in history.newest_first.tolist()]
    fixes = decode_fixes(rows, [names[number] for number in order.tolist()])
    verdicts = restrict_verdicts(decide_verdicts(_read_messages(top, manifest, history), fixes, settings), live, len(live))
    prefixes = sha_prefixes(history, order)
    return lambda out: write_outcomes(out, verdicts, len(live), prefixes, rows, settings, manifest.head.shallow), len(live)


def _read_messages(top: Path, manifest: HistoryManifest, history: HistorySnapshot) -> Sequence[MessageLike]:
    """The messages of all commits, including merges and commits that are not indexed; if git fails, the indexed ones."""
    if not manifest.head.sha:
        return ()
    # Only newer commits say something about a commit: while just the newest are indexed, older messages are not needed.
    most = None if manifest.complete else _LISTED_PER_COMMIT * history.commit_count + _LISTED_EXTRA
    found = read_messages(top, manifest.head.sha, most=most)
    if found is None:
        return [header for _, header in history.all_headers()]
    return found


def write_outcomes(
    out: ContainerWriter,
    verdicts: Verdicts,
    commits: int,
    prefixes: NDArray[np.uint64],
    fixes: NDArray[Any],
    settings: OutcomeSettings,
    shallow: str,
) -> str:
    """Write outcomes; returns their digest. `commits` is the number of commits that the verdicts cover."""
    import numpy as np

    rows, texts, position = [], [], 0
    for name, outcome in sorted((bytes.fromhex(sha), outcome) for sha, outcome in verdicts.recorded.items()):
        text = json.dumps([list(entry.values().values()) for entry in outcome.evidence], separators=(",", ":")).encode()
        rows.append((
            name.ljust(_SHA_BYTES, b"\0"), len(name), VERDICTS.index(outcome.verdict), outcome.confidence, position, len(text)
        ))  # fmt: skip
        texts.append(text)
        position += len(text)
    out.add("marked", "V", as_bytes(np.array(rows, OUTCOME_ROW)))
    out.add("evidence", PACKED, b"".join(texts))
    out.add("order", "<u8", as_bytes(prefixes.astype("<u8")))
    out.add("fixes", "V", as_bytes(fixes))
    counts = verdicts.counts()
    return out.finish({
        "outcomes": FORMAT, "rules": rules_dict(settings), "shallow": shallow, "commits": commits,
        "mix": [counts[verdict] for verdict in VERDICTS],
    })  # fmt: skip


class StoredVerdicts(Verdicts):
    """Outcomes read from a file, each when it is needed."""

    def __init__(self, container: Container) -> None:
        """Verifies the whole file, so that damage raises here and not later."""
        container.verify()
        self._container = container
        self._rows = _read_rows(container)
        pairs = zip(self._rows["sha"].tolist(), self._rows["sha_size"].tolist(), strict=True)
        self._names = [name[:size] for name, size in pairs]

    @cached_property
    def _rows_by_sha(self) -> dict[bytes, int]:
        return {name: place for place, name in enumerate(self._names)}

    def outcome_of(self, sha: str) -> Outcome:
        try:
            place = self._rows_by_sha.get(bytes.fromhex(sha))
        except ValueError:
            place = None
        return DEFAULT_OUTCOME if place is None else self._outcome(place)

    def _outcome(self, place: int) -> Outcome:
        row = self._rows[place]
        start = int(row["evidence"])
        text = bytes(self._container.section("evidence", start, start + int(row["size"])))
        try:
            evidence = tuple(_decode_evidence(*fields) for fields in json.loads(text))
        except (ValueError, TypeError, RecursionError) as error:
            raise self._container.corrupt("its evidence is invalid") from error
        return Outcome(VERDICTS[int(row["verdict"])], float(row["confidence"]), evidence)

    @property
    def recorded(self) -> Mapping[str, Outcome]:
        return {name.hex(): self._outcome(place) for place, name in enumerate(self._names)}

    def failed(self) -> dict[str, str]:
        verdicts = self._rows["verdict"].tolist()
        success = VERDICTS.index(SUCCESS)
        return {
            name.hex(): VERDICTS[verdict] for name, verdict in zip(self._names, verdicts, strict=True) if verdict != success
        }

    def counts(self) -> dict[str, int]:
        return dict(zip(VERDICTS, self._container.meta["mix"], strict=True))


def _decode_evidence(kind: str, sha: str, date: int, author: str, note: str, how: str, confidence: float) -> Evidence:
    if any(type(text) is not str for text in (kind, sha, author, note, how)) or type(date) is not int:
        raise TypeError("a field of the evidence has another type")
    return Evidence(kind, sha, date, author, note, how, float(confidence))


def _read_rows(container: Container) -> NDArray[Any]:
    """The rows of a file, with its metadata and the position of each row's evidence checked."""
    import numpy as np

    meta = container.meta
    mix, commits = meta.get("mix"), meta.get("commits")
    if meta.get("outcomes") != FORMAT or type(meta.get("rules")) is not dict or type(commits) is not int:
        raise container.corrupt("it is not a file of outcomes of this format")
    if type(mix) is not list or len(mix) != len(VERDICTS) or any(type(count) is not int for count in mix):
        raise container.corrupt("its counts of verdicts are invalid")
    rows = container.table("marked", OUTCOME_ROW)
    ends = np.cumsum(rows["size"].astype(np.int64))
    total = int(ends[-1]) if len(ends) else 0
    if (
        total != container.length("evidence")
        or not (rows["evidence"] == ends - rows["size"]).all()
        or not (rows["verdict"] < len(VERDICTS)).all()
        or not set(rows["sha_size"].tolist()) <= {20, _SHA_BYTES}
    ):
        raise container.corrupt("an outcome refers to something that does not exist")
    return rows


def read_fixes(
    container: Container, settings: OutcomeSettings, shallow: str
) -> tuple[NDArray[np.uint64], NDArray[Any]] | None:
    """The order (as hash prefixes) and the fixes of a file; None if other rules or another shallow clone produced them."""
    meta = container.meta
    rules, expected = meta.get("rules"), rules_dict(settings)
    if meta.get("outcomes") != FORMAT or type(rules) is not dict or meta.get("shallow") != shallow:
        return None
    if any(rules.get(name) != expected[name] for name in ("window", "overlap", "words")):
        return None
    order, fixes = container.array("order", "<u8"), container.table("fixes", FIX_ROW)
    if len(fixes) and (int(fixes["earlier"].max()) >= len(order) or not (fixes["later"] < fixes["earlier"]).all()):
        raise container.corrupt("a fix refers to something that does not exist")
    return order, fixes


def restrict_verdicts(verdicts: Verdicts, shas: Iterable[str], count: int) -> Verdicts:
    """The verdicts on these commits only; `count` is the number of `shas`."""
    recorded = verdicts.recorded
    return Verdicts({sha: recorded[sha] for sha in shas if sha in recorded}, count)
