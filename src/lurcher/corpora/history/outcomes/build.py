"""Finds out what became of the commits of an index, and keeps that beside the segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lurcher.config.schema import OutcomeSettings
from lurcher.corpora.history.manifest import Judged
from lurcher.corpora.history.outcomes import store as kept
from lurcher.corpora.history.outcomes.evidence import messages
from lurcher.corpora.history.outcomes.fix_candidates import fixes_of, found_fixes, marks_of, order_of
from lurcher.corpora.history.outcomes.reverts import Told
from lurcher.corpora.history.outcomes.verdicts import judge, rules_text
from lurcher.corpora.history.reader import Past
from lurcher.errors import IndexError_

if TYPE_CHECKING:
    from lurcher.corpora.history.manifest import PastManifest, PastStore
    from lurcher.storage.container_writer import ContainerWriter


_MERGES, _MARGIN = 2, 1000
"""How many commits are listed for each that is indexed: merges come in between."""


def judged(store: PastStore, top: Path, manifest: PastManifest, past: Past, settings: OutcomeSettings) -> PastManifest:
    """The manifest with the outcomes of all its commits; what was found out before is used again."""
    fill, count = outcomes_of(store, top, manifest, past, settings)
    name = store.put(fill, "outcomes")
    return replace(manifest, judged=Judged(name, count, rules_text(settings)))


def outcomes_of(
    store: PastStore, top: Path, manifest: PastManifest, past: Past, settings: OutcomeSettings
) -> tuple[Callable[[ContainerWriter], str], int]:
    """What writes the outcomes of all live commits, and how many these are."""
    order = order_of(past)
    known = None
    if manifest.judged.name:
        try:
            known = kept.known_fixes(store.outcomes(manifest.judged.name), settings, manifest.head.shallow)
        except (IndexError_, OSError):
            known = None  # damaged or gone: then all of it is found out again
    rows = found_fixes(past, order, settings, known)
    names = [name.hex() for segment in past.segments for name in segment.names()]
    live = [names[number] for number in past.newest_first.tolist()]
    fixes = fixes_of(rows, [names[number] for number in order.tolist()])
    verdicts = kept.restricted(judge(_told(top, manifest, past), fixes, settings), live, len(live))
    marks = marks_of(past, order)
    return lambda out: kept.write(out, verdicts, len(live), marks, rows, settings, manifest.head.shallow), len(live)


def _told(top: Path, manifest: PastManifest, past: Past) -> Sequence[Told]:
    """What every commit says, merges and those that are not indexed included; where git does not tell, what is indexed."""
    if not manifest.head.sha:
        return ()
    # What is said of a commit was said after it: while the newest are all there is, the oldest need not be asked.
    most = None if manifest.complete else _MERGES * past.commit_count + _MARGIN
    found = messages(top, manifest.head.sha, most=most)
    if found is None:
        return [header for _, header in past.all_headers()]
    return found
