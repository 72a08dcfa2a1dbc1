"""The comparison: who takes part, what is kept of a failure, which bars a result meets, how it is shown."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

bars = pytest.importorskip("bars")
compare_plot = pytest.importorskip("compare_plot")
measures = pytest.importorskip("measures")
processes = pytest.importorskip("processes")
sides = pytest.importorskip("sides")
tables = pytest.importorskip("tables")


def tree(megabytes: float = 20.0, *, peer: float = 6.0, warm: float = 39.0) -> dict[str, Any]:
    """A result of lurcher and a peer that takes so many times as much."""

    def part(names: tuple[str, ...], times: float) -> dict[str, Any]:
        return {name: {"best": warm * times} for name in names}

    cold, asked = ("wall_s", "cpu_s", "memory_tree_mb", "index_mb"), ("p50_ms", "p95_ms", "p99_ms")
    command = ("wall_ms", "cpu_ms", "memory_largest_mb")
    return {
        "bytes": int(megabytes * 1e6), "files": 2000, "git": True,
        "cold": {"lurcher": part(cold, 1), "semble": part(cold, peer)},
        "warm": {"lurcher": part(command, 1), "semble": part(command, peer)},
        "in_process": {"lurcher": part(asked, 1), "lurcher_unchecked": part(asked, 0.5), "semble": part(asked, peer)},
        "stages_ms": {"lexical": 1.0, "total": 2.0}, "indexed": {"lurcher": {"files": 1, "chunks": 2}}, "left_out": {},
    }  # fmt: skip


class Pretender:
    in_a_process = keeps_up = False

    def __init__(self, name: str, folder: Path, search: Callable[[], Any]) -> None:
        self.name, self.index, self._search = name, folder / name, search

    def search(self, query: str, tree: Path, *, sample: bool = False) -> Any:
        return self._search()


def cost(wall: float) -> Any:
    return processes.Cost(wall, 2 * wall, 1_000_000, 2_000_000, "")


def broken() -> Any:
    raise processes.CommandFailed("it ended with 3: /some/where/a.db is no database\nand more")


def test_sides_take_turns_at_being_first(tmp_path: Path) -> None:
    field = measures.Field([Pretender(name, tmp_path, lambda: cost(1)) for name in "abc"])
    assert "".join(side.name for _, side in field.turns(3)) == "abcbcacab"


def test_a_peer_that_fails_is_left_out_with_its_reason(tmp_path: Path) -> None:
    times = iter([cost(3), cost(2), cost(9)])
    field = measures.Field([Pretender("lurcher", tmp_path, lambda: next(times)), Pretender("peer", tmp_path, broken)])
    found = measures.measure_cold(field, tmp_path, "question", 2)
    assert list(found) == ["lurcher"]
    assert found["lurcher"]["wall_s"] == {"best": 2, "median": 2.5}
    assert field.left_out == {"peer": "it ended with 3: … is no database"}


def test_a_question_that_a_peer_cannot_answer_is_not_counted(tmp_path: Path) -> None:
    asked = iter([cost(0), cost(1), "no", cost(5), cost(3), cost(7)])

    def peer() -> Any:
        return broken() if (found := next(asked)) == "no" else found

    field = measures.Field([Pretender("lurcher", tmp_path, lambda: cost(1)), Pretender("peer", tmp_path, peer)])
    found = measures.measure_warm(field, tmp_path, ["a", "b", "c"], 2)
    assert found["peer"]["wall_ms"]["best"] == 3000.0, "the better of 1 and 3 seconds, the better of 5 and 7"
    assert field.notes == {"peer": "1 of 3 questions without an answer: it ended with 3: … is no database"}
    assert not field.left_out


def test_lurcher_is_never_left_out(tmp_path: Path) -> None:
    field = measures.Field([Pretender("lurcher", tmp_path, broken), Pretender("peer", tmp_path, lambda: cost(1))])
    with pytest.raises(processes.CommandFailed):
        measures.measure_cold(field, tmp_path, "question", 1)


def test_bars_are_met_or_not() -> None:
    met = {bar["bar"]: bar["met"] for bar in bars.checked(tree(peer=6.0, warm=39.0))}
    assert met["cold start, wall time, semble / lurcher"]
    assert met["warm command"]
    assert not met["warm command, semble / lurcher"]
    assert not met["query in a process, p50, tree checked"]
    met = {bar["bar"]: bar["met"] for bar in bars.checked(tree(peer=5.5, warm=41.0))}
    assert met["cold start, CPU time, semble / lurcher"]
    assert not met["cold start, wall time, semble / lurcher"]
    assert not met["warm command"]


def test_a_large_tree_has_its_own_bars_and_others_have_none() -> None:
    limits = [bar["limit"] for bar in bars.checked(tree(120.0)) if bar["bar"] == "warm command"]
    assert limits == [70]
    assert bars.checked(tree(1.0)) == []


def test_bars_against_a_peer_that_took_no_part_are_not_judged() -> None:
    alone = tree()
    for part in ("cold", "warm", "in_process"):
        del alone[part]["semble"]
    assert {bar["bar"] for bar in bars.checked(alone)} == {
        "warm command", "query in a process, p50, tree checked", "query in a process, p50, unchecked",
    }  # fmt: skip


def test_a_million_units_are_judged_on_the_smallest_sample_that_has_them() -> None:
    sizes = [
        {"units": units, "bytes": units, "looking_p50_ms": 50.0, "query_p50_ms": 30.0} for units in (10, 3_000_000, 1_000_001)
    ]
    assert [(bar["met"], bar["bytes"]) for bar in bars.checked_growth(sizes)] == [(False, 1_000_001), (True, 1_000_001)]
    assert bars.checked_growth(sizes[:1]) == []


def test_tables_show_ratios_and_who_is_missing() -> None:
    found = tree()
    found["bars"] = bars.checked(found)
    result = {"about": {"runs": 1, "left_out": {"probe": "not on the PATH"}}, "trees": [found]}
    shown = dict(tables.compare_tables(result))
    assert shown["warm: 20 MB, 2,000 files"][2] == ["semble", "234 (6×)", "234 (6×)", "234 (6×)"]
    assert shown["left out"][1] == ["probe", "not on the PATH"]
    assert ["warm command", "20 MB", "≤ 40 ms", "39 ms", "met"] in shown["bars"]
    text = tables.aligned(shown["bars"])
    assert "**" not in text and "not met" in text


def test_the_picture_has_a_row_for_each_side_of_each_tree() -> None:
    root = ET.fromstring(compare_plot.drawn({"trees": [tree(), tree(120.0)]}))
    named = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert named.count("semble") == 2 * len(compare_plot.PANELS)
    width = float(root.attrib["viewBox"].split()[2])
    assert all(float(node.attrib["cx"]) < width for node in root.iter("{http://www.w3.org/2000/svg}circle"))


def test_full_text_search_finds_and_times(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "a.py").write_text("def parse_headers(request): ...\n" * 60, "utf-8")
    (folder / "b.py").write_text("def unrelated(): ...\n", "utf-8")
    (folder / "c.bin").write_bytes(b"parse\0headers")
    side = sides.FullText(tmp_path)
    assert set(side.paths(side.search("how are headers parsed by parse_headers?", folder))) == {"a.py"}
    queries = tmp_path / "queries.txt"
    queries.write_text("parse headers\nunrelated\n", "utf-8")
    found = side.in_process(folder, queries, "")
    assert (len(found["ms"]), found["files"], found["chunks"]) == (2, 2, 3)
    with pytest.raises(processes.CommandFailed, match="found nothing"):
        side.search("zebra", folder)


def test_a_command_may_end_as_is_expected_and_not_otherwise() -> None:
    assert processes.run(["sh", "-c", "exit 1"], {"PATH": "/usr/bin:/bin"}, good=(0, 1)).wall > 0
    with pytest.raises(processes.CommandFailed, match="ended with 2"):
        processes.run(["sh", "-c", "exit 2"], {"PATH": "/usr/bin:/bin"}, good=(0, 1))


def test_the_memory_of_a_command_is_its_own() -> None:
    held = bytearray(b"x" * 150_000_000)
    small = processes.run([sys.executable, "-I", "-S", "-c", "pass"], {})
    large = processes.run([sys.executable, "-I", "-S", "-c", "b'x' * 60_000_000"], {}, sample=0.002)
    assert len(held) > 100_000_000 > large.largest_rss > 60_000_000 > small.largest_rss


def test_a_command_that_takes_too_long_or_is_not_there_has_failed() -> None:
    with pytest.raises(processes.CommandFailed, match="ended with -9"):
        processes.run(["sleep", "30"], {"PATH": "/usr/bin:/bin"}, seconds=0.1)
    with pytest.raises(processes.CommandFailed, match="no report"):
        processes.run(["no-such-program-anywhere"], {"PATH": "/usr/bin:/bin"})


def test_processor_time_of_descendants_counts() -> None:
    work = "import subprocess, sys; subprocess.run([sys.executable, '-I', '-S', '-c', 'sum(range(4_000_000))'])"
    alone = processes.run([sys.executable, "-I", "-S", "-c", "pass"], {})
    assert processes.run([sys.executable, "-I", "-c", work], {}).cpu > alone.cpu + 0.02
