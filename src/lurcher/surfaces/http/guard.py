"""Checks every request before anything else sees it, and adds security headers to every response.

Host      a page of another site can point its own name at 127.0.0.1 (DNS rebinding); then the Host header tells
Origin    a page of another site can send requests; then the browser says where they come from
token     for everybody else, where the server can be reached from other machines
size      of a body, however it is sent
time      that a client may take to read a piece of the response
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import time
from collections import deque
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lurcher.surfaces.http.replies import error_response

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
        return self._check_token(scope, headers) if self._token else None

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
            return None if kind.lower() == "bearer" and self._equals(given.strip(), self._token) else self._token_error()
        if self._equals(_cookie(headers, self._cookie_name), self._cookie.encode()):
            return None
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        named = dict(pairs).get("token")
        if named is None or scope["method"] not in ("GET", "HEAD") or scope["path"].startswith("/api/"):
            return self._token_error(page=not scope["path"].startswith("/api/"), missing=named is None)
        if not self._equals(named, self._token):
            return self._token_error(page=True)
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        reply = RedirectResponse("/" + (f"?{rest}" if rest else ""), 303)
        reply.set_cookie(self._cookie_name, self._cookie, httponly=True, samesite="strict", path="/")
        return reply

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
