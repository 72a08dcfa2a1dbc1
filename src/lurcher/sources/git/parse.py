"""A commit's message taken apart: subject, body, trailers."""

from __future__ import annotations

import hashlib
import queue
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO

from lurcher.corpora.history.file_kind import kind_of, left_out
from lurcher.sources.decode import MINIFIABLE, MINIFIED_FILE, MINIFIED_LINE, MINIFIED_MEAN, looks_generated, to_utf8
from lurcher.sources.secrets import has_key, secret_path

_TRAILER = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*)\s*:\s*(.*)")
_PICKED = re.compile(r"\(cherry[ -]picked from commit ([0-9a-f]{7,64})\)?", re.IGNORECASE)
PICKED = "Cherry-picked-from"
"""The name under which the line is filed that `git cherry-pick -x` adds."""
_CERTAIN = ("signed-off-by", PICKED.lower())
"""What git itself writes: a paragraph with one of these is made of trailers, though other lines stand between."""


def text_of(raw: bytes) -> str:
    """Text of any encoding: what is not UTF-8 is read as Windows-1252, or loses what cannot be read."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        # A zero byte would make it binary, and a mark another encoding: neither decides here.
        return (to_utf8(b" " + raw.replace(b"\0", b" ")) or b" ")[1:].decode()


def split_message(text: str) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """(subject, body, trailers); the subject is the first paragraph on one line, as git has it."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    end = lines.index("") if "" in lines else len(lines)
    subject = " ".join(line.strip() for line in lines[:end])
    rest = lines[end:]
    start = len(rest)
    while start and rest[start - 1]:
        start -= 1
    trailers, kept = _trailers(rest[start:])
    body = "\n".join([*rest[:start], *kept]).strip("\n")
    return subject, body, trailers


def _trailers(paragraph: list[str]) -> tuple[tuple[tuple[str, str], ...], list[str]]:
    """The trailers of a last paragraph, and its lines that are none; it holds none where most of its lines are none."""
    found: list[tuple[str, str]] = []
    kept: list[str] = []
    previous = False
    for line in paragraph:
        picked, match = _PICKED.fullmatch(line.strip()), _TRAILER.fullmatch(line)
        if picked:
            found.append((PICKED, picked[1].lower()))
        elif match and not match[2].startswith("//"):
            found.append((match[1], match[2].strip()))
        elif previous and line[:1] in (" ", "\t"):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
            continue
        else:
            kept.append(line)
            previous = False
            continue
        previous = True
    certain = any(name.lower() in _CERTAIN for name, _ in found)
    if kept and not (certain and 3 * len(found) >= len(kept)):
        return (), paragraph
    return tuple(found), kept

# ----------------------------------------------------------------------------------------------------------------------
# A commit as git tells of it: who, when, why, and what it changed. Frozen, slotted.


ADDED, MODIFIED, DELETED, RENAMED, COPIED, RETYPED = "A", "M", "D", "R", "C", "T"


@dataclass(frozen=True, slots=True)
class Hunk:
    """One run of changed lines, without context."""

    old_start: int
    new_start: int
    heading: str
    """What git puts behind the @@: the line that begins the function around, as far as it knows."""
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit did to one file."""

    path: str
    """As it is called after the commit; for a deleted file, as it was called before."""
    status: str
    hunks: tuple[Hunk, ...] = ()
    old_path: str | None = None
    """What it was called before, if that differs."""
    added: int = 0
    """Lines, those of hunks that are not kept included."""
    removed: int = 0
    binary: bool = False
    cut: bool = False
    """Whether hunks were left out: the file is huge or generated, or its blob is missing."""


@dataclass(frozen=True, slots=True)
class Commit:
    sha: str
    """Whole, in hexadecimal."""
    parents: tuple[str, ...]
    author: str
    email: str
    authored: int
    """Seconds since 1970."""
    committed: int
    subject: str
    body: str
    """Without trailers."""
    trailers: tuple[tuple[str, str], ...] = ()
    changes: tuple[Change, ...] = ()
    patch_id: str = ""
    """The same for the same change under another hash; empty where nothing changed."""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(change.path for change in self.changes)

# ----------------------------------------------------------------------------------------------------------------------
# Reads what git writes, piece by piece, while git is already at work on what follows.


_CHUNK = 1 << 18
_AHEAD = 64
"""Chunks that may wait to be read: git works on while commits are being counted."""
LONGEST = 1 << 16
"""Bytes of a line that are kept; what is longer was not written by anybody."""
LONGEST_FIELD = 1 << 20


class Broken(Exception):
    """The output ended where it should not, or is not what was asked for."""


class Ahead:
    """Takes what comes from a pipe in a thread of its own, a bounded amount ahead of who reads it."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._chunks: queue.Queue[bytes] = queue.Queue(_AHEAD)
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
        """To be called when the process has been ended; the thread ends with it."""
        self._stopped = True
        self._thread.join(5)


