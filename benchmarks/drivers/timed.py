"""Runs a command and reports on it: SECONDS DESCRIPTOR COMMAND… → a line with its process id, then one with what it cost.

A process of its own, since Linux counts the memory of whoever starts a program as that program's: a benchmark that holds much
would find it in every figure. So nothing is imported here that need not be.
"""

import os
import signal
import sys
import time


def main(seconds: str, descriptor: str, *command: str) -> None:
    report = int(descriptor)
    started = time.perf_counter()
    actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_CLOSE, report)]
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=actions, setsid=True)
    os.write(report, b"%d\n" % pid)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(pid, signal.SIGKILL))
    signal.setitimer(signal.ITIMER_REAL, float(seconds))
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - started
    figures = (os.waitstatus_to_exitcode(status), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
    os.write(report, " ".join(map(str, figures)).encode() + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
