"""Dead and lying services: embeddings, rerankers, judges and stores that refuse, hang, drip, lie, or send too much."""

from __future__ import annotations

import json
import random
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lurcher.engine import Engine
from lurcher.errors import LurcherError
from lurcher.net import resilience
from tests.drills.drill import Drill
from tests.indexing.conftest import TREE, write
from tests.net.servers import scoring, sparse
from tests.rerank import server
from tests.rerank.server import Conduct, Played, playing, send
from tests.vectors.servers import embedding

BROKEN: tuple[Conduct, ...] = (
    server.failing, server.no_model, server.garbage, server.not_json, server.other_json, server.hanging, server.dripping_head,
    server.dripping_body, server.going_on, server.half, server.huge, server.elsewhere, server.hanging_up,
)  # fmt: skip
SECONDS = 0.3
QUESTIONS = ("how are redirects followed", "cookies of a session", "parse_cookie")
NUMBERS = (0, -1, 1, 1e308, -1e308, "NaN", None, "x", [], {}, True, 1 << 70, 0.5, 10**6)


class Services(Drill):
    """There is an answer in a bounded time. Where a service is of no use, the answer says so, and its hits are those of the
    index alone; nothing is fetched from anywhere else."""

    name = "services"
    short, long = 25, 1_000
    cpu_seconds = 60.0
    memory = 2 << 30

    def __init__(self, folder: Path, sources: Sequence[Path]) -> None:
        super().__init__(folder, sources)
        resilience.SERVICE = resilience.Backoff(0.01, attempts=6, jitter=0.5)
        self._root = folder / "tree"
        write(self._root, TREE)
        with Engine.open(self._root, root=self._root) as engine:
            engine.index()
            self._plain = {question: [hit.id for hit in engine.search(question).hits] for question in QUESTIONS}

    def attempt(self, chance: random.Random) -> str | None:
        resilience.reset_breakers()
        kind = chance.choice(("reranker", "judge", "embedding", "sparse", "store"))
        self.counts[kind] += 1
        question = chance.choice(QUESTIONS)
        conduct = chance.choice(BROKEN) if chance.random() < 0.6 else lying(kind, chance)
        began = time.monotonic()
        other = socket.create_server(("127.0.0.1", 0))
        other.setblocking(False)
        with playing(conduct) as played, other:
            url = played.url if chance.random() < 0.95 else f"http://127.0.0.1:{other.getsockname()[1]}"
            try:
                wrong = self._ask(kind, url, question, chance)
            except LurcherError as error:
                self.counts["refused"] += 1
                wrong = None if error.message and error.hint else f"an unclear error: {error.message!r}"
            took = time.monotonic() - began
        if wrong is None and took > 60:
            wrong = f"it took {took:.0f} seconds"
        if any("/other" in path for path, _ in played.asked):
            wrong = "a redirect was followed"
        return wrong and f"{kind}, {getattr(conduct, '__name__', conduct)}: {wrong}"

    def _ask(self, kind: str, url: str, question: str, chance: random.Random) -> str | None:
        if kind == "store":
            address = url.replace("http://", "qdrant+http://") if chance.random() < 0.5 else url.replace("http://", "qdrant://")
            with Engine.open(self._root, root=self._root, store=address, overrides={"store.seconds": SECONDS}) as engine:
                engine.search(question)
            return None
        if kind in ("reranker", "judge"):
            overrides = {f"{kind}.url": url, f"{kind}.seconds": SECONDS}
            with Engine.open(self._root, root=self._root, overrides=overrides) as engine:
                answer = engine.search(question, rerank=["cross" if kind == "reranker" else "llm"])
            hits = [hit.id for hit in answer.hits]
            if sorted(hits) != sorted(self._plain[question]):
                return f"other hits than without it: {hits}"
            # Most hits got a score: then their order counts, and the answer says how many did not.
            failed = [note for note in answer.degraded if "got no score" not in note.reason]
            if hits != self._plain[question] and failed:
                return f"another order, although it failed: {answer.degraded}"
            return None
        index = self.folder / "index"
        provider = "tei" if kind == "sparse" else chance.choice(("tei", "openai", "ollama", "infinity"))
        overrides = {
            f"{kind}.provider": provider, f"{kind}.url": url, f"{kind}.seconds": SECONDS, f"{kind}.query_seconds": SECONDS,
        }  # fmt: skip
        if kind == "embedding" and provider != "tei":
            overrides["embedding.model"] = "subjects"
        with Engine.open(self._root, root=self._root, index_dir=index, overrides=overrides) as engine:
            engine.index()
            answer = engine.search(question)
            return None if answer.hits else "no hits"


def lying(kind: str, chance: random.Random) -> Conduct:
    """A server that answers in the right form, and with the wrong content."""
    judge = server.replying(lambda *_: "0:7")
    honest = {"reranker": scoring(), "judge": judge, "sparse": sparse()}.get(kind, embedding())
    change: Callable[[Any], Any] = chance.choice(LIES)
    often = chance.choice((0.3, 1.0))

    def conduct(wire: socket.socket, played: Played, path: str, body: Any) -> None:
        taken = _Taken()
        honest(taken, played, path, body)  # type: ignore[arg-type]
        head, _, data = bytes(taken.data).partition(b"\r\n\r\n")
        if chance.random() < often:
            data = json.dumps(change((json.loads(data), chance))).encode()
        send(wire, data, head.split(b" ", 1)[1].split(b"\r\n")[0].decode() or "200 OK")

    conduct.__name__ = f"lying ({change.__name__})"
    return conduct


class _Taken:
    """What would have been sent."""

    def __init__(self) -> None:
        self.data = bytearray()

    def sendall(self, data: bytes) -> None:
        self.data += data


def fewer(what: tuple[Any, random.Random]) -> Any:
    value, _ = what
    return _lists(value, lambda items: items[:-1])


def more(what: tuple[Any, random.Random]) -> Any:
    value, _ = what
    return _lists(value, lambda items: [*items, *items])


def none_at_all(what: tuple[Any, random.Random]) -> Any:
    return _lists(what[0], lambda items: [])


def other_numbers(what: tuple[Any, random.Random]) -> Any:
    value, chance = what
    if isinstance(value, dict):
        return {key: other_numbers((entry, chance)) for key, entry in value.items()}
    if isinstance(value, list):
        return [other_numbers((entry, chance)) for entry in value]
    if isinstance(value, (int, float)) and chance.random() < 0.3:
        return chance.choice(NUMBERS)
    return value


def other_keys(what: tuple[Any, random.Random]) -> Any:
    value, chance = what
    if isinstance(value, dict):
        return {chance.choice((key, "x")): other_keys((entry, chance)) for key, entry in value.items()}
    return [other_keys((entry, chance)) for entry in value] if isinstance(value, list) else value


def something_else(what: tuple[Any, random.Random]) -> Any:
    return what[1].choice((None, 0, "", [], {}, [[]], [None], {"data": None}, {"results": {}}, "x" * 100_000, [[1e400]] * 3))


def deep(what: tuple[Any, random.Random]) -> Any:
    value = what[0]
    for _ in range(300):
        value = [value]
    return value


def _lists(value: Any, change: Callable[[list[Any]], list[Any]]) -> Any:
    """The outermost list that there is, changed."""
    if isinstance(value, list):
        return change(value)
    return {key: _lists(entry, change) for key, entry in value.items()} if isinstance(value, dict) else value


LIES = (fewer, more, none_at_all, other_numbers, other_keys, something_else, deep)
DRILL = Services
