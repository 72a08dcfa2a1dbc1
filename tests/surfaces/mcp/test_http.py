"""The app for HTTP servers: the same tools, and none but local names in the Host and Origin headers."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import anyio
import pytest

pytest.importorskip("uvicorn")

import httpx2 as httpx
import uvicorn
from mcp import Client
from starlette.applications import Starlette
from starlette.routing import Route

from lurcher.surfaces.mcp import streamable_app
from tests.conftest import write_repository


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    repository = write_repository(tmp_path_factory.mktemp("http") / "repository")
    mounted = streamable_app([repository], {"savings.count": False})
    app = Starlette(routes=[Route("/mcp", endpoint=mounted)], lifespan=lambda _: mounted.lifespan())
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 120
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}/mcp"
    server.should_exit = True
    thread.join(120)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_over_http(address: str, mode: str) -> None:
    async def talk() -> None:
        async with Client(address, mode=mode) as client:
            assert len((await client.list_tools()).tools) == 11
            await client.call_tool("index", {})
            found = await client.call_tool("search", {"query": "how are redirects followed"})
            assert found.content[0].text.startswith("src/client.py:")
            refused = await client.call_tool("outline", {"path": "/etc"})
            assert refused.is_error

    anyio.run(talk)


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
def test_a_foreign_host_or_origin_is_refused(address: str, headers: dict[str, str]) -> None:
    common = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert httpx.post(address, json=body, headers={**common, **headers}).status_code in (403, 421)


def test_a_body_that_is_too_large_is_refused(address: str) -> None:
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    assert httpx.post(address, content=b"x" * 5_000_000, headers=headers).status_code == 413
