"""Snapshots of a few files, made in memory."""

from __future__ import annotations

from lurcher.config import Settings
from lurcher.indexing.build import build_segment
from lurcher.lanes import Request, run_lanes
from lurcher.query import make_plan
from lurcher.ranking import Context, Ranking, find_own_words, ranking_named
from lurcher.storage.container import Container
from lurcher.storage.container_writer import encode_container
from lurcher.storage.segment import Segment
from lurcher.storage.segment_writer import encode_segment
from lurcher.storage.snapshot import Snapshot
from lurcher.vectors import Model
from lurcher.vectors.table import Table


def snapshot_of(files: dict[str, str], chunk_chars: int = 1500, table: Table | None = None) -> Snapshot:
    data = build_segment([(path, files[path].encode()) for path in sorted(files)], chunk_chars, table)
    container = Container(b"".join(encode_container(*encode_segment(data))), "test.segment")
    return Snapshot([Segment(container)], 1)


def model_with(table: Table | None) -> Model:
    model = Model("test", None)
    model.__dict__["_opened"] = (table, None)
    return model


def context_of(
    files: dict[str, str],
    query: str,
    settings: Settings | None = None,
    name: str = "repo",
    *,
    table: Table | None = None,
    mode: str = "auto",
) -> Context:
    """What a ranking gets; without a table there is no dense lane."""
    snapshot = snapshot_of(files, table=table)
    settings = settings or Settings()
    plan = make_plan(query, mode, snapshot)
    names = [lane for lane in plan.lanes if table is not None or lane != "dense"]
    request = Request(snapshot, plan, settings, snapshot.live_files, model_with(table))
    found, _ = run_lanes(names, request, lambda lane: None)
    return Context(snapshot, plan, settings, found, snapshot.live_files, 10, find_own_words(snapshot, plan, [name]))


def ranked_paths(files: dict[str, str], query: str, ranking: str = "default", settings: Settings | None = None) -> list[str]:
    """The paths of the ranked units, best first."""
    context = context_of(files, query, settings)
    result: Ranking = ranking_named(ranking)(context)
    return [context.snapshot.path(int(context.snapshot.unit_file[unit])) for unit in result.units]
