"""The protocol over standard input and output: one message a line, and nothing else on stdout, ever.

A line that is not a message is answered with an error, and the connection goes on.
"""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import IO, Any

import anyio
import anyio.to_thread
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

MOST_BYTES = 16_000_000
"""A longer line is no message."""
_DEEPEST = 100

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def streams(source: IO[bytes], target: IO[bytes]) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """What comes in and what goes out, as a server takes it."""
    heard, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, said = anyio.create_memory_object_stream[SessionMessage](0)
    lock = threading.Lock()

    def write(line: bytes) -> None:
        with lock:
            target.write(line)
            target.flush()

    async def read_lines() -> None:
        async with heard:
            while line := await anyio.to_thread.run_sync(_read_line, source, abandon_on_cancel=True):
                if not line.strip():
                    continue
                message = parse_line(line)
                if isinstance(message, bytes):
                    await anyio.to_thread.run_sync(write, message)
                else:
                    await heard.send(SessionMessage(message))

    async def write_lines() -> None:
        async with said:
            async for message in said:
                data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8", "replace")
                try:
                    await anyio.to_thread.run_sync(write, data + b"\n", abandon_on_cancel=True)
                except (BrokenPipeError, ValueError):  # nobody reads any more
                    return

    async with anyio.create_task_group() as group:
        group.start_soon(read_lines)
        group.start_soon(write_lines)
        yield incoming, outgoing
        group.cancel_scope.cancel()


def _read_line(source: IO[bytes]) -> bytes:
    """The next line; of one that is too long only the beginning."""
    line = source.readline(MOST_BYTES + 1)
    rest = line
    while len(rest) > MOST_BYTES and not rest.endswith(b"\n"):
        rest = source.readline(MOST_BYTES + 1)
    return line


def parse_line(line: bytes) -> types.JSONRPCMessage | bytes:
    """The message in a line, or the error to reply with."""
    if len(line) > MOST_BYTES:
        return _error(None, types.INVALID_REQUEST, f"a message has at most {MOST_BYTES:,} bytes")
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        pass  # broken, or with an unpaired surrogate, which can be replaced
    try:
        value = _without_surrogates(json.loads(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return _error(None, types.PARSE_ERROR, "this line is not JSON")
    try:
        return types.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except (ValueError, RecursionError):
        number = value.get("id") if isinstance(value, dict) else None
        known = number if isinstance(number, (int, str)) and not isinstance(number, bool) else None
        return _error(known, types.INVALID_REQUEST, "this is not a JSON-RPC message")


def _without_surrogates(value: Any, depth: int = 0) -> Any:
    """The same without unpaired surrogates, which UTF-8 cannot encode."""
    if depth > _DEEPEST:
        raise RecursionError
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key, depth + 1): _without_surrogates(item, depth + 1) for key, item in value.items()}
    return value


def _error(number: int | str | None, code: int, message: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}).encode() + b"\n"
