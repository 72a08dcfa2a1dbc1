"""Parses the output of `git diff-tree --stdin` into commits, while git is working on the next ones.

The output is

    RS sha NUL parents NUL author NUL email NUL authored NUL committed NUL message NUL
    NUL LF  :modes objects status NUL path NUL [path NUL] …
    NUL  diff --git … LF  @@ … @@ LF  -… LF  +… LF  …

Nothing in a repository can be mistaken for structure: fields end with a zero byte, which neither a message nor a path can
contain; paths are taken from the list before the patches, never from a patch; and the lines of a hunk are counted, not
interpreted.
"""

from __future__ import annotations

import hashlib
import queue
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO

from lurcher.sources.decode import (
    MINIFIABLE,
    MINIFIED_FILE,
    MINIFIED_LINE,
    MINIFIED_MEAN,
    has_key,
    looks_generated,
    secret_path,
)
from lurcher.sources.git.commit import (
    COPIED,
    RENAMED,
    RETYPED,
    Change,
    Commit,
    Hunk,
    decode_text,
    is_generated_or_vendored,
    kind_of,
    split_message,
)

_CHUNK = 1 << 18
_MAX_CHUNKS = 64
"""Chunks read ahead: git continues while we process commits."""
MAX_LINE = 1 << 16
"""Bytes kept of a line; longer lines are not written by people."""
MAX_FIELD = 1 << 20


class ParseError(Exception):
    """The output ended early, or does not have the expected form."""


