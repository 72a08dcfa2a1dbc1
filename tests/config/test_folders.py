"""The user's folders follow the XDG variables, else the home folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lurcher.config.user_files import cache_folder, data_folder, hub_folder, named_folder, state_folder
from lurcher.errors import ConfigError


def test_own_folders_are_where_the_variables_say_or_below_the_home_folder() -> None:
    assert data_folder({"HOME": "/h"}) == Path("/h/.local/share/lurcher")
    assert data_folder({"HOME": "/h", "XDG_DATA_HOME": "/d"}) == Path("/d/lurcher")
    assert state_folder({"HOME": "/h"}) == Path("/h/.local/state/lurcher")
    assert cache_folder({"HOME": "/h", "XDG_CACHE_HOME": "/c"}) == Path("/c/lurcher")


@pytest.mark.parametrize("folder", [data_folder, state_folder, cache_folder])
def test_without_a_home_folder_the_error_says_what_to_set(folder: Callable[[dict[str, str]], Path]) -> None:
    with pytest.raises(ConfigError) as caught:
        folder({})
    assert "HOME" in caught.value.hint


def test_folders_of_other_tools() -> None:
    assert hub_folder({"HF_HUB_CACHE": "/x"}) == Path("/x")
    assert hub_folder({"HF_HOME": "/x"}) == Path("/x/hub")
    assert hub_folder({"HOME": "/h"}) == Path("/h/.cache/huggingface/hub")
    assert hub_folder({}) is None
    assert named_folder("GOPATH", "go", {"HOME": "/h"}) == Path("/h/go")
    assert named_folder("GOPATH", environ={"HOME": "/h"}) is None
