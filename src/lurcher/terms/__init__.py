"""Identifiers → terms: `getHTTPResponse` → `gethttpresponse get http response`. Lower-cased, never stemmed.

Also what other writing systems need (combining marks, scripts without spaces, optional signs), and the words of a path.
"""

from __future__ import annotations

import sys
from functools import lru_cache

from lurcher.runtime.stdlib import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re


MAX_IDENTIFIER = 128
"""Longer runs are data (base64, digests), not names."""

_SEPARATORS = "".join(chr(i) if chr(i).isalnum() or i == 95 else " " for i in range(128))
"""Translation table: a blank for every ASCII character that is not part of identifiers."""
_ASCII_PARTS = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MAX_NUMBER = 10
_MAX_DIGIT_BORDERS = 6
_MAX_RUN = 16
"""Letters of a run in a script without spaces that may still be one name; a longer run is a sentence."""
_PLACEHOLDER_NAMES = frozenset(("index", "mod", "init", "__init__", "lib", "main", "core", "__main__"))

_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711-\u07f3\u07fd\u0816-\u082d\u0859-\u085b\u0898-\u08e1\u08e3-\u0963"
    "\u0981-\u09e3\u09fe-\u0a75\u0a81-\u0ae3\u0afa-\u0b63\u0b82-\u0bd7\u0c00-\u0c63\u0c81-\u0c83\u0cbc-\u0d4d\u0d57-\u0d63"
    "\u0d81-\u0df3\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ecd\u0f18\u0f19\u0f35\u0f37\u0f39\u0f3e-\u0f84\u0f86-\u0fbc\u0fc6"
    "\u102b-\u103e\u1056-\u109d\u135d-\u135f\u1712-\u1734\u1752-\u17d3\u17dd\u180b-\u180d\u180f-\u193b\u1a17-\u1a1b"
    "\u1a55-\u1a7f\u1ab0-\u1b44\u1b6b-\u1b73\u1b80-\u1bf3\u1c24-\u1c37\u1cd0-\u1cd2\u1cd4-\u1dff\u2cef-\u2cf1\u2d7f-\u2dff"
    "\u302a-\u302f\u3099\u309a\ua66f\ua674-\ua67d\ua69e-\ua6f1\ua802-\ua827\ua82c\ua880-\ua8c5\ua8e0-\ua8f1\ua8ff-\ua92d"
    "\ua947-\ua953\ua980-\ua9c0\ua9e5-\uaa4d\uaa7b-\uaac1\uaaeb-\uaaef\uaaf5\uaaf6\uabe3-\uabea\uabec\uabed\ufb1e"
    "\ufe20-\ufe2f\U00011000-\U00011046\U00011070-\U000110ba\U00011100-\U00011134\U00011145-\U00011173\U00011180-\U000111c0"
)
"""Ranges with the combining marks of living scripts; inside a range there are only marks and letters."""

_JOINERS = "\u200c\u200d"
"""Zero-width characters within words of Persian and Indian languages."""

_UNSPACED = (
    "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese, Japanese, Korean
    "\u0e00-\u0eff\u1000-\u109f\uaa60-\uaa7f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf"  # Thai, Lao, Burmese, Khmer, Tai
)

UNSPACED_RUN = pattern(f"[{_UNSPACED}]+")
BORDERING = pattern(rf"[\d_{_UNSPACED}]")
"""Characters at which a word without capitals may be divided."""
_OPTIONAL = pattern(f"[{_JOINERS}\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]+")


def split(identifier: str) -> tuple[str, ...]:
    """The identifier's terms: the compound first, then its parts if there are several.

    The compound has no underscores, so that `get_user` and `getUser` are one term.
    """
    if len(identifier) > MAX_IDENTIFIER:
        return _split_long(identifier)
    if not identifier.isascii():
        return _split_unicode(identifier)
    compound = identifier.replace("_", "").lower()
    if not compound:
        return ()
    if compound.isdigit():
        return (compound,) if len(compound) <= _MAX_NUMBER else ()
    if compound == identifier and compound.isalpha():
        return (compound,)
    parts = _ASCII_PARTS.findall(identifier) if "re" in sys.modules else _split_parts(identifier)
    if len(parts) == 1:
        return (compound,)
    if sum(part.isdigit() for part in parts) > _MAX_DIGIT_BORDERS:
        return (compound,)
    return (compound, *(part.lower() for part in parts if len(part) > 1 or part.isdigit()))


