"""Rankings that are asked for by name, and how several sources become one answer."""

from __future__ import annotations

from lurcher.runtime.light import dataclass
from lurcher.settings import setting


@dataclass(frozen=True)
class ClassicRankingSettings:
    """Reciprocal rank fusion, then one stage after the other."""

    rrf_k: float = setting(60.0, "RRF: 1/(k + rank).", low=0, high=10_000)
    phrase: float = setting(0.25, "Weight of the literal lane, for a query of a few words.", low=0, high=1)
    alpha_symbol: float = setting(0.3, "Weight of the dense lane for queries that look like a name.", low=0, high=1)
    alpha_language: float = setting(0.5, "Weight of the dense lane for questions.", low=0, high=1)
    candidates: int = setting(100, "Candidates per lane, at least; five times the limit if that is more.", low=1)
    coherence: float = setting(0.2, "Boost of a file's best unit by the file's sum.", low=0, high=10)
    definition_language: float = setting(4.0, "Factor for a unit that defines a queried name, in a question.", low=1)
    definition_symbol: float = setting(12.0, "The same, when the query is a name.", low=1)
    definition_stem: float = setting(1.5, "Further factor when the file is named like the symbol.", low=1)
    proximity: float = setting(0.05, "Boost of files near the best ones in the import graph.", low=0, high=10)
    proximity_decay: float = setting(0.5, "What a second hop counts of a first one.", low=0, high=1)
    stem: float = setting(1.5, "Boost when query words match the file's name or folder.", low=0, high=10)
    stem_share: float = setting(0.1, "Share of the query's words that must match for that boost.", low=0, high=1)
    saturation: float = setting(0.5, "Factor for each further unit of the same file.", low=0, high=1)


@dataclass(frozen=True)
class LinearRankingSettings:
    """`--fusion linear` over code: cosines and BM25 of units, added up."""

    alpha: float = setting(0.6, "Weight of cosines.", low=0, high=1)
    candidates: int = setting(100, "Nearest units beside all that match; five times the limit if that is more.", low=1)
    mmr_top: int = setting(50, "Units among which `--mmr` chooses.", low=1, high=1000)


@dataclass(frozen=True)
class GraphSettings:
    """What `impact` and `context` show."""

    hops: int = setting(2, "How many imports away `impact` looks.", low=1, high=100)
    fan_in: int = setting(100, "Dependents listed for each hop; all are counted.", low=1, high=100_000)
    context_budget: int = setting(4000, "Tokens that `context` may take.", low=1, high=10_000_000)


@dataclass(frozen=True)
class AcrossSettings:
    """`--in all`: what speaks for a source against code, in logarithms of odds."""

    notes: float = setting(0.4, "For notes, before their words and the code's are weighed.", low=-100, high=100)
    advice: float = setting(2.0, "For notes, where the question asks for advice.", low=-100, high=100)
    report: float = setting(-1.5, "For notes at most, where the question is a report of many lines.", low=-100, high=100)
    history: float = setting(-1.5, "For history, before words are weighed.", low=-100, high=100)
    past: float = setting(5.0, "For history, where the question asks about the past.", low=-100, high=100)
    complaint: float = setting(2.0, "For history, where the question complains of a fault.", low=-100, high=100)
    steep: float = setting(0.7, "How much odds count.", low=0, high=10)
    floor: float = setting(0.6, "Share of the question that a source must say to be on the first page.", low=0, high=2)
