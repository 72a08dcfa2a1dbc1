"""`lurcher mcp --http`: one process for many sessions and projects, with a token; the official client and a probe ask."""

from __future__ import annotations

import json
import re
import shutil
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

from tests.conftest import environment, git, write_repository
from tests.indexing.conftest import write

TOKEN = "a-token-for-these-tests"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
NEW = {
    "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
}  # fmt: skip


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("http-command")
    one, two = write_repository(folder / "one"), folder / "two"
    write(two, {"zebra.py": "def only_in_two():\n    return 2\n"})
    git(two, "init", "-q")
    process = subprocess.Popen(
        [sys.executable, "-m", "lurcher", "mcp", "--http", "--port", "0", "--root", str(one), "--root", str(two)],
        env=environment(LURCHER_CONFIG="/dev/null", LURCHER_SERVE_TOKEN=TOKEN), stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    found = re.search(rb"serving agents at (\S+)", process.stderr.readline())
    assert found is not None
    yield found[1].decode()
    process.terminate()
    assert process.wait(20) == 0


def _post(address: str, method: str, params: dict[str, Any], **headers: str) -> httpx.Response:
    common = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", "Mcp-Method": method}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    version = {"MCP-Protocol-Version": "2026-07-28"} if "_meta" in params else {}
    return httpx.post(address, json=body, headers={**common, **version, **HEADERS, **headers}, timeout=60)


def _result(response: httpx.Response) -> dict[str, Any]:
    text = response.text
    lines = [line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:")]
    found: dict[str, Any] = json.loads(lines[-1] if lines else text)["result"]
    return found


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_call_names_its_project(address: str, mode: str) -> None:
    async def talk() -> None:
        async with (
            httpx.AsyncClient(headers=HEADERS, timeout=60) as http,
            Client(streamable_http_client(address, http_client=http), mode=mode) as client,
        ):
            assert len((await client.list_tools()).tools) == 11
            listed = await client.call_tool("projects", {})
            assert [line.split()[0] for line in listed.content[0].text.splitlines()] == ["one", "two"]
            await client.call_tool("index", {"project": "two"})
            found = await client.call_tool("search", {"query": "only_in_two", "project": "two"})
            assert found.content[0].text.startswith("zebra.py:")
            refused = await client.call_tool("read", {"path": "/etc/passwd", "project": "two"})
            assert refused.is_error

    anyio.run(talk)


def test_a_server_tells_what_it_can_do_without_a_handshake(address: str) -> None:
    found = _result(_post(address, "server/discover", NEW))
    assert "2026-07-28" in found["supportedVersions"] and "tools" in found["capabilities"]
    assert found["ttlMs"] > 0 and found["cacheScope"] == "public"
    listed = _result(_post(address, "tools/list", NEW))
    assert len(listed["tools"]) == 11 and listed["ttlMs"] > 0


def test_without_the_token_or_from_elsewhere_it_refuses(address: str) -> None:
    assert _post(address, "tools/list", NEW, Authorization="Bearer wrong-token-of-16").status_code == 401
    assert _post(address, "tools/list", NEW, Host="evil.example").status_code == 403
    assert _post(address, "tools/list", NEW, Origin="http://evil.example").status_code == 403


def test_the_migration_probe_finds_no_error(address: str) -> None:
    probe = shutil.which("mcp-migration", path=str(Path(sys.executable).parent)) or shutil.which("mcp-migration")
    if probe is None:
        pytest.skip("mcp-migration is not installed")
    done = subprocess.run(
        [probe, "probe", address, "--header", f"Authorization: Bearer {TOKEN}"], capture_output=True, timeout=60
    )  # fmt: skip
    assert done.returncode == 0 and b"[PASS]" in done.stdout and b"[FAIL]" not in done.stdout, done.stdout.decode()
