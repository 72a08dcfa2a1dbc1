"""The MCP server behind every transport: one engine per set of roots, work in threads.

A cancelled call stops at the next step of its work, sends no answer, and the connection stays open.
"""

from __future__ import annotations

import json
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any
from weakref import WeakKeyDictionary

import anyio.to_thread
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.message import SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from lurcher.errors import LurcherError, PathError
from lurcher.runtime import VERSION
from lurcher.runtime.process import Cancelled, pause, printable, run_cancellable
from lurcher.server import token_stats
from lurcher.server.repositories import RepositoryEngine
from lurcher.server.session import Build, Session
from lurcher.sources import find_root
from lurcher.surfaces.mcp import tools
from lurcher.surfaces.mcp.answers import ToolResult, fit_data
from lurcher.surfaces.mcp.requests import WORDING, Access, check_arguments, folders_of, input_schema, is_too_wide
from lurcher.surfaces.mcp.tools import BY_NAME, TOOLS, Call, Tool, status_data, status_text

Context = ServerRequestContext[Any, Any]

INSTRUCTIONS = (
    "Use these tools instead of grep and of reading files whole when you do not know the file or the exact words; for a "
    "literal string in a known file, grep is better. They search this repository's code, notes and git history, offline. "
    "Start with `search`; ask `search_history` before redoing what may have been tried; `outline` and `read` instead of "
    "reading whole files; `brief`, `references` and `impact` before changing an interface. `PATH:FIRST-LAST` heads a "
    "place, `:FIRST-LAST` one more of that file."
)
STRUCTURED = "lurcher/structured"
"""The key of a request's `_meta` by which a client asks for data and its schemas, instead of text."""
_SAME_FOR_ALL = CacheHint(ttl_ms=3_600_000, scope="public")
"""What clients may keep: it changes with the version of lurcher alone."""
_MOST_ENGINES = 6
_THREADS = 8
_ROOTS_SECONDS = 1.0
"""How long a client may take to send its roots; then those of the command line are used."""
_ROOTS_KEY = "roots"
_MOST_SECONDS = 120.0
"""Limit for a query; none takes this long on a repository of a million units. Indexing has no limit."""
_PAUSE = 0.1
"""Seconds between two messages about progress."""


