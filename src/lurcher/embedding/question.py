"""Where a question points: from its words by the term table, or from its text by a provider."""

from __future__ import annotations

from lurcher.embedding.model import Model
from lurcher.embedding.pointed import pointed
from lurcher.errors import ModelError
from lurcher.index.vectors import Direction, direction_of
from lurcher.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def direction(model: Model, words: Mapping[str, float], text: str, dims: int) -> tuple[Direction, bool]:
    """The direction, and whether the model knows any of the words; `dims` are what the index has."""
    if model.textual:
        from lurcher.embedding.text import TextModel

        assert isinstance(model, TextModel)
        vector = model.question(text)
        if len(vector) != dims:
            raise other_size(len(vector), dims)
        return direction_of(vector), True
    table = model.table
    assert table is not None
    vector, known = pointed(table, words)
    return direction_of(vector), known


def other_size(given: int, kept: int) -> ModelError:
    return ModelError(
        f"the model gives vectors of {given:,} numbers, and those of the index have {kept:,}",
        "set embedding.model back, or run: lurcher index --rebuild",
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
