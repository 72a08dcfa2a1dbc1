"""The bare protocol: nothing else on stdout, no question unanswered, progress only if asked for, cancelling ends the work."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lurcher.storage.disk import find_holder
from tests.conftest import environment, write_repository
from tests.indexing.conftest import write
from tests.surfaces.mcp.talk import Wire, wait_until

LONG = 60.0


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    folder = write_repository(tmp_path_factory.mktemp("wire") / "repository")
    with Wire(folder) as found:
        found.call("index")
        yield found


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree whose index takes a few seconds."""
    folder = tmp_path_factory.mktemp("slow")
    body = "".join(f"def step_{i}(request):\n    return request.redirects + {i}\n\n\n" for i in range(120))
    write(folder, {f"pkg{i % 20}/module_{i}.py": f"NUMBER = {i}\n{body}" for i in range(140)})
    return folder


def _ok(wire: Wire) -> None:
    """The connection is as good as before."""
    found = wire.call("search", query="how are redirects followed", limit=1)
    assert found["result"]["structuredContent"]["hits"][0]["path"] == "src/client.py"


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        (b"this is no JSON", None, -32700),
        (b'{"jsonrpc": "2.0", "id": 7', None, -32700),
        (b"[]", None, -32600),
        (b"null", None, -32600),
        (b'{"id": 71, "method": "tools/list"}', 71, -32600),
        (b'{"jsonrpc": "2.0", "id": 72, "method": 5}', 72, -32600),
        (b'{"jsonrpc": "2.0", "id": 73, "method": "tools/call", "params": [1]}', 73, -32600),
        (b"[" * 100_000, None, -32700),
        (b"\xff\xfe\x00", None, -32700),
    ],
)
def test_what_is_no_message_is_answered_with_an_error(wire: Wire, line: bytes, number: int | None, code: int) -> None:
    wire.send(line)
    assert wire.answer(number)["error"]["code"] == code
    _ok(wire)


def test_requests_that_do_not_fit_are_answered_with_an_error(wire: Wire) -> None:
    assert wire.ask("no/such/method")["error"]["code"] == -32601
    assert wire.ask("tools/call", {"name": 5})["error"]["code"] == -32602
    assert wire.ask("tools/call", {"name": "search", "arguments": []})["error"]["code"] == -32602
    assert wire.ask("resources/read", {})["error"]["code"] == -32602
    assert wire.ask("resources/read", {"uri": "lurcher://outline/none.py"})["error"]["code"] == -32602
    _ok(wire)


def test_half_a_character_is_repaired(wire: Wire) -> None:
    params = b'{"name": "search", "arguments": {"query": "redirect \\ud800 x"}}'
    wire.send(b'{"jsonrpc": "2.0", "id": 900, "method": "tools/call", "params": ' + params + b"}")
    assert wire.answer(900)["result"]["isError"] is False


def test_a_message_that_is_far_too_long_is_refused(wire: Wire) -> None:
    wire.send(b'{"jsonrpc":"2.0","id":901,"method":"ping","params":{"x":"' + b"x" * 17_000_000 + b'"}}')
    assert wire.answer(None)["error"]["code"] == -32600
    _ok(wire)


def test_blank_lines_are_nothing(wire: Wire) -> None:
    wire.send(b"")
    wire.send(b"   ")
    _ok(wire)


def test_no_progress_unless_requested(wire: Wire) -> None:
    before = len(wire.seen)
    assert wire.call("index", rebuild=True)["result"]["isError"] is False
    assert all("method" not in message for message in wire.seen[before:])


def test_progress_rises_and_bears_the_client_s_token(slow: Path, tmp_path: Path) -> None:
    with Wire(slow, env={"LURCHER_INDEX_DIR": str(tmp_path)}) as wire:
        number = wire.begin("tools/call", {"name": "index", "arguments": {}, "_meta": {"progressToken": "mine"}})
        wire.answer(number)
        told = [message["params"] for message in wire.seen if message.get("method") == "notifications/progress"]
        assert told
        assert {entry["progressToken"] for entry in told} == {"mine"}
        steps = [entry["progress"] for entry in told]
        assert steps == sorted(set(steps))
        assert all(entry["progress"] <= entry["total"] for entry in told)


