"""`impact`, `outline`, `context` and `exists` as commands."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from lurcher import Engine
from tests.surfaces.test_cli_output import COMMAND, ESCAPE, on_terminal


def test_impact_as_text_and_as_json(shared: Path, run: Callable[..., Any]) -> None:
    result = run("impact", "src/client.py", cwd=shared)
    assert (result.status, result.out) == (0, "tests/test_client.py:1  hop 1  Client  test\n")
    assert result.err == "hop 1: 1 file, 1 test among them\n"
    value = run("impact", "src/client.py", "--json", cwd=shared).json
    assert value["dependents"] == [
        {
            "path": "tests/test_client.py", "hop": 1, "via": "src/client.py", "names": ["Client"], "line": 1,
            "confidence": 1.0, "language": "python", "test": True, "use": None,
        }
    ]  # fmt: skip
    assert (value["total"], value["tests"], value["index"]["fresh"], value["degraded"]) == (1, 1, True, [])


def test_impact_draws_a_tree_on_a_terminal(repository: Path, clean_environment: Callable[..., dict[str, str]]) -> None:
    (repository / "src/late.py").write_text("from client import Client\n")
    (repository / "src/later.py").write_text("import late\n")
    command = [*COMMAND, "impact", "-q", "src/client.py"]
    seen = on_terminal(command, clean_environment(TERM="dumb"), repository).replace("\r", "")
    assert seen.splitlines()[:4] == [
        "src/client.py",
        "├── src/late.py:1  Client",
        "│   └── src/later.py:1",
        "└── tests/test_client.py:1  Client  test",
    ]
    assert ESCAPE not in seen


def test_nothing_depends_on_it(shared: Path, run: Callable[..., Any]) -> None:
    result = run("impact", "src/cookies.py", cwd=shared)
    assert (result.status, result.out, result.err) == (1, "", "nothing imports src/cookies.py\n")


@pytest.mark.parametrize("typed", ["client.py", "../src/client.py", "src/client.py"])
def test_paths_are_relative_or_as_a_hit_shows_them(shared: Path, run: Callable[..., Any], typed: str) -> None:
    result = run("impact", typed, cwd=shared / "src")
    assert (result.status, result.out) == (0, "../tests/test_client.py:1  hop 1  Client  test\n")


def test_a_path_from_somewhere_else_leads_to_its_own_tree(shared: Path, tmp_path: Path, run: Callable[..., Any]) -> None:
    assert run("impact", shared / "src/client.py", "--json", cwd=tmp_path).json["total"] == 1
    assert not (tmp_path / ".lurcher").exists()


def test_an_unknown_file_names_what_is_near(shared: Path, run: Callable[..., Any]) -> None:
    result = run("impact", "src/cliemt.py", cwd=shared)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("lurcher: src/cliemt.py is not in the index (did you mean src/client.py")
    assert run("impact", "src", cwd=shared).err == "lurcher: src is a folder (name a file of it)\n"
    assert run("impact", "src/client.py", "--hops", "0", cwd=shared).status == 2


def test_outline_of_a_file_and_of_a_folder(shared: Path, run: Callable[..., Any]) -> None:
    result = run("outline", "src/cookies.py", cwd=shared)
    assert (result.status, result.err) == (0, "")
    assert result.out.splitlines() == [
        "src/cookies.py  python, 11 lines",
        "4-7    def parse_cookie(header)  function",
        "10-11  def dump_cookie(jar)  function",
    ]
    assert run("outline", "src", "--kind", "class", cwd=shared).out.splitlines() == [
        "src/client.py  python, 29 lines",
        "5-29   class Client  class",
    ]
    assert run("outline", "docs", cwd=shared).out.splitlines() == ["docs/guide.md  markdown, 9 lines", "1-9  # Guide  heading"]
    assert run("outline", "schema.sql", "--kind", "class", cwd=shared).status == 1
    assert run("outline", "--kind", "clas", cwd=shared).status == 2


def test_context_stays_within_its_budget(shared: Path, run: Callable[..., Any]) -> None:
    whole = run("context", "src/client.py", cwd=shared)
    assert whole.status == 0
    assert whole.out.startswith("# src/client.py\n1 file, 29 lines: python 1\n\n## Documentation\nA small HTTP client.\n")
    value = run("context", ".", "--budget", "200", "--json", cwd=shared).json
    assert 100 < value["tokens"] <= value["budget"] == 200
    assert any(section["left_out"] for section in value["sections"])
    assert "left out:" in run("context", "--budget", "200", cwd=shared).err


def test_exists(shared: Path, run: Callable[..., Any]) -> None:
    result = run("exists", "parse_cookie", cwd=shared)
    assert (result.status, result.out, result.err) == (0, "probably\n", "")
    assert (run("exists", "parse_cooky", cwd=shared).status, run("exists", "parse_cooky", cwd=shared).out) == (1, "no\n")
    assert run("exists", "parse_cookie", "--exact", cwd=shared).out == "yes  src/cookies.py:4\n"
    value = run("exists", "parse_cookie", shared, "--json").json
    assert (value["exists"], value["certain"], value["path"]) == (True, False, None)
    assert run("exists", "", cwd=shared).status == 2


def test_what_changed_counts_before_the_answer(repository: Path, ask: Callable[..., Any]) -> None:
    where = repository / "src/client.py"
    assert ask("impact", where, "--json").json["total"] == 1
    (repository / "src/more.py").write_text("from client import Client as Other\n\n\ndef brand_new():\n    pass\n")
    (repository / "tests/test_client.py").unlink()
    assert [entry["path"] for entry in ask("impact", where, "--json").json["dependents"]] == ["src/more.py"]
    assert ask("exists", "brand_new", repository).status == 0
    assert "brand_new" in ask("outline", repository / "src/more.py").out


def test_several_roots_have_a_graph_each(shared: Path, repository: Path) -> None:
    other = repository.rename(repository.with_name("market"))
    with Engine.open([shared, other]) as engine:
        assert [entry.path for entry in engine.impact("market/src/client.py").dependents] == ["market/tests/test_client.py"]
        assert [entry.path for entry in engine.impact(shared / "src/client.py").dependents] == ["shop/tests/test_client.py"]
        assert [file.path for file in engine.outline("market/server").files] == ["market/server/pool.go"]
        assert engine.context("shop/src/client.py").text.startswith("# shop/src/client.py\n")


def test_a_damaged_index_is_rebuilt_and_reported(repository: Path) -> None:
    with Engine.open(repository) as engine:
        engine.index()
        (segment,) = (repository / ".lurcher").glob("*.segment")
        data = bytearray(segment.read_bytes())
        contents = json.loads(_contents(data))
        _, place, _, _ = contents["sections"]["imports"]
        data[place] ^= 255
        segment.write_bytes(data)
    with Engine.open(repository) as engine:
        answer = engine.impact("src/client.py")
        assert [entry.path for entry in answer.dependents] == ["tests/test_client.py"]
        assert "it was rebuilt" in answer.basis.degraded[0].reason


def _contents(data: bytearray) -> bytes:
    start = data.rindex(b'{"meta":')
    decoder = json.JSONDecoder()
    _, end = decoder.raw_decode(data[start:].decode("utf-8", "replace"))
    return bytes(data[start : start + end])


def test_impact_as_a_graph_for_graphviz(repository: Path, run: Callable[..., Any]) -> None:
    (repository / 'src/od"d.py').write_text("from client import Client\n")
    result = run("impact", "src/client.py", "--format", "dot", cwd=repository)
    assert result.status == 0 and result.out.startswith("digraph impact {\n") and result.out.endswith("}\n")
    assert '  "tests/test_client.py" -> "src/client.py" [label="Client"];' in result.out.splitlines()
    assert '"src/od\\"d.py" -> "src/client.py"' in result.out


def test_an_svg_is_drawn_by_graphviz_or_says_how_to_get_it(repository: Path, run: Callable[..., Any], tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "git").symlink_to(shutil.which("git") or "/usr/bin/git")
    without = run("impact", "src/client.py", "--format", "svg", cwd=repository, env={"PATH": str(alone)})
    assert without.status == 2 and without.out == ""
    assert "apt install graphviz" in without.err and "--format dot" in without.err
    if shutil.which("dot") is None:
        return
    drawn = run("impact", "src/client.py", "--format", "svg", cwd=repository)
    tree = ElementTree.fromstring(drawn.out)
    assert tree.tag.endswith("svg")
    assert {"src/client.py", "tests/test_client.py"} <= set(tree.itertext())


def test_why_prints_text_and_json(shared: Path, run: Callable[..., Any]) -> None:
    result = run("why", "tests/test_client.py", "how are redirects followed", "-k", "1", cwd=shared)
    assert result.status == 1
    assert "tests/test_client.py" in result.out.splitlines()[0] and "hit 1" in result.out
    for heading in ("stage", "lane", "word"):
        assert any(line.startswith(heading) for line in result.out.splitlines())
    value = run("why", "src/client.py", "how are redirects followed", "--json", cwd=shared)
    assert value.status == 0 and value.json["shown"] and value.json["here"]["rank"] == 1
    line = run("why", "src/client.py:8", "retries", "--json", cwd=shared).json
    assert line["line"] == 8 and line["here"]["start_line"] <= 8 <= line["here"]["end_line"]


def test_related_wants_a_line(shared: Path, run: Callable[..., Any]) -> None:
    assert run("related", "src/client.py", cwd=shared).status == 2
    found = run("related", "src/client.py:8", "--json", "-k", "3", cwd=shared)
    assert found.status == 0 and found.json["mode"] == "related" and len(found.json["hits"]) == 3
    assert run("related", "src/client.py:8:3", "-k", "1", "--explain", cwd=shared).out.count("lane: rank") >= 1
    assert run("related", "src/client.py:99999", cwd=shared).status == 2
