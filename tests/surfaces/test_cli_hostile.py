"""Whatever a repository, its history, its notes, its settings or a question hold: none of it drives the terminal."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lurcher.runtime.process import SafeStream, printable, printable_lines
from lurcher.surfaces.cli.flags import COMMANDS
from tests.surfaces.terminal import on_terminal

TITLE = "\x1b]0;T\x07"
FORGED = "\x1b[1;31mFORGED"
"""One of our own colours, put there by somebody else."""
EVIL = f"{TITLE}\x1b[2J{FORGED}\x9b31m\x7f\x08\r\u202e\u2066\u2028\U000e0041"
NAME = f"evil{TITLE}\x9b2J\x7f\x08\r\u202e\U000e0041"
"""Part of a file's name."""

OURS = re.compile(r"\x1b\[(?:0|0;1;33|0;2;3|0;32|1|1;31|1;33|1;34|2|2;3|32|33|35|36)m|\r\x1b\[K|\r+\n")
"""All that may act on a terminal: colours, the line of progress, and line ends as a terminal has them."""
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")

CALLS: dict[str, list[list[str]]] = {
    "search": [
        ["helper evil"], ["helper", "--in", "all", "--explain", "--timings"], ["helper", "--literal"], ["helper", "--json"],
        ["helper", "--format", "vimgrep"], ["def $NAME($$$):\n    $$$", "--structural"], [EVIL], ["[" + EVIL, "--literal"],
        ["helper", "--set", f"{EVIL}=1"], ["helper", f"no such {NAME}"], ["helper", "--continue", EVIL], ["helper", "-l", EVIL],
        ["helper", "--library", EVIL], ["helper", "--store", f"qdrant://{EVIL}"], ["helper", "--rerank", EVIL],
        ["helper", f"--{EVIL}"],
    ],
    "symbol": [["helper"], ["helper", "--format", "vimgrep"], [EVIL]],
    "related": [["plain.py:1"], [f"{NAME}.py:1"], [f"plain.py:{EVIL}"]],
    "why": [[f"{NAME}.py", "helper evil"], ["plain.py", EVIL], [EVIL, "helper"]],
    "impact": [["plain.py"], ["plain.py", "--symbol", "helper"], ["plain.py", "--format", "dot"], [f"{NAME}.py"], [EVIL]],
    "references": [["helper"], ["helper", "--callers"], ["evil", "--callees"], ["helper", "--tests"], ["helper", "--json"],
                   ["helper", "--format", "vimgrep"], [f"{NAME}.py:4"], ["helper", "--kind", EVIL], [EVIL]],
    "implementations": [["helper"], [f"{NAME}.py:4"], [EVIL]],
    "outline": [[], [f"{NAME}.py"], ["--kind", EVIL], [EVIL]],
    "context": [[], [f"{NAME}.py"], ["plain.py"], [EVIL]],
    "exists": [["helper"], ["helper", "--exact"], [EVIL, "--exact"]],
    "history": [["evil change"], ["evil", "--explain", "--timings"], ["evil", "--author", EVIL], ["evil", "--since", EVIL],
                ["evil", "--format", "vimgrep"]],
    "notes": [["evil note"], ["evil", "--explain", "--tag", EVIL], ["evil", "--format", "vimgrep"]],
    "brief": [["plain.py"], [f"{NAME}.py"], ["helper"], [EVIL]],
    "explain": [["plain.py"], [f"{NAME}.py"], [f"{NAME}.py:1-3"], [EVIL]],
    "index": [[], ["--rebuild"], ["--history"], ["--library", EVIL], ["--watch"], ["--watch", "--json"], ["--clear"]],
    "serve": [["--port", "0"], ["--port", "0", "--host", EVIL], ["--token", EVIL]],
    "workspace": [["list"], ["add", "."], ["add", EVIL], ["remove", EVIL], [EVIL]],
    "projects": [[], ["--store", f"postgres://{EVIL}"]],
    "sync": [["--repos", EVIL], ["--repos", "plain.py", "--store", f"postgres://{EVIL}"]],
    "status": [[], ["--skipped"], ["--store", f"postgres://{EVIL}"], [f"no such {NAME}"]],
    "doctor": [[], ["--set", f"embedding.url={EVIL}", "--set", "embedding.provider=tei"]],
    "model": [["info"], ["info", EVIL], ["use", EVIL]],
    "eval": [["questions.jsonl", "--root", ".", "--warnings"], [EVIL], ["questions.jsonl", "--root", ".", "--only", EVIL]],
    "mcp": [[], ["--root", EVIL]],
    "init": [["--dry-run", "--client", "claude", "--hook"], ["--client", EVIL], [EVIL]],
    "stats": [[], ["--days", EVIL]],
    "export": [["--ctags", "tags"], ["--scip", f"no such {NAME}/index.scip"], ["--ctags", EVIL]],
    "hook": [[], [EVIL]],
    "completion": [["bash"], ["zsh"], ["fish"], [EVIL]],
    "help": [[], ["query"], [EVIL]],
    "config": [["show", "--origin"], ["show", "--set", f"embedding.model={EVIL}"], [EVIL]],
}  # fmt: skip
"""Each command with arguments that show all it has to say, and with hostile ones."""
STOPPED = ("serve", "mcp", "--watch")
"""What goes on until it is interrupted."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, git_in: Callable[..., str]) -> Path:
    """A repository in which everything that can have a control character has one."""
    folder = tmp_path_factory.mktemp("hostile") / f"tree{TITLE}\x9b"
    folder.mkdir()
    git_in(folder, "init", "-q")
    code = f'from plain import helper\n\n\ndef evil():\n    """Uses the helper. {EVIL}"""\n    return helper("{EVIL}")\n'
    (folder / f"{NAME}.py").write_text(code, newline="")
    (folder / f"test_{NAME}.py").write_text("from plain import helper\n\n\ndef test_helper():\n    helper('a')\n")
    (folder / "plain.py").write_text("def helper(text):\n    return text\n")
    (folder / "big.py").write_text(f"x = '{EVIL}'\n" * 60_000)
    told = f'---\ntitle: "evil {EVIL}"\ntags: ["tag{FORGED}"]\n---\n'
    (folder / f"note {NAME}.md").write_text(f"{told}# An evil note {EVIL}\n\nSays evil things of `plain.py` {EVIL}.\n")
    (folder / "broken.md").write_text(f"---\ntitle: [evil {EVIL}\n---\n# A broken evil note\n\nText.\n")
    (folder / ".mcp.json").write_text('{"mcpServers": {"' + EVIL)
    rows = [{"query": f"evil {EVIL}", "gold": [f"{NAME}.py"], "id": f"q{EVIL}"}, {"query": "helper", "gold": ["plain.py"]},
            {"query": "gone", "gold": [f"gone {EVIL}.py"]}]  # fmt: skip
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    author = f"Eve {TITLE}{FORGED} \u202e <eve@{FORGED}>"
    git_in(folder, "add", "-A")
    git_in(folder, "commit", "-q", "--author", author, "-m", f"An evil change {EVIL}\n\nIts body {EVIL}\n\nRefs: {EVIL}")
    (folder / f"{NAME}.py").write_text(code.replace("Uses", "Takes"), newline="")
    git_in(folder, "commit", "-q", "-a", "--author", author, "-m", f"Change evil {EVIL}")
    git_in(folder, "revert", "--no-edit", "HEAD")
    git_in(folder, "checkout", "-q", "-b", "branch-\u202e\u2066\U000e0041")
    return folder


def seen(command: list[str], environment: dict[str, str], folder: Path) -> str:
    """What a terminal gets from a command, from stdout and stderr."""
    lasting, asked = any(word in STOPPED for word in command), False

    def interrupt(got: bytes, process: subprocess.Popen[bytes]) -> None:
        nonlocal asked
        if lasting and not asked and re.search(rb"serving|watching|note: this speaks|generation", got):
            asked = True
            process.send_signal(signal.SIGINT)

    _, got = on_terminal([sys.executable, "-m", "lurcher", *command], environment, folder, interrupt)
    return got.decode("utf-8", "surrogateescape")


def check(text: str, command: object) -> None:
    assert "FORGED" not in text or not re.search(r"\x1b\[[0-9;]*mFORGED", text), f"{command!r} shows a colour that is not ours"
    rest = OURS.sub("\n", text)
    found = ACTING.search(rest)
    assert found is None, f"{command!r} writes {found[0]!r} in {rest[max(0, found.start() - 80) : found.end() + 80]!r}"
    assert "Traceback" not in text, text


def test_every_command_is_tried() -> None:
    assert CALLS.keys() == {command.name for command in COMMANDS}


@pytest.mark.parametrize("name", CALLS)
def test_no_command_lets_control_characters_through(
    name: str, hostile: Path, tmp_path: Path, clean_environment: Callable[..., dict[str, str]]
) -> None:
    (tmp_path / "home").mkdir()
    environment = clean_environment(TERM="xterm-256color", HOME=str(tmp_path / "home"), LURCHER_SAVINGS_COUNT="false")
    said = []
    for arguments in CALLS[name]:
        if any("\0" in argument for argument in arguments):
            continue
        text = seen([name, *arguments], environment, hostile)
        check(text, [name, *arguments])
        said.append(text)
    assert any(text.strip() for text in said)


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_settings_that_are_wrong_are_reported_without_control_characters(
    name: str, hostile: Path, tmp_path: Path, clean_environment: Callable[..., dict[str, str]]
) -> None:
    """Also where the user's own file is the one that is wrong, which every command that reads settings meets."""
    folder = tmp_path / "home" / ".config" / "lurcher"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[index]\n"' + "".join(f"\\u{ord(c):04x}" for c in EVIL if ord(c) < 65536) + '" = 1\n')
    (folder / "config.toml").chmod(0o600)
    environment = clean_environment(TERM="xterm-256color", HOME=str(tmp_path / "home"), LURCHER_SAVINGS_COUNT="false")
    if name not in ("serve", "mcp"):
        check(seen([name, *CALLS[name][0]], environment, hostile), name)


