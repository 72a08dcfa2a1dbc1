"""Word stems, which match a query's words with their other forms. Used for queries only; the index holds words as written.

The algorithm is Porter's (An algorithm for suffix stripping, Program 14(3), 1980).
"""

from __future__ import annotations

from lurcher.runtime.light import lru_cache

_STEP2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("abli", "able"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"), ("ator", "ate"),
    ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"),
    ("biliti", "ble"),
)  # fmt: skip
_STEP3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti", "ous",
    "ive", "ize", "or",
)  # fmt: skip


_RULES2 = tuple(sorted(_STEP2, key=lambda rule: -len(rule[0])))
_RULES3 = tuple(sorted(_STEP3, key=lambda rule: -len(rule[0])))
_ENDS4 = tuple(sorted(_STEP4, key=len, reverse=True))
"""The longest ending that fits applies."""
_ENDS2, _ENDS3 = tuple(rule[0] for rule in _RULES2), tuple(rule[0] for rule in _RULES3)


def _measure(stem: str) -> int:
    """How many vowel–consonant sequences the stem has."""
    runs = _count_vowel_runs(stem)
    return runs - 1 if runs and _ends_in_vowel(stem) else runs


def _count_vowel_runs(stem: str) -> int:
    """How many runs of vowels the stem has; y is a vowel unless it follows one."""
    runs, before, inside = 0, "a", False
    for letter in stem:
        vowel = letter in "aeiou" or (letter == "y" and before not in "aeiou")
        runs += vowel and not inside
        before, inside = letter, vowel
    return runs


def _ends_in_vowel(stem: str) -> bool:
    return bool(stem) and (stem[-1] in "aeiou" or (stem[-1] == "y" and len(stem) > 1 and stem[-2] not in "aeiou"))


def _has_vowel(stem: str) -> bool:
    return _count_vowel_runs(stem) > 0


def _ends_in_double_consonant(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and not _ends_in_vowel(word)


def _ends_in_short_syllable(word: str) -> bool:
    return (
        len(word) > 2
        and not _ends_in_vowel(word)
        and word[-1] not in "wxy"
        and _ends_in_vowel(word[:-1])
        and not _ends_in_vowel(word[:-2])
    )


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of a lower-case word; words that are not plain letters are their own stem."""
    if len(word) < 4 or not word.isalpha() or not word.isascii():
        return word[:-1] if len(word) == 3 and word.endswith("s") and word[1] not in "aeious" else word
    word = _strip_plural(word)
    word = _strip_past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    if word.endswith(_ENDS2):
        word = _replace_ending(word, _RULES2)
    if word.endswith(_ENDS3):
        word = _replace_ending(word, _RULES3)
    if word.endswith(_ENDS4):
        word = _drop_ending(word)
    if word.endswith("e"):
        base = word[:-1]
        measure = _measure(base)
        if measure > 1 or (measure == 1 and not _ends_in_short_syllable(base)):
            word = base
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


def _strip_plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("ies"):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _strip_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            if not _has_vowel(base):
                return word
            if base.endswith(("at", "bl", "iz")):
                return base + "e"
            if _ends_in_double_consonant(base) and base[-1] not in "lsz":
                return base[:-1]
            return base + "e" if _measure(base) == 1 and _ends_in_short_syllable(base) else base
    return word


def _replace_ending(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    for suffix, new in rules:
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            return base + new if _measure(base) > 0 else word
    return word


def _drop_ending(word: str) -> str:
    for suffix in _ENDS4:
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            if _measure(base) > 1 and (suffix != "ion" or base.endswith(("s", "t"))):
                return base
            return word
    return word
