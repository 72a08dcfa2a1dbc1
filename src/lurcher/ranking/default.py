"""The file-first ranking: files are ranked by a weighted sum of evidence, then their units are ordered (see `places`).

    x = H/max H + Σ weight · evidence,  times the noise factors

Files come first because most evidence is about a file: its name, its folders, what it defines, how much of it is about the
question.
"""

from __future__ import annotations

from functools import partial

from lurcher.config import Settings
from lurcher.lanes import FileScores, best_units_by_file, order_units, top_positions
from lurcher.query import LANGUAGE, REPORT, SYMBOL, Plan
from lurcher.ranking import (
    Context,
    Ranking,
    UnorderedTail,
    collect_lane_whys,
    defer_why,
    places,
    prefetch_whys,
    weigh_installed_lanes,
)  # fmt: skip
from lurcher.ranking.evidence import (
    explain_noise,
    get_inline_factor,
    noise_factors,
    score_content,
    score_definitions,
    score_dense,
    score_file_name,
    score_folders,
    score_phrase,
    score_stem,
    score_types,
    weigh_units,
)  # fmt: skip
from lurcher.runtime.kernel import np
from lurcher.storage.snapshot import Snapshot
from lurcher.types import StageWhy, Why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MIN_DEFINITION_STRENGTH = {SYMBOL: 0.0, LANGUAGE: 0.6, REPORT: 1.0}
"""By intent: a file shows the unit that defines a queried name if the match is stronger than this, else its best unit."""

# -- weights of short queries -----------------------------------------------------------------------------------------------
# Chosen on the development repositories of the code set with the built-in term table present (0.8993 NDCG@10), and checked on
# the titles of the issue set.

HARMONIC_POWER = 1.4
"""A file's chunks count 1/rank^power, here and for reports. 1.2, with `lexical.VARIANT`, took questions of the code set from
0.8582 to 0.8642; 1.4 came with the rarity of word groups (0.8840 over all, issue texts 0.712 MRR)."""
NAME = 0.3
"""How much of the file's name the query explains."""
NAME_CHANGE = 0.2
"""The same, when the query reports a fault or asks for a change: together with reading reports by their parts, issue titles
went from 0.53 to 0.62 MRR."""
NAME_WHOLE = 0.1
"""Bonus when every word of the file's name is explained."""
FOLDER = 0.2
"""Share of the query found in the last three folders."""
TYPES = 0.4
"""The file defines a type whose name the query explains. At first 0.3, which gained 0.0015 on questions with a NAME of 0.5;
both were chosen again with the term table present."""
DEFINITION = 0.3
"""The file defines a name that the query uses."""
DEFINITION_SYMBOL = 0.7
"""The same, when the query is a name."""
STEM_SYMBOL = 0.5
"""The file is named like the queried symbol: symbol queries 0.950 to 0.980 on repositories held out."""
PHRASE = 0.1
"""The file contains a query of a few words as it stands. The code set does not move, with it or without: few of its queries
occur word for word."""
DENSE_CARD = 0.30
"""The file's card is near: name, folders, comments, definitions. With DENSE_CHUNK, 0.886 to 0.897 on repositories held out;
from 0.25 and 0.15 to these, 0.8968 to 0.8989 over files."""
DENSE_CHUNK = 0.20
"""The three nearest units of the file are near."""

# -- weights of long queries: issue reports, stack traces -------------------------------------------------------------------
# Chosen on the development issues: whole texts 0.63 to 0.70 MRR. The optimum is flat. Import neighbours (whole texts
# 0.7119 MRR without, 0.7066 with a weight of 0.05; code set 0.8993 and 0.8988 with 0.03) and the dense lane did not help.

REPORT_NAME = 0.2
REPORT_DEFINITION = 0.25
"""The file defines a name of the report; names that many files define count less."""
REPORT_DOTTED = 0.05
"""A dotted name resolves to the file."""
REPORT_URL = 0.5
"""A URL names the file."""
REPORT_TRACE = 0.5
"""The file is in the stack trace, deepest frame first."""
REPORT_MENTIONED = 0.1
"""The report names the file's path."""

Evidence = tuple[str, float, "NDArray[np.float64]"]