class Stream:
    """Lines and zero-terminated fields out of chunks; an empty chunk is the end."""

    def __init__(self, fetch: Callable[[], bytes]) -> None:
        self._fetch = fetch
        self._data = b""
        self._at = 0
        self._ended = False

    def _more(self) -> bool:
        """Put a further chunk behind what is left."""
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
        """The next byte; none at the end."""
        if self._at >= len(self._data) and not self._more():
            return b""
        return self._data[self._at : self._at + 1]

    def skip(self) -> None:
        self._at += 1

    def starts(self, text: bytes) -> bool:
        """Whether `text` follows."""
        while len(self._data) - self._at < len(text) and self._more():
            pass
        return self._data.startswith(text, self._at)

    def field(self) -> bytes:
        """Up to the next zero byte, without it; one longer than anybody writes is cut."""
        end = self._data.find(b"\0", self._at)
        if 0 <= end <= self._at + LONGEST_FIELD:
            return self._through(end)
        return self._long(b"\0", LONGEST_FIELD)

    def line(self) -> bytes:
        """Up to the next line feed, without it; an overlong line is cut."""
        end = self._data.find(b"\n", self._at)
        if 0 <= end <= self._at + LONGEST:
            return self._through(end)
        return self._long(b"\n", LONGEST)

    def _through(self, end: int) -> bytes:
        found = self._data[self._at : end]
        self._at = end + 1
        return found

    def _long(self, mark: bytes, most: int) -> bytes:
        """Up to a mark that may be many chunks away, of which no more than `most` bytes are held."""
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
                raise Broken("it ends too early")

    def lines(self, count: int) -> list[bytes]:
        """As many lines; this is where most of the reading is done."""
        found: list[bytes] = []
        data, position = self._data, self._at
        while len(found) < count:
            end = data.find(b"\n", position)
            if 0 <= end <= position + LONGEST:
                found.append(data[position:end])
                position = end + 1
            else:
                self._at = position
                found.append(self._long(b"\n", LONGEST))
                data, position = self._data, self._at
        self._at = position
        return found

# ----------------------------------------------------------------------------------------------------------------------
# The output of `git diff-tree --stdin` → commits.
#
# RS sha NUL parents NUL author NUL email NUL authored NUL committed NUL message NUL
# NUL LF  :modes objects status NUL path NUL [path NUL] …
# NUL  diff --git … LF  @@ … @@ LF  -… LF  +… LF  …
#
# Nothing that a repository holds can be mistaken for structure: fields end with a zero byte, which neither a message nor a path
# can contain; names are taken from the list before the patches and never from a patch; and the lines of a hunk are counted, not
# looked at.


FORMAT = "%x1e%H%x00%P%x00%an%x00%ae%x00%at%x00%ct%x00%B%x00"
_BEGIN = b"\x1e"
_NEXT = b"diff --git "
_HUNK = re.compile(rb"@@ -(\d{1,10})(?:,(\d{1,10}))? \+(\d{1,10})(?:,(\d{1,10}))? @@ ?(.*)", re.DOTALL)
_SHA = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BLANKS = b" \t\r\f\v"
_GITLINK = b"160000"
_AT_ONCE = 4096
"""Lines of a hunk that are read and forgotten together."""
_SPREAD = 16
"""How many times the text that is kept of a commit is held until it is known which."""
_LONGEST_LINE = 2000
_TIME_LIMIT = 1 << 40
_ENCODED = re.compile(rb"[A-Za-z0-9+/]*={0,2}")
_ENCODED_LINE = 60
"""Characters of a whole line of a key."""


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
    """Whether it is a submodule's commit."""
    hunks: list[_Hunk] = field(default_factory=list)
    added: int = 0
    removed: int = 0
    binary: bool = False
    cut: bool = False
    name: str = ""
    size: int = 0
    """Bytes of added lines."""
    longest: int = 0


