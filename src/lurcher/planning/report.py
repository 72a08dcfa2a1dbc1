"""A long query, read as what it is: a title, prose, code, error lines, a stack trace, and noise around them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lurcher.planning.intent import names_in
from lurcher.terms.split import split, words
from lurcher.terms.vocabulary import STOP_WORDS

TITLE, PROSE, INLINE, CODE, ERROR, TRACE = 3.0, 1.0, 1.0, 0.7, 0.7, 0.5
"""What a word counts by where it stands; inline code counts on top of its prose."""

MAX_CHARS = 200_000

_COMMENT = re.compile(r"<!--.*?-->", re.S)
_URL = re.compile(r"https?://[^\s)>\]\"'`]+")
_FENCE = re.compile(r"^\s*(```|~~~)")
_INLINE = re.compile(r"`([^`\n]+)`")
_HEADING = re.compile(r"^\s*#{1,6}\s|^\s*\*\*[^*]+\*\*:?\s*$|^[-=~^]{3,}\s*$")
_FRAME = re.compile(r'^\s*File "([^"\n]+)", line (\d+)(?:, in (\S+))?')
_FRAME_LOOSE = re.compile(r"^\s*(?:[-\w./~\\@+]*/)?([-\w./~\\@+]+\.\w{1,4})(?::(\d+)|\s+in\s+(\w+))")
_AT_FRAME = re.compile(r"^\s*at\s+(?:.*\()?([^\s():]+\.\w{1,5}):(\d+)")
_ERROR = re.compile(r"^\s*(?:E\s+)?(?:[\w.]*(?:Error|Exception|Warning|Failure)\b|error\b|fatal\b|panic\b|thread '.*' panicked)", re.I)
_PATH = re.compile(r"(?<![\w/.])((?:[\w.@+-]+/)+[\w.@+-]+\.\w{1,6}|[\w-]+\.(?:py|js|ts|tsx|jsx|go|rs|java|c|h|cc|cpp|hpp|cs|rb|php|kt|scala|swift|ex|exs|hs|lua|zig|sh))(?!\w)")
_VERSION_LINE = re.compile(
    r"^\s*[-*]?\s*\**(?:python|os|platform|version|versions|machine|processor|byteorder|commit|lc_all|lang|locale|libhdf5|libnetcdf|"
    r"[\w.-]+)\**\s*(?::|==|=|\s)\s*(?:[vV]?\d+(?:\.\w+)+\S*|none|null)\s*$",
    re.I,
)
_ENVIRONMENT = re.compile(
    r"environment|version|system info|show_versions|your setup|platform|output of|installed packages|pip list|pip freeze", re.I
)
_DOTTED = re.compile(r"(?<![\w./])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")


@dataclass(frozen=True, slots=True)
class Report:
    title: str
    terms: dict[str, float]
    names: tuple[str, ...]
    dotted: tuple[str, ...]
    """Dotted names, which may be a module or a symbol of the repository."""
    urls: tuple[str, ...]
    frames: tuple[tuple[str, int], ...]
    """(path, line) of each stack frame in order; the last is the deepest."""
    paths: tuple[str, ...]
    """Paths mentioned outside of traces."""


def read_report(text: str) -> Report:
    text = text[:MAX_CHARS].replace("\r\n", "\n").replace("\r", "\n")
    urls = tuple(dict.fromkeys(_URL.findall(text)))
    text = _URL.sub(" ", _COMMENT.sub(" ", text))
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    title = lines[first].strip() if lines else ""
    counts: dict[str, dict[float, float]] = {}
    frames: list[tuple[str, int]] = []
    paths: list[str] = []
    named: list[str] = []
    dotted: list[str] = []
    _add(counts, title, TITLE)
    named += names_in(title)
    dotted += _DOTTED.findall(title)
    paths += _PATH.findall(title)
    fenced = in_environment = False
    for line in lines[first + 1 :]:
        if _FENCE.match(line):
            fenced = not fenced
            continue
        if _HEADING.match(line) and not fenced:
            in_environment = bool(_ENVIRONMENT.search(line))
            continue
        if not line.strip() or _VERSION_LINE.match(line) or in_environment:
            continue
        frame = _FRAME.match(line) or _AT_FRAME.match(line) or _FRAME_LOOSE.match(line)
        if frame:
            number = next((group for group in frame.groups()[1:2] if group and group.isdigit()), "0")
            frames.append((frame[1] if frame.re is not _FRAME_LOOSE else line.strip().split(" in ")[0].split(":")[0], int(number)))
            _add(counts, line, TRACE)
        elif _ERROR.match(line):
            _add(counts, line, ERROR)
            named += names_in(line)
            dotted += _DOTTED.findall(line)
        elif fenced or line.startswith(("    ", "\t", ">>>", "...", "In [", "$ ")):
            _add(counts, line, CODE)
            named += names_in(line)
            dotted += _DOTTED.findall(line)
            paths += _PATH.findall(line)
        else:
            _add(counts, line, PROSE)
            for inline in _INLINE.findall(line):
                _add(counts, inline, INLINE)
                named += [inline] if inline.isidentifier() else []
            named += names_in(line)
            dotted += _DOTTED.findall(line)
            paths += _PATH.findall(line)
    terms = {term: sum(weight * 2 * n / (1 + n) for weight, n in places.items()) for term, places in counts.items()}
    return Report(
        title, terms, tuple(dict.fromkeys(named)), tuple(dict.fromkeys(dotted)), urls, tuple(frames), tuple(dict.fromkeys(paths))
    )


def _add(counts: dict[str, dict[float, float]], text: str, weight: float) -> None:
    for identifier in words(text):
        for term in split(identifier):
            if term in STOP_WORDS or len(term) < 2 or term.isdigit():
                continue
            places = counts.setdefault(term, {})
            places[weight] = places.get(weight, 0.0) + 1.0
