"""An answer while there is no index yet: a quick look through the files picks the few that most likely have it.

Only those are cut and ranked, in memory, the likeliest first, as far as time allows. The answer says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lurcher.errors import LurcherError
from lurcher.indexing.generation import View
from lurcher.indexing.root_index import RootIndex
from lurcher.languages.detect import LANGUAGES, detect
from lurcher.query.expand import extract_terms
from lurcher.query.plan import compile_literal_query
from lurcher.query.text_pattern import TextPattern
from lurcher.sources.decode import Text
from lurcher.sources.files import Entry
from lurcher.sources.git import command
from lurcher.storage import manifest as manifests
from lurcher.storage.container import Container
from lurcher.storage.container_writer import encode_container
from lurcher.storage.manifest import Manifest
from lurcher.storage.segment_reader import Segment
from lurcher.storage.segment_writer import encode_segment
from lurcher.storage.snapshot import Snapshot
from lurcher.terms.stem import stem
from lurcher.types import Answer, Degraded, Query

if TYPE_CHECKING:
    from lurcher.engine import Engine


FIRST_BYTES, MOST_BYTES = 40_000, 1_000_000
"""Text that is cut and ranked: so much in any case, and no more than that."""
MOST_WORDS = 12
_IN_PATH = 1.5
"""A word in a path says more than one somewhere in the text."""
_LARGE = 100_000
_LEAST = 0.25

Found = tuple[str, bytes, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Glimpse:
    view: View
    ranked: int
    """Files that were cut and ranked, of so many in all."""
    total: int


def glimpse(
    project: RootIndex,
    entries: Sequence[Entry],
    text: str,
    pattern: TextPattern | None,
    scanned: float,
    deadline: float,
    about: str,
) -> Glimpse:
    """What can be said about a root without an index until `deadline`, reading until `scanned`, both on the monotonic clock."""
    from lurcher.indexing.build import build_segment  # brings the grammars

    words = _wanted(text)
    looked, found = _scan(project, entries, words, pattern, (scanned, deadline))
    chosen: list[str] = []
    segments: list[Segment] = []
    order: list[tuple[str, tuple[int, int]]] = []
    for batch in _batches(_best(found, len(words))):
        if segments and time.monotonic() > deadline:
            break
        data = build_segment(batch, project.settings.index.chunk_chars, project.model.table)
        order += [(path, (len(segments), place)) for place, (path, _) in enumerate(batch)]
        segments.append(Segment(Container(b"".join(encode_container(*encode_segment(data))), "a glimpse of the tree")))
        chosen += [path for path, _ in batch]
    digest = hashlib.blake2b(repr(chosen).encode("utf-8", "replace"), digest_size=12).hexdigest()
    manifest = Manifest(0, manifests.empty_manifest(project.fingerprint).fingerprint, (f"{digest}.segment",), {}, {}, 0)
    snapshot = Snapshot(segments, 0, [place for _, place in sorted(order)] if len(segments) > 1 else ())
    how = "match" if pattern is not None else "have most words of the query"
    files = f"{len(chosen):,} of the files that {how}; {looked:,} of {len(entries):,} were looked at"
    note = Degraded("index", f"{about}. These hits are from {files}", "ask again for the full answer")
    return Glimpse(View(snapshot, manifest, len(entries) - len(chosen), (note,)), len(chosen), len(entries))


def tracked(project: RootIndex, seconds: float) -> list[Entry] | None:
    """The files that git tracks, without a look at them: a fraction of the time that a listing takes.

    None where it is no work tree, where git does not say in time, or where more than git decides what is left out.
    """
    if not project.root.git:
        return None
    status, output = command.finish(command.start(project.root.path, "ls-files", "-z", "--cached"), max(0.05, seconds))
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
        if folder not in real:  # a link in its place would lead elsewhere
            real[folder] = os.path.realpath(os.path.join(top, folder)) == os.path.join(top, folder)
        if path and real[folder]:
            found.append(Entry(path, 0, 0, 0, 0))
    return found


def size_of(project: RootIndex, entries: Sequence[Entry], most: int) -> int:
    """How many bytes these files have; no more of them than needed to exceed `most` are looked at."""
    total = 0
    for entry in entries:
        with contextlib.suppress(OSError):
            total += entry.size or os.lstat(project.root.path / entry.path).st_size
        if total > most:
            break
    return total


def has_code(entries: Iterable[Entry]) -> bool:
    """Whether there is any file in a programming language, by its name."""
    for entry in entries:
        *folders, _ = entry.path.split("/")
        if not any(folder.startswith(".") for folder in folders):
            language = LANGUAGES.get(detect(entry.path, b""))
            if language is not None and language.grammar is not None:
                return True
    return False


def _scan(
    project: RootIndex, entries: Iterable[Entry], words: Sequence[bytes], pattern: TextPattern | None,
    until: tuple[float, float],
) -> tuple[int, list[Found]]:
    """How many files were looked at in time, and those that have something of the query; more time if there is none yet."""
    found: list[Found] = []
    looked = 0
    # What is named after the query first, the largest last: many small files are through before the time is.
    ordered = sorted(entries, key=lambda item: (-sum(_names(item.path, words)), item.size > _LARGE, item.path))
    least = time.monotonic() + _LEAST  # whatever was slow before, the few likeliest files are looked at
    for entry in ordered:
        if time.monotonic() > max(least, until[0 if found else 1]):
            break
        looked += 1
        outcome = project.read_text(entry.path)
        if not isinstance(outcome, Text):
            continue
        if pattern is None:
            marks = _marks(entry.path, outcome.data, words)
        else:
            marks = (float(next(pattern.lines(outcome.data), None) is not None),)
        if any(marks):
            found.append((entry.path, outcome.data, marks))
    return looked, found


def _wanted(text: str) -> Sequence[bytes]:
    """The words to look for, each as short as it can be to still stand for its other forms."""
    weights = extract_terms(text[:20_000])
    best = sorted(weights, key=lambda word: -weights[word])[:MOST_WORDS]
    stems = [stem(word) if word.startswith(stem(word)) else word for word in best]
    return [short.encode("utf-8", "replace") for short in dict.fromkeys(stems)]


def _names(path: str, words: Sequence[bytes]) -> tuple[bool, ...]:
    place = path.lower().encode("utf-8", "replace")
    return tuple(word in place for word in words)


def _marks(path: str, data: bytes, words: Sequence[bytes]) -> tuple[float, ...]:
    lower = data.lower()
    texts = [min(1.0, 0.5 + count / 8) if (count := lower.count(word)) else 0.0 for word in words]
    return tuple(max(_IN_PATH * named, text) for named, text in zip(_names(path, words), texts, strict=True))


def _best(found: Sequence[Found], count: int) -> list[tuple[str, bytes]]:
    """The files with most of the words first, rare ones before common ones; tests and large files are held back."""
    held = [sum(len(marks) > i and marks[i] > 0 for _, _, marks in found) for i in range(count)]
    rarity = [math.log(1 + len(found) / (1 + number)) for number in held] or [1.0]

    def score(item: Found) -> tuple[float, str]:
        held_back = (0.6 if "test" in item[0].lower() else 1.0) * (0.7 if len(item[1]) > FIRST_BYTES else 1.0)
        return -held_back * sum(mark * rare for mark, rare in zip(item[2], rarity, strict=False)), item[0]

    return [(path, data) for path, data, _ in sorted(found, key=score)]


def _batches(files: Sequence[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """Files in batches that grow, each in path order; at least one, which may be empty."""
    batch: list[tuple[str, bytes]] = []
    size = total = 0
    for path, data in files:
        if batch and size + len(data) > FIRST_BYTES:
            yield sorted(batch)
            batch, size = [], 0
        if total + len(data) > MOST_BYTES:
            continue
        batch.append((path, data))
        size, total = size + len(data), total + len(data)
    yield sorted(batch)

# ----------------------------------------------------------------------------------------------------------------------
# A search before there is an index: the files are listed, and a glimpse of the likeliest answers (`cold`).


PATIENCE = 1.3
"""So many seconds a question may wait for an index before it is answered without."""
_SOON = 20.0
"""So many seconds a list of files will do while there is no index."""
_EXACT = ("mode", "fixed", "case", "word", "multiline")

Listed = Sequence[Sequence[Entry]]


class Early:
    """Searches of engines that have no index yet. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listing: _Listing | None = None

    def listed(self, engine: Engine, until: float) -> Listed | None:
        """The files of each root, if they can be told in time. What was listed a moment ago will do."""

        quick = [tracked(project, until - time.monotonic()) for project in engine.projects]
        known = [entries for entries in quick if entries is not None]
        if len(known) == len(quick) and all(known):
            return known
        with self._lock:
            listing = self._listing
            if listing is None or (listing.engine is not engine) or listing.old():
                listing = self._listing = _Listing(engine)
        return listing.wait(until - time.monotonic())

    def search(
        self, engine: Engine, listed: Listed | None, text: str, options: dict[str, Any], about: str, until: float
    ) -> Answer:
        """What can be said until then, on the monotonic clock; `about` tells how the index is coming on."""

        if listed is None:
            about, listed = f"{about}, and its files are still being listed", [()] * len(engine.projects)
        if options.get("sources") is None and any(has_code(entries) for entries in listed):
            options = {**options, "sources": ["code"]}  # the few files that are looked at must not decide that
        known = {name: options[name] for name in _EXACT if options.get(name) is not None}
        pattern = compile_literal_query(Query(text, **known)) if isinstance(text, str) and text.strip() else None
        now = time.monotonic()
        left = max(0.4, until - now)
        seen = [
            glimpse(project, entries, str(text), pattern, now + left / 2, now + left, about)
            for project, entries in zip(engine.projects, listed, strict=True)
        ]
        answer = engine.search(text, **options, views=[part.view for part in seen])
        share = sum(part.ranked for part in seen) / max(1, sum(part.total for part in seen))
        state = replace(answer.index, fresh=False, coverage={**answer.index.coverage, "code": round(share, 4)})
        return replace(answer, index=state)


class _Listing:
    """Lists the files of an engine's roots in a thread of its own, since that cannot be cut short."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._entries: list[Sequence[Entry]] | None = None
        self._done = 0.0
        self._thread = threading.Thread(target=self._work, name="lurcher-listing", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        with contextlib.suppress(LurcherError, OSError):  # whoever builds the index will say so
            self._entries = [project.list_files().entries for project in self.engine.projects]
        self._done = time.monotonic()

    def wait(self, seconds: float) -> list[Sequence[Entry]] | None:
        self._thread.join(max(0.0, seconds))
        return self._entries

    def old(self) -> bool:
        return bool(self._done) and time.monotonic() - self._done > _SOON
