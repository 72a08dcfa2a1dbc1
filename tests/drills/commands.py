"""The command line in this process, for drills that run it hundreds of times."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lurcher.surfaces.cli import main


class Said(NamedTuple):
    status: int
    out: bytes
    err: bytes


def said_by(arguments: Sequence[str | Path]) -> Said:
    """What a command says; an exception that it does not handle is raised."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape") for _ in range(2)]
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = streams
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 2
    finally:
        sys.stdout, sys.stderr = before
    for stream in streams:
        stream.flush()
    out, err = (stream.buffer.getvalue() for stream in streams)  # type: ignore[attr-defined]
    return Said(status, out, err)


def unsound(said: Said, arguments: Sequence[str | Path]) -> str | None:
    """What is wrong with how a command ended, whatever it was asked."""
    shown = " ".join(repr(str(argument)) for argument in arguments)
    text = said.out + said.err
    if b"Traceback" in text or said.status not in (0, 1, 2):
        return f"{shown} ended with {said.status}: {text[-1500:]!r}"
    if "--json" in arguments:
        try:
            for line in said.out.decode().splitlines() or ["{}"]:
                json.loads(line)
        except ValueError:
            try:
                json.loads(said.out.decode())
            except ValueError as error:
                return f"{shown} says what is no JSON: {error}: {said.out[:300]!r}"
        return None
    return _raw(said.out, shown) or _raw(said.err, shown)


def _raw(data: bytes, shown: str) -> str | None:
    """Where a terminal would obey instead of showing."""
    for place, character in enumerate(data.decode("utf-8", "surrogateescape")):
        code = ord(character)
        if (code < 0x20 and character not in "\n\t") or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000:
            around = data.decode("utf-8", "surrogateescape")[max(0, place - 60) : place + 30]
            return f"{shown} says {character!r} as it is: {around!r}"
    return None
