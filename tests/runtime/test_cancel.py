"""Work that nobody waits for ends at its next step."""

from __future__ import annotations

import threading

import pytest

from lurcher.engine import Engine
from lurcher.errors import DeadlineExceeded
from lurcher.lanes import literal
from lurcher.runtime.process import Cancelled, check_cancelled, run_cancellable
from tests.conftest import write_repository


def test_work_that_nobody_watches_is_not_ended() -> None:
    check_cancelled()
    assert run_cancellable(lambda: 7, threading.Event(), 60.0) == 7


def test_a_signal_ends_it() -> None:
    stop = threading.Event()

    def work() -> None:
        check_cancelled()
        stop.set()
        check_cancelled()
        raise AssertionError("went on")

    with pytest.raises(Cancelled):
        run_cancellable(work, stop)
    check_cancelled()  # what was watched is over


def test_a_deadline_ends_it_with_an_error_that_says_so() -> None:
    with pytest.raises(DeadlineExceeded, match="longer than"):
        run_cancellable(lambda: 7, threading.Event(), -1.0)


def test_another_thread_is_not_ended_with_it() -> None:
    stop = threading.Event()
    ended: list[str] = []

    def work() -> None:
        stop.set()
        other = threading.Thread(target=lambda: (check_cancelled(), ended.append("whole")))
        other.start()
        other.join()

    run_cancellable(work, stop)
    assert ended == ["whole"]


@pytest.mark.parametrize("mode", ["literal", "hybrid", "structural"])
def test_a_search_ends_before_its_lanes(tmp_path, mode: str) -> None:  # type: ignore[no-untyped-def]
    write_repository(tmp_path)
    with Engine.open(tmp_path) as engine:
        engine.index()
        stop = threading.Event()
        seen: list[str] = []

        def work() -> None:
            stop.set()
            engine.search("follow", mode=mode, check=False)
            seen.append("answered")

        with pytest.raises(Cancelled):
            run_cancellable(work, stop)
        assert not seen


def test_a_search_for_exact_text_ends_between_two_groups_of_files(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    for number in range(6):
        (tmp_path / f"m{number}.py").write_text(f"value_{number} = 1\n")
    monkeypatch.setattr(literal, "_MIN_BATCH_BYTES", 1)
    monkeypatch.setattr(literal, "_BATCH_BYTES", 1)
    searched: list[int] = []
    stop = threading.Event()
    whole = literal._search_batch

    def search_group(*arguments: object) -> object:
        searched.append(1)
        if len(searched) == 2:
            stop.set()
        return whole(*arguments)  # type: ignore[arg-type]

    with Engine.open(tmp_path, root=tmp_path) as engine:
        engine.index()
        monkeypatch.setattr(literal, "_search_batch", search_group)
        with pytest.raises(Cancelled):
            run_cancellable(lambda: engine.search("v.lue", mode="literal"), stop)
    assert len(searched) == 2