@dataclass(frozen=True, slots=True)
class Parsed:
    commit: Commit
    objects: tuple[tuple[str, str], ...]
    """For each change the two objects that git compared; zeros stand for none, and so does a submodule."""


class Parser:
    """Commits out of a stream. One that ends early raises, and the commit that was being read is not told."""

    def __init__(self, stream: Stream, diff_bytes: int, *, patches: bool = True, secrets: bool = False) -> None:
        self._stream = stream
        self._secrets = secrets
        """Whether lines of files that look like secrets are kept."""
        self._diff_bytes = diff_bytes
        self._patches = patches
        """Whether there are patches; without them, what changed in a file is not known."""

    def __iter__(self) -> Iterator[Parsed]:
        while self._stream.peek():
            yield self._commit()

    def _commit(self) -> Parsed:
        stream = self._stream
        if stream.peek() != _BEGIN:
            raise Broken("no commit begins where one should")
        stream.skip()
        sha, parents, author, email, authored, committed, message = (stream.field() for _ in range(7))
        if not _SHA.fullmatch(sha):
            raise Broken("a commit without its name")
        self._pass_over(b"\0\n")
        files = []
        while stream.peek() == b":":
            files.append(self._file())
        self._pass_over(b"\0\n")
        digest = hashlib.blake2b(digest_size=16)
        self._patch_all(files, digest)
        subject, body, trailers = split_message(text_of(message))
        commit = Commit(
            sha.decode(), tuple(parents.decode().split()), text_of(author), text_of(email), _time(authored), _time(committed),
            subject, body, trailers, _capped(files, self._diff_bytes, self._secrets),
            digest.hexdigest() if files and self._patches else "",
        )  # fmt: skip
        return Parsed(commit, tuple((file.objects[0].decode(), file.objects[1].decode()) for file in files))

    def _pass_over(self, marks: bytes) -> None:
        while (mark := self._stream.peek()) and mark in marks:
            self._stream.skip()

    def _file(self) -> _File:
        fields = self._stream.field()[1:].split(b" ")
        if len(fields) != 5 or not fields[4]:
            raise Broken("a changed file that is not told as it should be")
        old_mode, new_mode, old, new, raw_status = fields
        status = raw_status[:1].decode("ascii", "replace")
        path, old_path = self._stream.field(), None
        if status in (RENAMED, COPIED):
            old_path, path = path, self._stream.field()
        link = _GITLINK in (old_mode, new_mode)
        nothing = b"0" * len(old)
        objects = (nothing if old_mode == _GITLINK else old, nothing if new_mode == _GITLINK else new)
        file = _File(path, old_path, status, objects, link, name=text_of(path))
        file.cut = (left_out(file.name) and not link) or not self._patches
        if not self._secrets and any(secret_path(text_of(name)) for name in (path, old_path) if name is not None):
            file.cut = True
        return file

    def _patch_all(self, files: list[_File], digest: hashlib.blake2b) -> None:
        """The patches of all files, which come in the order of the files; a file of another type comes as two."""
        room = _SPREAD * self._diff_bytes
        stream = self._stream
        for file in files if self._patches else ():
            digest.update(b"\0%b\0%b\0%b" % (file.path, file.old_path or b"", file.status.encode()))
            for _ in range(2 if file.status == RETYPED else 1):
                if not stream.line().startswith(_NEXT):
                    raise Broken("a file without its patch")
                room -= self._patch(file, digest, room)

    def _patch(self, file: _File, digest: hashlib.blake2b, room: int) -> int:
        """Reads one patch; how much of its text was kept."""
        stream = self._stream
        used = 0
        while (mark := stream.peek()) and mark != _BEGIN and not (mark == b"d" and stream.starts(_NEXT)):
            if mark == b"@":
                used += self._hunk(file, digest, 0 if file.cut else min(room, self._diff_bytes) - used)
            elif stream.line().startswith(b"Binary files "):
                file.binary = True
                digest.update(b"\0" + b"\0".join(file.objects))
        return used

    def _hunk(self, file: _File, digest: hashlib.blake2b, room: int) -> int:
        match = _HUNK.fullmatch(self._stream.line())
        if not match:
            raise Broken("a hunk that does not say where it is")
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
        """The lines of one side, as far as there is room, and the room that is left."""
        stream = self._stream
        kept: list[bytes] = []
        for start in range(0, count, _AT_ONCE):
            lines = stream.lines(min(_AT_ONCE, count - start))
            if not (lines[0].startswith(sign) and lines[-1].startswith(sign)):
                raise Broken("a hunk of other lines than it says")
            whole = b"\n".join(lines)
            digest.update(whole.translate(None, _BLANKS))
            if sign == b"+":
                file.size += len(whole)
                if len(whole) > file.longest:
                    file.longest = max(file.longest, max(map(len, lines)))
            if room <= 0:
                file.cut = True
                continue
            for line in lines:
                if room <= 0:
                    file.cut = True
                    break
                if len(line) > _LONGEST_LINE:
                    line = line[: _LONGEST_LINE + 1]
                    file.cut = True
                kept.append(line[1:-1] if line.endswith(b"\r") else line[1:])
                room -= len(line)
        if stream.peek() == b"\\":
            stream.line()  # no line feed at the end of the file
        return kept, room


