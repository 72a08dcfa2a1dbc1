"""Searches a shared store: head → terms → candidates → records → a snapshot that is ranked like a local index."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lurcher.config import Settings
from lurcher.errors import StoreError, Template, UsageError
from lurcher.query import Plan, Query, make_plan
from lurcher.query.validate import matches_glob
from lurcher.runtime.process import LruCache
from lurcher.storage.segment import FORMAT as TABLES
from lurcher.stores import overlaps
from lurcher.stores.base import Candidate, Head, Question, Sparse, Store, StoreChanged
from lurcher.stores.query import SparseQuery, dense_query, name_query, sparse_query
from lurcher.stores.records import RECORD_FORMAT as RECORDS
from lurcher.stores.records import AssembledSegment, Record, decode_record
from lurcher.stores.snapshot import FetchedProject, MergedVocabulary, SharedSnapshot
from lurcher.stores.vocabulary import Pages, Vocabulary
from lurcher.types import Degraded, Filter
from lurcher.vectors import Model

CANDIDATES = 100
"""Files that are fetched for a query and ranked; three times the limit if that is more. docs/stores.md has the measurement."""
DEPTH = 300
"""Units that each way of finding candidates returns at most; docs/stores.md."""
_CACHED_BYTES = 64 << 20
"""Size of the cache of records."""
_ROUNDS = 3
_DEEPER = 4
_MAX_FILES = 2000
_WILDCARDS = frozenset("*?[")

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.vectors.service import SparseEmbedder

    Vector = NDArray[np.float32]


class UnknownProject(UsageError):
    """The store has no such project."""


Lap = Callable[[str], None]
Lanes = Callable[[Plan], Sequence[str]]


@dataclass(frozen=True, slots=True)
class StoreResult:
    """What a query found in the store: everything that is needed to rank it."""

    snapshot: SharedSnapshot
    plan: Plan
    heads: Mapping[str, Head]
    notes: tuple[Degraded, ...] = ()


class StoreSearcher:
    """Searches some projects of one store together. Keeps what it read for later queries. Thread-safe."""

    def __init__(
        self, store: Store, projects: Sequence[str], settings: Settings, sparse: SparseEmbedder | None = None
    ) -> None:
        self._sparse = sparse
        self._store, self.projects, self._settings = store, tuple(projects), settings
        self._lock = threading.Lock()
        self._records = LruCache(_CACHED_BYTES)
        self._pages: dict[tuple[str, int, str], Pages] = {}

    def labels(self) -> list[str]:
        """The prefix of the paths of each project."""
        return [""] if len(self.projects) == 1 else [f"{name}/" for name in self.projects]

    def heads(self) -> dict[str, Head]:
        found: dict[str, Head] = {}
        for name in self.projects:
            head = self._store.head(name)
            if head is None:
                raise self._unknown(name)
            if not is_readable(head):
                raise StoreError(
                    f"the project {name} in the store was written by another version of lurcher",
                    Template("install the same version here, or write the project again: {index: rebuild store=URL}"),
                )
            found[name] = head
        return found

    def _unknown(self, name: str) -> UnknownProject:
        there = self._store.projects()
        near = find_near_names(name, there)
        known = ", ".join((near or there)[:10]) + (", …" if len(near or there) > 10 else "")
        hint = f"did you mean {known}?" if near else f"it has: {known}" if there else Template("add one: {index: store=URL}")
        return UnknownProject(f"the store has no project {name}", hint)

    def search(self, query: Query, filter: Filter, model: Model, lanes: Lanes, lap: Lap) -> StoreResult:
        heads = self.heads()
        vocabularies = [self._vocabulary(name, head) for name, head in heads.items()]
        words = MergedVocabulary(vocabularies)
        lap("head")
        plan = self._make_plan(query, words, vocabularies, heads)
        lap("plan")
        wanted = set(lanes(plan))
        units = sum(head.units for head in heads.values())
        leg = SparseQuery(self._sparse, plan.text, lambda: sparse_query(plan, words, units, self._settings))
        by_words = bool(wanted & {"lexical", "symbol"})
        names = name_query(plan, words) if "symbol" in wanted else ()
        found = []
        for (name, head), vocabulary in zip(heads.items(), vocabularies, strict=True):
            dims = self._dims(head, model)
            dense = dense_query(plan, model, dims) if "dense" in wanted and dims else None
            question = self._question(query, filter, leg.vector_for(name, head) if by_words else None, names, dense)
            candidates = self._candidates(name, head, question, filter, query.limit)
            lap("candidates")
            found.append((name, head, vocabulary, self._fetch_records(name, [item.key for item in candidates]), dims))
        snapshot = self._build_snapshot(found, heads, wanted)
        lap("records")
        return StoreResult(snapshot, plan, heads, tuple(leg.notes))

    def _build_snapshot(
        self, found: Sequence[tuple[str, Head, Vocabulary, Sequence[tuple[str, Record]], int]], heads: Mapping[str, Head],
        lanes: set[str],
    ) -> SharedSnapshot:  # fmt: skip
        """A snapshot of the records of each project; raises `StoreChanged` if a project was written meanwhile."""
        for name, head in heads.items():
            # As long as the head is the same, nothing that was read can have been swept.
            now = self._store.head(name)
            if now is None or now.generation != head.generation:
                raise StoreChanged(f"the project {name} was written while it was being read", "ask again")
        projects = zip(found, self.labels(), strict=True)
        return SharedSnapshot([self._fetched_project(*part, label, lanes) for part, label in projects])

    def _make_plan(
        self, query: Query, words: MergedVocabulary, vocabularies: Sequence[Vocabulary], heads: Mapping[str, Head]
    ) -> Plan:
        """The plan. It is made again until all pages of terms it needs are there; each round loads all missing ones at once."""
        languages = query.filter.languages or tuple(
            sorted({name for head in heads.values() for name in head.more.get("languages", "").split()})
        )
        while True:
            rounds = [vocabulary.batch_loads() for vocabulary in vocabularies]
            for waiting in rounds:
                waiting.__enter__()
            try:
                plan = make_plan(query.text, query.mode, words, None, languages if "$" in query.text else ())
                sparse_query(plan, words, 1, self._settings)
                name_query(plan, words)
            finally:
                for waiting in rounds:
                    waiting.__exit__()
            if all(waiting.complete for waiting in rounds):
                return plan

    def _vocabulary(self, name: str, head: Head) -> Vocabulary:
        place = name, head.generation, head.written
        with self._lock:
            if place not in self._pages:
                self._pages = {key: pages for key, pages in self._pages.items() if key[0] != name}
                self._pages[place] = {}
            pages = self._pages[place]
        has_overlaps = head.more.get(overlaps.HEAD_KEY) == overlaps.FORMAT
        return Vocabulary(lambda names: self._store.pages(name, head.generation, names), pages, overlaps=has_overlaps)

    @staticmethod
    def _dims(head: Head, model: Model) -> int:
        """Dimensions of the project's vectors, 0 if they are of another model."""
        return head.dims if head.more.get("model") == model.digest else 0

    def _question(
        self, query: Query, filter: Filter, sparse: Sparse | None, names: tuple[str, ...], dense: Vector | None
    ) -> Question:
        own = self._settings.store
        limit = min(max(CANDIDATES, 3 * query.limit), _MAX_FILES)
        return Question(
            dense, sparse, names, filter.languages, _filter_folders(filter), max(DEPTH, 2 * limit), limit,
            None if own.rrf == "engine" else float(own.rrf),
        )  # fmt: skip

    def _candidates(self, name: str, head: Head, question: Question, filter: Filter, limit: int) -> list[Candidate]:
        """Candidates that pass the filter; where too few do, the search is repeated deeper."""
        if question.dense is None and question.sparse is None and not question.names:
            return []
        request, passed = question, []
        for _ in range(_ROUNDS):
            found = self._store.candidates(name, head.generation, request)
            passed = [item for item in found if _passes_filter(item.path, filter)]
            if len(passed) >= min(question.limit, 3 * limit) or len(found) < request.limit:
                break
            request = replace(request, depth=_DEEPER * request.depth, limit=_DEEPER * request.limit)
        return passed[: question.limit]

    def _fetch_records(self, project: str, keys: Sequence[str]) -> list[tuple[str, Record]]:
        """Records by key, in the order of their paths."""
        cached = {key: self._records.get(key) for key in keys}
        known: dict[str, Record] = {key: record for key, record in cached.items() if record is not None}
        missing = [key for key in dict.fromkeys(keys) if key not in known]
        if missing:
            found = self._store.records(project, missing)
            for key in missing:
                if key not in found:
                    raise StoreChanged("a file was replaced in the store while it was being read", "ask again")
                known[key] = decode_record(found[key])
                self._records.put(key, known[key], sum(map(len, known[key].sections)))
        return sorted(known.items(), key=lambda item: item[1].path)

    def _fetched_project(
        self, name: str, head: Head, vocabulary: Vocabulary, records: Sequence[tuple[str, Record]], dims: int, label: str,
        lanes: set[str],
    ) -> FetchedProject:  # fmt: skip
        segment = AssembledSegment([record for _, record in records], dims if "dense" in lanes else 0, label)
        keys = tuple(key for key, _ in records)
        return FetchedProject(name, head, segment, keys, vocabulary, lambda wanted: self._store.texts(name, wanted))


