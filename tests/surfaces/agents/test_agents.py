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
import yaml

import lurcher
from lurcher.errors import ServerError
from lurcher.runtime import installation
from lurcher.surfaces import agents
from lurcher.surfaces.agents import clients, config_files
from lurcher.surfaces.agents.clients import CLIENTS, Client, command_of, projects_of, read_entry
from lurcher.surfaces.agents.config_files import Change, NotEditable
from lurcher.surfaces.agents.handshake import shake_hands
from lurcher.surfaces.mcp.tools import TOOLS
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


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def _apply(project: Path, clients: list[Client], **options: Any) -> list[agents.Step]:
    home = project.parent / "home"
    return agents.apply_steps(agents.Setup(project, home if home.exists() else None, clients, **options))


def _data(text: str, client: Client) -> Any:
    """The file as an independent parser reads it."""
    if client.format == "yaml":
        return yaml.safe_load(text)
    if client.format == "toml":
        from lurcher.config import parse_toml

        return parse_toml(text.encode(), "test")
    return json.loads(text)


def _said(project: Path, home: Path, client: Client) -> Any:
    data = _data(client.file(project, home).read_text(), client)
    for name in client.path:
        data = data[name]
    return data


@pytest.mark.parametrize("key", KEYS)
def test_what_was_written_is_read_back_and_starts_the_server(project: Path, home: Path, key: str) -> None:
    client = _client(key)
    assert [step.done for step in _apply(project, [client])] == ["wrote"]
    entry = _said(project, home, client)
    assert entry == read_entry(client, client.file(project, home).read_text())
    command = command_of(entry)
    assert command is not None and Path(command[0]).is_absolute()
    assert command[1:] == (["mcp", "--root", str(project)] if client.is_shared else ["mcp"])
    found = shake_hands(command, project)
    assert (found.tools, found.version) == (len(TOOLS), lurcher.__version__)


@pytest.mark.parametrize("key", KEYS)
def test_a_second_time_changes_nothing_and_removing_leaves_nothing(project: Path, home: Path, key: str) -> None:
    everything = {"git_hook": True, "instructions": True, "skill": True, "agent_hooks": True}
    _apply(project, [_client(key)], **everything)
    before = _tree(project), _tree(home)
    assert {step.done for step in _apply(project, [_client(key)], **everything)} == {"unchanged"}
    assert (_tree(project), _tree(home)) == before
    _apply(project, [_client(key)], **everything, remove=True)
    assert not _tree(project) and not _tree(home)
    assert [path.name for path in project.iterdir()] == [".git"] and not list(home.iterdir())
    assert not (project / ".git/hooks/post-commit").exists()


@pytest.mark.parametrize("key", [client.key for client in CLIENTS])
@pytest.mark.parametrize("before", ["", "\n", "  \n\n", "{}", "{}\n", "{ }\n", "{\n}\n", "{\n  // mine\n}\n"])
def test_a_file_that_was_there_and_held_nothing_stays(project: Path, home: Path, key: str, before: str) -> None:
    client = _client(key)
    if client.format != "json" and "{" in before:
        before = before.replace("{", "#").replace("}", "#").replace("//", "#")
    for path in (client.file(project, home), project / agents.AGENTS):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(before)
    _apply(project, [client], instructions=True)
    written = client.file(project, home).read_text()
    assert "lurcher" in written and "lurcher" in (project / agents.AGENTS).read_text()
    assert {step.done for step in _apply(project, [client], instructions=True)} == {"unchanged"}
    _apply(project, [client], instructions=True, remove=True)
    for path in (client.file(project, home), project / agents.AGENTS):
        after = path.read_text()
        assert "".join(after.split()) == "".join(before.split()) and (before.strip() or after == before)


