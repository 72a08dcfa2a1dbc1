"""Hostile questions: random text, names, patterns, filters and cursors, in every mode, to a small engine in this process."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lurcher.engine import Engine
from lurcher.errors import LurcherError
from lurcher.types import CASES, CONTEXTS, MODES
from tests.drills.drill import Drill
from tests.drills.trees import past

WORDS = (
    "redirect", "cookies", "Client", "follow_redirects", "parse_cookie", "Pool.Acquire", "how", "are", "the", "is", "retry",
    "src", "src/client.py", "client.py:12", "getUserById", "HTTPError", "a", "x", "0", "1e309", "TODO", "not", "OR", "AND",
    "*", "**/*.py", "users", "id", "evict expired", "Traceback (most recent call last):", "$X", "$$$A",
    'File "src/client.py", line 9, in send',
)  # fmt: skip
PIECES = (
    "\0", "\x1b[31m", "\r", "\n", "\t", "\x7f", "\x85", "\u00a0", "\u200d", "\u202e", "\ufeff", "\U0001f600", "é", "e\u0301",
    "漢字", "ß", "İ", "\ud800", "\udcff", '"', "'", "`", "\\", "/", "//", "(", ")", "[", "]", "{", "}", "^", "$", "+", "?", "|",
    ".*", "\\d", "\\b", "(?i)", "(?P<a>", "[^", "{2,3}", "%00", "%s", "{0}", ":", ";", "--", "-", "-k", "@", "#", "~", "..",
    "../", "lang:python", "path:src",
)  # fmt: skip
USUAL = 0.9
"""How often an option has a value that it may have."""
PATHS = (
    "src/**", "*.py", "**", "web", "[", "{a,b}", "../**", "/", "", "nothing/**", "\0", "*" * 300, "src/client.py", "!src",
    "\ud800",
)  # fmt: skip
FOUND = (
    "src/client.py", "web/router.ts", "server/pool.go", "docs/guide.md", "src", ".", "..", "/etc/passwd", "nothing.py", "",
    "\0", "a" * 300,
)  # fmt: skip


class Queries(Drill):
    """Each is answered or refused with a reason; answers keep to limit, budget and order, and pages do not overlap."""

    name = "queries"
    short, long = 2_500, 200_000
    cpu_seconds = 10.0
    memory = 2 << 30

    def __init__(self, folder: Path, sources: Sequence[Path]) -> None:
        super().__init__(folder, sources)
        self._engine = Engine.open(past(folder / "shop"), overrides={"index.workers": 1})
        self._engine.index(history=True)
        self._cursors: tuple[str, ...] = tuple(
            str(answer.next) for text in ("redirect", "cookies") if (answer := self._engine.search(text, limit=1)).next
        )
        self._asks: tuple[tuple[int, Callable[[random.Random], str | None]], ...] = (
            (70, self._search), (5, self._symbol), (5, self._exists), (5, self._history), (5, self._notes), (5, self._file),
            (5, self._all),
        )  # fmt: skip

    def attempt(self, chance: random.Random) -> str | None:
        (ask,) = chance.choices([ask for _, ask in self._asks], [weight for weight, _ in self._asks])
        try:
            wrong = ask(chance)
        except LurcherError as error:
            self.counts["refused"] += 1
            return None if error.message.strip() else f"an error without a word: {error!r}"
        self.counts["answered"] += 1
        return wrong

    def _search(self, chance: random.Random) -> str | None:
        text, options = text_of(chance), self._options(chance)
        unchecked = {"refresh": False, "check": False} if chance.random() < 0.9 else {}
        answer = self._engine.search(text, **options, **unchecked)
        wrong = _wrong(answer, options)
        if wrong is None and answer.next and chance.random() < 0.5:
            following = self._engine.search(text, **{**options, "cursor": answer.next}, **unchecked)
            if {hit.id for hit in answer.hits} & {hit.id for hit in following.hits}:
                wrong = "a page has a hit of the page before"
        return wrong and f"{wrong}: {text!r} {options!r}"

    def _options(self, chance: random.Random) -> dict[str, Any]:
        some = chance.sample(sorted(_VALUES), chance.choice((0, 1, 1, 2, 3, 6)))
        options = {name: chance.choice(_VALUES[name][chance.random() >= USUAL]) for name in some}
        if chance.random() < 0.05:
            options["cursor"] = self._cursor(chance)
        if options.get("fusion") != "linear":
            options = {name: value for name, value in options.items() if name not in ("alpha", "mmr") or chance.random() < 0.1}
        return options

    def _cursor(self, chance: random.Random) -> str:
        known = chance.choice(self._cursors) if self._cursors else "abc"
        at = chance.randrange(len(known))
        return chance.choice((known, known[:at], known[:at] + chance.choice("aZ0_-=\0é") + known[at + 1 :], text_of(chance)))

    def _symbol(self, chance: random.Random) -> str | None:
        self._engine.symbol(text_of(chance))
        return None

    def _exists(self, chance: random.Random) -> str | None:
        self._engine.exists(text_of(chance), exact=chance.random() < 0.5, refresh=False, check=False)
        return None

    def _history(self, chance: random.Random) -> str | None:
        options = {name: value for name, value in self._options(chance).items() if name not in _NOT_OF_HISTORY}
        if chance.random() < 0.3:
            options["since"] = chance.choice(("30d", "2020-01-01", "v1", "-1d", "9" * 30 + "d", "0000-00-00", text_of(chance)))
        if chance.random() < 0.2:
            options["author"] = text_of(chance)
        return _wrong(self._engine.history(text_of(chance), refresh=False, **options), options)

    def _notes(self, chance: random.Random) -> str | None:
        options = {name: value for name, value in self._options(chance).items() if name in _OF_NOTES}
        return _wrong(self._engine.notes(text_of(chance), refresh=False, **options), options)

    def _all(self, chance: random.Random) -> str | None:
        options = {name: value for name, value in self._options(chance).items() if name in ("limit", "budget", "mode")}
        sources = ["code", "notes", "history"]
        return _wrong(self._engine.search(text_of(chance), sources=sources, refresh=False, check=False, **options), options)

    def _file(self, chance: random.Random) -> str | None:
        path = chance.choice(FOUND) if chance.random() < 0.7 else text_of(chance)
        chance.choice((
            lambda: self._engine.outline(path, refresh=False, check=False),
            lambda: self._engine.impact(path, refresh=False, check=False),
            lambda: self._engine.context(path, refresh=False, check=False),
            lambda: self._engine.why(path, text_of(chance), refresh=False),
            lambda: self._engine.related(path, chance.choice((0, 1, 5, -1, 10**9)), refresh=False, check=False),
            lambda: self._engine.graph(path, hops=chance.choice((0, 1, 2, -1, 99)), refresh=False, check=False),
        ))()  # fmt: skip
        return None

    def close(self) -> None:
        self._engine.close()


_VALUES: dict[str, tuple[Sequence[Any], Sequence[Any]]] = {
    "mode": (MODES, ("nothing", "", "../x")),
    "limit": ((1, 2, 5, 10, 100), (0, 10**6, -1, 1 << 70)),
    "languages": ((["python"], ["go", "typescript"], []), (["nothing"], [""], ["PYTHON"])),
    "paths": ((["src/**"], ["*.py", "web"], ["**"], ["!src"]), [[path] for path in PATHS]),
    "excludes": ((["src/**"], ["*.py", "web"], ["nothing/**"]), [[path] for path in PATHS]),
    "budget": ((1, 50, 500, 100_000), (0, -5, 1 << 70)),
    "context": (CONTEXTS, ("file", "")),
    "snippet_lines": ((1, 3, 1000), (0, -1, 1 << 40)),
    "fixed": ((True,), (False,)),
    "case": (CASES, ("x", "")),
    "word": ((True,), (False,)),
    "multiline": ((True,), (False,)),
    "ranking": (("default", "classic"), ("nothing", "../x", "cosine")),
    "fusion": (("rrf", "linear"), ("nothing",)),
    "alpha": ((0.0, 0.5, 1.0), (-1.0, float("nan"), float("inf"))),
    "mmr": ((0.0, 0.5, 1.0), (2.0, float("nan"))),
    "rerank": (([],), (["nothing"],)),
}
_OF_NOTES = ("limit", "mode", "budget", "paths", "excludes", "context", "snippet_lines")
_NOT_OF_HISTORY = ("fixed", "case", "word", "multiline")


def text_of(chance: random.Random) -> str:
    """A question: words, mostly, and what nobody would type."""
    turn = chance.random()
    if turn < 0.3:
        return " ".join(chance.choices(WORDS, k=chance.choice((1, 1, 2, 4, 9))))
    if turn < 0.8:
        kinds = (PIECES if chance.random() < 0.4 else WORDS for _ in range(chance.choice((1, 2, 3, 6, 20))))
        return "".join(chance.choice(kind) + chance.choice(("", " ")) for kind in kinds)
    if turn < 0.9:
        ranges = (chance.choice((0x80, 0x3000, 0x110000)) for _ in range(chance.randrange(30)))
        return "".join(chr(chance.randrange(most)) for most in ranges)
    if turn < 0.93:
        return chance.choice(PIECES + WORDS) * chance.choice((30, 300, 2000))
    return "/" + "".join(chance.choice(PIECES + WORDS) for _ in range(chance.randrange(1, 6))) + "/"


def _wrong(answer: Any, options: dict[str, Any]) -> str | None:
    """What an answer does that it must not, whatever was asked."""
    limit = options.get("limit")
    if limit is not None and len(answer.hits) > limit:
        return f"{len(answer.hits)} hits where {limit} were asked for"
    if len({hit.id for hit in answer.hits}) != len(answer.hits):
        return "a hit comes twice"
    if any(hit.start_line < 1 or hit.end_line < hit.start_line for hit in answer.hits if hit.start_line is not None):
        return "a hit has no lines"
    answer.to_dict()
    return None


DRILL = Queries
