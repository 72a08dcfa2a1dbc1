"""Whoever keeps a page open hears what happens to the index."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from lurcher.surfaces.http import replies
from lurcher.surfaces.http.replies import Busy, Hub
from tests.surfaces.http.conftest import serving, until


def test_a_change_of_the_tree_is_reported(repository: Path) -> None:
    """Over a real connection: that of tests waits for a response to end."""
    found: list[tuple[str, Any]] = []
    with (
        serving(repository, before="import lurcher.surfaces.http.service as s\ns._POLL = 0.2\n") as served,
        httpx.stream("GET", f"{served.url}api/events", timeout=120) as stream,
    ):
        assert stream.headers["content-type"].startswith("text/event-stream")
        kind = ""
        for line in stream.iter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                found.append((kind, json.loads(line.removeprefix("data: "))))
                if kind == "index" and found[-1][1]["files"] == 13:
                    (repository / "src/zebra.py").write_text("stripes = 1\n")
                elif kind == "index" and found[-1][1]["files"] == 14:
                    break
    kinds = [kind for kind, _ in found]
    assert kinds[0] == "state"
    assert found[-1][1]["fresh"] is True


def test_it_ends_with_the_server(shared: Path) -> None:
    with serving(shared) as served:
        ended = threading.Event()

        def listen() -> None:
            with httpx.stream("GET", f"{served.url}api/events", timeout=120) as stream:
                for _ in stream.iter_lines():
                    started.set()
            ended.set()

        started = threading.Event()
        thread = threading.Thread(target=listen)
        thread.start()
        assert started.wait(120)
        served.process.terminate()
        assert ended.wait(120)
        thread.join(120)
        assert served.process.wait(120) == 0


def test_who_listens_too_slowly_misses_progress_only() -> None:
    async def life() -> list[bytes]:
        hub = Hub()
        hub.bind(asyncio.get_running_loop())
        stream = hub.listen({"building": True})
        first = await anext(stream)
        for number in range(500):
            hub.send("progress", {"done": number})
        hub.send("index", {"generation": 2})
        await asyncio.sleep(0.05)
        seen = [first]
        while b"event: index" not in seen[-1]:
            seen.append(await anext(stream))
        await stream.aclose()
        assert not hub.listening
        return seen

    seen = asyncio.run(asyncio.wait_for(life(), 10))
    assert b"event: state" in seen[0]
    assert len(seen) < 100


def test_progress_is_reported_a_few_times_a_second() -> None:
    async def life() -> int:
        hub = Hub()
        hub.bind(asyncio.get_running_loop())
        stream = hub.listen({})
        await anext(stream)
        for number in range(1000):
            hub.progress("reading", number, 1000)
        assert hub.progress_now == {"what": "reading", "done": 999, "total": 1000}
        await asyncio.sleep(0)
        hub.close()
        return sum([1 async for entry in stream if b"progress" in entry])

    assert asyncio.run(asyncio.wait_for(life(), 10)) < 5


def test_the_number_of_event_streams_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "MOST_LISTENERS", 1)

    async def life() -> None:
        hub = Hub()
        stream = hub.listen({})  # before anything is sent: many may come at the same moment
        with pytest.raises(Busy):
            hub.listen({})
        await anext(stream)
        await stream.aclose()
        await hub.listen({}).aclose()
        assert not hub.listening

    asyncio.run(life())


def test_streams_that_are_opened_all_at_once_are_counted(shared: Path) -> None:
    with serving(shared) as served:

        async def life() -> list[int]:
            answered: list[int] = []
            connections = []
            for _ in range(60):
                reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
                connections.append((reader, writer))
            request = f"GET /api/events HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\n\r\n".encode()
            for _, writer in connections:
                writer.write(request)
            for reader, _ in connections:
                answered.append(int((await reader.readline()).split()[1]))
            for _, writer in connections:
                writer.close()
            return answered

        answered = asyncio.run(asyncio.wait_for(life(), 60))
        assert (answered.count(200), answered.count(503)) == (replies.MOST_LISTENERS, 60 - replies.MOST_LISTENERS)

        def free() -> bool:
            with httpx.stream("GET", f"{served.url}api/events", timeout=20) as stream:
                return stream.status_code == 200

        assert until(free, 30)  # whoever left has made room


def test_indexing_that_changes_nothing_is_reported_as_finished(shared: Path) -> None:
    """Files that are read again because their time stamps are young are indexed to no effect: the page must not wait on."""
    from lurcher.engine import Engine
    from lurcher.surfaces.http.service import Service

    real = Engine.look

    def busy(self: Engine, **options: Any) -> Any:
        options["progress"]("indexing", 0, 1)
        return real(self, **options)

    async def life() -> list[bytes]:
        service = Service(engine)
        await service.start()
        await service.check_tree()
        stream = service.hub.listen({})
        seen = [await anext(stream)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Engine, "look", busy)
            await service.check_tree()
        while b"event: index" not in seen[-1]:
            seen.append(await anext(stream))
        await stream.aclose()
        await service.stop()
        return seen

    with Engine.open(shared) as engine:
        seen = asyncio.run(asyncio.wait_for(life(), 20))
    assert b"event: progress" in b"".join(seen)
