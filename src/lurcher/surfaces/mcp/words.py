"""What the tools' parameters are called that the command line has flags for."""

from __future__ import annotations

from lurcher.query.sources import KNOWN
from lurcher.surfaces.wording import Words
from lurcher.types import MODES

_SAME = (
    "author", "budget", "cursor", "exact", "history", "hops", "library", "limit", "mode", "outcome", "path", "rebuild", "since",
    "symbol", "until",
)  # fmt: skip

WORDS = Words(
    {
        **{mode: f"mode={mode}" for mode in MODES}, **{name: name for name in _SAME},
        "in": "source", "lang": "language", "snippet-lines": "lines",
    },
    frozenset({"exact", "history", "rebuild"}),
    {"mode": MODES, "in": KNOWN, "outcome": ("success", "reverted", "hotfixed")},
    frozenset({"index", "search", "status"}),
)  # fmt: skip
