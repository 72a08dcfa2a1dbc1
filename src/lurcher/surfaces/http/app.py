"""The ASGI application: guard, endpoints, events, the page, and other applications mounted beside them."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from lurcher.errors import LurcherError
from lurcher.surfaces.http.endpoints import ENDPOINTS, PAGE_WORDING, WORDING, Endpoint, openapi_document
from lurcher.surfaces.http.guard import Guard
from lurcher.surfaces.http.replies import JSON, Busy, Listening, encode, error_reply, error_response
from lurcher.surfaces.http.service import Service

if TYPE_CHECKING:
    from lurcher.engine import Engine

ANSWER_SECONDS = 60.0
SURFACE_HEADER = "lurcher-surface"
"""The page sends `page`, and gets hints that name its controls instead of query parameters."""


@dataclass(frozen=True, slots=True)
class MountedApp:
    """Another application at a path and below it, behind the same guard. It sees full paths; `life` is its lifespan."""

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
    engine: Engine, access: Access, *, editor: str = "", beside: Sequence[MountedApp] = (), service: Service | None = None
) -> Guard:
    """The application that `lurcher serve` runs."""
    service = service or Service(engine)

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for other in beside:
                if other.life is not None:
                    await stack.enter_async_context(other.life())
            await service.start()
            try:
                yield
            finally:
                await service.stop()

    page = Page()
    described = encode(openapi_document(ENDPOINTS, token=bool(access.token)))
    about = {"editor": editor, "roots": [{"name": root.name, "path": str(root)} for root in engine.roots]}

    async def describe(request: Request) -> Response:
        return Response(described, media_type=JSON)

    async def settings(request: Request) -> Response:
        return Response(encode(about), media_type=JSON)

    routes = [
        *(Route(endpoint.path, _make_handler(service, endpoint)) for endpoint in ENDPOINTS),
        Route("/", page.front),
        Route("/static/{name}", page.file),
        Route("/openapi.json", describe),
        Route("/api/page", settings),
        Route("/api/events", _events(service)),
        *(Route(path, _Passthrough(other.app)) for other in beside for path in (other.path, f"{other.path}/{{rest:path}}")),
    ]
    handlers: dict[Any, Any] = {HTTPException: _handle_http_error, Exception: _handle_failure}
    app = Starlette(routes=routes, lifespan=life, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Guard(app, port=access.port, hosts=access.hosts, token=access.token, loopback=access.loopback)


class _Passthrough:
    """Passes requests on. A class, because Starlette treats a function as a request handler."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _make_handler(service: Service, endpoint: Endpoint) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        wording = PAGE_WORDING if request.headers.get(SURFACE_HEADER) == "page" else WORDING
        try:
            values = endpoint.values(request.query_params.multi_items())
            found = await _answer_unless_gone(request, service.ask(endpoint, values, wording), service.over)
        except LurcherError as error:
            return error_reply(error, wording)
        except asyncio.TimeoutError:
            return error_reply(Busy("the answer takes too long", "ask for less, or try again in a moment", seconds=5), wording)
        return Response(found, media_type=JSON) if found is not None else Response(status_code=499)

    return answer


async def _answer_unless_gone(request: Request, work: Any, over: asyncio.Event) -> bytes | None:
    """The answer, or None if the client has gone: work that has not begun is dropped. Raises `Busy` when the server ends."""
    answer, left, ends = (asyncio.ensure_future(one) for one in (work, _wait_for_disconnect(request), over.wait()))
    try:
        done, _ = await asyncio.wait({answer, left, ends}, timeout=ANSWER_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if answer in done and not answer.cancelled():
            result: bytes = answer.result()
            return result
        if ends in done or answer in done:
            raise Busy("the server is ending", "start it again")
        if not done:
            raise asyncio.TimeoutError
        return None
    finally:
        for task in (answer, left, ends):
            task.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _events(service: Service) -> Callable[[Request], Any]:
    async def events(request: Request) -> Response:
        try:
            return _Stream(service.hub.listen(service.state()))
        except Busy as busy:
            return error_reply(busy, PAGE_WORDING)

    return events


class _Stream(StreamingResponse):
    """Closes its listener however it ends, even if the client left before it began."""

    def __init__(self, listening: Listening) -> None:
        super().__init__(listening, media_type="text/event-stream")
        self._listening = listening

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._listening.aclose()


async def _handle_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    hint = "GET and HEAD are understood" if error.status_code == 405 else "see /openapi.json"
    code = "path" if error.status_code == 404 else "request"
    return error_response(error.status_code, code, error.detail, hint, error.headers)


async def _handle_failure(request: Request, error: Exception) -> Response:
    return error_response(500, "internal", "the server failed", "see its output")


# -- the page -----------------------------------------------------------------------------------------------------------

_TYPES = {
    "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}  # fmt: skip
_FRONT = "index.html"


class Page:
    """The files of the page, read once and kept compressed. Any other name is a 404."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, bytes, str, str]] = {}
        for entry in resources.files("lurcher.surfaces.web").iterdir():
            kind = entry.name.rpartition(".")[2]
            if kind in _TYPES:
                data = entry.read_bytes()
                mark = f'"{hashlib.blake2b(data, digest_size=10).hexdigest()}"'
                self._files[entry.name] = (data, gzip.compress(data, 9, mtime=0), mark, _TYPES[kind])

    @property
    def compressed_bytes(self) -> int:
        return sum(len(entry[1]) for entry in self._files.values())

    def front(self, request: Request) -> Response:
        return self._reply(request, _FRONT)

    def file(self, request: Request) -> Response:
        return self._reply(request, request.path_params["name"])

    def _reply(self, request: Request, name: str) -> Response:
        found = self._files.get(name)
        if found is None:
            return error_response(404, "path", "there is nothing here", "the page is at /")
        data, packed, mark, kind = found
        headers = {"etag": mark, "cache-control": "no-cache", "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(packed, headers={**headers, "content-encoding": "gzip"}, media_type=kind)
        return Response(data, headers=headers, media_type=kind)