class ReadAhead:
    """Reads from a pipe in a thread of its own, a bounded amount ahead of the consumer. A call returns the next chunk."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._chunks: queue.Queue[bytes] = queue.Queue(_MAX_CHUNKS)
        self._stopped = False
        self._thread = threading.Thread(target=self._fetch, daemon=True)
        self._thread.start()

    def _fetch(self) -> None:
        try:
            while not self._stopped and (chunk := self._pipe.read1(_CHUNK)):  # type: ignore[attr-defined]
                self._put(chunk)
        except (OSError, ValueError):
            pass  # the process was stopped
        self._put(b"")

    def _put(self, chunk: bytes) -> None:
        while not self._stopped:
            try:
                self._chunks.put(chunk, timeout=0.2)
                return
            except queue.Full:
                continue

    def __call__(self) -> bytes:
        return self._chunks.get()

    def stop(self) -> None:
        """Call this after the process has ended: the thread ends with it."""
        self._stopped = True
        self._thread.join(5)


class RecordStream:
    """Splits chunks into lines and zero-terminated fields; an empty chunk is the end."""

    def __init__(self, fetch: Callable[[], bytes]) -> None:
        self._fetch = fetch
        self._data = b""
        self._at = 0
        self._ended = False

    def _more(self) -> bool:
        """Append a further chunk; False at the end."""
        if self._ended:
            return False
        chunk = self._fetch()
        if not chunk:
            self._ended = True
            return False
        self._data = self._data[self._at :] + chunk
        self._at = 0
        return True

    def peek(self) -> bytes:
        """The next byte, without consuming it; empty at the end."""
        if self._at >= len(self._data) and not self._more():
            return b""
        return self._data[self._at : self._at + 1]

    def skip(self) -> None:
        self._at += 1

    def starts(self, text: bytes) -> bool:
        """Whether `text` comes next."""
        while len(self._data) - self._at < len(text) and self._more():
            pass
        return self._data.startswith(text, self._at)

    def field(self) -> bytes:
        """The bytes before the next zero byte; an overlong field is truncated to MAX_FIELD."""
        end = self._data.find(b"\0", self._at)
        if 0 <= end <= self._at + MAX_FIELD:
            return self._through(end)
        return self._long(b"\0", MAX_FIELD)

    def line(self) -> bytes:
        """The bytes before the next line feed; an overlong line is truncated to MAX_LINE."""
        end = self._data.find(b"\n", self._at)
        if 0 <= end <= self._at + MAX_LINE:
            return self._through(end)
        return self._long(b"\n", MAX_LINE)

    def _through(self, end: int) -> bytes:
        found = self._data[self._at : end]
        self._at = end + 1
        return found

    def _long(self, mark: bytes, most: int) -> bytes:
        """The bytes before a mark that may be many chunks away; no more than `most` bytes are held."""
        kept = bytearray()
        while True:
            end = self._data.find(mark, self._at)
            stop = end if end >= 0 else len(self._data)
            kept += self._data[self._at : min(stop, self._at + most - len(kept))]
            self._at = stop
            if end >= 0:
                self._at = end + 1
                return bytes(kept)
            if not self._more():
                raise ParseError("the output ends too early")

    def lines(self, count: int) -> list[bytes]:
        """The next `count` lines. Most of the output is read here."""
        found: list[bytes] = []
        data, position = self._data, self._at
        while len(found) < count:
            end = data.find(b"\n", position)
            if 0 <= end <= position + MAX_LINE:
                found.append(data[position:end])
                position = end + 1
            else:
                self._at = position
                found.append(self._long(b"\n", MAX_LINE))
                data, position = self._data, self._at
        self._at = position
        return found


FORMAT = "%x1e%H%x00%P%x00%an%x00%ae%x00%at%x00%ct%x00%B%x00"
_BEGIN = b"\x1e"
_NEXT = b"diff --git "
_HUNK = re.compile(rb"@@ -(\d{1,10})(?:,(\d{1,10}))? \+(\d{1,10})(?:,(\d{1,10}))? @@ ?(.*)", re.DOTALL)
_SHA = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BLANKS = b" \t\r\f\v"
_GITLINK = b"160000"
_AT_ONCE = 4096
"""Lines of a hunk that are read at a time."""
_BUFFER_FACTOR = 16
"""While a commit is read, this many times the text that will be kept of it is held, until it is clear which to keep."""
_MAX_KEPT_LINE = 2000
_TIME_LIMIT = 1 << 40
_ENCODED = re.compile(rb"[A-Za-z0-9+/]*={0,2}")
_ENCODED_LINE = 60
"""Characters of a full line of an encoded key."""


@dataclass(slots=True)
class _Hunk:
    old_start: int
    new_start: int
    heading: bytes
    removed: list[bytes]
    added: list[bytes]
    size: int


@dataclass(slots=True)
class _File:
    path: bytes
    old_path: bytes | None
    status: str
    objects: tuple[bytes, bytes]
    link: bool
    """Whether it is a submodule."""
    hunks: list[_Hunk] = field(default_factory=list)
    added: int = 0
    removed: int = 0
    binary: bool = False
    truncated: bool = False
    name: str = ""
    size: int = 0
    """Bytes of added lines."""
    longest: int = 0


@dataclass(frozen=True, slots=True)
class Parsed:
    commit: Commit
    objects: tuple[tuple[str, str], ...]
    """For each change the names of the two blobs that git compared; zeros for no blob and for a submodule."""


class Parser:
    """Iterates over the commits of a stream. Raises ParseError if the stream ends within a commit, which is then lost."""

    def __init__(self, stream: RecordStream, diff_bytes: int, *, patches: bool = True, secrets: bool = False) -> None:
        self._stream = stream
        self._secrets = secrets
        """Keep lines of files that look like secrets."""
        self._diff_bytes = diff_bytes
        self._patches = patches
        """The output has patches; without them only the list of changed files is known."""

    def __iter__(self) -> Iterator[Parsed]:
        while self._stream.peek():
            yield self._commit()

    def _commit(self) -> Parsed:
        stream = self._stream
        if stream.peek() != _BEGIN:
            raise ParseError("a commit should begin here")
        stream.skip()
        sha, parents, author, email, authored, committed, message = (stream.field() for _ in range(7))
        if not _SHA.fullmatch(sha):
            raise ParseError("a commit without its hash")
        self._skip(b"\0\n")
        files = []
        while stream.peek() == b":":
            files.append(self._file())
        self._skip(b"\0\n")
        digest = hashlib.blake2b(digest_size=16)
        self._parse_patches(files, digest)
        subject, body, trailers = split_message(decode_text(message))
        commit = Commit(
            sha.decode(), tuple(parents.decode().split()), decode_text(author), decode_text(email), _parse_time(authored),
            _parse_time(committed), subject, body, trailers, _limit_text(files, self._diff_bytes, self._secrets),
            digest.hexdigest() if files and self._patches else "",
        )  # fmt: skip
        return Parsed(commit, tuple((file.objects[0].decode(), file.objects[1].decode()) for file in files))

    def _skip(self, marks: bytes) -> None:
        while (mark := self._stream.peek()) and mark in marks:
            self._stream.skip()

    def _file(self) -> _File:
        fields = self._stream.field()[1:].split(b" ")
        if len(fields) != 5 or not fields[4]:
            raise ParseError("a changed file with other fields than expected")
        old_mode, new_mode, old, new, raw_status = fields
        status = raw_status[:1].decode("ascii", "replace")
        path, old_path = self._stream.field(), None
        if status in (RENAMED, COPIED):
            old_path, path = path, self._stream.field()
        link = _GITLINK in (old_mode, new_mode)
        null = b"0" * len(old)
        objects = (null if old_mode == _GITLINK else old, null if new_mode == _GITLINK else new)
        file = _File(path, old_path, status, objects, link, name=decode_text(path))
        file.truncated = (is_generated_or_vendored(file.name) and not link) or not self._patches
        if not self._secrets and any(secret_path(decode_text(name)) for name in (path, old_path) if name is not None):
            file.truncated = True
        return file

    def _parse_patches(self, files: list[_File], digest: hashlib.blake2b) -> None:
        """Read the patches, which come in the order of the files; a file that changed its type has two."""
        room = _BUFFER_FACTOR * self._diff_bytes
        stream = self._stream
        for file in files if self._patches else ():
            digest.update(b"\0%b\0%b\0%b" % (file.path, file.old_path or b"", file.status.encode()))
            for _ in range(2 if file.status == RETYPED else 1):
                if not stream.line().startswith(_NEXT):
                    raise ParseError("a file without its patch")
                room -= self._patch(file, digest, room)

    def _patch(self, file: _File, digest: hashlib.blake2b, room: int) -> int:
        """Read one patch; returns how many bytes of its text were kept."""
        stream = self._stream
        used = 0
        while (mark := stream.peek()) and mark != _BEGIN and not (mark == b"d" and stream.starts(_NEXT)):
            if mark == b"@":
                used += self._hunk(file, digest, 0 if file.truncated else min(room, self._diff_bytes) - used)
            elif stream.line().startswith(b"Binary files "):
                file.binary = True
                digest.update(b"\0" + b"\0".join(file.objects))
        return used

    def _hunk(self, file: _File, digest: hashlib.blake2b, room: int) -> int:
        match = _HUNK.fullmatch(self._stream.line())
        if not match:
            raise ParseError("a hunk without its line numbers")
        old_start, new_start = int(match[1]), int(match[3])
        removed = 1 if match[2] is None else int(match[2])
        added = 1 if match[4] is None else int(match[4])
        file.removed += removed
        file.added += added
        room_left = room
        old, room_left = self._side(file, b"-", removed, digest, room_left)
        new, room_left = self._side(file, b"+", added, digest, room_left)
        if old or new:
            file.hunks.append(_Hunk(old_start, new_start, match[5], old, new, room - room_left))
        return room - room_left

    def _side(
        self, file: _File, sign: bytes, count: int, digest: hashlib.blake2b, room: int
    ) -> tuple[list[bytes], int]:
        """The removed or the added lines of a hunk, as far as there is room, and the room that is left."""
        stream = self._stream
        kept: list[bytes] = []
        for start in range(0, count, _AT_ONCE):
            lines = stream.lines(min(_AT_ONCE, count - start))
            if not (lines[0].startswith(sign) and lines[-1].startswith(sign)):
                raise ParseError("a hunk whose lines do not match its line numbers")
            whole = b"\n".join(lines)
            digest.update(whole.translate(None, _BLANKS))
            if sign == b"+":
                file.size += len(whole)
                if len(whole) > file.longest:
                    file.longest = max(file.longest, max(map(len, lines)))
            if room <= 0:
                file.truncated = True
                continue
            for line in lines:
                if room <= 0:
                    file.truncated = True
                    break
                if len(line) > _MAX_KEPT_LINE:
                    line = line[: _MAX_KEPT_LINE + 1]
                    file.truncated = True
                kept.append(line[1:-1] if line.endswith(b"\r") else line[1:])
                room -= len(line)
        if stream.peek() == b"\\":
            stream.line()  # no line feed at the end of the file
        return kept, room


def _parse_time(raw: bytes) -> int:
    """Seconds since 1970, limited to a sane range: broken commits have any number here, or none."""
    try:
        return max(-_TIME_LIMIT, min(int(raw), _TIME_LIMIT))
    except ValueError:
        return 0


def _limit_text(files: list[_File], diff_bytes: int, secrets: bool) -> tuple[Change, ...]:
    """The changes with at most `diff_bytes` of text: code first, then tests and so on, within a kind in git's order."""
    room = diff_bytes
    kept: dict[int, list[_Hunk]] = {}
    for number in sorted(range(len(files)), key=lambda i: (kind_of(files[i].name), i)):
        file = files[number]
        if file.hunks and (_is_generated(file) or (not secrets and _is_key(file))):
            file.truncated = True
            continue
        mine = kept.setdefault(number, [])
        for hunk in file.hunks:
            if room <= 0:
                file.truncated = True
                break
            if hunk.size > room:
                hunk = _shorten(hunk, room)
                file.truncated = True
            mine.append(hunk)
            room -= hunk.size
    return tuple(_make_change(file, kept.get(number, [])) for number, file in enumerate(files))


