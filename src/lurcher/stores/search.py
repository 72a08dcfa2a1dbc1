"""A question to a shared store: head → words → candidates → records → a snapshot that is ranked as a local index is."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lurcher.config import Settings
from lurcher.errors import StoreError, Template, UsageError
from lurcher.query.filters import matches_glob
from lurcher.query.intent import split_qualified_name
from lurcher.query.plan import Plan, make_plan
from lurcher.storage.segment import FORMAT as TABLES
from lurcher.stores.assemble import Gathered
from lurcher.stores.base import Candidate, Head, Question, Sparse, Store
from lurcher.stores.query import meaning_of, names_of, words_of
from lurcher.stores.record import FORMAT as RECORDS
from lurcher.stores.record import Record, unpacked
from lurcher.stores.snapshot import Changed, SharedSnapshot, Shelf, Words
from lurcher.stores.sparse_model import Leg
from lurcher.stores.vocabulary import Page, Vocabulary
from lurcher.terms.split import compound
from lurcher.types import Degraded, Filter, Query
from lurcher.vectors.model import Model

CANDIDATES = 100
"""Files that are fetched for a query and ranked; three times the limit if that is more. docs/stores.md has the measurement."""
DEPTH = 300
"""Units that each way of finding candidates looks at; docs/stores.md."""
_KEPT_BYTES = 64 << 20
"""Records that stay in memory for the questions after this one."""
_ROUNDS = 3
_DEEPER = 4
_MOST_FILES = 2000
_DEFINING = 200
"""Files that define one name and are looked at."""
_PATTERN = frozenset("*?[")

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.vectors.sparse import SparseEmbedder

    Vector = NDArray[np.float32]

class UnknownProject(UsageError):
    """The store has no such project."""


class NeedsTexts(UsageError):
    """The question goes by exact text or syntax, which a store cannot look for."""


Lap = Callable[[str], None]
Lanes = Callable[[Plan], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question found in the store: all that is needed to rank it."""

    snapshot: SharedSnapshot
    plan: Plan
    heads: Mapping[str, Head]
    notes: tuple[Degraded, ...] = ()


@dataclass(frozen=True, slots=True)
class Defining:
    """The files of the store that define a name."""

    snapshot: SharedSnapshot
    heads: Mapping[str, Head]
    whole: bool
    """Whether these are all of them."""