def _time(raw: bytes) -> int:
    """Seconds since 1970; broken commits say anything."""
    try:
        return max(-_TIME_LIMIT, min(int(raw), _TIME_LIMIT))
    except ValueError:
        return 0


def _capped(files: list[_File], diff_bytes: int, secrets: bool) -> tuple[Change, ...]:
    """The changes with as much text as a commit may have: code first, then tests, and what comes first in each."""
    room = diff_bytes
    kept: dict[int, list[_Hunk]] = {}
    for number in sorted(range(len(files)), key=lambda i: (kind_of(files[i].name), i)):
        file = files[number]
        if file.hunks and (_is_machine_made(file) or (not secrets and _is_key(file))):
            file.cut = True
            continue
        mine = kept.setdefault(number, [])
        for hunk in file.hunks:
            if room <= 0:
                file.cut = True
                break
            if hunk.size > room:
                hunk = _shortened(hunk, room)
                file.cut = True
            mine.append(hunk)
            room -= hunk.size
    return tuple(_change(file, kept.get(number, [])) for number, file in enumerate(files))


def _shortened(hunk: _Hunk, room: int) -> _Hunk:
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


def _is_machine_made(file: _File) -> bool:
    """Whether the new text says that a tool wrote it, or shows it by its lines, as with whole files."""
    first = file.hunks[0]
    if first.new_start <= 5 and first.added and looks_generated(b"\n".join(first.added[:12])):
        return True
    extension = file.name.rpartition(".")[2].lower()
    if file.size <= MINIFIED_FILE or file.size <= MINIFIED_MEAN * (file.added + 1):
        return False
    return extension in MINIFIABLE or file.longest > MINIFIED_LINE


def _is_key(file: _File) -> bool:
    """Whether the lines are of a private key: one begins among them, or all of them are nothing but encoded bytes, as where
    another key took its place."""
    lines = [line for hunk in file.hunks for line in (*hunk.removed, *hunk.added)]
    if has_key(b"\n".join(lines)):
        return True
    return all(_ENCODED.fullmatch(line) for line in lines) and max(map(len, lines), default=0) >= _ENCODED_LINE


def _change(file: _File, hunks: list[_Hunk]) -> Change:
    old = None if file.old_path is None else text_of(file.old_path)
    return Change(
        file.name, file.status, tuple(map(_text_hunk, hunks)), old if old != file.name else None, file.added, file.removed,
        file.binary, file.cut,
    )  # fmt: skip


def _text_hunk(hunk: _Hunk) -> Hunk:
    lines = text_of(b"\n".join([*hunk.removed, *hunk.added])).split("\n") if hunk.removed or hunk.added else []
    border = len(hunk.removed)
    heading = hunk.heading.decode("utf-8", "replace").strip()
    return Hunk(hunk.old_start, hunk.new_start, heading, tuple(lines[:border]), tuple(lines[border:]))
