"""`lurcher doctor`: looks at everything that an answer depends on, says what is wrong and how to mend it. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lurcher.indexing.root_index import RootIndex
from lurcher.inspect.doctor import folder, history, installation, libraries, models, segments, tree
from lurcher.inspect.doctor.finding import NOTE, OK, PROBLEM, Finding, guarded
from lurcher.inspect.services import Check
from lurcher.types import Progress

__all__ = ["NOTE", "OK", "PROBLEM", "Finding", "examine", "examine_installation"]


def examine_installation() -> Iterator[Finding]:
    """What is the same for every tree."""
    checks = (
        installation.python, installation.packages, installation.kernel, installation.tokens, installation.grammars,
        installation.git_program,
    )  # fmt: skip
    for check in checks:
        yield from guarded(check.__name__.removesuffix("_program"), check)


def examine(
    project: RootIndex, progress: Progress, *, quick: bool = False, services: Sequence[Check] = ()
) -> Iterator[Finding]:
    """One root: its settings, model, index folder, the index in it, and the tree. `quick` leaves out what reads everything.

    `services` are checks of services besides those that models use.
    """
    root = str(project.root.path)
    yield from guarded("settings", lambda: tree.settings(project), root)
    asked = list(guarded("services", lambda: models.examine_services(project, services), root))
    down = {finding.check for finding in asked if finding.health is not None}
    yield from asked
    if "model" not in down:
        yield from guarded("model", lambda: tree.model(project), root)
    yield from guarded("rerank", lambda: models.examine_rerankers(project, down), root)
    yield from guarded("git", lambda: tree.repository(project), root)
    yield from guarded("folder", lambda: folder.examine(project), root)
    yield from guarded("index", lambda: segments.examine(project, progress, quick=quick), root)
    yield from guarded("history", lambda: history.examine(project, quick=quick), root)
    yield from guarded("libraries", lambda: libraries.examine(project), root)
    yield from guarded("tree", lambda: tree.examine(project, progress, quick=quick), root)
    yield from guarded("watch", lambda: tree.watching(project, quick=quick), root)
