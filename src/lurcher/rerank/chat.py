"""Chat models on a server: by Ollama's own interface, or by that of OpenAI, which most other servers offer."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult

from lurcher.config import Settings
from lurcher.config.trust import user_setting
from lurcher.errors import ServerError
from lurcher.net.http import Deadline, check_url
from lurcher.net.resilience import ServiceClient

OLLAMA_MODEL = "llama3.2:1b"
_FAMILIES = re.compile(r"bert|^gte|^e5|clip", re.IGNORECASE)
_NOT_CHAT = re.compile(r"embed|rerank|minilm|\b(?:bge|gte|e5|clip|whisper|tts|dall-e)\b", re.IGNORECASE)
_TOKEN_CHARS = 3.0
"""Characters per token, a low estimate."""


@dataclass(frozen=True, slots=True)
class Chat:
    client: ServiceClient
    protocol: str
    model: str
    """Empty: the server's default."""

    @property
    def base(self) -> SplitResult:
        return self.client.base

    def models(self, deadline: Deadline) -> list[str]:
        """The chat models of the server, without those that only embed."""
        if self.protocol == "ollama":
            answer = self.request("/api/tags", deadline)
            entries = answer.get("models") if isinstance(answer, dict) else None
        else:
            answer = self.request(self._v1("/models"), deadline)
            entries = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(entries, list):
            raise ServerError(f"{self.client.name} does not list its models", "check judge.url and judge.protocol")
        found = []
        for entry in entries:
            name = (entry.get("name") or entry.get("model") or entry.get("id")) if isinstance(entry, dict) else None
            if isinstance(name, str) and name.isprintable() and _is_chat(name, entry):
                found.append(name)
        return found

    def reply(self, system: str, text: str, most_tokens: int, deadline: Deadline, shape: Any = None) -> str:
        """The model's reply to a prompt, in the JSON schema `shape` where the server supports schemas."""
        with self.client.breaker.guard(deadline):
            return self._reply_with_schema(system, text, most_tokens, deadline, shape)

    def _reply_with_schema(self, system: str, text: str, most_tokens: int, deadline: Deadline, shape: Any) -> str:
        if shape is not None:
            try:
                return self._reply(system, text, most_tokens, deadline, shape)
            except ServerError as problem:
                if problem.status not in (400, 422, 501):  # the server does not support schemas
                    raise
        return self._reply(system, text, most_tokens, deadline, None)

    def _reply(self, system: str, text: str, most_tokens: int, deadline: Deadline, shape: Any) -> str:
        if self.protocol == "ollama":
            context = int((len(system) + len(text)) / _TOKEN_CHARS) + most_tokens + 256
            body: dict[str, Any] = {
                "model": self.model or OLLAMA_MODEL, "system": system, "prompt": text, "stream": False,
                # Ollama truncates a prompt that is longer than its default context.
                "options": {"temperature": 0, "seed": 0, "num_predict": most_tokens, "num_ctx": 1024 * -(-context // 1024)},
            }  # fmt: skip
            if shape is not None:
                body["format"] = shape
            answer = self.request("/api/generate", deadline, body)
            reply = answer.get("response") if isinstance(answer, dict) else None
        else:
            body = {
                "model": self.model or self._first_model(deadline), "temperature": 0, "seed": 0, "max_tokens": most_tokens,
                "stream": False,
                "messages": [{"role": "system", "content": system}, {"role": "user", "content": text}],
            }  # fmt: skip
            if shape is not None:
                named = {"name": "scores", "schema": shape, "strict": True}
                body["response_format"] = {"type": "json_schema", "json_schema": named}
            answer = self.request(self._v1("/chat/completions"), deadline, body)
            reply = _content(answer)
        if not isinstance(reply, str):
            raise ServerError(f"{self.client.name} answers without text", "check judge.url and judge.protocol")
        return reply

    def _first_model(self, deadline: Deadline) -> str:
        found = self.models(deadline)
        if not found:
            raise ServerError(f"{self.client.name} has no chat model", "load one there, or set judge.model")
        return found[0]

    def _v1(self, path: str) -> str:
        return path if self.base.path.rstrip("/").endswith("/v1") else f"/v1{path}"

    def request(self, path: str, deadline: Deadline, body: Any = None) -> Any:
        try:
            return self.client.request(path, deadline, body)
        except ServerError as problem:
            if problem.status == 404 and self.protocol == "ollama" and "model" in problem.message:
                name = self.model or OLLAMA_MODEL
                raise problem.in_words(f"Ollama has no model {name}", f"run: ollama pull {shlex.quote(name)}") from None
            if problem.status == 404:
                other = "openai" if self.protocol == "ollama" else "ollama"
                hint = f"check judge.model (lurcher doctor lists what is there), or set judge.protocol to {other}"
                raise problem.in_words(problem.message, hint) from None
            if self.protocol == "ollama" and problem.message.startswith("nothing answers"):
                raise problem.in_words(problem.message, "run: ollama serve") from None
            raise


def make_chat(settings: Settings) -> Chat:
    """The server and model that the settings name."""
    judge = settings.judge
    base = check_url(user_setting(settings, "judge.url"), "judge.url")
    return Chat(ServiceClient("judge", base), judge.protocol, judge.model.strip())


def _content(answer: Any) -> Any:
    try:
        return answer["choices"][0]["message"]["content"]
    except (TypeError, KeyError, IndexError):
        return None


def _is_chat(name: str, entry: dict[str, Any]) -> bool:
    capabilities = entry.get("capabilities")
    if isinstance(capabilities, list) and capabilities:
        return any(word in capabilities for word in ("completion", "chat"))
    details = entry.get("details")
    families: list[Any] = []
    if isinstance(details, dict):
        families = [details.get("family"), *(details.get("families") or [])]
    if any(isinstance(family, str) and _FAMILIES.search(family) for family in families):
        return False
    return not _NOT_CHAT.search(name)
