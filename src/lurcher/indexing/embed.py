"""Makes the vectors of a model that embeds text: vectors of known texts are copied, the others embedded.

    segments without vectors ──► digests of their texts ──► known vectors copied ──► others embedded ──► sidecar ──► manifest

The text of a unit is its path, its name and its content; that of a file's card is its path, the names it defines, and how it
begins. Line numbers are no part of it, so a unit that only moved has the same text. Nothing is parsed or counted again. Work is
saved now and then, so that an interrupted run goes on where it stopped; a provider that fails leaves rows of zeros, which the
next run fills.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from lurcher.errors import CorruptIndex, LurcherError, MissingExtra, ModelError, ServerError, Template
from lurcher.net.http import Deadline
from lurcher.storage import IndexFolder
from lurcher.storage.container import Container
from lurcher.storage.container_writer import ContainerWriter, as_bytes
from lurcher.storage.segment import FILES, FUNCTION_KINDS, KINDS, TYPE_KINDS, Segment
from lurcher.storage.tables import VectorGroup
from lurcher.storage.vectors import KEY_BYTES, KIND, VectorSidecar, check_sidecar
from lurcher.types import HEADING, HEADING_PATH, Progress
from lurcher.vectors import wrong_size_error
from lurcher.vectors.quantise import normalise_sums
from lurcher.vectors.text_model import TextModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


UNITS, CARDS = FILES.vectors
CARD_NAMES, CARD_CHARS = 40, 600
"""Names on a card, and characters from the beginning of its file."""
MAX_CHARS = 20_000
BATCH = 32
"""Texts that are embedded together: what servers accept unless set up otherwise."""
CHECKPOINT_SECONDS = 30.0
"""Seconds of work before the first save; doubled each time."""
_WINDOW_BATCHES = 64
"""Batches whose texts are sorted by length together: a short text in a batch with a long one costs as much."""
_REFUSAL_STATUSES = (400, 413, 422)
"""HTTP statuses of servers that refuse a text, or a batch of that size."""
_MAX_REFUSED = 20
"""Texts that a server may refuse in a row before that counts as a failure of the server."""
REFUSED_SCALE = 1e-9
"""The scale of a refused text: its vector is next to zero, and it is not embedded again."""
_CARD_KINDS = frozenset(number for number, kind in enumerate(KINDS) if kind in TYPE_KINDS or kind in FUNCTION_KINDS)
_HEADING = KINDS.index(HEADING)


@dataclass(frozen=True, slots=True)
class TextGroup:
    """The texts of one group of vectors."""

    group: VectorGroup
    count: int
    needed: NDArray[np.bool_] | None
    """Which rows need a vector; None: all."""
    text: Callable[[int], str]


def describe_segment(container: Container, live: NDArray[np.bool_] | None) -> list[TextGroup]:
    """The texts of the units and files of a segment; dead files need no vectors."""
    segment = Segment(container, live)
    texts = _SegmentTexts(segment)
    units = None if live is None else live[segment.units["file"]]
    return [
        TextGroup(UNITS, len(segment.units), units, texts.unit),
        TextGroup(CARDS, len(segment.files), live, texts.card),
    ]


class _SegmentTexts:
    def __init__(self, segment: Segment) -> None:
        self._segment = segment

    def unit(self, number: int) -> str:
        segment = self._segment
        row = segment.units[number]
        file, definition = int(row["file"]), int(row["definition"])
        named = self._name(segment.definitions[definition]) if definition >= 0 else ""
        text = self._text(file, int(row["start"]), int(row["end"]))
        return "\n".join(part for part in (segment.path(file), named, text) if part)

    def card(self, file: int) -> str:
        segment = self._segment
        row = segment.files[file]
        first, count = int(row["definition"]), int(row["definitions"])
        names: list[str] = []
        for each in segment.definitions[first : first + count]:
            if int(each["kind"]) in _CARD_KINDS or int(each["kind"]) == _HEADING:
                names.append(segment.string(int(each["name"])))
                if len(names) == CARD_NAMES:
                    break
        begins = self._text(file, 0, min(int(row["size"]), 2 * CARD_CHARS))[:CARD_CHARS]
        return "\n".join(part for part in (segment.path(file), ", ".join(dict.fromkeys(names)), begins) if part)

    def _name(self, row: Any) -> str:
        segment = self._segment
        container, name = segment.string(int(row["container"])), segment.string(int(row["name"]))
        between = HEADING_PATH if int(row["kind"]) == _HEADING else "."
        return f"{container}{between}{name}" if container else name

    def _text(self, file: int, start: int, end: int) -> str:
        base = int(self._segment.files["text"][file])
        data = self._segment.container.section("text", base + start, base + min(end, start + MAX_CHARS))
        return bytes(data).decode("utf-8", "ignore").strip()


class VectorCache:
    """Vectors of existing sidecars by the digests of their texts."""

    def __init__(self, groups: tuple[VectorGroup, ...]) -> None:
        self._groups = groups
        self._containers: list[Container] = []
        self._index: tuple[NDArray[np.uint64], NDArray[np.int8], NDArray[np.float32]] | None = None

    def add(self, container: Container) -> None:
        self._containers.append(container)
        self._index = None

    def rows(self, keys: NDArray[np.uint64], dims: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """The vectors of texts with these digests; zero for unknown ones."""
        import numpy as np

        numbers, scales = np.zeros((len(keys), dims), np.int8), np.zeros(len(keys), np.float32)
        if not self._containers or not len(keys):
            return numbers, scales
        known, rows, lengths = self._sort_rows(dims)
        if not len(known):
            return numbers, scales
        places = np.minimum(known[:, 0].searchsorted(keys[:, 0]), len(known) - 1)
        same = np.flatnonzero((known[places] == keys).all(axis=1))
        numbers[same], scales[same] = rows[places[same]], lengths[places[same]]
        return numbers, scales

    def _sort_rows(self, dims: int) -> tuple[NDArray[np.uint64], NDArray[np.int8], NDArray[np.float32]]:
        import numpy as np

        if self._index is None:
            pairs = [(container, group) for container in self._containers for group in self._groups]
            keys = np.concatenate([container.array(group.keys, "<u8").reshape(-1, 2) for container, group in pairs])
            rows = np.concatenate([container.array(group.numbers, "i1").reshape(-1, dims) for container, group in pairs])
            lengths = np.concatenate([container.array(group.scales, "<f4") for container, group in pairs])
            there = np.flatnonzero(lengths > 0)
            order = there[np.argsort(keys[there, 0], kind="stable")]
            self._index = keys[order], rows[order], lengths[order]
        return self._index


def hash_texts(texts: TextGroup) -> NDArray[np.uint64]:
    """The digest of every needed text; zero for others."""
    import numpy as np

    needed = range(texts.count) if texts.needed is None else np.flatnonzero(texts.needed).tolist()
    keys = np.zeros((texts.count, 2), np.uint64)
    for number in needed:
        text = texts.text(number).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(text, digest_size=KEY_BYTES).digest()
        keys[number] = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
    return keys


Describe = Callable[[str, Container], list[TextGroup]]
"""Name and container of a segment → its texts."""
Commit = Callable[[Mapping[str, VectorSidecar]], None]


@dataclass(frozen=True, slots=True)
class EmbeddingResult:
    vectors: Mapping[str, VectorSidecar]
    problem: LurcherError | None
    """Why vectors are still missing, if the provider failed."""
    refused: int = 0
    """Texts that the provider refused."""


@dataclass(slots=True)
class _GroupRows:
    """The vectors of one group of one segment so far."""

    texts: TextGroup
    keys: NDArray[np.uint64]
    """The digest of each row as two numbers."""
    numbers: NDArray[np.int8]
    scales: NDArray[np.float32]
    missing: list[int] = field(default_factory=list)


class _RowPlace(NamedTuple):
    rows: _GroupRows
    number: int


class _PendingText(NamedTuple):
    text: str
    places: list[_RowPlace]


class EmbeddingRun:
    """Makes the missing vectors of all segments, within `seconds`; `commit` makes them part of the index."""

    def __init__(
        self,
        store: IndexFolder,
        segments: Sequence[str],
        vectors: Mapping[str, VectorSidecar],
        model: TextModel,
        groups: tuple[VectorGroup, ...],
        describe: Describe,
        commit: Commit,
        progress: Progress,
        seconds: float | None,
    ) -> None:
        self._store, self._segments, self._groups = store, segments, groups
        self._model, self._describe, self._commit, self._progress = model, describe, commit, progress
        self._other_models = {digest: other for digest, other in vectors.items() if digest != model.digest}
        self._committed = dict(vectors)
        self._known = vectors.get(model.digest)
        self._dims = self._known.dims if self._known is not None else 0
        self._about = dict(self._known.about) if self._known is not None else model.about()
        self._files: dict[str, str] = {}
        self._incomplete: dict[str, list[_GroupRows]] = {}
        """Segments whose vectors are incomplete."""
        self._deadline = None if seconds is None else Deadline.after(seconds)
        self._refused_in_a_row = 0
        """Refused texts in a row."""
        self._refused_texts: list[_PendingText] = []
        self._any_accepted = False
        """Whether any text was accepted."""

    def run(self, most: int) -> EmbeddingResult:
        """If more than `most` texts would have to be embedded (-1: no limit), only known vectors are copied."""
        self._load_known()
        places = self._find_missing()
        total = len(places)
        problem: LurcherError | None = None
        if total and (most < 0 or total <= most):
            try:
                self._check_server_model()
                self._embed(places)
                self._mark_refused()
            except (ServerError, ModelError, MissingExtra) as failure:
                problem = failure
            except KeyboardInterrupt:
                self._save(final=False)
                raise
        vectors = self._save(final=not self._is_incomplete())
        return EmbeddingResult(vectors, problem, len(self._refused_texts))

    def _mark_refused(self) -> None:
        """Mark refused texts, unless all were refused, so that they are not embedded again."""
        for item in self._refused_texts if self._any_accepted else ():
            for rows, number in item.places:
                rows.scales[number] = REFUSED_SCALE

    def _is_incomplete(self) -> bool:
        return any(not rows.scales[rows.missing].all() for parts in self._incomplete.values() for rows in parts)

    def _load_known(self) -> None:
        """Load existing vectors: complete sidecars as they are, else single rows by their texts."""
        import numpy as np

        known = VectorCache(self._groups)
        for segment, name in (self._known.files if self._known is not None else {}).items():
            try:
                found = self._store.open_file(name, KIND)
                found.verify()
                if found.meta.get("dims") != self._dims:
                    raise found.corrupt("its vectors are of another size")
                if segment in self._segments:
                    check_sidecar(found, self._store.container(segment), self._model.digest, self._groups)
                    self._files[segment] = name
                known.add(found)
            except (CorruptIndex, OSError):
                self._files.pop(segment, None)  # a damaged sidecar is made again
        for segment in self._segments:
            described = self._describe(segment, self._store.container(segment))
            file = self._files.get(segment)
            existing = self._store.open_file(file, KIND) if file is not None else None
            parts = []
            for texts in described:
                if existing is not None:
                    keys = existing.array(texts.group.keys, "<u8").reshape(-1, 2)
                    numbers = existing.array(texts.group.numbers, "i1").reshape(-1, self._dims)
                    scales = existing.array(texts.group.scales, "<f4")
                else:
                    keys = hash_texts(texts)
                    numbers, scales = known.rows(keys, self._dims)
                absent = scales == 0
                if texts.needed is not None:
                    absent &= texts.needed
                parts.append(_GroupRows(texts, keys, numbers, scales, np.flatnonzero(absent).tolist()))
            if existing is None or any(rows.missing for rows in parts):
                for rows in parts:
                    rows.numbers, rows.scales = rows.numbers.copy(), rows.scales.copy()
                self._incomplete[segment] = parts

    def _check_server_model(self) -> None:
        """Raise if the server has another model now: vectors of two models must not be mixed."""
        limit = self._deadline or Deadline.after(self._model.settings.seconds)
        now, before = self._model.embedder().served(limit), self._about.get("served", "")
        if before and now and now != before:
            raise ModelError(
                f"the server has the model {now} now, and the vectors are of {before}",
                Template("set embedding.model to tell them apart, or {run index: rebuild}"),
            )
        if now:
            self._about["served"] = now

    def _find_missing(self) -> list[list[_RowPlace]]:
        """The rows without vectors, grouped by text: a short file may equal its card."""
        found: dict[tuple[int, int], list[_RowPlace]] = {}
        for parts in self._incomplete.values():
            for rows in parts:
                for number in rows.missing:
                    first, second = rows.keys[number].tolist()
                    found.setdefault((first, second), []).append(_RowPlace(rows, number))
        return list(found.values())

    def _embed(self, places: list[list[_RowPlace]]) -> None:
        done, total, pause, kept_at = 0, len(places), CHECKPOINT_SECONDS, time.monotonic()
        self._progress("embedding", 0, total)
        for batch in self._batches(places):
            if self._deadline is not None and not self._deadline.left:
                raise ModelError(f"{done:,} of {total:,} texts were embedded in {self._deadline.seconds:g} s", "")
            self._embed_batch(batch)
            done += len(batch)
            self._progress("embedding", done, total)
            if time.monotonic() - kept_at > pause and done < total:
                self._save(final=False)
                pause, kept_at = 2 * pause, time.monotonic()

    def _batches(self, places: list[list[_RowPlace]]) -> Iterator[list[_PendingText]]:
        """Batches of texts of about the same length."""
        size = BATCH
        for first in range(0, len(places), size * _WINDOW_BATCHES):
            window = [
                _PendingText(same[0].rows.texts.text(same[0].number), same)
                for same in places[first : first + size * _WINDOW_BATCHES]
            ]
            window.sort(key=lambda item: len(item.text))
            for start in range(0, len(window), size):
                yield window[start : start + size]

    def _embed_batch(self, batch: list[_PendingText]) -> None:
        settings = self._model.settings
        limit = self._deadline or Deadline.after(settings.seconds)
        try:
            found = self._model.embed_documents([item.text for item in batch], limit)
        except ServerError as problem:
            if problem.status not in _REFUSAL_STATUSES or self._refused_in_a_row >= _MAX_REFUSED:
                raise
            if len(batch) > 1:  # some texts of the batch may be accepted
                middle = len(batch) // 2
                self._embed_batch(batch[:middle])
                self._embed_batch(batch[middle:])
            else:
                self._refused_in_a_row += 1
                self._refused_texts.append(batch[0])
                if self._refused_in_a_row == _MAX_REFUSED:
                    raise
            return
        self._refused_in_a_row, self._any_accepted = 0, True
        self._store_vectors(batch, found)

    def _store_vectors(self, batch: list[_PendingText], found: NDArray[np.float32]) -> None:
        import numpy as np

        dims = int(found.shape[1])
        if not self._dims:
            self._dims = dims
            for parts in self._incomplete.values():
                for rows in parts:
                    rows.numbers = np.zeros((rows.texts.count, dims), np.int8)
        if dims != self._dims:
            raise wrong_size_error(dims, self._dims)
        numbers, scales = normalise_sums(found)
        for i, item in enumerate(batch):
            for rows, number in item.places:
                rows.numbers[number], rows.scales[number] = numbers[i], scales[i]

    def _save(self, *, final: bool) -> Mapping[str, VectorSidecar]:
        """Write the vectors so far; those of other models are dropped once ours are complete."""
        if not self._dims:
            return self._other_models
        wrote = False
        for segment, parts in self._incomplete.items():
            if final or segment not in self._files or any(rows.scales[rows.missing].any() for rows in parts):
                self._files[segment] = self._store.put(partial(self._write, parts), KIND)
                wrote = True
        mine = {self._model.digest: VectorSidecar(self._about, self._dims, dict(self._files))}
        vectors = mine if final else {**self._other_models, **mine}
        if wrote or vectors != self._committed:
            self._commit(vectors)
            self._committed = vectors
        return vectors

    def _write(self, parts: list[_GroupRows], out: ContainerWriter) -> str:
        meta: dict[str, Any] = {"model": self._model.digest, "dims": self._dims}
        for rows in parts:
            group = rows.texts.group
            meta[group.owners] = rows.texts.count
            out.add(group.numbers, "i1", as_bytes(rows.numbers))
            out.add(group.scales, "<f4", as_bytes(rows.scales.astype("<f4")))
            out.add(group.keys, "<u8", as_bytes(rows.keys.astype("<u8")))
        return out.finish(meta)
