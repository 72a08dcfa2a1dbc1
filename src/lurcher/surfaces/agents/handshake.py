"""Starts an MCP server the way a client does, performs the handshake, and counts the tools that answer."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from lurcher.errors import ServerError
from lurcher.runtime import VERSION

_SECONDS = 60.0
"""How long a server may take to start and to answer; a cold disk needs some of it."""
_MOST_BYTES = 10_000_000
_PROTOCOL = "2025-06-18"


@dataclass(frozen=True, slots=True)
class Handshake:
    tools: int
    version: str
    """The version that the server says it has."""


def shake_hands(command: Sequence[str], folder: Path, seconds: float = _SECONDS) -> Handshake:
    """The answer of the server that `command` starts in `folder`; the process is ended in any case."""
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )  # fmt: skip
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise ServerError(f"{command[0]} cannot be started: {reason}", "run: lurcher doctor") from None
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        try:
            assert process.stdin is not None and process.stdout is not None
            about = {"name": "lurcher init", "version": VERSION}
            hello = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": about}
            greeting = _ask(process.stdin, process.stdout, 1, "initialize", hello)
            _send(process.stdin, {"jsonrpc": "2.0", "method": "notifications/initialized"})
            listed = _ask(process.stdin, process.stdout, 2, "tools/list", {})
            return Handshake(len(listed["tools"]), str(greeting["serverInfo"]["version"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            said = "" if timer.is_alive() else f" within {seconds:.0f} s"
            errors.seek(0)
            last = errors.read(4000).decode("utf-8", "replace").strip().split("\n")[-1] or str(error)
            raise ServerError(f"the MCP server did not answer{said}: {last}", f"run: {' '.join(command)}") from None
        finally:
            timer.cancel()
            process.kill()
            process.communicate()


def _send(target: IO[bytes], message: dict[str, Any]) -> None:
    target.write(json.dumps(message).encode() + b"\n")
    target.flush()


def _ask(target: IO[bytes], source: IO[bytes], number: int, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The result of a request; other messages of the server are skipped."""
    _send(target, {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
    while line := source.readline(_MOST_BYTES):
        answer = json.loads(line)
        if isinstance(answer, dict) and answer.get("id") == number:
            result: dict[str, Any] = answer["result"]
            return result
    raise ValueError("it ended without an answer")
