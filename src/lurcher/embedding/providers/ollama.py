"""`ollama`: an embedding model of Ollama's, by its `/api/embed`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lurcher.embedding.provider import Identity, Wanted
from lurcher.embedding.service import Service, address, key_for, most_chars
from lurcher.errors import ServerError
from lurcher.remote import Deadline

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT = "http://127.0.0.1:11434"
MODEL = "all-minilm"


def identity(wanted: Wanted) -> Identity:
    key_for(wanted, address(wanted, DEFAULT))
    return {"model": wanted.settings.model.strip() or MODEL}


def connect(wanted: Wanted) -> Ollama:
    base = address(wanted, DEFAULT)
    model = wanted.settings.model.strip() or MODEL

    def body(texts: list[str]) -> Any:
        return {"model": model, "input": texts, "truncate": True}

    return Ollama(Service(base, "/api/embed", body, _rows, most_chars(wanted), key_for(wanted, base)), model)


@dataclass(frozen=True, slots=True)
class Ollama:
    """The service, whose failures name the command that mends them."""

    service: Service
    model: str

    def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        try:
            return self.service.embed(texts, deadline)
        except ServerError as problem:
            if problem.status == 404 and "model" in problem.message:
                name = shlex.quote(self.model)
                raise ServerError(f"Ollama has no model {self.model}", f"run: ollama pull {name}", 404) from None
            if problem.message.startswith("nothing answers"):
                raise ServerError(problem.message, "run: ollama serve", passing=True) from None
            raise

    def served(self, deadline: Deadline) -> str:
        return ""


def _rows(answer: Any) -> Any:
    return answer.get("embeddings") if isinstance(answer, dict) else None
