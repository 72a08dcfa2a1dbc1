"""Skill, plugins, bundle and registry entry: each follows the published rules of its format, and starts what it names."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import lurcher
from lurcher.answer import count_tokens
from lurcher.config import parse_toml
from lurcher.surfaces import agents
from lurcher.surfaces.agents import bundles
from lurcher.surfaces.agents.clients import CLIENTS
from lurcher.surfaces.agents.handshake import shake_hands
from lurcher.surfaces.mcp.tools import TOOLS
from tests import own_home
from tests.conftest import run_lurcher
from tests.npm import modules_with
from tests.own_home import SHARED
from tools import build_bundles

ROOT = Path(__file__).resolve().parents[3]
SEMVER = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?")
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    build_bundles.build(folder)
    return folder


def _unpack(archive: Path, folder: Path) -> Path:
    with zipfile.ZipFile(archive) as packed:
        assert packed.testzip() is None
        packed.extractall(folder)
    return folder


def _front(text: str) -> tuple[dict[str, Any], str]:
    _, head, body = text.split("---\n", 2)
    return yaml.safe_load(head), body


def test_the_skill_follows_the_specification() -> None:
    """agentskills.io/specification: name and description, their lengths, and nothing unknown; the folder has the name."""
    head, body = _front(bundles.read_text("SKILL.md"))
    assert set(head) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert KEBAB.fullmatch(head["name"]) and len(head["name"]) <= 64
    assert 1 <= len(head["description"]) <= 1024 and 1 <= len(head["compatibility"]) <= 500
    assert count_tokens(body) < 5000 and len(body.splitlines()) < 500
    for _, path, _ in bundles.project_files(claude=True, others=True):
        assert path.endswith(".md") and (not path.endswith("SKILL.md") or Path(path).parent.name == head["name"])


def test_texts_name_tools_and_commands_that_exist() -> None:
    names = {tool.name for tool in TOOLS}
    head, _ = _front(bundles.read_text("explorer.md"))
    assert set(head) == {"name", "description", "tools"} and KEBAB.fullmatch(head["name"])
    given = set(re.findall(r"mcp__lurcher__(\w+)", head["tools"]))
    assert given == names - {"index"}  # the subagent only reads
    assert not {"Write", "Edit", "Bash"} & set(head["tools"].split(", "))
    for text in ("SKILL.md", "instructions.md"):
        content = bundles.read_text(text)
        for command in set(re.findall(r"`lurcher (\w+)", content)):
            assert run_lurcher(command, "--help").status == 0, command
        assert {"search", "outline", "impact"} <= set(re.findall(r"`(\w+)`", content)) <= names | {
            "literal", "structural", "lurcher", "cursor", "budget",
        }  # fmt: skip


def test_plugins_follow_the_rules_of_claude_code_and_codex(built: Path, tmp_path: Path) -> None:
    """One manifest in a folder of its own; parts at the top, named by relative paths that begin with ./"""
    for archive in built.glob("lurcher*-plugin-*.zip"):
        folder = _unpack(archive, tmp_path / archive.stem)
        for kind in (".claude-plugin", ".codex-plugin"):
            assert [path.name for path in (folder / kind).iterdir()] == ["plugin.json"]
            manifest = json.loads((folder / kind / "plugin.json").read_text())
            assert KEBAB.fullmatch(manifest["name"]) and SEMVER.fullmatch(manifest["version"])
            assert manifest["version"] == lurcher.__version__ and manifest["description"] and manifest["author"]["name"]
            for part in {"skills", "mcpServers", "hooks", "agents"} & set(manifest):
                assert manifest[part].startswith("./") and ".." not in manifest[part] and (folder / manifest[part]).exists()
        interface = manifest["interface"]
        assert set(interface) >= {"displayName", "shortDescription", "longDescription", "developerName", "category"}
    plugin = tmp_path / f"lurcher-plugin-{lurcher.__version__}"
    servers = json.loads((plugin / ".mcp.json").read_text())["mcpServers"]
    assert servers == {"lurcher": {"command": "lurcher", "args": ["mcp"]}}
    assert (plugin / "skills/lurcher/SKILL.md").is_file() and not (plugin / "hooks").exists()
    assert "mcp__plugin_lurcher_lurcher__search" in (plugin / "agents/lurcher-explorer.md").read_text()
    hooks = json.loads((tmp_path / f"lurcher-hooks-plugin-{lurcher.__version__}/hooks/hooks.json").read_text())["hooks"]
    for groups in hooks.values():
        for group in groups:
            assert set(group) <= {"matcher", "hooks"}
            assert group["hooks"] == [{"type": "command", "command": "lurcher hook", "timeout": 5}]


def test_the_marketplace_names_plugins_that_are_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "plugins"
    setup = agents.Setup(tmp_path, None, [], plugin=folder)
    assert {step.done for step in agents.apply_steps(setup)} == {"wrote"}
    assert {step.done for step in agents.apply_steps(setup)} == {"unchanged"}
    claude = json.loads((folder / ".claude-plugin/marketplace.json").read_text())
    assert KEBAB.fullmatch(claude["name"]) and claude["owner"]["name"] and claude["description"]
    codex = json.loads((folder / ".agents/plugins/marketplace.json").read_text())
    assert codex["name"] and codex["interface"]["displayName"]
    assert [entry["name"] for entry in claude["plugins"]] == [entry["name"] for entry in codex["plugins"]]
    for entry in claude["plugins"]:
        assert json.loads((folder / entry["source"] / ".claude-plugin/plugin.json").read_text())["name"] == entry["name"]
    for entry in codex["plugins"]:
        assert entry["source"]["source"] == "local" and entry["source"]["path"].startswith("./")
        assert entry["policy"] == {"installation": "AVAILABLE", "authentication": "ON_INSTALL"} and entry["category"]
        assert (folder / entry["source"]["path"] / ".codex-plugin/plugin.json").is_file()
    server = json.loads((folder / "lurcher/.mcp.json").read_text())["mcpServers"]["lurcher"]
    assert shake_hands([server["command"], *server["args"]], tmp_path).tools == len(TOOLS)
    agents.apply_steps(agents.Setup(tmp_path, None, [], plugin=folder, remove=True))
    assert not folder.exists() or not list(folder.iterdir())


def test_a_folder_with_something_else_is_left(tmp_path: Path) -> None:
    theirs = tmp_path / ".claude-plugin/marketplace.json"
    theirs.parent.mkdir()
    theirs.write_text('{"name": "theirs"}')
    steps = agents.apply_steps(agents.Setup(tmp_path, None, [], plugin=tmp_path))
    assert steps[0].done == "left alone" and theirs.read_text() == '{"name": "theirs"}'


def test_the_registry_entry_follows_the_schema(built: Path) -> None:
    """static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json, and the registry's own rules for PyPI."""
    entry = json.loads((built / "server.json").read_text())
    assert entry["$schema"] == "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    assert set(entry) <= {"$schema", "name", "title", "description", "version", "packages", "repository", "websiteUrl"}
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"]) and 3 <= len(entry["name"]) <= 200
    assert 1 <= len(entry["description"]) <= 100 and 1 <= len(entry["title"]) <= 100
    assert SEMVER.fullmatch(entry["version"]) and entry["version"] == lurcher.__version__
    (package,) = entry["packages"]
    assert set(package) <= {
        "registryType", "registryBaseUrl", "identifier", "version", "fileSha256", "runtimeHint", "transport",
        "runtimeArguments", "packageArguments", "environmentVariables",
    }  # fmt: skip
    assert (package["registryType"], package["registryBaseUrl"]) == ("pypi", "https://pypi.org")
    assert package["version"] == entry["version"] and package["transport"] == {"type": "stdio"} and package["runtimeHint"]
    for argument in package["runtimeArguments"] + package["packageArguments"]:
        assert argument["type"] in ("named", "positional")
        assert argument["name"].startswith("--") if argument["type"] == "named" else argument["value"]
    project = parse_toml((ROOT / "pyproject.toml").read_bytes(), "pyproject.toml")["project"]
    assert package["identifier"] == project["name"]
    assert package["runtimeArguments"][0]["value"] in project["optional-dependencies"]["mcp"]
    assert f"<!-- mcp-name: {entry['name']} -->" in (ROOT / project["readme"]).read_text("utf-8")


