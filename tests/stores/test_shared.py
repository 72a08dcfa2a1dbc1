"""What a user meets who shares an index: settings, errors that say what to do, and the local index where it can help."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lurcher import Engine
from lurcher.errors import ConfigError, LurcherError, StoreError, UsageError
from lurcher.indexing.freshness import TreeState
from lurcher.server.session import Session
from lurcher.stores import records
from lurcher.stores import records as record
from lurcher.stores import search as ask
from lurcher.stores.base import Store
from lurcher.types import IndexState
from tests.conftest import FILES, git
from tests.stores.backends import PLACES
from tests.stores.memory import MemoryStore


@pytest.fixture
def place(tmp_path: Path) -> Iterator[str]:
    """What is told to users is the same for all stores: the plainest will do."""
    with PLACES["memory"](tmp_path / "store") as url:
        yield url


class Down:
    """A store that nobody can reach."""

    def __getattr__(self, name: str) -> Any:
        raise StoreError("cannot reach postgres://me:***@host: connection refused", "is it running?")

    def close(self) -> None:
        pass


def test_a_store_that_is_down_says_so(tree: Path, opened: Callable[..., Engine], use: Callable[[Any], None]) -> None:
    use(Down())
    for question in (lambda: opened(tree).search("redirects"), lambda: opened(tree).index()):
        with pytest.raises(StoreError) as problem:
            question()
        assert "connection refused" in problem.value.message
    with pytest.raises(StoreError) as problem:
        opened(tree).search("redirects")
    assert problem.value.code == "store" and "lurcher doctor" in problem.value.hint


def test_the_local_index_answers_where_that_is_wanted(
    tree: Path, opened: Callable[..., Engine], local: Callable[..., Engine], use: Callable[[Any], None]
) -> None:
    use(Down())
    answer = opened(tree, fallback="local").search("how are redirects followed")
    assert [hit.id for hit in answer.hits] == [hit.id for hit in local(tree).search("how are redirects followed").hits]
    note = answer.degraded[0]
    assert note.stage == "store" and "connection refused; the local index answered" in note.reason
    assert "lurcher doctor" in note.hint
    assert answer.index.fresh and not answer.index.shared
    with pytest.raises(StoreError):  # the index here is that of another project
        opened(tree, fallback="local", project="acme/other").search("redirects")


def test_status_reports_a_store_that_is_down(
    tree: Path, ask: Callable[..., Any], use: Callable[[Any], None]
) -> None:
    use(Down())
    told = ask("status", tree, "--store", "memory://down")
    assert told.status == 2 and "connection refused" in told.out and "lurcher doctor" in told.out


def test_a_project_of_another_version_cannot_be_read(tree: Path, store: Store, opened: Callable[..., Engine]) -> None:
    opened(tree).index()
    head = store.head("shop")
    assert head is not None
    made = {**json.loads(head.more["made_with"]), "format": 1}
    store.publish("shop", replace(head, generation=2, more={**head.more, "made_with": json.dumps(made)}))
    with pytest.raises(StoreError, match="another version"):
        opened(tree).search("redirects")


def test_a_project_that_changes_during_every_attempt_is_a_store_error(
    tree: Path, store: Store, opened: Callable[..., Engine], use: Callable[[Any], None]
) -> None:
    opened(tree).index()

    class Restless:
        def __getattr__(self, name: str) -> Any:
            if name == "candidates":
                head = store.head("shop")
                assert head is not None
                store.publish("shop", replace(head, generation=head.generation + 1))
            return getattr(store, name)

    use(Restless())
    with pytest.raises(StoreError, match="while it was being read"):
        opened(tree).search("redirects")
    assert opened(tree, fallback="local").search("redirects").degraded[0].stage == "store"


def test_a_store_that_fails_in_the_middle_is_down_too(
    tree: Path, store: Store, opened: Callable[..., Engine], use: Callable[[Any], None]
) -> None:
    opened(tree).index()
    for method in ("pages", "candidates", "records", "texts"):

        class Failing:
            failing = method

            def __getattr__(self, name: str) -> Any:
                return getattr(Down() if name == self.failing else store, name)

        use(Failing())
        with pytest.raises(StoreError):
            opened(tree).search("how are redirects followed")
        answer = opened(tree, fallback="local").search("how are redirects followed")
        assert answer.hits and answer.degraded[0].stage == "store"


def test_an_unknown_project_is_reported(tree: Path, opened: Callable[..., Engine]) -> None:
    with pytest.raises(UsageError, match="no project shop") as problem:
        opened(tree).search("redirects")
    assert "lurcher index --store" in problem.value.hint
    answer = opened(tree, fallback="local").search("redirects")
    assert answer.hits and "no project shop; the local index answered" in answer.degraded[0].reason
    opened(tree).index()
    with pytest.raises(UsageError, match="no project other") as problem:
        opened(tree, project="other").search("redirects")
    assert "it has: shop" in problem.value.hint


def test_exact_text_is_searched_in_the_store(
    tree: Path, opened: Callable[..., Engine], local: Callable[..., Engine]
) -> None:
    opened(tree).index()
    for text, options in (("follow_redirects", {"mode": "literal"}), (r"def \w+\(", {})):
        answer = opened(tree).search(text, **options)
        assert [hit.id for hit in answer.hits] == [hit.id for hit in local(tree).search(text, **options).hits]
        assert answer.mode == "literal" and answer.index.shared and not answer.degraded
        with pytest.raises(UsageError, match="no project acme/other"):
            opened(tree, project="acme/other").search(text, **options)


def test_a_hint_that_ends_with_a_semicolon_is_joined_once(tree: Path, opened: Callable[..., Engine]) -> None:
    store = opened(tree)._store
    assert store is not None
    assert store.shared.add_context(StoreError("none", "run: CREATE EXTENSION vector;")).hint.count(";") == 1


def test_notes_are_shared_too(tree: Path, opened: Callable[..., Engine]) -> None:
    opened(tree).index()
    answer = opened(tree).search("redirects", sources=["notes"])
    assert answer.hits[0].path == "docs/guide.md" and answer.index.shared and not answer.degraded
    with pytest.raises(UsageError, match="no project acme/other"):
        opened(tree, project="acme/other").search("redirects", sources=["notes"])


def test_whether_it_is_fresh_is_not_claimed(
    repository: Path, opened: Callable[..., Engine], git_in: Callable[..., str]
) -> None:
    opened(repository).index()
    answer = opened(repository).search("redirects")
    at = git_in(repository, "rev-parse", "HEAD").strip()
    assert not answer.index.fresh and answer.index.shared["shop"]["commit"] == at and not answer.degraded
    git(repository, "commit", "-q", "--allow-empty", "-m", "More")
    behind = opened(repository).search("redirects").degraded
    assert [note.stage for note in behind] == ["freshness"] and at[:10] in behind[0].reason
    assert opened(repository).index()["sent"][0]["changed"]
    assert not opened(repository).search("redirects").degraded


def test_a_check_of_the_tree_does_not_change_an_answer_of_a_store() -> None:
    look = TreeState(IndexState(3, True, 0), (), (), None, 1)
    answer = {"index": {"generation": 3, "fresh": False, "stale_paths": 0, "shared": {"shop": {}}}, "degraded": []}
    assert look.complete(answer) is answer


def test_another_model_answers_by_words(
    tree: Path, opened: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(tree).index()
    monkeypatch.setenv("LURCHER_DENSE_MODEL", "none")
    assert opened(tree).search("how are redirects followed").hits[0].path == "src/client.py"
    monkeypatch.setenv("LURCHER_DENSE_MODEL", "builtin")
    answer = opened(tree).search("how are redirects followed")
    assert answer.hits and "dense" in [note.stage for note in answer.degraded]


def test_a_project_made_otherwise_is_not_overwritten_by_accident(
    tree: Path, tmp_path: Path, store: Store, place: str, use: Callable[[Any], None]
) -> None:
    use(store)
    first = Engine.open(tree, root=tree, index_dir=tmp_path / "a", store=place)
    first.index()
    other = Engine.open(tree, root=tree, index_dir=tmp_path / "b", store=place, overrides={"index.chunk_chars": "400"})
    with pytest.raises(StoreError, match=r"index\.chunk_chars") as problem:
        other.index()
    assert "--rebuild" in problem.value.hint
    assert other.index(rebuild=True)["sent"][0]["generation"] == 2
    assert other.search("redirects").hits


def test_folders_and_filters_reach_the_store(tree: Path, tmp_path: Path, place: str, opened: Callable[..., Engine]) -> None:
    opened(tree).index()
    inside = Engine.open(tree / "web", root=tree, index_dir=tmp_path / "indexes" / "shop", store=place)
    assert {hit.path.split("/")[0] for hit in inside.search("redirects").hits} == {"web"}
    one = Engine.open(tree / "web/router.ts", root=tree, index_dir=tmp_path / "indexes" / "shop", store=place)
    assert {hit.path for hit in one.search("redirects").hits} == {"web/router.ts"}
    assert {hit.path for hit in opened(tree).search("redirects", paths=["src/**/*.py"]).hits} == {"src/client.py"}
    assert opened(tree).search("redirects", paths=["nowhere/*.py"]).hits == ()


def test_a_filter_that_leaves_few_candidates_fetches_more(
    tmp_path: Path, opened: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask, "CANDIDATES", 10)
    monkeypatch.setattr(ask, "DEPTH", 10)
    root = tmp_path / "many"
    for i in range(80):
        (root / f"f{i}.py").parent.mkdir(exist_ok=True)
        (root / f"f{i}.py").write_text(f"def handle_{i}(request):\n    return request, request, request, {i}\n")
    (root / "wanted_x.py").write_text("def other():\n    a = 1\n    b = 2\n    c = 3\n    d = 4\n    return request\n")
    engine = opened(root)
    engine.index()
    assert [hit.path for hit in engine.search("request", mode="lexical", limit=2, paths=["wanted*"]).hits] == ["wanted_x.py"]


@pytest.mark.parametrize(
    "line", ['url = "memory://elsewhere"', 'project = "acme/other"', 'url = "memory://x"\nfallback = "local"']
)
def test_a_repository_cannot_name_a_store(tree: Path, local: Callable[..., Engine], line: str) -> None:
    (tree / "lurcher.toml").write_text(f"[store]\n{line}\n")
    with pytest.raises(ConfigError, match=r"lurcher\.toml: store\."):
        local(tree)


def test_settings_say_where(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LURCHER_STORE", "memory://from-environment")
    assert Engine.open(tree, root=tree).shares
    assert not Engine.open(tree, root=tree, store="local").shares
    monkeypatch.setenv("LURCHER_STORE", "nowhere")
    with pytest.raises(ConfigError, match="not an address"):
        Engine.open(tree, root=tree)
    monkeypatch.delenv("LURCHER_STORE")
    with pytest.raises(UsageError, match="no store"):
        Engine.open(tree, root=tree, project="acme/web")
    with pytest.raises(UsageError, match="cannot be the name"):
        Engine.open(tree, root=tree, store="memory://x", project="a'; DROP TABLE files")
    with pytest.raises(ConfigError, match=r"nosuch://me:\*\*\*@host"):
        Engine.open(tree, root=tree, store="nosuch://me:secret@host").search("x")


def test_a_server_of_a_store_makes_no_index(tree: Path, place: str, opened: Callable[..., Engine], tmp_path: Path) -> None:
    """There is no index here, and none is made."""
    opened(tree).index()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with Session.open(elsewhere, {"store.url": place, "store.project": "shop"}, index_dir=tmp_path / "none") as served:
        answer = served.search("how are redirects followed")
    assert answer.hits[0].path == "src/client.py" and answer.index.shared
    assert not (tmp_path / "none").exists() and not list(elsewhere.iterdir())


def test_a_watch_is_local(tree: Path, place: str, ask: Callable[..., Any]) -> None:
    told = ask("index", tree, "--watch", "--store", place)
    assert told.status == 2 and "--watch" in told.err


def test_one_folder_is_one_project(tree: Path, opened: Callable[..., Engine]) -> None:
    with pytest.raises(UsageError, match="one folder becomes one project"):
        opened(tree, project=["a", "b"]).index()


# -- what a store may hand back ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("harm", ["cut", "flipped", "empty", "huge", "foreign", "rows"])
def test_a_damaged_record_is_an_error_of_the_store(
    tree: Path, store: Store, opened: Callable[..., Engine], harm: str
) -> None:
    opened(tree).index()
    assert isinstance(store, MemoryStore)
    for kept in store._shelves["shop"].files.values():
        data = kept.file.record
        raw = records.decode(data, "record")
        bad = {
            "cut": data[: len(data) // 2], "flipped": data[:-9] + bytes([data[-9] ^ 1]) + data[-8:], "empty": b"",
            "huge": data[:4] + b"\xff" * 8 + data[12:], "foreign": records.encode(b"\7" + raw[1:]),
            "rows": records.encode(raw[:36] + b"\xff" * (len(raw) - 36 - 200) + raw[-200:]),
        }[harm]  # fmt: skip
        object.__setattr__(kept.file, "record", bad)
    with pytest.raises(LurcherError) as problem:
        opened(tree).search("how are redirects followed")
    assert isinstance(problem.value, StoreError) and "damaged" in problem.value.message


def test_records_are_as_they_were_packed(tree: Path, store: Store, opened: Callable[..., Engine]) -> None:
    opened(tree).index()
    assert isinstance(store, MemoryStore)
    for kept in store._shelves["shop"].files.values():
        found = record.decode_record(kept.file.record)
        assert (found.path, found.language, found.units) == (kept.file.path, kept.file.language, len(kept.file.units))
        for unit in kept.file.units:
            assert (unit.sparse.numbers[1:] > unit.sparse.numbers[:-1]).all() and (unit.sparse.weights > 0).all()
            assert unit.dense is None or abs(float((unit.dense**2).sum()) - 1) < 1e-5


# -- the command line -------------------------------------------------------------------------------------------------------


def test_the_command_line(tree: Path, place: str, ask: Callable[..., Any], tmp_path: Path) -> None:
    told = ask("index", tree, "--store", place, "-q")
    assert told.status == 0 and "project     shop" in told.out and "sent" in told.out
    found = ask("search", "how are redirects followed", tree, "--store", place, "--json")
    assert found.status == 0 and found.json["index"]["shared"]["shop"]["generation"] == 1
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    far = ask("search", "Client.retry", elsewhere, "--store", place, "--project", "shop", "--json")
    assert far.json["hits"][0]["path"] == "src/client.py" and not list(elsewhere.iterdir())
    status = ask("status", tree, "--store", place, "--json").json["shared"]
    assert status["projects"][0]["files"] == len(FILES)
    assert ask("index", tree, "--clear", "--store", place).out == "the index was removed from the store\n"
    assert ask("status", tree, "--store", place).status == 1
    assert ask("search", "redirects", tree, "--store", place).status == 2
    assert ask("index", tree, "--clear", "--store", place).out == "there was no index\n"


def test_passwords_are_not_shown(tree: Path, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LURCHER_STORE", "postgres://me:verysecret@host/db")
    for arguments in (("config", "show"), ("config", "show", "--json")):
        told = ask(*arguments)
        assert "verysecret" not in told.out + told.err and "postgres://me:***@host/db" in told.out


def test_an_error_of_the_store_is_reported_as_such(
    tree: Path, ask: Callable[..., Any], use: Callable[[Any], None]
) -> None:
    use(Down())
    told = ask("search", "redirects", tree, "--store", "memory://down")
    assert told.status == 2 and "connection refused" in told.err and "lurcher doctor" in told.err
    answered = ask("search", "redirects", tree, "--store", "memory://down", "--fallback", "local", "--json")
    assert answered.status == 0 and answered.json["degraded"][0]["stage"] == "store"
    assert json.dumps(answered.json["index"]).count("shared") == 0