class Asking:
    """Projects of one store that answer together. What was read is kept for the questions after; safe in several threads."""

    def __init__(
        self, store: Store, projects: Sequence[str], settings: Settings, sparse: SparseEmbedder | None = None
    ) -> None:
        self._sparse = sparse
        self._store, self.projects, self._settings = store, tuple(projects), settings
        self._lock = threading.Lock()
        self._records: OrderedDict[str, tuple[Record, int]] = OrderedDict()
        self._kept = 0
        self._pages: dict[tuple[str, int, str], dict[str, Page | None]] = {}

    def labels(self) -> list[str]:
        """What stands before the paths of each project's files."""
        return [""] if len(self.projects) == 1 else [f"{name}/" for name in self.projects]

    def heads(self) -> dict[str, Head]:
        found: dict[str, Head] = {}
        for name in self.projects:
            head = self._store.head(name)
            if head is None:
                raise self._unknown(name)
            if not readable(head):
                raise StoreError(
                    f"the project {name} in the store was written by another version of lurcher",
                    Template("install the same one here, or write it anew: {index: rebuild store=URL}"),
                )
            found[name] = head
        return found

    def _unknown(self, name: str) -> UnknownProject:
        there = self._store.projects()
        known = ", ".join(there[:10]) + (", …" if len(there) > 10 else "")
        hint = f"there are: {known}" if there else Template("put one there: {index: store=URL}")
        return UnknownProject(f"the store has no project {name}", hint)

    def ask(self, query: Query, filter: Filter, model: Model, lanes: Lanes, lap: Lap) -> Asked:
        heads = self.heads()
        vocabularies = [self._vocabulary(name, head) for name, head in heads.items()]
        words = Words(vocabularies)
        lap("head")
        plan = self._planned(query, words, vocabularies, heads)
        if plan.mode in ("literal", "structural"):
            raise needs_texts(plan.mode)
        lap("plan")
        wanted = set(lanes(plan))
        units = sum(head.units for head in heads.values())
        leg = Leg(self._sparse, plan.text, lambda: words_of(plan, words, units, self._settings))
        by_words = bool(wanted & {"lexical", "symbol"})
        names = names_of(plan, words) if "symbol" in wanted else ()
        found = []
        for (name, head), vocabulary in zip(heads.items(), vocabularies, strict=True):
            dims = self._dims(head, model)
            dense = meaning_of(plan, model, dims) if "dense" in wanted and dims else None
            question = self._question(query, filter, leg.of(name, head) if by_words else None, names, dense)
            candidates = self._candidates(name, head, question, filter, query.limit)
            lap("candidates")
            found.append((name, head, vocabulary, self._fetched(name, [item.key for item in candidates]), dims))
        snapshot = self._gathered(found, heads, wanted)
        lap("records")
        return Asked(snapshot, plan, heads, tuple(leg.notes))

    def defining(self, name: str, filter: Filter, limit: int) -> Defining:
        """The files that define a name, which a store finds by that name alone."""
        heads = self.heads()
        most = min(max(_DEFINING, 3 * limit), _MOST_FILES)
        names = tuple(compound(part) for part in split_qualified_name(name)[-1:])
        question = Question(None, None, names, filter.languages, _folders(filter), most, most)
        found, whole = [], True
        for project, head in heads.items():
            candidates = self._candidates(project, head, question, filter, most)
            whole = whole and len(candidates) < most
            records = self._fetched(project, [item.key for item in candidates])
            found.append((project, head, self._vocabulary(project, head), records, 0))
        return Defining(self._gathered(found, heads, set()), heads, whole)

    def _gathered(
        self, found: Sequence[tuple[str, Head, Vocabulary, Sequence[tuple[str, Record]], int]], heads: Mapping[str, Head],
        lanes: set[str],
    ) -> SharedSnapshot:  # fmt: skip
        """What was fetched of each project, unless one was written meanwhile."""
        for name, head in heads.items():
            # As long as this head stands nothing that was read can have been swept.
            now = self._store.head(name)
            if now is None or now.generation != head.generation:
                raise Changed(f"the project {name} was written while it was being read", "ask again")
        return SharedSnapshot([self._shelf(*part, label, lanes) for part, label in zip(found, self.labels(), strict=True)])

    def _planned(
        self, query: Query, words: Words, vocabularies: Sequence[Vocabulary], heads: Mapping[str, Head]
    ) -> Plan:
        """The plan, once every page of words that it asks for is there: each round asks for all that are missing at once."""
        languages = query.filter.languages or tuple(
            sorted({name for head in heads.values() for name in head.more.get("languages", "").split()})
        )
        while True:
            rounds = [vocabulary.awaiting() for vocabulary in vocabularies]
            for waiting in rounds:
                waiting.__enter__()
            try:
                plan = make_plan(query.text, query.mode, words, None, languages if "$" in query.text else ())
                words_of(plan, words, 1, self._settings)
                names_of(plan, words)
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
        return Vocabulary(lambda names: self._store.pages(name, head.generation, names), pages)

    @staticmethod
    def _dims(head: Head, model: Model) -> int:
        """What vectors there have, if they are of the same model as the question's."""
        return head.dims if head.more.get("model") == model.digest else 0

    def _question(
        self, query: Query, filter: Filter, sparse: Sparse | None, names: tuple[str, ...], dense: Vector | None
    ) -> Question:
        own = self._settings.store
        limit = min(max(CANDIDATES, 3 * query.limit), _MOST_FILES)
        return Question(
            dense, sparse, names, filter.languages, _folders(filter), max(DEPTH, 2 * limit), limit,
            None if own.rrf == "engine" else float(own.rrf),
        )  # fmt: skip

    def _candidates(self, name: str, head: Head, question: Question, filter: Filter, limit: int) -> list[Candidate]:
        """Files that may answer and pass the filter; where that leaves too few, more are asked for."""
        if question.dense is None and question.sparse is None and not question.names:
            return []
        asked, passed = question, []
        for _ in range(_ROUNDS):
            found = self._store.candidates(name, head.generation, asked)
            passed = [item for item in found if _passes(item.path, filter)]
            if len(passed) >= min(question.limit, 3 * limit) or len(found) < asked.limit:
                break
            asked = replace(asked, depth=_DEEPER * asked.depth, limit=_DEEPER * asked.limit)
        return passed[: question.limit]

    def _fetched(self, project: str, keys: Sequence[str]) -> list[tuple[str, Record]]:
        """Records in the order of their paths."""
        known: dict[str, Record] = {}
        with self._lock:
            for key in keys:
                if key in self._records:
                    known[key] = self._records[key][0]
                    self._records.move_to_end(key)
        missing = [key for key in dict.fromkeys(keys) if key not in known]
        if missing:
            found = self._store.records(project, missing)
            for key in missing:
                if key not in found:
                    raise Changed("a file was replaced in the store while it was being read", "ask again")
                known[key] = unpacked(found[key])
                self._keep(key, known[key])
        return sorted(known.items(), key=lambda item: item[1].path)

    def _keep(self, key: str, record: Record) -> None:
        size = sum(map(len, record.sections))
        with self._lock:
            if key not in self._records:
                self._records[key] = record, size
                self._kept += size
            while self._kept > _KEPT_BYTES and self._records:
                self._kept -= self._records.popitem(last=False)[1][1]

    def _shelf(
        self, name: str, head: Head, vocabulary: Vocabulary, records: Sequence[tuple[str, Record]], dims: int, label: str,
        lanes: set[str],
    ) -> Shelf:  # fmt: skip
        segment = Gathered([record for _, record in records], dims if "dense" in lanes else 0, label)
        keys = tuple(key for key, _ in records)
        return Shelf(name, head, segment, keys, vocabulary, lambda wanted: self._store.texts(name, wanted))


