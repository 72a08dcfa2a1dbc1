"""Turns a plan into what a store searches for: a dense vector, a sparse vector of terms, and names that few files define.

Sparse vectors have BM25 weights of terms, or are those of a sparse model where one is configured:

    unit:   √noise · tf·(k1 + 1) / (tf + k1·(1 − b + b·length/typical length)), with tf and length as in the lexical lane
    query:  weight · idf

The product of both is BM25, except for two changes that keep the vector of a unit the same whatever else the project has: the
typical length is a constant, and idf is part of the query.

Tests, examples and the like get the square root of the factor by which the ranking lowers them. Without it they take the
places of files that rank before them in the end; with the whole factor they are not found where they are all there is.
Measured over 17,451 units: of 1,000 files in the first ten, 38 are not fetched without a factor, 18 with its root and 60 with
the whole factor.

A project in a store has either terms or the vectors of one model; its head says which (`HEAD_KEY`). A query whose vector
cannot be made in the same way is run without this leg, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lurcher.config import Settings
from lurcher.config.schema import LexicalSettings, NoiseSettings
from lurcher.errors import LurcherError, ServerError
from lurcher.lanes.dense import find_direction
from lurcher.lanes.lexical import REPORT_TERMS, VARIANT, compute_group_idf
from lurcher.query import REPORT, SYMBOL, Plan, split_qualified_name
from lurcher.ranking.evidence import DATA, GENERATED, SETUP, TRANSLATION, VENDORED
from lurcher.sources import roles
from lurcher.stores.base import Head, Sparse, StoredFile
from lurcher.stores.records import SPARSE_MASK, hash_term
from lurcher.stores.snapshot import MergedVocabulary
from lurcher.terms import compound, name_of, words
from lurcher.terms.vocabulary import STOP_WORDS
from lurcher.types import Degraded
from lurcher.vectors import Model, find_mismatch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.vectors.service import SparseEmbedder


TYPICAL_LENGTH = 200.0
"""The weighted number of terms in a unit, about the mean over many projects."""
HEAD_KEY = "sparse"
"""The entry of a head that names the sparse model; missing where lurcher's own terms are stored."""


def role_factors(flags: NDArray[Any]) -> NDArray[np.float64]:
    """The factor of the terms of a file, from its roles."""
    import numpy as np

    noise = NoiseSettings()  # the defaults: the settings of one user do not decide what a team shares
    by_role = {
        roles.TEST: noise.tests, roles.LEGACY: noise.legacy, roles.EXAMPLE: noise.examples, roles.STUB: noise.stub,
        roles.SETUP: SETUP, roles.VENDORED: VENDORED, roles.DATA: DATA, roles.GENERATED: GENERATED,
        roles.TRANSLATION: TRANSLATION,
    }  # fmt: skip
    found = np.ones(len(flags))
    for role, factor in by_role.items():
        found[(flags & role) != 0] *= factor
    return np.sqrt(found)


def saturate(
    tf: NDArray[np.float64], lengths: NDArray[np.float64], factors: NDArray[np.float64]
) -> NDArray[np.float32]:
    import numpy as np

    settings = LexicalSettings()
    norm = settings.k1 * (1 - settings.b + settings.b * lengths / TYPICAL_LENGTH)
    return (factors * tf * (settings.k1 + 1) / (tf + norm)).astype(np.float32)


def sparse_vector(weights: Mapping[str, float]) -> Sparse | None:
    """Weighted terms as a sparse vector; None where there are none."""
    import numpy as np

    by_number: dict[int, float] = {}
    for term, weight in weights.items():
        if weight > 0:
            number = hash_term(term) & SPARSE_MASK
            by_number[number] = by_number.get(number, 0.0) + weight
    if not by_number:
        return None
    numbers = sorted(by_number)
    return Sparse(np.array(numbers, np.uint32), np.array([by_number[number] for number in numbers], np.float32))


def embed_files(files: Iterable[StoredFile], embedder: SparseEmbedder) -> Iterator[StoredFile]:
    """The same files with the vectors of a sparse model, embedded in groups that keep the service busy."""
    from lurcher.vectors.service import BATCH

    most = BATCH * embedder.client.breaker.limits.concurrency
    group: list[StoredFile] = []
    for file in files:
        group.append(file)
        if sum(len(item.units) for item in group) >= most:
            yield from _embed_group(group, embedder)
            group = []
    yield from _embed_group(group, embedder)


def _embed_group(files: list[StoredFile], embedder: SparseEmbedder) -> Iterator[StoredFile]:
    found = iter(embedder.embed_documents([f"{file.path} {unit.symbol}\n{unit.text}" for file in files for unit in file.units]))
    for file in files:
        yield replace(file, units=tuple(replace(unit, sparse=next(found)) for unit in file.units))


