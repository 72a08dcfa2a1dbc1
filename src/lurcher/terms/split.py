"""Identifiers → terms: `getHTTPResponse` → `gethttpresponse get http response`. Lower-cased, never stemmed."""

from __future__ import annotations

import sys

from lurcher.light import pattern
from lurcher.terms.scripts import BORDERING, UNSPACED_RUN, bare, is_unspaced, word_pattern

MAX_IDENTIFIER = 128
"""Longer runs are data (base64, digests), not names."""

_BETWEEN = "".join(chr(i) if chr(i).isalnum() or i == 95 else " " for i in range(128))
"""ASCII with a blank for everything that separates identifiers."""
_ASCII_PARTS = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MAX_NUMBER = 10
_MAX_DIGIT_BORDERS = 6
_LONGEST_RUN = 16
"""Letters of a script without spaces that may still be one name; a longer run is a sentence, which nobody asks for whole."""


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
    if compound == identifier and compound.isalpha():
        return (compound,)
    parts = _ASCII_PARTS.findall(identifier) if "re" in sys.modules else _parts(identifier)
    if len(parts) == 1:
        return (compound,)
    if sum(part.isdigit() for part in parts) > _MAX_DIGIT_BORDERS:
        return (compound,)
    return (compound, *(part.lower() for part in parts if len(part) > 1 or part.isdigit()))


def _parts(identifier: str) -> list[str]:
    """What the expression for parts finds, for who has not loaded what compiles it: a few names do not pay for that."""
    found: list[str] = []
    start = 0
    while start < len(identifier):
        end = start + 1
        kind = identifier[start]
        if kind.isupper():
            while end < len(identifier) and identifier[end].isupper():
                end += 1
            if end < len(identifier) and identifier[end].islower():
                if end - start > 1:
                    end -= 1  # the last capital begins the next part
                else:
                    kind = "a"
        if kind.islower():
            while end < len(identifier) and identifier[end].islower():
                end += 1
        elif kind.isdigit():
            while end < len(identifier) and identifier[end].isdigit():
                end += 1
        if kind != "_":
            found.append(identifier[start:end])
        start = end
    return found


def compound(name: str) -> str:
    """The one term under which a defined name is filed; operators are filed as they are written."""
    joined = "".join(words(name)).replace("_", "")
    if not joined:
        return name
    return joined.lower() if joined.isascii() else _lower(bare(_normalised("NFKC", joined)).replace("_", ""))


def words(text: str) -> list[str]:
    """The identifiers of a text, in order. An accent that follows its letter is put onto it first."""
    if text.isascii():
        return text.translate(_BETWEEN).split()
    return word_pattern().findall(_normalised("NFC", text))


def _split_unicode(identifier: str) -> tuple[str, ...]:
    identifier = bare(_normalised("NFKC", identifier))
    lowered = identifier.lower()
    if identifier[1:] == lowered[1:] and BORDERING.search(identifier) is None:
        return (_lower(identifier),) if identifier else ()
    if UNSPACED_RUN.fullmatch(identifier):
        return _of_run(identifier)
    if len(identifier) > _LONGEST_RUN and UNSPACED_RUN.search(identifier):
        return _long(identifier)
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


def _of_run(run: str) -> tuple[str, ...]:
    """A run of a script without spaces: every two letters, and the whole where it may be a name and not a sentence."""
    if len(run) <= 2:
        return (run,)
    pairs = _bigrams(run)
    return (run, *pairs) if len(run) <= _LONGEST_RUN else tuple(pairs)


def _long(identifier: str) -> tuple[str, ...]:
    """Of a run that is too long for a name: what is in scripts without spaces, and the words between."""
    if identifier.isascii():
        return ()
    text = bare(_normalised("NFKC", identifier))
    found: list[str] = []
    position = 0
    for run in UNSPACED_RUN.finditer(text):
        if 0 < run.start() - position <= MAX_IDENTIFIER:
            found += split(text[position : run.start()])
        found += _bigrams(run[0])
        position = run.end()
    if position and 0 < len(text) - position <= MAX_IDENTIFIER:
        found += split(text[position:])
    return tuple(found)


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


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) <= 2 else [run[i : i + 2] for i in range(len(run) - 1)]


def _normalised(form: str, text: str) -> str:
    from unicodedata import normalize

    return normalize(form, text)  # type: ignore[arg-type]
