"""Why a file is, or is not, among the hits: its rank in every lane and stage, compared with a hit, and the words it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lurcher.indexing import View
from lurcher.indexing.root_index import RootIndex
from lurcher.inspect import Basis, file_at, unit_at
from lurcher.lanes.dense import DenseCosines
from lurcher.query import REPORT, Group, Query
from lurcher.ranking import Context, Ranking
from lurcher.runtime.process import format_count
from lurcher.sources import decode, git
from lurcher.storage.manifest import NO_SEGMENT, SKIP_REASONS
from lurcher.storage.snapshot import Snapshot
from lurcher.types import LaneWhy, Why

_MOST_WORDS = 30
_SKIPPED = {
    "binary": "it is binary", "minified": "it is minified or generated", "oversized": "it is larger than index.max_file_bytes",
    "unreadable": "it cannot be read", "other": "it is no text", decode.REASON: decode.SECRET_MESSAGE,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the query: how rare it is, and whether the file contains it."""

    word: str
    idf: float
    """0 if it does not occur in the index."""
    here: bool
    """Whether the unit contains it or one of its other forms."""
    in_file: bool
    units: int
    """The number of units of the index that contain it."""

    def to_dict(self) -> dict[str, Any]:
        return {"word": self.word, "idf": round(self.idf, 4), "here": self.here, "in_file": self.in_file, "units": self.units}


@dataclass(frozen=True, slots=True)
class Effect:
    """What one stage added to the score of the unit, and to that of the hit it is compared with."""

    stage: str
    here: float
    there: float
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {"stage": self.stage, "here": round(self.here, 6), "there": round(self.there, 6), "note": self.note}


@dataclass(frozen=True, slots=True)
class Place:
    """A unit with its rank."""

    path: str
    start_line: int
    end_line: int
    rank: int | None
    score: float
    why: Why

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path, "start_line": self.start_line, "end_line": self.end_line, "rank": self.rank,
            "score": round(self.score, 6), "why": self.why.to_dict(),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class WhyAnswer:
    query: str
    path: str
    line: int | None
    mode: str
    intent: str
    ranking: str
    limit: int
    total: int
    """Units in the ranking."""
    verdict: str
    """One sentence."""
    here: Place | None
    """The unit in question; None if the file is not in the index."""
    there: Place | None
    """The hit to compare with: the last one shown, or the first if the unit is shown itself; None without hits."""
    lanes: dict[str, dict[str, Any]]
    """For each lane that ran: rank and score of the unit, and the best score."""
    effects: tuple[Effect, ...]
    """What each stage did, in order."""
    words: tuple[Word, ...]
    basis: Basis

    @property
    def shown(self) -> bool:
        return self.here is not None and self.here.rank is not None and self.here.rank <= self.limit

    def to_dict(self) -> dict[str, Any]:
        return {
            "query": self.query, "path": self.path, "line": self.line, "mode": self.mode, "intent": self.intent,
            "ranking": self.ranking, "limit": self.limit, "total": self.total, "shown": self.shown, "verdict": self.verdict,
            "here": None if self.here is None else self.here.to_dict(),
            "there": None if self.there is None else self.there.to_dict(), "lanes": self.lanes,
            "stages": [effect.to_dict() for effect in self.effects], "words": [word.to_dict() for word in self.words],
            "lacks": [word.word for word in self.words if not word.here], **self.basis.to_dict(),
        }  # fmt: skip


def left_out(
    snapshot: Snapshot, candidates: Sequence[str], views: Sequence[View], projects: Sequence[RootIndex], labels: Sequence[str]
) -> tuple[str, str] | None:
    """A file that exists but is not in the index, with the reason; None if it is in the index or is not a file."""
    if any(path in snapshot.live_paths for path in candidates):
        return None
    for view, project, label in zip(views, projects, labels, strict=True):
        for path in candidates:
            if not path.startswith(label):
                continue
            bare = path[len(label) :]
            row = view.manifest.rows.get(bare)
            if row is not None and row.segment == NO_SEGMENT:
                return path, _SKIPPED[SKIP_REASONS[row.place]]
            if _is_file(project.root.path / bare):
                return path, _explain_unlisted(project.root.path, bare, project.root.git)
    return None