def lanes(plan: Plan, settings: Settings) -> tuple[str, ...]:
    """The lanes that this ranking uses; cosines say little about a name."""
    return tuple(lane for lane in plan.lanes if lane != "dense" or plan.intent == LANGUAGE)


def rank(context: Context) -> Ranking:
    installed = weigh_installed_lanes(context)
    evidence = _collect_evidence(context) + [
        (lane, weight, _scale_to_largest(find_best_by_file(context.snapshot, scores))) for lane, weight, scores in installed
    ]
    x = _sum_evidence(evidence, context.snapshot.file_total)
    near = score_dense(context, x, DENSE_CARD, DENSE_CHUNK) if context.plan.intent == LANGUAGE else None
    if near is not None:
        x += near
        weight = DENSE_CARD + DENSE_CHUNK
        evidence.append(("dense", weight, near / weight))
    x, files = _apply_penalties(context, x, noise_factors(context))
    scale = sum(weight for _, weight, _ in evidence)
    leads = _choose_lead_units(context, files, [scores for _, _, scores in installed])
    values = x[files] / scale
    first = top_positions(context.snapshot, files, values, places.FILES)
    best, their_scores = files[first].tolist(), values[first].tolist()
    context.best_files = _put_in_order(context, best, their_scores)
    ordered, scores = places.order_places(context, best, their_scores, leads[first].tolist())
    more = _order_rest(context, ordered, leads, values, min(scores, default=0.0), x)

    scaled = StageWhy("scale", factor=1 / scale, note="of what all evidence together can give")

    of_files: dict[int, list[StageWhy]] = {}

    def explain_evidence(file: int) -> list[StageWhy]:
        amounts = [(kind, float(weight * values[file])) for kind, weight, values in evidence]
        return [StageWhy(kind, None, amount, context.notes.get((kind, file), "")) for kind, amount in amounts if amount]

    waiting: list[int] = []
    """Units whose ranks in lanes are computed together, once somebody reads the reasons for one of them."""

    def explain(unit: int, score: float, file: int, total: float) -> Why:
        if waiting:
            prefetch_whys(context, waiting)
            waiting.clear()
        if file not in of_files:
            of_files[file] = explain_evidence(file)
        stages = [*of_files[file], *explain_noise(context, unit), scaled]
        placed = total / scale * (get_inline_factor(context, unit) or 1.0)
        if score != placed:
            stages.append(StageWhy("place", score / placed, note="how well this place of the file fits"))
        return Why(collect_lane_whys(context, unit), total, tuple(stages))

    def why(unit: int, score: float) -> Why:
        file = int(context.snapshot.unit_file[unit])
        total = float(x[file])
        if not total:
            raise context.snapshot.segments[0].container.corrupt("its files share units")
        return defer_why(partial(explain, unit, score, file, total))

    return Ranking(np.array(ordered, np.int64), np.array(scores), why, more, waiting.extend)


def _collect_evidence(context: Context) -> list[Evidence]:
    """Every piece of evidence with its weight, for the plan's intent."""
    body = score_content(context, HARMONIC_POWER)
    if context.plan.intent == REPORT:
        from lurcher.ranking.report_evidence import score_dotted_names, score_mentioned_paths, score_trace, score_urls

        return [
            ("content", 1.0, _scale_to_largest(body)),
            ("name", REPORT_NAME, score_file_name(context)[0]),
            ("definition", REPORT_DEFINITION, score_definitions(context, shared=True)),
            ("dotted", REPORT_DOTTED, score_dotted_names(context)),
            ("url", REPORT_URL, score_urls(context)),
            ("trace", REPORT_TRACE, score_trace(context)),
            ("mentioned", REPORT_MENTIONED, score_mentioned_paths(context)),
        ]
    if context.plan.intent == SYMBOL:
        return [
            ("content", 1.0, _scale_to_largest(body)),
            ("definition", DEFINITION_SYMBOL, score_definitions(context)),
            ("stem", STEM_SYMBOL, score_stem(context)),
        ]
    names, whole = score_file_name(context)
    return [
        ("content", 1.0, _scale_to_largest(body)),
        ("name", NAME_CHANGE if context.plan.change else NAME, names),
        ("name-whole", NAME_WHOLE, whole),
        ("types", TYPES, score_types(context)),
        ("folder", FOLDER, score_folders(context)),
        ("definition", DEFINITION, score_definitions(context)),
        *_collect_phrase(context),
    ]


