"""Answers a query before there is an index: a scan of the files picks the few that most likely answer it.

Only those are chunked and ranked, in memory, the likeliest first, as far as time allows. The answer says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import posixpath
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.errors import IndexBuilding, LurcherError, PathError
from lurcher.indexing import View
from lurcher.indexing.root_index import RootIndex
from lurcher.languages.detect import LANGUAGES, detect
from lurcher.query import Query, compile_literal_query, extract_terms
from lurcher.query.text_pattern import TextPattern
from lurcher.server.file_grep import FileGrep
from lurcher.sources import Entry, git
from lurcher.sources.decode import Text
from lurcher.storage import manifest as manifests
from lurcher.storage.container import Container
from lurcher.storage.container_writer import encode_container
from lurcher.storage.manifest import Manifest
from lurcher.storage.segment import Segment
from lurcher.storage.segment_writer import encode_segment
from lurcher.storage.snapshot import Snapshot
from lurcher.terms.vocabulary import stem
from lurcher.types import Answer, Degraded

if TYPE_CHECKING:
    from lurcher.engine import Engine


BATCH_BYTES, MAX_BYTES = 40_000, 1_000_000
"""Text that is chunked and ranked: so much at a time, and no more than that in total."""
_BATCH_FILES = 4
MAX_WORDS = 12
_PATH_WEIGHT = 1.5
"""A word in a path is stronger evidence than one in the text, which scores 1 at most."""
_LARGE_FILE_BYTES = 100_000
_MIN_SCAN_SECONDS = 0.25

WAIT_SECONDS = 1.3
"""How long a query waits for an index before it is answered without."""
_LISTING_SECONDS = 20.0
"""How long a list of files is used again while there is no index."""
_STEP_SECONDS = 0.1
_EXACT = ("mode", "fixed", "case", "word", "multiline")
"""Search options that make a query one for exact text."""

ScannedFile = tuple[str, bytes, tuple[float, ...]]
"""Path, content, and a score for each word of the query."""


@dataclass(frozen=True, slots=True)
class Listings:
    """The files of each root."""

    roots: Sequence[Sequence[Entry]]
    whole: bool = True
    """False while only a part of the tree has been listed."""

    def __iter__(self) -> Iterator[Sequence[Entry]]:
        return iter(self.roots)


@dataclass(frozen=True, slots=True)
class PartialView:
    """A view of a root over the few files that were chunked."""

    view: View
    ranked: int
    """Files that were chunked and ranked, of `total`."""
    total: int


def build_partial_view(
    project: RootIndex,
    entries: Sequence[Entry],
    text: str,
    pattern: TextPattern | None,
    scan_until: float,
    deadline: float,
    progress_text: str,
    whole: bool = True,
    likely: Collection[str] = (),
) -> PartialView:
    """A view of a root without an index: files are scanned until `scan_until`, the `likely` ones first, and ranked until
    `deadline` (monotonic).

    `whole` says that the entries are all files of the root.
    """
    words = _query_stems(text)
    scanned_files, found = _scan(project, entries, words, pattern, (scan_until, deadline), likely)
    snapshot, manifest, ranked = _chunk(project, _batches(_order_by_score(found, len(words))), deadline)
    how = "match" if pattern is not None else "have most words of the query"
    files = f"{ranked:,} of the files that {how}; {scanned_files:,} of {len(entries):,} were scanned"
    if not whole:
        files += ", which are those that were listed in time"
    note = Degraded("index", f"{progress_text}. These hits are from {files}", "ask again for the full answer")
    return PartialView(View(snapshot, manifest, len(entries) - ranked, (note,)), ranked, len(entries))


def _chunk(project: RootIndex, batches: Iterable[list[tuple[str, bytes]]], deadline: float) -> tuple[Snapshot, Manifest, int]:
    """A snapshot of the first files, at least of one batch, then until the deadline; and how many files it has."""
    from lurcher.indexing.build import build_segment  # loads the grammars

    chosen: list[str] = []
    segments: list[Segment] = []
    order: list[tuple[str, tuple[int, int]]] = []
    for batch in batches:
        if segments and time.monotonic() > deadline:
            break
        data = build_segment(batch, project.settings.index.chunk_chars, project.model.table)
        order += [(path, (len(segments), place)) for place, (path, _) in enumerate(batch)]
        segments.append(Segment(Container(b"".join(encode_container(*encode_segment(data))), "a glimpse of the tree")))
        chosen += [path for path, _ in batch]
    digest = hashlib.blake2b(repr(chosen).encode("utf-8", "replace"), digest_size=12).hexdigest()
    manifest = Manifest(0, manifests.empty_manifest(project.fingerprint).fingerprint, (f"{digest}.segment",), {}, {}, 0)
    snapshot = Snapshot(segments, 0, [place for _, place in sorted(order)] if len(segments) > 1 else ())
    return snapshot, manifest, len(chosen)


def list_tracked(project: RootIndex, seconds: float) -> list[Entry] | None:
    """The files that git tracks, without a stat of each: a fraction of the time that a listing takes.

    None outside a work tree, where git does not answer in time, or where .lurcherignore also decides.
    """
    if not project.root.git:
        return None
    status, output = git.finish(git.start(project.root.path, "ls-files", "-z", "--cached"), max(0.05, seconds))
    if status != 0:
        return None
    top = str(project.root.path)
    real: dict[str, bool] = {"": True}
    found = []
    for name in output.split(b"\0"):
        path = name.decode("utf-8", "surrogateescape")
        folder, _, last = path.rpartition("/")
        if last == ".lurcherignore":
            return None
        if path and _is_real(top, folder, real):  # a symbolic link could lead out of the tree
            found.append(Entry(path, 0, 0, 0, 0))
    return found


def _is_real(top: str, folder: str, known: dict[str, bool]) -> bool:
    """Whether no part of a folder's path is a symbolic link; one look at each folder."""
    found = known.get(folder)
    if found is None:
        above = folder.rpartition("/")[0]
        found = known[folder] = _is_real(top, above, known) and not os.path.islink(os.path.join(top, folder))
    return found


