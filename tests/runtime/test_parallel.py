"""Commands fork where that is safe, start interpreters elsewhere, and take their children with them when they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.indexing.conftest import opened, write
from tests.indexing.processes import alive, intact, running

# The command line with its children; says which ways of starting one were taken.
COMMAND_LINE = """
import os, sys
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # as the program does: a process with a pool of threads cannot be forked
from lurcher.indexing import workers as worker, writer
writer.SHARD_BYTES = 2_000
writer.PARALLEL_BYTES = 0
fork = os.fork
def forked():
    print("fork", file=sys.stderr)
    return fork()
os.fork = forked
popen = worker.subprocess.Popen
def started(command, *rest, **options):
    if "serve" in str(command):
        print("start", file=sys.stderr)
    return popen(command, *rest, **options)
worker.subprocess.Popen = started
"""
ASK = """
from lurcher.surfaces.cli import main
sys.argv = ["lurcher", "search", "function_7", sys.argv[1]]
sys.exit(main())
"""
ANOTHER_THREAD = "import threading; threading.Thread(target=threading.Event().wait, args=(60,), daemon=True).start()"
SLOW = """
import signal, time
from lurcher.indexing import build
def slow(*arguments):
    print("at", os.getpid(), file=open(os.environ["SAID"], "a"))
    time.sleep(60)
build.parse = slow
"""


@pytest.mark.skipif(sys.platform != "linux", reason="children are copies on Linux alone")
@pytest.mark.parametrize(("code", "how"), [("", "fork"), (ANOTHER_THREAD, "start")], ids=["alone", "with another thread"])
def test_children_of_the_command_line_are_copies_where_nothing_else_runs(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, how: str
) -> None:
    write(root, {f"many/m{i}.py": f"def function_{i}(): return {i}\n" * 20 for i in range(60)})
    monkeypatch.setenv("LURCHER_INDEX_WORKERS", "3")
    with running(COMMAND_LINE + code + ASK, root) as process:
        said, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.split()[:2]) == (0, [how, how])
    assert "m7.py" in said
    intact(root)
    monkeypatch.delenv("LURCHER_INDEX_WORKERS")
    opened(root, tmp_path / "alone").refresh()
    names = [sorted(path.name for path in folder.glob("*.segment")) for folder in (root / ".lurcher", tmp_path / "alone")]
    assert names[0] == names[1]


@pytest.mark.skipif(sys.platform != "linux", reason="children are copies on Linux alone")
def test_a_forked_call_returns_a_result_or_none() -> None:
    code = """
import os, signal
from lurcher.runtime.parallel import ForkedCall

print(ForkedCall(lambda: [os.getppid(), "x" * 200_000]).result() == [os.getpid(), "x" * 200_000])
print(ForkedCall(lambda: os.kill(os.getpid(), signal.SIGKILL)).result())
print(ForkedCall(lambda: 1 / 0).result())
print(ForkedCall(lambda: iter).result() is iter, os.listdir("/proc/self/fd") == os.listdir("/proc/self/fd"))
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("none is left")
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout.splitlines() == ["True", "None", "None", "True True", "none is left"]


@pytest.mark.skipif(sys.platform != "linux", reason="children are copies on Linux alone")
def test_a_tree_is_listed_by_a_copy_and_if_that_fails_by_the_process_itself(root: Path) -> None:
    failing = """
from lurcher.runtime import parallel as forks
class Silent(forks.ForkedCall):
    def __init__(self, call):
        super().__init__(lambda: os._exit(3))
forks.ForkedCall = Silent
"""
    for code in ("", failing):
        with running(COMMAND_LINE + code + ASK, root) as process:
            said, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert said
        intact(root)
        assert opened(root).clear()


@pytest.mark.skipif(sys.platform != "linux", reason="children are copies on Linux alone")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_copies_end_with_the_command_and_free_its_lock(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    write(root, {f"many/m{i}.py": f"def function_{i}(): return {i}\n" * 20 for i in range(60)})
    said = tmp_path / "said"
    said.touch()
    monkeypatch.setenv("SAID", str(said))
    monkeypatch.setenv("LURCHER_INDEX_WORKERS", "3")
    with running(COMMAND_LINE + SLOW + ASK, root) as process:
        deadline = time.monotonic() + 120
        while len(said.read_text().splitlines()) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(number)
        process.communicate(timeout=120)  # nobody holds on to what it wrote to
    assert process.returncode != 0
    numbers = [line.split()[1] for line in said.read_text().splitlines()]
    assert len(set(numbers)) == 3
    deadline = time.monotonic() + 120
    while any(Path(f"/proc/{number}").exists() for number in numbers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{number}").exists() for number in numbers)
    engine = opened(root)
    assert engine.search("function_7").hits[0].path == "many/m7.py"
    intact(root)


def test_children_end_with_their_parent(root: Path, tmp_path: Path) -> None:
    """Also in the middle of a build, which nobody waits for any more."""
    code = """
import os, sys, time
from lurcher.indexing import workers as worker
worker._COMMAND = (
    "import os, sys, time; from lurcher.indexing import build, workers as worker; "
    "build.parse = lambda *a: (print(os.getpid(), file=open(os.environ['SAID'], 'a')), time.sleep(60)); worker.serve()"
)
from lurcher.indexing import writer
writer.SHARD_BYTES = 10
writer.PARALLEL_BYTES = 0
def slow(*arguments): time.sleep(60)
worker.run_job = slow
from lurcher.engine import Engine
Engine.open(sys.argv[1], root=sys.argv[1], overrides={"index.workers": 3}).index()
"""
    said = tmp_path / "said"
    said.touch()
    process = subprocess.Popen([sys.executable, "-c", code, str(root)], env={**os.environ, "SAID": str(said)})
    try:
        deadline = time.monotonic() + 120
        while len(said.read_text().split()) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    numbers = said.read_text().split()
    assert len(numbers) == 2
    deadline = time.monotonic() + 120
    while any(alive(number) for number in numbers) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(alive(number) for number in numbers)
