"""Where a search may look: folders, files, several roots, work trees; and how paths are written for the place one is in."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def shown(result: Any) -> list[str]:
    """The paths of the hits, as printed."""
    return [head[1] for line in result.out.splitlines() if (head := re.match(r"(\S.*?):\d+-\d+  ", line))]


def search(run: Callable[..., Any], *arguments: Any, cwd: Path) -> list[str]:
    result = run("search", "redirect", *arguments, "-k", "50", "--context", "none", cwd=cwd)
    assert result.status == 0, result.err
    return shown(result)


def test_a_sub_folder_answers_for_itself(shared: Path, ask: Callable[..., Any]) -> None:
    hits = ask("search", "redirect", shared / "web", "--json", "-k", "50").json["hits"]
    assert {hit["path"] for hit in hits} == {"web/router.ts", "web/getUserById.js"}


def test_a_single_file_may_be_searched(shared: Path, ask: Callable[..., Any]) -> None:
    hits = ask("search", "redirect", shared / "src/client.py", "--json", "-k", "50").json["hits"]
    assert {hit["path"] for hit in hits} == {"src/client.py"}


def test_several_paths_of_one_root(shared: Path, ask: Callable[..., Any]) -> None:
    hits = ask("search", "redirect", shared / "web", shared / "docs/guide.md", "--json", "-k", "50").json["hits"]
    assert {hit["path"] for hit in hits} == {"web/router.ts", "web/getUserById.js", "docs/guide.md"}


def test_one_index_serves_every_sub_folder(repository: Path, ask: Callable[..., Any]) -> None:
    ask("search", "redirect", repository / "src")
    ask("search", "redirect", repository / "web")
    assert [path.parent for path in repository.rglob(".lurcher")] == [repository]


@pytest.mark.parametrize("place", [".", "src", "web"])
def test_printed_paths_exist_from_where_one_is(shared: Path, run: Callable[..., Any], place: str) -> None:
    here = shared / place
    found = search(run, shared, cwd=here)
    assert "client.py" in {Path(path).name for path in found}
    assert all((here / path).is_file() for path in found)
    if place == "src":
        assert "client.py" in found and "../web/router.ts" in found


def test_printed_paths_exist_from_outside(shared: Path, tmp_path: Path, run: Callable[..., Any]) -> None:
    assert all((tmp_path / path).is_file() for path in search(run, shared, cwd=tmp_path))


def test_several_roots_at_once(shared: Path, tmp_path: Path, run: Callable[..., Any], ask: Callable[..., Any]) -> None:
    other = tmp_path / "shop"
    other.mkdir()
    (other / "login.py").write_text("def redirect_to_login(request):\n    return request.redirect('/login')\n")
    found = search(run, shared, other, cwd=tmp_path)
    assert all((tmp_path / path).is_file() for path in found)
    assert (other / "login.py").resolve() in {(tmp_path / path).resolve() for path in found}
    # Roots of the same name are told apart by a number.
    hits = ask("search", "redirect", shared, other, "--json", "-k", "50").json["hits"]
    assert {hit["path"].split("/")[0] for hit in hits} == {"shop", "shop-2"}
    assert ask("symbol", "redirect_to_login", shared, other).status == 0
    assert len(ask("status", shared, other, "--json").json["roots"]) == 2
    filtered = ask("search", "redirect", shared / "web", other, "--json", "-k", "50").json["hits"]
    assert {hit["path"] for hit in filtered} == {"shop/web/router.ts", "shop/web/getUserById.js", "shop-2/login.py"}


def test_a_work_tree_has_its_own_index(
    repository: Path, tmp_path: Path, ask: Callable[..., Any], git_in: Callable[..., str]
) -> None:
    tree = tmp_path / "tree"
    git_in(repository, "worktree", "add", "-q", "-b", "side", str(tree))
    (tree / "src" / "toy.py").write_text("def kaleidoscope():\n    return 1\n")
    assert ask("search", "kaleidoscope", tree).status == 0
    assert ask("search", "kaleidoscope", repository).status == 1
    assert git_in(tree, "status", "--porcelain") == "?? src/toy.py\n"


def test_a_repository_without_commits(tmp_path: Path, ask: Callable[..., Any], git_in: Callable[..., str]) -> None:
    git_in(tmp_path, "init", "-q")
    (tmp_path / "toy.py").write_text("def kaleidoscope():\n    return 1\n")
    (tmp_path / ".gitignore").write_text("secret.py\n")
    (tmp_path / "secret.py").write_text("def kaleidoscope():\n    return 2\n")
    hits = ask("search", "kaleidoscope", tmp_path, "--json").json["hits"]
    assert [hit["path"] for hit in hits] == ["toy.py"]


def test_a_folder_outside_of_git(tmp_path: Path, ask: Callable[..., Any]) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "toy.py").write_text("def kaleidoscope():\n    return 1\n")
    hits = ask("search", "kaleidoscope", tmp_path, "--json").json["hits"]
    assert [hit["path"] for hit in hits] == ["deep/toy.py"]


def test_an_empty_folder_has_nothing(tmp_path: Path, run: Callable[..., Any]) -> None:
    result = run("search", "anything", tmp_path)
    assert (result.status, result.out) == (1, "") and result.err.startswith("nothing found\n")
    assert run("search", "anything", tmp_path, "--json").json["hits"] == []
