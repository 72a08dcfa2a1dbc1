"""The Model Context Protocol: `lurcher mcp` over standard input and output, and an app for HTTP servers to mount.

Only this file can be imported without the extra `mcp`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lurcher import config
from lurcher.errors import MissingExtra, Template, UsageError

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from lurcher.server.repositories import RepositoryEngine


_INTERRUPTED = 130


def need_extra() -> None:
    """Raise MissingExtra if the package is not installed, or is an older version."""
    import importlib.util

    try:
        known = all(importlib.util.find_spec(name) is not None for name in ("mcp_types", "mcp.server.lowlevel"))
    except (ImportError, ValueError):
        known = False
    if not known:
        from lurcher.runtime.installation import install_command

        raise MissingExtra("the MCP server needs the package mcp, version 2 or later", f"run: {install_command('mcp')}")


def open_workspace(roots: Sequence[str], overrides: Mapping[str, Any] | None) -> tuple[RepositoryEngine, list[str]]:
    """The user's workspace, and the folders of its repositories."""
    from lurcher.server.repositories import RepositoryEngine

    if roots:
        raise UsageError(Template("{workspace} and {root} contradict each other"), "use one of them")
    workspace = RepositoryEngine.open(overrides)
    return workspace, [entry.place for entry in workspace.repositories if os.path.isdir(entry.place)]


def serve_stdio(roots: Sequence[str], overrides: Mapping[str, Any] | None = None, *, workspace: bool = False) -> None:
    """Serve one client over standard input and output until it goes away; with `workspace` its repositories."""
    need_extra()
    served = None
    if workspace:
        served, roots = open_workspace(roots, overrides)
    from lurcher.surfaces.mcp.requests import starting_access

    config.load(None, overrides)  # so that a wrong flag is reported now, not with the first answer
    access = starting_access(roots, Path.cwd())
    if sys.stdin is not None and sys.stdin.isatty():
        print("note: this speaks to programs, not to people (lurcher help agents); Ctrl-C ends it", file=sys.stderr)
    source, target = _claim_stdio()
    import anyio

    from lurcher.surfaces.mcp.server import MCPServer, stdio_streams

    server = MCPServer(access, overrides, given=bool(roots), alone=True, workspace=served)
    threading.Thread(target=_warm_up, daemon=True).start()

    async def serve() -> None:
        async with stdio_streams(source, target) as (incoming, outgoing):
            await server.server.run(incoming, outgoing, server.server.create_initialization_options())

    try:
        anyio.run(serve)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr, flush=True)
        os._exit(_INTERRUPTED)  # a thread still waits for the next line, and nothing ends it before that comes


def _claim_stdio() -> tuple[IO[bytes], IO[bytes]]:
    """Takes standard input and output for the protocol alone, before anything is imported that might print.

    From then on file descriptor 0 is empty, and what a library or a child process prints goes to stderr.
    """
    source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        os.dup2(2, 1)
    except OSError:  # started without stderr
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.close(nothing)
    return source, target


def _warm_up() -> None:
    """Import what the first answer of a cold repository needs while the client is still introducing itself."""
    import lurcher.indexing.build
    import lurcher.ranking.default
    import lurcher.server.unindexed  # noqa: F401


class MountedMCP:
    """An ASGI app for a route at `/mcp`. Enter its `lifespan` while the host app runs."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._manager.asgi_app(scope, receive, send)

    @contextlib.asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        async with self._manager.run():
            yield


def streamable_app(
    roots: Sequence[str | Path],
    overrides: Mapping[str, Any] | None = None,
    *,
    hosts: Sequence[str] | None = ("127.0.0.1:*", "localhost:*", "[::1]:*"),
    origins: Sequence[str] = ("http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*"),
    most_bytes: int = 4_000_000,
    workspace: RepositoryEngine | None = None,
) -> MountedMCP:
    """The same server over streamable HTTP.

        app = streamable_app(["/path/to/repository"])
        Starlette(routes=[Route("/mcp", endpoint=app)], lifespan=lambda _: app.lifespan())

    Clients see nothing outside of `roots`. `hosts` and `origins` are the allowed values of these request headers; without
    `hosts` they are not checked, for apps behind a guard that does. Nothing is kept of a client between its calls.
    """
    need_extra()
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    from lurcher.surfaces.mcp.requests import starting_access
    from lurcher.surfaces.mcp.server import MCPServer

    access = starting_access([str(root) for root in roots], Path.cwd())
    server = MCPServer(access, overrides, surface="mcp-http", workspace=workspace)
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=hosts is not None, allowed_hosts=list(hosts or ()), allowed_origins=list(origins)
    )
    return MountedMCP(
        StreamableHTTPSessionManager(
            app=server.server, security_settings=security, max_request_body_size=most_bytes, stateless=True
        )
    )
