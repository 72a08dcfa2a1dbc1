"""One repository for all tests of the server, and one process for those that change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mcp_types", reason="the extra mcp is not installed")

from tests.conftest import write_repository
from tests.surfaces.mcp.talk import Talk


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_repository(tmp_path_factory.mktemp("mcp") / "repository")


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="session")
def talk(repository: Path, state: Path) -> Iterator[Talk]:
    """The newest protocol, on a repository that is indexed."""
    with Talk(repository, env={"XDG_STATE_HOME": str(state)}) as found:
        assert not found.call("index", history=True).is_error
        yield found