def size_of(project: RootIndex, entries: Sequence[Entry], most: int) -> int:
    """The size of these files in bytes; counting ends once it exceeds `most`."""
    total = 0
    for entry in entries:
        with contextlib.suppress(OSError):
            total += entry.size or os.lstat(project.root.path / entry.path).st_size
        if total > most:
            break
    return total


def has_code(entries: Iterable[Entry]) -> bool:
    """Whether any file is in a programming language, by its name."""
    for entry in entries:
        *folders, _ = entry.path.split("/")
        if not any(folder.startswith(".") for folder in folders):
            language = LANGUAGES.get(detect(entry.path, b""))
            if language is not None and language.grammar is not None:
                return True
    return False


def _scan(
    project: RootIndex, entries: Iterable[Entry], words: Sequence[bytes], pattern: TextPattern | None,
    until: tuple[float, float], likely: Collection[str],
) -> tuple[int, list[ScannedFile]]:
    """How many files were scanned in time, and those that match; if none does, scanning goes on until the second limit."""
    found: list[ScannedFile] = []
    scanned_files = 0
    # Files named like the query first, large ones and tests last: many small files are read before time runs out.
    named = _count_in_paths(entries, words)

    def order(entry: Entry) -> tuple[bool, int, bool, bool, str]:
        path = entry.path
        return path not in likely, -named.get(path, 0), entry.size > _LARGE_FILE_BYTES, "test" in path.lower(), path

    ordered = sorted(entries, key=order)
    least = time.monotonic() + _MIN_SCAN_SECONDS  # even if time is up, the few likeliest files are read
    for entry in ordered:
        if time.monotonic() > max(least, until[0 if found else 1]):
            break
        scanned_files += 1
        outcome = project.read_text(entry.path)
        if not isinstance(outcome, Text):
            continue
        if pattern is None:
            marks = _score_words(entry.path, outcome.data, words)
        else:
            marks = (float(next(pattern.lines(outcome.data), None) is not None),)
        if any(marks):
            found.append((entry.path, outcome.data, marks))
    return scanned_files, found


def _query_stems(text: str) -> Sequence[bytes]:
    """The stems of the query's words to search for."""
    weights = extract_terms(text[:20_000])
    best = sorted(weights, key=lambda word: -weights[word])[:MAX_WORDS]
    stems = [stem(word) if word.startswith(stem(word)) else word for word in best]
    return [short.encode("utf-8", "replace") for short in dict.fromkeys(stems)]


def _count_in_paths(entries: Iterable[Entry], words: Sequence[bytes]) -> dict[str, int]:
    """How many of the words are in a path, for those that have any. The paths are searched as one text: there are many."""
    paths = [entry.path for entry in entries]
    text = "\n".join(path.replace("\n", " ") for path in paths).lower()
    rows = text.split("\n")
    found: dict[str, int] = {}
    for word in words:
        wanted = word.decode("utf-8", "replace")
        if wanted not in text:
            continue
        for path, row in zip(paths, rows, strict=True):
            if wanted in row:
                found[path] = found.get(path, 0) + 1
    return found


