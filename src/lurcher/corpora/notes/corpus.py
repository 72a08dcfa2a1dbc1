"""Finds the sections of notes that answer a query: refresh → filter → plan → lanes → ranking → Findings → hits."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lurcher import answer as cursors
from lurcher.answer import Findings, Lap, Listing, add_notes
from lurcher.answer.hits import Focus, HitList, locate_hits
from lurcher.config import Settings
from lurcher.corpora.notes import ranking
from lurcher.corpora.notes.links import Vault, get_stem, open_vault
from lurcher.corpora.notes.query import NoteQuery, check_note_query, find_phrases, fold_text, make_groups
from lurcher.errors import ModelError
from lurcher.indexing import View
from lurcher.indexing.workspace import state_of
from lurcher.lanes import LaneResult, Request, dense
from lurcher.lanes.dense import DenseCosines
from lurcher.query import LANGUAGE, Plan, Query, dates, extract_terms
from lurcher.query.validate import as_tuple, filter_files, make_filter
from lurcher.ranking import Context, Ranking
from lurcher.rerank.stage import Candidate
from lurcher.runtime.process import Stopwatch
from lurcher.storage.snapshot import Snapshot
from lurcher.terms import UNSPACED_RUN
from lurcher.types import HEADING, HEADING_PATH, Answer, Definition, Degraded, Filter, Hit, Why
from lurcher.vectors import Model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.corpora import SearchRequest, Services


SOURCE = "notes"
_EXPLICIT_ANCHOR = re.compile(r"\{\s*#([\w:.-]+)[^{}]*\}\s*$")
_LINK_SYNTAX = re.compile(r"[\[\]|#^]+")


class NoteHits(Listing):
    """Sections of notes as hits: title and headings of each, and the link and anchor that open it."""

    def __init__(self, snapshot: Snapshot, shown: HitList, vault: Vault, unit_at: Callable[[int], int]) -> None:
        self._snapshot, self._shown, self._vault, self._unit_at = snapshot, shown, vault, unit_at

    def __len__(self) -> int:
        return len(self._shown)

    def score(self, i: int) -> float:
        return self._shown.score(i)

    def cost(self, i: int) -> int:
        return self._shown.cost(i)

    def location(self, i: int) -> str:
        return self._shown.location(i)

    def why(self, i: int) -> Why:
        return self._shown.why(i)

    def candidate(self, i: int) -> Candidate:
        """A section as a reranker reads it, with title and heading as its header."""
        found = self._shown.candidate(i)
        file, _, _, _, _, named = self._snapshot.unit(self._unit_at(i))
        heading = self._snapshot.definition(named).qualified if named >= 0 else ""
        title = self._vault.title(file)
        return replace(found, header=" ".join((self._snapshot.path(file), title, heading if heading != title else "")).strip())

    def hit(self, i: int, joined: Sequence[int] = ()) -> Hit:
        hit = self._shown.hit(i, named=False)
        file, _, _, _, _, named = self._snapshot.unit(self._unit_at(i))
        heading = self._snapshot.definition(named) if named >= 0 else None
        heading = heading if heading is not None and heading.kind == HEADING else None
        return hit.replace(
            source=SOURCE, symbol=heading.qualified if heading else None, kind="section" if heading else "note",
            note=self._note(file, heading, hit.path),
        )  # fmt: skip

    def _note(self, file: int, heading: Definition | None, path: str) -> dict[str, Any]:
        vault = self._vault
        title = vault.title(file)
        headings = [] if heading is None else [*filter(None, heading.container.split(HEADING_PATH)), heading.name]
        top = heading is None or (not heading.container and heading.name == title)
        stem = get_stem(path)
        link = f"[[{stem}]]" if top or heading is None else f"[[{stem}#{make_link_text(heading.name)}]]"
        out: dict[str, Any] = {
            "title": title,
            "headings": headings,
            "wikilink": link if vault.linked_by_name else None,
            "anchor": path if heading is None else f"{path}#{self._slug(file, heading)}",
            "tags": list(vault.read_facts(file, "tag")),
        }
        for name, key in (("alias", "aliases"), ("date", "date"), ("broken", "front_matter_problem")):
            values = vault.read_facts(file, name)
            if values:
                out[key] = list(values) if name == "alias" else values[0]
        return out

    def _slug(self, file: int, heading: Definition) -> str:
        """The heading's anchor: an explicit one, else the one GitHub would generate."""
        explicit = _EXPLICIT_ANCHOR.search(heading.signature)
        if explicit:
            return explicit[1]
        found = self._vault.anchors(file).get(heading.start_byte)
        if found is None:
            raise self._snapshot.corrupt(file, "a section is named after another file's heading")
        return found