def test_the_bundle_follows_the_schema_and_starts(built: Path, tmp_path: Path) -> None:
    """mcpb-manifest-v0.4.schema.json: required and known fields, and those of a server of type uv."""
    folder = _unpack(built / f"lurcher-{lurcher.__version__}.mcpb", tmp_path / "bundle")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert set(manifest) >= {"manifest_version", "name", "version", "description", "author", "server"}
    assert set(manifest) <= {
        "manifest_version", "name", "display_name", "version", "description", "long_description", "author", "license",
        "keywords", "server", "tools", "compatibility", "user_config",
    }  # fmt: skip
    assert manifest["manifest_version"] == "0.4" and set(manifest["author"]) <= {"name", "email", "url"}
    server = manifest["server"]
    assert set(server) == {"type", "entry_point", "mcp_config"} and server["type"] == "uv"
    assert set(server["mcp_config"]) <= {"command", "args", "env", "platform_overrides"}
    assert all(set(tool) == {"name", "description"} for tool in manifest["tools"])
    assert [tool["name"] for tool in manifest["tools"]] == [tool.name for tool in TOOLS]
    assert set(manifest["compatibility"]) <= {"claude_desktop", "platforms", "runtimes"}
    assert set(manifest["compatibility"]["platforms"]) <= {"darwin", "win32", "linux"}
    for value in manifest["user_config"].values():
        assert {"type", "title", "description"} <= set(value) <= {"type", "title", "description", "required", "default"}
        assert value["type"] in ("string", "number", "boolean", "directory", "file")
    used = set(re.findall(r"\$\{user_config\.(\w+)\}", " ".join(server["mcp_config"]["args"])))
    assert used == set(manifest["user_config"])
    project = parse_toml((folder / "pyproject.toml").read_bytes(), "pyproject.toml")["project"]
    assert project["dependencies"] == [f"lurcher[mcp]=={lurcher.__version__}"]
    arguments = server["mcp_config"]["args"]
    started = arguments[arguments.index(server["entry_point"]) + 1 :]
    command = [sys.executable, str(folder / server["entry_point"]), *started[:-1], str(tmp_path)]
    assert shake_hands(command, tmp_path).tools == len(TOOLS)


