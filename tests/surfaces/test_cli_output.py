"""What goes where: results on stdout, the rest on stderr; plain in a pipe, coloured on a terminal, the same bytes always."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from lurcher.surfaces.cli import printer, search_cmd
from tests.surfaces import terminal

ESCAPE = "\x1b"
COMMAND = (sys.executable, "-m", "lurcher")


def on_terminal(command: Sequence[str | Path], env: dict[str, str], cwd: Path) -> str:
    status, seen = terminal.on_terminal(command, env, cwd)
    assert status == 0
    return seen.decode("utf-8", "replace")


def test_only_results_are_on_stdout(shared: Path, run: Callable[..., Any]) -> None:
    result = run("search", "redirect", "-k", "2", "--context", "none", "--timings", cwd=shared)
    lines = [line for line in result.out.splitlines() if line]
    assert len(lines) == 2
    assert all(re.match(r"\S+:\d+-\d+  ", line) for line in lines)
    assert "more: --continue" in result.err


def test_nothing_found_is_printed_on_stderr_only(shared: Path, run: Callable[..., Any]) -> None:
    result = run("search", "xylophone", shared)
    assert (result.status, result.out, result.err) == (1, "", "nothing found; nowhere in the index: xylophone\n")


def test_a_pipe_gets_plain_text_with_line_numbers(shared: Path, run: Callable[..., Any]) -> None:
    result = run("search", "Client", "-k", "1", cwd=shared, env={"TERM": "xterm-256color"})
    assert ESCAPE not in result.out + result.err
    source = (shared / "src/client.py").read_text().splitlines()
    for line in result.out.splitlines()[1:]:
        number, _, text = line.strip().partition("  ")
        assert text == source[int(number) - 1]


def test_a_terminal_gets_colours_marks_and_a_bar(shared: Path, clean_environment: Callable[..., dict[str, str]]) -> None:
    env = clean_environment(TERM="xterm-256color")
    seen = on_terminal([*COMMAND, "search", "how are redirects followed", "-k", "2"], env, shared)
    assert f"{ESCAPE}[1;34msrc/client.py{ESCAPE}[0m:6  " in seen
    assert "▰" in seen and "▱" in seen
    assert re.search(rf"{ESCAPE}\[(0;)?1;33m(follow_)?redirects{ESCAPE}", seen)
    assert "more lines" in seen


@pytest.mark.parametrize("change", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_refused(
    shared: Path, clean_environment: Callable[..., dict[str, str]], change: dict[str, str]
) -> None:
    env = clean_environment(**{"TERM": "xterm-256color", **change})
    seen = on_terminal([*COMMAND, "search", "how are redirects followed", "-k", "2"], env, shared)
    assert "src/client.py:1-29" in seen
    assert ESCAPE not in seen


def test_a_hostile_file_cannot_drive_the_terminal(repository: Path, run: Callable[..., Any]) -> None:
    (repository / "evil.py").write_text("# kaleidoscope \x1b]0;owned\x07 \x1b[2J\nx = 1\n")
    result = run("search", "kaleidoscope", repository)
    assert "kaleidoscope" in result.out
    assert ESCAPE not in result.out and "\x07" not in result.out


MANY_QUESTIONS = """
import sys
from lurcher.surfaces.cli import main
for flags in (["--json"], ["--json", "--ranking", "classic"], ["--explain"], ["--json", "--context", "function"]):
    for query in ("how are redirects followed", "Client", "write", "the request and the\\nresponse of a redirect"):
        main(["search", query, "-k", "20", *flags, sys.argv[1]])