def make_link_text(heading: str) -> str:
    """A heading as text of a wiki-link, without the characters that would end the link."""
    return " ".join(_LINK_SYNTAX.sub(" ", heading).split())


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
    words = ranking.score_sections(snapshot, sections, plan.groups if mode != "dense" else ())
    lap("lexical")
    near = _run_dense(Request(snapshot, plan, settings, allowed, model), notes) if mode != "lexical" else None
    if mode == "dense" and near is None:
        words = ranking.score_sections(snapshot, sections, plan.groups)
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


class NotesCorpus:
    """The notes among the files of a workspace; they are in the same index as its code."""

    def __init__(self, services: Services) -> None:
        self._services, self._settings, self._workspace = services, services.settings, services.workspace

    def search(self, request: SearchRequest) -> Answer:
        """The sections that answer best, the best one of each note first."""
        clock = Stopwatch()
        query = self._query(request)

        def attempt(damage: tuple[Degraded, ...]) -> Answer:
            current = request.replace(views=None) if damage else request  # what was damaged has been rebuilt
            views = self._views(current)
            clock.lap("refresh")
            answer = self._services.page(self._findings(query, current, views, clock.lap), query, clock)
            return add_notes(answer, damage)

        return self._workspace.with_repair(attempt, request.progress).replace(timings_ms=clock.total())

    def find(self, request: SearchRequest, clock: Stopwatch) -> Findings:
        return self._findings(self._query(request), request, self._views(request), clock.lap)

    def _views(self, request: SearchRequest) -> Sequence[View]:
        if request.views is not None:
            return request.views
        return self._workspace.views(request.progress, refresh=request.refresh, check=request.check)

    def _query(self, request: SearchRequest) -> NoteQuery:
        defaults, now = self._settings.search, int(time.time())
        first = None if request.since is None else dates.parse_date(request.since, now=now)
        last = None if request.until is None else dates.parse_date(request.until, now=now, until=True)
        dates.check_range(first, last)
        return check_note_query(
            NoteQuery(
                request.text, defaults.limit if request.limit is None else request.limit, request.mode or "auto",
                make_filter(request.languages, request.paths, request.excludes), as_tuple(request.tags), first, last,
                self._services.rerankers(request.rerank), request.fusion, request.alpha, request.mmr, request.budget,
                request.cursor, request.context or defaults.context, request.snippet_lines,
            )
        )  # fmt: skip

    def _findings(self, query: NoteQuery, request: SearchRequest, views: Sequence[View], lap: Lap) -> Findings:
        """Every section that answers, in order."""
        snapshot = self._workspace.snapshot(views)
        # Dates go into the cursor as they were written: `30d` is another second with each page.
        fingerprint = cursors.make_fingerprint(
            replace(query, since=None, until=None),
            root="\0".join(str(root) for root in self._workspace.roots),
            generation=snapshot.generation,
            checksum=",".join(name for view in views for name in view.manifest.segments),
            options=self._services.options + repr((request.since, request.until)),
        )
        return search_notes(
            snapshot, views, query, self._workspace.narrow(query.filter), self._settings, self._workspace.model,
            lambda: self._read_change_times(views), fingerprint, lap,
        )  # fmt: skip

    def _read_change_times(self, views: Sequence[View]) -> dict[str, int]:
        """When each file was last written, in seconds."""
        return {
            label + path: row.mtime_ns // 1_000_000_000
            for view, label in zip(views, self._workspace.labels(), strict=True)
            for path, row in view.manifest.rows.items()
        }