def test_a_schema_that_was_there_stays(project: Path, home: Path) -> None:
    for client in CLIENTS:
        if client.first and client.format == "json":
            path = client.file(project, home)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(dict(client.first), indent=2) + "\n")
            _apply(project, [client])
            _apply(project, [client], remove=True)
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
    "windsurf": '{"mcpServers": {"mine": {"serverUrl": "u"}}}\n',
    "cline": '{\n  "mcpServers": {\n    "mine": {"command": "x", "autoApprove": []}\n  }\n}\n',
    "kilo": '{\n  // mine\n  "model": "m",\n  "mcp": {"mine": {"type": "local", "command": ["x"]}}\n}\n',
    "amp": '{\n  "amp.showCosts": true,\n  "amp.mcpServers": {"mine": {"url": "u"}}\n}\n',
    "goose": "GOOSE_MODEL: m # mine\n\nextensions:\n  # of mine\n  mine:\n    args:\n    - x\n    cmd: y\n\nGOOSE_MODE: auto\n",
    "copilot": '{"mcpServers": {"mine": {"type": "http", "url": "u", "tools": ["*"]}}}\n',
}


@pytest.mark.parametrize("key", KEYS)
def test_every_line_of_a_users_file_is_preserved_and_restored(project: Path, home: Path, key: str) -> None:
    client = _client(key)
    path = client.file(project, home)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(OWN[key])
    path.chmod(0o640)
    assert _apply(project, [client])[0].done == "wrote"
    text = path.read_text()
    for line in OWN[key].splitlines():
        assert line.strip(" \t,{}").replace(",", "") in text.replace(",", "")
    assert "lurcher" in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    _apply(project, [client], remove=True)
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
    step = _apply(project, [_client(key)])[0]
    assert step.done == "left alone"
    assert reason in step.reason
    assert "lurcher" in step.show
    assert path.read_text() == text


def test_links_read_only_files_and_odd_ones_are_refused(project: Path, tmp_path: Path) -> None:
    path = project / ".mcp.json"
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text("{}")
    path.symlink_to(elsewhere)
    assert "link" in _apply(project, [_client("claude")])[0].reason
    assert elsewhere.read_text() == "{}"
    path.unlink()
    path.write_text("{}")
    path.chmod(0o444)
    assert "read-only" in _apply(project, [_client("claude")])[0].reason
    path.chmod(0o644)
    path.write_bytes(b'{"a": "\xff"}')
    assert "UTF-8" in _apply(project, [_client("claude")])[0].reason
    path.write_text(" " * 1_000_001)
    assert "1 MB" in _apply(project, [_client("claude")])[0].reason
    path.unlink()
    path.mkdir()
    assert "regular file" in _apply(project, [_client("claude")])[0].reason
    os.mkfifo(project / "AGENTS.md")
    assert "regular file" in _apply(project, [], instructions=True)[0].reason
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / ".cursor").symlink_to(outside)
    assert "link" in _apply(project, [_client("cursor")])[0].reason
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
    step = _apply(project, [_client("claude")])[0]
    assert (step.done, step.reason) == ("left alone", "No space left on device")
    assert [item.name for item in project.iterdir() if item.name != ".git"] == [".mcp.json"]
    assert path.read_text() == "{}"


def test_the_section_is_renewed_between_its_marks_and_nothing_else(project: Path) -> None:
    path = project / "AGENTS.md"
    path.write_text("# Rules\n\nBe kind.\n")
    _apply(project, [], instructions=True)
    path.write_text(path.read_text().replace("Finding things", "Old words") + "\nAfter.\n")
    _apply(project, [], instructions=True)
    text = path.read_text()
    assert "Old words" not in text and "Finding things" in text
    assert text.startswith("# Rules\n\nBe kind.\n\n<!-- lurcher:begin -->") and text.endswith("\nAfter.\n")
    _apply(project, [], instructions=True, remove=True)
    assert path.read_text() == "# Rules\n\nBe kind.\n\nAfter.\n"
    for broken in ("<!-- lurcher:begin -->\nno end\n", "<!-- lurcher:end -->\n<!-- lurcher:begin -->\n"):
        path.write_text(broken)
        assert _apply(project, [], instructions=True)[0].done == "left alone"
        assert path.read_text() == broken


def test_windows_line_ends_stay(project: Path) -> None:
    path = project / "AGENTS.md"
    path.write_bytes(b"# Rules\r\n")
    _apply(project, [], instructions=True)
    assert b"\n" not in path.read_bytes().replace(b"\r\n", b"")
    _apply(project, [], instructions=True, remove=True)
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
    for sign in (".codeium/windsurf", ".cline", ".config/goose", ".config/amp", ".config/kilo", ".copilot"):
        (home / sign).mkdir(parents=True)
    assert [client.key for client in agents.choose_clients(project, [], home)] == KEYS
    assert [client.key for client in agents.choose_clients(project, ["zed"], home)] == ["zed"]


