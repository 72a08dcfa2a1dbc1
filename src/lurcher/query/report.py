"""Reads a long query as a bug report: title, prose, code, error lines, stack trace, and noise that is dropped."""

from __future__ import annotations

from lurcher.query.intent import find_code_names
from lurcher.runtime.light import TYPE_CHECKING, dataclass, pattern
from lurcher.terms.split import split, words
from lurcher.terms.vocabulary import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator


TITLE, PROSE, INLINE, CODE, ERROR, TRACE = 3.0, 1.0, 1.0, 0.7, 0.7, 0.5
"""Weight of a word by where it occurs; inline code counts in addition to its prose."""

MAX_CHARS = 200_000

_SOURCE = r"(?:py|pyx|pyi|js|jsx|mjs|ts|tsx|go|rs|java|c|h|cc|cpp|hpp|cs|rb|php|kt|kts|scala|swift|ex|exs|hs|lua|zig|sh|vue)"
_COMMENT = pattern(r"(?s)<!--.*?(?:-->|\Z)")
_URL = pattern(r"https?://[^\s)>\]\"'`]+")
_FENCE = pattern(r"^\s*(?:```|~~~)")
_INLINE = pattern(r"`([^`\n]+)`")
_HEADING = pattern(r"^\s*#{1,6}\s|^\s*\*\*[^*]+\*\*:?\s*$|^[-=~^]{3,}\s*$")
_FRAME = pattern(
    r"^(?:[>E]?\s*|.*\bFile \"|\s*at\s.*?)"
    rf"((?:[\w.~@+<>:\\-]*[/\\])*[\w.@+-]+\.{_SOURCE})"
    r"(?:\", line (\d+)|:(\d+)|\s+in\s+\w)"
)
_ERROR = pattern(
    r"(?i)^\s*(?:E\s+)?(?:[\w.]*(?:Error|Exception|Warning|Failure)\b|error\b|fatal\b|panic\b|thread '.*' panicked)"
)
_PATH = pattern(rf"(?<![\w/.])((?:[\w.@+-]+/)+[\w.@+-]+\.\w{{1,6}}|[\w-]+\.{_SOURCE})(?!\w)")
_VERSION_LINE = pattern(
    r"(?i)^\s*(?:[-*]\s*)?\**[\w .()/-]{1,40}\**\s*(?::|==|=|\s)\s*(?:[vV]?\d+(?:\.\w+)+\S*|none|null|true|false)\s*$"
)
_ENVIRONMENT = pattern(
    r"(?i)environment|version|system info|your setup|platform|output of|installed packages|pip (?:list|freeze)"
)
_DOTTED = pattern(r"(?<![\w./])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_CONSOLE = ("    ", "\t", ">>>", "...", "In [", "$ ")


@dataclass(frozen=True, slots=True)
class Report:
    title: str
    terms: dict[str, float]
    names: tuple[str, ...]
    dotted: tuple[str, ...]
    """Dotted names, which may be a module or a symbol of the repository."""
    urls: tuple[str, ...]
    frames: tuple[str, ...]
    """The path of each stack frame in order; the last is the deepest."""
    paths: tuple[str, ...]
    """Paths mentioned outside of traces."""


def read_report(text: str) -> Report:
    text = text[:MAX_CHARS].replace("\r\n", "\n").replace("\r", "\n")
    urls = dict.fromkeys(_URL.findall(text))
    lines = _URL.sub(" ", _COMMENT.sub(" ", text)).strip().split("\n")
    title, body = lines[0].strip(), lines[1:]
    counts: dict[str, dict[float, float]] = {}
    names: dict[str, None] = {}
    dotted: dict[str, None] = {}
    paths: dict[str, None] = {}
    frames: list[str] = []
    for weight, line in ((TITLE, title), *_weigh_lines(body)):
        _count_terms(counts, line, weight)
        if weight == TRACE:
            frame = _FRAME.match(line)
            frames += [frame[1]] if frame else []
            continue
        names.update(dict.fromkeys(find_code_names(line)))
        dotted.update(dict.fromkeys(_DOTTED.findall(line)))
        paths.update(dict.fromkeys(_PATH.findall(line)))
        if weight in (PROSE, TITLE):
            for inline in _INLINE.findall(line):
                _count_terms(counts, inline, INLINE)
                names.update({inline: None} if inline.isidentifier() else {})
    terms = {
        term: sum(weight * 2 * count / (1 + count) for weight, count in places.items()) for term, places in counts.items()
    }
    return Report(title, terms, tuple(names), tuple(dotted), tuple(urls), tuple(frames), tuple(paths))


def _weigh_lines(lines: list[str]) -> Iterator[tuple[float, str]]:
    """The lines that are not noise, each with the weight of its words."""
    fenced = environment = False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and _HEADING.match(line):
            environment = bool(_ENVIRONMENT.search(line))
        elif not line.strip() or environment or _VERSION_LINE.match(line):
            continue
        elif _FRAME.match(line):
            yield TRACE, line
        elif _ERROR.match(line):
            yield ERROR, line
        elif fenced or line.startswith(_CONSOLE):
            yield CODE, line
        else:
            yield PROSE, line


def _count_terms(counts: dict[str, dict[float, float]], text: str, weight: float) -> None:
    for identifier in words(text):
        for term in split(identifier):
            if term in STOP_WORDS or len(term) < 2 or term.isdigit():
                continue
            places = counts.setdefault(term, {})
            places[weight] = places.get(weight, 0.0) + 1.0