main(["symbol", "write", "--json", sys.argv[1]])
"""


def test_the_same_bytes_under_every_hash_seed_and_across_runs(
    repository: Path, tmp_path: Path, clean_environment: Callable[..., dict[str, str]]
) -> None:
    answers, segments = set(), set()
    for number, seed in enumerate(("0", "1", "2", "77", "random", "random")):
        # The first five build an index of their own; the last one asks the index of the one before.
        index = tmp_path / f"index-{min(number, 4)}"
        env = clean_environment(PYTHONHASHSEED=seed, LURCHER_INDEX_DIR=str(index))
        done = subprocess.run(
            [sys.executable, "-c", MANY_QUESTIONS, repository], capture_output=True, env=env, timeout=60, check=True
        )
        answers.add(done.stdout)
        # A segment is named after its content.
        segments.add(tuple(path.name for path in index.glob("*/*.segment")))
    assert len(answers) == len(segments) == 1
    assert answers.pop().count(b"src/client.py") > 10


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_reader_that_stops_early_is_no_error(
    shared: Path, clean_environment: Callable[..., dict[str, str]], flags: tuple[str, ...]
) -> None:
    process = subprocess.Popen(
        [*COMMAND, "search", "redirect", *flags, "-k", "50", shared], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=clean_environment(),
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(120) == 0, errors
    assert "Traceback" not in errors and "Exception" not in errors and "Broken" not in errors


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_one_line(shared: Path, clean_environment: Callable[..., dict[str, str]]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "search", "redirect", shared], stdout=full, stderr=subprocess.PIPE, env=clean_environment(),
            timeout=120, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr


def test_closed_streams_are_no_error(shared: Path, clean_environment: Callable[..., dict[str, str]]) -> None:
    line = f'"{sys.executable}" -m lurcher search redirect "{shared}" >&- 2>&- <&-'
    assert subprocess.run(["sh", "-c", line], env=clean_environment(), timeout=120, check=False).returncode == 0


MANY = 80


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree that takes a while to index."""
    folder = tmp_path_factory.mktemp("large")
    for number in range(MANY):
        lines = (f"def function_{number}_{i}(argument_{i}):\n    return argument_{i} + {i}\n" for i in range(1000))
        (folder / f"module_{number}.py").write_text("".join(lines))
    return folder


@pytest.mark.parametrize("whole_group", [True, False], ids=["as Ctrl-C does", "only the process"])
def test_an_interrupt_while_indexing_leaves_no_broken_index(
    large: Path, run: Callable[..., Any], clean_environment: Callable[..., dict[str, str]], whole_group: bool
) -> None:
    shutil.rmtree(large / ".lurcher", ignore_errors=True)
    process = subprocess.Popen(
        [*COMMAND, "index", large], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment(),
        start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # whatever we inherited
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not (large / ".lurcher" / "lock").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    if whole_group:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (130, b"", b"interrupted\n")
    left = sorted(path.name for path in (large / ".lurcher").iterdir())
    assert left == [".gitignore", "CACHEDIR.TAG", "lock"]
    assert run("status", large).status == 1


def test_indexing_shows_its_progress_on_a_terminal(
    large: Path, clean_environment: Callable[..., dict[str, str]]
) -> None:
    env = clean_environment(TERM="xterm-256color")
    seen = on_terminal([*COMMAND, "search", "function_7_7", large, "-k", "1"], env, large)
    assert re.search(rf"indexing [█░]{{24}} \d+/{MANY}", seen)
    assert f"\r{ESCAPE}[K{ESCAPE}[1;34mmodule_7.py" in seen  # the progress is gone before the first hit is printed


@pytest.mark.parametrize("columns", [12, 30, 80])
def test_progress_is_never_wider_than_the_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(search_cmd, "_PATIENCE", 0.0)
    search_cmd.Meter().update("indexing", 1_616, 1_616)
    shown = capsys.readouterr().err.removeprefix("\r\x1b[K")
    assert shown.endswith("1,616/1,616") and len(shown) < columns
    assert ("█" in shown) is (columns > 12)


@pytest.mark.parametrize(
    ("room", "symbol", "shown"),
    [
        (60, "Shop.Orders.Basket.add_discount", ("Shop.Orders.Basket.add_discount", "▰▰▰▱▱▱▱▱▱▱")),
        (36, "Shop.Orders.Basket.add_discount", ("…Basket.add_discount", "▰▰▰▱▱▱▱▱▱▱")),
        (20, "Shop.Orders.Basket.add_discount", ("…Basket.add_discount", "")),
        (5, "Basket.add_discount", ("Basket.add_discount", "")),
        (20, "Guide › Version 1.2.3 of it", ("Guide › Version 1.2.3 of it", "")),
        (10, "", ("", "▰▰▰▱▱▱▱▱▱▱")),
    ],
)
def test_a_heading_that_is_too_wide_loses_namespaces_and_then_the_bar(room: int, symbol: str, shown: tuple[str, str]) -> None:
    assert printer.fit_heading(room, symbol, "▰▰▰▱▱▱▱▱▱▱") == shown


@pytest.mark.parametrize("columns", [72, 80, 110])
def test_headings_fit_the_terminal(
    shared: Path, clean_environment: Callable[..., dict[str, str]], columns: int
) -> None:
    env = clean_environment(TERM="xterm-256color", COLUMNS=str(columns))
    seen = on_terminal([*COMMAND, "search", "how are redirects followed", "-k", "3"], env, shared)
    plain = re.sub(rf"{ESCAPE}\[[\d;]*m", "", seen)
    headings = re.findall(r"^\S+\.\w+:\d+  .*\d\.\d\d\r?$", plain, re.M)
    assert len(headings) >= 3 and max(len(line.rstrip()) for line in headings) <= columns
    assert any("▰" in line for line in headings)
