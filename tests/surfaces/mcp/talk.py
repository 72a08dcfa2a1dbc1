"""A real server process and the official client, used from ordinary test functions."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import anyio.from_thread
from mcp import Client, StdioServerParameters

from lurcher.surfaces.mcp.requests import starting_access
from lurcher.surfaces.mcp.server import STRUCTURED, MCPServer
from tests.conftest import environment

CALLS: dict[str, dict[str, Any]] = {
    "search": {"query": "redirects"}, "symbol": {"name": "Client"}, "references": {"name": "Client"},
    "search_history": {"query": "begin"}, "explain_change": {"path": "src/client.py"}, "brief": {"name": "src/client.py"},
    "outline": {"path": "src"}, "read": {"path": "src/client.py"}, "impact": {"path": "src/client.py"}, "projects": {},
    "status": {},
}  # fmt: skip
"""A call of every tool that is listed, in their order."""
UNLISTED_CALLS: dict[str, dict[str, Any]] = {
    "find_pattern": {"query": "begin"}, "related": {"path": "src/client.py", "line": 3}, "context": {"path": "src"},
    "exists": {"text": "Client"}, "index": {},
}  # fmt: skip


def wait_until(true: Callable[[], bool], seconds: float = 30.0) -> None:
    """Answers are counted shortly after they are sent."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def command(*roots: Path) -> list[str]:
    return [sys.executable, "-m", "lurcher", "mcp", *(part for root in roots for part in ("--root", str(root)))]


class Talk(AbstractContextManager["Talk"]):
    """One client of one process. `mode` is `auto` for the newest protocol, `legacy` for the one with a handshake."""

    def __init__(
        self, *roots: Path, mode: str = "auto", cwd: Path | None = None, env: dict[str, str] | None = None, **options: Any
    ) -> None:
        program, *arguments = command(*roots)
        self._begin(
            StdioServerParameters(
                command=program, args=arguments, cwd=cwd, env=environment(LURCHER_CONFIG="/dev/null", **(env or {}))
            ),
            mode, options,
        )  # fmt: skip

    def _begin(self, server: Any, mode: str, options: dict[str, Any]) -> None:
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(anyio.from_thread.start_blocking_portal())
        client = Client(server, mode=mode, read_timeout_seconds=60, **options)
        self.client: Client = self._stack.enter_context(self._portal.wrap_async_context_manager(client))

    def __exit__(self, *about: Any) -> None:
        self._stack.close()

    def do(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return self._portal.call(work, *arguments)

    def call(self, name: str, /, **arguments: Any) -> Any:
        return self._portal.call(self.client.call_tool, name, arguments)

    def data(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The answer of a client that asks for data."""
        result = self._portal.call(partial(self.client.call_tool, name, arguments, meta={STRUCTURED: True}))
        assert not result.is_error, result.content[0].text
        return dict(result.structured_content)

    def text(self, name: str, /, **arguments: Any) -> str:
        result = self.call(name, **arguments)
        assert not result.is_error, result.content[0].text
        return str(result.content[0].text)

    def error(self, name: str, /, **arguments: Any) -> dict[str, str]:
        """The error that a call answers with, as data; its text must say the same."""
        result = self.call(name, **arguments)
        assert result.is_error, result.content[0].text
        assert result.structured_content is None
        found: dict[str, str] = result.meta["lurcher/error"]
        assert found["message"] in result.content[0].text
        return found


class Near(Talk):
    """The same server in this process, which is there at once."""

    def __init__(self, *roots: Path, mode: str = "auto", cwd: Path | None = None, **options: Any) -> None:
        access = starting_access([str(root) for root in roots], cwd or Path.cwd())
        self._begin(MCPServer(access, given=bool(roots), alone=True).server, mode, options)


class Wire(AbstractContextManager["Wire"]):
    """The bare protocol: lines in, lines out, every byte of stdout checked to be a message."""

    def __init__(self, *roots: Path, env: dict[str, str] | None = None, capabilities: dict[str, Any] | None = None) -> None:
        self.process = subprocess.Popen(
            command(*roots), env=environment(LURCHER_CONFIG="/dev/null", **(env or {})), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.seen: list[dict[str, Any]] = []
        self._number = 0
        about = {"name": "test", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": capabilities or {}, "clientInfo": about})
        self.tell("notifications/initialized")

    def __exit__(self, *about: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(120)
        finally:
            self.process.kill()

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def tell(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}).encode())

    def begin(self, method: str, params: dict[str, Any] | None = None) -> int:
        self._number += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}}).encode())
        return self._number

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        self.seen.append(message)
        return dict(message)

    def answer(self, number: int | None) -> dict[str, Any]:
        """The answer to a request; what else comes before it is kept in `seen`."""
        while True:
            message = self.read()
            if message.get("id") == number and "method" not in message:
                return message

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.answer(self.begin(method, params))

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", {"name": name, "arguments": arguments, "_meta": {STRUCTURED: True}})
