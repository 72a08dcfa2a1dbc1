"""From a query to a plan: the mode to run, the intent to rank by, the weighted terms to look for."""

from __future__ import annotations

from lurcher.query.expand import Group, Terms, expand, name_terms, query_terms
from lurcher.query.intent import (
    LANGUAGE,
    LITERAL,
    PATTERN,
    REPORT,
    SYMBOL,
    capitalised_in,
    intent_of,
    names_in,
    reads_as_pattern,
    wants_change,
)
from lurcher.runtime.light import TYPE_CHECKING, dataclass, pattern
from lurcher.types import Query

if TYPE_CHECKING:
    from collections.abc import Collection

    from lurcher.query.report import Report
    from lurcher.query.text_pattern import Pattern

LANES = ("lexical", "symbol", "dense", "literal", "structural")
_PHRASE = pattern(r"[\w.'-]+(?: [\w.'-]+){1,3}")
_PLAIN = str.maketrans("_.'-", "aaaa")


@dataclass(frozen=True, slots=True)
class Plan:
    text: str
    mode: str
    """hybrid, lexical, dense, symbol, literal or structural: what `auto` came to; or related."""
    intent: str
    groups: tuple[Group, ...]
    names: tuple[str, ...]
    """Qualified or plain names that the query asks for, as written."""
    report: Report | None = None
    change: bool = False
    """The query asks for a change (a bug report, a request) rather than for understanding."""
    pattern: Pattern | None = None
    """What a literal query looks for; of a short phrase, the phrase itself."""
    like: int | None = None
    """The unit that others are to be like."""

    @property
    def lanes(self) -> tuple[str, ...]:
        """The lanes that the mode allows."""
        if self.mode == "related":
            return "lexical", "dense"
        alone = self.mode in ("lexical", "dense", "literal", "structural")
        if alone and self.intent == SYMBOL:
            return self.mode, "symbol"
        return (self.mode,) if alone else ("lexical", "symbol", "dense") + (("literal",) if self.pattern else ())


def literal_pattern(query: Query) -> Pattern | None:
    """What a literal query looks for; None for every other."""
    text = query.text.rstrip("\r\n")
    guessed = query.mode == "auto" and reads_as_pattern(query.text) and not _has_metavariables(query.text)
    if query.mode != "literal" and not guessed:
        return None
    from lurcher.query.text_pattern import compiled

    return compiled(text, fixed=query.fixed, case=query.case, word=query.word, multiline=query.multiline)


def make_plan(
    text: str, mode: str, snapshot: Terms, pattern: Pattern | None = None, languages: Collection[str] = ()
) -> Plan:
    """How to answer. A literal query comes with its pattern; one with metavariables is structural if it parses in one of
    `languages`, those of the files that may answer."""
    if pattern is not None:
        return Plan(text, "literal", LITERAL, (), (), pattern=pattern)
    if mode == "structural" or (mode == "auto" and _has_metavariables(text, languages)):
        return Plan(text, "structural", PATTERN, (), ())
    intent = intent_of(text)
    if mode == "auto":
        mode = "symbol" if intent == SYMBOL else "hybrid"
    elif mode == "symbol" and intent == LANGUAGE:
        intent = SYMBOL
    if intent == REPORT:
        from lurcher.query.report import read_report

        report = read_report(text)
        return Plan(text, mode, intent, expand(snapshot, report.terms.items()), report.names, report, True)
    names: tuple[str, ...]
    if intent == SYMBOL:
        terms = name_terms(text)
        names = (text.strip(),)
    else:
        terms = query_terms(text)
        names = tuple(dict.fromkeys((*names_in(text), *capitalised_in(text))))
    change = intent == LANGUAGE and wants_change(text)
    phrase = phrase_in(text) if intent == LANGUAGE and mode == "hybrid" else None
    return Plan(text, mode, intent, expand(snapshot, terms.items()), names, None, change, phrase)


def _has_metavariables(text: str, languages: Collection[str] | None = None) -> bool:
    """Whether a query reads as code with metavariables, and where languages are given, parses in one of them."""
    if "$" not in text:  # most have none, and need not load what reads patterns
        return False
    from lurcher.query.syntax_pattern import is_pattern, looks_like_pattern

    return looks_like_pattern(text) if languages is None else is_pattern(text, languages)


def _few_plain_words(line: str) -> bool:
    if not line.isascii():
        return _PHRASE.fullmatch(line) is not None
    found = line.split(" ")
    return 1 < len(found) < 5 and all(word.translate(_PLAIN).isalnum() for word in found)


def phrase_in(text: str) -> Pattern | None:
    """A query of a few plain words, as a phrase to be found as it stands. That is one more sign, and not the question."""
    line = text.strip()
    if not _few_plain_words(line):
        return None
    from lurcher.errors import MissingExtra
    from lurcher.query.text_pattern import IGNORE, compiled

    try:
        return compiled(line, fixed=True, case=IGNORE)
    except MissingExtra:
        return None

