"""Counting can be switched off, and without the extra the exact command is said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lurcher.server import token_stats
from lurcher.surfaces.mcp.requests import Access
from lurcher.surfaces.mcp.server import MCPServer
from tests.conftest import environment
from tests.surfaces.mcp.talk import Near


class Uncounted(Near):
    def __init__(self, root: Path) -> None:
        self._begin(MCPServer(Access((root,)), {"savings.count": False}).server, "auto", {})


def test_what_was_saved_is_counted_before_the_end_and_not_where_that_is_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("LURCHER_CONFIG", "/dev/null")
    with Uncounted(repository) as talk:
        talk.call("search", query="redirects")
    assert token_stats.read(tmp_path / "lurcher") == []
    with Near(repository) as counted:
        counted.call("search", query="redirects")
    assert len(token_stats.read(tmp_path / "lurcher")) == 1


def test_without_the_extra_the_command_to_install_it_is_reported(tmp_path: Path) -> None:
    code = (
        "import sys\nsys.modules['mcp'] = sys.modules['mcp_types'] = None\n"
        "from lurcher.surfaces.cli import main\nsys.exit(main(['mcp']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, timeout=60)
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"pip install 'lurcher[mcp]'" in done.stderr


def test_a_command_line_without_servers_imports_none_of_it() -> None:
    code = (
        "import sys\nfrom lurcher.engine import Engine\nfrom lurcher.surfaces.cli import commands\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('mcp', 'anyio', 'pydantic', 'ctypes')])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, timeout=60)
    assert done.stdout.strip() == b"[]"


def test_bad_flags_say_so_on_stderr_alone(tmp_path: Path) -> None:
    for arguments in (["--root", str(tmp_path / "none")], ["--json"], ["--set", "no.such=1", "--root", str(tmp_path)]):
        done = subprocess.run(
            [sys.executable, "-m", "lurcher", "mcp", *arguments], env=environment(), stdin=subprocess.DEVNULL,
            capture_output=True, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.startswith(b"lurcher: ")