class MCPServer:
    """The MCP server. `access` are the folders that it was started for; `alone` says that there is only one client."""

    def __init__(
        self,
        access: Access,
        overrides: Mapping[str, Any] | None = None,
        *,
        given: bool = True,
        alone: bool = False,
        surface: str = "mcp",
        structured: bool = False,
        workspace: RepositoryEngine | None = None,
    ) -> None:
        """`given` says that the user chose the folders: clients are limited to them. Else a client's own roots replace them.

        With `structured` every client gets data, not only those that ask for it. A `workspace` is searched in the place of all
        folders together.
        """
        self._workspace = workspace
        self._start, self._overrides, self._given, self._alone = access, overrides, given, alone
        self._structured = structured
        self._engines: OrderedDict[tuple[Path, ...], Session] = OrderedDict()
        self._lock = threading.Lock()
        self._limiter: anyio.CapacityLimiter | None = None
        self._counter = _AnswerCounter(surface)
        self._roots: WeakKeyDictionary[Any, list[Path] | None] = WeakKeyDictionary()
        self._only_roots: list[Path] | None = None
        with warnings.catch_warnings():
            # Roots are deprecated in the protocol, but clients still use them.
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            self.server: Server[Any] = Server(
                "lurcher", version=VERSION, title="lurcher", instructions=INSTRUCTIONS, lifespan=self._lifespan,
                cache_hints={"tools/list": _SAME_FOR_ALL, "server/discover": _SAME_FOR_ALL,
                             "resources/templates/list": _SAME_FOR_ALL},
                on_list_tools=self._list_tools, on_call_tool=self._call_tool, on_list_resources=self._list_resources,
                on_list_resource_templates=self._list_templates, on_read_resource=self._read_resource,
                on_roots_list_changed=self._roots_changed, get_tool_input_schema=_schema_of,
            )  # fmt: skip
        self.server.middleware.clear()  # it only adds tracing, which nothing here collects

    @asynccontextmanager
    async def _lifespan(self, server: Server[Any]) -> Any:
        self._limiter = anyio.CapacityLimiter(_THREADS)
        try:
            yield {}
        finally:
            self.close()

    def close(self) -> None:
        with self._lock:
            engines = list(self._engines.values())
            self._engines.clear()
        for served in engines:
            served.close()
        self._counter.finish()

    # -- tools ------------------------------------------------------------------------------------------------------------

    async def _list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        structured = self._wants_data(ctx)
        return types.ListToolsResult(tools=[_describe_tool(tool, structured) for tool in TOOLS])

    def _wants_data(self, ctx: Context) -> bool:
        return self._structured or bool(ctx.meta and ctx.meta.get(STRUCTURED) is True)

    async def _call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        began = time.perf_counter()
        tool = BY_NAME.get(params.name)
        if tool is None:
            known = ", ".join(tool.name for tool in TOOLS)
            about = {"code": "usage", "hint": f"known: {known}"}
            raise MCPError(types.INVALID_PARAMS, f"unknown tool '{params.name[:60]}'", about)
        try:
            given = check_arguments(tool.parameters, params.arguments)
            project = given.pop("project", None)
            access = await self._access(ctx, params)
            if access is None:
                return types.InputRequiredResult(input_requests={_ROOTS_KEY: types.ListRootsRequest()})
            if project is not None:
                access = self._choose(access, project)
            served = await self._open_engine(access)
            result = await self._run(tool, ctx, served, access, given)
        except LurcherError as error:
            return _error_result(error)
        data, text = None, result.text
        if self._wants_data(ctx):
            text = "the answer is in structuredContent"
            data = fit_data(result.data, given["budget"]) if "budget" in given else result.data
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], structured_content=data,
            _meta={"lurcher/ms": round(1000 * (time.perf_counter() - began), 2)},
        )  # fmt: skip

    async def _run(self, tool: Tool, ctx: Context, served: Session, access: Access, given: dict[str, Any]) -> ToolResult:
        if tool.name == "index":
            return await self._index(ctx, served, **given)
        stop = threading.Event()
        if tool.name == "status":
            data = await self._thread(lambda: status_data(served), stop)
            return ToolResult(status_text(WORDING.render_json(data)), WORDING.render_json(data))
        call = Call(served, access, _Reporter(ctx, stop), self._engine_for, self._wants_data(ctx), self._workspace)
        result: ToolResult = await self._thread(partial(self._run_tool, tool, call, given), stop)
        return result

    def _run_tool(self, tool: Tool, call: Call, given: dict[str, Any]) -> ToolResult:
        """Runs a tool; the tokens that it saved are counted when the answer is on its way."""
        assert tool.run is not None
        self._counter.wait_for_quiet()
        result = tool.run(call, given)
        self._counter.wait_for_quiet()
        engine = call.served.engine_at_hand
        if result.paths and engine.settings.savings.count:
            exact = given.get("mode") in ("literal", "structural")  # a grep does that, or cannot
            question = "" if exact else given.get(_GREPPED.get(tool.name, ""), "")
            files = [call.locate(path) for path in result.paths] if question and not engine.elsewhere else []
            self._counter.count(tool.name, result.tokens, question, files)
        return result

    async def _open_engine(self, access: Access) -> Session:
        known = self._engines.get(access.folders)
        if known is None:
            known = await self._thread(lambda: self._engine_for(access), threading.Event())
        assert known is not None
        return known

    async def _thread(self, work: Callable[[], Any], stop: threading.Event) -> Any:
        """Run some work in a thread; `stop` is set when nobody waits for it any more."""
        try:
            watched = partial(run_cancellable, work, stop, _MOST_SECONDS)
            return await anyio.to_thread.run_sync(watched, abandon_on_cancel=True, limiter=self._limiter)
        finally:
            stop.set()

    async def _index(self, ctx: Context, served: Session, history: bool, rebuild: bool) -> ToolResult:
        began = time.monotonic()
        while True:
            build = await self._thread(lambda: _start_build(served, history, rebuild), threading.Event())
            await self._await_build(ctx, build)
            if build.request.history or not history:  # otherwise it joined a build without history
                break
        data = await self._thread(lambda: status_data(served), threading.Event())
        data["seconds"] = round(time.monotonic() - began, 2)
        return ToolResult(status_text(WORDING.render_json(data)), WORDING.render_json(data))

    async def _await_build(self, ctx: Context, build: Build) -> None:
        """Waits for a build and reports progress; cancels it when nobody waits any more."""
        last, seen, base = 0.0, 0, 0
        build.waiting += 1
        try:
            while not build.ended:
                now = time.monotonic()
                if build.done < seen:  # the next stage counts from 0, but reported progress must grow
                    base, seen = base + seen, 0
                if now - last > _PAUSE and build.done > seen:
                    last, seen = now, build.done
                    await ctx.session.report_progress(base + build.done, base + build.total, build.what)
                await anyio.sleep(0.03)
        finally:
            build.waiting -= 1
            if not build.waiting:
                build.cancel()
        build.check()

    # -- resources --------------------------------------------------------------------------------------------------------

    async def _list_resources(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        cursor = params.cursor if params is not None else None
        access = await self._access_known(ctx)
        try:
            served = await self._open_engine(access)
            page = await self._thread(lambda: tools.list_resources(served, access, cursor), threading.Event())
        except LurcherError as error:
            raise _protocol_error(error) from None
        return types.ListResourcesResult(resources=page.entries, next_cursor=page.next)

    async def _list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[tools.OUTLINE_TEMPLATE])

    async def _read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        access = await self._access_known(ctx)
        stop = threading.Event()
        try:
            served = await self._open_engine(access)
            call = Call(served, access, _Reporter(ctx, stop), self._engine_for)
            found = await self._thread(partial(tools.read_resource, call, params.uri), stop)
        except LurcherError as error:
            raise _protocol_error(error) from None
        return types.ReadResourceResult(contents=[found])

    # -- roots ------------------------------------------------------------------------------------------------------------

    def _engine_for(self, access: Access) -> Session:
        """The session for these folders; the least recently used ones are closed."""
        if not self._given and any(is_too_wide(folder) for folder in access.folders):
            raise PathError(
                f"{access.folders[0]} is not a project",
                "pass the folder of a git work tree as project, or start with: lurcher mcp --root FOLDER",
            )
        with self._lock:
            known = self._engines.get(access.folders)
            if known is None:
                known = Session.open(access.folders, self._overrides)
                for project in known.engine.projects:
                    project.check_breadth()  # there is nobody to confirm it
                self._engines[access.folders] = known
            self._engines.move_to_end(access.folders)
            surplus = [self._engines.popitem(last=False)[1] for _ in range(len(self._engines) - _MOST_ENGINES)]
        for served in surplus:
            served.close()
        return known

    async def _access(self, ctx: Context, params: types.CallToolRequestParams) -> Access | None:
        """The folders that this client may read; None if it has to send its roots first."""
        result = (params.input_responses or {}).get(_ROOTS_KEY)
        if isinstance(result, types.ListRootsResult):
            roots = folders_of(str(root.uri) for root in result.roots)
            if self._alone:
                self._only_roots = roots
            return self._limit_to(roots)
        if self._has_roots(ctx) and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return self._limit_to(self._only_roots) if self._only_roots is not None else None
        return await self._access_known(ctx)

    async def _access_known(self, ctx: Context) -> Access:
        if not self._has_roots(ctx):
            return self._start
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return self._limit_to(self._only_roots)
        connection = ctx.session._connection
        if connection not in self._roots:
            self._roots[connection] = await self._request_roots(ctx)
        return self._limit_to(self._roots[connection])

    async def _request_roots(self, ctx: Context) -> list[Path] | None:
        """Ask the client for its roots; None if it does not answer."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            try:
                with anyio.fail_after(_ROOTS_SECONDS):
                    answer = await ctx.session.list_roots()
            except (MCPError, TimeoutError, ValueError):
                return None
        return folders_of(str(root.uri) for root in answer.roots)

    def _has_roots(self, ctx: Context) -> bool:
        able = ctx.session.client_capabilities
        return able is not None and able.roots is not None

    def _choose(self, access: Access, project: str) -> Access:
        """One project. A server that was started in a home folder has no projects of its own, but may open work trees there."""
        chosen = access.choose(project)
        if not self._given and any(map(is_too_wide, access.folders)) and not find_root(chosen.folders[0]).git:
            raise PathError(f"{chosen.folders[0]} is not in a git work tree", "start with: lurcher mcp --root FOLDER")
        return chosen

    def _limit_to(self, roots: list[Path] | None) -> Access:
        if not roots:
            return self._start
        return self._start.narrow(roots) if self._given else Access(tuple(dict.fromkeys(roots)))

    async def _roots_changed(self, ctx: Context, params: types.NotificationParams | None) -> None:
        self._roots.pop(ctx.session._connection, None)
        self._only_roots = None


_MOST_UNCOUNTED = 64
_QUIET_SECONDS = 0.1
"""How long no call may have begun or ended before answers are counted."""
_LAST_SECONDS = 1.0
"""How long a server that ends waits for answers to be counted."""
_GREPPED = {"search": "query", "symbol": "name", "references": "name"}
"""The argument for which one would grep instead."""


class _AnswerCounter:
    """Counts answers in a thread of its own, since comparing one with a grep reads files, and in a pause between calls, since
    it would take the interpreter from them. If many wait, others are left out."""

    def __init__(self, surface: str) -> None:
        self._surface = surface
        self._thread = ThreadPoolExecutor(1, "count")
        self._room = threading.BoundedSemaphore(_MOST_UNCOUNTED)
        self._not_before = 0.0

    def wait_for_quiet(self) -> None:
        """Count nothing for a moment: a call has begun, or its answer is on its way."""
        self._not_before = time.monotonic() + _QUIET_SECONDS

    def count(self, tool: str, returned: int, question: str, files: Sequence[Path]) -> None:
        if self._room.acquire(blocking=False):
            self._thread.submit(self._work, tool, returned, question, files)

    def finish(self) -> None:
        """Count at once what waits: no call is disturbed any more, and nothing is left to do after the end."""
        self._not_before = 0.0
        wait([self._thread.submit(lambda: None)], _LAST_SECONDS)

    def _work(self, tool: str, returned: int, question: str, files: Sequence[Path]) -> None:
        from lurcher.answer import CHARACTERS_PER_TOKEN
        from lurcher.evaluation.baselines import tuned_grep_output

        try:
            while (left := self._not_before - time.monotonic()) > 0:
                time.sleep(left)
            grep = -(-tuned_grep_output(question, files) // CHARACTERS_PER_TOKEN) if files else 0
            token_stats.record_answer(self._surface, tool, returned, grep)
        finally:
            self._room.release()


class _Reporter:
    """Sends the engine's progress to the client, and stops work that nobody waits for any more."""

    def __init__(self, ctx: Context, stop: threading.Event) -> None:
        self._ctx, self._stop = ctx, stop
        self._wanted = bool(ctx.meta and ctx.meta.get("progress_token") is not None)
        self._last, self._seen, self._base = 0.0, 0, 0

    def __call__(self, what: str, done: int, total: int) -> None:
        if self._stop.is_set():
            raise Cancelled
        now = time.monotonic()
        if not self._wanted or now - self._last < _PAUSE:
            return
        if done < self._seen:
            self._base += self._seen
            self._seen = 0
        if done > self._seen:
            self._last, self._seen = now, done
            try:
                anyio.from_thread.run(self._ctx.session.report_progress, self._base + done, self._base + total, what)
            except RuntimeError:  # called from a thread of the engine's own
                self._wanted = False


