"""The vector of a query: from its words by the term table, or from its text by a provider.

A query has few terms. Each is looked up or composed by itself and added in order: the same as `Table.vectors` times the
amounts, without a matrix, and with the same bytes with and without the kernel.
"""

from __future__ import annotations

from math import sqrt

from lurcher.errors import ModelError, Template
from lurcher.runtime.kernel import native, np
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.storage.tables import Direction, to_direction
from lurcher.vectors.model import Model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lurcher.vectors.table import Table


_STEPS = 127
"""Steps of a quantised number on either side of zero."""


def embed_terms(table: Table, words: Mapping[str, float]) -> tuple[NDArray[np.float64], bool]:
    """Σ √count · weight · row over the words, and whether the table has any of them."""
    vector = np.zeros(table.dims)
    known = False
    for word, number in words.items():
        place = table.find_row(word)
        known = known or place >= 0
        if place < 0:
            found = _compose_row(table, word)
        else:
            found = _sum_rows(table, "rows", [place], [1.0]), table.query_factor(place)
        if found is not None:
            vector += sqrt(number) * (found[0] * found[1]).astype(np.float64)
    return vector, known


def _compose_row(table: Table, word: str) -> tuple[NDArray[np.float32], float] | None:
    """The quantised row of an unseen word, and its scale; None where it has no parts."""
    from lurcher.vectors.quantise import TOTAL
    from lurcher.vectors.unseen_terms import hash_term_grams

    meta = table.meta
    if meta.compose == "grams":
        parts, section = (hash_term_grams(word, meta.gram_lengths, table.buckets) if table.can_compose(word) else []), "grams"
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
    values = _sum_rows(table, section, parts, whole) * (step / len(parts))
    scale = np.asarray([float(np.abs(values).max(initial=0.0))], np.float32) / _STEPS
    row = np.rint(values / (scale if float(scale[0]) > 0 else np.asarray([1.0], np.float32)))
    factor = scale * np.asarray([meta.gram_weight_query], np.float32)
    return row, float(factor[0])


def _sum_rows(table: Table, section: str, places: list[int], whole: list[float]) -> NDArray[np.float32]:
    """Σ whole · row over some rows; exact, so the kernel and numpy give the same."""
    packed = table.packed(section, places)
    kernel = native()
    if kernel is not None:
        numbers = np.arange(len(places))
        found = kernel.row_sums(np.asarray([len(places)]), numbers, np.asarray(whole), packed, table.meta.bits, table.dims)
        return np.frombuffer(found, np.float32)
    from lurcher.vectors.quantise import unpack

    rows = unpack(np.frombuffer(packed, np.uint8).reshape(len(places), -1), table.meta.bits, table.dims)
    return np.asarray(whole, np.float32) @ rows.astype(np.float32)


def query_direction(model: Model, words: Mapping[str, float], text: str, dims: int) -> tuple[Direction, bool]:
    """The direction of the query, and whether the model knows any of its words; `dims` are those of the index."""
    if model.textual:
        from lurcher.vectors.text_model import TextModel

        assert isinstance(model, TextModel)
        vector = model.embed_query(text)
        if len(vector) != dims:
            raise wrong_size_error(len(vector), dims)
        return to_direction(vector), True
    table = model.table
    assert table is not None
    vector, known = embed_terms(table, words)
    return to_direction(vector), known


def wrong_size_error(found: int, expected: int) -> ModelError:
    return ModelError(
        f"the model gives vectors of {found:,} dimensions, and those of the index have {expected:,}",
        Template("set embedding.model back, or {run index: rebuild}"),
    )


def find_mismatch(model: Model, dims: int | None) -> ModelError | None:
    """Why the vectors of an index cannot be compared with queries by this model, if so; `dims` None: there is no index."""
    table = model.table
    if model.problem is not None:
        problem = model.problem
        return problem if isinstance(problem, ModelError) else ModelError(problem.message, problem.hint)
    if not model.textual and table is None:
        return ModelError("no model is in use", "choose one: lurcher model use builtin")
    if dims is not None and (not dims or (table is not None and dims != table.dims)):
        return ModelError("the index has no vectors of this model", "run: lurcher index")
    return None
