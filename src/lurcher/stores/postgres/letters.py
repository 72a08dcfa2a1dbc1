"""Text as PostgreSQL can hold it: what it cannot, zeros and halves of pairs, stands as letters that nobody uses."""

from __future__ import annotations

_SPARE = 0x10F000
_TO = {0: chr(_SPARE + 0x800), **{0xD800 + place: chr(_SPARE + place) for place in range(0x800)}}
_FROM = {_SPARE + 0x800: "\0", **{_SPARE + place: chr(0xD800 + place) for place in range(0x800)}}
_FIRST = chr(_SPARE)


def kept(text: str) -> str:
    if "\0" not in text:
        try:
            text.encode()
            return text
        except UnicodeEncodeError:
            pass
    return text.translate(_TO)


def given(text: str) -> str:
    """What was kept, as it was."""
    return text if text.isascii() or max(text) < _FIRST else text.translate(_FROM)