def _is_file(place: Path) -> bool:
    try:
        return place.is_file()
    except (OSError, ValueError):  # a name that no file can have, such as one that is too long
        return False


def _explain_unlisted(root: Path, path: str, in_git: bool) -> str:
    """The rule that keeps a file from being listed, if git knows it."""
    if decode.secret_path(path):
        return decode.SECRET_MESSAGE
    if in_git:
        status, said = git.finish(git.start(root, "check-ignore", "-v", "--no-index", "--", path))
        if status == 0 and said:
            rule = said.decode("utf-8", "replace").split("\t")[0]
            return f"git ignores it ({rule})"
    return "it is not listed: .lurcherignore or a setting leaves it out, or its kind (pictures, archives), or it is a link"


def unknown(query: Query, path: str, line: int | None, reason: str, context: Context, basis: Basis) -> WhyAnswer:
    """The answer for a file that is not in the index."""
    plan = context.plan
    return WhyAnswer(
        query.text, path, line, plan.mode, plan.intent, query.ranking, query.limit, 0, f"it is not in the index: {reason}",
        None, None, {}, (), (), basis,
    )  # fmt: skip


def why(
    context: Context, ranking: Ranking, name: str, query: Query, candidates: Sequence[str], line: int | None,
    basis: Basis,
) -> WhyAnswer:  # fmt: skip
    snapshot = context.snapshot
    file = file_at(snapshot, candidates)
    places = {unit: position for position, unit in enumerate(ranking.units)}
    unit = _best(context, file, places) if line is None else unit_at(snapshot, file, line)
    if unit is None:
        return unknown(query, snapshot.path(file), line, "it is empty", context, basis)
    lanes = _lanes(context, unit)
    here = _place(context, ranking, unit, places.get(unit))
    last = min(query.limit, len(places)) - 1
    other = 0 if here.rank is not None and here.rank <= query.limit else last
    there = _place(context, ranking, ranking.unit(other), other) if places else None
    if there is not None and there.rank == here.rank:
        there = _place(context, ranking, ranking.unit(1), 1) if len(places) > 1 else None
    effects = _effects(name, here, there)
    words = _words(context, unit, file)
    verdict = _verdict(context, query, here, there, effects, words, len(places), _file_rank(context, file, places))
    return WhyAnswer(
        query.text, snapshot.path(file), line, context.plan.mode, context.plan.intent, name, query.limit, len(places), verdict,
        here, there, lanes, effects, words, basis,
    )  # fmt: skip


def _best(context: Context, file: int, places: dict[int, int]) -> int | None:
    """The unit of a file that ranks first, else the one with the best lexical score, else its first."""
    units = context.snapshot.units_of(file)
    ranked = [unit for unit in units if unit in places]
    if ranked:
        return min(ranked, key=places.__getitem__)
    return max(units, key=lambda unit: (float(context.lexical.scores[unit]), -unit), default=None)


def _place(context: Context, ranking: Ranking, unit: int, position: int | None) -> Place:
    file, _, _, first, last, _ = context.snapshot.unit(unit)
    score = 0.0 if position is None else ranking.score(position)
    reasons = Why() if position is None else ranking.why(position)
    return Place(context.snapshot.path(file), first, last, None if position is None else position + 1, score, reasons)


def _lanes(context: Context, unit: int) -> dict[str, dict[str, Any]]:
    """Each lane's rank and score for a unit. A dense lane that compared only some units compares all of them here."""
    found: dict[str, dict[str, Any]] = {}
    for name, lane in context.lanes.items():
        best: float | None = None
        if isinstance(lane, DenseCosines) and lane:
            best = float(lane.scan()[context.snapshot.live_units].max(initial=0.0))
        elif name == "lexical":
            best = float(context.lexical.scores.max(initial=0.0))
        elif name == "symbol":
            best = max((match.strength for match in context.symbols), default=0.0)
        said: LaneWhy | None = lane.why(unit)
        found[name] = {
            "rank": None if said is None else said.rank, "score": None if said is None else round(said.score, 6),
            "best": None if best is None else round(best, 6), "terms": {} if said is None else dict(said.terms),
        }  # fmt: skip
    return found


