"""Finds the sections of notes that answer a question: filter → plan → lanes → ranking."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from lurcher.answer import cursor as cursors
from lurcher.answer.hits import Focus, Shown, places_of
from lurcher.answer.page import Findings, Lap
from lurcher.config import Settings
from lurcher.corpora.notes import fields, ranking
from lurcher.corpora.notes import ranking as fused
from lurcher.corpora.notes.hits import SOURCE, NoteShown
from lurcher.corpora.notes.link_graph import Vault, vault_of
from lurcher.corpora.notes.query import NoteQuery, folded, groups_of, phrases_in
from lurcher.errors import ModelError
from lurcher.indexing.generation import View
from lurcher.indexing.workspace import state_of
from lurcher.lanes import dense
from lurcher.lanes.base import Found, Request
from lurcher.lanes.dense import DenseCosines
from lurcher.query.expand import query_terms
from lurcher.query.filters import allowed_files
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
"""When files were last written, in seconds, by their paths."""


def found(
    snapshot: Snapshot,
    views: Sequence[View],
    query: NoteQuery,
    filter: Filter,
    settings: Settings,
    model: Model,
    modified: Modified,
    print_: cursors.Fingerprint,
    lap: Lap,
) -> Findings:
    """The sections in order; `filter` is the query's within the folders that were asked for."""
    vault = vault_of(snapshot)
    notes: list[Degraded] = []
    allowed = allowed_files(snapshot, filter) & vault.notes
    if query.tags:
        allowed &= vault.tagged(query.tags)
    if query.since is not None or query.until is not None:
        allowed &= _dated(snapshot, vault, allowed, query, modified())
    lap("filter")
    mode = "hybrid" if query.mode == "auto" else query.mode
    plan = Plan(query.text, mode, LANGUAGE, groups_of(snapshot, query.text), ())
    lap("plan")
    sections: NDArray[np.bool_] = vault.notes[snapshot.unit_file]
    may = allowed[snapshot.unit_file]
    phrases = phrases_in(query.text)
    if phrases:
        may = _with_phrases(snapshot, vault, may, phrases)
    said = fields.score(snapshot, sections, plan.groups if mode != "dense" else ())
    lap("lexical")
    near = _near(Request(snapshot, plan, settings, allowed, model), notes) if mode != "lexical" else None
    if mode == "dense" and near is None:
        said = fields.score(snapshot, sections, plan.groups)
    lap("dense")
    lanes: dict[str, Found] = {"fields": said} if near is None else {"fields": said, "dense": near}
    context = Context(
        snapshot, plan, settings, lanes, allowed, query.limit, frozenset(), alpha=query.alpha, mmr=query.mmr
    )  # fmt: skip
    if query.fusion is None:
        ranked = ranking.rank(context, vault, said, near, may)
    else:
        ranked = fused.rank_fused(context, query.fusion, said.scores, near, may)
    if mode == "dense" and near is not None and near and len(ranked):
        notes += _far(near, allowed, ranked, ranking.ALONE)
    lap("ranking")
    focus = Focus(context)
    places = places_of(snapshot, ranked, "none" if query.context == "none" else "block", focus)
    plain = Query(query.text, query.limit, budget=query.budget, context=query.context, snippet_lines=query.snippet_lines)
    shown = Shown(snapshot, places, ranked, plain, focus)
    return Findings(
        (SOURCE,), NoteShown(snapshot, shown, vault, lambda i: ranked.unit(places[i][0])), mode, LANGUAGE,
        query.fusion or "notes", state_of(snapshot, views), print_,
        (*notes, *(note for view in views for note in view.degraded)),
    )  # fmt: skip


def _near(request: Request, notes: list[Degraded]) -> DenseCosines | None:
    if request.model.path is None and request.plan.mode != "dense":
        return None  # who wants no model need not be told on each query that there is none
    try:
        return dense.run(request)
    except ModelError as problem:
        notes.append(Degraded("dense", f"{problem.message}; these hits are by words", problem.hint))
        return None


def _far(near: DenseCosines, allowed: NDArray[np.bool_], ranked: Ranking, alone: float) -> list[Degraded]:
    """Says so where meaning alone was asked for and nothing has that of the question."""
    import numpy as np

    nearest = max(float(np.asarray(near.cards())[np.asarray(allowed)].max(initial=0.0)), near.nearest)
    if nearest >= alone:
        return []
    return [Degraded("dense", "no note is near to the question in meaning; these are the least far", "")]


def _dated(
    snapshot: Snapshot, vault: Vault, allowed: NDArray[np.bool_], query: NoteQuery, modified: dict[str, int]
) -> NDArray[np.bool_]:
    """Notes of the asked time: by their front matter, else by when their file was written."""
    found: NDArray[np.bool_] = allowed.copy()
    for file in allowed.nonzero()[0].tolist():
        moment = next((seconds for text in vault.said(file, "date") if (seconds := moment_of(text)) is not None), None)
        if moment is None:
            moment = modified.get(snapshot.path(file), 0)
        found[file] = (query.since is None or moment >= query.since) and (query.until is None or moment <= query.until)
    return found


def moment_of(text: str) -> int | None:
    """A date of a front matter in seconds; without a zone it is in that of this machine. None for what is no date."""
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


def _with_phrases(
    snapshot: Snapshot, vault: Vault, may: NDArray[np.bool_], phrases: tuple[str, ...]
) -> NDArray[np.bool_]:
    """Units that hold every phrase, in their text, or in the title and headings above them."""
    import numpy as np

    candidates = may.copy()
    for phrase in phrases:
        for term in query_terms(phrase):
            if not snapshot.knows(term):
                continue  # of a script without spaces a whole run is a term, which may stand within a longer one
            here = np.zeros(snapshot.unit_total, bool)
            for field in ("body", "above", "comments"):
                here[snapshot.postings(field, term)[0]] = True
            if not UNSPACED_RUN.search(term):
                candidates &= here
    found = np.zeros(snapshot.unit_total, bool)
    for unit in np.flatnonzero(candidates).tolist():
        text = folded(snapshot.unit_text(unit))
        if not all(phrase in text for phrase in phrases):
            file, _, _, _, _, named = snapshot.unit(unit)
            above = snapshot.definition(named).qualified if named >= 0 else ""
            text = f"{folded(vault.title(file))}\n{folded(above)}\n{text}"
        found[unit] = all(phrase in text for phrase in phrases)
    return found


