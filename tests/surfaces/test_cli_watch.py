"""How `lurcher index --watch` is told to end; what it does until then is in tests/indexing/test_watcher.py."""

from __future__ import annotations

import subprocess
import sys

# Signals that come at any moment while somebody waits for one.
INTERRUPTED = """
import os, random, signal, threading, time
from lurcher.surfaces.cli.index_cmd import _Stop, _Stopped, _signals

def send():
    time.sleep(random.random() / 1000)
    os.kill(os.getpid(), signal.SIGINT)

for _ in range(200):
    stop = _Stop()
    try:
        with _signals(stop):
            threading.Thread(target=send).start()
            while not stop.wait(0.0):
                pass
    except _Stopped:
        assert stop.is_set() and stop.wait(1000)
print("ended")
"""


def test_a_signal_ends_it_whatever_it_interrupts() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("ended\n", "")


UNHEARD = """
import os, signal, time
from lurcher.surfaces.cli.index_cmd import _Stop, _Stopped, _signals

class Deaf:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.001)

try:
    with _signals(_Stop()):
        Deaf()
        time.sleep(30)
except _Stopped:
    print("ended")
"""


def test_a_signal_where_no_error_is_let_through_comes_again() -> None:
    done = subprocess.run([sys.executable, "-c", UNHEARD], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("ended\n", "")


def test_a_wait_ends_when_its_time_is_over() -> None:
    from lurcher.surfaces.cli.index_cmd import _Stop

    stop = _Stop()
    assert not stop.wait(0.01)
    stop.set()
    assert stop.wait() and stop.is_set()
