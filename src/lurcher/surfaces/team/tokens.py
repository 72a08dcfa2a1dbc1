"""The tokens of a team's server: a file with one hashed token per line and the projects it may see, read again when it changes.

# name   hash               projects, by name or by pattern
alice    sha256:9f86d0…     acme/web acme/api
ci       sha256:60303a…     acme/*
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from lurcher.errors import ConfigError, Template, UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_HASH = re.compile(r"sha256:([0-9a-f]{64})")
_PATTERN = re.compile(r"[A-Za-z0-9._+@:/*?-]{1,200}")
_MAX_BYTES = 4 << 20
_PAUSE = 0.5
"""Seconds between two looks at the file."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever has a token."""

    name: str
    patterns: tuple[str, ...]

    def may_see(self, project: str) -> bool:
        return any(fnmatchcase(project, pattern) for pattern in self.patterns)


EVERYBODY = Caller("local", ("*",))
"""Who calls a server without tokens, which only its own machine can reach."""


def hash_token(token: str) -> str:
    # A token is 32 random bytes, so it cannot be guessed from a fast hash either.
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def make_token(name: str, patterns: Sequence[str]) -> tuple[str, str]:
    """A new token, and its line for the file."""
    token = secrets.token_urlsafe(32)
    line = " ".join((name, f"sha256:{hash_token(token)}", *(patterns or ("*",))))
    try:
        parse_line(line)
    except ValueError as problem:
        raise UsageError(
            f"no token can be made: {problem}", "a name is letters, digits and . _ @ -, for example alice"
        ) from None
    return token, line


def parse_line(line: str) -> tuple[str, Caller]:
    """The hash of a token and who has it. ValueError says what is wrong, without the line itself."""
    name, *rest = line.split()
    if not _NAME.fullmatch(name):
        raise ValueError("its name may have letters, digits and . _ @ -")
    hashed = _HASH.fullmatch(rest[0]) if rest else None
    if hashed is None:
        raise ValueError("after the name it needs sha256: and 64 hexadecimal digits")
    if len(rest) < 2:
        raise ValueError("it names no project")
    if not all(_PATTERN.fullmatch(pattern) for pattern in rest[1:]):
        raise ValueError("one of its projects cannot be a project or a pattern")
    return hashed[1], Caller(name, tuple(rest[1:]))


def parse_tokens(text: str) -> tuple[dict[str, Caller], list[str]]:
    """Callers by the hash of their token, and what is wrong with other lines."""
    found: dict[str, Caller] = {}
    problems: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            hashed, caller = parse_line(line)
            if hashed in found:
                raise ValueError("it has the token of another line")
        except ValueError as problem:
            problems.append(f"line {number}: {problem}")
        else:
            found[hashed] = caller
    return found, problems


class TokenFile:
    """Who may call. A line that is wrong counts for nobody, and so do all lines of a file that is gone. Thread-safe."""

    def __init__(self, path: Path, tell: Callable[[int, list[str]], None]) -> None:
        """`tell` is called with the number of tokens and the problems whenever the file was read again."""
        self.path, self._tell = path, tell
        self._lock = threading.Lock()
        self._looked = 0.0
        self._mark: tuple[int, int, int] | None = None
        self._callers: dict[str, Caller] = {}

    @classmethod
    def open(cls, path: Path, tell: Callable[[int, list[str]], None]) -> TokenFile:
        """At the start any problem is an error."""
        found = cls(path, lambda count, problems: None)
        found._mark, text = found._read()
        if text is None:
            raise ConfigError(f"the file of tokens {path} cannot be read", Template("make a token: {serve: new_token=NAME}"))
        found._callers, problems = parse_tokens(text)
        if problems:
            raise ConfigError(f"{path}, {problems[0]}", Template("a new line: {serve: new_token=NAME}"))
        if not found._callers:
            raise ConfigError(f"there is no token in {path}", Template("make one: {serve: new_token=NAME}"))
        found._tell, found._looked = tell, time.monotonic()
        return found

    def __len__(self) -> int:
        return len(self._callers)

    def find(self, token: str) -> Caller | None:
        self._look()
        return self._callers.get(hash_token(token))

    def _read(self) -> tuple[tuple[int, int, int] | None, str | None]:
        try:
            with self.path.open("rb") as handle:
                state = os.fstat(handle.fileno())
                return (state.st_mtime_ns, state.st_size, state.st_ino), handle.read(_MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            return None, None

    def _look(self) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._looked < _PAUSE:
                return
            self._looked = now
            try:
                state = self.path.stat()
                mark = (state.st_mtime_ns, state.st_size, state.st_ino)
            except OSError:
                mark = None
            if mark == self._mark:
                return
            self._mark, text = self._read()
            self._callers, problems = ({}, ["the file cannot be read"]) if text is None else parse_tokens(text)
            told = len(self._callers), problems
        self._tell(*told)


class RateLimit:
    """Each caller has a bucket of requests that fills steadily and holds ten seconds' worth. For one thread."""

    def __init__(self, per_minute: int) -> None:
        self._rate = per_minute / 60
        self._most = max(5.0, self._rate * 10)
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> float:
        """Take one request; 0, or the seconds to wait for the next one."""
        now = time.monotonic()
        left, then = self._buckets.get(name, (self._most, now))
        left = min(self._most, left + (now - then) * self._rate)
        if left < 1:
            self._buckets[name] = left, now
            return (1 - left) / self._rate
        self._buckets[name] = left - 1, now
        return 0.0
