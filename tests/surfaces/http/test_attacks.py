"""Every attack that a server on one's own machine has to expect, each by itself."""

from __future__ import annotations

import contextlib
import hmac
import json
import select
import socket
import threading
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from lurcher.engine import Engine
from lurcher.errors import ConfigError, UsageError
from lurcher.surfaces.http import app, check_editor, check_token
from lurcher.surfaces.http.app import Access, build_app
from lurcher.surfaces.http.service import Service
from tests.conftest import Run, environment, git, run_lurcher, write_repository
from tests.surfaces.http.conftest import BASE, PORT, client_for, serving, until

TOKEN = "correct-horse-battery-staple"


# -- DNS rebinding and other sites ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1.evil.example",
        f"127.0.0.1:{PORT + 1}",
        "localhost",
        "",
        "127.0.0.1@evil.example:7433",
        f"127.0.0.1:{PORT}/x",
        f"[::2]:{PORT}",
        f"10.0.0.1:{PORT}",
        "127.0.0.1:port",
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/search?q=router", "/static/app.js", "/openapi.json", "/api/events"])
def test_a_name_that_leads_here_by_rebinding_is_refused(client: TestClient, host: str, path: str) -> None:
    answer = client.get(path, headers={"host": host})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "host")


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LocalHost:{PORT}", f"[::1]:{PORT}"])
def test_the_names_of_the_server_are_accepted(client: TestClient, host: str) -> None:
    assert client.get("/api/search?q=router", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1", f"http://127.0.0.1:{PORT + 1}", "file://"]
)
def test_a_page_of_another_site_is_refused(client: TestClient, origin: str) -> None:
    answer = client.get("/api/search?q=router", headers={"origin": origin})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "origin")


def test_a_page_that_sends_no_origin_is_refused(client: TestClient) -> None:
    """An image or a script of another site: the browser sends no Origin, but says where it comes from."""
    assert client.get("/api/search?q=router", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert (
        client.get("/api/search?q=a", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}).status_code == 403
    )
    assert client.get("/?q=router", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}).status_code == 200


def test_nobody_else_may_read_an_answer(client: TestClient) -> None:
    answer = client.get("/api/search?q=router", headers={"origin": BASE})
    assert answer.status_code == 200
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert client.options("/api/search", headers={"origin": BASE}).status_code == 405


# -- paths ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "endpoint", ["file", "outline", "graph", "impact", "blame", "explain", "why", "related", "references"]
)
@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "/etc/passwd",
        "src/../../secret.txt",
        "src/link.txt",
        "..\\secret.txt",
        ".git/config",
        ".lurcher/manifest",
        "src/%2e%2e/secret.txt",
        "src/client.py\0.txt",
        "~/secret",
        "link/secret.txt",
        "ignored.env",
    ],
)
def test_only_files_of_the_index_are_read(walled: TestClient, endpoint: str, path: str) -> None:
    more = {"why": {"q": "x"}, "related": {"line": 1}}.get(endpoint, {})
    asked = {"name": f"{path}:1"} if endpoint == "references" else {"path": path, **more}
    answer = walled.get(f"/api/{endpoint}", params=asked)
    text = answer.text.replace("\\\\", "\\")
    assert "hunter2" not in text
    if endpoint == "why" and answer.status_code == 200:  # it may tell that a file is not indexed, never what is in it
        assert answer.json()["here"] is None
    else:
        assert answer.status_code in (400, 404), text


@pytest.fixture(scope="module")
def walled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A repository with secrets around it, beside it and behind links."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("password = hunter2\n")
    folder = outside / "shop"
    folder.mkdir()
    write_repository(folder)
    (folder / "src/link.txt").symlink_to(outside / "secret.txt")
    (folder / "link").symlink_to(outside)
    (folder / ".gitignore").write_text("*.env\n")
    (folder / "ignored.env").write_text("password = hunter2\n")
    with client_for(folder) as client:
        yield client


def test_files_outside_of_the_served_folder_are_not_read(shared: Path) -> None:
    with client_for(shared / "src") as client:
        assert client.get("/api/file?path=src/client.py").status_code == 200
        assert client.get("/api/file?path=web/router.ts").status_code == 404
        assert {hit["path"].split("/")[0] for hit in client.get("/api/search?q=redirect").json()["hits"]} == {"src"}
        assert client.get("/api/references?name=src/client.py:1:1").status_code in (200, 400)
        assert client.get("/api/references?name=web/router.ts:1").status_code == 404


