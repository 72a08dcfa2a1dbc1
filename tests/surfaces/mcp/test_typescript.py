"""The TypeScript client against the real process: initialize, list, call, progress, cancel, errors, resources, roots."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import environment, write_repository
from tests.indexing.conftest import write
from tests.npm import modules_with
from tests.surfaces.mcp.talk import command

PACKAGE = "@modelcontextprotocol/sdk@1.32.2"

pytestmark = pytest.mark.node


@pytest.fixture(scope="module")
def modules() -> Path:
    """The client's packages, installed once."""
    return modules_with(PACKAGE, "@modelcontextprotocol/sdk/dist/cjs/client/index.js")


@pytest.fixture(scope="module")
def seen(modules: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("typescript")
    repository = write_repository(folder / "repository")
    slow = folder / "slow"
    body = "".join(f"def step_{i}(request):\n    return request.redirects + {i}\n\n\n" for i in range(150))
    write(slow, {f"pkg{i % 20}/module_{i}.py": f"NUMBER = {i}\n{body}" for i in range(800)})
    program, *arguments = command()
    done = subprocess.run(
        ["node", str(Path(__file__).with_name("client.cjs")), program, str(repository), str(slow), *arguments],
        env=environment(NODE_PATH=str(modules), LURCHER_CONFIG="/dev/null"), cwd=repository, capture_output=True, timeout=180,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return {**found, "repository": str(repository), "slow": str(slow)}


def test_initialize_and_list(seen: dict[str, Any]) -> None:
    assert seen["server"]["name"] == "lurcher"
    assert {"tools", "resources"} <= set(seen["capabilities"])
    assert "search" in seen["instructions"]
    assert len(seen["tools"]) == 11 and seen["plain"] == [True] * 11
    assert ["search", True, "object"] in seen["tools"] and ["read", True, "object"] in seen["tools"]


def test_calls_give_text_and_data_that_fits_the_schema(seen: dict[str, Any]) -> None:
    assert seen["indexed"] is False
    assert seen["search"]["structuredContent"]["hits"][0]["path"] == "src/client.py"
    assert "class Client" in seen["text"]
    assert seen["outline"]["structuredContent"]["total"] > 0


def test_errors(seen: dict[str, Any]) -> None:
    assert seen["refused"]["isError"] is True
    assert seen["refused"]["_meta"]["lurcher/error"]["code"] == "path"
    assert seen["unknown"]["code"] == -32602
    assert seen["missing"]["code"] == -32602


def test_resources(seen: dict[str, Any]) -> None:
    assert "lurcher://status" in seen["resources"] and "lurcher://outline/src/client.py" in seen["resources"]
    assert seen["templates"] == ["lurcher://outline/{+path}"]
    assert json.loads(seen["status"])["roots"][0]["root"] == seen["repository"]


def test_progress_and_cancellation(seen: dict[str, Any]) -> None:
    assert seen["progress"]
    assert "enough" in seen["cancelled"] or "abort" in seen["cancelled"].lower()
    assert seen["after"]["roots"][0]["exists"] is False  # the work has ended, the connection has not
    assert "building" not in seen["after"]


def test_roots(seen: dict[str, Any]) -> None:
    assert seen["roots"] == [seen["repository"]]
    assert seen["outside"]["isError"] is True
