"""Agents at the server of the page: the same process, the same guard, the same answer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.http.conftest import serving, with_past

mcp = pytest.importorskip("mcp")


def test_an_agent_searches_all_sources_over_http(tmp_path: Path) -> None:
    async def ask(url: str) -> Any:
        async with mcp.Client(f"{url}/mcp") as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            for _ in range(40):  # the history is indexed meanwhile
                asked = {"query": "retry a request", "source": "all"}
                answer = await client.call_tool("search", asked, meta={"lurcher/structured": True})
                if "history" in (answer.structured_content or {}).get("sources", ()):
                    break
                await asyncio.sleep(0.25)
            return names, answer

    with serving(with_past(tmp_path / "repository")) as served:
        names, answer = asyncio.run(asyncio.wait_for(ask(served.url.rstrip("/")), 50))
    assert {"search", "search_history", "status"} <= set(names)
    assert {hit["source"] for hit in answer.structured_content["hits"]} >= {"code", "history"}
