"""A server for a team: the projects of a shared store over HTTP, read-only, for whoever has a token (docs/team.md)."""

from __future__ import annotations

import os
import sys
import tempfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lurcher.errors import Template, UsageError

if TYPE_CHECKING:
    from lurcher.config import Settings
    from lurcher.stores.base import Store

GRACE = 30
"""Seconds that running requests have to end after a signal."""
RATE = 600
"""Requests per minute that one token may send, unless another number is given."""
_LAST_SECONDS = 0.5
_TURN = 0.001


def is_meant(parsed: Namespace) -> bool:
    """Whether `lurcher serve` was called with what only a team's server has."""
    # Given and empty is meant too: `--tokens "$UNSET"` must not become a server without tokens.
    given = (parsed.tokens, parsed.new_token, parsed.rate)
    return (
        parsed.store not in (None, "local")
        or any(value is not None for value in given)
        or bool(parsed.project or parsed.log_queries)
    )


def run(parsed: Namespace) -> int:
    if parsed.new_token is not None:
        return _print_new_token(parsed.new_token, parsed.project)
    from lurcher import config
    from lurcher.config.trust import user_setting
    from lurcher.stores.base import store_at
    from lurcher.stores.shared import LOCAL, split_project_names
    from lurcher.surfaces.cli.search_cmd import settings_of

    if parsed.path:
        raise UsageError("a server of a store has no folders", Template("leave the folders out, or {store}"))
    if parsed.open:
        raise UsageError(Template("{open} is for a server of folders"), "leave it out, and open the address that is printed")
    if parsed.rate is not None and parsed.rate < 1:
        raise UsageError(Template("{rate=*} would answer nothing", parsed.rate), "give the number of requests per minute")
    overrides = settings_of(parsed)
    settings = config.load(None, overrides)
    url = user_setting(settings, "store.url")
    if not url or url == LOCAL:
        raise UsageError("a server for a team needs a store", Template("name it: {store=URL}, or LURCHER_STORE"))
    named = split_project_names(settings.store.project)
    store = store_at(url, settings)
    try:
        with tempfile.TemporaryDirectory(prefix="lurcher-team-") as folder:
            _serve(parsed, settings, store, Path(folder), overrides, named)
    finally:
        store.close()
    return 0


def _serve(
    parsed: Namespace, settings: Settings, store: Store, folder: Path, overrides: Mapping[str, Any], named: Sequence[str]
) -> None:
    import asyncio

    from lurcher.net.http import redact_url
    from lurcher.surfaces.http import listen
    from lurcher.surfaces.team.tokens import TokenFile

    path = parsed.tokens
    if path == "":
        raise UsageError("the file of tokens has no name", Template("make a token: {serve: new_token=NAME}"))
    with listen(settings, parsed, guarded=bool(path), for_team=True) as (bound, access, where):
        from lurcher.surfaces.http.server import make_server
        from lurcher.surfaces.team.app import Team, build_app
        from lurcher.surfaces.team.metrics import Log, Metrics
        from lurcher.surfaces.team.service import TeamService

        log = Log()

        def tell(count: int, problems: list[str]) -> None:
            log("tokens", count=count, problems=problems)

        tokens = TokenFile.open(Path(path), tell) if path else None
        service = TeamService(store, folder, overrides, named)
        app = build_app(
            Team(service, tokens, log, Metrics(), RATE if parsed.rate is None else parsed.rate, parsed.log_queries), access
        )
        server = make_server(app, service.end, GRACE)
        sys.setswitchinterval(_TURN)
        with server.end_on_signals():
            about = redact_url(settings.store.url)
            log("start", address=where, store=about, tokens=None if tokens is None else len(tokens))
            asyncio.run(server.serve(sockets=[bound]))
        ended = service.close(_LAST_SECONDS)
        log("stop")
        if not ended:
            # Nobody waits for these threads any more, and they only read.
            sys.stderr.flush()
            os._exit(0)


def _print_new_token(name: str, projects: list[str]) -> int:
    from lurcher.surfaces.team.tokens import make_token

    token, line = make_token(name, projects)
    print(f"the token, which is shown only once: {token}", file=sys.stderr)
    print(line)
    return 0