def _sum_evidence(evidence: Sequence[Evidence], files: int) -> NDArray[np.float64]:
    sums = np.zeros(files)
    for _, weight, values in evidence:
        sums += weight * values
    return sums


def _apply_penalties(
    context: Context, x: NDArray[np.float64], factors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The sums times the noise factors, zero for files that may not answer; and the files that still have a score."""
    x = x * factors
    x[~context.allowed] = 0
    return x, np.flatnonzero((x > 0) & (context.snapshot.unit_counts > 0))


def _collect_phrase(context: Context) -> list[Evidence]:
    if "literal" not in context.lanes:
        return []
    return [("phrase", PHRASE, score_phrase(context))]


def _scale_to_largest(values: NDArray[np.float64]) -> NDArray[np.float64]:
    highest = values.max(initial=0.0)
    return values / highest if highest > 0 else values


def _put_in_order(context: Context, files: list[int], scores: list[float]) -> list[tuple[int, float]]:
    rank = context.snapshot.path_rank
    return sorted(zip(files, scores, strict=True), key=lambda entry: (-entry[1], rank[entry[0]]))


def _choose_lead_units(
    context: Context, files: NDArray[np.int64], installed: Sequence[NDArray[np.float64]]
) -> NDArray[np.int64]:
    """The unit that each file shows first: the one that defines the queried name, else the best by BM25, else the one with the
    largest cosine, else the best of an installed lane."""
    snapshot = context.snapshot
    best = snapshot.first_unit.copy()
    for lane in reversed(installed):
        _set_best_units(best_units_by_file(snapshot, lane), best)
    if context.nearest is not None:
        best[snapshot.unit_file[context.nearest]] = context.nearest
    _set_best_units(weigh_units(context).files, best)
    strongest: dict[int, float] = {}
    for match in context.symbols:
        if match.strength > strongest.get(match.file, MIN_DEFINITION_STRENGTH[context.plan.intent]):
            strongest[match.file] = match.strength
            best[match.file] = match.unit
    chosen: NDArray[np.int64] = best[files]
    return chosen


def _set_best_units(files: FileScores, best: NDArray[np.int64]) -> None:
    """Set `best` to the best unit of each file that has a score."""
    scored = np.flatnonzero(files.scored)
    best[scored] = files.units[scored]


def find_best_by_file(snapshot: Snapshot, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each file's best unit score."""
    return best_units_by_file(snapshot, scores).best


def _order_rest(
    context: Context, placed: list[int], leads: NDArray[np.int64], values: NDArray[np.float64], ceiling: float,
    x: NDArray[np.float64],
) -> UnorderedTail:  # fmt: skip
    """The first units of all other files by their score, then every other matching unit; all below what has a place already."""
    found, snapshot = weigh_units(context), context.snapshot
    without_score = len(leads) - int(np.count_nonzero(found.scores[leads]))
    count = int(found.files.scored[x > 0].sum()) + without_score - len(placed)

    def order() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        left = (found.scores > 0) & (x[snapshot.unit_file] > 0)
        left[leads] = True
        left[np.array(placed, np.int64)] = False
        behind = np.flatnonzero(left[leads])
        behind = behind[order_units(snapshot, leads[behind], values[behind])]
        left[leads] = False
        units = np.flatnonzero(left)
        files = snapshot.unit_file[units]
        best = found.files.best[files]
        if len(behind) + len(units) != count or not best.all():
            raise snapshot.segments[0].container.corrupt("its files share units")
        firsts = ceiling * (values[behind] / (values.max(initial=0.0) or 1.0))
        lowest = firsts.min() if len(firsts) else ceiling
        shares = lowest * (x[files] / (x.max(initial=0.0) or 1.0) * (found.scores[units] / best))
        ordered = order_units(snapshot, units, shares)
        return np.concatenate((leads[behind], units[ordered])), np.concatenate((firsts, shares[ordered]))

    return UnorderedTail(count, order)
