"""Chooses the hits of one page, best first, within a token budget, and counts tokens (cl100k_base).

Pages partition the results, and no hit is cut to fit. A hit that does not fit what is left of this page waits for the next
one, so a page begins at a position plus the hits before it that still wait (`PackState`).
"""

from __future__ import annotations

from itertools import pairwise

from lurcher.errors import CursorError, QueryError
from lurcher.runtime.light import TYPE_CHECKING, dataclass, lru_cache

if TYPE_CHECKING:
    from collections.abc import Callable


MAX_WAITING = 64
"""How many hits may wait at once. Bounds the length of a cursor, and how far a small hit may overtake larger ones."""
CHARACTERS_PER_TOKEN = 4
_MAX_CACHED_CHARS = 8000
"""Counts of texts with more characters are not cached."""


@dataclass(frozen=True, slots=True)
class PackState:
    """Where a page begins: all results before `position` were shown or reported, except those `waiting`."""

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
    """Results larger than the whole budget; each is reported on one page only."""
    next: PackState | None
    """Where the next page begins; None when nothing is left. A next page always has something to show."""

    @property
    def tokens(self) -> int:
        return sum(self.costs)


def pack(
    cost: Callable[[int], int], total: int, *, budget: int | None, limit: int, start: PackState = START,
    patience: int = MAX_WAITING,
) -> Page:  # fmt: skip
    """Fill one page from results 0 … total - 1, which are in score order; `cost(i)` is called at most once per result.

    Stop after `patience` hits that do not fit the budget.
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
    # Without looking ahead, results that end with oversized hits would lead to an empty next page.
    if budget is not None and not waiting:
        while position < total and cost(position) > budget:
            oversized.append(position)
            position += 1

    more = position < total or bool(waiting)
    return Page(tuple(shown), tuple(costs), tuple(oversized), PackState(position, tuple(waiting)) if more else None)


def estimate_tokens(text: str) -> int:
    """Roughly how many tokens the text has: a quarter of its characters, rounded up. Not a bound: see `count`."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def count_tokens(text: str) -> int:
    """Exactly how many cl100k_base tokens the text has; the spelling of a special token counts as ordinary text."""
    return _count_uncached(text) if len(text) > _MAX_CACHED_CHARS else _count_cached(text)


def _count_uncached(text: str) -> int:
    if not text:
        return 0
    from lurcher.answer.token_table import load_counter

    count = load_counter()
    try:
        return count(text)
    except UnicodeEncodeError:
        return count(_replace_lone_surrogates(text))


_count_cached = lru_cache(maxsize=1024)(_count_uncached)
"""A server shows the same units for one query after another."""


def _replace_lone_surrogates(text: str) -> str:
    """Joins surrogate pairs and replaces lone ones by U+FFFD, as tiktoken does, because UTF-8 cannot encode them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
