"""Finds the sections of notes that answer a query: filter → plan → lanes → ranking."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from lurcher.answer import cursor as cursors
from lurcher.answer.hits import Focus, HitList, locate_hits
from lurcher.answer.page import Findings, Lap
from lurcher.config import Settings
from lurcher.corpora.notes import fields, ranking
from lurcher.corpora.notes.hits import SOURCE, NoteHits
from lurcher.corpora.notes.link_graph import Vault, open_vault
from lurcher.corpora.notes.query import NoteQuery, find_phrases, fold_text, make_groups
from lurcher.errors import ModelError
from lurcher.indexing.generation import View
from lurcher.indexing.workspace import state_of
from lurcher.lanes import dense
from lurcher.lanes.base import LaneResult, Request
from lurcher.lanes.dense import DenseCosines
from lurcher.query.expand import extract_terms
from lurcher.query.filters import filter_files
from lurcher.query.intent import LANGUAGE
from lurcher.query.plan import Plan
from lurcher.ranking.context import Context, Ranking
from lurcher.storage.snapshot import Snapshot
from lurcher.terms.split import UNSPACED_RUN
from lurcher.types import Degraded, Filter, Query
from lurcher.vectors.model import Model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOMENT = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ]+(\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d+)?\s*(Z|[+-]\d{2}:?\d{2})?)?")
Modified = Callable[[], dict[str, int]]
"""Returns path → time of the last write, in seconds since 1970."""


def search_notes(
    snapshot: Snapshot,
    views: Sequence[View],
    query: NoteQuery,
    filter: Filter,
    settings: Settings,
    model: Model,
    modified: Modified,
    fingerprint: cursors.Fingerprint,
    lap: Lap,
) -> Findings:
    """Every section that answers the query, in order; `filter` is the query's, narrowed to the folders of the workspace."""
    vault = open_vault(snapshot)
    notes: list[Degraded] = []
    allowed = filter_files(snapshot, filter) & vault.notes
    if query.tags:
        allowed &= vault.select_tagged(query.tags)
    if query.since is not None or query.until is not None:
        allowed &= _filter_by_date(snapshot, vault, allowed, query, modified())
    lap("filter")
    mode = "hybrid" if query.mode == "auto" else query.mode
    plan = Plan(query.text, mode, LANGUAGE, make_groups(snapshot, query.text), ())
    lap("plan")
    sections: NDArray[np.bool_] = vault.notes[snapshot.unit_file]
    allowed_units = allowed[snapshot.unit_file]
    phrases = find_phrases(query.text)
    if phrases:
        allowed_units = _filter_by_phrases(snapshot, vault, allowed_units, phrases)
    words = fields.score_sections(snapshot, sections, plan.groups if mode != "dense" else ())
    lap("lexical")
    near = _run_dense(Request(snapshot, plan, settings, allowed, model), notes) if mode != "lexical" else None
    if mode == "dense" and near is None:
        words = fields.score_sections(snapshot, sections, plan.groups)
    lap("dense")
    lanes: dict[str, LaneResult] = {"fields": words} if near is None else {"fields": words, "dense": near}
    context = Context(
        snapshot, plan, settings, lanes, allowed, query.limit, frozenset(), alpha=query.alpha, mmr=query.mmr
    )  # fmt: skip
    if query.fusion is None:
        ranked = ranking.rank(context, vault, words, near, allowed_units)
    else:
        ranked = ranking.rank_fused(context, query.fusion, words.scores, near, allowed_units)
    if mode == "dense" and near is not None and near and len(ranked):
        notes += _note_distance(near, allowed, ranked, ranking.ALONE)
    lap("ranking")
    focus = Focus(context)
    places = locate_hits(snapshot, ranked, "none" if query.context == "none" else "block", focus)
    plain = Query(query.text, query.limit, budget=query.budget, context=query.context, snippet_lines=query.snippet_lines)
    shown = HitList(snapshot, places, ranked, plain, focus)
    return Findings(
        (SOURCE,), NoteHits(snapshot, shown, vault, lambda i: ranked.unit(places[i][0])), mode, LANGUAGE,
        query.fusion or "notes", state_of(snapshot, views), fingerprint,
        (*notes, *(note for view in views for note in view.degraded)),
    )  # fmt: skip


