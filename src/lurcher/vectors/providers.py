"""Embedding providers by name: clients of the servers that embed, the ONNX model of this process, and those of other packages.

    openai      any server with `/v1/embeddings`, such as OpenAI's own, llama.cpp's, vLLM's or LM Studio's
    infinity    OpenAI's protocol at the root of a server that has several models and truncates long texts itself
    tei         text-embeddings-inference, and other servers with its `/embed`, started with their one model
    ollama      an embedding model of Ollama, by its `/api/embed`
    onnx        `vectors/onnx.py`
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lurcher.errors import ConfigError, ServerError
from lurcher.net.http import Deadline
from lurcher.runtime import find_installed
from lurcher.vectors.service import Embedder, Identity, ProviderRequest, Service, char_limit, connect_service, model_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


OPENAI_CHARS_PER_TOKEN = 2
"""Characters per token, a low estimate: most such servers refuse a text that is too long for the model."""


def identify_openai(wanted: ProviderRequest) -> Identity:
    connect_service(wanted)
    return {"model": model_name(wanted)}


def connect_openai(wanted: ProviderRequest) -> Service:
    client = connect_service(wanted)
    path = "/embeddings" if client.base.path.rstrip("/").endswith("/v1") else "/v1/embeddings"

    def body(texts: list[str]) -> Any:
        return {"model": wanted.settings.model, "input": texts, "encoding_format": "float"}

    return Service(client, path, body, read_rows, wanted.settings.tokens * OPENAI_CHARS_PER_TOKEN)


def read_rows(answer: Any) -> Any:
    """The rows of a reply in the order of the texts."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        return None
    places = [entry.get("index", i) for i, entry in enumerate(data)]
    if sorted(place for place in places if type(place) is int) != list(range(len(data))):
        return None
    rows: list[Any] = [None] * len(data)
    for place, entry in zip(places, data, strict=True):
        rows[place] = entry.get("embedding")
    return rows


INFINITY_URL = "http://127.0.0.1:7997"


def identify_infinity(wanted: ProviderRequest) -> Identity:
    connect_service(wanted, INFINITY_URL)
    return {"model": model_name(wanted)}


def connect_infinity(wanted: ProviderRequest) -> Service:
    def body(texts: list[str]) -> Any:
        return {"model": wanted.settings.model, "input": texts, "encoding_format": "float"}

    return Service(connect_service(wanted, INFINITY_URL), "/embeddings", body, read_rows, char_limit(wanted))


TEI_URL = "http://127.0.0.1:8080"


def identify_tei(wanted: ProviderRequest) -> Identity:
    connect_service(wanted, TEI_URL)
    return {"model": wanted.settings.model}


def connect_tei(wanted: ProviderRequest) -> Service:
    def body(texts: list[str]) -> Any:
        return {"inputs": texts, "normalize": True, "truncate": True}

    return Service(connect_service(wanted, TEI_URL), "/embed", body, lambda answer: answer, char_limit(wanted), _served_model)


def _served_model(service: Service, deadline: Deadline) -> str:
    try:
        found = service.request("/info", deadline)
    except ServerError as problem:
        if problem.status:  # other servers may not have this endpoint
            return ""
        raise
    name = found.get("model_id") if isinstance(found, dict) else None
    return name if isinstance(name, str) and name.isprintable() and len(name) < 200 else ""


OLLAMA_URL = "http://127.0.0.1:11434"
OLLAMA_MODEL = "all-minilm"


def identify_ollama(wanted: ProviderRequest) -> Identity:
    connect_service(wanted, OLLAMA_URL)
    return {"model": wanted.settings.model.strip() or OLLAMA_MODEL}


def connect_ollama(wanted: ProviderRequest) -> Ollama:
    model = wanted.settings.model.strip() or OLLAMA_MODEL

    def body(texts: list[str]) -> Any:
        return {"model": model, "input": texts, "truncate": True}

    return Ollama(Service(connect_service(wanted, OLLAMA_URL), "/api/embed", body, _ollama_rows, char_limit(wanted)), model)


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


def _ollama_rows(answer: Any) -> Any:
    return answer.get("embeddings") if isinstance(answer, dict) else None


Identify = Callable[[ProviderRequest], Identity]
Connect = Callable[[ProviderRequest], Embedder]

PROVIDER_GROUP = "lurcher.embedding.providers"
"""The entry point group of embedding providers."""
PROVIDERS = ("builtin", "onnx", "tei", "openai", "infinity", "ollama")
_SERVICES: dict[str, tuple[Identify, Connect]] = {
    "openai": (identify_openai, connect_openai),
    "infinity": (identify_infinity, connect_infinity),
    "tei": (identify_tei, connect_tei),
    "ollama": (identify_ollama, connect_ollama),
}


def provider_named(name: str) -> tuple[Identify, Connect]:
    """A provider's `identity` and `connect` functions."""
    if name in _SERVICES:
        return _SERVICES[name]
    if name == "onnx":
        from lurcher.vectors import onnx

        return onnx.identity, onnx.connect
    identity, connect = (find_installed(PROVIDER_GROUP, name, part) for part in ("identity", "connect"))
    if identity is None or connect is None:
        raise ConfigError(f"unknown embedding.provider {name!r}", f"known are: {', '.join(PROVIDERS)}")
    return identity, connect
