"""The command as a process: a plain search ends without freeing its objects, and nothing that it printed is lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from lurcher.surfaces.cli import main


def test_the_command_is_an_ordinary_entry_point() -> None:
    (script,) = entry_points(group="console_scripts", name="lurcher")
    assert script.load() is main


def test_what_a_search_prints_always_arrives(tmp_path: Path, clean_environment: Callable[..., dict[str, str]]) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "retry.py").write_text("def retry(request):\n    return request\n")
    command = [sys.executable, "-m", "lurcher", "search", "how is a request retried", str(tmp_path / "tree"), "--json"]
    environment = {**clean_environment(), "LURCHER_INDEX_DIR": str(tmp_path / "index")}
    subprocess.run(command, capture_output=True, env=environment, timeout=60, check=True)  # makes the index
    whole = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=True).stdout
    assert whole.startswith("{") and whole.endswith("}\n")
    with (tmp_path / "said").open("wb") as said:
        assert subprocess.run(command, stdout=said, env=environment, timeout=60, check=False).returncode == 0
    assert (tmp_path / "said").read_text() == whole
    if Path("/dev/full").exists():
        with open("/dev/full", "wb") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment, timeout=60, check=False)
        assert done.returncode == 2 and b"No space left" in done.stderr
