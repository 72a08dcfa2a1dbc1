"""Every question has the same answer through a store as from the local index, on every store and without a checkout."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lurcher import Engine
from lurcher.errors import LurcherError, PathError, StoreError, UsageError
from lurcher.stores import files
from lurcher.stores.base import Store
from lurcher.stores.files import LAYOUT, decode_layout
from tests.conftest import git, write_repository

ASK: dict[str, Callable[[Engine], Any]] = {
    "symbol": lambda engine: engine.symbol("Client.retry"),
    "symbol of nothing": lambda engine: engine.symbol("no_such_name"),
    "exists": lambda engine: engine.exists("parse_cookie"),
    "exists, exactly": lambda engine: engine.exists("follow_redirects", exact=True),
    "exists not": lambda engine: engine.exists("parse_cookies_twice", exact=True),
    "literal": lambda engine: engine.search("return response", mode="literal"),
    "regular expression": lambda engine: engine.search(r"def \w+_redirects", mode="literal"),
    "literal of nothing": lambda engine: engine.search("xyzzy", mode="literal"),
    "structural": lambda engine: engine.search("return $X", mode="structural", languages=["python"]),
    "outline": lambda engine: engine.outline("src/client.py"),
    "outline of a folder": lambda engine: engine.outline("src"),
    "related": lambda engine: engine.related("src/client.py", 8),
    "why": lambda engine: engine.why("src/client.py", "how are redirects followed"),
    "why not": lambda engine: engine.why("src/cookies.py", "how are redirects followed", line=1),
    "references": lambda engine: engine.references("Client"),
    "references at a place": lambda engine: engine.references("src/client.py:8"),
    "implementations": lambda engine: engine.implementations("Client"),
    "callers": lambda engine: engine.calls("follow_redirects"),
    "tests": lambda engine: engine.calls("follow_redirects", direction="tests"),
    "impact": lambda engine: engine.impact("src/client.py"),
    "impact of a name": lambda engine: engine.impact("src/client.py", symbol="Client"),
    "graph": lambda engine: engine.graph("src/client.py"),
    "context": lambda engine: engine.context("src"),
    "brief": lambda engine: engine.brief("src/client.py"),
    "file": lambda engine: engine.file("src/client.py", 2, 9),
    "history": lambda engine: engine.history("retry more often"),
    "history of outcomes": lambda engine: engine.history("retry", outcomes=["reverted"]),
    "history of an author": lambda engine: engine.history("client", author="Test"),
    "notes": lambda engine: engine.notes("redirects"),
    "all sources": lambda engine: engine.search("retry redirects", sources=["all"]),
    "all sources, exactly": lambda engine: engine.search("def retry", sources=["all"], mode="literal"),
    "a question about uses": lambda engine: engine.search("who calls follow_redirects"),
}
NOT_COMPARED = ("index", "timings_ms", "degraded", "next", "certain")
"""How current an index is, a store does not know: it is not compared with the tree."""


def told(answer: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(answer.to_dict()))
    return {name: value for name, value in found.items() if name not in NOT_COMPARED}


def notes(answer: Any) -> list[str]:
    return [note["reason"] for note in answer.to_dict()["degraded"]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a commit that was reverted."""
    root = tmp_path / "shop"
    root.mkdir()
    write_repository(root)
    (root / "docs/redirects.md").parent.mkdir(exist_ok=True)
    (root / "docs/redirects.md").write_text("# Redirects\n\nFollow at most ten, see [the client](../src/client.py).\n")
    client = root / "src/client.py"
    client.write_text(client.read_text() + "\nRETRIES = 99\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "client: retry more often")
    git(root, "revert", "--no-edit", "HEAD")
    return root


@pytest.fixture
def away(root: Path, tmp_path: Path, opened: Callable[..., Engine]) -> Engine:
    """An engine in an empty folder, on the project in the store."""
    opened(root, project="acme/shop").index(history=True)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return opened(folder, project="acme/shop")


def test_every_question_has_the_answer_of_the_local_index(
    root: Path, away: Engine, local: Callable[..., Engine], tmp_path: Path
) -> None:
    with local(root) as here:
        for name, ask in ASK.items():
            ours, theirs = ask(away), ask(here)
            assert told(ours) == told(theirs), name
            assert notes(ours) == notes(theirs), name
            assert list(ours.to_dict()["index"]["shared"]) == ["acme/shop"], name
            assert not ours.to_dict()["index"]["fresh"]
    assert not list((tmp_path / "elsewhere").iterdir())


def test_errors_are_those_of_the_local_index(root: Path, away: Engine, local: Callable[..., Engine]) -> None:
    with local(root) as here:
        for ask in (
            lambda engine: engine.outline("src/nowhere.py"), lambda engine: engine.related("src/client.py", 9999),
            lambda engine: engine.exists(""), lambda engine: engine.impact("src"), lambda engine: engine.references("!?"),
        ):  # fmt: skip
            messages = []
            for engine in (away, here):
                with pytest.raises(LurcherError) as caught:
                    ask(engine)
                messages.append((str(caught.value.message), str(caught.value.hint)))
            assert messages[0] == messages[1]


def test_a_path_of_this_machine_is_none_of_the_project(root: Path, away: Engine) -> None:
    for path in (root / "src/client.py", "../shop/src/client.py", "src/\0client.py"):
        with pytest.raises(PathError):
            away.outline(path)


def test_an_update_is_seen_by_who_has_asked_before(
    root: Path, away: Engine, opened: Callable[..., Engine], local: Callable[..., Engine], store: Store
) -> None:
    assert away.exists("parse_cookie").exists
    before = decode_layout(store.pages("acme/shop", 1, [LAYOUT])[LAYOUT])
    (root / "src/cookies.py").write_text("def bake_cookie(oven):\n    return oven.bake()\n")
    git(root, "commit", "-qam", "cookies: bake them")
    sent = opened(root, project="acme/shop").index(history=True)["sent"][0]
    assert (sent["generation"], sent["changed"], sent["commits"]) == (2, True, 4)
    after = decode_layout(store.pages("acme/shop", 2, [LAYOUT])[LAYOUT])
    assert before is not None and after is not None and set(before.files) - set(after.files)
    for name in before.files:
        there = store.pages("acme/shop", 2, [files.block_name(name, 0)]).get(files.block_name(name, 0), b"")
        assert bool(there) == (name in after.files)
    with local(root) as here:
        for name, ask in ASK.items():
            assert told(ask(away)) == told(ask(here)), name
        assert told(away.history("bake cookies")) == told(here.history("bake cookies"))
    again = opened(root, project="acme/shop").index(history=True)["sent"][0]
    assert (again["generation"], again["changed"]) == (2, False)


def test_commits_stay_when_a_machine_without_them_writes(
    root: Path, away: Engine, place: str, use: Callable[[Any], None], tmp_path: Path
) -> None:
    (root / "src/new.py").write_text("def brand_new():\n    pass\n")
    with Engine.open(root, root=root, index_dir=tmp_path / "another", store=place, project="acme/shop") as other:
        assert other.index()["sent"][0]["commits"] == 3
        assert away.exists("brand_new").exists and away.history("retry more often").hits
        assert not any("in the store end at" in note.reason for note in away.history("retry more often").degraded)
        git(root, "add", "-A")
        git(root, "commit", "-qm", "wombats: accelerate them")
        other.index()
    for answer in (away.history("accelerate wombats"), away.search("accelerate wombats", sources=["all"])):
        assert any("in the store end at" in note.reason for note in answer.degraded), "the newest commits are missing"


def test_a_project_without_commits_says_so(
    tmp_path: Path, opened: Callable[..., Engine], tree: Path
) -> None:
    opened(tree).index()
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    away = opened(folder, project="shop")
    with pytest.raises(PathError, match="the store has no commits of shop"):
        away.history("retry")
    answer = away.search("redirects", sources=["all"])
    assert answer.hits and any("no commits of shop" in note.reason for note in answer.degraded)


def test_several_projects_answer_together(tmp_path: Path, opened: Callable[..., Engine]) -> None:
    for name in ("alpha", "beta"):
        root = tmp_path / name
        (root / "src").mkdir(parents=True)
        (root / "src/vault.py").write_text(f"def open_vault():\n    return {name!r}\n\n\ndef use():\n    open_vault()\n")
        (root / "README.md").write_text(f"# The vault of {name}\n\nHow to open the vault.\n")
        opened(root).index()
    folder = tmp_path / "empty"
    folder.mkdir()
    both = opened(folder, project=["alpha", "beta"])
    assert sorted(hit.path for hit in both.symbol("open_vault")) == ["alpha/src/vault.py", "beta/src/vault.py"]
    uses = both.references("open_vault").references
    assert [use.path for use in uses] == ["alpha/src/vault.py", "beta/src/vault.py"]
    assert [entry.path for entry in both.outline("beta/src").files] == ["beta/src/vault.py"]
    assert {hit.path for hit in both.notes("open the vault").hits} == {"alpha/README.md", "beta/README.md"}
    assert {hit.path for hit in both.search("open_vault()", mode="literal").hits} == {
        "alpha/src/vault.py", "beta/src/vault.py"
    }  # fmt: skip
    assert sorted(both.exists("open_vault").basis.index.shared) == ["alpha", "beta"]
    one = opened(folder, project="beta")
    assert [hit.path for hit in one.search("open_vault()", mode="literal").hits] == ["src/vault.py"]
    assert "alpha" not in json.dumps(told(one.search("vault", sources=["all"])))


def test_an_unknown_project_is_an_error_that_names_those_alike(
    away: Engine, opened: Callable[..., Engine], tmp_path: Path
) -> None:
    for wrong in ("acme/shp", "shop", "Acme/Shop"):
        engine = opened(tmp_path / "elsewhere", project=wrong)
        for ask in (ASK["exists"], ASK["outline"], ASK["history"], ASK["notes"], ASK["all sources"], ASK["literal"]):
            with pytest.raises(UsageError, match=f"no project {wrong}") as caught:
                ask(engine)
            assert "did you mean acme/shop" in str(caught.value.hint)


def test_a_question_that_would_read_too_much_is_refused(away: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert away.exists("parse_cookie").exists
    for project in away._store._workspace.projects:  # type: ignore[union-attr]
        monkeypatch.setattr(project.reader, "_limit", 1)
    with pytest.raises(StoreError, match="would read more than"):
        away.history("retry")
    assert away.search("how are redirects followed").hits


def test_damage_in_the_store_is_an_error_and_never_an_answer(
    root: Path, away: Engine, store: Store, opened: Callable[..., Engine]
) -> None:
    head = store.head("acme/shop")
    assert head is not None
    layout = decode_layout(store.pages("acme/shop", 1, [LAYOUT])[LAYOUT])
    assert layout is not None
    broken = {}
    for name, size in layout.files.items():
        page = files.block_name(name, 0)
        broken[page] = files.encode(b"\xff" * min(size, files.BLOCK))
    store.put_pages("acme/shop", broken, 2)
    store.publish("acme/shop", type(head)(2, *(getattr(head, name) for name in type(head).__slots__[1:])))
    for ask in (ASK["exists"], ASK["outline"], ASK["history"], ASK["literal"]):
        with pytest.raises(StoreError, match="damaged"):
            ask(away)
    assert away.search("how are redirects followed").hits
    opened(root, project="acme/shop").index(rebuild=True, history=True)
    assert away.exists("parse_cookie").exists
