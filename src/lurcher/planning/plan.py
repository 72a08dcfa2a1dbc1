"""From a query to a plan: the mode to run, the intent to rank by, the weighted terms to look for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from lurcher.planning.groups import Group, Terms, expand, name_terms, query_terms
from lurcher.planning.intent import LANGUAGE, PATTERN, REPORT, SYMBOL, capitalised_in, intent_of, names_in, wants_change
from lurcher.planning.metavariables import is_pattern
from lurcher.planning.report import Report, read_report


@dataclass(frozen=True, slots=True)
class Plan:
    text: str
    mode: str
    """hybrid, lexical, dense, symbol or structural: what `auto` came to."""
    intent: str
    groups: tuple[Group, ...]
    names: tuple[str, ...]
    """Qualified or plain names that the query asks for, as written."""
    report: Report | None = None
    change: bool = False
    """The query asks for a change (a bug report, a request) rather than for understanding."""

    @property
    def lanes(self) -> tuple[str, ...]:
        """The lanes that the mode allows."""
        return (self.mode,) if self.mode in ("lexical", "dense", "structural") else ("lexical", "symbol", "dense")


def make_plan(text: str, mode: str, snapshot: Terms, languages: Collection[str] = ()) -> Plan:
    """`languages` are those of the files that may answer; a query with metavariables is a pattern if it parses in one."""
    if mode == "structural" or (mode == "auto" and is_pattern(text, languages)):
        return Plan(text, "structural", PATTERN, (), ())
    intent = intent_of(text)
    if mode == "auto":
        mode = "symbol" if intent == SYMBOL else "hybrid"
    elif mode == "symbol" and intent == LANGUAGE:
        intent = SYMBOL
    if intent == REPORT:
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
    return Plan(text, mode, intent, expand(snapshot, terms.items()), names, None, change)