def _effects(ranking: str, here: Place, there: Place | None) -> tuple[Effect, ...]:
    """What each stage added to both scores; the amounts add up to the scores.

    The classic ranking begins with the score of the fusion, the others with 0.
    """
    ours, theirs = _moves(ranking, here.why), _moves(ranking, there.why) if there is not None else {}
    return tuple(
        Effect(stage, ours.get(stage, (0.0, ""))[0], theirs.get(stage, (0.0, ""))[0], (ours.get(stage) or theirs[stage])[1])
        for stage in dict.fromkeys((*ours, *theirs))
    )


def _moves(ranking: str, why: Why) -> dict[str, tuple[float, str]]:
    moves: dict[str, tuple[float, str]] = {}
    value = 0.0
    if ranking == "classic" and why.fused:
        value = why.fused
        moves["fusion"] = (value, "")
    for stage in why.stages:
        if stage.stage in ("scale", "confidence") and stage.factor is not None:
            # Only the unit of the score changes, so the amounts before it are converted.
            value *= stage.factor
            moves = {name: (moved * stage.factor, note) for name, (moved, note) in moves.items()}
            continue
        moved = value * (stage.factor - 1) if stage.factor is not None else stage.amount or 0.0
        value += moved
        before, note = moves.get(stage.stage, (0.0, ""))
        moves[stage.stage] = (before + moved, note or stage.note)
    return moves


def _words(context: Context, unit: int, file: int) -> tuple[Word, ...]:
    """The words of the query: those that the unit lacks first, then by rarity."""
    idf = context.lexical.idf
    groups = context.plan.groups
    if context.plan.intent == REPORT:
        groups = tuple(group for group in groups if group.word in idf)
    found = [_word(context, group, idf.get(group.word, 0.0), unit, file) for group in groups]
    return tuple(sorted(found, key=lambda word: (word.here, -word.idf, word.word))[:_MOST_WORDS])


def _word(context: Context, group: Group, idf: float, unit: int, file: int) -> Word:
    share = next((share for share in context.lexical.shares if share.word == group.word), None)
    if share is None:
        return Word(group.word, 0.0, False, False, 0)
    numbers = context.snapshot.units_of(file)
    inside = bool(((share.owners >= numbers.start) & (share.owners < numbers.stop)).any())
    return Word(group.word, idf, share.of(unit) > 0, inside, len(share.owners))


def _file_rank(context: Context, file: int, places: dict[int, int]) -> int | None:
    ranks = [places[unit] + 1 for unit in context.snapshot.units_of(file) if unit in places]
    return min(ranks, default=None)


def _verdict(
    context: Context, query: Query, here: Place, there: Place | None, effects: Sequence[Effect], words: Sequence[Word],
    total: int, file_rank: int | None,
) -> str:  # fmt: skip
    if not context.allowed[context.snapshot.live_paths[here.path]]:
        return "the filter leaves it out"
    if here.rank is None:
        if file_rank is not None:
            return f"this part of it is not among the {format_count(total, 'hit')}; another part of the file is hit {file_rank}"
        lacking = [word.word for word in words if not word.in_file]
        if words and len(lacking) == len(words):
            return "none of the question's words stand in it, and it is not near enough in meaning"
        return "no lane found it"
    if here.rank <= query.limit:
        return f"it is hit {here.rank} of {total:,}"
    said = f"it is hit {here.rank:,} of {total:,}, and {query.limit} are shown"
    if file_rank is not None and file_rank < here.rank:
        said += f" (another part of the file is hit {file_rank})"
    gaps = sorted(effects, key=lambda effect: (effect.here - effect.there, effect.stage))
    if there is not None and gaps and gaps[0].here < gaps[0].there:
        said += f"; what it lacks most against hit {there.rank} is {gaps[0].stage}"
    lacking = [word.word for word in words if not word.here and word.idf > 0]
    return said + (f"; it does not say {_join_words(lacking)}" if lacking else "")


def _join_words(words: Sequence[str]) -> str:
    shown = words[:4]
    return ", ".join(shown) + (f" and {len(words) - 4} more" if len(words) > 4 else "")