def find_near_names(name: str, known: Sequence[str]) -> list[str]:
    """Names like this one: the same last part, else spelled alike."""
    from difflib import get_close_matches

    folded = {other.lower(): other for other in known}
    last = name.lower().rpartition("/")[2]
    same = [other for low, other in folded.items() if last in (low, low.rpartition("/")[2])]
    return same or [folded[low] for low in get_close_matches(name.lower(), folded, 5)]


def is_readable(head: Head) -> bool:
    """Whether the records of a project have the format of this version."""
    try:
        made = json.loads(head.more.get("made_with", "{}"))
        return (made["format"], made["record"]) == (TABLES, RECORDS)
    except (ValueError, TypeError, KeyError):
        return False


def _passes_filter(path: str, filter: Filter) -> bool:
    """Whether a path passes the filter; the store itself filters by language."""
    if filter.prefixes is not None and not any(
        not prefix or path == prefix or path.startswith(prefix + "/") for prefix in filter.prefixes
    ):
        return False
    if filter.globs and not any(matches_glob(glob, path) for glob in filter.globs):
        return False
    return not any(matches_glob(glob, path) for glob in filter.excludes)


def _filter_folders(filter: Filter) -> tuple[str, ...]:
    """Folders outside of which nothing passes the filter; empty where that is not known."""
    if filter.prefixes is not None:
        # A prefix may be a file, and a store filters by folders only.
        found = [prefix.rpartition("/")[0] if "." in Path(prefix).name else prefix for prefix in filter.prefixes]
    else:
        found = [_literal_folder(glob) for glob in filter.globs]
    return tuple(dict.fromkeys(found)) if found and all(found) else ()


def _literal_folder(glob: str) -> str:
    """The leading folders of a glob without wildcards; its last part may be a file."""
    glob = glob.removeprefix("./").rstrip("/")
    if "/" not in glob:
        return ""
    parts = glob.lstrip("/").split("/")[:-1]
    plain = next((i for i, part in enumerate(parts) if _WILDCARDS & set(part)), len(parts))
    return "/".join(parts[:plain])
