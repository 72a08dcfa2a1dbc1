"""Chooses the hits of one page: best first, under a hard ceiling of tokens, nothing cut short.

Pages partition the results. A hit that does not fit what is left of this page waits for the next one, so the place
where the next page begins is more than a position: it is a position and the hits before it that still wait.
"""

from __future__ import annotations

from itertools import pairwise

from lurcher.errors import CursorError, MissingExtra, QueryError
from lurcher.runtime.light import TYPE_CHECKING, cache, dataclass, lru_cache

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


MAX_WAITING = 64
"""How many hits may wait at once: bounds the cursor's length and how far below its rank a small hit is preferred."""


@dataclass(frozen=True, slots=True)
class PackState:
    """Where a page begins: everything before `position` was shown or reported, except what is `waiting`."""

    position: int = 0
    waiting: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        bounds = (-1, *self.waiting, self.position)
        if len(self.waiting) > MAX_WAITING or any(a >= b for a, b in pairwise(bounds)):
            raise ValueError(f"not a place in a result list: {self.position}, {self.waiting}")


START = PackState()


@dataclass(frozen=True, slots=True)
class Page:
    indices: tuple[int, ...]
    """The results to show, best first."""
    costs: tuple[int, ...]
    """The cost of each of `indices`."""
    oversized: tuple[int, ...]
    """Results that no page of this budget can hold; each is reported on one page only."""
    next: PackState | None
    """Where the next page begins; None when nothing is left. A next page always has something to show."""

    @property
    def tokens(self) -> int:
        return sum(self.costs)


def pack(
    cost: Callable[[int], int], total: int, *, budget: int | None, limit: int, start: PackState = START,
    patience: int = MAX_WAITING,
) -> Page:  # fmt: skip
    """Fills one page from results 0 … total - 1, in score order; `cost(i)` is asked at most once per result.

    Once `patience` hits wait, none that is smaller is looked for any further down.
    """
    if limit < 1:
        raise QueryError(f"the limit is {limit}; a page holds at least one hit", "use a limit of 1 or more")
    if budget is not None and budget < 1:
        raise QueryError(f"the budget is {budget} tokens; nothing fits", "use a budget of 1 or more, or none")
    if start.position > total:
        raise CursorError("the cursor points past the end of the results", "run the query again without the cursor")

    left = budget
    shown: list[int] = []
    costs: list[int] = []
    waiting: list[int] = []
    oversized: list[int] = []
    position = start.position

    def full() -> bool:
        return len(shown) == limit or left == 0

    def place(index: int) -> None:
        nonlocal left
        price = cost(index)
        if budget is not None and left is not None:
            if price > budget:
                oversized.append(index)
                return
            if price > left:
                waiting.append(index)
                return
            left -= price
        shown.append(index)
        costs.append(price)

    for at, index in enumerate(start.waiting):
        if full():
            waiting.extend(start.waiting[at:])
            break
        place(index)
    while position < total and not full() and len(waiting) < min(patience, MAX_WAITING):
        place(position)
        position += 1
    # Without this look ahead, results that end in oversized ones would promise a next page that is empty.
    if budget is not None and not waiting:
        while position < total and cost(position) > budget:
            oversized.append(position)
            position += 1

    more = position < total or bool(waiting)
    return Page(tuple(shown), tuple(costs), tuple(oversized), PackState(position, tuple(waiting)) if more else None)

# ----------------------------------------------------------------------------------------------------------------------
# What a text costs a language model, in tokens of cl100k_base.


CHARACTERS_PER_TOKEN = 4
_LONG = 8000
"""Characters of a text whose count is not kept for the next time."""


def estimate(text: str) -> int:
    """Roughly how many tokens the text has: a quarter of its characters, rounded up. Not a bound: see `count`."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def count(text: str) -> int:
    """Exactly how many cl100k_base tokens the text has; the spelling of a special token counts as ordinary text."""
    return _counted(text) if len(text) > _LONG else _kept(text)


def _counted(text: str) -> int:
    if not text:
        return 0
    try:
        return int(_encoder().count(text))
    except UnicodeEncodeError:
        return int(_encoder().count(_without_lone_surrogates(text)))


_kept = lru_cache(maxsize=1024)(_counted)
"""A server shows the same units to one question after another."""


@cache
def _encoder() -> Any:
    # Two threads may both get here first: the library keeps one table of its own, so the second call is free.
    try:
        from rs_bpe.bpe import openai
    except ImportError as error:
        raise MissingExtra("token counts need the rs-bpe package", "pip install rs-bpe") from error
    return openai.cl100k_base()


def _without_lone_surrogates(text: str) -> str:
    """Joins surrogate pairs and puts U+FFFD for single ones, as tiktoken does, because UTF-8 cannot spell them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
