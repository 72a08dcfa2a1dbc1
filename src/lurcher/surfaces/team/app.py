"""The application of a team's server: who calls, how often, what is logged, and the routes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lurcher.errors import LurcherError, StoreError
from lurcher.surfaces import Parameter
from lurcher.surfaces.http.app import (
    SURFACE_HEADER,
    Access,
    Guard,
    Page,
    answer_unless_gone,
    handle_failure,
    handle_http_error,
)
from lurcher.surfaces.http.endpoints import ENDPOINTS, PAGE_WORDING, WORDING, Endpoint, openapi_document
from lurcher.surfaces.http.replies import JSON, Busy, encode, error_reply, error_response
from lurcher.surfaces.team.metrics import CONTENT_TYPE, Log, Metrics
from lurcher.surfaces.team.service import TeamService, shown_error
from lurcher.surfaces.team.tokens import EVERYBODY, Caller, RateLimit, TokenFile, hash_token

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PROBES = ("/healthz", "/readyz")
"""Answered to anybody; they tell nothing."""
NOTE = "lurcher.note"
"""Where the handlers of a request leave what its line in the log says."""
_PROJECT = Parameter("project", help="the project to ask, or several", many=True)
_ENDPOINTS = tuple(replace(endpoint, parameters=(_PROJECT, *endpoint.parameters)) for endpoint in ENDPOINTS)
_KNOWN = frozenset((*(endpoint.name for endpoint in ENDPOINTS), "projects", "page"))
_READY_SECONDS = 5.0
_READY_PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class Team:
    """What a server is made of."""

    service: TeamService
    tokens: TokenFile | None
    log: Log
    metrics: Metrics
    rate: int
    log_queries: bool = False


class TeamGuard(Guard):
    """As the guard of one user's server, with many tokens and a limit for each."""

    def __init__(self, app: ASGIApp, access: Access, team: Team) -> None:
        super().__init__(app, port=access.port, hosts=access.hosts, loopback=access.loopback)
        self._tokens, self._metrics, self._limit = team.tokens, team.metrics, RateLimit(team.rate)
        self._single = hash_token(access.token) if access.token else ""
        self._needs_token = bool(team.tokens is not None or access.token)
        self._inner = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] in PROBES:
            await self._inner(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def _find_refusal(self, scope: Scope) -> Response | None:
        note = scope[NOTE]
        if not self._needs_token:
            note["caller"] = EVERYBODY
        refused = super()._find_refusal(scope)
        if refused is not None or not scope["path"].startswith("/api/"):
            return refused
        wait = self._limit.take(note["caller"].name)
        if not wait:
            return None
        self._metrics.limited += 1
        seconds = str(max(1, round(wait + 0.5)))
        return error_response(429, "rate", "too many requests", f"wait {seconds} s", {"retry-after": seconds})

    def _is_ours(self, host: str) -> bool:
        """Names that were set may have any port, since a proxy with TLS has another one."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        named = self._hosts - {"localhost", "127.0.0.1", "::1"}
        plain = host.lower().rsplit(":", 1)[0] == name or host.lower().rstrip(".") == name
        return (plain and name in named) or super()._is_ours(host)

    def _accepts(self, scope: Scope, token: str) -> bool:
        caller = self._find(token)
        if caller is not None:
            scope[NOTE]["caller"] = caller
        return caller is not None

    def _find(self, token: str) -> Caller | None:
        if self._single and self._equals(hash_token(token), self._single.encode()):
            return Caller("token", ("*",))
        return None if self._tokens is None or not token else self._tokens.find(token)

    def _accepts_cookie(self, scope: Scope, value: str) -> bool:
        return self._accepts(scope, value)

    def _cookie_of(self, token: str) -> str:
        return token  # a value that can be made from the file of hashes would let its readers in


class Observed:
    """Writes one line to the log for each request, and counts it. Without the text of queries, unless that is asked for."""

    def __init__(self, app: ASGIApp, team: Team) -> None:
        self._app, self._team = app, team

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        note: dict[str, Any] = {}
        scope[NOTE] = note
        began, status, size = time.perf_counter(), 0, 0
        metrics = self._team.metrics

        async def watched(message: Message) -> None:
            nonlocal status, size
            status = message.get("status", status)
            size += len(message.get("body", b""))
            await send(message)

        metrics.running += 1
        try:
            await self._app(scope, receive, watched)
        finally:
            metrics.running -= 1
            took = time.perf_counter() - began
            endpoint = _name_endpoint(scope["path"])
            if endpoint != "probe":
                metrics.observe(endpoint, status or 499, took)
                self._log(scope, note, endpoint, status or 499, took, size)

    def _log(self, scope: Scope, note: dict[str, Any], endpoint: str, status: int, took: float, size: int) -> None:
        caller = note.get("caller")
        fields: dict[str, Any] = {
            "method": scope["method"], "endpoint": endpoint, "status": status, "ms": round(1000 * took, 1), "bytes": size,
            "token": caller.name if caller is not None else None, "client": (scope.get("client") or ("",))[0],
        }  # fmt: skip
        fields |= {name: note[name] for name in ("projects", "problem") if name in note}
        if self._team.log_queries and "q" in note:
            fields["q"] = note["q"]
        self._team.log("request", **fields)


def _name_endpoint(path: str) -> str:
    """A name of ours for a path, which is the client's text."""
    if path in PROBES:
        return "probe"
    if path.startswith("/api/"):
        name = path[5:]
        return name if name in _KNOWN else "unknown"
    if path == "/metrics":
        return "metrics"
    return "static" if path == "/" or path.startswith("/static/") or path == "/openapi.json" else "unknown"


def build_app(team: Team, access: Access) -> Observed:
    """The application that `lurcher serve --store` runs."""
    service, page = team.service, Page()
    described = encode(openapi_document(_ENDPOINTS, token=team.tokens is not None or bool(access.token)))

    async def describe(request: Request) -> Response:
        return Response(described, media_type=JSON)

    async def metrics(request: Request) -> Response:
        tokens = 0 if team.tokens is None else len(team.tokens)
        return Response(team.metrics.render(tokens, service.project_count), media_type=CONTENT_TYPE)

    routes = [
        *(Route(endpoint.path, _make_handler(team, endpoint)) for endpoint in _ENDPOINTS),
        Route("/", page.front),
        Route("/static/{name}", page.file),
        Route("/openapi.json", describe),
        Route("/api/projects", _lister(team, lambda names: {"projects": names})),
        Route("/api/page", _lister(team, lambda names: {"editor": "", "roots": [], "shared": True, "projects": names})),
        Route("/healthz", lambda request: Response(encode({"alive": True}), media_type=JSON)),
        Route("/readyz", _Readiness(team).answer),
        Route("/metrics", metrics),
    ]

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        yield

    handlers: dict[Any, Any] = {HTTPException: handle_http_error, Exception: handle_failure}
    app = Starlette(routes=routes, lifespan=life, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Observed(TeamGuard(app, access, team), team)


def _make_handler(team: Team, endpoint: Endpoint) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        note = request.scope[NOTE]
        pairs = request.query_params.multi_items()
        note["q"] = dict(pairs).get("q", "")[:2000]

        def ask() -> Any:
            return team.service.ask(endpoint, endpoint.values(pairs), _wording(request.headers), note["caller"], note)

        return await _reply(team, request, ask)

    return answer


def _lister(team: Team, render: Callable[[list[str]], dict[str, Any]]) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        caller = request.scope[NOTE]["caller"]
        work = team.service.run
        return await _reply(team, request, lambda: work(lambda: encode(render(list(team.service.visible(caller))))))

    return answer


def _wording(headers: Headers) -> Any:
    return PAGE_WORDING if headers.get(SURFACE_HEADER) == "page" else WORDING


async def _reply(team: Team, request: Request, ask: Callable[[], Any]) -> Response:
    note, wording = request.scope[NOTE], _wording(request.headers)
    try:
        found = await answer_unless_gone(request, ask(), team.service.over)
    except LurcherError as error:
        note["problem"] = error.code
        if isinstance(error, StoreError):
            team.metrics.store_errors += 1
            team.log("problem", code=error.code, message=error.message)
        return error_reply(shown_error(error), wording)
    except asyncio.TimeoutError:
        note["problem"] = "timeout"
        return error_reply(Busy("the answer takes too long", "ask for less, or try again in a moment", seconds=5), wording)
    return Response(found, media_type=JSON) if found is not None else Response(status_code=499)


class _Readiness:
    """Whether the store answers, asked at most once a second however many probes there are."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._lock = asyncio.Lock()
        self._checked, self._problem = float("-inf"), ""

    async def answer(self, request: Request) -> Response:
        problem = "the server is ending" if self._team.service.ending else await self._check()
        ready = {"ready": not problem, **({"problem": problem} if problem else {})}
        return Response(encode(ready), 503 if problem else 200, media_type=JSON)

    async def _check(self) -> str:
        async with self._lock:
            if time.monotonic() - self._checked > _READY_PAUSE:
                before, self._problem = self._problem, ""
                try:
                    await asyncio.wait_for(self._team.service.run(self._team.service.projects), _READY_SECONDS)
                except (LurcherError, asyncio.TimeoutError) as error:
                    self._problem = "the store does not answer"
                    if not before:
                        self._team.log("problem", code="store", message=str(error) or "no answer in time")
                self._checked = time.monotonic()
            return self._problem
