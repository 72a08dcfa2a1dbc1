"""A unit as a question: its words, each weighed by how often it stands there, for units that are like it."""

from __future__ import annotations

import re
from math import sqrt

from lurcher.index.reader import Snapshot
from lurcher.planning.groups import Group, query_terms
from lurcher.planning.plan import Plan

RELATED = "related"
_URL = re.compile(r"\w+://[^\s\"'<>)]+")
"""Where something is told of says nothing about what it is."""


def plan_like(snapshot: Snapshot, unit: int, text: str) -> Plan:
    """A plan for what is like a unit; `text` is how it was asked for."""
    counted = query_terms(_URL.sub(" ", snapshot.unit_text(unit)))
    # No other forms: who is like this unit says the same names.
    groups = tuple(Group(term, sqrt(count), ()) for term, count in counted.items())
    return Plan(text, RELATED, RELATED, groups, (), like=unit)