def _run_dense(request: Request, notes: list[Degraded]) -> DenseCosines | None:
    if request.model.path is None and request.plan.mode != "dense":
        return None  # a user without a model needs no note about it on every query
    try:
        return dense.run(request)
    except ModelError as problem:
        notes.append(Degraded("dense", f"{problem.message}; these hits are by words", problem.hint))
        return None


def _note_distance(near: DenseCosines, allowed: NDArray[np.bool_], ranked: Ranking, alone: float) -> list[Degraded]:
    """A note for dense mode where no note is near to the query."""
    import numpy as np

    nearest = max(float(np.asarray(near.cards())[np.asarray(allowed)].max(initial=0.0)), near.nearest)
    if nearest >= alone:
        return []
    return [Degraded("dense", "no note is near to the question in meaning; these are the least far", "")]


def _filter_by_date(
    snapshot: Snapshot, vault: Vault, allowed: NDArray[np.bool_], query: NoteQuery, modified: dict[str, int]
) -> NDArray[np.bool_]:
    """Notes within the query's dates, by their front matter, else by the last write of the file."""
    found: NDArray[np.bool_] = allowed.copy()
    for file in allowed.nonzero()[0].tolist():
        moment = next((seconds for text in vault.read_facts(file, "date") if (seconds := parse_moment(text)) is not None), None)
        if moment is None:
            moment = modified.get(snapshot.path(file), 0)
        found[file] = (query.since is None or moment >= query.since) and (query.until is None or moment <= query.until)
    return found


def parse_moment(text: str) -> int | None:
    """A date of a front matter in seconds since 1970, local time if it has no zone; None for what is no date."""
    match = _MOMENT.match(text)
    if match is None:
        return None
    zone = {"Z": "+00:00", None: ""}.get(match[5], match[5] or "")
    zone = f"{zone[:3]}:{zone[-2:]}" if zone else ""
    clock = (match[4] or "00:00").rjust(5, "0") if match[4] is None or len(match[4]) < 6 else match[4].rjust(8, "0")
    try:
        return int(datetime.fromisoformat(f"{match[1]}-{int(match[2]):02}-{int(match[3]):02}T{clock}{zone}").timestamp())
    except (ValueError, OverflowError, OSError):
        return None


def _filter_by_phrases(
    snapshot: Snapshot, vault: Vault, allowed_units: NDArray[np.bool_], phrases: tuple[str, ...]
) -> NDArray[np.bool_]:
    """Units that contain every phrase, in their text or in the title and headings above it."""
    import numpy as np

    candidates = allowed_units.copy()
    for phrase in phrases:
        for term in extract_terms(phrase):
            if not snapshot.knows(term):
                continue  # in scripts without spaces a run is a term, and may be part of a longer one
            here = np.zeros(snapshot.unit_total, bool)
            for field in ("body", "above", "comments"):
                here[snapshot.postings(field, term)[0]] = True
            if not UNSPACED_RUN.search(term):
                candidates &= here
    found = np.zeros(snapshot.unit_total, bool)
    for unit in np.flatnonzero(candidates).tolist():
        text = fold_text(snapshot.unit_text(unit))
        if not all(phrase in text for phrase in phrases):
            file, _, _, _, _, named = snapshot.unit(unit)
            above = snapshot.definition(named).qualified if named >= 0 else ""
            text = f"{fold_text(vault.title(file))}\n{fold_text(above)}\n{text}"
        found[unit] = all(phrase in text for phrase in phrases)
    return found


