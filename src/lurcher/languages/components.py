"""Vue and Svelte: markup around scripts, which are JavaScript or TypeScript.

A component has the definitions and imports of its scripts, on the lines of the file. Imports are resolved as those of
any other script; `./Button.vue` is a file of the tree.
"""

from __future__ import annotations

import re

from lurcher.languages.base import Language
from lurcher.languages.ecmascript import EcmascriptResolver

_OPENING = re.compile(rb"<!--|<script\b", re.IGNORECASE)
_ATTRIBUTES = re.compile(rb"[^\"'>]*(?:(?:\"[^\"]*\"|'[^']*')[^\"'>]*)*(?=>)")
_CLOSING = re.compile(rb"</script\b", re.IGNORECASE)
_LANG = re.compile(rb"\blang\s*=\s*[\"']?(\w+)", re.IGNORECASE)
_LANGUAGES = {b"ts": "typescript", b"typescript": "typescript", b"tsx": "tsx"}
_MOST = 20
"""Scripts of one file, and opening tags without an end; components have two scripts at most."""
_LONGEST_TAG = 4000
"""Bytes of an opening tag."""


def scripts_in(text: bytes) -> list[tuple[int, int, str]]:
    """Start, end and language of each script, in order; those in comments do not count."""
    found: list[tuple[int, int, str]] = []
    position = unended = 0
    while max(len(found), unended) < _MOST and (opening := _OPENING.search(text, position)) is not None:
        if opening.group() == b"<!--":
            end = text.find(b"-->", opening.end())
            if end < 0:
                break
            position = end + 3
            continue
        attributes = _ATTRIBUTES.match(text, opening.end(), opening.end() + _LONGEST_TAG)
        if attributes is None:
            unended += 1
            position = opening.end()
            continue
        start = attributes.end() + 1
        closing = _CLOSING.search(text, start)
        if closing is None:
            break
        lang = _LANG.search(attributes.group())
        language = _LANGUAGES.get(lang.group(1).lower(), "javascript") if lang is not None else "javascript"
        found.append((start, closing.start(), language))
        position = closing.end()
    return found


LANGUAGES = (
    Language(
        name="vue",
        extensions=("vue",),
        ecosystem="ecmascript",
        script=True,
        resolver=EcmascriptResolver,
        scripts=scripts_in,
    ),
    Language(
        name="svelte",
        extensions=("svelte",),
        ecosystem="ecmascript",
        script=True,
        resolver=EcmascriptResolver,
        scripts=scripts_in,
    ),
)