def readable(head: Head) -> bool:
    """Whether records are laid out as they are here."""
    try:
        made = json.loads(head.more.get("made_with", "{}"))
        return (made["format"], made["record"]) == (TABLES, RECORDS)
    except (ValueError, TypeError, KeyError):
        return False


def needs_texts(mode: str) -> NeedsTexts:
    return NeedsTexts(
        f"a {mode} search reads whole texts, which a shared store does not offer",
        Template("ask in a checkout of the project, or use {mode=hybrid}"),
    )


def _passes(path: str, filter: Filter) -> bool:
    """Whether a path passes; languages the store has seen to."""
    if filter.prefixes is not None and not any(
        not prefix or path == prefix or path.startswith(prefix + "/") for prefix in filter.prefixes
    ):
        return False
    if filter.globs and not any(matches_glob(glob, path) for glob in filter.globs):
        return False
    return not any(matches_glob(glob, path) for glob in filter.excludes)


def _folders(filter: Filter) -> tuple[str, ...]:
    """Folders outside of which nothing passes; none where that cannot be told."""
    if filter.prefixes is not None:
        # What was asked for may be a file, which is no folder to the store.
        found = [prefix.rpartition("/")[0] if "." in Path(prefix).name else prefix for prefix in filter.prefixes]
    else:
        found = [_plain(glob) for glob in filter.globs]
    return tuple(dict.fromkeys(found)) if found and all(found) else ()


def _plain(glob: str) -> str:
    """The folders that a glob begins with, as far as they are no pattern; its last part may be a file."""
    glob = glob.removeprefix("./").rstrip("/")
    if "/" not in glob:
        return ""
    parts = glob.lstrip("/").split("/")[:-1]
    plain = next((i for i, part in enumerate(parts) if _PATTERN & set(part)), len(parts))
    return "/".join(parts[:plain])
