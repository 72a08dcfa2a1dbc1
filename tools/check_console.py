"""Runs the commands that pages show with their output, and says where a page shows what is not printed.

    python tools/check_console.py CHECKOUT docs/tutorial.md README.md

CHECKOUT is a checkout of the repository that the pages are about. A page may leave lines out: those it shows have to be
printed, in this order, on either stream. A command that is shown without output only has to succeed. The `lurcher` that runs
is that of this Python, or else that of the PATH.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)


def main(checkout: str, *pages: str) -> int:
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    if shutil.which("lurcher") is None:
        print(f"there is no lurcher beside {sys.executable} or in the PATH: activate the environment it is in", file=sys.stderr)
        return 2
    wrong = 0
    for page in pages:
        for block in _BLOCK.findall(Path(page).read_text("utf-8")):
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, shown = part.partition("\n")
                missing = first_missing(command, shown, checkout) if command.startswith("lurcher ") else None
                if missing is not None:
                    wrong += 1
                    print(f"{page}: {command}\n    does not print: {missing}")
    return int(wrong > 0)


def first_missing(command: str, shown: str, checkout: str) -> str | None:
    done = subprocess.run(command, shell=True, cwd=checkout, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode and not shown.strip():
        return "what a command that succeeds prints, but: " + (done.stderr.strip() or f"status {done.returncode}")
    wanted = [line.rstrip() for line in shown.splitlines() if line.strip() not in ("", "…")]
    for stream in (done.stderr + done.stdout, done.stdout + done.stderr):
        printed = iter([line.rstrip() for line in stream.splitlines()])
        missing = next((line for line in wanted if line not in printed), None)
        if missing is None:
            return None
    return missing


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
