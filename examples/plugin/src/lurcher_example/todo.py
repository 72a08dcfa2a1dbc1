"""A lane: units whose comments say that something is left to do."""

import numpy as np

from lurcher.lanes import Request
from lurcher.lanes.installed import Scored

MARKS = ("todo", "fixme", "hack", "xxx")


def run(request: Request) -> Scored:
    snapshot = request.snapshot
    scores = np.zeros(snapshot.unit_total)
    for mark in MARKS:
        units, counts = snapshot.postings("comments", mark)
        scores[units] += counts
    return Scored(snapshot, scores)
