"""What may be asked of notes, checked, and how it is read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from lurcher.corpora.notes.fields import Share
from lurcher.errors import FilterError, QueryError, Template
from lurcher.query.expand import Group, expand, query_terms
from lurcher.query.validate import check_fusion, check_page, clean_text
from lurcher.storage.snapshot import Snapshot
from lurcher.terms.split import UNSPACED_RUN, is_unspaced, split, words
from lurcher.types import Filter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MODES = ("auto", "hybrid", "lexical", "dense")
_PHRASE = re.compile(r'"([^"\n]+)"|“([^”\n]+)”')
_MOST_FORMS = 40
_LETTERS = 0.5
"""What two letters of a script without spaces count against a word: those of one word overlap."""


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
    """linear adds words and nearness up, rrf fuses their ranks; None: as notes have it."""
    alpha: float | None = None
    mmr: float | None = None
    budget: int | None = None
    cursor: str | None = None
    context: str = "block"
    snippet_lines: int | None = None


def checked(query: NoteQuery) -> NoteQuery:
    text = clean_text(query.text)
    check_page(query)
    check_fusion(query)
    if query.mode not in MODES:
        raise QueryError(f"unknown mode '{query.mode}' for notes", f"known are: {', '.join(MODES)}")
    for tag in query.tags:
        if not tag.strip().lstrip("#").strip("/"):
            raise FilterError(f"'{tag}' is no tag", Template("for example: {tag=area/home}"))
    return query if text == query.text else replace(query, text=text)


def phrases_in(text: str) -> tuple[str, ...]:
    """What stands in quotes and must be found as it is, but for case and white space."""
    found = (folded(match[1] or match[2]) for match in _PHRASE.finditer(text))
    return tuple(dict.fromkeys(phrase for phrase in found if phrase))


def folded(text: str) -> str:
    """Without regard to case, white space and how accents are written."""
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).casefold().split())


def groups_of(snapshot: Snapshot, text: str) -> tuple[Group, ...]:
    """The question's words with their forms. A single letter of a script without spaces stands for what begins with it."""
    found = []
    for group in expand(snapshot, query_terms(text).items()):
        if is_unspaced(group.word[0]):
            if len(group.word) == 1:
                forms = snapshot.terms_with_prefix(group.word, "body")[:_MOST_FORMS]
                group = replace(group, forms=tuple(form for form in forms if form != group.word))
            elif len(group.word) == 2:
                group = replace(group, weight=group.weight * _LETTERS)
        found.append(group)
    return tuple(found)

# ----------------------------------------------------------------------------------------------------------------------
# Words that stand next to each other in the question and in a note: a phrase says more than its words.
#
# Texts are looked at for the best notes only, and in them only sections that are known to have both words.


_FARTHEST = 3
"""Words between which at most two others stand are a pair."""
_SHORTEST = 3
"""Letters that the forms of a word must share for what they share to stand for all of them."""
_MOST_LETTERS = 10_000
"""Of a section: no more is looked at."""
_MOST_PAIRS = 24
_UNKNOWN = 5.0
"""The rarity of a word that no note has, about."""


@dataclass(frozen=True, slots=True)
class Pair:
    first: str
    second: str
    """Words of the question."""
    pattern: re.Pattern[str]

    def stands_in(self, text: str) -> bool:
        """Whether the words stand in a text, which is in lower case, as they do in the question."""
        found = self.pattern.search(text)
        while found is not None:
            begin = found.start()
            if not begin or not text[begin - 1].isalnum() or UNSPACED_RUN.match(text, begin) is not None:
                return True
            found = self.pattern.search(text, begin + 1)
        return False


def pairs_in(text: str, groups: Sequence[Group]) -> list[Pair]:
    """The pairs of a question, in order; of a script without spaces every three letters."""
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
        if last is not None and last[1] is not group and place - last[0] <= _FARTHEST:
            between = r"(?:\w+\W+)" * (place - last[0] - 1)
            pattern = rf"{_begin(last[1])}\w*\W+{between}{_begin(group)}"
            found.setdefault((last[1].word, group.word), Pair(last[1].word, group.word, re.compile(pattern)))
        last = place, group
    return list(found.values())[:_MOST_PAIRS]


def _begin(group: Group) -> str:
    """How any form of a word begins."""
    forms = (group.word, *group.forms)
    same = takewhile(lambda letters: letters[0] == letters[1], zip(min(forms), max(forms), strict=False))
    shared = sum(1 for _ in same)
    return re.escape(group.word[:shared] if shared >= _SHORTEST else group.word)


@dataclass(frozen=True, slots=True)
class Together:
    """For each pair its weight, the weights being one together, and the units in which it was found."""

    found: tuple[tuple[float, tuple[int, ...]], ...]

    def of_units(self, total: int) -> NDArray[np.float64]:
        import numpy as np

        values = np.zeros(total)
        for weight, units in self.found:
            values[list(units)] += weight
        return values

    def of_files(self, snapshot: Snapshot) -> NDArray[np.float64]:
        """The weight of pairs that a note has anywhere."""
        import numpy as np

        values = np.zeros(snapshot.file_total)
        for weight, units in self.found:
            values[sorted(set(snapshot.unit_file[list(units)].tolist()))] += weight
        return values


def look(snapshot: Snapshot, units: NDArray[np.int64], pairs: Sequence[Pair], shares: Sequence[Share]) -> Together:
    """Look for pairs in some units, which ascend."""
    import numpy as np

    by_word = {share.word: share for share in shares}
    having: dict[str, NDArray[np.bool_]] = {}
    texts: dict[int, str] = {}
    found: list[tuple[float, tuple[int, ...]]] = []
    total = 0.0
    for pair in pairs:
        first, second = by_word.get(pair.first), by_word.get(pair.second)
        weight = min(first.rarity if first else _UNKNOWN, second.rarity if second else _UNKNOWN)
        total += weight
        if first is None or second is None:
            continue
        for share in (first, second):
            if share.word not in having:
                place = np.minimum(share.units.searchsorted(units), len(share.units) - 1)
                having[share.word] = share.units[place] == units
        here = []
        for unit in units[having[pair.first] & having[pair.second]].tolist():
            text = texts.get(unit)
            if text is None:
                text = texts[unit] = snapshot.unit_text(unit)[:_MOST_LETTERS].lower()
            if pair.stands_in(text):
                here.append(unit)
        if here:
            found.append((weight, tuple(here)))
    return Together(tuple((weight / (total or 1.0), here) for weight, here in found))
