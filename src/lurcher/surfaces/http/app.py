"""The application: guard, endpoints, events, page, and whatever else is to be served beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from lurcher.errors import LurcherError
from lurcher.surfaces.http import openapi
from lurcher.surfaces.http.endpoints import ENDPOINTS, WORDS
from lurcher.surfaces.http.events import Listening
from lurcher.surfaces.http.guard import Guard
from lurcher.surfaces.http.page import Page
from lurcher.surfaces.http.parameters import Endpoint
from lurcher.surfaces.http.replies import JSON, Busy, encoded, failure, refusal
from lurcher.surfaces.http.service import Service

if TYPE_CHECKING:
    from lurcher.engine import Engine

ANSWER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Beside:
    """Another application at a path and below it, behind the same guard. It sees paths as they were asked for; `life` is
    entered while the server runs.
    """

    path: str
    app: ASGIApp
    life: Callable[[], AbstractAsyncContextManager[Any]] | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """Who may call the server, and as what."""

    port: int
    loopback: bool = True
    hosts: tuple[str, ...] = ()
    token: str = ""


def build_app(
    engine: Engine, access: Access, *, editor: str = "", beside: Sequence[Beside] = (), service: Service | None = None
) -> Guard:
    """Everything that `lurcher serve` offers, as one ASGI application."""
    asked = service or Service(engine)

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for other in beside:
                if other.life is not None:
                    await stack.enter_async_context(other.life())
            await asked.start()
            try:
                yield
            finally:
                await asked.stop()

    page = Page()
    described = encoded(openapi.document(ENDPOINTS, token=bool(access.token)))
    about = {"editor": editor, "roots": [{"name": root.name, "path": str(root)} for root in engine.roots]}

    async def describe(request: Request) -> Response:
        return Response(described, media_type=JSON)

    async def settings(request: Request) -> Response:
        return Response(encoded(about), media_type=JSON)

    routes = [
        *(Route(endpoint.path, _answering(asked, endpoint)) for endpoint in ENDPOINTS),
        Route("/", page.front),
        Route("/static/{name}", page.file),
        Route("/openapi.json", describe),
        Route("/api/page", settings),
        Route("/api/events", _events(asked)),
        *(Route(path, _Passed(other.app)) for other in beside for path in (other.path, f"{other.path}/{{rest:path}}")),
    ]
    handlers: dict[Any, Any] = {HTTPException: _unknown, Exception: _failed}
    app = Starlette(routes=routes, lifespan=life, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Guard(app, port=access.port, hosts=access.hosts, token=access.token, loopback=access.loopback)


class _Passed:
    """A class, because a route takes functions for answers to one request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _answering(service: Service, endpoint: Endpoint) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        try:
            values = endpoint.values(request.query_params.multi_items())
            found = await _unless_gone(request, service.ask(endpoint, values), service.over)
        except LurcherError as error:
            return failure(error, WORDS)
        except asyncio.TimeoutError:
            return failure(Busy("the answer takes too long", "ask for less, or again in a moment", seconds=5), WORDS)
        return Response(found, media_type=JSON) if found is not None else Response(status_code=499)

    return answer


async def _unless_gone(request: Request, work: Any, over: asyncio.Event) -> bytes | None:
    """The answer; None where nobody waits for it any more, and then nobody works on it if it has not begun. A server that
    ends does not wait for it."""
    asked, left, ends = (asyncio.ensure_future(one) for one in (work, _gone(request), over.wait()))
    try:
        done, _ = await asyncio.wait({asked, left, ends}, timeout=ANSWER_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if asked in done and not asked.cancelled():
            result: bytes = asked.result()
            return result
        if ends in done or asked in done:
            raise Busy("the server is ending", "start it again")
        if not done:
            raise asyncio.TimeoutError
        return None
    finally:
        for task in (asked, left, ends):
            task.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _events(service: Service) -> Callable[[Request], Any]:
    async def events(request: Request) -> Response:
        try:
            return _Stream(service.hub.listen(service.state()))
        except Busy as busy:
            return failure(busy, WORDS)

    return events


class _Stream(StreamingResponse):
    """Gives its place back however it ends, even where the client left before it began."""

    def __init__(self, listening: Listening) -> None:
        super().__init__(listening, media_type="text/event-stream")
        self._listening = listening

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._listening.aclose()


async def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    hint = "GET and HEAD are understood" if error.status_code == 405 else "see /openapi.json"
    return refusal(error.status_code, "path" if error.status_code == 404 else "request", error.detail, hint, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    return refusal(500, "internal", "something failed that should not", "see what the server printed")
