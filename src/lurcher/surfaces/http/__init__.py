"""The HTTP API and the page in a browser: `lurcher serve` checks who can reach it, then runs until Ctrl-C.

It needs the extra `web`, whose packages are imported by nothing else.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from lurcher.errors import ConfigError, MissingExtra, Template, UsageError

if TYPE_CHECKING:
    from lurcher.config import Settings
    from lurcher.engine import Engine
    from lurcher.surfaces.http.app import Access, MountedApp


INSTALL = "pip install 'lurcher[web]'"
SHORTEST_TOKEN = 16
_NEW_TOKEN = "python3 -c 'import secrets; print(secrets.token_urlsafe())'"
_TURN = 0.001
_LAST_SECONDS = 0.5
_DANGEROUS = ("javascript", "data", "vbscript", "blob", "file", "about")


def mounted_apps(engine: Engine, overrides: Mapping[str, str], hosts: Sequence[str]) -> Sequence[MountedApp]:
    """Applications beside the API and the page, behind the same guard: MCP, where it is installed."""
    from lurcher.surfaces.http.app import MountedApp
    from lurcher.surfaces.mcp import streamable_app

    names = ["127.0.0.1", "localhost", "[::1]", *hosts]
    try:
        app = streamable_app(
            engine.roots, overrides, hosts=[f"{name}:*" for name in names], origins=[f"http://{name}:*" for name in names]
        )
    except MissingExtra:
        return ()
    return (MountedApp("/mcp", app, app.lifespan),)


@contextmanager
def listen(
    settings: Settings, parsed: Namespace, *, guarded: bool = False, for_team: bool = False
) -> Iterator[tuple[socket.socket, Access, str]]:
    """The socket of a server, who may call it, and its address; refuses to be reachable from elsewhere without a token.

    `guarded`: it has other tokens; `for_team`: it could have.
    """
    try:
        from lurcher.surfaces.http.app import Access
        from lurcher.surfaces.http.server import bind, is_loopback
    except ModuleNotFoundError as missing:
        if missing.name and missing.name.split(".")[0] == "lurcher":
            raise
        raise MissingExtra("a server over HTTP needs the extra web", INSTALL) from None
    host = parsed.host or settings.serve.host
    token = parsed.token or settings.serve.token
    check_token(token)
    with bind(host, settings.serve.port if parsed.port is None else parsed.port) as bound:
        loopback = is_loopback(bound)
        if not loopback and not token and not guarded:
            raise UsageError(
                f"{host} can be reached from other machines, so a token is needed",
                Template("make one: {serve: new_token=NAME}, and name the file: {tokens=FILE}") if for_team
                else f"set LURCHER_SERVE_TOKEN, or add --token; for a new one: {_NEW_TOKEN}",
            )
        port = bound.getsockname()[1]
        named = f"[{host}]" if ":" in host else host
        hosts = (host, socket.gethostname(), *settings.serve.hosts.split())
        yield bound, Access(port, loopback, hosts, token), f"http://{named}:{port}/"


def run(engine: Engine, parsed: Namespace) -> None:
    """Serve until a signal comes."""
    import asyncio

    settings = engine.settings
    with listen(settings, parsed) as (bound, access, where):
        from lurcher.indexing.watcher import monitor_trees
        from lurcher.surfaces.cli.search_cmd import overrides_of
        from lurcher.surfaces.http.app import build_app
        from lurcher.surfaces.http.server import make_server
        from lurcher.surfaces.http.service import Service

        workspace = None
        if parsed.workspace:
            from lurcher.server.repositories import RepositoryEngine

            workspace = RepositoryEngine.open(overrides_of(parsed.set))
        service = Service(engine, workspace=workspace)
        app = build_app(
            engine, access, editor=check_editor(settings.serve.editor), service=service,
            beside=mounted_apps(engine, overrides_of(parsed.set), access.hosts),
        )  # fmt: skip
        server = make_server(app, service.end)
        # Queries run in threads; the event loop must not wait long for the interpreter lock.
        sys.setswitchinterval(_TURN)
        with server.end_on_signals(), monitor_trees(engine.projects):
            print(f"serving {', '.join(map(str, engine.roots))} at {where}", file=sys.stderr, flush=True)
            if parsed.open:
                import webbrowser

                webbrowser.open(where + (f"?{urlencode({'token': access.token})}" if access.token else ""))
            asyncio.run(server.serve(sockets=[bound]))
            if not service.done(_LAST_SECONDS):
                # Nobody waits for the running threads any more, and an index survives the end of its writer at any point.
                sys.stderr.flush()
                os._exit(0)


def run_mcp(roots: Sequence[str], overrides: Mapping[str, Any], parsed: Namespace) -> None:
    """Serve MCP alone, for many sessions and all projects below the roots, until a signal comes."""
    import asyncio

    from lurcher import config
    from lurcher.surfaces.mcp import open_workspace, streamable_app

    workspace = None
    if parsed.workspace:
        workspace, roots = open_workspace(roots, overrides)
    with listen(config.load(None, overrides), parsed) as (bound, access, where):
        from starlette.applications import Starlette
        from starlette.routing import Route

        from lurcher.surfaces.http.app import Guard
        from lurcher.surfaces.http.server import make_server

        # The guard checks Host and Origin, for the port that is really used.
        app = streamable_app(roots or ["."], overrides, hosts=None, workspace=workspace)
        inner = Starlette(routes=[Route("/mcp", app)], lifespan=lambda _: app.lifespan())
        guard = Guard(inner, port=access.port, hosts=access.hosts, token=access.token, loopback=access.loopback)
        server = make_server(guard, lambda: None)
        sys.setswitchinterval(_TURN)
        with server.end_on_signals():
            print(f"serving agents at {where}mcp", file=sys.stderr, flush=True)
            asyncio.run(server.serve(sockets=[bound]))


def check_token(token: str) -> None:
    if token and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token):
        raise UsageError(
            f"a token is {SHORTEST_TOKEN} or more letters, digits and signs without spaces", f"for a new one: {_NEW_TOKEN}"
        )


def check_editor(template: str) -> str:
    """The address template that opens a place in an editor; schemes that could run code in the page are refused."""
    scheme = re.match(r"([a-z][a-z0-9+.-]*):", template, re.IGNORECASE)
    if template and (scheme is None or scheme[1].lower() in _DANGEROUS or "{path}" not in template):
        raise ConfigError(
            f"serve.editor cannot be {template!r}", "for example: vscode://file/{path}:{line}, or zed://file{path}:{line}"
        )
    return template
