"""How sure an answer is: logistic models over evidence that the ranking has collected anyway.

    here  = σ(6.10·words + 9.22·unit + 2.10·card + 9.18·score − 11.91)      what was searched has the answer
    first = σ(10.5·(score₁ − score₆) − 2.12)                                 the first file is right

words: the best BM25 score / Σ weight · idf over the words of the query, where a word that occurs nowhere has ln(1 + units);
unit and card: the largest cosine of a unit and of a file's card; score: of files, best first.
"""

from __future__ import annotations

from math import exp, log

from lurcher.lanes.lexical import REPORT_TERMS
from lurcher.query import SYMBOL, split_qualified_name
from lurcher.ranking import Context
from lurcher.runtime.kernel import np
from lurcher.terms import compound, split, words
from lurcher.types import FAIR, NONE, STRONG, WEAK, Confidence, Record

NO_MATCH = 0.2
"""Below this `here`, there is no good match."""
WEAK_BELOW = 0.5
"""Below this `here`, the match is weak."""
STRONG_FROM = 0.6
"""From this `first` on, the match is strong."""
MAX_NAMED = 10
"""Unknown words that are named."""


def judge_confidence(context: Context, ranking: str, hits: int) -> Confidence | None:
    """The confidence in the ranking of that name, which found so many hits; None where it cannot be told.

    Text and syntax patterns match exactly or not at all. A query that is a name is judged by what it names. Questions and
    reports are judged only under the default ranking: the others have scores of another scale.
    """
    plan = context.plan
    if plan.mode in ("literal", "structural"):
        return Confidence(STRONG if hits else NONE)
    unknown = find_unknown_words(context) if "lexical" in context.lanes else ()
    if not hits:
        return Confidence(NONE, None, unknown)
    if plan.intent == SYMBOL:
        return Confidence(_judge_name(context), None, unknown)
    if ranking != "default" or plan.mode != "hybrid" or not context.file_scores:
        return None
    here, first = estimate(measure(context))
    level = NONE if here < NO_MATCH else WEAK if here < WEAK_BELOW else STRONG if first >= STRONG_FROM else FAIR
    return Confidence(level, {"here": here, "first": first}, unknown)


def _judge_name(context: Context) -> str:
    """Defined as written: strong. Defined in another spelling or container, or used: fair. Only parts of it occur: weak."""
    if any(match.fits and match.exact for match in context.symbols):
        return STRONG
    known = context.lexical.idf
    whole = [compound(part) for part in split_qualified_name(context.plan.text)]
    return FAIR if context.symbols or any(part in known for part in whole) else WEAK


def find_unknown_words(context: Context) -> tuple[str, ...]:
    """The words of the query, of a report's title, that occur nowhere in the index, in no form; as they are written."""
    plan, idf, snapshot = context.plan, context.lexical.idf, context.snapshot
    missing = {group.word: group.forms for group in plan.groups if group.word not in idf}
    if not missing or not snapshot.unit_count:
        return ()
    found: dict[str, str] = {}
    for word in words(plan.text if plan.report is None else plan.report.title):
        term = next(iter(split(word)), "")
        if term in missing:
            found.setdefault(term, word)
    if plan.report is not None:  # only its best terms are searched for
        found = {
            term: word for term, word in found.items()
            if not any(snapshot.knows(form) and snapshot.occurs(form) for form in (term, *missing[term]))
        }  # fmt: skip
    return tuple(found.values())[:MAX_NAMED]


class Evidence(Record):
    """What the models read."""

    __slots__ = ("words", "cover", "unit", "score", "lead", "next")

    def __init__(self, words: float, cover: float, unit: float | None, score: float, lead: float, next: float) -> None:
        self.words = words
        """The best BM25 score of a unit, as a share of Σ weight · rarity over the words of the query."""
        self.cover = cover
        """The share of those words that this unit has."""
        self.unit = unit
        """The largest cosine of a unit with the query; None without vectors."""
        self.score = score
        """The score of the best file."""
        self.lead = lead
        """How far it is above that of the sixth."""
        self.next = next
        """How far it is above that of the second."""


def measure(context: Context) -> Evidence:
    """The evidence of a ranking that scored files. A word that occurs nowhere is as rare as one can be; of a report, as many
    words count as the lexical lane keeps."""
    lexical, snapshot = context.lexical, context.snapshot
    nowhere = log(1 + snapshot.unit_count)
    worths = [
        (group.weight * lexical.idf.get(group.word, nowhere), group.word) for group in context.plan.groups
        if group.word in lexical.idf or context.plan.report is None or not snapshot.knows(group.word)
    ]  # fmt: skip
    if len(worths) > REPORT_TERMS:
        worths = sorted(worths, reverse=True)[:REPORT_TERMS]
    allowed, found = context.allowed, lexical.files
    best = float(found.best[allowed].max(initial=0.0))
    words = cover = 0.0
    if best:
        tied = np.flatnonzero(allowed & (found.best == best)).tolist()
        has = lexical.terms_of(int(found.units[min(tied, key=snapshot.path_rank.__getitem__)]))
        words = best / sum([worth for worth, _ in worths])
        cover = sum([word in has for _, word in worths]) / len(worths)
    cosines = context.cosines
    scores = [*context.file_scores[:6], *[0.0] * (6 - len(context.file_scores))]
    return Evidence(
        words, cover, None if cosines is None else float(cosines[1].max(initial=0.0)), scores[0], scores[0] - scores[5],
        scores[0] - scores[1],
    )  # fmt: skip


def estimate(found: Evidence) -> tuple[float, float]:
    """`here` and `first`."""
    unit = 0.3 if found.unit is None else found.unit
    return _logistic(7.33 * found.cover + 12.15 * unit + 7.55 * found.score - 14.45), _logistic(10.5 * found.lead - 2.12)


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x)) if x > -700 else 0.0
