"""`lurcher index --watch`: a real process over a real tree, with every wait bounded."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lurcher.engine import Engine, diagnose
from lurcher.indexing.watcher import Notice, Update, WatchIntervals
from lurcher.storage.disk import find_holder
from tests.conftest import environment, git, run_lurcher
from tests.indexing.conftest import opened, write

HEARS = importlib.util.find_spec("watchfiles") is not None
LONG = 60.0
"""What is sure to come has come by then, even on a busy machine."""


class Watching:
    """A watch that runs, and what it says."""

    def __init__(self, *arguments: str | Path, before: tuple[str, ...] = (), env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*before, sys.executable, "-m", "lurcher", "index", "--watch", *arguments],
            env=environment(**(env or {})), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.updates: queue.Queue[dict[str, Any]] = queue.Queue()
        self.err: list[str] = []
        self._threads = [threading.Thread(target=self._read, daemon=True), threading.Thread(target=self._hear, daemon=True)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.updates.put(json.loads(line))

    def _hear(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.err.append(line)

    def next(self, seconds: float = LONG) -> dict[str, Any]:
        try:
            return self.updates.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError(f"no update within {seconds} s; stderr: {self.err}") from None

    def rest(self, seconds: float) -> list[dict[str, Any]]:
        """All further updates until none came for `seconds`."""
        found = []
        while True:
            try:
                found.append(self.updates.get(timeout=seconds))
            except queue.Empty:
                return found

    def says(self, text: str, seconds: float = LONG) -> None:
        deadline = time.monotonic() + seconds
        while not any(text in line for line in self.err):
            assert time.monotonic() < deadline, f"not said: {text}; stderr: {self.err}"
            time.sleep(0.02)

    def end(self, number: int = signal.SIGINT, seconds: float = LONG) -> int:
        self.process.send_signal(number)
        return self.wait(seconds)

    def wait(self, seconds: float = LONG) -> int:
        status = self.process.wait(seconds)
        for thread in self._threads:
            thread.join(120)
        assert "Traceback" not in "".join(self.err), self.err
        return status


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    """Starts watches by events, and ends them all."""
    started: list[Watching] = []

    def begin(*arguments: str | Path, **options: Any) -> Watching:
        started.append(Watching(*arguments, **options))
        return started[-1]

    yield begin
    for watching in started:
        watching.process.kill()
        watching.process.wait()


@pytest.fixture
def deaf(tmp_path: Path) -> dict[str, str]:
    """An environment without watchfiles."""
    folder = tmp_path / "without"
    folder.mkdir()
    (folder / "watchfiles.py").write_text("raise ImportError('not installed')\n")
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


@pytest.fixture(params=["events", "looking"])
def way(request: pytest.FixtureRequest, deaf: dict[str, str]) -> dict[str, str]:
    if request.param == "looking":
        return deaf
    if not HEARS:
        pytest.skip("watchfiles is not installed")
    return {}


needs_events = pytest.mark.skipif(not HEARS, reason="watchfiles is not installed")


def sound(root: Path) -> None:
    """Nothing is wrong with the index, nobody holds its lock, and nothing was left lying about."""
    findings = [finding for finding in diagnose(root) if finding.check not in ("watch", "settings", "path")]
    assert [finding for finding in findings if finding.state != "ok"] == []
    assert find_holder(root / ".lurcher") is None
    assert not list((root / ".lurcher").glob(".*.tmp"))


def state(root: Path) -> dict[str, Any]:
    with Engine.open(root) as engine:
        return engine.status()


@pytest.fixture(autouse=True)
def index_in_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", os.devnull)


def test_an_edit_is_indexed_while_others_search(repository: Path, start: Any, way: dict[str, str]) -> None:
    watching = start(repository, "--json", env=way)
    first = watching.next()
    assert (first["first"], first["files"], first["generation"]) == (True, 13, 1)
    began = time.monotonic()
    (repository / "src" / "zeppelin.py").write_text("def inflate_zeppelin():\n    return 1\n")
    update = watching.next()
    assert time.monotonic() - began < 50  # a second or two; once a minute the tree is looked at in any case
    assert (update["added"], update["changed"], update["removed"], update["generation"]) == (1, 0, 0, 2)
    answer = run_lurcher("search", "inflate_zeppelin", repository, "--json", "--no-refresh").json
    assert answer["hits"][0]["path"] == "src/zeppelin.py"
    assert (answer["index"]["fresh"], answer["index"]["generation"]) == (True, 2)
    (repository / "src" / "zeppelin.py").write_text("def deflate_zeppelin():\n    return 1\n")
    assert watching.next()["changed"] == 1
    (repository / "src" / "zeppelin.py").unlink()
    assert watching.next()["removed"] == 1
    assert watching.end() == 0
    sound(repository)


def test_without_watchfiles_it_says_once_how_to_get_it(repository: Path, start: Any, deaf: dict[str, str]) -> None:
    watching = start(repository, env=deaf)
    watching.says("watching 13 files")
    (repository / "new.py").write_text("x = 1\n")
    watching.says("1 added")
    assert watching.end() == 0
    assert sum("pip install 'lurcher[watch]'" in line for line in watching.err) == 1
    assert watching.err[-1] == "stopped\n"


@needs_events
def test_a_branch_switch_is_one_update_or_two(repository: Path, start: Any) -> None:
    git(repository, "checkout", "-q", "-b", "other")
    for number in range(400):
        write(repository, {f"many/part_{number % 20}/file_{number}.py": f"def other_{number}():\n    return {number}\n"})
    for number in range(3):
        (repository / f"src/pipeline_{number}.py").unlink()
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "Other")
    git(repository, "checkout", "-q", "main")
    watching = start(repository, "--json")
    assert watching.next()["files"] == 13
    for branch, files, added, removed in (("other", 410, 400, 3), ("main", 13, 3, 400)):
        git(repository, "checkout", "-q", branch)
        found = [watching.next(), *watching.rest(2.3)]
        assert len(found) <= 2
        assert found[-1]["files"] == files
        assert (sum(item["added"] for item in found), sum(item["removed"] for item in found)) == (added, removed)
    (repository / "src" / "client.py").write_text("class Changed: pass\n")
    assert watching.next()["changed"] == 1
    git(repository, "stash", "-q")
    assert watching.next()["changed"] == 1
    git(repository, "stash", "pop", "-q")
    assert watching.next()["changed"] == 1
    assert watching.end() == 0
    assert state(repository)["fresh"]
    sound(repository)


@needs_events
def test_git_is_left_to_finish_first(repository: Path, start: Any) -> None:
    watching = start(repository, "--json")
    watching.next()
    (repository / ".git" / "index.lock").touch()
    (repository / "new.py").write_text("x = 1\n")
    assert watching.rest(4.5) == []
    (repository / ".git" / "index.lock").unlink()
    assert watching.next()["added"] == 1
    assert watching.end() == 0


def test_everything_may_be_deleted_and_come_back(repository: Path, start: Any, way: dict[str, str]) -> None:
    watching = start(repository, "--json", env=way)
    watching.next()
    for path in sorted(repository.iterdir()):
        if path.name not in (".git", ".lurcher"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    found = [watching.next(), *watching.rest(2.3)]
    assert found[-1]["files"] == 0 and sum(item["removed"] for item in found) == 13
    git(repository, "checkout", "-q", "--", ".")
    found = [watching.next(), *watching.rest(2.3)]
    assert found[-1]["files"] == 13
    assert watching.end() == 0
    sound(repository)


@needs_events
def test_what_is_not_indexed_causes_no_update(repository: Path, start: Any) -> None:
    (repository / ".gitignore").write_text("output/\n*.log\n")
    watching = start(repository, "--json")
    watching.next()
    for number in range(200):
        write(repository, {f"node_modules/m{number}/index.js": "x\n", f"output/{number}.py": "x = 1\n", f"{number}.log": "x\n"})
    git(repository, "commit", "-q", "--allow-empty", "-m", "Nothing")
    assert watching.rest(2) == []
    (repository / "src" / "new.py").write_text("x = 1\n")
    assert watching.next()["added"] == 1
    assert watching.end() == 0


@needs_events
def test_a_save_by_renaming_and_a_file_that_comes_and_goes(repository: Path, start: Any) -> None:
    watching = start(repository, "--json")
    watching.next()
    for number in range(5):
        write(repository, {"src/.client.py.tmp": f"class Client:\n    number = {number}\n", "4913": "x"})
        os.replace(repository / "src/.client.py.tmp", repository / "src/client.py")
        (repository / "4913").unlink()
    found = [watching.next(), *watching.rest(2.3)]
    assert sum(item["changed"] for item in found) >= 1
    assert found[-1]["files"] == 13
    assert watching.end() == 0
    sound(repository)


def test_several_roots(repository: Path, tmp_path: Path, start: Any, way: dict[str, str]) -> None:
    other = tmp_path / "other"
    write(other, {"b.py": "def b(): pass\n"})
    watching = start(repository, other, "--json", env=way)
    assert {watching.next()["root"], watching.next()["root"]} == {str(repository), str(other)}
    write(other, {"c.py": "def c(): pass\n"})
    update = watching.next()
    assert (update["root"], update["added"]) == (str(other), 1)
    write(repository, {"d.py": "def d(): pass\n"})
    assert watching.next()["root"] == str(repository)
    assert watching.end() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_clean_when_nothing_is_going_on(repository: Path, start: Any, way: dict[str, str], number: int) -> None:
    watching = start(repository, env=way)
    watching.says("watching 13 files")
    assert watching.end(number) == 0
    assert watching.err[-1] == "stopped\n"
    sound(repository)


@pytest.mark.parametrize("wait", [0.0, 0.5])
def test_it_ends_clean_in_the_middle_of_an_update(repository: Path, start: Any, wait: float) -> None:
    run_lurcher("index", repository)
    body = "".join(f"def work_{i}(value):\n    return value + {i}\n\n" for i in range(60))
    watching = start(repository)
    watching.says("watching 13 files")
    write(repository, {f"many/file_{number}.py": f"# {number}\n{body}" for number in range(1500)})
    deadline = time.monotonic() + LONG
    while find_holder(repository / ".lurcher") is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    time.sleep(wait)
    watching.process.send_signal(signal.SIGINT)
    watching.process.send_signal(signal.SIGINT)  # impatience does no harm
    assert watching.wait(120) == 0
    assert watching.err[-1] == "stopped\n"
    assert find_holder(repository / ".lurcher") is None
    assert not list((repository / ".lurcher").glob(".*.tmp"))
    assert not [finding for finding in diagnose(repository) if finding.state == "problem"]
    assert state(repository)["generation"] == 1
    assert run_lurcher("index", repository, "--json").json["files"] == 1513


def test_the_first_build_can_be_interrupted_too(tmp_path: Path, start: Any) -> None:
    root = tmp_path / "large"
    body = "".join(f"def work_{i}(value):\n    return value + {i}\n\n" for i in range(60))
    write(root, {f"many/file_{number}.py": f"# {number}\n{body}" for number in range(1500)})
    watching = start(root)
    deadline = time.monotonic() + LONG
    while find_holder(root / ".lurcher") is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    assert watching.end() == 0
    assert not [finding for finding in diagnose(root) if finding.state == "problem"]
    assert state(root)["exists"] is False


def test_a_root_that_is_removed_ends_it_with_an_error(tmp_path: Path, start: Any, way: dict[str, str]) -> None:
    root = tmp_path / "short-lived"
    write(root, {"a.py": "x = 1\n"})
    watching = start(root, env=way)
    watching.says("watching 1 file in")
    shutil.rmtree(root)
    assert watching.wait() == 2
    assert watching.err[-1] == f"lurcher: {root} is gone (start again once it is back)\n"


@needs_events
def test_another_folder_in_the_roots_place_is_watched_instead(tmp_path: Path, start: Any) -> None:
    root = tmp_path / "tree"
    write(root, {"a.py": "x = 1\n"})
    write(tmp_path / "next", {"b.py": "y = 1\n", "c.py": "z = 1\n"})
    watching = start(root, "--json")
    watching.next()
    root.rename(tmp_path / "before")
    (tmp_path / "next").rename(root)
    assert [watching.next(), *watching.rest(2.3)][-1]["files"] == 2
    write(root, {"d.py": "w = 1\n"})
    assert watching.next()["added"] == 1
    assert watching.end() == 0


def test_another_writer_is_waited_for(repository: Path, start: Any, way: dict[str, str]) -> None:
    watching = start(repository, "--json", env=way)
    watching.next()
    with (repository / ".lurcher" / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (repository / "new.py").write_text("x = 1\n")
        watching.says(f"another process ({os.getpid()}) is writing the index")
        assert watching.updates.empty()
        fcntl.flock(lock, fcntl.LOCK_UN)
    assert watching.next()["added"] == 1
    assert watching.end() == 0
    assert sum("is writing the index" in line for line in watching.err) == 1


@pytest.mark.parametrize("how", ["--clear", "--rebuild", "damage"])
def test_the_index_may_be_taken_away_by_others(repository: Path, start: Any, how: str) -> None:
    watching = start(repository, "--json")
    watching.next()
    if how == "damage":
        for path in (repository / ".lurcher").glob("*.segment"):
            path.write_bytes(b"nonsense")
    else:
        run_lurcher("index", repository, how)
    (repository / "new.py").write_text("x = 1\n")
    assert watching.next()["files"] == 14
    assert watching.end() == 0
    sound(repository)


def test_settings_that_change_are_read_again(repository: Path, start: Any, way: dict[str, str]) -> None:
    watching = start(repository, "--json", env=way)
    watching.next()
    (repository / "lurcher.toml").write_text("[index]\nmax_file_bytes = 400\n")
    found = [watching.next(), *watching.rest(2.3)]
    assert found[-1]["files"] == state(repository)["files"] < 13
    (repository / "lurcher.toml").write_text("[index]\nmax_file_byte = 400\n")
    watching.says("unknown setting 'index.max_file_byte'; trying again")
    (repository / "lurcher.toml").unlink()
    assert [watching.next(), *watching.rest(2.3)][-1]["files"] == 13
    assert watching.end() == 0


def test_quiet_prints_nothing(repository: Path, start: Any, way: dict[str, str]) -> None:
    watching = start(repository, "-q", env=way)
    deadline = time.monotonic() + LONG
    while not (repository / ".lurcher" / "manifest").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    (repository / "new.py").write_text("x = 1\n")
    while state(repository)["generation"] < 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert watching.end() == 0
    assert watching.err == []


@needs_events
def test_a_system_without_free_watches_is_polled(repository: Path, start: Any) -> None:
    limited = ("unshare", "-Ur", "sh", "-c", 'echo 3 > /proc/sys/user/max_inotify_watches && exec "$@"', "sh")
    if shutil.which("unshare") is None or subprocess.run([*limited, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespace of our own can be had here")
    watching = start(repository, "--json", before=limited)
    watching.next()
    watching.says("sysctl fs.inotify.max_user_watches")
    (repository / "new.py").write_text("x = 1\n")
    assert watching.next()["added"] == 1
    assert watching.end() == 0


@needs_events
def test_a_folder_that_cannot_be_read_does_not_keep_others_from_being_heard(
    repository: Path, start: Any, without_privileges: tuple[str, ...]
) -> None:
    write(repository, {"secret/deep/a.txt": "x"})
    (repository / "secret").chmod(0)
    try:
        watching = start(repository, before=without_privileges)
        watching.says("watching 13 files")
        (repository / "new.py").write_text("x = 1\n")
        watching.says("1 added")
        assert watching.end() == 0
        assert not any("looking" in line for line in watching.err)
    finally:
        (repository / "secret").chmod(0o755)


def test_a_folder_that_cannot_be_written_is_an_error(repository: Path, without_privileges: tuple[str, ...]) -> None:
    repository.chmod(0o555)
    try:
        result = run_lurcher("index", "--watch", repository, before=without_privileges)
    finally:
        repository.chmod(0o755)
    assert result.status == 2
    assert "the index cannot be written: Permission denied" in result.err


def test_flags_that_contradict_each_other(repository: Path) -> None:
    result = run_lurcher("index", "--watch", "--clear", repository)
    assert (result.status, result.out) == (2, "")
    assert "--clear and --watch contradict each other" in result.err


def test_from_python_with_an_event_to_stop_it(root: Path) -> None:
    told: queue.Queue[Update | Notice] = queue.Queue()
    stop = threading.Event()
    engine = opened(root)
    pace = WatchIntervals(quiet=0.05, poll=0.1)
    thread = threading.Thread(target=engine.watch, args=(told.put,), kwargs={"stop": stop, "pace": pace})
    thread.start()
    try:
        updates = iter(lambda: told.get(timeout=LONG), None)
        first = next(item for item in updates if isinstance(item, Update))
        assert (first.first, first.files, first.added) == (True, 5, 5)
        write(root, {"src/zeppelin.py": "def inflate_zeppelin(): pass\n"})
        second = next(item for item in updates if isinstance(item, Update))
        assert (second.first, second.added) == (False, 1)
        assert engine.search("inflate_zeppelin", check=False).hits[0].path == "src/zeppelin.py"
    finally:
        stop.set()
        thread.join(120)
    assert not thread.is_alive()


@needs_events
def test_changes_without_events_are_found_and_polling_begins(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import watchfiles

    def silent(*roots: Path, stop_event: threading.Event, **options: Any) -> Iterator[set[Any]]:
        while not stop_event.wait(0.02):
            yield set()

    monkeypatch.setattr(watchfiles, "watch", silent)
    told: list[Update | Notice] = []
    stop = threading.Event()
    engine = opened(root)
    pace = WatchIntervals(beat=0.2, poll=0.1, follow=0.05)
    thread = threading.Thread(target=engine.watch, args=(told.append,), kwargs={"stop": stop, "pace": pace})
    thread.start()
    try:
        for number in range(3):
            deadline = time.monotonic() + LONG
            while len([item for item in told if isinstance(item, Update)]) <= number:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            time.sleep(0.3)
            write(root, {f"new_{number}.py": f"x = {number}\n"})
        while not any(isinstance(item, Notice) and "does not report every change" in item.message for item in told):
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        stop.set()
        thread.join(120)
    assert not thread.is_alive()