@pytest.mark.parametrize("show", ["uses", "callers", "callees", "tests", "implementations"])
def test_uses_outside_of_the_served_folder_are_not_named(tmp_path: Path, show: str) -> None:
    files = {
        "app/main.py": "class Base:\n    pass\n\n\ndef start():\n    return Base()\n",
        "lib/tool.py": "from app.main import Base, start\n\n\nclass Below(Base):\n    pass\n\n\ndef tool():\n    start()\n",
        "tests/test_tool.py": "from lib.tool import tool\n\n\ndef test_tool():\n    tool()\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "-q")
    with client_for(tmp_path / "app") as client:
        for name in ("Base", "start", "Below", "tool", "app/main.py:1", "app/main.py:5"):
            answer = client.get("/api/references", params={"name": name, "show": show})
            assert answer.status_code == 200, answer.text
            assert "lib/" not in answer.text and "test_tool" not in answer.text, name
        assert client.get("/api/references", params={"name": "start", "show": "uses"}).json()["definitions"]


@pytest.mark.parametrize(
    "name",
    ["x" * 4000, "a\nb", "\x1b[31m", "src/client.py:0", "src/client.py:9999", "src/client.py:1:-1", "src/client.py:1:0",
     "src/client.py:-1", "src/client.py:" + "9" * 4000, "::", "\u202e"],
)  # fmt: skip
def test_what_is_no_name_and_no_place_is_an_error(client: TestClient, name: str) -> None:
    answer = client.get("/api/references", params={"name": name})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "query")
    assert answer.json()["error"]["hint"]


def test_kinds_of_uses_are_checked(client: TestClient) -> None:
    assert client.get("/api/references?name=Client&kind=friend").status_code == 400
    assert client.get("/api/references?name=Client&show=friends").status_code == 400


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/http/app.py", "/static//etc/passwd", "/static/__init__.py", "/static/"]
)
def test_the_page_has_its_own_files_and_no_others(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


# -- too much -------------------------------------------------------------------------------------------------------------


def test_a_large_body_is_refused_before_it_is_read(client: TestClient) -> None:
    answer = client.post("/api/search", content=b"x" * (app.MAX_BODY + 1))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too-large")


def test_a_body_that_lies_about_its_size_is_cut_off(shared: Path) -> None:
    from lurcher.surfaces.http.app import MountedApp

    read: list[int] = []

    class Reader:
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            while (message := await receive())["type"] == "http.request" and message.get("more_body"):
                read.append(len(message["body"]))
            from starlette.responses import PlainTextResponse

            await PlainTextResponse(message["type"])(scope, receive, send)

    def pieces() -> Any:
        for _ in range(40):
            yield b"x" * 65536

    with (
        Engine.open(shared) as engine,
        TestClient(build_app(engine, Access(PORT), beside=[MountedApp("/in", Reader())]), BASE) as client,
    ):
        assert client.post("/in", content=pieces()).text == "http.disconnect"
    assert sum(read) <= app.MAX_BODY


def test_a_question_has_a_length(client: TestClient) -> None:
    answer = client.get("/api/search", params={"q": "x" * 10_001})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "query")
    assert client.get("/api/search", params={"q": "redirects " * 900}).status_code == 200
    assert client.get("/api/search", params=[("q", "a"), *[("lang", "python")] * 60]).status_code == 400


def test_too_many_questions_at_once_are_turned_away(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    real = Engine.search
    monkeypatch.setattr(Engine, "search", lambda self, *a, **k: (go_on.wait(20), real(self, *a, **k))[1])
    with Engine.open(shared) as engine:
        service = Service(engine, workers=1, most_waiting=3)
        with TestClient(build_app(engine, Access(PORT), service=service), BASE) as client:
            answers: list[Any] = []

            def ask(number: int) -> None:
                answers.append(client.get(f"/api/search?q=router+{number}"))

            threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            until(lambda: len(answers) >= 5)
            go_on.set()
            for thread in threads:
                thread.join(120)
            assert client.get("/api/search?q=router").status_code == 200  # and it goes on
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] * 3 + [503] * 5
    busy = next(answer for answer in answers if answer.status_code == 503)
    assert (busy.json()["error"]["code"], busy.headers["retry-after"]) == ("busy", "1")