def test_cancelling_ends_the_indexing_and_not_the_connection(slow: Path, tmp_path: Path) -> None:
    with Wire(slow, env={"LURCHER_INDEX_DIR": str(tmp_path)}) as wire:
        number = wire.begin("tools/call", {"name": "index", "arguments": {}, "_meta": {"progressToken": 1}})
        folder = _written(tmp_path)
        wire.tell("notifications/cancelled", {"requestId": number, "reason": "enough"})
        deadline = time.monotonic() + LONG
        while find_holder(folder) is not None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert find_holder(folder) is None
        assert wire.ask("ping")["result"] == {}
        assert not [message for message in wire.seen if message.get("id") == number]  # nobody waits for an answer
        entry = wire.call("status")["result"]["structuredContent"]["roots"][0]
        assert entry["exists"] is False
        assert wire.call("index")["result"]["isError"] is False
        assert wire.call("status")["result"]["structuredContent"]["roots"][0]["fresh"] is True


def _written(where: Path) -> Path:
    """The folder of the one index below, once somebody writes it."""
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        for folder in where.iterdir():
            if find_holder(folder) is not None:
                return folder
        time.sleep(0.01)
    raise AssertionError("nobody writes an index")


def test_the_first_question_of_a_cold_repository_is_answered_before_it_is_indexed(slow: Path, tmp_path: Path) -> None:
    with Wire(slow, env={"LURCHER_INDEX_DIR": str(tmp_path)}) as wire:
        found = wire.call("search", query="step_77 of a request")["result"]
        assert found["structuredContent"]["hits"]
        assert found["structuredContent"]["index"]["fresh"] is False
        assert "scanned" in found["structuredContent"]["degraded"][0]["reason"]
        deadline = time.monotonic() + LONG
        while not found["structuredContent"]["index"]["fresh"] and time.monotonic() < deadline:
            time.sleep(0.3)
            found = wire.call("search", query="step_77 of a request")["result"]
        assert found["structuredContent"]["degraded"] == []
        assert wire.call("impact", path="pkg1/module_1.py")["result"]["isError"] is False


def test_many_calls_at_once_are_all_answered(wire: Wire) -> None:
    numbers = [wire.begin("tools/call", {"name": "search", "arguments": {"query": f"redirects {i}"}}) for i in range(30)]
    left = set(numbers)
    while left:
        message = wire.read()
        if message.get("id") in left:
            left.discard(message["id"])
            assert message["result"]["isError"] is False


def test_printed_text_does_not_reach_the_protocol(tmp_path: Path) -> None:
    """A library that prints, and a child process that does, print to stderr."""
    folder = write_repository(tmp_path / "repository")
    code = (
        "import sys, subprocess\nfrom lurcher.surfaces.mcp import answers, tools, serve_stdio\n"
        "def loud(answer, budget, real=answers.render_search):\n"
        "    print('printed'); sys.stdout.flush(); sys.__stdout__.write('more\\n'); sys.__stdout__.flush()\n"
        "    subprocess.run(['echo', 'from a child'])\n    return real(answer, budget)\n"
        "answers.render_search = loud\nserve_stdio([sys.argv[1]])\n"
    )
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "redirects"}}},
    ]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], env=environment(LURCHER_CONFIG="/dev/null"), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in asked))
    process.stdin.flush()
    lines = [json.loads(process.stdout.readline()) for _ in range(2)]
    assert [line["id"] for line in lines] == [1, 2]
    process.stdin.close()
    assert process.stdout.read() == b""
    assert process.wait(120) == 0
    said = process.stderr.read()
    assert b"printed" in said and b"from a child" in said


def test_it_ends_when_the_client_goes_away(tmp_path: Path) -> None:
    folder = write_repository(tmp_path / "repository")
    wire = Wire(folder)
    assert wire.process.stdin is not None
    wire.process.stdin.close()
    assert wire.process.wait(120) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_signal_ends_it_and_the_indexing_while_the_client_is_there(tmp_path: Path, slow: Path, number: int) -> None:
    wire = Wire(slow, env={"LURCHER_INDEX_DIR": str(tmp_path)})
    try:
        wire.begin("tools/call", {"name": "index", "arguments": {}})
        folder = _written(tmp_path)
        wire.process.send_signal(number)
        assert wire.process.wait(LONG) in (130, -signal.SIGTERM)  # its standard input is still open
        wait_until(lambda: find_holder(folder) is None)
    finally:
        wire.process.kill()


def test_a_repository_that_goes_away_is_an_error_and_not_the_end(tmp_path: Path) -> None:
    folder = write_repository(tmp_path / "repository")
    with Wire(folder) as wire:
        wire.call("index")
        shutil.rmtree(folder)
        assert wire.call("outline", path="src/client.py")["result"]["isError"] is True
        assert wire.ask("ping")["result"] == {}
