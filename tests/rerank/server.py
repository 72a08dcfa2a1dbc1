"""A real server on 127.0.0.1 that answers as it is told to: well, wrongly, slowly or not at all."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Conduct = Callable[[socket.socket, "Played", str, Any], None]


@dataclass
class Played:
    url: str
    asked: list[tuple[str, Any]] = field(default_factory=list)
    """(path, body) of every request."""
    heads: list[str] = field(default_factory=list)
    """The first lines of each, as they came."""
    ended: threading.Event = field(default_factory=threading.Event)


@contextmanager
def playing(conduct: Conduct) -> Iterator[Played]:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.05)
    played = Played(f"http://127.0.0.1:{listener.getsockname()[1]}")
    threads: list[threading.Thread] = []

    def serve() -> None:
        while not played.ended.is_set():
            try:
                wire, _ = listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            thread = threading.Thread(target=one, args=(wire,), daemon=True)
            threads.append(thread)
            thread.start()

    def one(wire: socket.socket) -> None:
        with wire:
            wire.settimeout(60)
            try:
                head, path, body = _request(wire)
                played.heads.append(head)
                played.asked.append((path, body))
                conduct(wire, played, path, body)
            except OSError:
                pass  # whoever asked has hung up

    accepting = threading.Thread(target=serve, daemon=True)
    accepting.start()
    try:
        yield played
    finally:
        played.ended.set()
        listener.close()
        accepting.join(2)
        for thread in threads:
            thread.join(2)


def _request(wire: socket.socket) -> tuple[str, str, Any]:
    data = b""
    while b"\r\n\r\n" not in data:
        part = wire.recv(65536)
        if not part:
            raise OSError("hung up")
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    sizes = [int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:")]
    while sizes and len(body) < sizes[0]:
        body += wire.recv(65536)
    return head.decode("latin-1"), lines[0].split(" ")[1], json.loads(body) if body else None


def send(wire: socket.socket, value: Any, status: str = "200 OK", headers: str = "") -> None:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    wire.sendall(f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(data)}\r\n\r\n".encode() + data)


# -- conduct ----------------------------------------------------------------------------------------------------------


def replying(reply: Callable[[str, str, Any], str]) -> Conduct:
    """A chat server, Ollama's way and OpenAI's; `reply(system, prompt, body)` is what its model says."""

    def conduct(wire: socket.socket, played: Played, path: str, body: Any) -> None:
        if path == "/api/generate":
            send(wire, {"model": body["model"], "response": reply(body["system"], body["prompt"], body), "done": True})
        elif path == "/v1/chat/completions":
            said = reply(body["messages"][0]["content"], body["messages"][1]["content"], body)
            send(wire, {"choices": [{"message": {"role": "assistant", "content": said}}]})
        elif path == "/api/tags":
            send(wire, {"models": [
                {"name": "llama3.2:1b", "details": {"family": "llama", "families": ["llama"]}},
                {"name": "nomic-embed-text:latest", "details": {"family": "nomic-bert", "families": ["nomic-bert"]}},
                {"name": "all-minilm:latest", "details": {"family": "bert", "families": None}},
                {"name": "qwen2.5:1.5b"},
            ]})  # fmt: skip
        elif path == "/v1/models":
            send(wire, {"data": [{"id": "text-embedding-3-small"}, {"id": "small-chat"}]})
        else:
            send(wire, {"error": "not found"}, "404 Not Found")

    return conduct


def failing(wire: socket.socket, played: Played, path: str, body: Any) -> None:
    send(wire, {"error": "out of memory"}, "500 Internal Server Error")


def no_model(wire: socket.socket, played: Played, path: str, body: Any) -> None:
    send(wire, {"error": "model 'llama3.2:1b' not found"}, "404 Not Found")


def garbage(wire: socket.socket, played: Played, path: str, body: Any) -> None:
    wire.sendall(bytes(range(256)) * 8)


def not_json(wire: socket.socket, played: Played, path: str, body: Any) -> None:
    send(wire, b"<html>welcome to the router</html>")


def other_json(wire: socket.socket, played: Played, path: str, body: Any) -> None:
    send(wire, ["what", {"were": "you"}, None])


def hanging(wire: socket.socket, played: Played, path: str, body: Any) -> None:
    played.ended.wait()  # until the test ends: a client that does not give up runs into the time limit of the tests


def dripping_head(wire: socket.socket, played: Played, path: str, body: Any) -> None:
    wire.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    _drip(wire, played)


def dripping_body(wire: socket.socket, played: Played, path: str, body: Any) -> None:
    wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    _drip(wire, played)


def going_on(wire: socket.socket, played: Played, path: str, body: Any) -> None:
    """Informational answers without end, each of which asks for patience."""
    while not played.ended.is_set():
        wire.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.02)


def _drip(wire: socket.socket, played: Played) -> None:
    while not played.ended.is_set():
        wire.sendall(b" ")
        time.sleep(0.02)


def half(wire: socket.socket, played: Played, path: str, body: Any) -> None:
    wire.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"response": "0:1')


def huge(wire: socket.socket, played: Played, path: str, body: Any) -> None:
    wire.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while not played.ended.is_set():
        wire.sendall(b"[" * 1_000_000)


def elsewhere(wire: socket.socket, played: Played, path: str, body: Any) -> None:
    send(wire, b"", "302 Found", f"Location: {played.url}/other\r\n")


def hanging_up(wire: socket.socket, played: Played, path: str, body: Any) -> None:
    wire.close()
