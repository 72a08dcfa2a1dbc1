import json
import platform

import pytest

from lurcher.errors import DatasetError
from lurcher.evaluation import evaluate, load_run, save_run
from lurcher.evaluation.runs import lurcher_version, new_run
from lurcher.runtime import VERSION
from lurcher.types import Filter

from .fakes import FakeSearcher, Mirror, hit, opening, write_lines, write_tree


@pytest.fixture
def run(tmp_path):
    root = write_tree(tmp_path / "project", {"a.py": "", "b.py": ""})
    rows = [{"query": "q", "relevant": ["b.py"], "category": "c"}, {"query": "ümlaut …", "relevant": ["no.py"]}]
    path = write_lines(tmp_path / "own.jsonl", rows)
    return evaluate(
        path, opening(FakeSearcher({"q": [hit("a.py"), hit("b.py")]})), root=root, settings={"b": 1, "a": 2}
    )


def saved(run, path):
    save_run(run, path)
    return json.loads(path.read_text())


def test_a_run_comes_back_as_it_was_saved(tmp_path, run):
    save_run(run, tmp_path / "runs" / "one.json")
    back = load_run(tmp_path / "runs" / "one.json")
    assert back == run
    save_run(back, tmp_path / "two.json")
    assert (tmp_path / "two.json").read_bytes() == (tmp_path / "runs" / "one.json").read_bytes()


def test_a_saved_run_says_what_was_measured_on_what(tmp_path, run):
    raw = saved(run, tmp_path / "run.json")
    assert list(raw) == [
        "format", "date", "lurcher", "settings", "machine", "dataset", "opening_s", "warnings", "left_out",
        "aggregates", "results",
    ]  # fmt: skip
    assert raw["lurcher"].startswith(VERSION)
    assert list(raw["settings"]) == ["a", "b", "limit"]
    assert raw["dataset"]["name"] == "own" and len(raw["dataset"]["digest"]) == 16
    assert raw["machine"]["python"] == platform.python_version()
    assert raw["results"][0]["chunk_ranks"] == [2]
    assert raw["aggregates"]["query"]["headline"]["over"] == "queries"


def test_a_saved_run_names_neither_host_nor_folders(tmp_path, run):
    save_run(run, tmp_path / "run.json")
    text = (tmp_path / "run.json").read_text()
    assert str(tmp_path) not in text
    assert set(run.machine) == {"system", "processor", "cpus", "python"}


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw.pop("results"),
        lambda raw: raw["results"].clear(),
        lambda raw: raw["results"][0].pop("id"),
        lambda raw: raw["results"][0].update(chunk_ranks=[0]),
        lambda raw: raw["results"][0].update(chunk_ranks=["1"]),
        lambda raw: raw["results"][0].update(ms="fast"),
        lambda raw: raw["results"][0].update(ms=float("nan")),
        lambda raw: raw["results"].append(raw["results"][0]),
        lambda raw: raw["results"][0]["scores"].pop("ndcg@10"),
        lambda raw: raw["results"][0].update(scores=[]),
        lambda raw: raw["dataset"].update(kind="other"),
        lambda raw: raw.update(settings=None),
        lambda raw: raw.update(format="lurcher-run/0"),
    ],
)
def test_a_damaged_run_is_refused(tmp_path, run, damage):
    raw = saved(run, tmp_path / "run.json")
    damage(raw)
    (tmp_path / "run.json").write_text(json.dumps(raw))
    with pytest.raises(DatasetError, match=r"run\.json is") as error:
        load_run(tmp_path / "run.json")
    assert error.value.hint


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\ud800"])
def test_what_is_no_run_is_refused(tmp_path, text):
    (tmp_path / "run.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(DatasetError):
        load_run(tmp_path / "run.json")


def test_a_missing_run_and_an_unwritable_place_are_errors_of_ours(tmp_path, run):
    with pytest.raises(DatasetError, match="cannot be read"):
        load_run(tmp_path / "none.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(DatasetError, match="cannot be written"):
        save_run(run, tmp_path / "file" / "run.json")


def test_recorded_settings_survive_a_round_trip_through_json(tmp_path, run):
    settings = {"globs": {"b", "a", "c"}, "filter": Filter(languages=("go",)), "pair": (1, 2)}
    recorded = new_run(run.results, run.dataset, settings, 0.0, ()).settings
    assert list(recorded) == ["filter", "globs", "pair"]
    assert (recorded["globs"], recorded["pair"], recorded["filter"]["languages"]) == (["a", "b", "c"], [1, 2], ["go"])


def test_the_commit_is_named_when_the_source_is_a_checkout(tmp_path):
    mirror = Mirror(tmp_path)
    commit = mirror.commit("one", {"lurcher/evaluation/runs.py": "", "elsewhere.md": ""})
    source = mirror.directory / "lurcher/evaluation/runs.py"
    assert lurcher_version(source) == f"{VERSION} {commit[:12]}"
    (mirror.directory / "elsewhere.md").write_text("does not change what runs")
    assert lurcher_version(source) == f"{VERSION} {commit[:12]}"
    source.write_text("changed")
    assert lurcher_version(source) == f"{VERSION} {commit[:12]}+"


def test_a_package_installed_inside_another_repository_names_only_its_version(tmp_path):
    mirror = Mirror(tmp_path)
    mirror.commit("one", {"app.py": "", ".gitignore": "venv/"})
    installed = mirror.directory / "venv/lurcher/evaluation/runs.py"
    installed.parent.mkdir(parents=True)
    installed.write_text("")
    assert lurcher_version(installed) == VERSION
    assert lurcher_version(tmp_path / "nowhere" / "a" / "runs.py") == VERSION
