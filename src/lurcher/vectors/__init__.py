"""Vectors of text: the term table, models that embed text, and clients of the services that run them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from lurcher.config import Settings
    from lurcher.vectors.model import Model


def select_model(settings: Settings, root: Path | str) -> Model:
    """The model that the settings name for the project at `root`: a term table, or a provider's model."""
    from lurcher.vectors.model import BUILTIN, NONE, find_table

    if settings.dense.model == NONE or settings.embedding.provider == BUILTIN:
        return find_table(settings, root)
    from pathlib import Path

    from lurcher.vectors.text_model import TextModel

    return TextModel(settings, Path(root))
