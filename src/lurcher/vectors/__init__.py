"""The model in use, and the vector of a query: from its words by the term table, or from its text by a provider.

The table that the setting `dense.model` names is opened when it is first needed. A query has few terms. Each is looked up or
composed by itself and added in order: the same as `Table.vectors` times the amounts, without a matrix, and with the same bytes
with and without the kernel.
"""

from __future__ import annotations

import os
from functools import cached_property
from math import sqrt

from lurcher import config
from lurcher.config import Settings
from lurcher.errors import ConfigError, LurcherError, ModelError, Template
from lurcher.runtime.kernel import native, np
from lurcher.storage.tables import Direction, to_direction
from lurcher.vectors.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray


BUILTIN_FILE: Path | str = os.path.join(os.path.split(__file__)[0], "builtin.table")
BUILTIN, NONE = "builtin", "none"
UNAVAILABLE = "unavailable"
"""In place of the digest of a model that is configured but cannot be used."""


class Model:
    """A term table, or the reason why there is none."""

    textual = False
    """Whether a provider embeds whole texts, so that there is no table."""

    def __init__(self, setting: str, path: Path | str | None) -> None:
        self.setting = setting
        self.place = None if path is None else str(path)
        """None where no model is configured."""

    def embed_query(self, text: str) -> NDArray[np.float64]:
        """The vector of a query, by a provider."""
        raise NotImplementedError("only models that are `textual` embed whole texts")

    @cached_property
    def path(self) -> Path | None:
        from pathlib import Path

        return None if self.place is None else Path(self.place)

    @cached_property
    def _opened(self) -> tuple[Table | None, LurcherError | None]:
        if self.place is None:
            return None, None
        try:
            if self.setting == BUILTIN and not os.path.exists(self.place):
                raise ModelError("this installation has no built-in model", "choose one: lurcher model use PATH")
            if os.path.isdir(self.place):
                name = os.path.split(self.place)[1]
                raise ModelError(f"the model {name} is a folder", f"run: lurcher model use {self.place}")
            return Table.open(self.place), None
        except LurcherError as problem:
            return None, problem

    @property
    def table(self) -> Table | None:
        return self._opened[0]

    @property
    def problem(self) -> LurcherError | None:
        """Why a configured model cannot be used."""
        return self._opened[1]

    @property
    def digest(self) -> str:
        """Identifies the model in the fingerprint of an index."""
        table = self.table
        return table.digest if table is not None else NONE if self.place is None else UNAVAILABLE

    def with_problem(self, problem: LurcherError) -> Model:
        """The same model, after its file was found to be damaged."""
        other = Model(self.setting, self.place)
        other.__dict__["_opened"] = (None, problem)
        return other


def find_table(settings: Settings, root: Path | str) -> Model:
    """The model of the term table that `dense.model` names for the project at `root`."""
    named = settings.dense.model
    if named == NONE:
        return Model(named, None)
    if named == BUILTIN:
        return Model(named, BUILTIN_FILE)
    origin = settings.origins.get("dense.model")
    if not named.strip():
        raise ConfigError(f"{origin}: 'dense.model' is empty", "allowed: builtin, none, or the path of a table")
    place = os.path.expanduser(named).rstrip("/") or "/"
    if origin in (config.PROJECT_FILE, config.PYPROJECT):
        # A repository's own settings must not make lurcher read files elsewhere.
        from pathlib import Path

        inner = Path(root) / place
        if not _within(inner, Path(root)):
            raise ConfigError(
                f"{origin}: dense.model must be a file of the project, not {named!r}", "or: builtin, none"
            )
        return Model(named, inner)
    return Model(named, place)


def _within(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        return False


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
