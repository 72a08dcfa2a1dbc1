"""`ollama`: an embedding model of Ollama, by its `/api/embed`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lurcher.errors import ServerError
from lurcher.net.http import Deadline
from lurcher.vectors.service import Identity, ProviderRequest, Service, char_limit, connect_service

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT = "http://127.0.0.1:11434"
MODEL = "all-minilm"


def identity(wanted: ProviderRequest) -> Identity:
    connect_service(wanted, DEFAULT)
    return {"model": wanted.settings.model.strip() or MODEL}


def connect(wanted: ProviderRequest) -> Ollama:
    model = wanted.settings.model.strip() or MODEL

    def body(texts: list[str]) -> Any:
        return {"model": model, "input": texts, "truncate": True}

    return Ollama(Service(connect_service(wanted, DEFAULT), "/api/embed", body, _rows, char_limit(wanted)), model)


@dataclass(frozen=True, slots=True)
class Ollama:
    """The service; its errors name the command to run."""

    service: Service
    model: str

    def embed(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        return self._explain_errors(lambda: self.service.embed(texts, deadline))

    def embed_once(self, texts: Sequence[str], deadline: Deadline) -> NDArray[np.float32]:
        return self._explain_errors(lambda: self.service.embed_once(texts, deadline))

    def _explain_errors(self, attempt: Callable[[], NDArray[np.float32]]) -> NDArray[np.float32]:
        try:
            return attempt()
        except ServerError as problem:
            if problem.status == 404 and "model" in problem.message:
                name = shlex.quote(self.model)
                raise problem.in_words(f"Ollama has no model {self.model}", f"run: ollama pull {name}") from None
            if problem.message.startswith("nothing answers"):
                raise problem.in_words(problem.message, "run: ollama serve") from None
            raise

    def served(self, deadline: Deadline) -> str:
        return ""


def _rows(answer: Any) -> Any:
    return answer.get("embeddings") if isinstance(answer, dict) else None
