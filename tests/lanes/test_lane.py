from __future__ import annotations

from pathlib import Path

import pytest

from lurcher import Engine, lanes
from lurcher.config import Settings
from lurcher.errors import CorruptIndex, LurcherError, UsageError
from lurcher.lanes import Request, lane_named, lexical, run_lanes, symbol
from lurcher.query import make_plan
from tests.small import model_with, snapshot_of

FILES = {"src/session.py": "class Session:\n    def send(self):\n        return redirect(self)\n"}


def request_for(query: str) -> Request:
    snapshot = snapshot_of(FILES)
    return Request(snapshot, make_plan(query, "auto", snapshot), Settings(), snapshot.live_files, model_with(None))


def broken(error: Exception) -> object:
    def run(request: Request) -> lanes.LaneResult:
        raise error

    return run


def test_a_lane_is_found_by_the_name_of_its_file() -> None:
    assert lane_named("lexical") is lexical.run
    assert lane_named("symbol") is symbol.run
    with pytest.raises(UsageError, match="unknown lane 'tea_leaves'"):
        lane_named("tea_leaves")


def test_results_are_by_lane_and_each_explains_its_rank() -> None:
    laps: list[str] = []
    found, failed = run_lanes(("lexical", "symbol"), request_for("Session"), laps.append)
    assert list(found) == laps == ["lexical", "symbol"]
    assert failed == ()
    for name in found:
        why = found[name].why(0)
        assert why is not None and why.rank == 1 and why.score > 0


@pytest.mark.parametrize(
    ("error", "reason", "hint"),
    [
        (LurcherError("no luck", "try again"), "no luck", "try again"),
        (ValueError("odd"), "the lane failed: ValueError: odd", ""),
    ],
)
def test_a_lane_that_fails_is_reported_and_left_out(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str, hint: str
) -> None:
    monkeypatch.setattr(symbol, "run", broken(error))
    found, failed = run_lanes(("lexical", "symbol"), request_for("Session"), lambda name: None)
    assert list(found) == ["lexical"]
    assert [(note.stage, note.reason, note.hint) for note in failed] == [("symbol", reason, hint)]


def test_when_no_lane_is_left_the_error_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbol, "run", broken(ValueError("first")))
    monkeypatch.setattr(lexical, "run", broken(ValueError("last")))
    with pytest.raises(ValueError, match="last"):
        run_lanes(("symbol", "lexical"), request_for("Session"), lambda name: None)


def test_damage_to_the_index_is_not_a_lanes_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbol, "run", broken(CorruptIndex("broken")))
    with pytest.raises(CorruptIndex):
        run_lanes(("lexical", "symbol"), request_for("Session"), lambda name: None)


@pytest.mark.parametrize("ranking", ["default", "classic"])
@pytest.mark.parametrize("query", ["how are sessions sent", "Session", "it breaks\nin Session.send"])
@pytest.mark.parametrize("name", ["lexical", "symbol"])
def test_every_ranking_goes_on_without_a_lane(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranking: str, query: str, name: str
) -> None:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text)
    monkeypatch.setattr({"lexical": lexical, "symbol": symbol}[name], "run", broken(ValueError("odd")))
    with Engine.open(tmp_path) as engine:
        answer = engine.search(query, ranking=ranking)
    assert [note.stage for note in answer.degraded] == [name]
    if name == "symbol":
        assert answer.hits[0].path == "src/session.py"
