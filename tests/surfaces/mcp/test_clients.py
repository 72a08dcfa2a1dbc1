"""Every tool, called by the official clients and by the inspector, with the old and the new protocol, over both transports."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("uvicorn")

import httpx2 as httpx
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from lurcher.surfaces.mcp.tools import TOOLS, UNLISTED
from tests import own_home
from tests.conftest import environment, write_repository
from tests.npm import modules_with
from tests.surfaces.mcp.talk import CALLS, UNLISTED_CALLS, Talk, command

TYPESCRIPT = "@modelcontextprotocol/client@2.4.0"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
TOKEN = "a-token-for-these-clients"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
ALL = {**CALLS, **UNLISTED_CALLS}
MODES = ("auto", "legacy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_repository(tmp_path_factory.mktemp("clients") / "repository")


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "lurcher", "mcp", "--http", "--port", "0", "--root", str(folder)],
        env=environment(LURCHER_CONFIG="/dev/null", LURCHER_SERVE_TOKEN=TOKEN), stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    found = re.search(rb"serving agents at (\S+)", process.stderr.readline())
    assert found is not None
    yield found[1].decode()
    process.terminate()
    assert process.wait(20) == 0


@pytest.fixture(scope="module")
def indexed(folder: Path) -> Path:
    with Talk(folder) as talk:
        assert not talk.call("index", history=True).is_error
    return folder


def test_the_calls_are_of_every_tool() -> None:
    assert list(CALLS) == [tool.name for tool in TOOLS]
    assert list(UNLISTED_CALLS) == [tool.name for tool in UNLISTED]


@pytest.mark.parametrize("mode", MODES)
def test_python_over_standard_input(indexed: Path, mode: str) -> None:
    with Talk(indexed, mode=mode) as talk:
        assert [tool.name for tool in talk.do(talk.client.list_tools).tools] == list(CALLS)
        for name, arguments in ALL.items():
            assert talk.text(name, **arguments), name


@pytest.mark.parametrize("mode", MODES)
def test_python_over_http(indexed: Path, address: str, mode: str) -> None:
    async def talk() -> None:
        async with (
            httpx.AsyncClient(headers=HEADERS, timeout=60) as http,
            Client(streamable_http_client(address, http_client=http), mode=mode) as client,
        ):
            assert [tool.name for tool in (await client.list_tools()).tools] == list(CALLS)
            for name, arguments in ALL.items():
                result = await client.call_tool(name, arguments)
                assert not result.is_error and result.content[0].text, name

    anyio.run(talk)


@pytest.mark.node
def test_typescript(indexed: Path, address: str) -> None:
    modules = modules_with(TYPESCRIPT, "@modelcontextprotocol/client/dist/index.cjs")
    script = Path(__file__).with_name("every_tool.cjs")
    done = subprocess.run(
        ["node", str(script), address, TOKEN, json.dumps(ALL), *command(indexed)],
        env=environment(NODE_PATH=str(modules), LURCHER_CONFIG="/dev/null"), cwd=indexed, capture_output=True, timeout=180,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    seen: dict[str, Any] = json.loads(done.stdout)
    assert sorted(seen) == ["legacy http", "legacy stdio", "modern http", "modern stdio"]
    for name, told in seen.items():
        assert (told["version"] == "2026-07-28") == name.startswith("modern") == (told["era"] == "modern"), name
        assert told["tools"] == list(CALLS)
        assert list(told["answers"]) == list(ALL)
        assert all(text and not failed for failed, text in told["answers"].values()), name


# -- the inspector -----------------------------------------------------------------------------------------------------


class Inspector:
    def __init__(self, script: Path) -> None:
        self._script = script
        home = own_home.folder() / "home"
        own = {"HOME": str(home), "MCP_STORAGE_DIR": str(home / ".mcp-inspector"), "LURCHER_CONFIG": "/dev/null"}
        self._environment = environment(**own)

    def ask(self, target: list[str], *arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            ["node", str(self._script), "--cli", "--quiet", "--format", "json", *arguments, *target],
            env=self._environment, capture_output=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, (arguments, done.stdout.decode(), done.stderr.decode())
        found: dict[str, Any] = json.loads(done.stdout)["result"]
        return found


@pytest.fixture(scope="module")
def inspector() -> Inspector:
    script = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    return Inspector(modules_with(INSPECTOR, script) / script)


@pytest.mark.node
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_finds_nothing_wrong_with_the_schemas(inspector: Inspector, indexed: Path, era: str) -> None:
    found = inspector.ask(command(indexed), "--protocol-era", era, "--method", "tools/list", "--strict")
    assert [tool["name"] for tool in found["tools"]] == list(CALLS)
    found = inspector.ask(command(indexed), "--protocol-era", era, "--method", "resources/list")
    assert found["resources"]


@pytest.mark.node
@pytest.mark.parametrize("name", CALLS)
def test_the_inspector_calls_every_tool(inspector: Inspector, indexed: Path, address: str, name: str) -> None:
    era = "legacy" if list(CALLS).index(name) % 3 == 2 else "modern"
    given = json.dumps(CALLS[name])
    found = inspector.ask(
        [address], "--protocol-era", era, "--header", f"Authorization: Bearer {TOKEN}", "--method", "tools/call",
        "--tool-name", name, "--tool-args-json", given,
    )  # fmt: skip
    assert not found.get("isError") and found["content"][0]["text"]