def _match_path(path: str, words: Sequence[bytes]) -> tuple[bool, ...]:
    place = path.lower().encode("utf-8", "replace")
    return tuple(word in place for word in words)


def _score_words(path: str, data: bytes, words: Sequence[bytes]) -> tuple[float, ...]:
    lower = data.lower()
    texts = [min(1.0, 0.5 + count / 8) if (count := lower.count(word)) else 0.0 for word in words]
    return tuple(max(_PATH_WEIGHT * named, text) for named, text in zip(_match_path(path, words), texts, strict=True))


def _order_by_score(found: Sequence[ScannedFile], count: int) -> list[tuple[str, bytes]]:
    """Files ordered by the words they contain, rare words counting more; tests and large files are lowered."""
    counts = [sum(len(marks) > i and marks[i] > 0 for _, _, marks in found) for i in range(count)]
    rarity = [math.log(1 + len(found) / (1 + number)) for number in counts] or [1.0]

    def score(item: ScannedFile) -> tuple[float, str]:
        factor = (0.6 if "test" in item[0].lower() else 1.0) * (0.7 if len(item[1]) > BATCH_BYTES else 1.0)
        return -factor * sum(mark * rare for mark, rare in zip(item[2], rarity, strict=False)), item[0]

    return [(path, data) for path, data, _ in sorted(found, key=score)]


