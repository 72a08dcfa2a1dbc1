"""From a query to a plan: the mode to run, the intent to rank by, the weighted terms to search."""

from __future__ import annotations

from lurcher.query.expand import Group, TermLookup, expand, extract_name_terms, extract_terms
from lurcher.query.intent import (
    LANGUAGE,
    LITERAL,
    PATTERN,
    REPORT,
    SYMBOL,
    detect_intent,
    find_capitalised_words,
    find_code_names,
    looks_like_regex,
    requests_change,
)
from lurcher.runtime.light import TYPE_CHECKING, dataclass, pattern
from lurcher.types import Query

if TYPE_CHECKING:
    from collections.abc import Collection

    from lurcher.query.report import Report
    from lurcher.query.text_pattern import TextPattern

LANES = ("lexical", "symbol", "dense", "literal", "structural")
_PHRASE = pattern(r"[\w.'-]+(?: [\w.'-]+){1,3}")
_AS_LETTERS = str.maketrans("_.'-", "aaaa")


@dataclass(frozen=True, slots=True)
class Plan:
    text: str
    mode: str
    """hybrid, lexical, dense, symbol, literal, structural or related; `auto` is resolved."""
    intent: str
    groups: tuple[Group, ...]
    names: tuple[str, ...]
    """Qualified or plain names in the query, as written."""
    report: Report | None = None
    change: bool = False
    """The query asks for a change (a bug report, a request) rather than for understanding."""
    pattern: TextPattern | None = None
    """The pattern of a literal query; for a query of a few words, the phrase as a fixed string."""
    like: int | None = None
    """In related mode: the unit to which others are compared."""

    @property
    def lanes(self) -> tuple[str, ...]:
        """The lanes that the mode allows."""
        if self.mode == "related":
            return "lexical", "dense"
        alone = self.mode in ("lexical", "dense", "literal", "structural")
        if alone and self.intent == SYMBOL:
            return self.mode, "symbol"
        return (self.mode,) if alone else ("lexical", "symbol", "dense") + (("literal",) if self.pattern else ())


def compile_literal_query(query: Query) -> TextPattern | None:
    """The pattern of a literal query; None for every other query."""
    text = query.text.rstrip("\r\n")
    guessed = query.mode == "auto" and looks_like_regex(query.text) and not _has_metavariables(query.text)
    if query.mode != "literal" and not guessed:
        return None
    from lurcher.query.text_pattern import compile_pattern

    return compile_pattern(text, fixed=query.fixed, case=query.case, word=query.word, multiline=query.multiline)


def make_plan(
    text: str, mode: str, snapshot: TermLookup, pattern: TextPattern | None = None, languages: Collection[str] = ()
) -> Plan:
    """Choose mode, intent and terms. A literal query comes with its pattern; one with metavariables is structural if it parses
    in one of `languages`, those of the files that may answer."""
    if pattern is not None:
        return Plan(text, "literal", LITERAL, (), (), pattern=pattern)
    if mode == "structural" or (mode == "auto" and _has_metavariables(text, languages)):
        return Plan(text, "structural", PATTERN, (), ())
    intent = detect_intent(text)
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
        terms = extract_name_terms(text)
        names = (text.strip(),)
    else:
        terms = extract_terms(text)
        names = tuple(dict.fromkeys((*find_code_names(text), *find_capitalised_words(text))))
    change = intent == LANGUAGE and requests_change(text)
    phrase = compile_phrase(text) if intent == LANGUAGE and mode == "hybrid" else None
    return Plan(text, mode, intent, expand(snapshot, terms.items()), names, None, change, phrase)


def _has_metavariables(text: str, languages: Collection[str] | None = None) -> bool:
    """Whether a query reads as code with metavariables, and where languages are given, parses in one of them."""
    if "$" not in text:  # most queries have none, and need not import the parser of patterns
        return False
    from lurcher.query.syntax_pattern import is_pattern, looks_like_pattern

    return looks_like_pattern(text) if languages is None else is_pattern(text, languages)


def _is_short_phrase(line: str) -> bool:
    if not line.isascii():
        return _PHRASE.fullmatch(line) is not None
    found = line.split(" ")
    return 1 < len(found) < 5 and all(word.translate(_AS_LETTERS).isalnum() for word in found)


def compile_phrase(text: str) -> TextPattern | None:
    """A query of two to four plain words as a fixed string, which is one more piece of evidence; None for other queries."""
    line = text.strip()
    if not _is_short_phrase(line):
        return None
    from lurcher.errors import MissingExtra
    from lurcher.query.text_pattern import IGNORE, compile_pattern

    try:
        return compile_pattern(line, fixed=True, case=IGNORE)
    except MissingExtra:
        return None

