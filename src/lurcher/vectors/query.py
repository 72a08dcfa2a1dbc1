"""The vector of a question by a term table: few terms, each looked up or composed by itself, added up in their order.

It is what `Table.vectors` gives, times the amounts, without a matrix: the same bytes with the kernel and without.
"""

from __future__ import annotations

from math import sqrt

from lurcher.errors import ModelError, Template
from lurcher.runtime.arrays import np
from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.storage.vectors import Direction, to_direction
from lurcher.vectors.model import Model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lurcher.vectors.table import Table


_STEPS = 127


def pointed(table: Table, words: Mapping[str, float]) -> tuple[NDArray[np.float64], bool]:
    """Σ √number · weight · row over the words, and whether the table knows any of them."""
    vector = np.zeros(table.dims)
    known = False
    for word, number in words.items():
        place = table.place(word)
        known = known or place >= 0
        found = _composed(table, word) if place < 0 else (_summed(table, "rows", [place], [1.0]), table.query_factor(place))
        if found is not None:
            vector += sqrt(number) * (found[0] * found[1]).astype(np.float64)
    return vector, known


def _composed(table: Table, word: str) -> tuple[NDArray[np.float32], float] | None:
    """The row of an unseen word in whole steps, as rows are stored, and what one step is; None where it has no parts."""
    from lurcher.vectors.sums import TOTAL
    from lurcher.vectors.unseen_terms import grams_of_one

    meta = table.meta
    if meta.compose == "grams":
        parts, section = (grams_of_one(word, meta.gram_lengths, table.buckets) if table.spelled(word) else []), "grams"
    elif meta.compose == "wordpiece":
        parts, section = table.pieces(word), "rows"
    else:
        parts, section = [], "rows"
    if not parts:
        return None
    amounts = table.scales_at(section, parts)
    share = 0.0
    for amount in amounts:
        share += abs(amount)
    step = (share if share > 0 else 1.0) / TOTAL
    whole = [float(int(amount / step)) for amount in amounts]
    values = _summed(table, section, parts, whole) * (step / len(parts))
    scale = np.asarray([float(np.abs(values).max(initial=0.0))], np.float32) / _STEPS
    row = np.rint(values / (scale if float(scale[0]) > 0 else np.asarray([1.0], np.float32)))
    factor = scale * np.asarray([meta.gram_weight_query], np.float32)
    return row, float(factor[0])


def _summed(table: Table, section: str, places: list[int], whole: list[float]) -> NDArray[np.float32]:
    """Σ whole · row over some rows: exact, so it does not matter who adds them up."""
    packed = table.packed(section, places)
    kernel = native()
    if kernel is not None:
        numbers = np.arange(len(places))
        found = kernel.row_sums(np.asarray([len(places)]), numbers, np.asarray(whole), packed, table.meta.bits, table.dims)
        return np.frombuffer(found, np.float32)
    from lurcher.vectors.quantise import unpack

    rows = unpack(np.frombuffer(packed, np.uint8).reshape(len(places), -1), table.meta.bits, table.dims)
    return np.asarray(whole, np.float32) @ rows.astype(np.float32)

# ----------------------------------------------------------------------------------------------------------------------
# Where a question points: from its words by the term table, or from its text by a provider.


def direction(model: Model, words: Mapping[str, float], text: str, dims: int) -> tuple[Direction, bool]:
    """The direction, and whether the model knows any of the words; `dims` are what the index has."""
    if model.textual:
        from lurcher.vectors.text_model import TextModel

        assert isinstance(model, TextModel)
        vector = model.question(text)
        if len(vector) != dims:
            raise other_size(len(vector), dims)
        return to_direction(vector), True
    table = model.table
    assert table is not None
    vector, known = pointed(table, words)
    return to_direction(vector), known


def other_size(given: int, kept: int) -> ModelError:
    return ModelError(
        f"the model gives vectors of {given:,} numbers, and those of the index have {kept:,}",
        Template("set embedding.model back, or {run index: rebuild}"),
    )


def unfit(model: Model, dims: int | None) -> ModelError | None:
    """Why vectors of an index cannot be compared with questions by this model; None for `dims`: there are none to compare."""
    table = model.table
    if model.problem is not None:
        problem = model.problem
        return problem if isinstance(problem, ModelError) else ModelError(problem.message, problem.hint)
    if not model.textual and table is None:
        return ModelError("no model is in use", "choose one: lurcher model use builtin")
    if dims is not None and (not dims or (table is not None and dims != table.dims)):
        return ModelError("the index has no vectors of this model", "run: lurcher index")
    return None
