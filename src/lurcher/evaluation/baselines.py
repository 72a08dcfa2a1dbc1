"""What lurcher is compared with: three ways in which an agent greps, and any other program through a small adapter.

Each is a searcher as the harness takes it. The greps run ripgrep if it is on the path, and otherwise the same search in Python:
both find the same matches, and the run says which it was.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from lurcher.answer import count_tokens
from lurcher.errors import DatasetError
from lurcher.evaluation.spans import Range, merge_ranges
from lurcher.evaluation.trees import SKIPPED, list_files
from lurcher.terms.vocabulary import STOP_WORDS
from lurcher.types import Answer, Hit, IndexState, Why

FILES, LINES, RARE = "grep-files", "grep-lines", "grep-rare"
BASELINES = (FILES, LINES, RARE)
CONTEXT = 10
"""Lines shown before and after a match."""
MAX_FILE = 1_000_000
MAX_WORDS = 30
"""Words taken of a question, in its order: nobody greps for every word of a long report."""
MIN_LETTERS = 3
RARE_SHARE = 0.02
"""A word in at most this share of the files is rare; of 2, 5, 10 and 20 %, the first right line came soonest."""
FEWEST_RARE = 3
"""If fewer words than this are rare, the rarest of the others are taken too."""
PEER_SECONDS = 600
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IDENTIFIER = re.compile(r"_|[a-z0-9][A-Z]|[A-Za-z][0-9]")
Matches = Mapping[str, Mapping[int, set[str]]]
"""Path → line → the words found in it."""
Find = Callable[[Path, Sequence[str]], Matches]


def open_baseline(name: str) -> Callable[[Path], AbstractContextManager[GrepSearcher]]:
    """Opens a folder as the harness does, for one of the three greps."""
    if name not in BASELINES:
        raise DatasetError(f"there is no baseline {name}", hint=f"choose from {', '.join(BASELINES)}")

    @contextmanager
    def open_folder(folder: Path) -> Iterator[GrepSearcher]:
        yield GrepSearcher(folder, name)

    return open_folder


def open_peer(command: str) -> Callable[[Path], AbstractContextManager[PeerSearcher]]:
    """Opens a folder as the harness does, for another program."""

    @contextmanager
    def open_folder(folder: Path) -> Iterator[PeerSearcher]:
        yield PeerSearcher(folder, command)

    return open_folder


# -- the greps ---------------------------------------------------------------------------------------------------------


def content_words(question: str) -> list[str]:
    """The words to grep for, in small letters: names and words of three letters and more that are not stop words."""
    words = dict.fromkeys(word.lower() for word in _NAME.findall(question) if len(word) >= MIN_LETTERS)
    return [word for word in words if word not in STOP_WORDS][:MAX_WORDS]


def identifiers(question: str) -> set[str]:
    """The words that are written as names in code are: with an underscore, a capital inside or a digit."""
    return {word.lower() for word in _NAME.findall(question) if _IDENTIFIER.search(word)}


def rare_words(question: str, frequency: Mapping[str, int], files: int) -> list[str]:
    """The identifiers of the question and its rare words, out of those that occur at all."""
    known = [word for word in content_words(question) if frequency.get(word)]
    named = identifiers(question)
    kept = [word for word in known if word in named or frequency[word] <= RARE_SHARE * files]
    others = sorted((word for word in known if word not in kept), key=lambda word: frequency[word])
    return kept + others[: max(0, FEWEST_RARE - len(kept))]


def find_words(root: Path, words: Sequence[str]) -> Matches:
    """Every line with one of the words, in any case and inside other words too, by ripgrep or without it."""
    program = ripgrep()
    return find_with_ripgrep(program, root, words) if program else find_with_python(root, words)


def ripgrep() -> str | None:
    return shutil.which("rg")


def ripgrep_version() -> str:
    """What does the searching, for the record of a run."""
    program = ripgrep()
    if program is None:
        return "python"
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return (done.stdout.splitlines() or ["ripgrep"])[0]


def find_with_ripgrep(program: str, root: Path, words: Sequence[str]) -> Matches:
    if not words:
        return {}
    ignored = [f"--glob=!{name}/" for name in sorted(SKIPPED)]
    patterns = [part for word in _longest_first(words) for part in ("-e", word)]
    done = subprocess.run(
        [
            program, "--no-config", "--no-messages", "--color=never", "--no-heading", "--with-filename", "--line-number",
            "--only-matching", "--ignore-case", "--no-unicode", "--fixed-strings", "--null", "--hidden", "--no-ignore",
            f"--max-filesize={MAX_FILE}", *ignored, *patterns, "--", ".",
        ],
        cwd=root, stdin=subprocess.DEVNULL, capture_output=True, check=False,
    )  # fmt: skip
    found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in done.stdout.split(b"\n"):
        path, zero, rest = row.partition(b"\0")
        line, colon, word = rest.partition(b":")
        if zero and colon and line.isdigit():
            name = path.removeprefix(b"./").decode("utf-8", "surrogateescape")
            found[name][int(line)].add(word.decode("ascii", "replace").lower())
    # It reads a binary file up to the first zero byte, or not at all, depending on how it reads.
    return {path: lines for path, lines in found.items() if b"\0" not in _content(root / path)}


def find_with_python(root: Path, words: Sequence[str]) -> Matches:
    if not words:
        return {}
    pattern = re.compile(b"|".join(re.escape(word.encode()) for word in _longest_first(words)), re.IGNORECASE)
    found: dict[str, dict[int, set[str]]] = {}
    for path in list_files(root):
        content = _content(root / path)
        if b"\0" in content or not pattern.search(content):
            continue
        lines = ((number, pattern.findall(line)) for number, line in enumerate(content.split(b"\n"), 1))
        found[path] = {number: {word.decode().lower() for word in matched} for number, matched in lines if matched}
    return found


def _longest_first(words: Iterable[str]) -> list[str]:
    return sorted(words, key=lambda word: (-len(word), word))


def _content(path: Path) -> bytes:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_FILE:
            return b""
        return path.read_bytes()
    except OSError:
        return b""


def tuned_grep_output(question: str, files: Iterable[Path]) -> int:
    """The characters that a grep would print of some files if it were tuned in hindsight: the lines around each match of the
    question's identifiers, and of those three other words that match the fewest lines here."""
    words, named = content_words(question), identifiers(question)
    found: dict[str, dict[Path, set[int]]] = defaultdict(dict)
    texts: dict[Path, bytes] = {}
    for file in files:
        content = _content(file)
        if b"\0" not in content:
            texts[file] = content
            for word, lines in _matching_lines(content.lower(), words).items():
                found[word][file] = lines
    counts = {word: sum(map(len, matches.values())) for word, matches in found.items()}
    others = sorted((word for word in words if word in found and word not in named), key=lambda word: counts[word])
    kept = [word for word in words if word in found and word in named] + others[:FEWEST_RARE]
    printed = 0
    for file, content in texts.items():
        rows = content.split(b"\n")
        matched = set().union(*(found[word].get(file, set()) for word in kept))
        around = merge_ranges((max(1, line - CONTEXT), min(len(rows), line + CONTEXT)) for line in matched)
        printed += sum(len(row) + 1 for first, last in around for row in rows[first - 1 : last])
    return printed


