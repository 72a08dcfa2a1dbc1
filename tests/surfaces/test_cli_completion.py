"""Completion, asked from the shells themselves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from lurcher.surfaces.cli.flags import COMMANDS
from lurcher.surfaces.cli.reference import SHELLS, completion_script
from tests.conftest import run_lurcher


def _shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_script_is_one_that_the_shell_accepts(shell: str, tmp_path: Path) -> None:
    path = tmp_path / "completion"
    path.write_text(completion_script(shell))
    done = subprocess.run([_shell(shell), "-n", str(path)], capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")


def test_it_knows_every_command_and_flag(shell: str) -> None:
    text = completion_script(shell)
    for command in COMMANDS:
        assert command.name in text
        for parameter in command.parameters:
            for name in parameter.flags:
                if name.startswith("--"):
                    assert (f"-l {name[2:]}" if shell == "fish" else name) in text


def _bash(tmp_path: Path, *words: str) -> set[str]:
    path = tmp_path / "completion.bash"
    path.write_text(completion_script("bash"))
    line = " ".join(f"'{word}'" for word in words)
    code = f"source {path}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _lurcher; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run([_shell("bash"), "--norc", "-c", code], cwd=tmp_path, capture_output=True, timeout=120, check=True)
    return set(done.stdout.decode().split())


def test_bash(tmp_path: Path) -> None:
    assert _bash(tmp_path, "lurcher", "sea") == {"search"}
    assert {"search", "history", "mcp", "--version"} <= _bash(tmp_path, "lurcher", "")
    assert _bash(tmp_path, "lurcher", "search", "query", "--mo") == {"--mode"}
    assert "structural" in _bash(tmp_path, "lurcher", "search", "--mode", "s")
    assert _bash(tmp_path, "lurcher", "search", "--format", "v") == {"vimgrep"}
    assert _bash(tmp_path, "lurcher", "completion", "z") == {"zsh"}
    (tmp_path / "some file").write_text("")
    (tmp_path / "src").mkdir()
    assert _bash(tmp_path, "lurcher", "outline", "sr") == {"src"}


def _fish(tmp_path: Path, line: str) -> set[str]:
    path = tmp_path / "completion.fish"
    path.write_text(completion_script("fish"))
    done = subprocess.run(
        [_shell("fish"), "--no-config", "-c", f"source {path}; complete -C {line!r}"], cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    return {row.split("\t")[0] for row in done.stdout.decode().splitlines()}


def test_fish(tmp_path: Path) -> None:
    assert "search" in _fish(tmp_path, "lurcher se")
    assert _fish(tmp_path, "lurcher search --mod") == {"--mode"}
    assert {"auto", "literal"} <= _fish(tmp_path, "lurcher search --mode ")
    assert {"bash", "zsh", "fish"} <= _fish(tmp_path, "lurcher completion ")


def _zsh(tmp_path: Path, *words: str) -> str:
    """What the function asks of zsh's own completion; that does the rest."""
    path = tmp_path / "_lurcher"
    path.write_text(completion_script("zsh"))
    line = " ".join(f"'{word}'" for word in words)
    code = (
        "compdef() { : }; _arguments() { print -rl -- \"$@\" }; _describe() { print -rl -- \"${commands[@]}\" }; "
        f"source {path}; words=({line}); CURRENT={len(words)}; _lurcher"
    )
    done = subprocess.run([_shell("zsh"), "-f", "-c", code], capture_output=True, timeout=120, check=True)
    return done.stdout.decode()


def test_zsh(tmp_path: Path) -> None:
    assert "search:find the code that answers a question" in _zsh(tmp_path, "lurcher", "se")
    asked = _zsh(tmp_path, "lurcher", "search", "--mo")
    assert "--mode[how to search]:MODE:(auto hybrid lexical dense symbol literal structural)" in asked
    assert "*:PATH:_files" in asked
    assert "1:shell:(bash zsh fish)" in _zsh(tmp_path, "lurcher", "completion", "")


def test_the_command_prints_it(shell: str) -> None:
    assert run_lurcher("completion", shell).out == completion_script(shell)
    assert run_lurcher("completion", "tcsh").status == 2
