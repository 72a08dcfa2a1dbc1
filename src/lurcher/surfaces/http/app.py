"""The ASGI application: guard, endpoints, events, the page, and other applications mounted beside them.

Checks every request before anything else sees it, and adds security headers to every response.

Host      a page of another site can point its own name at 127.0.0.1 (DNS rebinding); then the Host header tells
Origin    a page of another site can send requests; then the browser says where they come from
token     for everybody else, where the server can be reached from other machines
size      of a body, however it is sent
time      that a client may take to read a piece of the response
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import hmac
import ipaddress
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lurcher.errors import LurcherError
from lurcher.surfaces.http.endpoints import ENDPOINTS, PAGE_WORDING, WORDING, Endpoint, openapi_document
from lurcher.surfaces.http.replies import JSON, Busy, Listening, encode, error_reply, error_response
from lurcher.surfaces.http.service import Service

if TYPE_CHECKING:
    from lurcher.engine import Engine


MAX_BODY = 1 << 20
_MOST_FAILURES, _FAILURE_SECONDS = 20, 10.0
_CSP = "; ".join((
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
    "manifest-src 'self'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'",
    "require-trusted-types-for 'script'", "trusted-types 'none'",
))  # fmt: skip
HEADERS = {
    "content-security-policy": _CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_LOCKED = (
    "This server needs its token.\n\nOpen the address that `lurcher serve` printed, or send: Authorization: Bearer TOKEN\n"
)


class Guard:
    """`hosts` are names by which the server may be called, besides addresses where `token` is set."""

    def __init__(self, app: ASGIApp, *, port: int, hosts: Sequence[str] = (), token: str = "", loopback: bool = True) -> None:
        self._app = app
        self._port = port
        self._hosts = {"localhost", "127.0.0.1", "::1", *(host.lower().rstrip(".") for host in hosts)}
        self._loopback = loopback
        self._token = token.encode()
        self._needs_token = bool(token)
        self._cookie_name = f"lurcher-{port}"  # cookies are not kept apart by port
        self._cookie = hmac.new(self._token, b"lurcher cookie", hashlib.sha256).hexdigest() if token else ""
        self._failures: deque[float] = deque(maxlen=_MOST_FAILURES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # the server refuses web sockets
        refused = self._find_refusal(scope)
        secured = _SecureHeaders(send)
        if refused is not None:
            await refused(scope, receive, secured)
            return
        await self._app(scope, _LimitedBody(receive), secured)

    def _find_refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.getlist("host")
        if len(host) != 1 or not self._is_ours(host[0]):
            return error_response(403, "host", f"{host[0][:80] if host else 'no host'!r} is not a name of this server",
                           "open it as http://127.0.0.1:PORT, or name the host in serve.hosts")  # fmt: skip
        origin = headers.get("origin")
        if origin is not None and not _same(origin, host[0]):
            return error_response(403, "origin", f"requests from {origin[:80]!r} are refused", "use the server's own page")
        site, mode = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode", "")
        if site not in ("none", "same-origin") and not (mode == "navigate" and not scope["path"].startswith("/api/")):
            return error_response(403, "origin", "requests from other sites are refused", "use the server's own page")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > MAX_BODY:
            return error_response(413, "too-large", "the request is too large", f"at most {MAX_BODY:,} bytes are read",
                           {"connection": "close"})  # fmt: skip
        return self._check_token(scope, headers) if self._needs_token else None

    def _is_ours(self, host: str) -> bool:
        try:
            parts = urlsplit(f"//{host}")
            name, port = (parts.hostname or "").rstrip("."), parts.port
        except ValueError:
            return False
        if parts.path or parts.query or parts.fragment or "@" in parts.netloc:
            return False
        if (80 if port is None else port) != self._port:
            return False
        # DNS rebinding needs a name; an IP address is always ours.
        return name in self._hosts or (not self._loopback and _is_address(name))

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        """None for clients with the token. One given as ?token=… becomes a cookie and is removed from the address."""
        offered = headers.get("authorization", "")
        kind, _, given = offered.partition(" ")
        if offered:
            return None if kind.lower() == "bearer" and self._accepts(scope, given.strip()) else self._token_error()
        if self._accepts_cookie(scope, _cookie(headers, self._cookie_name)):
            return None
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        named = dict(pairs).get("token")
        if named is None or scope["method"] not in ("GET", "HEAD") or scope["path"].startswith("/api/"):
            return self._token_error(page=not scope["path"].startswith("/api/"), missing=named is None)
        if not self._accepts(scope, named):
            return self._token_error(page=True)
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        reply = RedirectResponse("/" + (f"?{rest}" if rest else ""), 303)
        reply.set_cookie(self._cookie_name, self._cookie_of(named), httponly=True, samesite="strict", path="/")
        return reply

    def _accepts(self, scope: Scope, token: str) -> bool:
        return self._equals(token, self._token)

    def _accepts_cookie(self, scope: Scope, value: str) -> bool:
        return self._equals(value, self._cookie.encode())

    def _cookie_of(self, token: str) -> str:
        return self._cookie

    def _equals(self, given: str, wanted: bytes) -> bool:
        # Constant time: neither where they differ nor the length of the right one can be measured.
        digests = (hashlib.sha256(value).digest() for value in (given.encode("utf-8", "surrogateescape"), wanted))
        return hmac.compare_digest(*digests)

    def _token_error(self, *, page: bool = False, missing: bool = False) -> Response:
        now = time.monotonic()
        if not missing:
            if len(self._failures) == _MOST_FAILURES and now - self._failures[0] < _FAILURE_SECONDS:
                return error_response(429, "token", "too many wrong tokens", "wait a moment", {"retry-after": "10"})
            self._failures.append(now)
        challenge = {"www-authenticate": "Bearer"}
        if page:
            return PlainTextResponse(_LOCKED, 401, challenge)
        return error_response(401, "token", "the token is missing or wrong", "send: Authorization: Bearer TOKEN", challenge)


class _SecureHeaders:
    """Adds the security headers to a response."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
        await self._send(message)


class _LimitedBody:
    """Ends the connection when a body is larger than allowed, whatever its Content-Length said."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._read += len(message.get("body", b""))
        if self._read > MAX_BODY:
            return {"type": "http.disconnect"}
        return message


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _same(origin: str, host: str) -> bool:
    """Whether an origin is the server that was called."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower() and not parts.path


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found is not None else ""


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
    handlers: dict[Any, Any] = {HTTPException: handle_http_error, Exception: handle_failure}
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
            found = await answer_unless_gone(request, service.ask(endpoint, values, wording), service.over)
        except LurcherError as error:
            return error_reply(error, wording)
        except asyncio.TimeoutError:
            return error_reply(Busy("the answer takes too long", "ask for less, or try again in a moment", seconds=5), wording)
        return Response(found, media_type=JSON) if found is not None else Response(status_code=499)

    return answer


async def answer_unless_gone(request: Request, work: Any, over: asyncio.Event) -> bytes | None:
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


async def handle_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    hint = "GET and HEAD are understood" if error.status_code == 405 else "see /openapi.json"
    code = "path" if error.status_code == 404 else "request"
    return error_response(error.status_code, code, error.detail, hint, error.headers)


async def handle_failure(request: Request, error: Exception) -> Response:
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
        for entry in (resources.files("lurcher.surfaces") / "web").iterdir():
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
