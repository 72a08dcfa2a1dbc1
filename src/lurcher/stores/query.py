"""Turns a plan into what a store searches for: a dense vector, a sparse vector of terms, and names that few files define."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from lurcher.config import Settings
from lurcher.errors import LurcherError
from lurcher.lanes.dense import find_direction
from lurcher.lanes.lexical import REPORT_TERMS, VARIANT, compute_group_idf
from lurcher.query.plan import REPORT, SYMBOL, Plan, split_qualified_name
from lurcher.stores.base import Sparse
from lurcher.stores.snapshot import MergedVocabulary
from lurcher.stores.sparse import sparse_vector
from lurcher.terms.split import compound, name_of, words
from lurcher.terms.vocabulary import STOP_WORDS
from lurcher.vectors.model import Model
from lurcher.vectors.query import find_mismatch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
        each = [known.units_with(term) for term in (group.word, *group.forms)]
        if any(each):
            groups.append((group, group.weight * compute_group_idf(units, each[0], min(sum(each), units))))
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
