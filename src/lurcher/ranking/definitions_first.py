"""A query that is a name: its definitions come before all other units, also those in tests, under every ranking.

Definitions keep their order among themselves, and so do the other units. Scores of definitions are raised where necessary, so
that scores never increase down the list.

No grammar lists everything that has a name: attributes that a constructor sets, keys of a table, members that a macro makes.
Where the index has no definition of a name, the units that assign it or declare it stand in, the first one of each file.
"""

from __future__ import annotations

from lurcher.query import is_plain_word, split_qualified_name
from lurcher.ranking import Context, Ranking, UnorderedTail, collect_lane_whys
from lurcher.runtime.kernel import np
from lurcher.storage.segment import FUNCTION_KINDS, TYPE_KINDS
from lurcher.terms import compound
from lurcher.types import StageWhy, Why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numpy.typing import NDArray

_NAMING_KINDS = TYPE_KINDS | FUNCTION_KINDS
_MAX_READ = 24
"""Units whose text is searched for an assignment; a store sends as many at once."""
_ASSIGNMENT = (
    r"(?m)^[ \t]*(?!\*)(?:[\w<>\[\],.*&? \t]*[ \t*&])??(?:(?:self|this|cls)\.|@@?|\$|#)?[\"']?NAME[\"']?[ \t]*[?!]?"
    r"(?:(?::(?![:=])[^=\n]{0,80})?=(?![=~])|:=|:(?!:))|^[ \t]*\w+[ (][ \t]*[:\"']NAME\b"
)
"""`name = …`, `self.name: int = …`, `"name": …`, `static name: T`, `attribute :name`; not `name == …` or a call."""


def put_definitions_first(context: Context, ranking: Ranking, mode: str) -> Ranking:
    """The ranking with the defining units first if the query is a name; `mode` is the query's, `auto` not yet resolved."""
    units = _find_defining_units(context, mode) or _find_assigning_units(context, ranking, mode)
    if not units:
        return ranking
    head = ranking.head
    if not units.issubset(head):
        head = ranking.units  # some are in the part that is not sorted yet
    places = [place for place, unit in enumerate(head) if unit in units]
    lost = sorted(units.difference(head))  # a cosine of zero or less finds nothing
    scores = [ranking.score(place) for place in range(len(head))]
    order = places + [place for place, unit in enumerate(head) if unit not in units]
    ordered = [head[place] for place in order]
    lifted = [scores[place] for place in order]
    ordered[len(places) : len(places)] = lost
    lifted[len(places) : len(places)] = [0.0] * len(lost)
    for i in range(len(units) - 1, -1, -1):
        lifted[i] = max(lifted[i : i + 2])
    own = {**{head[place]: scores[place] for place in places}, **dict.fromkeys(lost, 0.0)}

    def why(unit: int, score: float) -> Why:
        before = own.get(unit, score)
        if unit in lost:
            return Why(collect_lane_whys(context, unit), 0.0, (StageWhy("exact", amount=score, note="defines the name"),))
        found = ranking.why_of(unit, before)
        if before == score:
            return found
        stage = StageWhy("exact", factor=score / before, note="defines the name") if before else StageWhy("exact", amount=score)
        return Why(found.lanes, found.fused, (*found.stages, stage), found.scores)

    def rest() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        behind = range(len(head), len(ranking))
        return np.array([ranking.unit(i) for i in behind], np.int64), np.array([ranking.score(i) for i in behind], np.float64)

    more = UnorderedTail(len(ranking) - len(head), rest) if len(ranking) > len(head) else None
    return Ranking(
        np.array(ordered, np.int64), np.array(lifted, np.float64), why, more, ranking.prefetch_units
    )


def _find_defining_units(context: Context, mode: str) -> set[int]:
    """The units that define the name, spelled as in the query and in the right container.

    A plain word may be a name or the subject of a question: a type or function of that name decides for the name, a field or
    variable does so only in symbol mode.
    """
    every = _is_name(context, mode)
    return {
        match.unit
        for match in context.symbols
        if match.fits and match.exact and (every or match.definition.kind in _NAMING_KINDS)
    }


def _is_name(context: Context, mode: str) -> bool:
    """Whether the query cannot be an ordinary word."""
    return mode == "symbol" or not is_plain_word(context.plan.text)


def _find_assigning_units(context: Context, ranking: Ranking, mode: str) -> set[int]:
    """Of each file the first unit that assigns or declares the name, among those that rank best and have it."""
    parts = split_qualified_name(context.plan.text)
    if not parts or not _is_name(context, mode):
        return set()
    snapshot, name = context.snapshot, parts[-1]
    having = set(snapshot.postings("body", compound(name))[0].tolist())
    if not having or (len(parts) > 1 and not len(snapshot.postings("definitions", compound(parts[-2]))[0])):
        return set()
    import re  # most names have a definition, or do not occur

    assigns = re.compile(_ASSIGNMENT.replace("NAME", re.escape(name)))
    head = ranking.head
    best = [unit for unit in (head if having.issubset(head) else ranking.units) if unit in having][:_MAX_READ]
    found: dict[int, int] = {}
    for unit in sorted(best):
        file, start, *_ = snapshot.unit(unit)
        match = assigns.search(snapshot.unit_text(unit)) if file not in found else None
        if match is not None and (len(parts) == 1 or _is_within(context, file, start + match.start(), parts[-2])):
            found[file] = unit
    return set(found.values())


def _is_within(context: Context, file: int, byte: int, container: str) -> bool:
    """Whether a definition around a byte is named like the container, or in one that is."""
    number = context.snapshot.innermost(file, byte, _NAMING_KINDS)
    around = context.snapshot.definition_label(number)[0].split(".") if number >= 0 else []
    return compound(container) in map(compound, around)
