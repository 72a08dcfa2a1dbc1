"""What depends on a file: its importers, their importers, and so on; all of them, or those that use one of its names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from lurcher.errors import QueryError, Template
from lurcher.indexing.coverage import grammar_failure_notes, missing_grammar_notes
from lurcher.indexing.import_graph import import_graph_around
from lurcher.inspect.answers import Basis, Dependent, Hop, ImpactAnswer
from lurcher.languages.detect import ecosystem_of
from lurcher.languages.graph import Link
from lurcher.query.plan import split_qualified_name
from lurcher.sources.roles import TEST
from lurcher.storage.snapshot import Snapshot
from lurcher.terms.split import compound
from lurcher.types import Degraded

IMPORTED, MENTIONED = "imported", "mentioned"


def impact(
    snapshot: Snapshot, file: int, symbol: str | None, hops: int, most: int, index: Basis
) -> ImpactAnswer:
    """The dependents of a file, at most so many for each hop; the totals count all."""
    prefix = snapshot.prefix(file)
    name = None if symbol is None else _last_part(symbol)
    keep = None if name is None else _users(snapshot, prefix, name)
    links = import_graph_around(snapshot, file).importers(snapshot.bare_path(file), hops, keep)
    tests = {link.path: _is_test(snapshot, prefix + link.path) for link in links}
    shown: list[Dependent] = []
    by_hop: list[Hop] = []
    for hop in range(1, max((link.hop for link in links), default=0) + 1):
        here = [link for link in links if link.hop == hop]
        by_hop.append(Hop(hop, len(here), sum(tests[link.path] for link in here), min(len(here), most)))
        shown += [_dependent(snapshot, prefix, link, tests[link.path], name) for link in here[:most]]
    notes = index.degraded + grammar_failure_notes(snapshot) + missing_grammar_notes(snapshot) + _notes(snapshot, file, name)
    return ImpactAnswer(
        snapshot.path(file), snapshot.language(file), symbol, hops, tuple(shown), tuple(by_hop), Basis(index.index, notes)
    )


def _last_part(symbol: str) -> str:
    parts = split_qualified_name(symbol)
    if not parts:
        raise QueryError(f"'{symbol}' is no name", Template("for example: {symbol=Client.retry}"))
    return parts[-1]


def _users(snapshot: Snapshot, prefix: str, name: str) -> Callable[[str], bool]:
    """Whether a file says the name as it is spelled, outside of comments; an import of it says it too."""
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    units, _ = snapshot.postings("body", compound(name))
    places: dict[int, list[int]] = {}
    for unit, file in zip(units.tolist(), snapshot.unit_file[units].tolist(), strict=True):
        places.setdefault(file, []).append(unit)

    def uses(path: str) -> bool:
        here: Sequence[int] = places.get(snapshot.live_paths[prefix + path], ())
        return any(pattern.search(snapshot.unit_text(unit)) for unit in here)

    return uses


def _is_test(snapshot: Snapshot, path: str) -> bool:
    return bool(int(snapshot.file_roles[snapshot.live_paths[path]]) & TEST)


def _dependent(snapshot: Snapshot, prefix: str, link: Link, test: bool, name: str | None) -> Dependent:
    path = prefix + link.path
    return Dependent(
        path, link.hop, prefix + link.via, link.names, link.line, link.confidence,
        snapshot.language(snapshot.live_paths[path]), test,
        None if name is None else IMPORTED if name in link.names else MENTIONED,
    )  # fmt: skip


def _notes(snapshot: Snapshot, file: int, name: str | None) -> tuple[Degraded, ...]:
    notes = []
    language = snapshot.language(file)
    if not ecosystem_of(language):
        notes.append(Degraded("graph", f"imports in {language} files are not read", ""))
    if name is not None:
        import difflib

        defined = dict.fromkeys(definition.name for definition in snapshot.definitions_of(file))
        if name not in defined:
            near = difflib.get_close_matches(name, defined, 3)
            hint = f"it defines {', '.join(near)}" if near else ""
            notes.append(Degraded("symbol", f"{snapshot.path(file)} does not define {name}", hint))
    return tuple(notes)
