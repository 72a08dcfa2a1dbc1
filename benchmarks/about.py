"""What a result says of where it was measured: enough to read it later, nothing that names the machine or its folders."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
MEASURED = ("src", "kernel", "setup.py")


def about() -> dict[str, Any]:
    import lurcher
    from lurcher.runtime.kernel import native

    return {
        "date": today(), "lurcher": lurcher.__version__, "commit": commit(), "kernel": "native" if native() else "python",
        "python": platform.python_version(), "system": platform.system(), "processor": _processor(), "cores": os.cpu_count(),
    }  # fmt: skip


def today() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")


def load() -> float:
    """Processes that wanted to run in the last minute: above the number of cores a time on the wall means little."""
    return round(os.getloadavg()[0], 2)


def commit() -> str:
    """The last commit that changed what is measured, with a plus if files have changed since."""
    head = _git("log", "-1", "--format=%h", "--", *MEASURED)
    return head + ("+" if _git("status", "--porcelain", "--", *MEASURED) else "")


def dated(name: str) -> Path:
    """Today's file under results/; an earlier run of the same day is kept."""
    names = (f"{today()}-{name}.json" if number == 1 else f"{today()}-{name}-{number}.json" for number in range(1, 1000))
    return next(path for path in (RESULTS / file for file in names) if not path.exists())


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(HERE.parent), *arguments], capture_output=True, text=True)
    return done.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").split("\n")
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
