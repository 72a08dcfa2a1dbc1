"""Measures of lines: what an agent that reads the places from the first on has seen of the lines that answer its question.

What it has seen within a number of tokens is measured on the answer to the query with that budget. Each place is read whole,
as it is shown: a heading with its path and lines, then its text, in exact tokens. Lines shown twice are paid for twice and
count once. A line counts as read if the tokens up to its end fit the budget, so of a long place that does not fit, the
beginning counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lurcher.answer import count_tokens
from lurcher.types import Hit

BUDGETS = (500, 1000, 2000, 4000, 8000)
PRECISION_BUDGET = 2000
NEVER = 50_000
"""Tokens after which reading ends; a question none of whose lines was read by then counts as this many."""
GRADED_DEPTH = 10
FIRST_LINE = "first_line_tokens"
Range = tuple[int, int]
Gold = Mapping[str, Sequence[Range]]
"""Path → ranges of lines, from 1 and inclusive, disjoint and in order (`merge_ranges`)."""


class Read(NamedTuple):
    path: str
    line: int
    tokens: float
    """All that was read up to the end of this line."""


def merge_ranges(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """The same lines as ranges that neither overlap nor touch."""
    merged: list[Range] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def read_in_order(hits: Iterable[Hit], at_most: float = NEVER) -> Iterator[Read]:
    """Every line of the hits with the tokens spent until its end; within a hit they are spread by length."""
    spent = 0.0
    for hit in hits:
        spent += count_tokens(f"{hit.path}:{hit.start_line}-{hit.end_line}\n")
        for header, signature in hit.headers:
            spent += count_tokens(f"{signature} …\n")
            if spent > at_most:
                return
            yield Read(hit.path, header, spent)
        lines = hit.text.removesuffix("\n").split("\n")
        each = count_tokens(hit.text) / (sum(map(len, lines)) + len(lines))
        for number, line in enumerate(lines, hit.start_line):
            spent += (len(line) + 1) * each
            if spent > at_most:
                return
            yield Read(hit.path, number, spent)


def graded_ndcg(hits: Sequence[Hit], gold: Gold, k: int = GRADED_DEPTH) -> float:
    """NDCG whose gain is the share of each gold range that a hit is the first to cover.

    A hit gains Σ (lines of the range in this hit and in none before) / (lines of the range), over all ranges; so a range
    gives 1 at most, once, however many hits share it. The ideal has one whole range at each rank. A hit that covers
    several ranges can exceed it: the result is capped at 1.
    """
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, sum(map(len, gold.values()))) + 1))
    covered: set[tuple[str, int]] = set()
    gained = 0.0
    for rank, hit in enumerate(hits[:k], 1):
        for first, last in gold.get(hit.path, ()):
            inside = range(max(first, hit.start_line), min(last, hit.end_line) + 1)
            fresh = {(hit.path, line) for line in inside} - covered
            gained += len(fresh) / (last - first + 1) / math.log2(rank + 1)
            covered |= fresh
    return min(1.0, gained / ideal) if ideal else 0.0


def line_scores(hits: Sequence[Hit], gold: Gold, pages: Mapping[int, Sequence[Hit]] | None = None) -> dict[str, float]:
    """The graded NDCG, the share of gold lines in each budget, precision, and tokens until the first gold line.

    `hits` has one hit per place, and so has each of `pages`: the answers within the budgets. A budget without one is read off
    `hits`. The first gold line is looked for in the page of `PRECISION_BUDGET`, then in the largest, then in `hits`.
    """
    wanted = {(path, line) for path, ranges in gold.items() for first, last in ranges for line in range(first, last + 1)}
    pages = pages or {}
    scores = {f"graded_ndcg@{GRADED_DEPTH}": graded_ndcg(hits, gold)}
    for budget in BUDGETS:
        seen = {(read.path, read.line) for read in read_in_order(pages.get(budget, hits), budget)}
        scores[f"lines@{budget}t"] = len(seen & wanted) / len(wanted) if wanted else 0.0
        if budget == PRECISION_BUDGET:
            scores[f"precision@{budget}t"] = len(seen & wanted) / len(seen) if seen else 0.0
    orders = (pages.get(PRECISION_BUDGET, ()), pages.get(BUDGETS[-1], ()), hits)
    reads = (read for shown in orders for read in read_in_order(shown))
    scores[FIRST_LINE] = next((read.tokens for read in reads if (read.path, read.line) in wanted), float(NEVER))
    return scores
