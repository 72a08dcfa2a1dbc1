"""The example plugin does what docs/extending.md says of it, installed as any package is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PLUGIN = Path(__file__).parent.parent / "examples" / "plugin"
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as an installer leaves it: the package, and beside it what its pyproject.toml says."""
    folder = tmp_path_factory.mktemp("site")
    package = "lurcher_example"
    shutil.copytree(PLUGIN / "src" / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    about = folder / f"lurcher_example-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = ([f"[{group}]", *(f"{name} = {place}" for name, place in stages.items())]
              for group, stages in project["entry-points"].items())  # fmt: skip
    (about / "entry_points.txt").write_text("".join(f"{line}\n" for group in groups for line in group))
    return folder


@pytest.fixture
def ask(tmp_path: Path, installed: Path) -> Ask:
    """Runs lurcher with the plugin installed, in a small tree."""
    (tmp_path / "pool.py").write_text(
        "def pool(size):\n    '''Open a pool of connections.'''\n    return [connect() for _ in range(size)]\n\n\n"
        "def close(pool):\n    for connection in pool:\n        connection.close()\n" + "# connections are pooled\n" * 40
    )
    (tmp_path / "limit.py").write_text("def limit(pool):\n    # TODO: count the connections of a pool\n    return pool\n")

    def run(*arguments: str, status: int = 0, **environment: str) -> Any:
        command = [sys.executable, "-m", "lurcher", *arguments, "--json"]
        places = os.pathsep.join(filter(None, (str(installed), os.environ.get("PYTHONPATH"))))
        cache = str(tmp_path.parent / f"{tmp_path.name}-cache")
        own = {"PYTHONPATH": places, "XDG_CACHE_HOME": cache, "LURCHER_CONFIG": os.devnull}
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, **own, **environment}, capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout) if done.stdout else done.stderr

    return run


def test_the_page_shows_the_files_as_they_are() -> None:
    page = (PLUGIN.parent.parent / "docs" / "extending.md").read_text("utf-8")
    files = [file for file in (PLUGIN / "src" / "lurcher_example").glob("*.py") if file.name not in ("__init__.py", "shelf.py")]
    assert len(files) >= 3
    for file in files:
        assert f"```python\n{file.read_text('utf-8')}```" in page, file.name


def paths(answer: Any) -> list[str]:
    return list(dict.fromkeys(hit["path"] for hit in answer["hits"]))


@pytest.mark.parametrize("ranking", ["default", "classic"])
def test_a_lane_moves_what_it_prefers_and_says_so(ask: Ask, ranking: str) -> None:
    question = "how are connections pooled"
    assert paths(ask("search", question, "--ranking", ranking)) == ["pool.py", "limit.py"]
    answer = ask("search", question, "--ranking", ranking, "--set", "search.lanes=todo=5")
    assert paths(answer) == ["limit.py", "pool.py"] and not answer["degraded"]
    assert answer["hits"][0]["why"]["lanes"]["todo"] == {"rank": 1, "score": 1.0}
    if ranking == "default":
        assert any(stage["stage"] == "todo" and stage["amount"] == 5 for stage in answer["hits"][0]["why"]["stages"])


def test_a_lane_that_is_not_there_or_weighs_nothing_is_reported(ask: Ask) -> None:
    answer = ask("search", "how are connections pooled", LURCHER_SEARCH_LANES="tea_leaves")
    assert answer["hits"] and [note["stage"] for note in answer["degraded"]] == ["tea_leaves"]
    for wrong in ("todo=much", "todo=0", "todo=11", "=1", "dense=2"):
        told = ask("search", "how are connections pooled", "--set", f"search.lanes={wrong}", status=2)
        assert told["error"]["message"].startswith("search.lanes has")


