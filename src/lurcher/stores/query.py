"""A planned question as a store is asked it: by meaning, by words, and by names that are hardly anywhere else."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from lurcher.config import Settings
from lurcher.errors import LurcherError
from lurcher.lanes.dense import find_direction
from lurcher.lanes.lexical import REPORT_TERMS, VARIANT, compute_group_idf
from lurcher.query.intent import REPORT, SYMBOL, split_qualified_name
from lurcher.query.plan import Plan
from lurcher.stores.base import Sparse
from lurcher.stores.snapshot import Words
from lurcher.stores.sparse import sparse_of
from lurcher.terms.split import compound, name_of, words
from lurcher.terms.vocabulary import STOP_WORDS
from lurcher.vectors.model import Model
from lurcher.vectors.query import unfit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FEW_FILES = 40
"""A name that more files define, or are called by, leads nowhere unless it is what was asked for."""
_MOST_NAMES = 100
_MOST_NAMED = 20
"""Words that begin like one of the question and stand in names of files."""
_NAMED = 0.3
"""What such a word counts against the one of the question."""
_MIN_PREFIX = 4


def words_of(plan: Plan, known: Words, units: int, settings: Settings) -> Sparse | None:
    """The question by its words; each weighs as much as it is rare among so many units."""
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
                for term in known.terms_with_prefix(group.word, family)[:_MOST_NAMED]:
                    offer(term, _NAMED * weight)
    for joined in _joined(plan):
        if known.units_with(joined):
            offer(joined, compute_group_idf(units, known.units_with(joined), known.units_with(joined)))
    return sparse_of(weights)


def _joined(plan: Plan) -> list[str]:
    """Neighbouring words written as one, as names have them."""
    if plan.intent in (REPORT, SYMBOL):
        return []
    found = [word.lower() for word in words(plan.text)]
    return [a + b for a, b in pairwise(found) if a not in STOP_WORDS and b not in STOP_WORDS]


def names_of(plan: Plan, known: Words) -> tuple[str, ...]:
    """Names by which a file is a candidate, whatever else it holds: what it defines, and after a slash what it is called."""
    asked = [compound(parts[-1]) for name in plan.names if (parts := split_qualified_name(name))]
    if plan.intent == SYMBOL:
        return tuple(dict.fromkeys([*asked, *(f"/{name}" for name in asked)]))
    report = plan.report
    called: list[str] = []
    if report is not None:
        modules = (f"{name}.x" for name in _modules(report.dotted))
        called = list(_called((*report.frames[::-1], *report.paths, *report.urls, *modules)))
        asked += [compound(name.split(".")[-1]) for name in report.dotted]
    else:
        asked += _joined(plan)
        called = [*(group.word for group in plan.groups), *_joined(plan)]
    rare = [name for name in dict.fromkeys(asked) if 0 < known.files_with(name) <= _FEW_FILES]
    rare += [f"/{name}" for name in dict.fromkeys(called) if 0 < known.files_with(name) <= _FEW_FILES]
    return tuple(rare[:_MOST_NAMES])


def _modules(dotted: Iterable[str]) -> list[str]:
    """The paths that a dotted name may be the module of, the longest first."""
    return ["/".join(parts[:length]) for name in dotted for parts in [name.split(".")] for length in range(len(parts), 1, -1)]


def _called(paths: Iterable[str]) -> Iterable[str]:
    """What files at these paths are called."""
    for path in paths:
        plain = path.split("#")[0].split("?")[0].replace("\\", "/")
        wanted = [part for part in plain.split("/") if part not in ("", ".", "..", "~")]
        if wanted:
            yield compound(name_of("/".join(wanted[-2:])))


def meaning_of(plan: Plan, model: Model, dims: int) -> NDArray[np.float32] | None:
    """Where the question points; None where that cannot be told, which the dense lane will say."""
    import numpy as np

    if unfit(model, dims) is not None:
        return None
    try:
        found, _ = find_direction(model, plan, dims)
    except LurcherError:
        return None
    if not found.length:
        return None
    return (found.numbers.astype(np.float64) / found.length).astype(np.float32)
