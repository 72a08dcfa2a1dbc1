"""The listing and the walk agree with git about what is ignored, whatever the patterns."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lurcher.sources import FilesSettings, Root
from lurcher.sources.listing import list_files

# No folder or file here has a name that the built-in rules leave out, so git's answer must be the whole answer.
FOLDERS = st.lists(st.sampled_from(["a", "b", "ab", "x y", "d.d"]), max_size=3).map("/".join)
NAMES = st.sampled_from(["a", "b", "a.py", "b.txt", "ab.py", "c c", "#x", "!y", "-z", "é.py", "[q]"])
ATOMS = st.sampled_from(
    [
        *("a", "b", "ab", "a.py", "b.txt", "*", "*.py", "a*", "*b", "*a*", "?", "[ab]", "[!a]", "[^b]*", "**", "x y"),
        *("d.d", "\\a", "#x", "\\#x", "\\!y", "-z", "é*", "\\[q\\]", "[[]q]", "[a-c].py", "[[:alpha:]]", "[a", "c\\ c"),
        *("*.*", "a*b*"),
    ]
)


@st.composite
def patterns(draw: st.DrawFn) -> str:
    body = "/".join(draw(st.lists(ATOMS, min_size=1, max_size=3)))
    sign = draw(st.sampled_from(["", "", "", "!"]))
    return sign + draw(st.sampled_from(["", "", "/"])) + body + draw(st.sampled_from(["", "", "/", "  ", "\r"]))


IGNORES = st.lists(patterns(), min_size=1, max_size=4).map("\n".join)


@pytest.fixture(scope="module")
def shared_repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared").resolve()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def fill(root: Path, files: list[tuple[str, str]], ignores: dict[str, str]) -> None:
    for child in root.iterdir():
        if child.name != ".git":
            shutil.rmtree(child) if child.is_dir() else child.unlink()
    for folder, name in files:
        path = root / folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        except OSError:  # a file where a folder should be, or the reverse: the first one stays
            continue
    for folder, text in ignores.items():
        if (root / folder).is_dir():
            (root / folder / ".gitignore").write_text(text, encoding="utf-8", newline="")


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.lists(st.tuples(FOLDERS, NAMES), min_size=1, max_size=12),
    ignores=st.dictionaries(st.sampled_from(["", "a", "b", "a/b", "ab"]), IGNORES, min_size=1, max_size=3),
)
def test_listing_and_walk_agree_with_git(shared_repo, files, ignores):
    fill(shared_repo, files, ignores)
    answer = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=shared_repo, capture_output=True, check=True
    )
    expected = sorted(answer.stdout.decode().split("\0")[:-1])
    for use_git in (True, False):
        listing = list_files(Root(shared_repo, use_git, ""), FilesSettings())
        assert [entry.path for entry in listing.entries] == expected
        assert listing.skipped == {}
