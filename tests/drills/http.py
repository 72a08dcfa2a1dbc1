"""Attacks on `lurcher serve`: a real process on a loopback port, and clients that mean no good."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

from lurcher.surfaces.http.endpoints import ENDPOINTS
from tests.drills.drill import Drill
from tests.drills.trees import past
from tests.surfaces.http.conftest import Served, serving

SECRET = b"hunter2"
PATHS = (
    "../secret.txt", "/etc/passwd", "src/../../secret.txt", "src/link.txt", "..\\secret.txt", ".git/config",
    ".lurcher/manifest", "link/secret.txt", "ignored.txt", "src/client.py\0.txt", "~/secret.txt", "./src/./client.py",
    "src//client.py", "a" * 300, "a/" * 500, "\x1b]0;T\x07", "\n", "%00", "%2e%2e/secret.txt", "....//secret.txt",
    "file:///etc/passwd", "src/client.py:0", "é" * 200, "", ".", "..", "/proc/self/environ", "/dev/zero", "src/pipe",
)  # fmt: skip
TARGETS = (
    "/static/../app.py", "/static/%2e%2e/http/app.py", "/static//etc/passwd", "//etc/passwd", "/..%2f..%2fsecret.txt",
    "/api/../../secret.txt", "/api/file/../../../secret.txt", "/%00", "/%ff", "/api/%2e%2e", "http://evil.example/", "*",
    "/static/", "/api/", "/api/nothing",
)  # fmt: skip
HOSTS = (
    "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "127.0.0.1@evil.example", "[::2]", "10.0.0.1",
    "\xff", "a" * 5000,
)  # fmt: skip
ORIGINS = ("http://evil.example", "null", "https://127.0.0.1", "file://", "http://127.0.0.1:1", "chrome-extension://abc")
METHODS = (
    "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "HEAD", "PROPFIND", "GET\t", "get", "G" * 3000, "\0",
    "PRI",
)  # fmt: skip
QUESTIONS = (
    "redirects", "how are cookies parsed", "Client", "/re.*/", "(", "\\", "a" * 9_999, "a" * 10_001, "\ud800", "\0", "*",
    "漢字" * 40, "%", "'\"<>",
)  # fmt: skip
OF_FILE = ("file", "outline", "graph", "impact", "blame", "explain", "why", "related", "heat", "brief")
PARAMETERS = (
    "q", "path", "name", "limit", "k", "mode", "in", "lang", "cursor", "context", "line", "lines", "since", "budget", "x",
)  # fmt: skip
VALUES = (
    *QUESTIONS, *PATHS, "-1", "0", "1e99", "99999999999999999999", "true", "all", "code,notes,history", "symbol", "literal",
    "dense",
)  # fmt: skip
FRAMING = (
    "Content-Length: 5\r\nTransfer-Encoding: chunked", "Content-Length: 0\r\nContent-Length: 60",
    "Transfer-Encoding: chunked, identity", "Transfer-Encoding: xchunked", "Transfer-Encoding : chunked", "Content-Length: +5",
    "Content-Length: -1", "Content-Length: 5, 6", "Transfer-Encoding: chunked\r\nTransfer-Encoding: x", "Content-Length: 0x10",
    "X: y\r\n Folded: z", "Content-Length: \u0665", "Upgrade: h2c\r\nConnection: Upgrade",
    "Expect: 100-continue\r\nContent-Length: 3",
)  # fmt: skip
BODIES = (
    "0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFF\r\n", "-1\r\n", "zz\r\n",
    "1;" + "a" * 5000 + "\r\nx\r\n0\r\n\r\n",
)  # fmt: skip
NONSENSE = (
    b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 500, b"\x16\x03\x01\x02\x00\x01", b"\0" * 1000,
    b"GET / HTTP/1.1\n\n", b"GET /\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n",
    b"GET " + b"/" * 100_000,
)  # fmt: skip
HELD = 60
MOST_STREAMS = 32


class Http(Drill):
    """Nothing outside of the index is read, nobody from elsewhere gets an answer, no attack is answered with a failure of the
    server's own, and after each the server answers a plain question."""

    name = "http"
    short, long = 150, 2_000
    cpu_seconds = 60.0

    def __init__(self, folder: Path, sources: Sequence[Path]) -> None:
        super().__init__(folder, sources)
        (folder / "secret.txt").write_bytes(b"password = " + SECRET + b"\n")
        self._shop = past(folder / "shop")
        (self._shop / "src/link.txt").symlink_to(folder / "secret.txt")
        (self._shop / "link").symlink_to(folder)
        (self._shop / ".gitignore").write_text("ignored.txt\n")
        (self._shop / "ignored.txt").write_bytes(b"password = " + SECRET + b"\n")
        os.mkfifo(self._shop / "src/pipe")
        self._held = contextlib.ExitStack()
        self._served: Served = self._held.enter_context(serving(self._shop))
        self._host = f"127.0.0.1:{self._served.port}"
        end = time.monotonic() + 120
        while self._status(self._ask("/api/search?q=redirects")) != 200:
            assert time.monotonic() < end, "the server does not begin to answer"
            time.sleep(0.1)
        self._attacks: tuple[tuple[int, Callable[[random.Random], str | None]], ...] = (
            (30, self._traversal), (10, self._foreign), (10, self._method), (20, self._question), (8, self._oversize),
            (12, self._smuggling), (8, self._nonsense), (1, self._slow), (2, self._streams), (5, self._gone), (5, self._crowd),
        )  # fmt: skip

    def attempt(self, chance: random.Random) -> str | None:
        (attack,) = chance.choices([attack for _, attack in self._attacks], [weight for weight, _ in self._attacks])
        name = attack.__name__.strip("_")
        self.counts[name] += 1
        wrong = attack(chance)
        if wrong is None and self._patiently("/api/symbol?name=Client") != 200:
            wrong = "the server does not answer any more"
        return wrong and f"{name}: {wrong}"

    # -- asking -----------------------------------------------------------------------------------------------------------

    def _connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._served.port), 60)

    def _raw(self, data: bytes, seconds: float = 60.0) -> bytes:
        """All that comes back for these bytes, until the server hangs up or has nothing more to say."""
        found = b""
        with self._connect() as wire, contextlib.suppress(OSError):
            wire.sendall(data)
            wire.settimeout(seconds)
            while len(found) < 5_000_000 and (piece := wire.recv(1 << 16)):
                found += piece
        return found

    def _ask(self, target: str, *headers: str, method: str = "GET", host: str | None = None) -> bytes:
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self._host if host is None else host}", "Connection: close", *headers]
        return self._raw("\r\n".join([*lines, "", ""]).encode("latin-1", "replace"))

    @staticmethod
    def _status(answer: bytes) -> int:
        words = answer.split(b" ", 2)
        return int(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/") and words[1].isdigit() else 0

    def _patiently(self, target: str) -> int:
        """The status of a plain question; a server that is busy is asked again."""
        end = time.monotonic() + 120
        while (status := self._status(self._ask(target))) in (0, 503) and time.monotonic() < end:
            time.sleep(0.1)
        return status

    def _judged(self, answer: bytes, allowed: Sequence[int], about: object) -> str | None:
        status = self._status(answer)
        if SECRET in answer:
            return f"{about!r}: it told a secret: {answer[-300:]!r}"
        if b"root:x:" in answer or b"Traceback" in answer:
            return f"{about!r}: it told what it must not: {answer[-300:]!r}"
        if status not in allowed:
            return f"{about!r}: status {status}: {answer[-300:]!r}"
        return None

    # -- attacks ----------------------------------------------------------------------------------------------------------

    def _traversal(self, chance: random.Random) -> str | None:
        if chance.random() < 0.3:
            target = chance.choice(TARGETS)
        else:
            path = quote(chance.choice(PATHS), safe=chance.choice(("", "/", "/.\\")))
            target = f"/api/{chance.choice(OF_FILE)}?path={path}&q=x&line=1&lines=1-3"
        return self._judged(self._ask(target), (200, 307, 308, 400, 404, 405), target)

    def _foreign(self, chance: random.Random) -> str | None:
        target = chance.choice(("/", "/api/search?q=redirects", "/api/events", "/openapi.json", "/static/app.js"))
        if chance.random() < 0.5:
            host = chance.choice(HOSTS)
            return self._judged(self._ask(target, host=host), (400, 403, 431), host)
        if chance.random() < 0.7:
            origin = chance.choice(ORIGINS)
            return self._judged(self._ask(target, f"Origin: {origin}"), (403,), origin)
        twice = (f"Host: {chance.choice(HOSTS)}",)
        return self._judged(self._ask(target, *twice), (400, 403, 431), "two hosts")

    def _method(self, chance: random.Random) -> str | None:
        method = chance.choice(METHODS)
        target = chance.choice(("/", "/api/search?q=redirects", "/api/file?path=src/client.py", "/static/app.js"))
        answer = self._ask(target, method=method)
        return self._judged(answer, (0, 200, 400, 404, 405, 411, 413, 431, 501), method[:20])

    def _question(self, chance: random.Random) -> str | None:
        endpoint = chance.choice(ENDPOINTS)
        names = chance.choices(PARAMETERS, k=chance.randint(0, 6))
        asked = (f"{name}={quote(chance.choice(VALUES), errors='surrogatepass')}" for name in names)
        target = f"{endpoint.path}?{'&'.join(asked)}"
        return self._judged(self._ask(target[:60_000]), (200, 400, 404, 405, 414, 431), target[:300])

    def _oversize(self, chance: random.Random) -> str | None:
        turn = chance.randrange(4)
        if turn == 0:
            answer = self._ask(f"/api/search?q={'a' * chance.choice((20_000, 70_000, 500_000))}")
        elif turn == 1:
            answer = self._ask("/api/search?q=x", *(f"X-{n}: {'y' * 1000}" for n in range(chance.choice((50, 300)))))
        elif turn == 2:
            size = chance.choice((10**6, 10**7, 1 << 40))
            head = f"POST /api/search HTTP/1.1\r\nHost: {self._host}\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n"
            answer = self._raw(head.encode() + b"x" * min(size, 10**6), 60)
        else:
            answer = self._ask("/api/search?q=x", f"Cookie: {'a=b; ' * 20_000}")
        return self._judged(answer, (0, 200, 400, 405, 413, 414, 431), f"oversize {turn}")

    def _smuggling(self, chance: random.Random) -> str | None:
        inner = f"GET /api/file?path=ignored.txt HTTP/1.1\r\nHost: {self._host}\r\n\r\n"
        head, body = chance.choice(FRAMING), chance.choice(BODIES)
        data = f"{chance.choice(('GET', 'POST'))} / HTTP/1.1\r\nHost: {self._host}\r\n{head}\r\n\r\n{body}{inner}"
        answer = self._raw(data.encode("latin-1", "replace"), 1.0)
        if SECRET in answer:
            return f"it told a secret: {head!r}"
        return None if self._status(answer) in (0, 100, 200, 400, 404, 405, 413, 417, 501) else f"{head!r}: {answer[:200]!r}"

    def _nonsense(self, chance: random.Random) -> str | None:
        data = chance.choice((chance.randbytes(chance.choice((1, 100, 5000))), *NONSENSE))
        answer = self._raw(data, 0.5)
        return self._judged(answer, (0, 400, 403, 404, 414, 426, 431, 505), data[:60])

    def _slow(self, chance: random.Random) -> str | None:
        """Clients that begin and do not go on take nothing from others."""
        beginnings = (b"", b"GET ", b"GET / HTTP/1.1\r\nHost: x", b"POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n")
        with contextlib.ExitStack() as held:
            for _ in range(chance.choice((5, 60))):
                wire = held.enter_context(self._connect())
                wire.sendall(chance.choice(beginnings))
            return None if self._patiently("/api/symbol?name=Client") == 200 else "others wait for slow clients"

    def _streams(self, chance: random.Random) -> str | None:
        """More streams of events than there is room for."""
        request = f"GET /api/events HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode()
        with contextlib.ExitStack() as held:
            wires = [held.enter_context(self._connect()) for _ in range(HELD)]
            for wire in wires:  # all at once, before any of them is answered
                wire.sendall(request)
            statuses = []
            for wire in wires:
                with contextlib.suppress(OSError):
                    statuses.append(self._status(wire.recv(4096)))
            if self._patiently("/api/symbol?name=Client") != 200:
                return "others wait for streams of events"
            if statuses.count(200) > MOST_STREAMS:
                return f"{statuses.count(200)} streams of events at a time"
            return None if set(statuses) <= {200, 503, 429} else f"statuses {set(statuses)}"

    def _gone(self, chance: random.Random) -> str | None:
        """Clients that leave before the answer."""
        for _ in range(chance.randint(1, 20)):
            with self._connect() as wire:
                target = f"/api/search?q={quote(chance.choice(('redirects', '.', 'e')))}&mode=literal"
                wire.sendall(f"GET {target} HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode())
        return None

    def _crowd(self, chance: random.Random) -> str | None:
        """Many at once: each gets an answer or is told to come back."""
        with contextlib.ExitStack() as held:
            wires = [held.enter_context(self._connect()) for _ in range(chance.choice((10, 40)))]
            for wire in wires:
                target = f"/api/search?q={quote(chance.choice(QUESTIONS[:3]))}{chance.randrange(99)}"
                wire.sendall(f"GET {target} HTTP/1.1\r\nHost: {self._host}\r\nConnection: close\r\n\r\n".encode())
            for wire in wires:
                wire.settimeout(120)
                if (status := self._status(wire.recv(4096))) not in (200, 503):
                    return f"status {status}"
        return None

    def close(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._held.close()


DRILL = Http
