"""A small repository in several languages, and the real process to search it with."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import own_home
from tests.tables import write_tiny

WITHOUT_POSIX = Path(__file__).with_name("without_posix")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--without-posix", action="store_true", help="hide the modules that only POSIX has from lurcher")


def hide_posix() -> None:
    from tests.without_posix import sitecustomize

    sitecustomize.hide_modules()
    os.environ["TESTS_WITHOUT_POSIX"] = "1"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(WITHOUT_POSIX), os.environ.get("PYTHONPATH"))))


own_home.settle()  # before anything is imported that could look for a home
# How long an example takes says nothing on a machine with other work, and less under a sanitizer.
settings.register_profile("lurcher", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lurcher")
# A shell without job control starts background commands with Ctrl-C ignored, and their children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

FILES = {
    "src/client.py": '''
        """A small HTTP client."""
        import time


        class Client:
            """Sends requests and follows redirects."""

            def __init__(self, retries=3, backoff=0.5):
                self.retries = retries
                self.backoff = backoff

            def follow_redirects(self, response, limit=20):
                """Follow the Location header until the chain of redirects ends."""
                while response.is_redirect and limit:
                    response = self.send(response.next_request)
                    limit -= 1
                return response

            def retry(self, request):
                """Send a request again after a failure, waiting longer each time."""
                for attempt in range(self.retries):
                    try:
                        return self.send(request)
                    except ConnectionError:
                        time.sleep(self.backoff * 2**attempt)
                raise ConnectionError("gave up after all retries")

            def send(self, request):
                return request.transport.handle(request)
    ''',
    "src/cookies.py": '''
        """Cookies that a server sets and a request sends back."""


        def parse_cookie(header):
            """Split a Cookie header into names and values."""
            pairs = (item.partition("=") for item in header.split(";"))
            return {name.strip(): value.strip() for name, _, value in pairs}


        def dump_cookie(jar):
            return "; ".join(f"{name}={value}" for name, value in sorted(jar.items()))
    ''',
    "web/router.ts": '''
        export interface Route { path: string; handler: (request: Request) => Response }

        /** Matches a request against the registered routes. */
        export class Router {
            private routes: Route[] = [];

            register(path: string, handler: Route["handler"]): void {
                this.routes.push({ path, handler });
            }

            /** Redirects unknown paths to the start page. */
            dispatch(request: Request): Response {
                const found = this.routes.find((route) => request.url.endsWith(route.path));
                return found ? found.handler(request) : Response.redirect("/");
            }
        }
    ''',
    "web/getUserById.js": '''
        // Loads one user; a redirect to the login page means that the session has ended.
        export async function getUserById(id) {
            const response = await fetch(`/users/${id}`);
            if (response.redirected) throw new Error("session has ended");
            return response.json();
        }
    ''',
    "server/pool.go": '''
        package server

        // Pool keeps idle connections for the next request.
        type Pool struct {
            idle []*Conn
        }

        // Acquire takes an idle connection or dials a new one.
        func (p *Pool) Acquire(address string) (*Conn, error) {
            if n := len(p.idle); n > 0 {
                conn := p.idle[n-1]
                p.idle = p.idle[:n-1]
                return conn, nil
            }
            return dial(address)
        }
    ''',
    "engine/cache.rs": '''
        use std::collections::HashMap;

        /// Remembers responses until they expire.
        pub struct Cache {
            entries: HashMap<String, Vec<u8>>,
        }

        impl Cache {
            /// Evicts the entries that have expired.
            pub fn evict(&mut self, now: u64) -> usize {
                let before = self.entries.len();
                self.entries.retain(|_, body| body.len() as u64 > now);
                before - self.entries.len()
            }
        }
    ''',
    "native/buffer.cpp": '''
        #include <cstddef>

        namespace net {
        // A ring buffer for bytes that wait to be sent.
        class Buffer {
        public:
            std::size_t write(const char *data, std::size_t length);
        };

        std::size_t Buffer::write(const char *data, std::size_t length) {
            (void)data;
            return length;
        }
        }
    ''',
    "tests/test_client.py": '''
        from client import Client


        def test_follow_redirects_stops_at_the_limit():
            assert Client().follow_redirects(None, limit=0) is None
    ''',
    "docs/guide.md": '''
        # Guide

        ## Redirects

        The client follows redirects by itself, up to twenty of them.

        ## Cookies

        Cookies are kept in a jar.
    ''',
    "schema.sql": '''
        -- One row per user.
        CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL);
    ''',
}  # fmt: skip


def _dedented(text: str) -> str:
    import textwrap

    return textwrap.dedent(text).lstrip("\n").rstrip(" ")


def _steps(number: int) -> str:
    """A file of many units, long and short, so that answers have several pages."""
    body = "".join(
        f'''
        def step_{number}_{i}(request):
            """Step {i} of pipeline {number}: counts the redirects of a request."""
            if request.redirect_count > {i}:
                raise ValueError("step {i} saw too many redirects: {"x" * (7 * i)}")
            return request.with_header("x-step-{number}", {i})
    '''
        for i in range(30)
    )
    return _dedented(f'"""Pipeline {number}."""\n') + _dedented(body)


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, untouched by the settings of whoever runs the tests."""
    command = ["git", "-c", "user.name=Test", "-c", "user.email=test@example.invalid", "-c", "init.defaultBranch=main"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, check=True, capture_output=True, text=True, timeout=120
    ).stdout


