"""Units in which matches of a syntax pattern begin.

Every file that may answer is searched with ast-grep, unless it lacks a literal that each match contains. Grammars run in a
child process that is stopped when it takes too much time or memory, where the platform allows it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lurcher.errors import Template
from lurcher.lanes import Request
from lurcher.query.syntax_pattern import (
    SIGILS,
    Flaw,
    SyntaxPattern,
    check_pattern,
    describe_flaw,
    grammar_name,
    infer_languages,
    load_parser,
    make_pattern_error,
    parse_pattern,
    prepare_for_grammar,
)
from lurcher.runtime.kernel import np
from lurcher.runtime.process import check_cancelled
from lurcher.runtime.sandbox import SandboxFailure, call, can_start_child
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Captures, Degraded, LaneWhy, Match

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MAX_NAMED = 6
"""Languages that a note lists by name."""
MAX_CAPTURE_CHARS = 500
"""Characters of a captured text; the rest is cut."""
MAX_CAPTURES = 100
"""Captured texts of one `$$$NAME`."""

_MIN_PROBED = 32_768
_PROBE_CHARS = 4_096
_MAX_PROBE_ERRORS = 800
"""A file of more than `_MIN_PROBED` characters is not searched if its beginning has more misplaced tokens than this: it is not
in the language of its name, and the grammar might never finish."""


@dataclass(slots=True)
class UnitMatches:
    """The matches that begin in one unit: their start bytes, the largest end byte, and whether one is a definition."""

    starts: list[int] = field(default_factory=list)
    end: int = 0
    defines: bool = False


@dataclass(slots=True)
class StructuralMatches:
    snapshot: Snapshot
    patterns: dict[str, SyntaxPattern]
    """Language → the pattern parsed in it."""
    units: dict[int, UnitMatches]
    """By path, then by line."""
    notes: tuple[Degraded, ...]
    _matches: dict[int, list[tuple[int, Match]]] = field(default_factory=dict)

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
        """Searches the file again: captures are read for the shown files only, as those of all would not fit in memory."""
        if file not in self._matches:
            pattern = self.patterns.get(self.snapshot.language(file))
            text = _decode(self.snapshot.file_text(file))
            self._matches[file] = list(describe_matches(pattern, text)) if pattern is not None else []
        return tuple(item for byte, item in self._matches[file] if start <= byte < end)


def run(request: Request) -> StructuralMatches:
    """Find every match of the plan's pattern in the files that may answer, in each language in which it parses."""
    snapshot = request.snapshot
    text = check_pattern(request.plan.text)
    files = _group_by_language(snapshot, request.allowed)
    patterns, unread = _parse_in_languages(text, files, request.languages)
    units: dict[int, UnitMatches] = {}
    failed: dict[str, str] = {}
    for file in _sort_by_path(snapshot, [file for language in patterns for file in files.get(language, ())]):
        check_cancelled()
        pattern = patterns[snapshot.language(file)]
        data = snapshot.file_text(file)
        if not may_match(pattern, data):
            continue
        try:
            spans = find_spans(pattern, _decode(data))
        except UnreadableFile as problem:
            failed[snapshot.path(file)] = str(problem)
            continue
        if spans:
            _add_matches(units, snapshot, file, spans)
    notes = (*_note_unsearched(patterns, unread, files, request.languages), *_note_failures(failed))
    return StructuralMatches(snapshot, patterns, units, notes)


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _group_by_language(snapshot: Snapshot, allowed: NDArray[np.bool_]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for file in np.flatnonzero(allowed).tolist():
        found.setdefault(snapshot.language(file), []).append(file)
    return found


def _parse_in_languages(
    text: str, files: dict[str, list[int]], requested: Sequence[str]
) -> tuple[dict[str, SyntaxPattern], dict[str, str]]:
    """The pattern for each language in which it parses, and the flaw in the others; QueryError where it parses in none.

    Without files there is nothing to infer languages from: then every language is tried.
    """
    tried = [language for language in requested if language in SIGILS] if requested else infer_languages(files)
    found = [parse_pattern(text, language) for language in tried or (() if requested else infer_languages(SIGILS))]
    flaws = [item for item in found if isinstance(item, Flaw)]
    if found and len(flaws) == len(found):
        raise make_pattern_error(text, sorted(flaws, key=lambda flaw: -len(files.get(flaw.language, ()))))
    patterns = {item.language: item for item in found if isinstance(item, SyntaxPattern) and item.language in tried}
    return patterns, {flaw.language: describe_flaw(text, flaw) for flaw in flaws if flaw.language in tried}


def _sort_by_path(snapshot: Snapshot, files: list[int]) -> list[int]:
    return sorted(files, key=snapshot.path_rank.__getitem__)


def _add_matches(units: dict[int, UnitMatches], snapshot: Snapshot, file: int, spans: list[tuple[int, int]]) -> None:
    starts, number = _read_unit_starts(snapshot, file)
    defined = snapshot.definition_ends(file)
    for start, end in spans:
        here = units.setdefault(number + _find_unit(starts, start), UnitMatches())
        here.starts.append(start)
        here.end = max(here.end, end)
        here.defines = here.defines or any(last <= end for last in defined.get(start, ()))


def _read_unit_starts(snapshot: Snapshot, file: int) -> tuple[list[int], int]:
    """Where each of a file's units begins, and the number of the first."""
    numbers = snapshot.units_of(file)
    starts: list[int] = snapshot.unit_column("start")[numbers.start : numbers.stop].tolist()
    return starts, numbers.start


def _find_unit(starts: list[int], byte: int) -> int:
    return max(bisect_right(starts, byte) - 1, 0)


def _note_unsearched(
    patterns: dict[str, SyntaxPattern], unread: dict[str, str], files: dict[str, list[int]], requested: Sequence[str]
) -> tuple[Degraded, ...]:
    """One note about what was not searched, and why, so that no hits are not taken for no matches."""
    if not files:
        return ()
    without = sorted(language for language in {*files, *requested} if language not in SIGILS)
    aside = sorted(language for language in files if language in SIGILS and language not in patterns and language not in unread)
    reasons = []
    if unread:
        reasons.append(f"it does not parse as {_join_names(list(unread))}")
    if aside:
        reasons.append(Template("{*} only with {lang}", _join_names(aside)))
    if without:
        reasons.append(f"there is no grammar for {_join_names(without)}")
    if not reasons:
        return ()
    searched = f"searched {_join_names(sorted(patterns))}" if patterns else "nothing was searched"
    # The flaw in the language of most files, if that language was not searched.
    readers = [language for language in files if language in patterns or language in unread]
    most = max(readers, key=lambda language: (len(files[language]), language), default="")
    hint = f"as {most}: {unread[most]}" if most in unread else ""
    return (Degraded("structural", Template("; ".join(["{*}"] * (1 + len(reasons))), searched, *reasons), hint),)


def _note_failures(failed: dict[str, str]) -> tuple[Degraded, ...]:
    if not failed:
        return ()
    (path, reason), *_ = failed.items()
    more = f", and {len(failed) - 1} more files were left out" if len(failed) > 1 else ""
    hint = Template("use {mode=lexical} for such files")
    return (Degraded("structural", f"{path} was not searched: it {reason}{more}", hint),)


def _join_names(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMED
    return ", ".join(names[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


class UnreadableFile(Exception):
    """A file that ast-grep cannot search."""


def may_match(pattern: SyntaxPattern, data: bytes) -> bool:
    """False only where no match is possible."""
    return all(literal in data for literal in pattern.literals)


def find_nodes(pattern: SyntaxPattern, text: str) -> list[Any]:
    """The matching nodes of a text."""
    shown = prepare_for_grammar(text, pattern.language)
    try:
        if len(text) > _MIN_PROBED and _count_misplaced(shown[:_PROBE_CHARS], pattern.language) > _MAX_PROBE_ERRORS:
            raise UnreadableFile("is not in the language that its name says")
        found = load_parser()(shown, grammar_name(pattern.language)).root().find_all(pattern=pattern.rule)
    except (RuntimeError, UnicodeError) as error:
        raise UnreadableFile(f"cannot be matched: {str(error).splitlines()[0][:80]}") from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # raised by Rust; it has no other base class
            raise UnreadableFile("makes ast-grep panic") from error
        raise
    return list(found)


def _count_misplaced(head: str, language: str) -> int:
    errors = load_parser()(head, grammar_name(language)).root().find_all(kind="ERROR")
    return sum(1 + len(error.children()) for error in errors)


def find_spans(pattern: SyntaxPattern, text: str) -> list[tuple[int, int]]:
    """Start and end of each match, as bytes of the text."""
    found: list[tuple[int, int]] = _run_isolated("find_spans_in_process", pattern, text)
    return found


def describe_matches(pattern: SyntaxPattern, text: str) -> list[tuple[int, Match]]:
    """Each match with the byte at which it begins, in the order of `find_spans`."""
    found: list[tuple[int, Match]] = _run_isolated("describe_matches_in_process", pattern, text)
    return found


def _run_isolated(name: str, pattern: SyntaxPattern, text: str) -> Any:
    if not can_start_child():
        return globals()[name](pattern, text)
    try:
        return call(f"{__name__}:{name}", pattern, text)
    except SandboxFailure:
        raise UnreadableFile("takes its grammar too much time or memory") from None


def find_spans_in_process(pattern: SyntaxPattern, text: str) -> list[tuple[int, int]]:
    """Does the work of `find_spans`, in a child process that may be stopped."""
    found = [(start, end) for start, end, _ in _sort_nodes(find_nodes(pattern, text))]
    if text.isascii() or not found:
        return found
    at = _byte_offsets(text, sorted({offset for span in found for offset in span}))
    return [(at[start], at[end]) for start, end in found]


def _sort_nodes(found: list[Any]) -> list[tuple[int, int, Any]]:
    """Nodes with start and end in characters, by start; of two that begin together the outer one first."""
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


def describe_matches_in_process(pattern: SyntaxPattern, text: str) -> list[tuple[int, Match]]:
    """Does the work of `describe_matches`, in a child process that may be stopped."""
    found = _sort_nodes(find_nodes(pattern, text))
    at = _byte_offsets(text, sorted({start for start, _, _ in found}))
    return [(at[start], _make_match(text, start, end, read_captures(pattern, node, text))) for start, end, node in found]


def _make_match(text: str, start: int, end: int, captured: Captures) -> Match:
    """A match from character `start` to `end`, without the line ends that some grammars include."""
    while end > start + 1 and text[end - 1] in "\r\n":
        end -= 1
    return Match(
        text.count("\n", 0, start) + 1,
        start - text.rfind("\n", 0, start),
        text.count("\n", 0, end) + 1,
        end - text.rfind("\n", 0, end),
        captured,
    )


def read_captures(pattern: SyntaxPattern, node: Any, text: str) -> Captures:
    """The text that each metavariable captured in one match; of `$$$NAME` only named nodes, which leaves out commas."""
    found: Captures = {}
    for name in pattern.single:
        one = node.get_match(name)
        if one is not None:
            found[name] = _read_capture(text, one)
    for name in pattern.several:
        texts = [_read_capture(text, one) for one in node.get_multiple_matches(name) if one.is_named()]
        found[name] = texts if len(texts) <= MAX_CAPTURES else [*texts[:MAX_CAPTURES], "…"]
    return found


def _read_capture(text: str, node: Any) -> str:
    span = node.range()
    start, end = span.start.index, span.end.index
    return text[start:end] if end - start <= MAX_CAPTURE_CHARS else text[start : start + MAX_CAPTURE_CHARS] + "…"