def _start_build(served: Session, history: bool, rebuild: bool) -> Build:
    """Start a build that does at least this, or join one; waits while a failed one is not yet retried."""
    while True:
        build = served.build(rebuild=rebuild, history=history)
        if build is not None:
            return build
        pause(0.2)


def _describe_tool(tool: Tool, structured: bool) -> types.Tool:
    return types.Tool(
        name=tool.name, title=tool.title, description=tool.description, input_schema=input_schema(tool.parameters),
        output_schema=tool.output if structured else None,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.read_only, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )  # fmt: skip


def _schema_of(name: str) -> Mapping[str, Any] | None:
    tool = BY_NAME.get(name)
    return None if tool is None else input_schema(tool.parameters)


def _error_result(error: LurcherError) -> types.CallToolResult:
    """An error as a tool result: marked as an error, with code and hint."""
    shown = _shown(error)
    hint = f"\nhint: {shown['hint']}" if error.hint else ""
    text = f"error ({error.code}): {shown['message']}{hint}"
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], is_error=True, _meta={"lurcher/error": shown}
    )


def _protocol_error(error: LurcherError) -> MCPError:
    shown = _shown(error)
    return MCPError(types.INVALID_PARAMS, shown["message"], shown)


def _shown(error: LurcherError) -> dict[str, Any]:
    """The error as data, each text on one line: a message may name what the client sent."""
    return {name: printable(text) for name, text in WORDING.render_json(error.to_dict()).items()}


# -- standard input and output: one message a line ---------------------------------------------------------------------


MOST_BYTES = 16_000_000
"""A longer line is rejected."""
_DEEPEST = 100
Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def stdio_streams(source: IO[bytes], target: IO[bytes]) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """The streams of incoming and outgoing messages. A line that is not a message is answered with an error."""
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, replies = anyio.create_memory_object_stream[SessionMessage](0)
    lock = threading.Lock()

    def write(line: bytes) -> None:
        with lock:
            target.write(line)
            target.flush()

    async def read_lines() -> None:
        async with received:
            while line := await anyio.to_thread.run_sync(_read_line, source, abandon_on_cancel=True):
                if not line.strip():
                    continue
                message = parse_line(line)
                if isinstance(message, bytes):
                    await anyio.to_thread.run_sync(write, message)
                else:
                    await received.send(SessionMessage(message))

    async def write_lines() -> None:
        async with replies:
            async for message in replies:
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
    """The next line; only the beginning of one that is too long."""
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
    """The value without unpaired surrogates, which UTF-8 cannot encode."""
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
