"""`lurcher init`: every client's file gets its entry, once; nothing of a user's is lost; what is not safe is left alone."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lurcher.surfaces import agents
from lurcher.surfaces.agents import config_files
from lurcher.surfaces.agents.clients import CLIENTS, Client
from lurcher.surfaces.agents.config_files import Change, NotEditable
from tests.conftest import environment, git, run_lurcher

KEYS = [client.key for client in CLIENTS]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def _client(key: str) -> Client:
    return next(client for client in CLIENTS if client.key == key)


def _said(project: Path, client: Client) -> Any:
    text = client.file(project).read_text()
    if client.toml:
        from lurcher.config import parse_toml

        data: Any = parse_toml(text.encode(), "test")
    else:
        data = json.loads(text)
    for name in client.path:
        data = data[name]
    return data


@pytest.mark.parametrize("key", KEYS)
def test_a_new_file_says_how_to_start_the_server(project: Path, key: str) -> None:
    done = agents.apply_steps(project, [_client(key)])
    assert [step.done for step in done] == ["wrote", "wrote"]
    entry = _said(project, _client(key))
    started = entry["command"] if isinstance(entry["command"], list) else [entry["command"], *entry["args"]]
    assert started == ["lurcher", "mcp"]


@pytest.mark.parametrize("key", KEYS)
def test_a_second_time_changes_nothing_and_removing_leaves_nothing(project: Path, key: str) -> None:
    agents.apply_steps(project, [_client(key)], with_hook=True)
    before = _tree(project)
    assert {step.done for step in agents.apply_steps(project, [_client(key)], with_hook=True)} == {"unchanged"}
    assert _tree(project) == before
    agents.apply_steps(project, [_client(key)], with_hook=True, remove=True)
    assert not _tree(project)
    assert not (project / ".git/hooks/post-commit").exists()


@pytest.mark.parametrize("key", [client.key for client in CLIENTS])
@pytest.mark.parametrize("before", ["", "\n", "  \n\n", "{}", "{}\n", "{ }\n", "{\n}\n", "{\n  // mine\n}\n"])
def test_a_file_that_was_there_and_held_nothing_stays(project: Path, key: str, before: str) -> None:
    client = _client(key)
    if client.toml and "{" in before:
        before = before.replace("{", "#").replace("}", "#").replace("//", "#")
    for path in (client.file(project), project / agents.AGENTS):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(before)
    agents.apply_steps(project, [client])
    written = client.file(project).read_text()
    assert "lurcher" in written and "lurcher" in (project / agents.AGENTS).read_text()
    assert {step.done for step in agents.apply_steps(project, [client])} == {"unchanged"}
    agents.apply_steps(project, [client], remove=True)
    for path in (client.file(project), project / agents.AGENTS):
        after = path.read_text()
        assert "".join(after.split()) == "".join(before.split()) and (before.strip() or after == before)


def test_a_schema_that_was_there_stays(project: Path) -> None:
    for client in CLIENTS:
        if client.first and not client.toml:
            path = client.file(project)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(dict(client.first), indent=2) + "\n")
            agents.apply_steps(project, [client], agents=False)
            agents.apply_steps(project, [client], agents=False, remove=True)
            assert json.loads(path.read_text()) == dict(client.first)


def _tree(project: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(project)): path.read_bytes()
        for path in sorted(project.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(project).parts[:1]
    }


OWN = {
    "claude": '{\n  "mcpServers": {\n    "mine": { "command": "x" } // keep\n  }\n}\n',
    "cursor": '{"mcpServers": {"mine": {"url": "http://localhost:1"}}}',
    "codex": '# my settings\nmodel = "x"\n\n[mcp_servers.mine]\ncommand = "y"\n\n[tui]\ntheme = "dark"\n',
    "opencode": '{\n  "$schema": "https://opencode.ai/config.json",\n  "model": "m", // mine\n}\n',
    "vscode": '{\n\t"inputs": [],\n\t"servers": {\n\t\t"mine": { "type": "http", "url": "u" }\n\t}\n}\n',
    "gemini": '{ "theme": "GitHub" }\n',
    "zed": '// Zed settings\n{\n  "tab_size": 4,\n  "context_servers": {}\n}\n',
}


@pytest.mark.parametrize("key", KEYS)
def test_every_line_of_a_users_file_is_preserved_and_restored(project: Path, key: str) -> None:
    client = _client(key)
    path = project / client.files[0]
    path.parent.mkdir(exist_ok=True)
    path.write_text(OWN[key])
    path.chmod(0o640)
    assert agents.apply_steps(project, [client], agents=False)[0].done == "wrote"
    text = path.read_text()
    for line in OWN[key].splitlines():
        assert line.strip(" \t,{}").replace(",", "") in text.replace(",", "")
    assert "lurcher" in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    agents.apply_steps(project, [client], agents=False, remove=True)
    if key != "zed":  # an empty list of servers says nothing, and is taken out with ours
        assert path.read_text() == OWN[key]
    assert "lurcher" not in path.read_text()


BROKEN = [
    ("claude", "{ this is no JSON", "no JSON"),
    ("claude", '{"mcpServers": []}', "expected structure"),
    ("claude", '{"mcpServers": {"lurcher": {"command": "something-else"}}}', "another entry"),
    ("codex", "model = [\n", "not valid TOML"),
    ("codex", 'mcp_servers = { mine = { command = "x" } }\n', "TOML"),
    ("codex", 'mcp_servers.lurcher.command = "other"\n', "another entry"),
]


@pytest.mark.parametrize(("key", "text", "reason"), BROKEN)
def test_what_cannot_be_changed_safely_is_left_and_shown(project: Path, key: str, text: str, reason: str) -> None:
    path = project / _client(key).files[0]
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    step = agents.apply_steps(project, [_client(key)], agents=False)[0]
    assert step.done == "left alone"
    assert reason in step.reason
    assert "lurcher" in step.show
    assert path.read_text() == text


def test_links_read_only_files_and_odd_ones_are_refused(project: Path, tmp_path: Path) -> None:
    path = project / ".mcp.json"
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text("{}")
    path.symlink_to(elsewhere)
    assert "link" in agents.apply_steps(project, [_client("claude")], agents=False)[0].reason
    assert elsewhere.read_text() == "{}"
    path.unlink()
    path.write_text("{}")
    path.chmod(0o444)
    assert "read-only" in agents.apply_steps(project, [_client("claude")], agents=False)[0].reason
    path.chmod(0o644)
    path.write_bytes(b'{"a": "\xff"}')
    assert "UTF-8" in agents.apply_steps(project, [_client("claude")], agents=False)[0].reason
    path.write_text(" " * 1_000_001)
    assert "1 MB" in agents.apply_steps(project, [_client("claude")], agents=False)[0].reason
    path.unlink()
    path.mkdir()
    assert "regular file" in agents.apply_steps(project, [_client("claude")], agents=False)[0].reason
    os.mkfifo(project / "AGENTS.md")
    assert "regular file" in agents.apply_steps(project, [])[0].reason
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / ".cursor").symlink_to(outside)
    assert "link" in agents.apply_steps(project, [_client("cursor")], agents=False)[0].reason
    assert not list(outside.iterdir())


def test_a_file_that_changes_meanwhile_is_not_overwritten(project: Path) -> None:
    path = project / "x.json"
    path.write_text("theirs")
    with pytest.raises(NotEditable, match="just been changed"):
        config_files.apply(Change(path, "{}", "ours"))
    assert path.read_text() == "theirs"


def test_a_write_that_fails_leaves_the_old_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project / ".mcp.json"
    path.write_text("{}")

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(config_files.os, "replace", full)
    step = agents.apply_steps(project, [_client("claude")], agents=False)[0]
    assert (step.done, step.reason) == ("left alone", "No space left on device")
    assert [item.name for item in project.iterdir() if item.name != ".git"] == [".mcp.json"]
    assert path.read_text() == "{}"


def test_the_section_is_renewed_between_its_marks_and_nothing_else(project: Path) -> None:
    path = project / "AGENTS.md"
    path.write_text("# Rules\n\nBe kind.\n")
    agents.apply_steps(project, [])
    path.write_text(path.read_text().replace("Finding things", "Old words") + "\nAfter.\n")
    agents.apply_steps(project, [])
    text = path.read_text()
    assert "Old words" not in text and "Finding things" in text
    assert text.startswith("# Rules\n\nBe kind.\n\n<!-- lurcher:begin -->") and text.endswith("\nAfter.\n")
    agents.apply_steps(project, [], remove=True)
    assert path.read_text() == "# Rules\n\nBe kind.\n\nAfter.\n"
    for broken in ("<!-- lurcher:begin -->\nno end\n", "<!-- lurcher:end -->\n<!-- lurcher:begin -->\n"):
        path.write_text(broken)
        assert agents.apply_steps(project, [])[0].done == "left alone"
        assert path.read_text() == broken


def test_windows_line_ends_stay(project: Path) -> None:
    path = project / "AGENTS.md"
    path.write_bytes(b"# Rules\r\n")
    agents.apply_steps(project, [])
    assert b"\n" not in path.read_bytes().replace(b"\r\n", b"")
    agents.apply_steps(project, [], remove=True)
    assert path.read_bytes() == b"# Rules\r\n"


def test_clients_are_found_by_what_is_there(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    home = tmp_path / "home"
    home.mkdir()
    assert agents.choose_clients(project, [], home) == []
    for sign, key in ((".cursor", "cursor"), (".zed", "zed"), ("GEMINI.md", "gemini"), (".vscode", "vscode")):
        (project / sign).mkdir()
        assert key in [client.key for client in agents.choose_clients(project, [], home)]
    (home / ".codex").mkdir()
    (home / ".config/opencode").mkdir(parents=True)
    (tmp_path / "claude").write_text("#!/bin/sh\n")
    (tmp_path / "claude").chmod(0o755)
    assert [client.key for client in agents.choose_clients(project, [], home)] == KEYS
    assert [client.key for client in agents.choose_clients(project, ["zed"], home)] == ["zed"]


def test_the_command(project: Path) -> None:
    shown = run_lurcher("init", "--client", "claude", "--dry-run", cwd=project)
    assert shown.status == 0
    assert "would write  .mcp.json" in shown.out and '+    "lurcher": {' in shown.out
    assert not (project / ".mcp.json").exists()
    assert "wrote  .mcp.json" in run_lurcher("init", "--client", "claude", cwd=project).out
    assert "unchanged  .mcp.json" in run_lurcher("init", "--client", "claude", cwd=project).out
    (project / ".cursor").mkdir()
    (project / ".cursor/mcp.json").write_text("{ broken")
    left = run_lurcher("init", "--client", "cursor", "--json", cwd=project)
    assert left.status == 2
    assert json.loads(left.out)["steps"][0]["done"] == "left alone"
    assert run_lurcher("init", "--remove", cwd=project).status == 2  # Cursor's is still broken
    assert not (project / ".mcp.json").exists() and not (project / "AGENTS.md").exists()
    wrong = run_lurcher("init", "--client", "emacs", cwd=project)
    assert wrong.status == 2 and "known are: claude" in wrong.err


# -- the hook -----------------------------------------------------------------------------------------------------------


def _hook(project: Path, **options: bool) -> agents.Step:
    return agents.apply_steps(project, [], agents=False, with_hook=True, **options)[0]


def _fake_lurcher(folder: Path, script: str) -> dict[str, str]:
    folder.mkdir()
    (folder / "lurcher").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "lurcher").chmod(0o755)
    return environment(PATH=f"{folder}:{os.environ['PATH']}", GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull)


def _commit(project: Path, env: dict[str, str]) -> None:
    (project / "file").write_text(str(time.monotonic()))
    for arguments in (["add", "-A"], ["-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *arguments], cwd=project, env=env, check=True, timeout=120, capture_output=True)


def _appears(path: Path) -> bool:
    deadline = time.monotonic() + 120
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return path.exists()


def test_a_commit_does_not_wait_for_the_index(project: Path, tmp_path: Path) -> None:
    assert _hook(project).done == "wrote"
    waiting = f"until [ -e {tmp_path}/go ]; do sleep 0.1; done"
    env = _fake_lurcher(tmp_path / "bin", f'{waiting}; echo "$@ ${{GIT_DIR-none}} ${{GIT_INDEX_FILE-none}}" > {tmp_path}/ran')
    _commit(project, env)
    assert not (tmp_path / "ran").exists()
    (tmp_path / "go").touch()
    assert _appears(tmp_path / "ran")
    assert (tmp_path / "ran").read_text().strip() == "index --quiet . none none"


def test_a_commit_does_not_fail_with_it(project: Path, tmp_path: Path) -> None:
    _hook(project)
    _commit(project, _fake_lurcher(tmp_path / "bin", "exit 3"))
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    for name in ("git", "sh", "env", "sed"):
        (nothing / name).symlink_to(f"/usr/bin/{name}")
    env = {**environment(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull), "PATH": str(nothing)}
    _commit(project, env)  # and without lurcher or nohup at all


def test_a_hook_of_the_user_still_runs(project: Path, tmp_path: Path) -> None:
    path = project / ".git/hooks/post-commit"
    own = f"#!/bin/sh\ntouch {tmp_path}/theirs\nexit 0\n"
    path.write_text(own)
    assert _hook(project).reason == "it is not executable, so it is switched off"
    path.chmod(0o755)
    assert _hook(project).done == "wrote"
    assert _hook(project).done == "unchanged"
    _commit(project, _fake_lurcher(tmp_path / "bin", f"touch {tmp_path}/ours"))
    assert _appears(tmp_path / "ours") and _appears(tmp_path / "theirs")
    _hook(project, remove=True)
    assert path.read_text() == own


def test_a_hook_in_another_language_is_left(project: Path) -> None:
    path = project / ".git/hooks/post-commit"
    path.write_text(f"#!{sys.executable}\nprint()\n")
    path.chmod(0o755)
    assert _hook(project).reason == "it is not a shell script"


def test_hooks_are_where_the_repository_has_them(project: Path, tmp_path: Path) -> None:
    git(project, "config", "core.hooksPath", "tools/hooks")
    assert _hook(project).path == project / "tools/hooks/post-commit"
    assert os.access(project / "tools/hooks/post-commit", os.X_OK)
    git(project, "config", "core.hooksPath", str(tmp_path / "shared"))
    step = _hook(project)
    assert step.done == "left alone" and "core.hooksPath" in step.reason
    assert not (tmp_path / "shared").exists()


def test_a_linked_work_tree_shares_the_hook(project: Path, tmp_path: Path) -> None:
    git(project, "commit", "-q", "--allow-empty", "-m", "x")
    git(project, "worktree", "add", "-q", str(tmp_path / "linked"))
    assert _hook(tmp_path / "linked").done == "wrote"
    assert (project / ".git/hooks/post-commit").exists()


def test_without_git_there_is_no_hook(tmp_path: Path) -> None:
    assert _hook(tmp_path).reason == "this is not a git repository"