SCRIPTS = (
    "a\xa0b", "全角\u3000空白", "👩\u200d💻 👍🏽 ❤\ufe0f", "می\u200cخواهم", "co\xadoperate", "\u200fשלום\u200e", "a\tb",
    "\ue000",
)  # fmt: skip
ACTS = (
    "\x00", "\x1b", "\x07", "\r", "\x7f", "\x85", "\x9b", "\u2028", "\u2029", "\u202a", "\u202e", "\u2066", "\u2069", "\ud800",
    "\udfff", "\U000e0001", "\U000e007f",
)  # fmt: skip


@pytest.mark.parametrize("text", SCRIPTS)
def test_text_of_every_script_is_shown_as_it_is(text: str, tmp_path: Path, run: Callable[..., object]) -> None:
    assert printable(text) == printable_lines(text) == text
    (tmp_path / "a.py").write_text(f"needle = '{text}'\n", encoding="utf-8")
    assert text in run("search", "needle", cwd=tmp_path).out  # type: ignore[attr-defined]
    assert text in run("search", text, "--literal", "-F", cwd=tmp_path).out  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ACTS)
def test_control_characters_are_replaced(text: str) -> None:
    assert printable(f"a{text}b") == printable_lines(f"a{text}b") == "a\ufffdb"


def test_a_line_has_no_line_ends_and_lines_have() -> None:
    assert printable("a\nb") == "a\ufffdb"
    assert printable_lines("a\nb") == "a\nb"


def test_the_stream_lets_our_own_codes_pass_and_no_others() -> None:
    import io

    def written(text: str) -> str:
        below = io.StringIO()
        SafeStream(below).write(text)
        return below.getvalue()

    assert written("\x1b[1;34mpath\x1b[0m:1\n") == "\x1b[1;34mpath\x1b[0m:1\n"
    assert written("\r\x1b[Kindexing 1/2") == "\r\x1b[Kindexing 1/2"
    assert written("a\r\x1b[Kb\x1b[Kc") == "a\ufffd\ufffd[Kb\ufffd[Kc"
    assert written("\x1b[8mhidden\x1b[31mred\x1b]0;T\x07\x1b") == "\ufffd[8mhidden\ufffd[31mred\ufffd]0;T\ufffd\ufffd"