def test_a_reranker_is_called_by_its_name(ask: Ask) -> None:
    answer = ask("search", "how are connections pooled", "--rerank", "brief")
    assert paths(answer)[0] == "limit.py" and not answer["degraded"]
    assert 0 < answer["hits"][-1]["why"]["scores"]["brief"] < answer["hits"][0]["why"]["scores"]["brief"] < 1
    told = ask("search", "how are connections pooled", "--rerank", "long", status=2)
    assert told["error"]["message"] == "unknown reranker 'long'"


TICKETS = [
    {"number": 7, "title": "Pools leak", "text": "A connection that fails is never given back to its pool."},
    {"number": 12, "title": "Slow start", "text": "The cache is warmed before the first request.\n\n## Idea\n\nWarm it later."},
]


def test_a_source_is_collected_indexed_and_searched(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "tickets.json").write_text(json.dumps(TICKETS))
    answer = ask("search", "which connection is not given back", "--in", "tickets")
    assert (answer["sources"], answer["hits"][0]["source"]) == (["tickets"], "tickets")
    assert paths(answer)[0] == "tickets:7.md" and not answer["degraded"] and answer["index"]["fresh"]
    assert ask("search", "warm the cache later", "--in", "tickets")["hits"][0]["note"]["title"] == "Slow start"
    assert all(hit["source"] != "tickets" for hit in ask("search", "connection", "--in", "all")["hits"])
    (tmp_path / "tickets.json").write_text(json.dumps([{**TICKETS[0], "number": 8}]))
    answer = ask("search", "connection pool cache", "--in", "tickets")
    assert paths(answer) == ["tickets:8.md"] and answer["index"]["fresh"]


def test_a_source_that_fails_answers_from_what_it_had(ask: Ask, tmp_path: Path) -> None:
    told = ask("search", "which connection", "--in", "tickets", status=2)["error"]
    assert told["message"].startswith("the source tickets failed: FileNotFoundError")
    (tmp_path / "tickets.json").write_text(json.dumps(TICKETS))
    ask("search", "which connection is not given back", "--in", "tickets")
    for broken in ("[", json.dumps([{"number": "../../up", "title": "", "text": ""}]), json.dumps(TICKETS[:1] * 2)):
        (tmp_path / "tickets.json").write_text(broken)
        answer = ask("search", "which connection is not given back", "--in", "tickets")
        assert paths(answer)[0] == "tickets:7.md"
        assert [note["stage"] for note in answer["degraded"]] == ["tickets"], broken
    assert not list(tmp_path.parent.glob("up*"))
    half = [{**TICKETS[0], "text": "This is not what it says in the end."}, {"number": 9}]
    (tmp_path / "tickets.json").write_text(json.dumps(half))
    answer = ask("search", "which connection is not given back", "--in", "tickets")
    assert "given back" in answer["hits"][0]["text"], "of documents that cannot all be had, none is taken"


def test_flags_that_a_source_does_not_take_are_errors(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "tickets.json").write_text(json.dumps(TICKETS))
    told = ask("search", "x", "--in", "tickets", "--author", "me", status=2)["error"]
    assert told["message"] == "--author is not for tickets"
    assert ask("search", "x", "--in", "minutes", status=2)["error"]["message"] == "unknown source 'minutes'"
    assert paths(ask("search", "given back", "--in", "tickets", "--path", "7.md")) == ["tickets:7.md"]


def test_a_store_is_found_by_the_scheme_of_its_address(ask: Ask, tmp_path: Path) -> None:
    address = f"shelf://{tmp_path.parent}/{tmp_path.name}.sqlite"
    ask("index", "--store", address, "--project", "pools")
    answer = ask("search", "how are connections pooled", "--store", address, "--project", "pools")
    assert paths(answer) == ["pool.py", "limit.py"]
    assert paths(answer) == paths(ask("search", "how are connections pooled"))
    told = ask("search", "how are connections pooled", "--store", f"shelf://{tmp_path}/no/such.sqlite", status=2)["error"]
    assert told["code"] == "store" and "cannot be opened" in told["message"]
