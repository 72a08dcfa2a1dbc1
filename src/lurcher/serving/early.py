"""A search before there is an index: the files are listed, and a glimpse of the likeliest answers (`cold`)."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lurcher.errors import LurcherError
from lurcher.planning.plan import literal_pattern
from lurcher.sources.files import Entry
from lurcher.types import Answer, Query

if TYPE_CHECKING:
    from lurcher.engine import Engine

PATIENCE = 1.3
"""So many seconds a question may wait for an index before it is answered without."""
_SOON = 20.0
"""So many seconds a list of files will do while there is no index."""
_EXACT = ("mode", "fixed", "case", "word", "multiline")

Listed = Sequence[Sequence[Entry]]


class Early:
    """Searches of engines that have no index yet. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listing: _Listing | None = None

    def listed(self, engine: Engine, until: float) -> Listed | None:
        """The files of each root, if they can be told in time. What was listed a moment ago will do."""
        from lurcher.serving.cold import tracked

        quick = [tracked(project, until - time.monotonic()) for project in engine.projects]
        known = [entries for entries in quick if entries is not None]
        if len(known) == len(quick) and all(known):
            return known
        with self._lock:
            listing = self._listing
            if listing is None or (listing.engine is not engine) or listing.old():
                listing = self._listing = _Listing(engine)
        return listing.wait(until - time.monotonic())

    def search(
        self, engine: Engine, listed: Listed | None, text: str, options: dict[str, Any], about: str, until: float
    ) -> Answer:
        """What can be said until then, on the monotonic clock; `about` tells how the index is coming on."""
        from lurcher.serving.cold import glimpse, has_code

        if listed is None:
            about, listed = f"{about}, and its files are still being listed", [()] * len(engine.projects)
        if options.get("sources") is None and any(has_code(entries) for entries in listed):
            options = {**options, "sources": ["code"]}  # the few files that are looked at must not decide that
        known = {name: options[name] for name in _EXACT if options.get(name) is not None}
        pattern = literal_pattern(Query(text, **known)) if isinstance(text, str) and text.strip() else None
        now = time.monotonic()
        left = max(0.4, until - now)
        seen = [
            glimpse(project, entries, str(text), pattern, now + left / 2, now + left, about)
            for project, entries in zip(engine.projects, listed, strict=True)
        ]
        answer = engine.search(text, **options, views=[part.view for part in seen])
        share = sum(part.ranked for part in seen) / max(1, sum(part.total for part in seen))
        state = replace(answer.index, fresh=False, coverage={**answer.index.coverage, "code": round(share, 4)})
        return replace(answer, index=state)


class _Listing:
    """Lists the files of an engine's roots in a thread of its own, since that cannot be cut short."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._entries: list[Sequence[Entry]] | None = None
        self._done = 0.0
        self._thread = threading.Thread(target=self._work, name="lurcher-listing", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        with contextlib.suppress(LurcherError, OSError):  # whoever builds the index will say so
            self._entries = [project.list_files().entries for project in self.engine.projects]
        self._done = time.monotonic()

    def wait(self, seconds: float) -> list[Sequence[Entry]] | None:
        self._thread.join(max(0.0, seconds))
        return self._entries

    def old(self) -> bool:
        return bool(self._done) and time.monotonic() - self._done > _SOON