def _split_parts(identifier: str) -> list[str]:
    """The matches of `_ASCII_PARTS`, without importing `re`, which takes longer than splitting a few names."""
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
    """The one term under which a definition's name is indexed; operators are indexed as written."""
    joined = "".join(words(name)).replace("_", "")
    if not joined:
        return name
    return joined.lower() if joined.isascii() else _lower(strip_optional_signs(_normalise("NFKC", joined)).replace("_", ""))


def words(text: str) -> list[str]:
    """The identifiers of a text, in order. Letters with separate accents are composed first (NFC)."""
    if text.isascii():
        return text.translate(_SEPARATORS).split()
    return word_pattern().findall(_normalise("NFC", text))


def _split_unicode(identifier: str) -> tuple[str, ...]:
    identifier = strip_optional_signs(_normalise("NFKC", identifier))
    lowered = identifier.lower()
    if identifier[1:] == lowered[1:] and BORDERING.search(identifier) is None:
        return (_lower(identifier),) if identifier else ()
    if UNSPACED_RUN.fullmatch(identifier):
        return _split_run(identifier)
    if len(identifier) > _MAX_RUN and UNSPACED_RUN.search(identifier):
        return _split_long(identifier)
    compound = _lower(identifier.replace("_", ""))
    if not compound:
        return ()
    parts: list[str] = []
    start = 0
    for position in range(1, len(identifier) + 1):
        if position == len(identifier) or _is_border(identifier, start, position):
            run = identifier[start:position].replace("_", "")
            if run:
                parts.extend(_bigrams(run) if is_unspaced(run[0]) else [_lower(run)])
            start = position
    if len(parts) == 1 and parts[0] == compound:
        return (compound,)
    return (compound, *(part for part in parts if len(part) > 1 or part.isdigit() or is_unspaced(part[0])))


def _split_run(run: str) -> tuple[str, ...]:
    """Terms of a run in a script without spaces: every two letters, and the whole run if it may be a name."""
    if len(run) <= 2:
        return (run,)
    pairs = _bigrams(run)
    return (run, *pairs) if len(run) <= _MAX_RUN else tuple(pairs)


def _split_long(identifier: str) -> tuple[str, ...]:
    """Terms of an identifier that is too long for a name: its runs in scripts without spaces, and the words between them."""
    if identifier.isascii():
        return ()
    text = strip_optional_signs(_normalise("NFKC", identifier))
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
    """Lower case that does not depend on the next letter: a final sigma of a part is not final in the compound."""
    return text.lower().replace("ς", "σ")


def _is_border(text: str, start: int, position: int) -> bool:
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


def _normalise(form: str, text: str) -> str:
    from unicodedata import normalize

    return normalize(form, text)  # type: ignore[arg-type]


@lru_cache(maxsize=1)
def word_pattern() -> re.Pattern[str]:
    """Matches words of texts that are not ASCII; a vowel sign does not end its word."""
    import re

    return re.compile(rf"\w[\w{_MARKS}{_JOINERS}]*")


def strip_optional_signs(word: str) -> str:
    """A word without optional signs: vowels of Hebrew and Arabic, kashidas, joiners."""
    return _OPTIONAL.sub("", word)


def is_unspaced(character: str) -> bool:
    """Whether a character is of a script that writes words without spaces."""
    code = ord(character)
    return code >= 0xE00 and UNSPACED_RUN.match(character) is not None


def name_of(path: str) -> str:
    """The name of a file: its stem, or its folder's name where the stem is generic (`index`, `mod`, `__init__`)."""
    parts = _split_path(path)
    name = parts[-1] if parts else ""
    dot = name.rfind(".")
    stem = name.split(".")[0] or (name[:dot] if 0 < dot < len(name) - 1 else name)
    if stem.lower() in _PLACEHOLDER_NAMES and len(parts) > 1:
        return parts[-2]
    return stem


def _split_path(path: str) -> list[str]:
    return [part for part in path.split("/") if part and part != "."]


def name_parts(name: str) -> list[str]:
    """The words of a file's name, without the compound."""
    parts: list[str] = []
    for word in words(name):
        whole, *rest = split(word) or ("",)
        parts += rest or ([whole] if whole else [])
    return parts[:64]


def folders_of(path: str) -> list[str]:
    """The last three folders of a path."""
    return _split_path(path)[:-1][-3:]
