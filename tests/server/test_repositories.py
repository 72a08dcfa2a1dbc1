"""A workspace: many repositories, one ranked answer, and only those opened that can contribute."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lurcher.engine import Engine
from lurcher.errors import BroadRoot, ConfigError, LurcherError, PathError, UsageError
from lurcher.indexing import repositories, vocabulary
from lurcher.indexing.repositories import add_repositories, read_repositories, remove_repositories
from lurcher.indexing.vocabulary import Vocabulary, choose_repositories, hash_term, read_vocabulary
from lurcher.server import repositories as served
from lurcher.server.repositories import RepositoryEngine
from tests.corpora.history.repo import Repo

TEXTS = {
    "shop": "def round_invoice(total):\n    return round(total, 2)\n",
    "mail": "def send_letter(address):\n    '''Delivers a letter.'''\n    return address\n",
    "zoo": "class Giraffe:\n    def eat_leaves(self, total):\n        return total\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "LURCHER_INDEX_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, text in TEXTS.items():
        Repo(tmp_path / "src" / name).commit("First", {"a.py": text})
    (tmp_path / "src" / "plain").mkdir()
    return tmp_path / "src"


@pytest.fixture
def workspace(folder: Path) -> RepositoryEngine:
    add_repositories([f"{folder}/*"])
    opened = RepositoryEngine.open()
    opened.refresh()
    return opened


def opened_names(workspace: RepositoryEngine) -> list[str]:
    return [] if workspace.engine is None else [project.root.name for project in workspace.engine.projects]


def test_a_pattern_adds_every_repository_once_and_no_other_folder(folder: Path) -> None:
    assert [entry.name for entry in add_repositories([f"{folder}/*"])] == ["mail", "shop", "zoo"]
    assert add_repositories([f"{folder}/*", str(folder / "zoo")]) == []
    assert [entry.place for entry in read_repositories()] == [str(folder / name) for name in sorted(TEXTS)]


def test_a_folder_inside_stands_for_its_repository_and_a_plain_one_for_itself(folder: Path) -> None:
    assert [entry.name for entry in add_repositories([str(folder / "shop/a.py"), str(folder / "plain")])] == ["shop", "plain"]


def test_two_of_the_same_name_are_told_apart(folder: Path, tmp_path: Path) -> None:
    Repo(tmp_path / "old" / "shop").commit("First", {"a.py": "x = 1\n"})
    names = [entry.name for entry in add_repositories([str(folder / "shop"), str(tmp_path / "old/shop")])]
    assert names == ["shop", "old-shop"]


def test_what_matches_nothing_is_an_error(folder: Path) -> None:
    with pytest.raises(PathError, match="no repository matches"):
        add_repositories([f"{folder}/none-*"])
    with pytest.raises(PathError, match="does not exist"):
        add_repositories([f"{folder}/none"])
    with pytest.raises(UsageError, match="has no repository none"):
        remove_repositories(["none"])


def test_a_home_folder_and_a_file_system_are_refused(folder: Path) -> None:
    for place in ("~", "/"):
        with pytest.raises(BroadRoot):
            add_repositories([place])
    assert read_repositories() == []


def test_a_list_that_cannot_be_read_is_an_error_with_a_hint(folder: Path) -> None:
    add_repositories([f"{folder}/*"])
    path = repositories.data_folder() / "workspace.json"
    for broken in ("{", "[]", '{"repositories": [{"name": "", "path": "x"}]}', '{"repositories": [{"name": 1, "path": "x"}]}'):
        path.write_text(broken)
        with pytest.raises(ConfigError) as error:
            read_repositories()
        assert error.value.hint


def test_hits_say_which_repository_they_are_in(workspace: RepositoryEngine, folder: Path) -> None:
    answer = workspace.search("round an invoice")
    assert answer.hits[0].path == "shop/a.py"
    assert answer.hits[0].to_dict()["repository"] == "shop"
    assert workspace.engine is not None
    assert workspace.engine.locate("shop/a.py") == folder / "shop/a.py"


def test_only_repositories_that_have_a_word_are_opened(workspace: RepositoryEngine) -> None:
    workspace.search("giraffe")
    assert opened_names(workspace) == ["zoo"]
    workspace.search("the total")
    assert opened_names(workspace) == ["shop", "zoo"]


def test_other_forms_of_a_word_open_a_repository_too(workspace: RepositoryEngine) -> None:
    assert workspace.search("invoices that were rounded").hits[0].repository == "shop"


def test_a_question_whose_words_occur_nowhere_finds_nothing_and_says_so(workspace: RepositoryEngine) -> None:
    answer = workspace.search("xylophone quartet")
    assert not answer.hits and answer.unknown_words == ("xylophone", "quartet")
    assert opened_names(workspace) == []


def test_exact_text_is_looked_for_everywhere(workspace: RepositoryEngine) -> None:
    assert [hit.path for hit in workspace.search("iraff", mode="literal").hits] == ["zoo/a.py"]
    assert opened_names(workspace) == sorted(TEXTS)


def test_the_answer_is_that_of_the_same_repositories_opened_together(workspace: RepositoryEngine, folder: Path) -> None:
    together = Engine.open([folder / "shop", folder / "zoo"]).search("the total")
    found = workspace.search("the total")
    assert [(hit.path, hit.score) for hit in found.hits] == [(hit.path, hit.score) for hit in together.hits]


def test_repositories_are_chosen_by_name(workspace: RepositoryEngine) -> None:
    assert {hit.repository for hit in workspace.search("the total", repositories=["z*"]).hits} == {"zoo"}
    assert not workspace.search("the total", repositories=["mail"]).hits
    with pytest.raises(UsageError, match="has no repository garden"):
        workspace.search("the total", repositories=["garden"])


def test_the_best_few_are_opened_and_the_answer_says_so(workspace: RepositoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "MAX_OPENED", 1)
    answer = workspace.search("total of the invoice")
    assert opened_names(workspace) == ["shop"]
    (note,) = answer.degraded
    assert note.reason == "of 2 repositories with words of the question the best 1 were searched"


def test_a_changed_repository_is_found_by_its_new_words(workspace: RepositoryEngine, folder: Path) -> None:
    (folder / "mail/b.py").write_text("def stamp_parcel():\n    pass\n")
    Engine.open(folder / "mail").index()
    assert [hit.path for hit in workspace.search("parcel").hits] == ["mail/b.py"]
    assert [hit.path for hit in RepositoryEngine.open().search("parcel").hits] == ["mail/b.py"]


def test_an_edit_in_a_repository_that_is_opened_is_seen(workspace: RepositoryEngine, folder: Path) -> None:
    (folder / "mail/b.py").write_text("def letter_parcel():\n    pass\n")
    assert {hit.path for hit in workspace.search("letter").hits} == {"mail/a.py", "mail/b.py"}


def test_a_repository_without_an_index_is_named_and_not_indexed(workspace: RepositoryEngine, folder: Path) -> None:
    Engine.open(folder / "zoo").clear()
    answer = RepositoryEngine.open().search("the total")
    assert {hit.repository for hit in answer.hits} == {"shop"}
    assert any("without an index: zoo" in note.reason for note in answer.degraded)
    assert not (folder / "zoo/.lurcher/manifest").exists()


def test_a_damaged_vocabulary_is_made_again(workspace: RepositoryEngine) -> None:
    for entry in workspace.repositories:
        entry.vocabulary_path.write_bytes(b"LURCHER1 and nothing else")
    assert RepositoryEngine.open().search("giraffe").hits[0].repository == "zoo"
    assert all(read_vocabulary(str(entry.vocabulary_path)) for entry in workspace.repositories)


def test_where_nothing_can_be_kept_the_vocabularies_are_made_each_time(
    workspace: RepositoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert RepositoryEngine.open().search("giraffe").hits[0].repository == "zoo"


def test_a_repository_that_is_gone_does_not_stop_the_others(workspace: RepositoryEngine, folder: Path) -> None:
    (folder / "zoo").rename(folder / "moved")
    entries = {entry["name"]: entry for entry in workspace.refresh()}
    assert "problem" in entries["zoo"] and "problem" not in entries["shop"]
    assert RepositoryEngine.open().search("the total").hits[0].repository == "shop"


def test_a_repository_that_is_gone_is_told_apart_from_one_without_an_index(
    workspace: RepositoryEngine, folder: Path
) -> None:
    (folder / "zoo").rename(folder / "moved")
    answer = RepositoryEngine.open().search("the total")
    (note,) = [note for note in answer.degraded if "zoo" in note.reason]
    assert "no longer there" in note.reason and "workspace remove" in str(note.hint)
    problems = {entry["name"]: entry.get("problem", "") for entry in RepositoryEngine.open().status()}
    assert "is gone" in problems["zoo"] and not problems["shop"]


def make_index_a_link(repository: Path) -> None:
    (repository / ".lurcher").rename(repository / "elsewhere")
    (repository / ".lurcher").symlink_to(repository / "elsewhere")


def break_settings(repository: Path) -> None:
    (repository / "lurcher.toml").write_text("this is [not toml")


def name_a_store(repository: Path) -> None:
    (repository / "lurcher.toml").write_text('[store]\nurl = "postgres://elsewhere/x"\n')


@pytest.mark.parametrize("spoil", [make_index_a_link, break_settings, name_a_store])
def test_a_repository_that_cannot_be_opened_is_named_and_does_not_stop_the_others(
    workspace: RepositoryEngine, folder: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(folder / "zoo")
    again = RepositoryEngine.open()
    for mode in (None, "literal"):
        answer = again.search("total", mode=mode)
        assert {hit.repository for hit in answer.hits} == {"shop"}
        (note,) = [note for note in answer.degraded if "zoo" in note.reason]
        assert "was not searched" in note.reason and note.hint
    with pytest.raises(LurcherError):
        again.search("total", repositories=["zoo"])
    assert [entry["name"] for entry in again.status()] == ["mail", "shop", "zoo"]


def test_two_processes_that_add_at_once_both_succeed(folder: Path) -> None:
    code = "import sys; from lurcher.indexing.repositories import add_repositories; add_repositories([sys.argv[1]])"
    names = [f"many{number}" for number in range(8)]
    for name in names:
        (folder / name).mkdir()
    running = [subprocess.Popen([sys.executable, "-c", code, str(folder / name)]) for name in names]
    assert [process.wait(60) for process in running] == [0] * len(names)
    assert [entry.name for entry in read_repositories()] == names


def test_history_is_asked_of_one_repository(workspace: RepositoryEngine) -> None:
    with pytest.raises(UsageError, match="code and notes"):
        workspace.search("first", sources=["history"])
    assert workspace.search("first", sources=["history"], repositories=["zoo"]).hits


def words(units: int, names: dict[str, int] | None = None, **counts: int) -> Vocabulary:
    ordered = sorted((hash_term(word), vocabulary.pack_count(count), word) for word, count in counts.items())
    hashes = memoryview(b"".join(key.to_bytes(4, "little") for key, _, _ in ordered)).cast("I")
    named = bytes(vocabulary.pack_count((names or {}).get(word, 0)) for _, _, word in ordered)
    return Vocabulary((0, 0, 0), units, hashes, memoryview(bytes(count for _, count, _ in ordered)), memoryview(named))


def test_counts_are_kept_within_a_tenth() -> None:
    known = words(10_000, {"a": 3}, a=7, b=1, c=5_000)
    assert [known.look_up(hash_term(word)) for word in ("b", "d")] == [(1.0, 0.0), (0.0, 0.0)]
    assert known.look_up(hash_term("a")) == pytest.approx((7, 3), rel=0.1)
    assert known.look_up(hash_term("c"))[0] == pytest.approx(5_000, rel=0.1)


def test_rare_words_and_frequent_ones_decide() -> None:
    known = {"a": words(100, error=32), "b": words(100, error=4, quorum=16), "c": words(100, error=60)}
    assert choose_repositories(["error"], known, 9, named=False) == (["c", "a", "b"], 3)
    assert choose_repositories(["error", "quorum"], known, 1, named=False) == (["b"], 3)
    assert choose_repositories(["quorum"], known, 9, named=False) == (["b"], 1)
    assert choose_repositories(["absent"], known, 9, named=False) == ([], 0)
    assert choose_repositories(["absent"], {}, 9, named=False) == ([], 0)


def test_a_small_repository_about_a_word_comes_before_a_large_one_that_has_it_too() -> None:
    known = {"large": words(9_000, pool=60), "small": words(100, pool=40)}
    assert choose_repositories(["pool"], known, 1, named=False)[0] == ["small"]


def test_a_repository_that_defines_a_name_comes_first() -> None:
    known = {"a": words(100, pool=64), "b": words(100, {"pool": 12}, pool=48)}
    assert choose_repositories(["pool"], known, 1, named=True)[0] == ["b"]


# -- the command line --------------------------------------------------------------------------------------------------


def test_the_commands(folder: Path, run: Callable[..., Any]) -> None:
    lurcher = partial(run, env={"HOME": str(folder.parent / "home")})
    assert lurcher("workspace", "list").status == 1
    assert lurcher("search", "total", "--workspace").err.startswith("lurcher: the workspace has no repositories")
    added = lurcher("workspace", "add", f"{folder}/*")
    assert added.status == 0 and added.out.count("1 file") == 3
    listed = json.loads(lurcher("workspace", "list", "--json").out)["repositories"]
    assert [(entry["name"], entry["indexed"]) for entry in listed] == [("mail", True), ("shop", True), ("zoo", True)]
    assert "zoo" in lurcher("search", "giraffe", "--workspace").out.splitlines()[0]
    assert json.loads(lurcher("search", "total", "--repo", "shop", "--json").out)["hits"][0]["repository"] == "shop"
    assert lurcher("search", "total", "--workspace", str(folder)).status == 2
    assert lurcher("search", "xylophone", "--workspace").status == 1
    assert "its index stays" in lurcher("workspace", "remove", "z*").out
    assert (folder / "zoo/.lurcher/manifest").exists()
    assert lurcher("workspace", "add", "~").status == 2


# -- servers -----------------------------------------------------------------------------------------------------------


def test_http_lists_and_selects_only_where_it_was_started_so(workspace: RepositoryEngine, folder: Path) -> None:
    from lurcher.surfaces.http.endpoints import ENDPOINTS
    from lurcher.surfaces.http.service import Service

    named = {endpoint.name: endpoint for endpoint in ENDPOINTS}

    async def ask(service: Service, name: str, *pairs: tuple[str, str]) -> Any:
        try:
            return json.loads(await service.ask(named[name], named[name].values(pairs)))
        finally:
            service.end()

    with Engine.open(folder / "mail") as engine:
        listed = asyncio.run(_with_service(engine, workspace, lambda service: ask(service, "repositories")))
        assert [entry["name"] for entry in listed["repositories"]] == sorted(TEXTS)
        found = asyncio.run(
            _with_service(engine, workspace, lambda service: ask(service, "workspace", ("q", "the total"), ("repo", "z*")))
        )
        assert [hit["repository"] for hit in found["hits"]] == ["zoo"]
        with pytest.raises(UsageError, match="does not show the workspace"):
            asyncio.run(_with_service(engine, None, lambda service: ask(service, "repositories")))


async def _with_service(engine: Engine, workspace: RepositoryEngine | None, work: Callable[[Any], Any]) -> Any:
    from lurcher.surfaces.http.service import Service

    return await work(Service(engine, workspace=workspace))


def test_agents_search_the_workspace_and_read_what_they_found(workspace: RepositoryEngine, folder: Path) -> None:
    pytest.importorskip("mcp_types")
    from lurcher.server.session import Session
    from lurcher.surfaces.mcp.requests import ARGUMENTS, Access, check_arguments
    from lurcher.surfaces.mcp.tools import BY_NAME, Call
    from lurcher.types import silent

    access = Access(tuple(folder / name for name in sorted(TEXTS)))
    sessions = lambda access: Session.open(access.folders, None)  # noqa: E731
    call = Call(sessions(access), access, silent, sessions, False, workspace)

    def use(tool: str, **given: Any) -> Any:
        run = BY_NAME[tool].run
        assert run is not None
        return run(call, check_arguments(ARGUMENTS[tool], given))

    found = use("search", query="giraffe")
    assert "zoo/a.py" in found.text and opened_names(workspace) == ["zoo"]
    assert "Giraffe" in use("read", path="zoo/a.py").text
    assert all(name in use("projects").text for name in TEXTS)
