"""Names of projects are the same on every machine, and cannot be anything else than names; addresses keep their secrets."""

from __future__ import annotations

import contextlib
from pathlib import Path
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.errors import UsageError
from lurcher.net.http import redact_url
from lurcher.stores.shared import check_project_name, default_project_name, split_project_names
from tests.conftest import git


@pytest.mark.parametrize(
    ("remote", "name"),
    [
        ("git@github.com:acme/web.git", "acme/web"),
        ("https://github.com/acme/web", "acme/web"),
        ("https://someone:token@git.acme.io/group/sub/web.git", "sub/web"),
        ("ssh://git@host:2222/acme/web.git/", "acme/web"),
        ("https://host/acme/weird%20name'.git", "acme/weird-20name"),
        ("../upstream", "checkout"),
        ("/srv/git/web.git", "checkout"),
        ("file:///srv/git/web.git", "checkout"),
    ],
)
def test_a_checkout_is_named_after_its_remote(tmp_path: Path, remote: str, name: str) -> None:
    root = tmp_path / "checkout"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "remote", "add", "origin", remote)
    assert default_project_name(root) == name


def test_the_origin_goes_before_other_remotes(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "remote", "add", "fork", "https://host/me/web")
    assert default_project_name(root) == "me/web"
    git(root, "remote", "add", "other", "https://host/you/web")
    assert default_project_name(root) == "checkout"
    git(root, "remote", "add", "origin", "https://host/acme/web")
    assert default_project_name(root) == "acme/web"


def test_a_folder_is_named_after_itself(tmp_path: Path) -> None:
    for folder, name in (("shop", "shop"), ("my shop!", "my-shop"), (".dots.", "dots")):
        root = tmp_path / folder
        root.mkdir()
        assert default_project_name(root) == name
    unnamed = tmp_path / "…"
    unnamed.mkdir()
    with pytest.raises(UsageError):
        default_project_name(unnamed)


@pytest.mark.parametrize("name", ["acme/web", "lib:numpy", "a", "A.b-c_d+e@f", "eval:rails"])
def test_good_names(name: str) -> None:
    assert check_project_name(name) == name


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "../x", "a/../b", "/a", "a/", "a//b", "a'b", 'a"b', "a%", "a*", "é", "a\n", "x" * 201, "-a", ".a"]
)
def test_bad_names(name: str) -> None:
    with pytest.raises(UsageError):
        check_project_name(name)


@given(st.text(max_size=30))
def test_whatever_is_a_name_is_harmless(name: str) -> None:
    with contextlib.suppress(UsageError):
        assert set(check_project_name(name)) <= set(ascii_letters + digits + "._+@:/-")


def test_several_names() -> None:
    assert split_project_names("acme/web, acme/api acme/web") == ("acme/web", "acme/api")
    assert split_project_names("") == ()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgres://me:secret@host/db", "postgres://me:***@host/db"),
        ("postgres://me:se@cr:et@host/db", "postgres://me:***@host/db"),
        ("postgres://me@host/db?sslmode=require&password=secret", "postgres://me@host/db?sslmode=require&password=***"),
        ("qdrant://host:6333?api_key=secret", "qdrant://host:6333?api_key=***"),
        ("qdrant://host:6333", "qdrant://host:6333"),
        ("postgres://:secret@host", "postgres://:***@host"),
    ],
)
def test_an_address_is_shown_without_its_secrets(url: str, told: str) -> None:
    assert redact_url(url) == told