def test_a_stale_command_is_renewed_and_what_the_user_added_stays(project: Path, home: Path) -> None:
    for client in CLIENTS:
        entry = {**client.entry(["/gone/bin/lurcher", "mcp"]), "mine": "kept"}
        text = {"yaml": "extensions: {}\n", "toml": "", "json": "{}"}[client.format]
        path = client.file(project, home)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(clients._write_entry(client, text, entry, False))
        assert _apply(project, [client])[0].done == "wrote", client.key
        said = _said(project, home, client)
        assert said["mine"] == "kept" and "/gone" not in str(said)
        assert (command_of(said) or [])[0] == installation.find_command()[0]


def test_a_file_for_all_projects_names_each_of_them(project: Path, home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for client in (client for client in CLIENTS if client.is_shared):
        for folder in (project, other):
            _apply(folder, [client])
        assert projects_of(_said(project, home, client)) == [str(project), str(other)]
        _apply(project, [client], remove=True)
        assert projects_of(_said(project, home, client)) == [str(other)]
        assert _apply(project, [client], remove=True)[0].done == "unchanged"
        _apply(other, [client], remove=True)
        assert not client.file(project, home).exists()


def test_another_place_for_settings_is_respected(
    project: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLINE_MCP_SETTINGS_PATH", str(tmp_path / "elsewhere.json"))
    assert _apply(project, [_client("cline")])[0].path == tmp_path / "elsewhere.json"
    assert "lurcher" in (tmp_path / "elsewhere.json").read_text()


YAML = [
    ("extensions: {mine: {cmd: x}}\n", "written in another way"),
    ("extensions:\n- type: stdio\n  cmd: x\n", "written in another way"),
    ("{extensions: {}}\n", "not a plain YAML mapping"),
    ("extensions:\n  lurcher:\n    cmd: other\n", "another entry"),
    ("extensions:\n  lurcher:\n    cmd: |\n      lurcher\n", "written in another way"),
    ("extensions:\n  a:\n    cmd: x\nextensions:\n  b:\n    cmd: x\n", "twice"),
    ("a: 1\n---\nb: 2\n", "several YAML documents"),
]


@pytest.mark.parametrize(("text", "reason"), YAML)
def test_yaml_that_cannot_be_changed_safely_is_left(project: Path, home: Path, text: str, reason: str) -> None:
    client = _client("goose")
    path = client.file(project, home)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    step = _apply(project, [client])[0]
    assert (step.done, path.read_text()) == ("left alone", text)
    assert reason in step.reason and "cmd:" in step.show


def test_an_entry_that_goose_has_written_anew_is_still_ours(project: Path, home: Path) -> None:
    client = _client("goose")
    _apply(project, [client])
    path = client.file(project, home)
    data = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({"A": 1, **data, "Z": ["x"]}))  # other order, other quotes, lists in block style
    assert read_entry(client, path.read_text()) == data["extensions"]["lurcher"]
    assert _apply(project, [client])[0].done == "unchanged"
    _apply(project, [client], remove=True)
    assert yaml.safe_load(path.read_text()) == {"A": 1, "Z": ["x"]}


def test_the_command(project: Path, home: Path) -> None:
    shown = run_lurcher("init", "--client", "claude", "--dry-run", cwd=project)
    assert shown.status == 0
    assert f"{len(TOOLS)} tools answer" in shown.out
    assert "would write  .mcp.json" in shown.out and '+    "lurcher": {' in shown.out
    assert not (project / ".mcp.json").exists()
    assert "wrote  .mcp.json" in run_lurcher("init", "--client", "claude", "--instructions", cwd=project).out
    assert (project / "CLAUDE.md").read_text() == "<!-- lurcher:begin -->\n@AGENTS.md\n<!-- lurcher:end -->\n"
    assert "unchanged  .mcp.json" in run_lurcher("init", "--client", "claude", cwd=project).out
    (project / ".cursor").mkdir()
    (project / ".cursor/mcp.json").write_text("{ broken")
    left = run_lurcher("init", "--client", "cursor", "--json", cwd=project)
    assert left.status == 2
    assert json.loads(left.out)["steps"][0]["done"] == "left alone" and json.loads(left.out)["server"]["tools"] == len(TOOLS)
    assert run_lurcher("init", "--remove", cwd=project).status == 2  # Cursor's is still broken
    assert not any((project / name).exists() for name in (".mcp.json", "AGENTS.md", "CLAUDE.md"))
    wrong = run_lurcher("init", "--client", "emacs", cwd=project)
    assert wrong.status == 2 and "known are: claude" in wrong.err
    homeless = run_lurcher("init", "--client", "goose", cwd=project)
    assert homeless.status == 2 and "there is no home folder" in homeless.out


def test_without_an_agent_nothing_is_written(project: Path, tmp_path: Path) -> None:
    path = tmp_path / "bin"
    path.mkdir()
    (path / "git").symlink_to("/usr/bin/git")
    none = run_lurcher("init", cwd=project, env={"PATH": str(path)})
    assert none.status == 2 and "no agent was found here" in none.err and "--client claude|cursor" in none.err
    assert not _tree(project)


def test_without_the_extra_nothing_is_written(project: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n.startswith('mcp') else find(n, *a)\n"
    )
    done = run_lurcher("init", "--client", "claude", cwd=project, env={"PYTHONPATH": str(blocked)})
    assert done.status == 2 and not _tree(project)
    assert f"{sys.executable} -m pip install 'lurcher[mcp]'" in done.err


def test_a_server_that_does_not_answer_is_reported(project: Path) -> None:
    for script, said in (
        ("import sys; sys.exit('it is broken')", "it is broken"),
        ("print('no protocol')", "Expecting value"),
        ("import time; time.sleep(60)", "within 1 s"),
        ("import sys\nfor line in sys.stdin: print('{\"id\": 1, \"error\": {}}', flush=True)", "result"),
    ):
        with pytest.raises(ServerError, match="did not answer") as found:
            shake_hands([sys.executable, "-c", script], project, seconds=1 if "sleep" in script else 60)
        assert said in found.value.message
    with pytest.raises(ServerError, match="cannot be started"):
        shake_hands(["/nowhere/lurcher", "mcp"], project)


def test_the_command_to_install_an_extra_fits_the_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/home/me/.local/share/uv/tools/lurcher")
    assert installation.install_command("web") == "uv tool install 'lurcher[web]'"
    monkeypatch.setattr(sys, "prefix", "/home/me/.local/pipx/venvs/lurcher")
    assert installation.install_command("web") == "pipx install --force 'lurcher[web]'"
    monkeypatch.setattr(sys, "prefix", "/home/me/.venv")
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    assert installation.install_command("web") == f"uv pip install --python {sys.executable} 'lurcher[web]'"


def test_doctor_checks_every_entry(project: Path, home: Path) -> None:
    for client in CLIENTS:
        _apply(project, [client])
    found = list(agents.check_entries(project, home))
    assert [finding.state for finding in found] == ["ok"] * len(CLIENTS)
    path = project / ".mcp.json"
    path.write_text(path.read_text().replace(installation.find_command()[0], "/gone/lurcher"))
    (project / ".cursor/mcp.json").write_text("{ lurcher")
    (project / "lurcher").write_text("#!/bin/sh\ntouch started\n")
    (project / "lurcher").chmod(0o755)
    (project / ".vscode/mcp.json").write_text(json.dumps({"servers": {"lurcher": {"command": str(project / "lurcher")}}}))
    states = {finding.message.split(":")[0]: finding for finding in agents.check_entries(project, home)}
    assert states["Claude Code"].state == "problem" and "does not exist" in states["Claude Code"].message
    assert states["Claude Code"].hint == "run: lurcher init --client claude"
    assert states["Cursor"].state == "note" and "cannot be checked" in states["Cursor"].message
    assert states["VS Code"].state == "note" and "not this lurcher" in states["VS Code"].message
    assert not (project / "started").exists()  # a project may name anything: only this installation is started
    assert states["Codex"].state == "ok"


# -- the hook -----------------------------------------------------------------------------------------------------------


def _hook(project: Path, **options: bool) -> agents.Step:
    return _apply(project, [], git_hook=True, **options)[0]


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