def write_repository(folder: Path, *, commit: bool = True) -> Path:
    for path, text in FILES.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_dedented(text), encoding="utf-8")
    for number in range(3):
        (folder / f"src/pipeline_{number}.py").write_text(_steps(number), encoding="utf-8")
    git(folder, "init", "-q")
    if commit:
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "Begin")
    return folder


_there_before = pytest.StashKey[set[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_there_before] = own_home.traces()
    if config.getoption("--without-posix"):
        hide_posix()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """The tests leave nothing in the home folder of whoever runs them, or they have failed."""
    left = sorted(own_home.traces() - session.config.stash[_there_before])
    if left and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    for path in left[:20]:
        with contextlib.suppress(OSError):
            sys.__stderr__.write(f"\nthe tests wrote to the real home folder: {path}\n")  # type: ignore[union-attr]


MODEL = "LURCHER_DENSE_MODEL"


@pytest.fixture(scope="session", autouse=True)
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Every test searches with the same small model, whatever the installation comes with."""
    path = write_tiny(tmp_path_factory.mktemp("model") / "tiny.table")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MODEL, str(path))
        yield path


@pytest.fixture(autouse=True)
def services_forgotten() -> Iterator[None]:
    """What one test did to a service says nothing to the next one, which may have the same address."""
    yield
    breaker = sys.modules.get("lurcher.net.resilience")
    if breaker is not None:
        breaker.reset_breakers()


@dataclass(frozen=True, slots=True)
class Result:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Result]


def environment(**changes: str) -> dict[str, str]:
    """The environment of a test process: no setting of the person who runs the tests leaks in."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if key == MODEL or not key.startswith(("LURCHER_", "XDG_", "GIT_", "NO_COLOR", "PYTHONHASHSEED"))
    }
    return {**kept, "HOME": os.devnull, "PYTHONUTF8": "1", **changes}


def run_lurcher(
    *arguments: str | bytes | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    before: Sequence[str] = (),
) -> Result:
    """Run the command line as a process of its own."""
    done = subprocess.run(
        [*before, sys.executable, "-m", "lurcher", *arguments],
        cwd=cwd, env=environment(**(env or {})), input=stdin.encode(), capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    result = Result(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
    assert "Traceback" not in result.err, result.err
    return result


@pytest.fixture(scope="session")
def run() -> Run:
    return run_lurcher


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Run:
    """The same command line without a new process, for tests that ask much and need no process of their own."""
    from lurcher.surfaces.cli import main

    for key in [key for key in os.environ if key not in environment()]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("HOME", os.devnull)

    def answer(*arguments: str | Path) -> Result:
        streams = {name: io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for name in ("stdout", "stderr")}
        with monkeypatch.context() as patch:
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            status = main([str(argument) for argument in arguments])
        for stream in streams.values():
            stream.flush()
        out, err = (stream.buffer.getvalue().decode() for stream in streams.values())  # type: ignore[attr-defined]
        return Result(status, out, err)

    return answer


@pytest.fixture(scope="session")
def git_in() -> Callable[..., str]:
    return git


@pytest.fixture(scope="session")
def clean_environment() -> Callable[..., dict[str, str]]:
    return environment


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of one's own, to change at will."""
    folder = tmp_path / "shop"
    folder.mkdir()
    return write_repository(folder)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with an index, for tests that only ask questions."""
    folder = tmp_path_factory.mktemp("shared") / "shop"
    folder.mkdir()
    write_repository(folder)
    assert run_lurcher("index", folder, "-q").status == 0
    return folder


@pytest.fixture
def without_privileges() -> tuple[str, ...]:
    """What to put before a command so that file permissions hold for it, even when root runs the tests."""
    if os.geteuid() != 0:
        return ()
    command = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search")
    if shutil.which("setpriv") is None or subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("root ignores file permissions, and there is no way here to change that")
    return command
