"""Finds a pattern in one file's text, with exact places and what its metavariables stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lurcher.isolated import GaveUp, call, possible
from lurcher.structural.languages import grammar_name, parser
from lurcher.structural.pattern import Pattern, shown_to_grammar
from lurcher.types import Captures, Match

MAX_TEXT = 500
"""Characters of a captured text that are kept."""
MAX_TEXTS = 100
"""Captured texts of one `$$$NAME` that are kept."""

_UNCHECKED = 32_768
_PROBE = 4_096
_PROBE_ERRORS = 800
"""A large file whose beginning has more misplaced tokens is not in its language, and may keep a grammar busy for ever."""


class Unreadable(Exception):
    """A file that ast-grep cannot be given, or does not cope with."""


def may_match(pattern: Pattern, data: bytes) -> bool:
    """False only where no match is possible."""
    return all(literal in data for literal in pattern.literals)


def nodes(pattern: Pattern, text: str) -> list[Any]:
    """The matching nodes of a text."""
    shown = shown_to_grammar(text, pattern.language)
    try:
        if len(text) > _UNCHECKED and _misplaced(shown[:_PROBE], pattern.language) > _PROBE_ERRORS:
            raise Unreadable("is not in the language that its name says")
        found = parser()(shown, grammar_name(pattern.language)).root().find_all(pattern=pattern.rule)
    except (RuntimeError, UnicodeError) as error:
        raise Unreadable(f"cannot be matched: {str(error).splitlines()[0][:80]}") from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # Rust's own, which is derived from nothing else
            raise Unreadable("makes ast-grep panic") from error
        raise
    return list(found)


def _misplaced(head: str, language: str) -> int:
    errors = parser()(head, grammar_name(language)).root().find_all(kind="ERROR")
    return sum(1 + len(error.children()) for error in errors)


def spans(pattern: Pattern, text: str) -> list[tuple[int, int]]:
    """Start and end of each match, as bytes of the text."""
    found: list[tuple[int, int]] = _isolated("spans_alone", pattern, text)
    return found


def described(pattern: Pattern, text: str) -> list[tuple[int, Match]]:
    """Each match with the byte at which it begins, in the order of `spans`."""
    found: list[tuple[int, Match]] = _isolated("described_alone", pattern, text)
    return found


def _isolated(name: str, pattern: Pattern, text: str) -> Any:
    if not possible():
        return globals()[name](pattern, text)
    try:
        return call(f"{__name__}:{name}", pattern, text)
    except GaveUp:
        raise Unreadable("takes its grammar too much time or memory") from None


def spans_alone(pattern: Pattern, text: str) -> list[tuple[int, int]]:
    """What `spans` gives, in a process that may be stopped."""
    found = [(start, end) for start, end, _ in _placed(nodes(pattern, text))]
    if text.isascii() or not found:
        return found
    at = _byte_offsets(text, sorted({offset for span in found for offset in span}))
    return [(at[start], at[end]) for start, end in found]


def _placed(found: list[Any]) -> list[tuple[int, int, Any]]:
    """Nodes with where they begin and end, in characters; the outer of two that begin together comes first."""
    placed = []
    for node in found:
        span = node.range()
        placed.append((span.start.index, span.end.index, node))
    return sorted(placed, key=lambda item: (item[0], -item[1]))


def _byte_offsets(text: str, offsets: Sequence[int]) -> dict[int, int]:
    """Bytes before each of `offsets`, which ascend."""
    found: dict[int, int] = {}
    last = size = 0
    for offset in offsets:
        size += len(text[last:offset].encode("utf-8", "surrogatepass"))
        found[offset] = size
        last = offset
    return found


def described_alone(pattern: Pattern, text: str) -> list[tuple[int, Match]]:
    """What `described` gives, in a process that may be stopped."""
    found = _placed(nodes(pattern, text))
    at = _byte_offsets(text, sorted({start for start, _, _ in found}))
    return [(at[start], _match(text, start, end, captures(pattern, node, text))) for start, end, node in found]


def _match(text: str, start: int, end: int, captured: Captures) -> Match:
    """A match from character `start` to `end`, without the line ends that some grammars count in."""
    while end > start + 1 and text[end - 1] in "\r\n":
        end -= 1
    return Match(
        text.count("\n", 0, start) + 1,
        start - text.rfind("\n", 0, start),
        text.count("\n", 0, end) + 1,
        end - text.rfind("\n", 0, end),
        captured,
    )


def captures(pattern: Pattern, node: Any, text: str) -> Captures:
    """What each metavariable stands for in one match; of several nodes those that have a name in the grammar."""
    found: Captures = {}
    for name in pattern.single:
        one = node.get_match(name)
        if one is not None:
            found[name] = _text(text, one)
    for name in pattern.several:
        texts = [_text(text, one) for one in node.get_multiple_matches(name) if one.is_named()]
        found[name] = texts if len(texts) <= MAX_TEXTS else [*texts[:MAX_TEXTS], "…"]
    return found


def _text(text: str, node: Any) -> str:
    span = node.range()
    start, end = span.start.index, span.end.index
    return text[start:end] if end - start <= MAX_TEXT else text[start : start + MAX_TEXT] + "…"
