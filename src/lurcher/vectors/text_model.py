"""A model that embeds text as it stands: a provider, with what the settings put before questions and texts.

What made a vector is named by a digest, which an index keeps beside it: other provider, model, prefix of texts or length of
texts, other vectors. A prefix of questions changes none.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.config import Settings
from lurcher.config.trust import user_setting
from lurcher.errors import LurcherError, MissingExtra, ModelError, ServerError
from lurcher.net.http import Deadline
from lurcher.runtime.light import cached_property
from lurcher.vectors.model import UNAVAILABLE, Model
from lurcher.vectors.service import Embedder, Wanted, provider_named

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LAYOUT = 1
"""Grows when what is put together for a unit or a file is put together otherwise."""
_KEPT = 64
"""Questions whose vectors are kept: the pages of an answer ask the same one."""
_SAME_BREATH = 1.0
"""Seconds for which a failure stands: what one answer asks for twice fails once."""


class TextModel(Model):
    """Loaded or asked when it is first needed; safe to use from several threads."""

    textual = True

    def __init__(self, settings: Settings, root: Path) -> None:
        chosen = settings.embedding
        super().__init__(f"{chosen.provider} {chosen.model}".strip(), root)
        self.settings = chosen
        self._wanted = Wanted(settings, root)
        user_setting(settings, "embedding.provider")
        self._identity, self._connect = provider_named(chosen.provider)
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._asked: OrderedDict[str, NDArray[np.float64]] = OrderedDict()
        self._failed: tuple[float, ModelError] | None = None
        _ = self._found  # a setting that will not do is told of at once

    @cached_property
    def _found(self) -> tuple[str, LurcherError | None]:
        """The digest, and why there is none."""
        chosen = self.settings
        try:
            told = dict(self._identity(self._wanted))
        except (ModelError, MissingExtra) as problem:
            return UNAVAILABLE, problem
        read = {"prefix": chosen.document_prefix, "tokens": chosen.tokens}
        text = json.dumps({"layout": LAYOUT, "provider": chosen.provider, **read, **told}, sort_keys=True)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest(), None

    @property
    def table(self) -> None:
        return None

    @property
    def problem(self) -> LurcherError | None:
        return self._found[1]

    @property
    def digest(self) -> str:
        return self._found[0]

    def about(self) -> dict[str, Any]:
        """What an index tells of the model behind its vectors."""
        chosen = self.settings
        return {"provider": chosen.provider, "model": chosen.model, "document_prefix": chosen.document_prefix}

    def embedder(self) -> Embedder:
        with self._lock:
            if self._embedder is None:
                self._embedder = self._connect(self._wanted)
            return self._embedder

    def documents(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        """One row of length 1 for each text."""
        prefix = self.settings.document_prefix
        return self._embed([prefix + text for text in texts], deadline)

    def _embed(self, texts: list[str], deadline: Deadline) -> NDArray[np.float32]:
        import numpy as np

        try:
            rows = np.asarray(self.embedder().embed(texts, deadline), np.float32)
            if rows.ndim != 2 or len(rows) != len(texts):
                raise ModelError(f"the provider gives vectors of shape {rows.shape} for {len(texts)} texts", "use another one")
            if not np.isfinite(rows).all():
                raise ModelError("the provider gives vectors that are not all numbers", "use another one")
            return rows
        except LurcherError:
            raise
        except Exception as error:  # a model or a plugin may fail in any way, and words are there without it
            raise ModelError(f"the provider failed: {type(error).__name__}: {error}", "use another one") from error

    def question(self, text: str) -> NDArray[np.float64]:
        """Where a question points; whatever goes wrong is a ModelError."""
        import numpy as np

        text = text.encode("utf-8", "replace").decode()
        with self._lock:
            known = self._asked.get(text)
            if known is not None:
                self._asked.move_to_end(text)
                return known
            if self._failed is not None and time.monotonic() - self._failed[0] < _SAME_BREATH:
                raise self._failed[1]
        try:
            limit = Deadline.after(self.settings.query_seconds)
            rows = self._embed([self.settings.query_prefix + text], limit)
        except LurcherError as problem:
            raise self.failed(problem) from problem
        found: NDArray[np.float64] = rows[0].astype(np.float64)
        with self._lock:
            self._asked[text] = found
            while len(self._asked) > _KEPT:
                self._asked.popitem(last=False)
        return found

    def failed(self, problem: LurcherError) -> ModelError:
        """What to tell of a failure; whoever asks in the same breath is told the same."""
        told = problem if isinstance(problem, ModelError) else ModelError(problem.message, problem.hint)
        told.service, told.tried = problem.service, problem.tried
        if isinstance(problem, ServerError):
            with self._lock:
                self._failed = time.monotonic(), told
        return told


def describe_text(model: Model) -> dict[str, Any]:
    """What there is to know of a provider and its model, which is asked for one vector."""
    assert isinstance(model, TextModel)
    chosen, started = model.settings, time.perf_counter()
    limit = Deadline.after(chosen.query_seconds)
    embedder = model.embedder()
    vector = embedder.embed([f"{chosen.query_prefix}where is this"], limit)
    took = 1000 * (time.perf_counter() - started)
    return {
        "name": model.setting, "setting": model.setting, "provider": chosen.provider, "model": chosen.model,
        "served": embedder.served(limit), "dims": int(vector.shape[1]), "digest": model.digest,
        "query_prefix": chosen.query_prefix, "document_prefix": chosen.document_prefix, "load_ms": round(took, 3),
    }  # fmt: skip
