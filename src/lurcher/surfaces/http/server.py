"""Runs the application with uvicorn: the socket, time limits per connection, and a clean end."""

from __future__ import annotations

import ipaddress
import signal
import socket
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from lurcher.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REQUEST_SECONDS = 10.0
"""A client may take this long to send its request."""
SEND_SECONDS = 20.0
"""A client may read nothing of a response for this long."""
MOST_CONNECTIONS = 512
MOST_HEAD_BYTES = 128 << 10
_LAST_PORT = 65_535
_KEEP_ALIVE = 15
_GRACE = 3


class TimeoutProtocol(H11Protocol):
    """Closes connections whose client takes too long to send a request or to read the response."""

    _deadline: Any = None
    _unread: Any = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start_waiting()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        else:
            self._start_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._cancel_abort()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The send buffer is full: a client that does not read would keep a task and its response alive."""
        super().pause_writing()
        self._abort_later()

    def resume_writing(self) -> None:
        self._cancel_abort()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._abort_later()  # closing waits until everything is read

    def _abort_later(self) -> None:
        if self._unread is None:
            self._unread = self.loop.call_later(SEND_SECONDS, self.transport.abort)

    def _cancel_abort(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _start_waiting(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self._close_if_waiting)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close_if_waiting(self) -> None:
        self._deadline = None
        busy = self.cycle is not None and not self.cycle.response_complete
        idle = self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0] and self.cycle is not None
        if not busy and not idle and not self.transport.is_closing():
            self.transport.abort()


class Server(uvicorn.Server):
    """Ends open streams before it waits for them; a second signal ends it at once."""

    def __init__(self, config: uvicorn.Config, closing: Callable[[], None]) -> None:
        super().__init__(config)
        self._closing = closing

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # A signal is the normal end, so it is not raised again afterwards.
        self._closing()
        self.force_exit = self.should_exit
        self.should_exit = True

    @contextmanager
    def end_on_signals(self) -> Iterator[None]:
        """Ends the server on a signal from now on: until it runs, Ctrl-C would break its start off with a traceback."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def make_server(app: Any, closing: Callable[[], None], grace: int = _GRACE) -> Server:
    """`grace`: how many seconds running requests have to end once a signal has come."""
    config = uvicorn.Config(
        app, http=TimeoutProtocol, ws="none", lifespan="on", log_config=None, log_level="error", access_log=False,
        server_header=False, date_header=True, timeout_keep_alive=_KEEP_ALIVE, limit_concurrency=MOST_CONNECTIONS,
        h11_max_incomplete_event_size=MOST_HEAD_BYTES, timeout_graceful_shutdown=grace, proxy_headers=False,
    )  # fmt: skip
    return Server(config, closing)


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at the address; UsageError where that fails."""
    if not 0 <= port <= _LAST_PORT:  # the system takes the remainder of it, and listens somewhere else
        raise UsageError(f"there is no port {port}", f"use 1 to {_LAST_PORT}, or 0 for any")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:  # UnicodeError: letters that no host name has
        reason = getattr(error, "strerror", None) or "no such host"
        raise UsageError(f"'{host}' is not an address to listen on: {reason}", "use 127.0.0.1") from None
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(MOST_CONNECTIONS)
    except OSError as error:
        bound.close()
        raise UsageError(
            f"{host}:{port} cannot be listened on: {error.strerror}", "choose another with --port, or --port 0 for any"
        ) from None
    return bound


def is_loopback(bound: socket.socket) -> bool:
    """Whether only this machine can reach what was bound."""
    return ipaddress.ip_address(bound.getsockname()[0]).is_loopback