def _matching_lines(content: bytes, words: Iterable[str]) -> dict[str, set[int]]:
    """The lines that have each of the words; those without a match are left out."""
    found: dict[str, set[int]] = {}
    for word in words:
        wanted = word.encode()
        at, line, lines = content.find(wanted), 1, set()
        seen = 0
        while at >= 0:
            line += content.count(b"\n", seen, at)
            lines.add(line)
            seen = at
            end = content.find(b"\n", at)
            at = content.find(wanted, end) if end >= 0 else -1
        if lines:
            found[word] = lines
    return found


class GrepSearcher:
    """One of the three ways.

    - grep-files: all content words; whole files
    - grep-lines: all content words; the lines around matches
    - grep-rare: only identifiers and rare words; the lines around matches

    Files come by their distinct words, then by their matching lines; so do the places of a file. By matching lines alone, the
    first right line came after 2.5 to 3 times as many tokens (98 questions).
    """

    def __init__(self, root: Path, way: str, find: Find = find_words) -> None:
        self._root = root
        self._way = way
        self._find = find
        self._files = len(list_files(root))

    def search(self, text: str, *, limit: int, **options: Any) -> Answer:
        matches = self._find(self._root, content_words(text))
        if self._way == RARE:
            matches = self._only_rare(text, matches)

        def weight(path: str, first: int, last: int) -> tuple[int, int]:
            inside = [words for line, words in matches[path].items() if first <= line <= last]
            return -len(set().union(*inside)), -len(inside)

        hits: list[Hit] = []
        for path in sorted(matches, key=lambda path: (*weight(path, 1, MAX_FILE), path)):
            if len(hits) >= limit:
                break
            lines = read_lines(self._root / path)
            ranges: Sequence[Range] = [(1, len(lines))]
            if self._way != FILES:
                around = ((max(1, line - CONTEXT), min(len(lines), line + CONTEXT)) for line in matches[path])
                ranges = sorted(merge_ranges(around), key=lambda place: (*weight(path, *place), place))
            hits += [make_hit(path, first, last, lines) for first, last in ranges]
        return make_answer(text, hits[:limit])

    def _only_rare(self, text: str, matches: Matches) -> Matches:
        frequency: dict[str, int] = defaultdict(int)
        for lines in matches.values():
            for word in set().union(*lines.values()):
                frequency[word] += 1
        kept = set(rare_words(text, frequency, self._files))
        narrowed = {
            path: {line: words & kept for line, words in lines.items() if words & kept} for path, lines in matches.items()
        }
        return {path: lines for path, lines in narrowed.items() if lines}


