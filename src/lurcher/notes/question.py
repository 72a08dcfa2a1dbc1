"""What may be asked of notes, checked, and how it is read."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field, replace

from lurcher.errors import FilterError, QueryError
from lurcher.index.reader import Snapshot
from lurcher.planning.checks import check_fusion, check_page, clean_text
from lurcher.planning.groups import Group, expand, query_terms
from lurcher.terms.scripts import is_unspaced
from lurcher.types import Filter

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
            raise FilterError(f"'{tag}' is no tag", "for example: --tag area/home")
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