# -- the published schemas, from the packages that carry them -----------------------------------------------------------

MCPB = "@anthropic-ai/mcpb@2.1.2"
REGISTRY = "github.com/modelcontextprotocol/registry@v1.8.7"


@pytest.mark.node
def test_the_manifest_of_the_bundle_is_valid_by_the_published_schema(built: Path, tmp_path: Path) -> None:
    folder = _unpack(built / f"lurcher-{lurcher.__version__}.mcpb", tmp_path / "bundle")
    manifest = json.loads((folder / "manifest.json").read_text())
    name = f"@anthropic-ai/mcpb/schemas/mcpb-manifest-v{manifest['manifest_version']}.schema.json"
    schema = json.loads((modules_with(MCPB, name) / name).read_text("utf-8"))
    jsonschema.validate(manifest, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**manifest, "server": {}}, schema)


def test_the_registry_entry_is_valid_by_the_published_schema(built: Path) -> None:
    entry = json.loads((built / "server.json").read_text())
    version = entry["$schema"].split("/")[-2]
    schema = json.loads((_go_module(REGISTRY) / f"internal/validators/schemas/{version}.json").read_text("utf-8"))
    assert schema["$id"] == entry["$schema"]
    jsonschema.validate(entry, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**entry, "name": "no slash"}, schema)


def _go_module(module: str) -> Path:
    """The folder of a Go module, kept from run to run; the test is skipped where it cannot be had."""
    if shutil.which("go") is None:
        pytest.skip("go fetches the schema, and is not here")
    folder = SHARED / "go"
    own = {**os.environ, "HOME": str(own_home.folder() / "home"), "GOMODCACHE": str(folder), "GOFLAGS": "-modcacherw"}
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["go", "mod", "download", "-json", module], env=own, cwd=folder, capture_output=True, timeout=120, check=False
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"go cannot fetch {module}")
    return Path(json.loads(done.stdout)["Dir"])


def test_the_same_version_gives_the_same_bytes(built: Path, tmp_path: Path) -> None:
    for path in build_bundles.build(tmp_path):
        assert path.read_bytes() == (built / path.name).read_bytes()


def test_a_skill_that_was_changed_is_left(tmp_path: Path) -> None:
    claude = [client for client in CLIENTS if client.key == "claude"]
    steps = agents.apply_steps(agents.Setup(tmp_path, None, claude, skill=True))
    assert [step.path.relative_to(tmp_path).as_posix() for step in steps] == [
        ".mcp.json", ".claude/skills/lurcher/SKILL.md", ".claude/agents/lurcher-explorer.md",
    ]  # fmt: skip
    path = steps[1].path
    path.write_text(path.read_text().replace("offline", "online"))
    for remove in (False, True):
        step = agents.apply_steps(agents.Setup(tmp_path, None, [], skill=True, remove=remove))
        assert [entry.done for entry in step] == (["removed"] if remove else ["wrote"])  # .agents/skills, for other programs
    kept = agents.apply_steps(agents.Setup(tmp_path, None, claude, skill=True))[1]
    assert kept.done == "left alone" and "changed since" in kept.reason
    path.write_text("mine")
    assert "not written by" in agents.apply_steps(agents.Setup(tmp_path, None, claude, skill=True))[1].reason
    assert path.read_text() == "mine"
