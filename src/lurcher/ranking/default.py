"""The file-first ranking: files are ranked by a weighted sum of evidence, then each shows its best unit.

    x = H/max H + Σ weight · evidence,  times the noise factors

Files come first because a question is nearly always answered by a place, not by three chunks of one place; further units of
the same files fill what is left.
"""

from __future__ import annotations

from lurcher.config import Settings
from lurcher.query.intent import LANGUAGE, REPORT, SYMBOL
from lurcher.query.plan import Plan
from lurcher.ranking.context import Context, Ranking, Unordered, expect_whys, lane_whys
from lurcher.ranking.evidence import content, definition, dense, folder, name, noise, types
from lurcher.runtime.arrays import np
from lurcher.runtime.kernel import native
from lurcher.runtime.light import TYPE_CHECKING, partial
from lurcher.settings import DefaultRankingSettings, ReportRankingSettings
from lurcher.storage.order import FileScores, best_first, by_file, largest
from lurcher.storage.snapshot import Snapshot
from lurcher.types import StageWhy, Why

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DEFINING = {SYMBOL: 0.0, LANGUAGE: 0.6, REPORT: 1.0}
"""How sure a definition must be (above this) for its unit to be shown before the file's best one."""

_HEAD = 64
"""So many units are put in order at first: hardly anybody asks for more."""

Evidence = tuple[str, float, "NDArray[np.float64]"]


def lanes(plan: Plan, settings: Settings) -> tuple[str, ...]:
    """The lanes that are made use of: nearness in meaning says little about a name."""
    card, units = _dense_weights(plan, settings)
    left = {"dense": bool(card or units), "literal": bool(settings.default.phrase)}
    return tuple(lane for lane in plan.lanes if left.get(lane, True))


def _dense_weights(plan: Plan, settings: Settings) -> tuple[float, float]:
    """What card and units count."""
    if plan.intent == LANGUAGE:
        return settings.default.dense_card, settings.default.dense_chunk
    return (settings.report.dense / 2, settings.report.dense / 2) if plan.intent == REPORT else (0.0, 0.0)


def _of(context: Context) -> DefaultRankingSettings | ReportRankingSettings:
    return context.settings.report if context.plan.intent == REPORT else context.settings.default


def rank(context: Context) -> Ranking:
    further = _further(context)
    evidence = _gather(context) + [
        (lane, weight, _scaled(file_best(context.snapshot, scores))) for lane, weight, scores in further
    ]
    x = _added_up(evidence, context.snapshot.file_total)
    weights = _dense_weights(context.plan, context.settings)
    near = dense.score(context, x, *weights)
    if near is not None:
        x += near
        evidence.append(("dense", sum(weights), near / sum(weights)))
    proximate = 0.0 if context.plan.intent == SYMBOL else _of(context).proximity
    if proximate:
        from lurcher.ranking.evidence import proximity

        values = proximity.score(context, x)
        x += proximate * values
        evidence.append(("proximity", proximate, values))
    x, files = _left(context, x, noise.score(context))
    scale = sum(weight for _, weight, _ in evidence)
    leads = _lead_units(context, files, [scores for _, _, scores in further])
    values = x[files] / scale
    first = largest(context.snapshot, files, values, _HEAD)
    first = first[best_first(context.snapshot, leads[first], values[first])]
    more = _further_units(context, leads, x, float(values.min()) if len(values) else 0.0)

    scaled = StageWhy("scale", factor=1 / scale, note="of what all evidence together can give")

    def why(unit: int, score: float) -> Why:
        file = int(context.snapshot.unit_file[unit])
        total = float(x[file])
        stages = []
        for kind, weight, values in evidence:
            amount = float(weight * values[file])
            if amount:
                stages.append(StageWhy(kind, None, amount, context.notes.get((kind, file), "")))
        stages += noise.why(context, file)
        stages.append(scaled)
        if not total:
            raise context.snapshot.segments[0].container.corrupt("its files share units")
        if score != total / scale:
            stages.append(StageWhy("further", score * scale / total, note="not its file's first unit"))
        return Why(lane_whys(context, unit), total, tuple(stages))

    def rest() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        behind = best_first(context.snapshot, leads, values)[len(first) :]
        units, scores = more.order()
        return np.concatenate((leads[behind], units)), np.concatenate((values[behind], scores))

    after = Unordered(len(leads) - len(first) + more.count, rest) if len(leads) > len(first) else more
    return Ranking(leads[first], values[first], why, after, partial(expect_whys, context))