def test_a_query_whose_client_has_left_is_not_run(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    from lurcher.surfaces.http.endpoints import ENDPOINTS

    asked: list[str] = []
    go_on = threading.Event()
    real = Engine.search

    def slow(self: Engine, text: str, **options: Any) -> Any:
        asked.append(text)
        assert go_on.wait(120)
        return real(self, text, **options)

    monkeypatch.setattr(Engine, "search", slow)
    search = next(endpoint for endpoint in ENDPOINTS if endpoint.name == "search")

    async def life() -> None:
        service = Service(engine, workers=1)
        await service.start()
        first = asyncio.create_task(service.ask(search, {"q": "router"}))
        while not asked:
            await asyncio.sleep(0.01)
        second = asyncio.create_task(service.ask(search, {"q": "cookies"}))
        await asyncio.sleep(0.3)
        second.cancel()
        await asyncio.sleep(0.05)
        go_on.set()
        assert await first
        await service.ask(search, {"q": "cache"})
        await service.stop()

    with Engine.open(shared) as engine:
        asyncio.run(asyncio.wait_for(life(), 30))
    assert asked == ["router", "cache"]


@pytest.mark.parametrize("how", ["the client leaves", "the server stops", "its time is over"])
def test_a_question_that_is_being_worked_on_ends(shared: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    import asyncio

    from lurcher.errors import DeadlineExceeded
    from lurcher.runtime.process import Cancelled, check_cancelled
    from lurcher.surfaces.http.endpoints import ENDPOINTS
    from lurcher.surfaces.http.replies import Busy

    begun, ended = threading.Event(), threading.Event()

    def endless(self: Engine, text: str, **options: Any) -> Any:
        begun.set()
        try:
            for _ in range(6000):
                check_cancelled()
                time.sleep(0.01)
        except (Cancelled, DeadlineExceeded):
            ended.set()
            raise

    monkeypatch.setattr(Engine, "search", endless)
    search = next(endpoint for endpoint in ENDPOINTS if endpoint.name == "search")

    async def life() -> None:
        service = Service(engine, workers=1, seconds=0.5 if how == "its time is over" else 60)
        await service.start()
        asking = asyncio.create_task(service.ask(search, {"q": "router"}))
        await asyncio.to_thread(begun.wait, 30)
        if how == "the client leaves":
            asking.cancel()
        elif how == "the server stops":
            await service.stop()
        expected = {"the client leaves": asyncio.CancelledError, "the server stops": Busy, "its time is over": DeadlineExceeded}
        with pytest.raises(expected[how]):
            await asking
        assert await asyncio.to_thread(ended.wait, 30)
        await service.stop()

    with Engine.open(shared) as engine:
        asyncio.run(asyncio.wait_for(life(), 90))


IMPATIENT = """
import lurcher.surfaces.http.server as server
server.REQUEST_SECONDS = 0.6
server.SEND_SECONDS = 1.0
"""


def test_slow_clients_are_let_go(shared: Path) -> None:
    with serving(shared, before=IMPATIENT) as served:
        silent, dripping, stuffed = (socket.create_connection(("127.0.0.1", served.port), 60) for _ in range(3))
        with silent, dripping, stuffed:
            dripping.sendall(b"GET / HTTP/1.1\r\n")
            # A request whose body never ends holds nothing up either.
            stuffed.sendall(
                b"GET /api/symbol?name=x HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 500000\r\n\r\nx" % served.port
            )
            dripping.settimeout(None)  # a server that never closes it runs into the time limit of the tests

            def drip() -> None:
                for number in count():
                    try:
                        dripping.sendall(b"X-Header-%d: x\r\n" % number)
                    except OSError:
                        return
                    time.sleep(0.1)

            dripper = threading.Thread(target=drip, daemon=True)
            dripper.start()
            assert silent.recv(10) == b""
            with pytest.raises(OSError):
                while dripping.recv(100):
                    pass
                raise ConnectionResetError
            dripper.join(60)
            import httpx

            assert httpx.get(f"{served.url}api/search?q=router", timeout=60).status_code == 200


def test_a_client_that_does_not_read_is_let_go(tmp_path: Path) -> None:
    """It asks for more than the system keeps for it, reads nothing, and is gone from the server's books a moment later."""
    (tmp_path / "large.txt").write_text("a line of a text that is long enough to fill what the system keeps\n" * 13_000)
    with serving(tmp_path, before=IMPATIENT) as served:
        import httpx

        until(lambda: httpx.get(f"{served.url}api/file?path=large.txt", timeout=60).status_code == 200)
        before = sockets_of(served.process.pid)
        with socket.socket() as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            lazy.connect(("127.0.0.1", served.port))
            request = b"GET /api/file?path=large.txt HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % served.port
            lazy.sendall(request * 8)
            assert select.select([lazy], [], [], 60)[0]  # it is being answered
            until(lambda: sockets_of(served.process.pid) <= before)
            lazy.settimeout(60)
            read = 0
            with contextlib.suppress(ConnectionError):
                while piece := lazy.recv(1 << 20):
                    read += len(piece)
            assert read < 8 * 900_000
        # A file can be read before there is an index, a symbol cannot.
        until(lambda: httpx.get(f"{served.url}api/symbol?name=value", timeout=60).status_code == 200)


def sockets_of(number: int) -> int:
    """How many sockets a process has open."""
    if not Path("/proc/self/fd").exists():
        time.sleep(2.5)
        return 0
    found = 0
    for path in Path(f"/proc/{number}/fd").iterdir():
        with contextlib.suppress(OSError):
            found += path.readlink().as_posix().startswith("socket:")
    return found


def test_more_connections_than_there_is_room_for(shared: Path) -> None:
    import httpx

    with serving(shared, before="import lurcher.surfaces.http.server as server\nserver.MOST_CONNECTIONS = 20\n") as served:
        held = [socket.create_connection(("127.0.0.1", served.port), 60) for _ in range(40)]
        try:
            until(lambda: httpx.get(served.url, timeout=60).status_code == 503)
        finally:
            for connection in held:
                connection.close()
        until(lambda: httpx.get(served.url, timeout=60).status_code == 200)


# -- tokens ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def locked(shared: Path) -> Any:
    with client_for(shared, token=TOKEN) as client:
        del client.headers["authorization"]
        yield client


@pytest.mark.parametrize("path", ["/", "/api/search?q=router", "/static/app.js", "/openapi.json", "/api/events", "/nothing"])
def test_without_the_token_there_is_nothing(locked: TestClient, path: str) -> None:
    answer = locked.get(path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "hits" not in answer.text


@pytest.mark.parametrize(
    "value",
    [f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer ", f"Basic {TOKEN}", "Bearer \xff\xff", f"Bearer {TOKEN.upper()}"],
)
def test_a_wrong_token_is_no_token(locked: TestClient, value: str) -> None:
    assert locked.get("/api/search?q=router", headers={"authorization": value.encode("latin-1")}).status_code == 401
    assert locked.get("/api/search?q=router", headers={"cookie": f"lurcher-{PORT}={TOKEN}"}).status_code == 401
    assert locked.get(f"/api/search?q=router&token={TOKEN}").status_code == 401  # not in addresses of the API


def test_the_right_token_is_accepted(locked: TestClient) -> None:
    assert locked.get("/api/search?q=router", headers={"authorization": f"bearer {TOKEN}"}).status_code == 200


def test_a_browser_gets_a_cookie_for_it_once(locked: TestClient) -> None:
    answer = locked.get(f"/?q=router&token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/?q=router")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert TOKEN not in cookie
    assert locked.get("/api/search?q=router").status_code == 200  # the client keeps cookies
    assert locked.get(f"/?token={TOKEN}x", headers={"cookie": ""}).status_code in (200, 401)


def test_guessing_is_slowed_down_and_the_owner_is_not(locked: TestClient) -> None:
    answers = [locked.get("/api/search?q=a", headers={"authorization": f"Bearer guess-{number}"}) for number in range(25)]
    assert {answer.status_code for answer in answers[:20]} == {401}
    assert {answer.status_code for answer in answers[20:]} == {429}
    assert locked.get("/api/search?q=a", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_tokens_are_compared_in_constant_time(locked: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    real = hmac.compare_digest

    def watched(left: bytes, right: bytes) -> bool:
        compared.append((left, right))
        return real(left, right)

    monkeypatch.setattr(app.hmac, "compare_digest", watched)
    assert locked.get("/api/search?q=a", headers={"authorization": "Bearer x"}).status_code == 401
    assert compared
    assert all(len(left) == len(right) == 32 for left, right in compared)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_other_machines_are_let_in_only_with_a_token(shared: Path, host: str) -> None:
    result = run_lurcher("serve", shared, "--host", host, "--port", "0")
    assert result.status == 2
    assert "token is needed" in result.err
    assert "LURCHER_SERVE_TOKEN" in result.err


def test_with_one_addresses_are_names_of_the_server_and_other_names_are_not(shared: Path) -> None:
    with client_for(shared, token=TOKEN, loopback=False, hosts=("box.local",)) as client:
        for host in (f"10.1.2.3:{PORT}", f"box.local:{PORT}", f"[fd00::1]:{PORT}"):
            assert client.get("/api/symbol?name=x", headers={"host": host}).status_code == 200
        assert client.get("/api/symbol?name=x", headers={"host": f"evil.example:{PORT}"}).status_code == 403


@pytest.mark.parametrize("token", ["short", "has a space in the middle of it", "ümlaut-ümlaut-ümlaut"])
def test_a_weak_token_is_refused(token: str) -> None:
    with pytest.raises(UsageError):
        check_token(token)


def test_a_repository_cannot_change_settings_of_the_server(tmp_path: Path, ask: Run) -> None:
    for line in (
        'host = "0.0.0.0"',
        'token = "known-to-the-attacker"',
        'hosts = "evil.example"',
        'editor = "evil://{path}"',
        "port = 1",
    ):
        (tmp_path / "lurcher.toml").write_text(f"[serve]\n{line}\n")
        result = ask("serve", tmp_path)
        assert result.status == 2
        assert "which a project cannot" in result.err


@pytest.mark.parametrize(
    "template", ["javascript:alert('{path}')", "DATA:text/html,{path}", "{path}", "file:///{path}", "vscode://nothing"]
)
def test_a_key_press_runs_nothing(template: str) -> None:
    with pytest.raises(ConfigError):
        check_editor(template)


def test_harmless_settings_pass() -> None:
    assert check_editor("zed://file{path}:{line}")
    assert check_editor("") == ""


# -- what every response carries ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/search?q=router", "/api/search", "/nothing", "/openapi.json"])
def test_every_response_is_fenced_in(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers


def test_refusals_have_the_same_headers(client: TestClient) -> None:
    assert "content-security-policy" in client.get("/", headers={"host": "evil.example"}).headers


def test_text_of_a_repository_is_only_data(tmp_path: Path) -> None:
    """The page's own tests show that it stays text there; here: nothing of it is served as anything but JSON."""
    name = '<img src=x onerror="alert(1)">.py'
    (tmp_path / name).write_text("# <script>alert('zebra')</script>\n")
    with client_for(tmp_path) as client:
        for address in (
            "/api/search?q=zebra",
            f"/api/file?path={name}",
            "/api/search?q=<script>alert(1)</script>",
            "/<script>alert(1)</script>",
        ):
            answer = client.get(address)
            assert answer.headers["content-type"] == "application/json"
            json.loads(answer.text)
        assert client.get("/api/file", params={"path": name}).json()["text"].startswith("# <script>")


def test_an_internal_error_reveals_nothing_about_the_server(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Engine, **options: Any) -> Any:
        raise RuntimeError("/secret/place")

    with client_for(shared) as client:
        monkeypatch.setattr(Engine, "status", broken)
        answer = client.get("/api/status")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "secret" not in answer.text


def test_a_missing_extra_names_the_command(shared: Path) -> None:
    import subprocess
    import sys

    code = "import sys; sys.modules['starlette'] = None\nfrom lurcher.surfaces.cli import main\nsys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "serve", str(shared)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'lurcher[web]'" in done.stderr


def test_a_port_in_use_is_reported(shared: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run_lurcher("serve", shared, "--port", str(taken.getsockname()[1]))
    assert result.status == 2
    assert "--port 0" in result.err
