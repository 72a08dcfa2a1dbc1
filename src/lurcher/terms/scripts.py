"""What writing systems ask of whoever looks for words: marks that belong to letters, scripts without spaces, optional signs."""

from __future__ import annotations

from lurcher.light import TYPE_CHECKING, lru_cache, pattern

if TYPE_CHECKING:
    import re

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
"""Ranges with the combining marks of living scripts; between them lie letters only."""

_JOINERS = "\u200c\u200d"
"""They stand within words of Persian and Indian languages."""

_UNSPACED = (
    "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese, Japanese, Korean
    "\u0e00-\u0eff\u1000-\u109f\uaa60-\uaa7f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf"  # Thai, Lao, Burmese, Khmer, Tai
)

UNSPACED_RUN = pattern(f"[{_UNSPACED}]+")
BORDERING = pattern(rf"[\d_{_UNSPACED}]")
"""What a word without capitals may be divided at."""
_OPTIONAL = pattern(f"[{_JOINERS}\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]+")


@lru_cache(maxsize=1)
def word_pattern() -> re.Pattern[str]:
    """Words of texts that are not ASCII: a vowel sign does not end its word."""
    import re

    return re.compile(rf"\w[\w{_MARKS}{_JOINERS}]*")


def bare(word: str) -> str:
    """Without signs that writers may leave out: vowels of Hebrew and Arabic, lengthened lines, joiners."""
    return _OPTIONAL.sub("", word)


def is_unspaced(character: str) -> bool:
    """Scripts that write words without spaces between them."""
    code = ord(character)
    return code >= 0xE00 and UNSPACED_RUN.match(character) is not None