def _shorten(hunk: _Hunk, room: int) -> _Hunk:
    removed: list[bytes] = []
    added: list[bytes] = []
    size = 0
    for lines, target in ((hunk.removed, removed), (hunk.added, added)):
        for line in lines:
            if size >= room:
                break
            target.append(line)
            size += len(line) + 1
    return _Hunk(hunk.old_start, hunk.new_start, hunk.heading, removed, added, size)


def _is_generated(file: _File) -> bool:
    """Whether the added text was written by a tool, by the same rules as for whole files."""
    first = file.hunks[0]
    if first.new_start <= 5 and first.added and looks_generated(b"\n".join(first.added[:12])):
        return True
    extension = file.name.rpartition(".")[2].lower()
    if file.size <= MINIFIED_FILE or file.size <= MINIFIED_MEAN * (file.added + 1):
        return False
    return extension in MINIFIABLE or file.longest > MINIFIED_LINE


def _is_key(file: _File) -> bool:
    """Whether the lines are of a private key: a key begins in them, or all are base64, as where one key replaced another."""
    lines = [line for hunk in file.hunks for line in (*hunk.removed, *hunk.added)]
    if has_key(b"\n".join(lines)):
        return True
    return all(_ENCODED.fullmatch(line) for line in lines) and max(map(len, lines), default=0) >= _ENCODED_LINE


def _make_change(file: _File, hunks: list[_Hunk]) -> Change:
    old = None if file.old_path is None else decode_text(file.old_path)
    return Change(
        file.name, file.status, tuple(map(_make_hunk, hunks)), old if old != file.name else None, file.added, file.removed,
        file.binary, file.truncated,
    )  # fmt: skip


def _make_hunk(hunk: _Hunk) -> Hunk:
    lines = decode_text(b"\n".join([*hunk.removed, *hunk.added])).split("\n") if hunk.removed or hunk.added else []
    border = len(hunk.removed)
    heading = hunk.heading.decode("utf-8", "replace").strip()
    return Hunk(hunk.old_start, hunk.new_start, heading, tuple(lines[:border]), tuple(lines[border:]))