def _gather(context: Context) -> list[Evidence]:
    """Every piece of evidence with its weight, for the plan's intent."""
    settings = context.settings
    if context.plan.intent == REPORT:
        from lurcher.ranking.evidence import dotted, mentioned, trace, url

        weights = settings.report
        body = content.score(context, weights.harmonic_power)
        return [
            ("content", 1.0, _scaled(body)),
            ("name", weights.name, name.score(context)[0]),
            ("definition", weights.definition, definition.score(context, shared=True)),
            ("dotted", weights.dotted, dotted.score(context)),
            ("url", weights.url, url.score(context)),
            ("trace", weights.trace, trace.score(context)),
            ("mentioned", weights.mentioned, mentioned.score(context)),
        ]
    plain = settings.default
    body = content.score(context, plain.harmonic_power)
    if context.plan.intent == SYMBOL:
        from lurcher.ranking.evidence import stem

        return [
            ("content", 1.0, _scaled(body)),
            ("definition", plain.definition_symbol, definition.score(context)),
            ("stem", plain.stem_symbol, stem.score(context)),
        ]
    names, whole = name.score(context)
    return [
        ("content", 1.0, _scaled(body)),
        ("name", plain.name_change if context.plan.change else plain.name, names),
        ("name-whole", plain.name_whole, whole),
        ("types", plain.types, types.score(context)),
        ("folder", plain.folder, folder.score(context)),
        ("definition", plain.definition, definition.score(context)),
        *_phrase(context),
    ]


def _added_up(evidence: Sequence[Evidence], files: int) -> NDArray[np.float64]:
    kernel = native()
    if kernel is not None:
        sums: NDArray[np.float64] = kernel.weighed(evidence, files)
        return sums
    sums = np.zeros(files)
    for _, weight, values in evidence:
        sums += weight * values
    return sums


def _left(
    context: Context, x: NDArray[np.float64], factors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """What is left of the sums, and the files that have some of it."""
    kernel = native()
    if kernel is not None:
        left: tuple[NDArray[np.float64], NDArray[np.int64]] = kernel.remaining(
            x, factors, context.allowed, context.snapshot.unit_counts
        )
        return left
    x = x * factors
    x[~context.allowed] = 0
    return x, np.flatnonzero((x > 0) & (context.snapshot.unit_counts > 0))


def _phrase(context: Context) -> list[Evidence]:
    if "literal" not in context.lanes:
        return []
    from lurcher.ranking.evidence import phrase

    return [("phrase", context.settings.default.phrase, phrase.score(context))]


def _further(context: Context) -> list[Evidence]:
    if not context.settings.search.lanes:
        return []
    from lurcher.lanes.installed import weighed

    return weighed(context)


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    highest = values.max(initial=0.0)
    return values / highest if highest > 0 else values


def _lead_units(
    context: Context, files: NDArray[np.int64], further: Sequence[NDArray[np.float64]]
) -> NDArray[np.int64]:
    """The unit each file shows first: the one that defines the queried name, else its best by words, else the nearest, else
    the best by a further lane."""
    snapshot = context.snapshot
    best = snapshot.first_unit.copy()
    for lane in reversed(further):
        _put_best(by_file(snapshot, lane), best)
    if context.nearest is not None:
        best[snapshot.unit_file[context.nearest]] = context.nearest
    _put_best(context.lexical.files, best)
    strongest: dict[int, float] = {}
    for match in context.symbols:
        if match.strength > strongest.get(match.file, DEFINING[context.plan.intent]):
            strongest[match.file] = match.strength
            best[match.file] = match.unit
    chosen: NDArray[np.int64] = best[files]
    return chosen


def _put_best(files: FileScores, best: NDArray[np.int64]) -> None:
    """For each file with a score the unit that has its best."""
    scored = np.flatnonzero(files.scored)
    best[scored] = files.units[scored]


def file_best(snapshot: Snapshot, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each file's best unit score."""
    return by_file(snapshot, scores).best


def _further_units(context: Context, leads: NDArray[np.int64], x: NDArray[np.float64], ceiling: float) -> Unordered:
    """The remaining matching units, by their file's score times their share of its best unit; below every first unit."""
    found = context.lexical
    scores = found.scores
    count = int(found.files.scored[x > 0].sum()) - int(np.count_nonzero(scores[leads]))

    def order() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        unit_file = context.snapshot.unit_file
        left = (scores > 0) & (x[unit_file] > 0)
        left[leads] = False
        units = np.flatnonzero(left)
        files = unit_file[units]
        best = found.files.best[files]
        if len(units) != count or not best.all():
            raise context.snapshot.segments[0].container.corrupt("its files share units")
        values = ceiling * (x[files] / x.max()) * scores[units] / best
        ordered = best_first(context.snapshot, units, values)
        return units[ordered], values[ordered]

    return Unordered(count, order)
