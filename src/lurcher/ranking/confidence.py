"""How sure an answer is: its level, and for questions and reports the likelihoods behind it.

    here  = σ(a·found + b·unit + c·score − d)       what was searched has the answer
    first = σ(3.53 − 5.43·rest)                     the first file is right, if it has

found: the share of the query's words that the unit with the best BM25 score has · √(their number, at least 5)
unit:  the largest cosine of a unit with the query
score: that of the best file, before `here` is multiplied with it
rest:  the mean score of the next nine files / that of the best

All of it is evidence of files that the ranking has collected. `here` was fitted with each question asked of its own repository
and of two others, own and foreign ones of equal weight. The constants come from half of the repositories of 208 questions with
labelled lines (one repository each), 399 questions of the code set (24) and 48 reports (17). AUC on the other half:

    here   questions 0.981, code set 0.982, reports 0.974; fitted on questions alone, 0.983 on the code set
    first  questions 0.72 (0.78 on all), code set 0.75 (0.78), reports 0.70 on all

At `NO_MATCH`, 6 % of the questions asked of their own repository are said to have no good match (12 of 208), and 88 % of those
asked of another. BM25 as a share of what it could be is worse than `found` (0.97), and with it gains nothing; nor do cards, and
for `first` the ranks of the file in single lanes, its role, and the number of files.
"""

from __future__ import annotations

from math import exp, sqrt

from lurcher.lanes.lexical import REPORT_TERMS
from lurcher.query import REPORT, SYMBOL, split_qualified_name
from lurcher.ranking import Context
from lurcher.runtime.kernel import np
from lurcher.terms import compound, split, words
from lurcher.types import FAIR, NONE, STRONG, WEAK, Confidence, Record

NO_MATCH = 0.25
"""Below this `here`, there is no good match."""
WEAK_BELOW = 0.5
"""Below this `here`, the match is weak."""
STRONG_FROM = 0.8
"""From this `here` and `first` on, the match is strong: the first file of nine in ten such answers was right."""
FILES = 10
"""Files whose scores are compared."""
MIN_WORDS = 5
"""Fewer words count as so many: of questions with three, 1 of 11 looks weak, not 2, and of foreign ones still 10 of 11."""
MAX_NAMED = 10
"""Unknown words that are named."""


class Weights(Record):
    """Of `here`."""

    __slots__ = ("found", "unit", "score", "offset")

    def __init__(self, found: float, unit: float, score: float, offset: float) -> None:
        self.found, self.unit, self.score, self.offset = found, unit, score, offset


QUESTION = Weights(found=3.27, unit=12.63, score=6.16, offset=13.63)
WITHOUT_VECTORS = Weights(found=4.47, unit=0.0, score=8.82, offset=9.74)
REPORTED = Weights(found=5.15, unit=0.0, score=23.63, offset=14.71)


def judge_confidence(context: Context, ranking: str, hits: int) -> Confidence | None:
    """The confidence in the ranking of that name, which found so many hits; None where it cannot be told.

    Text and syntax patterns match exactly or not at all. A query that is a name is judged by what it names. Questions and
    reports are judged only under the default ranking: others have no scores of files.
    """
    plan = context.plan
    if plan.mode in ("literal", "structural"):
        return Confidence(STRONG if hits else NONE)
    unknown = find_unknown_words(context) if "lexical" in context.lanes else ()
    if plan.intent == SYMBOL:
        return Confidence(_judge_name(context) if hits else NONE, None, unknown)
    if not hits:
        return Confidence(NONE, {"here": 0.0, "first": 0.0}, unknown)
    if ranking != "default" or plan.mode != "hybrid" or not context.best_files:
        return None
    here, first = estimate(context)
    if here < NO_MATCH and context.lexical.idf:
        level = NONE
    elif here < WEAK_BELOW:
        level = WEAK  # also where no word is known: the nearest in meaning were looked for
    else:
        level = STRONG if min(here, first) >= STRONG_FROM else FAIR
    return Confidence(level, {"here": here, "first": first}, unknown)


def _judge_name(context: Context) -> str:
    """Defined as written: strong. Each of its parts occurs as a whole: fair. Otherwise weak."""
    if any(match.fits and match.exact for match in context.symbols):
        return STRONG
    known = context.lexical.idf
    return FAIR if all(compound(part) in known for part in split_qualified_name(context.plan.text)) else WEAK


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


def estimate(context: Context) -> tuple[float, float]:
    """`here` and `first` of a ranking that scored files."""
    (_, score), *others = context.best_files[:FILES]
    cosines = context.cosines
    near = 0.0 if cosines is None else float(cosines[1].max(initial=0.0))
    weights = REPORTED if context.plan.intent == REPORT else WITHOUT_VECTORS if cosines is None else QUESTION
    here = weights.found * _count_found(context) + weights.unit * near + weights.score * score - weights.offset
    rest = sum([other for _, other in others]) / (score * (FILES - 1))
    return _logistic(here), _logistic(3.53 - 5.43 * rest)


def _count_found(context: Context) -> float:
    """`found`; of a report, no more words count than the lexical lane keeps."""
    lexical, snapshot = context.lexical, context.snapshot
    scores = lexical.scores if context.allowed.all() else np.where(context.allowed[snapshot.unit_file], lexical.scores, 0.0)
    best = scores.max(initial=0.0)
    if not best:
        return 0.0
    tied = np.flatnonzero(scores == best).tolist()
    unit = min(tied, key=lambda unit: (snapshot.path_rank[snapshot.unit_file[unit]], unit))
    asked = min(len(context.plan.groups), REPORT_TERMS)
    return len(lexical.terms_of(unit)) / asked * sqrt(max(asked, MIN_WORDS))


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-x)) if x > -700 else 0.0