# -- other programs ----------------------------------------------------------------------------------------------------


class PeerSearcher:
    """A program that gets the folder as its last argument and the question on its standard input.

    It prints one JSON object per line, best first: {"path", "start", "end"}, the path relative to the folder.
    """

    def __init__(self, root: Path, command: str) -> None:
        self._root = root.resolve()
        self._command = shlex.split(command)
        if not self._command:
            raise DatasetError("the command of the peer is empty", hint='write --peer "PROGRAM ARGUMENTS"')

    def search(self, text: str, *, limit: int, **options: Any) -> Answer:
        try:
            done = subprocess.run(
                [*self._command, str(self._root)],
                input=text.encode("utf-8", "replace"), capture_output=True, timeout=PEER_SECONDS, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DatasetError(f"the peer does not run: {error}", hint="try the command on its own") from None
        if done.returncode not in (0, 1):  # 1: nothing found, as with grep
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise DatasetError(
                f"the peer ended with status {done.returncode}: {said[-1] if said else 'no message'}",
                hint="try the command on its own",
            )
        rows = [row for row in done.stdout.decode("utf-8", "replace").split("\n") if row.strip()]
        return make_answer(text, [self._hit(row) for row in rows[:limit]])

    def _hit(self, row: str) -> Hit:
        try:
            item = json.loads(row)
            path, first, last = item["path"], item["start"], item["end"]
            if not isinstance(path, str) or type(first) is not int or type(last) is not int or not 1 <= first <= last:
                raise ValueError(row)
            path = (self._root / path).resolve().relative_to(self._root).as_posix()
        except (ValueError, KeyError, TypeError):
            raise DatasetError(
                f"the peer printed {row[:100]!r}", hint='each line must be {"path": "a.py", "start": 1, "end": 9}'
            ) from None
        return make_hit(path, first, last, read_lines(self._root / path))


def read_lines(path: Path) -> list[str]:
    text = _content(path).decode("utf-8", "replace")
    return text.removesuffix("\n").split("\n") if text else []


def make_hit(path: str, first: int, last: int, lines: Sequence[str]) -> Hit:
    """Some lines of a file as a hit; lines beyond its end are not there."""
    text = "".join(f"{line}\n" for line in lines[first - 1 : last])
    last = max(first, min(last, len(lines)))
    return Hit(
        id=f"{path}:{first}", source="code", path=path, start_line=first, end_line=last, language="", symbol=None, kind=None,
        score=0.0, tokens=count_tokens(text), text=text, why=Why(),
    )  # fmt: skip


def make_answer(question: str, hits: Sequence[Hit]) -> Answer:
    return Answer(
        query=question, mode="", intent="", ranking="", sources=("code",), hits=tuple(hits), total=len(hits),
        tokens=sum(hit.tokens for hit in hits), next=None, index=IndexState(0, True, 0),
    )  # fmt: skip
