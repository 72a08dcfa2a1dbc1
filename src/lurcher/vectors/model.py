"""The model in use: the term table that the setting `dense.model` names, opened when it is first needed."""

from __future__ import annotations

import os

from lurcher import config
from lurcher.config import Settings
from lurcher.errors import ConfigError, LurcherError, ModelError
from lurcher.runtime.light import TYPE_CHECKING, cached_property
from lurcher.vectors.table import Table

if TYPE_CHECKING:
    from pathlib import Path

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