class SparseQuery:
    """The sparse vector of one query, as each project needs it; notes say where it could not be made."""

    def __init__(self, embedder: SparseEmbedder | None, text: str, term_vector: Callable[[], Sparse | None]) -> None:
        self._embedder, self._text, self._term_vector = embedder, text, term_vector
        self._vector: Sparse | None = None
        self._requested = False
        self.notes: dict[Degraded, None] = {}

    def vector_for(self, name: str, head: Head) -> Sparse | None:
        fingerprint = head.more.get(HEAD_KEY, "")
        if not fingerprint:
            return self._term_vector()
        if self._embedder is None or self._embedder.fingerprint != fingerprint:
            reason = f"{name} in the store has vectors of another sparse model, which were not compared"
            self.notes[Degraded(HEAD_KEY, reason, "use the [sparse] settings of its writer")] = None
            return None
        if not self._requested:
            self._requested = True
            try:
                self._vector = self._embedder.embed_query(self._text)
            except ServerError as problem:
                self.notes[Degraded(HEAD_KEY, f"{problem.message}; words were not compared", problem.hint)] = None
        return self._vector if self._vector is not None and len(self._vector.numbers) else None


def head_entry(embedder: SparseEmbedder | None) -> Mapping[str, str]:
    """What a head says about its sparse vectors."""
    return {} if embedder is None else {HEAD_KEY: embedder.fingerprint}


_MAX_FILES_OF_NAME = 40
"""A name that more files define or have is left out, unless the query asks for that name."""
_MAX_NAMES = 100
_MAX_PREFIXED = 20
"""Terms in file names that begin like a word of the query."""
_PREFIXED_WEIGHT = 0.3
"""The weight of such a term, relative to the word of the query."""
_MIN_PREFIX = 4


def sparse_query(plan: Plan, known: MergedVocabulary, units: int, settings: Settings) -> Sparse | None:
    """The terms of the query, weighted by how rare each is among `units` units."""
    groups = []
    for group in plan.groups:
        forms = (group.word, *group.forms)
        each, together = [known.units_with(term) for term in forms], known.units_with_any(forms)
        if any(each):
            together = sum(each) if together is None else together
            groups.append((group, group.weight * compute_group_idf(units, each[0], min(together, units))))
    if plan.intent == REPORT:
        groups = sorted(groups, key=lambda item: (-item[1], item[0].word))[: REPORT_TERMS]
    weights: dict[str, float] = {}

    def offer(term: str, weight: float) -> None:
        weights[term] = max(weights.get(term, 0.0), weight)

    for group, weight in groups:
        offer(group.word, weight)
        for form in group.forms:
            offer(form, VARIANT * weight)
        if plan.intent not in (REPORT, SYMBOL) and len(group.word) >= _MIN_PREFIX and group.word.isalpha():
            for family in ("name", "types"):
                for term in known.terms_with_prefix(group.word, family)[:_MAX_PREFIXED]:
                    offer(term, _PREFIXED_WEIGHT * weight)
    for joined in _joined_words(plan):
        if known.units_with(joined):
            offer(joined, compute_group_idf(units, known.units_with(joined), known.units_with(joined)))
    return sparse_vector(weights)


def _joined_words(plan: Plan) -> list[str]:
    """Neighbouring words joined into one, as in names."""
    if plan.intent in (REPORT, SYMBOL):
        return []
    found = [word.lower() for word in words(plan.text)]
    return [a + b for a, b in pairwise(found) if a not in STOP_WORDS and b not in STOP_WORDS]


def name_query(plan: Plan, known: MergedVocabulary) -> tuple[str, ...]:
    """Names that make a file a candidate: of its definitions, and after a slash of the file itself."""
    names = [compound(parts[-1]) for name in plan.names if (parts := split_qualified_name(name))]
    if plan.intent == SYMBOL:
        return tuple(dict.fromkeys([*names, *(f"/{name}" for name in names)]))
    report = plan.report
    stems: list[str] = []
    if report is not None:
        modules = (f"{name}.x" for name in _module_paths(report.dotted))
        stems = list(_file_names((*report.frames[::-1], *report.paths, *report.urls, *modules)))
        names += [compound(name.split(".")[-1]) for name in report.dotted]
    else:
        names += _joined_words(plan)
        stems = [*(group.word for group in plan.groups), *_joined_words(plan)]
    rare = [name for name in dict.fromkeys(names) if 0 < known.files_with(name) <= _MAX_FILES_OF_NAME]
    rare += [f"/{name}" for name in dict.fromkeys(stems) if 0 < known.files_with(name) <= _MAX_FILES_OF_NAME]
    return tuple(rare[:_MAX_NAMES])


def _module_paths(dotted: Iterable[str]) -> list[str]:
    """The paths of modules that a dotted name may stand for, the longest first."""
    return ["/".join(parts[:length]) for name in dotted for parts in [name.split(".")] for length in range(len(parts), 1, -1)]


def _file_names(paths: Iterable[str]) -> Iterable[str]:
    """The names of files at these paths."""
    for path in paths:
        plain = path.split("#")[0].split("?")[0].replace("\\", "/")
        wanted = [part for part in plain.split("/") if part not in ("", ".", "..", "~")]
        if wanted:
            yield compound(name_of("/".join(wanted[-2:])))


def dense_query(plan: Plan, model: Model, dims: int) -> NDArray[np.float32] | None:
    """The vector of the query; None where there is none, which the dense lane will report."""
    import numpy as np

    if find_mismatch(model, dims) is not None:
        return None
    try:
        found, _ = find_direction(model, plan, dims)
    except LurcherError:
        return None
    if not found.length:
        return None
    return (found.numbers.astype(np.float64) / found.length).astype(np.float32)
