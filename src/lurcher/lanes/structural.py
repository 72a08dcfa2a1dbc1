"""Units in which matches of a syntax pattern begin. Every file that may answer is looked at; none is missed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lurcher.errors import Template
from lurcher.lanes.base import Request
from lurcher.query.syntax_pattern import Flaw, Pattern, checked, flawed, read, shown_to_grammar, told
from lurcher.runtime.arrays import np
from lurcher.runtime.cancel import check_cancelled
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.runtime.sandbox import SandboxFailure, call, can_start_child
from lurcher.storage.snapshot import Snapshot
from lurcher.structural.languages import SIGILS, grammar_name, inferred, parser
from lurcher.types import Captures, Degraded, LaneWhy, Match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


_MOST_NAMED = 6


@dataclass(slots=True)
class UnitMatches:
    """The matches that begin in one unit: where each does, where the last to end does, and whether one defines something."""

    starts: list[int] = field(default_factory=list)
    end: int = 0
    defines: bool = False


@dataclass(slots=True)
class StructuralMatches:
    snapshot: Snapshot
    patterns: dict[str, Pattern]
    """Language → the pattern as it reads it."""
    units: dict[int, UnitMatches]
    """By path, then by line."""
    notes: tuple[Degraded, ...]
    _described: dict[int, list[tuple[int, Match]]] = field(default_factory=dict)

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(sorted(self.patterns))

    def why(self, unit: int) -> LaneWhy | None:
        here = self.units.get(unit)
        return None if here is None else LaneWhy(1 + list(self.units).index(unit), float(len(here.starts)))

    def extent(self, unit: int) -> tuple[int, int] | None:
        here = self.units.get(unit)
        return None if here is None else (here.starts[0], here.end)

    def starts(self, unit: int) -> Sequence[int]:
        here = self.units.get(unit)
        return () if here is None else here.starts

    def matches(self, file: int, start: int, end: int) -> tuple[Match, ...]:
        """Found anew for the few files that are shown: captured texts of all matches would not fit into memory."""
        if file not in self._described:
            pattern = self.patterns.get(self.snapshot.language(file))
            text = _text(self.snapshot.file_text(file))
            self._described[file] = list(described(pattern, text)) if pattern is not None else []
        return tuple(item for byte, item in self._described[file] if start <= byte < end)


def run(request: Request) -> StructuralMatches:
    """Every match of the plan's pattern in the files that may answer, in each language in which it parses."""
    snapshot = request.snapshot
    text = checked(request.plan.text)
    files = _by_language(snapshot, request.allowed)
    patterns, unread = _patterns(text, files, request.languages)
    units: dict[int, UnitMatches] = {}
    failed: dict[str, str] = {}
    for file in _in_order(snapshot, [file for language in patterns for file in files.get(language, ())]):
        check_cancelled()
        pattern = patterns[snapshot.language(file)]
        data = snapshot.file_text(file)
        if not may_match(pattern, data):
            continue
        try:
            spans = find_spans(pattern, _text(data))
        except Unreadable as problem:
            failed[snapshot.path(file)] = str(problem)
            continue
        if spans:
            _add(units, snapshot, file, spans)
    notes = (*_left_out(patterns, unread, files, request.languages), *_failures(failed))
    return StructuralMatches(snapshot, patterns, units, notes)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _by_language(snapshot: Snapshot, allowed: NDArray[np.bool_]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for file in np.flatnonzero(allowed).tolist():
        found.setdefault(snapshot.language(file), []).append(file)
    return found


def _patterns(text: str, files: dict[str, list[int]], asked: Sequence[str]) -> tuple[dict[str, Pattern], dict[str, str]]:
    """The pattern for each language that can read it, and where it is wrong in those that cannot; an error where none can.

    Without files there is nothing to infer a language from: then any language that reads the pattern will do.
    """
    tried = [language for language in asked if language in SIGILS] if asked else inferred(files)
    found = [read(text, language) for language in tried or (() if asked else inferred(SIGILS))]
    flaws = [item for item in found if isinstance(item, Flaw)]
    if found and len(flaws) == len(found):
        raise flawed(text, sorted(flaws, key=lambda flaw: -len(files.get(flaw.language, ()))))
    patterns = {item.language: item for item in found if isinstance(item, Pattern) and item.language in tried}
    return patterns, {flaw.language: told(text, flaw) for flaw in flaws if flaw.language in tried}


def _in_order(snapshot: Snapshot, files: list[int]) -> list[int]:
    return sorted(files, key=snapshot.path_rank.__getitem__)


def _add(units: dict[int, UnitMatches], snapshot: Snapshot, file: int, spans: list[tuple[int, int]]) -> None:
    starts, number = _unit_starts(snapshot, file)
    defined = snapshot.definition_ends(file)
    for start, end in spans:
        here = units.setdefault(number + _place(starts, start), UnitMatches())
        here.starts.append(start)
        here.end = max(here.end, end)
        here.defines = here.defines or any(last <= end for last in defined.get(start, ()))


def _unit_starts(snapshot: Snapshot, file: int) -> tuple[list[int], int]:
    """Where each of a file's units begins, and the number of the first."""
    numbers = snapshot.units_of(file)
    starts: list[int] = snapshot.unit_column("start")[numbers.start : numbers.stop].tolist()
    return starts, numbers.start


def _place(starts: list[int], byte: int) -> int:
    return max(bisect_right(starts, byte) - 1, 0)


def _left_out(
    patterns: dict[str, Pattern], unread: dict[str, str], files: dict[str, list[int]], asked: Sequence[str]
) -> tuple[Degraded, ...]:
    """What was not searched, and why: one note, so that nobody takes silence for "there is none"."""
    if not files:
        return ()
    without = sorted(language for language in {*files, *asked} if language not in SIGILS)
    aside = sorted(language for language in files if language in SIGILS and language not in patterns and language not in unread)
    reasons = []
    if unread:
        reasons.append(f"it does not parse as {_listed(list(unread))}")
    if aside:
        reasons.append(Template("{*} only with {lang}", _listed(aside)))
    if without:
        reasons.append(f"there is no grammar for {_listed(without)}")
    if not reasons:
        return ()
    searched = f"searched {_listed(sorted(patterns))}" if patterns else "nothing was searched"
    # Where it is wrong in the language that most files are in, if that is not among those that were searched.
    readers = [language for language in files if language in patterns or language in unread]
    most = max(readers, key=lambda language: (len(files[language]), language), default="")
    hint = f"as {most}: {unread[most]}" if most in unread else ""
    return (Degraded("structural", Template("; ".join(["{*}"] * (1 + len(reasons))), searched, *reasons), hint),)


def _failures(failed: dict[str, str]) -> tuple[Degraded, ...]:
    if not failed:
        return ()
    (path, reason), *_ = failed.items()
    more = f", and {len(failed) - 1} more files were left out" if len(failed) > 1 else ""
    hint = Template("use {mode=lexical} for such files")
    return (Degraded("structural", f"{path} was not searched: it {reason}{more}", hint),)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")

# ----------------------------------------------------------------------------------------------------------------------
# Finds a pattern in one file's text, with exact places and what its metavariables stand for.


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


def find_spans(pattern: Pattern, text: str) -> list[tuple[int, int]]:
    """Start and end of each match, as bytes of the text."""
    found: list[tuple[int, int]] = _isolated("spans_alone", pattern, text)
    return found


def described(pattern: Pattern, text: str) -> list[tuple[int, Match]]:
    """Each match with the byte at which it begins, in the order of `spans`."""
    found: list[tuple[int, Match]] = _isolated("described_alone", pattern, text)
    return found


def _isolated(name: str, pattern: Pattern, text: str) -> Any:
    if not can_start_child():
        return globals()[name](pattern, text)
    try:
        return call(f"{__name__}:{name}", pattern, text)
    except SandboxFailure:
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
            found[name] = _match_text(text, one)
    for name in pattern.several:
        texts = [_match_text(text, one) for one in node.get_multiple_matches(name) if one.is_named()]
        found[name] = texts if len(texts) <= MAX_TEXTS else [*texts[:MAX_TEXTS], "…"]
    return found


def _match_text(text: str, node: Any) -> str:
    span = node.range()
    start, end = span.start.index, span.end.index
    return text[start:end] if end - start <= MAX_TEXT else text[start : start + MAX_TEXT] + "…"