def _batches(files: Sequence[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """Files in batches of about `BATCH_BYTES`, each in path order; at least one batch, which may be empty.

    A batch has several files even if the first ones are large: the answer may be from the first batch alone.
    """
    batch: list[tuple[str, bytes]] = []
    size = total = 0
    for path, data in files:
        if size + len(data) > BATCH_BYTES * (1 if len(batch) >= _BATCH_FILES else _BATCH_FILES) and batch:
            yield sorted(batch)
            batch, size = [], 0
        if total + len(data) > MAX_BYTES:
            continue
        batch.append((path, data))
        size, total = size + len(data), total + len(data)
    yield sorted(batch)


class UnindexedSearch:
    """Searches engines that have no index yet. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listing: _Listing | None = None
        self._tracked: tuple[Engine, Listings, float] | None = None

    def list_files(self, engine: Engine, until: float, text: str | None = None) -> Listings | None:
        """The files of each root, if they are known in time. A list made a moment ago is used again.

        With the text of a query, what was listed in time is enough, in the order of the folders that are named like it.
        A home folder or a whole disk is refused.
        """
        for project in engine.projects:
            project.check_breadth()
        tracked = self._tracked
        if tracked is not None and tracked[0] is engine and time.monotonic() - tracked[2] < _LISTING_SECONDS:
            return tracked[1]
        quick = [list_tracked(project, until - time.monotonic()) for project in engine.projects]
        known = [entries for entries in quick if entries is not None]
        if len(known) == len(quick) and all(known):
            self._tracked = engine, Listings(known), time.monotonic()
            return self._tracked[1]
        with self._lock:
            listing = self._listing
            if listing is None or (listing.engine is not engine) or listing.is_old():
                steps = not any(project.root.git for project in engine.projects)
                listing = self._listing = (_StepwiseListing if steps else _Listing)(engine)
        words = None if text is None else [word.decode("utf-8", "replace") for word in _query_stems(text)]
        return listing.wait(until, words)

    @staticmethod
    def grep(engine: Engine, text: str) -> FileGrep:
        """Starts looking for the files that a search will begin with."""
        return FileGrep(engine.projects, text[:20_000], [word.decode("utf-8", "replace") for word in _query_stems(text)])

    def search(
        self, engine: Engine, listings: Listings | None, grep: FileGrep, text: str, options: dict[str, Any],
        progress_text: str, until: float,
    ) -> Answer:  # fmt: skip
        """The answer that can be given until then (monotonic clock); `progress_text` says how far the index is."""
        if listings is None:
            progress_text = f"{progress_text}, and its files are still being listed"
            listings = Listings([()] * len(engine.projects))
        if options.get("sources") is None and any(has_code(entries) for entries in listings):
            options = {**options, "sources": ["code"]}  # the few ranked files must not decide which corpus is searched
        known = {name: options[name] for name in _EXACT if options.get(name) is not None}
        pattern = compile_literal_query(Query(text, **known)) if isinstance(text, str) and text.strip() else None
        now = time.monotonic()
        left = max(0.4, until - now)
        likely = [grep.files(number, now + left / 3) for number in range(len(engine.projects))]
        views = [
            build_partial_view(
                project, entries, str(text), pattern, now + left / 2, now + left, progress_text, listings.whole, likely[number]
            )
            for number, (project, entries) in enumerate(zip(engine.projects, listings, strict=True))
        ]
        answer = engine.search(text, **options, views=[part.view for part in views])
        share = sum(part.ranked for part in views) / max(1, sum(part.total for part in views))
        state = answer.index.replace(fresh=False, coverage={**answer.index.coverage, "code": round(share, 4)})
        # The few files that were ranked say nothing about what is nowhere in the tree.
        notes = tuple(note for note in answer.degraded if note.stage != "symbol")
        return answer.replace(index=state, degraded=notes, unknown_words=())

    def view_file(self, engine: Engine, listings: Listings | None, path: str | Path, progress_text: str) -> list[View]:
        """A view of each root, one of which has this file alone, read from the tree; PathError where it is not listed."""
        if listings is None:
            raise IndexBuilding(f"{progress_text}, and its files are still being listed", "try again in a few seconds")
        place = path if isinstance(path, Path) else engine.locate(posixpath.normpath(path))
        note = Degraded("index", f"{progress_text}. This is from the file itself", "")
        views = []
        read = False
        for project, entries in zip(engine.projects, listings, strict=True):
            files = []
            if place.is_relative_to(project.root.path):
                name = place.relative_to(project.root.path).as_posix()
                outcome = project.read_text(name) if any(entry.path == name for entry in entries) else None
                if isinstance(outcome, Text):
                    files, read = [(name, outcome.data)], True
            snapshot, manifest, _ = _chunk(project, [files], 0.0)
            views.append(View(snapshot, manifest, len(entries) - len(files), (note,)))
        if not read:
            raise PathError(f"{path} is not in the index", "name a file as a hit shows it")
        return views


class Glimpse:
    """What can be answered about an engine without an index until a time (monotonic clock)."""

    def __init__(self, unindexed: UnindexedSearch, engine: Engine, progress_text: str, until: float) -> None:
        self._unindexed, self._engine, self._progress_text, self._until = unindexed, engine, progress_text, until

    def _list(self, text: str | None = None) -> Listings | None:
        now = time.monotonic()
        return self._unindexed.list_files(self._engine, now + (0.5 if text else 0.7) * (self._until - now), text)

    def search(self, text: str, **options: Any) -> Answer:
        with self._unindexed.grep(self._engine, text) as grep:
            listings = self._list(text)
            return self._unindexed.search(self._engine, listings, grep, text, options, self._progress_text, self._until)

    def views(self, path: str | Path) -> list[View]:
        """Views that have this file alone."""
        return self._unindexed.view_file(self._engine, self._list(), path, self._progress_text)


class _Listing:
    """Lists the files of an engine's roots in a thread, since git's listing cannot be interrupted."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._entries: Listings | None = None
        self._done = 0.0
        self._begin()

    def _begin(self) -> None:
        self._thread = threading.Thread(target=self._work, name="lurcher-listing", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        with contextlib.suppress(LurcherError, OSError):  # the build of the index will report it
            self._entries = Listings([project.list_files().entries for project in self.engine.projects])
        self._done = time.monotonic()

    def wait(self, until: float, words: Sequence[str] | None) -> Listings | None:
        """All files, if they are known by then; with `words` a part of them is enough, where there are parts."""
        self._thread.join(max(0.0, until - time.monotonic()))
        return self._entries

    def is_old(self) -> bool:
        return bool(self._done) and time.monotonic() - self._done > _LISTING_SECONDS


class _StepwiseListing(_Listing):
    """Lists them in the thread that waits, and stops in time; the next one to wait goes on from there."""

    def _begin(self) -> None:
        self._walks = [project.begin_walk() for project in self.engine.projects]
        self._lock = threading.Lock()

    def wait(self, until: float, words: Sequence[str] | None) -> Listings | None:
        while not self._done and time.monotonic() < until:
            with self._lock:  # in short steps, so that others that wait have their words heard
                unfinished = [walk for walk in self._walks if not walk.done]
                for number, walk in enumerate(unfinished):
                    now = time.monotonic()
                    walk.go_on(words or (), min(until, now + _STEP_SECONDS, now + (until - now) / (len(unfinished) - number)))
                if all(walk.done for walk in self._walks):
                    self._entries = Listings([walk.entries for walk in self._walks])
                    self._done = time.monotonic()
            time.sleep(0)
        if self._entries is not None or words is None:
            return self._entries
        with self._lock:
            found = Listings([walk.entries for walk in self._walks], whole=False)
        return found if any(found) else None
