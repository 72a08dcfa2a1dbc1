"""What a client may ask about: the folders of `--root`, within those it has open; links are followed before that is decided."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp_types import ListRootsResult, Root

from lurcher.errors import PathError
from lurcher.surfaces.mcp.requests import Access, folders_of, is_too_wide, starting_access
from tests.conftest import git
from tests.indexing.conftest import write
from tests.surfaces.mcp.talk import Near, Talk

FILES = {
    "app/main.py": "def start_zebra():\n    pass\n",
    "lib/tool.py": "from app.main import start_zebra\n\n\ndef tool():\n    pass\n",
}


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LURCHER_CONFIG", "/dev/null")
    monkeypatch.delenv("LURCHER_INDEX_DIR", raising=False)


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Two repositories beside each other."""
    found = []
    for name in ("one", "two"):
        folder = tmp_path / name
        write(folder, {**FILES, f"{name}.py": f"only_in_{name} = 1\n"})
        git(folder, "init", "-q")
        found.append(folder)
    return found[0], found[1]


def _roots(*folders: Path) -> Callable[[Any], Awaitable[ListRootsResult]]:
    async def listed(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=folder.as_uri()) for folder in folders])  # type: ignore[arg-type]

    return listed


def test_a_path_outside_is_refused_in_every_spelling(two: tuple[Path, Path]) -> None:
    one, other = two
    (one / "link.py").symlink_to(other / "two.py")
    (one / "out").symlink_to(other)
    access = Access((one,))
    assert access.check("~/x") == one / "~/x"  # a file of that name inside, not the home folder
    for path in ("../two/two.py", str(other / "two.py"), "link.py", "out/two.py", "app/../../two", "/etc/passwd", "a\0b"):
        with pytest.raises(PathError):
            access.check(path)
    assert access.check("app/main.py") == one / "app/main.py"
    assert access.check(str(one)) == one


def test_the_process_refuses_it_too(two: tuple[Path, Path]) -> None:
    one, other = two
    (one / "out").symlink_to(other)
    with Talk(one) as talk:
        talk.call("index")
        assert talk.data("search", query="only_in_one")["total"] == 1
        for path in ("../two", str(other), "out", "out/two.py"):
            for tool in ("search", "outline", "context", "explain_change", "impact"):
                error = talk.error(tool, path=path, **({"query": "x"} if tool == "search" else {}))
                assert error["code"] == "path"
                assert "outside of the allowed roots" in error["message"]
            error = talk.error("references", name=f"{path}:1")
            assert error["code"] == "path" and "outside of the allowed roots" in error["message"]
        assert talk.data("search", query="only_in_two", mode="literal")["total"] == 0


def test_several_roots_are_one_answer(two: tuple[Path, Path]) -> None:
    with Near(*two) as talk:
        talk.call("index")
        paths = {hit["path"] for hit in talk.data("search", query="start_zebra", mode="literal")["hits"]}
        assert {"one/app/main.py", "two/app/main.py"} <= paths
        assert talk.data("outline", path="two/app/main.py")["total"] == 1
        assert talk.data("references", name="two/app/main.py:1")["entries"][0]["path"] == "two/lib/tool.py"
        assert {hit["path"] for hit in talk.data("search", query="start_zebra", path="two/app")["hits"]} == {"two/app/main.py"}
        assert talk.error("outline")["code"] == "usage"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_s_roots_narrow_those_of_the_command_line(two: tuple[Path, Path], mode: str) -> None:
    one, other = two
    with Talk(*two, mode=mode, list_roots_callback=_roots(other)) as talk:
        talk.call("index")
        paths = {hit["path"] for hit in talk.data("search", query="start_zebra", mode="literal")["hits"]}
        assert paths == {"app/main.py", "lib/tool.py"}
        assert talk.data("status")["roots"][0]["root"] == str(other)
        assert talk.error("outline", path=str(one / "one.py"))["code"] == "path"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_without_a_root_of_its_own_the_server_takes_the_client_s(two: tuple[Path, Path], tmp_path: Path, mode: str) -> None:
    with Near(mode=mode, cwd=two[0], list_roots_callback=_roots(two[1])) as talk:
        assert talk.data("status")["roots"][0]["root"] == str(two[1])
    with Near(mode=mode, cwd=two[0] / "app") as talk:
        assert talk.data("status")["roots"][0]["root"] == str(two[0])


def test_roots_that_have_nothing_in_common_are_an_error(two: tuple[Path, Path]) -> None:
    with Near(two[0], list_roots_callback=_roots(two[1])) as talk:
        assert "none of the client's roots" in talk.error("search", query="x")["message"]


def test_roots_that_change_are_requested_again(two: tuple[Path, Path]) -> None:
    now = [two[0]]

    async def listed(context: Any) -> ListRootsResult:
        return await _roots(*now)(context)

    with Near(*two, mode="legacy", list_roots_callback=listed) as talk:
        assert talk.data("status")["roots"][0]["root"] == str(two[0])
        now[:] = [two[1]]
        talk.do(talk.client.session.send_roots_list_changed)
        assert talk.data("status")["roots"][0]["root"] == str(two[1])


def test_a_folder_of_a_repository_shows_nothing_of_the_rest(two: tuple[Path, Path]) -> None:
    one = two[0]
    with Near(one / "app") as talk:
        talk.call("index")
        paths = {hit["path"] for hit in talk.data("search", query="start_zebra", mode="literal")["hits"]}
        assert paths == {"app/main.py"}
        assert talk.data("impact", path="app/main.py")["dependents"] == []
        assert "lib/tool.py" not in talk.text("context", path="app/main.py")
        assert talk.data("references", name="start_zebra")["definitions"][0]["path"] == "app/main.py"
        for show in ("uses", "callers", "callees", "tests", "implementations"):
            for name in ("start_zebra", "tool", "lib.tool.tool", "app/main.py:1"):
                assert "lib/" not in str(talk.data("references", name=name, show=show)), (show, name)
            assert talk.error("references", name="lib/tool.py:4", show=show)["code"] == "path"
        assert talk.data("exists", text="only_in_one")["exists"] is False
        assert talk.data("exists", text="start_zebra")["path"] == "app/main.py"
        assert talk.error("outline", path="lib/tool.py")["code"] == "path"
        uris = [resource.uri for resource in talk.do(talk.client.list_resources).resources]
        assert uris == ["lurcher://status", "lurcher://outline/app/main.py"]


def test_a_server_does_not_index_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert is_too_wide(tmp_path) and is_too_wide(Path("/"))
    assert not is_too_wide(tmp_path / "project")
    with Near(cwd=tmp_path) as talk:
        assert "--root" in talk.error("search", query="x")["hint"]
        assert not (tmp_path / ".lurcher").exists()
    with Near(tmp_path) as talk:  # named, but without an index: nobody can be asked
        assert talk.error("search", query="x")["code"] == "broad-root"
        assert not (tmp_path / ".lurcher").exists()


def test_addresses_of_folders(tmp_path: Path) -> None:
    spaced = tmp_path / "with space and ü"
    spaced.mkdir()
    found = folders_of([spaced.as_uri(), "https://example.com/", "file://elsewhere/x", "file:///no/such", "nonsense"])
    assert found == [spaced]


def test_a_root_must_be_a_folder_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for bad in ("file", "missing"):
        with pytest.raises(PathError):
            starting_access([str(tmp_path / bad)], tmp_path)
