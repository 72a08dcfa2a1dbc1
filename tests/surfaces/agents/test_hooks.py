"""Hooks of agents: added beside those of the user, and answered with places, once, in bounded time, whatever comes in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lurcher.answer import count_tokens
from lurcher.surfaces import agents
from lurcher.surfaces.agents import hooks
from lurcher.surfaces.agents.clients import CLIENTS
from lurcher.surfaces.cli import hook_cmd
from tests.conftest import environment, git, run_lurcher

CODE = "def follow_redirects(response):\n    '''Follow redirects of a response until the limit.'''\n    return response.next\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    git(folder, "init", "-q")
    (folder / "client.py").write_text(CODE)
    (folder / "other.py").write_text("def unrelated():\n    return 1\n")
    (folder / "large.py").write_text("value = 1\n" * 5000)
    assert run_lurcher("index", "--quiet", folder).status == 0
    return folder


def _hook(event: Any, state: Path, *, raw: bytes | None = None) -> Any:
    """What `lurcher hook` prints, as data; None if it prints nothing. It must never fail."""
    done = subprocess.run(
        [sys.executable, "-m", "lurcher", "hook"], input=json.dumps(event).encode() if raw is None else raw,
        env=environment(XDG_STATE_HOME=str(state)), capture_output=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else None


def _answer(project: Path, **event: Any) -> str:
    return hook_cmd._answer({"cwd": str(project), "session_id": "s", **event})


def _tool(project: Path, tool: str, session: str = "s", **given: Any) -> str:
    return _answer(project, hook_event_name="PreToolUse", tool_name=tool, tool_input=given, session_id=session)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_prompt_gets_places_within_a_budget(project: Path, state: Path) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "cwd": str(project), "session_id": "s"}
    found = _hook({**event, "prompt": "why do we not follow redirects of a response"}, state)
    if found is not None:  # on a machine so busy that time was up, nothing is the right answer
        assert found["hookEventName"] == "UserPromptSubmit"
        assert found["additionalContext"].split("\n")[1].startswith("client.py:1-3  follow_redirects")
    text = _answer(project, hook_event_name="UserPromptSubmit", prompt="why do we not follow redirects of a response " * 400)
    assert "client.py:1-3" in text and count_tokens(text) < 500
    for prompt in ("/clear now and then", "go on", "", "   ", 7, None, ["follow redirects of response"]):
        assert _answer(project, hook_event_name="UserPromptSubmit", prompt=prompt) == ""


def test_a_grep_for_words_gets_places_once_in_a_session(project: Path) -> None:
    assert "client.py:1-3  follow_redirects" in _tool(project, "Grep", pattern=r"def\s+follow_redirects|redirects_limit")
    assert _tool(project, "Grep", pattern="follow redirects") == ""
    assert _tool(project, "Bash", command="rg 'follow redirects'") == ""
    assert "client.py" in _tool(project, "Bash", "another", command="grep -rn 'follow.*redirects' . | head")
    assert "client.py" in _tool(project, "Bash", "a third", command="git grep -n follow_redirects")
    assert "client.py" in _tool(project, "Bash", "a fourth", command="grep -rn followRedirects .")


def test_where_grep_is_better_nothing_is_said(project: Path, state: Path) -> None:
    assert _tool(project, "Grep", pattern="follow redirects", path="client.py") == ""
    assert _tool(project, "Bash", command="grep -n 'follow redirects' client.py") == ""
    assert _tool(project, "Grep", pattern="x") == ""
    for single in ("redirects", "Redirects", "REDIRECTS"):
        assert _tool(project, "Grep", pattern=single) == ""
    for command in ("cat large.py | head", "cat large.py client.py", "cat 'large.py", "cat client.py", "cat -n", "cat $FILE"):
        assert _tool(project, "Bash", command=command) == ""
    assert _tool(project, "Bash", command="ls -l 'follow redirects'") == ""
    assert _tool(project, "Bash", command="grep 'unfinished") == ""
    assert _tool(project, "Read", file_path="client.py") == ""
    assert _tool(project, "Read", file_path="large.py", offset=10, limit=20) == ""
    assert not state.exists()  # so the suggestion is still to come


def test_a_large_file_is_mentioned_once(project: Path) -> None:
    assert "outline" in _tool(project, "Read", file_path=str(project / "large.py"))
    assert _tool(project, "Read", file_path=str(project / "large.py")) == ""
    assert _tool(project, "Bash", command="cat large.py") == ""
    assert "outline" in _tool(project, "Bash", "another", command="cat -n large.py")


def test_without_a_place_to_note_it_nothing_is_said(project: Path, state: Path) -> None:
    state.write_text("a file where a folder is needed")
    assert _tool(project, "Grep", pattern="follow redirects") == ""


def test_old_notes_are_removed(project: Path, state: Path) -> None:
    _tool(project, "Read", file_path="large.py")
    (kept,) = (state / "lurcher/hooks").iterdir()
    os.utime(kept, (time.time() - 5 * 86400,) * 2)
    _tool(project, "Read", "later", file_path="large.py")
    assert kept not in list((state / "lurcher/hooks").iterdir())


def test_no_index_is_made(tmp_path: Path, state: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/client.py").write_text(CODE)
    event = {"hook_event_name": "UserPromptSubmit", "cwd": str(tmp_path / "tree"), "prompt": "how are redirects followed"}
    assert _hook(event, state) is None
    assert [path.name for path in (tmp_path / "tree").iterdir()] == ["client.py"]


HOSTILE = [
    b"", b"{", b"null", b"[]", b'"x"', b"\xff\xfe", b"{}", b'{"hook_event_name": 1, "cwd": 2}',
    b'{"hook_event_name": "UserPromptSubmit", "cwd": "/nowhere", "prompt": "how are redirects followed"}',
    b'{"hook_event_name": "UserPromptSubmit", "cwd": "a\\u0000b", "prompt": "how are redirects followed"}',
    b'{"hook_event_name": "PreToolUse", "cwd": "/", "tool_name": "Read", "tool_input": {"file_path": "/\\u0000"}}',
    b'{"hook_event_name": "PreToolUse", "cwd": "/", "tool_name": {}, "tool_input": {"command": []}, "session_id": "\\ud800"}',
    b"[" * 100_000, b" " * 2_000_000,
]  # fmt: skip


@pytest.mark.parametrize("raw", HOSTILE)
def test_hostile_input_gives_silence(raw: bytes, state: Path) -> None:
    assert _hook(None, state, raw=raw) is None


def test_it_ends_even_if_nothing_comes_in(state: Path) -> None:
    with subprocess.Popen([sys.executable, "-m", "lurcher", "hook"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.wait(timeout=60) == 0
        assert process.stdout is not None and process.stdout.read() == b""


# -- the files that name the hooks --------------------------------------------------------------------------------------


def _setup(folder: Path, **options: bool) -> list[agents.Step]:
    chosen = [client for client in CLIENTS if client.key in ("claude", "codex")]
    steps = agents.apply_steps(agents.Setup(folder, None, chosen, agent_hooks=True, **options))
    return [step for step in steps if step.path.name in ("settings.json", "hooks.json")]


def test_hooks_are_added_beside_those_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / ".claude/settings.json"
    path.parent.mkdir()
    own = json.dumps({"model": "m", "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]}}, indent=2) + "\n"
    path.write_text(own)
    assert [step.done for step in _setup(tmp_path)] == ["wrote", "wrote"]
    data = json.loads(path.read_text())
    assert data["hooks"]["PreToolUse"][0] == {"matcher": "Bash", "hooks": []}
    for event in ("PreToolUse", "UserPromptSubmit"):
        group = data["hooks"][event][-1]
        command = group["hooks"][0]["command"]
        assert command.endswith("lurcher hook") and Path(command.split()[0]).is_absolute()
        assert group.get("matcher", "") == hooks._MATCHERS[event]
    assert json.loads((tmp_path / ".codex/hooks.json").read_text())["hooks"].keys() == {"PreToolUse", "UserPromptSubmit"}
    assert {step.done for step in _setup(tmp_path)} == {"unchanged"}
    _setup(tmp_path, remove=True)
    assert path.read_text() == own and not (tmp_path / ".codex").exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{ broken", "no JSON"),
        ("[]", "expected structure"),
        ('{"hooks": []}', "expected structure"),
        ('{"hooks": {"PreToolUse": {}}}', "expected structure"),
        ('{"hooks": {"PreToolUse": [ /* mine */ ]}}', "comments"),
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_left(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / ".claude/settings.json"
    path.parent.mkdir()
    path.write_text(text)
    step = _setup(tmp_path)[0]
    assert (step.done, path.read_text()) == ("left alone", text)
    assert reason in step.reason and "lurcher hook" in step.show


def test_a_hook_of_an_older_installation_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / ".claude/settings.json"
    path.parent.mkdir()
    path.write_text(hooks.new_file(["/gone/bin/lurcher"]))
    _setup(tmp_path)
    assert "/gone" not in path.read_text()
    assert all(len(groups) == 1 for groups in json.loads(path.read_text())["hooks"].values())
