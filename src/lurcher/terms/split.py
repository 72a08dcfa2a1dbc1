"""Identifiers → terms: `getHTTPResponse` → `gethttpresponse get http response`. Lower-cased, never stemmed."""

from __future__ import annotations

import re
import unicodedata

IDENTIFIER = re.compile(r"\w+")
"""One pass over a text; everything between identifiers separates."""

MAX_IDENTIFIER = 128
"""Longer runs are data (base64, digests), not names."""

_ASCII_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MAX_NUMBER = 10
_MAX_DIGIT_BORDERS = 6


def split(identifier: str) -> tuple[str, ...]:
    """The identifier's terms: the compound first, then its parts, where they say more than the compound.

    The compound carries no underscores, so that `get_user` and `getUser` are one term.
    """
    if len(identifier) > MAX_IDENTIFIER:
        return _long(identifier)
    if not identifier.isascii():
        return _split_unicode(identifier)
    compound = identifier.replace("_", "").lower()
    if not compound:
        return ()
    if compound.isdigit():
        return (compound,) if len(compound) <= _MAX_NUMBER else ()
    parts = _ASCII_PARTS.findall(identifier)
    if len(parts) == 1:
        return (compound,)
    if sum(part.isdigit() for part in parts) > _MAX_DIGIT_BORDERS:
        return (compound,)
    return (compound, *(part.lower() for part in parts if len(part) > 1 or part.isdigit()))


def compound(name: str) -> str:
    """The one term under which a defined name is filed; operators are filed as they are written."""
    joined = "".join(IDENTIFIER.findall(name)).replace("_", "")
    if not joined:
        return name
    return joined.lower() if joined.isascii() else _lower(unicodedata.normalize("NFKC", joined).replace("_", ""))


def words(text: str) -> list[str]:
    """The identifiers of a text, in order. An accent that follows its letter is put onto it first."""
    return IDENTIFIER.findall(text if text.isascii() else unicodedata.normalize("NFC", text))


def _split_unicode(identifier: str) -> tuple[str, ...]:
    identifier = unicodedata.normalize("NFKC", identifier)
    compound = _lower(identifier.replace("_", ""))
    if not compound:
        return ()
    parts: list[str] = []
    start = 0
    for position in range(1, len(identifier) + 1):
        if position == len(identifier) or _border(identifier, start, position):
            run = identifier[start:position].replace("_", "")
            if run:
                parts.extend(_bigrams(run) if is_unspaced(run[0]) else [_lower(run)])
            start = position
    if len(parts) == 1 and parts[0] == compound:
        return (compound,)
    return (compound, *(part for part in parts if len(part) > 1 or part.isdigit() or is_unspaced(part[0])))


def _long(identifier: str) -> tuple[str, ...]:
    """Of a run that is too long for a name: what is in scripts without spaces, where a whole sentence is one run."""
    if identifier.isascii():
        return ()
    runs = _UNSPACED_RUN.findall(unicodedata.normalize("NFKC", identifier))
    return tuple(part for run in runs for part in _bigrams(run))


def _lower(text: str) -> str:
    """Lower case that does not depend on what follows: a sigma at the end of a part is not at the end of the compound."""
    return text.lower().replace("ς", "σ")


def _border(text: str, start: int, position: int) -> bool:
    before, after = text[position - 1], text[position]
    if before == "_" or after == "_":
        return before != after
    if before.isdigit() != after.isdigit() or is_unspaced(before) != is_unspaced(after):
        return True
    if after.isupper():
        if not before.isupper():
            return True
        return position + 1 < len(text) and text[position + 1].islower()
    return False


_UNSPACED_RUN = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff\u0e00-\u0eff\u1000-\u109f]+")


def is_unspaced(character: str) -> bool:
    """Scripts that write words without spaces between them."""
    code = ord(character)
    return (
        0x2E80 <= code <= 0x9FFF or 0xAC00 <= code <= 0xD7AF or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x3FFFF or 0x0E00 <= code <= 0x0EFF or 0x1000 <= code <= 0x109F
    )  # fmt: skip


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) <= 2 else [run[i : i + 2] for i in range(len(run) - 1)]
