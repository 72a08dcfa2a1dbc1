"""A query for notes: its values checked, its words, quoted phrases, and pairs of neighbouring words.

A pair of words that are neighbours in the query and in a note says more than the two words alone. Texts are read for pairs in
the best notes only, and there only in sections that are known to have both words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from lurcher.errors import FilterError, QueryError, Template
from lurcher.lanes.lexical import WordScores
from lurcher.query import Group, expand, extract_terms
from lurcher.query.validate import check_fusion, check_page, clean_text
from lurcher.storage.snapshot import Snapshot
from lurcher.terms import UNSPACED_RUN, is_unspaced, split, words
from lurcher.types import Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MODES = ("auto", "hybrid", "lexical", "dense")
_PHRASE = re.compile(r'"([^"\n]+)"|“([^”\n]+)”')
_MAX_FORMS = 40
_BIGRAM_WEIGHT = 0.5
"""Weight of two letters in a script without spaces; lower, because the pairs of one word overlap."""
_MAX_DISTANCE = 3
"""Words at most this far apart are a pair: up to two other words between them."""
_MIN_PREFIX = 3
"""The common prefix of a word's forms matches all of them if it has at least so many letters."""
_MAX_CHARS = 10_000
"""Characters of a section that are searched for pairs."""
_MAX_PAIRS = 24
_UNKNOWN_RARITY = 5.0
"""Assumed IDF of a word that no note has."""


@dataclass(frozen=True, slots=True)
class NoteQuery:
    text: str
    limit: int = 10
    mode: str = "auto"
    filter: Filter = field(default_factory=Filter)
    tags: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    """Seconds since 1970."""
    rerank: tuple[str, ...] = ()
    fusion: str | None = None
    """linear adds BM25 and cosine, rrf fuses their ranks; None: the ranking of notes."""
    alpha: float | None = None
    mmr: float | None = None
    budget: int | None = None
    cursor: str | None = None
    context: str = "block"
    snippet_lines: int | None = None


def check_note_query(query: NoteQuery) -> NoteQuery:
    text = clean_text(query.text)
    check_page(query)
    check_fusion(query)
    if query.mode not in MODES:
        raise QueryError(f"unknown mode '{query.mode}' for notes", f"known are: {', '.join(MODES)}")
    for tag in query.tags:
        if not tag.strip().lstrip("#").strip("/"):
            raise FilterError(f"'{tag}' is no tag", Template("for example: {tag=area/home}"))
    return query if text == query.text else replace(query, text=text)


def find_phrases(text: str) -> tuple[str, ...]:
    """Quoted phrases, which must occur literally except for case and white space."""
    found = (fold_text(match[1] or match[2]) for match in _PHRASE.finditer(text))
    return tuple(dict.fromkeys(phrase for phrase in found if phrase))


def fold_text(text: str) -> str:
    """Normalises case, white space and Unicode accents."""
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).casefold().split())


def make_groups(snapshot: Snapshot, text: str) -> tuple[Group, ...]:
    """The query's words with their forms. A single letter of a script without spaces matches every term that begins with it."""
    found = []
    for group in expand(snapshot, extract_terms(text).items()):
        if is_unspaced(group.word[0]):
            if len(group.word) == 1:
                forms = snapshot.terms_with_prefix(group.word, "body")[:_MAX_FORMS]
                group = group.replace(forms=tuple(form for form in forms if form != group.word))
            elif len(group.word) == 2:
                group = group.replace(weight=group.weight * _BIGRAM_WEIGHT)
        found.append(group)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Pair:
    first: str
    second: str
    """Words of the query."""
    pattern: re.Pattern[str]

    def occurs_in(self, text: str) -> bool:
        """Whether a lower-case text has the words in the same order and distance as the query."""
        found = self.pattern.search(text)
        while found is not None:
            begin = found.start()
            if not begin or not text[begin - 1].isalnum() or UNSPACED_RUN.match(text, begin) is not None:
                return True
            found = self.pattern.search(text, begin + 1)
        return False


def find_pairs(text: str, groups: Sequence[Group]) -> list[Pair]:
    """The pairs of a query, in order; in scripts without spaces every three letters."""
    known = {group.word: group for group in groups}
    found: dict[tuple[str, str], Pair] = {}
    last: tuple[int, Group] | None = None
    for place, word in enumerate(words(text)):
        terms = split(word)
        for a, b in pairwise(terms):
            if a in known and b in known and len(a) == len(b) == 2 and a[1] == b[0] and UNSPACED_RUN.match(a):
                found.setdefault((a, b), Pair(a, b, re.compile(re.escape(a + b[1]))))
        group = known.get(terms[0]) if terms else None
        if group is None:
            continue
        if last is not None and last[1] is not group and place - last[0] <= _MAX_DISTANCE:
            between = r"(?:\w+\W+)" * (place - last[0] - 1)
            pattern = rf"{_make_prefix_pattern(last[1])}\w*\W+{between}{_make_prefix_pattern(group)}"
            found.setdefault((last[1].word, group.word), Pair(last[1].word, group.word, re.compile(pattern)))
        last = place, group
    return list(found.values())[:_MAX_PAIRS]


def _make_prefix_pattern(group: Group) -> str:
    """A regular expression for the common prefix of a word's forms; the word where they share too little."""
    forms = (group.word, *group.forms)
    same = takewhile(lambda letters: letters[0] == letters[1], zip(min(forms), max(forms), strict=False))
    shared = sum(1 for _ in same)
    return re.escape(group.word[:shared] if shared >= _MIN_PREFIX else group.word)


@dataclass(frozen=True, slots=True)
class PairMatches:
    """For each pair its weight (they sum to 1) and the units in which it was found."""

    found: tuple[tuple[float, tuple[int, ...]], ...]

    def of_units(self, total: int) -> NDArray[np.float64]:
        import numpy as np

        values = np.zeros(total)
        for weight, units in self.found:
            values[list(units)] += weight
        return values

    def of_files(self, snapshot: Snapshot) -> NDArray[np.float64]:
        """The weight of the pairs that a note has in any section."""
        import numpy as np

        values = np.zeros(snapshot.file_total)
        for weight, units in self.found:
            values[sorted(set(snapshot.unit_file[list(units)].tolist()))] += weight
        return values


def match_pairs(
    snapshot: Snapshot, units: NDArray[np.int64], pairs: Sequence[Pair], shares: Sequence[WordScores]
) -> PairMatches:
    """Search `units`, which ascend, for pairs."""
    import numpy as np

    by_word = {share.word: share for share in shares}
    having: dict[str, NDArray[np.bool_]] = {}
    texts: dict[int, str] = {}
    found: list[tuple[float, tuple[int, ...]]] = []
    total = 0.0
    for pair in pairs:
        first, second = by_word.get(pair.first), by_word.get(pair.second)
        weight = min(first.rarity if first else _UNKNOWN_RARITY, second.rarity if second else _UNKNOWN_RARITY)
        total += weight
        if first is None or second is None:
            continue
        for share in (first, second):
            if share.word not in having:
                place = np.minimum(share.owners.searchsorted(units), len(share.owners) - 1)
                having[share.word] = share.owners[place] == units
        here = []
        for unit in units[having[pair.first] & having[pair.second]].tolist():
            text = texts.get(unit)
            if text is None:
                text = texts[unit] = snapshot.unit_text(unit)[:_MAX_CHARS].lower()
            if pair.occurs_in(text):
                here.append(unit)
        if here:
            found.append((weight, tuple(here)))
    return PairMatches(tuple((weight / (total or 1.0), here) for weight, here in found))
