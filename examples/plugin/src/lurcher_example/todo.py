"""A lane: units whose comments say that something is left to do."""

import numpy as np

from lurcher.lanes.further import Scored
from lurcher.lanes.lane import Request

MARKS = ("todo", "fixme", "hack", "xxx")


def run(request: Request) -> Scored:
    snapshot = request.snapshot
    scores = np.zeros(snapshot.unit_total)
    for mark in MARKS:
        units, counts = snapshot.postings("comments", mark)
        scores[units] += counts
    return Scored(snapshot, scores)
