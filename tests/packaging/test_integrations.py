"""Files for other tools: each is run as its tool would, where that tool is installed."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from tests.packaging.test_workflows import find
from tests.surfaces.http.conftest import serving
from tools import fill_formula

ROOT = Path(__file__).resolve().parents[2]
LURCHER = Path(sys.executable).with_name("lurcher")
EDITORS = ROOT / "packaging" / "editors"


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def environment(clean_environment: Callable[..., dict[str, str]]) -> dict[str, str]:
    """A clean environment in which this lurcher is first on the PATH."""
    environ = clean_environment()
    return {**environ, "PATH": f"{LURCHER.parent}:{environ.get('PATH', '/usr/bin:/bin')}"}


# -- pre-commit -----------------------------------------------------------------------------------------------------------

HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}


def run_hook(name: str, arguments: list[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """As pre-commit runs it: the entry, then `args`, in the repository."""
    entry = HOOKS[name]["entry"].split()
    if HOOKS[name]["language"] == "script":
        entry[0] = str(ROOT / entry[0])
    return subprocess.run([*entry, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_index_hook_indexes(repository: Path, environment: dict[str, str]) -> None:
    assert run_hook("lurcher-index", [], repository, environment).returncode == 0
    assert (repository / ".lurcher" / "manifest").exists()


@pytest.mark.parametrize(("name", "status"), [("follow_redirects", 0), ("no_such_name_anywhere", 1)])
def test_the_hook_for_a_name_fails_when_it_is_gone(
    name: str, status: int, repository: Path, environment: dict[str, str]
) -> None:
    assert run_hook("lurcher-exists", [name], repository, environment).returncode == status


@pytest.mark.parametrize(("floor", "status"), [("0.9", 0), ("1.1", 1)])
def test_the_hook_for_questions_fails_below_its_floor(
    floor: str, status: int, repository: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    question = {"query": "how are redirects followed", "relevant": ["src/client.py"]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(question) + "\n")
    done = run_hook("lurcher-eval", [str(tmp_path / "questions.jsonl"), "--floor", floor], repository, environment)
    assert done.returncode == status, done.stderr
    assert f"floor {float(floor):.3f}" in done.stdout


def test_the_hook_for_questions_says_what_is_wrong_with_them(repository: Path, environment: dict[str, str]) -> None:
    done = run_hook("lurcher-eval", ["nothing.jsonl"], repository, environment)
    assert done.returncode == 2
    assert "nothing.jsonl" in done.stderr


# -- the comment on an issue ----------------------------------------------------------------------------------------------


def comment(issue: Any, repository: Path, environment: dict[str, str], tmp_path: Path) -> str:
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"issue": issue}), "utf-8")
    variables = {"GITHUB_EVENT_PATH": str(event), "GITHUB_SERVER_URL": "https://host", "GITHUB_REPOSITORY": "a/b"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "packaging/action/comment.py"), "--limit", "2"], cwd=repository, check=True, text=True,
        capture_output=True, env={**environment, **variables, "GITHUB_SHA": "c" * 40},
    )  # fmt: skip
    return done.stdout


def test_an_issue_is_answered_with_links_to_lines(repository: Path, environment: dict[str, str], tmp_path: Path) -> None:
    issue = {"title": "redirects are followed for ever", "body": "`follow_redirects` does not stop"}
    text = comment(issue, repository, environment, tmp_path)
    assert re.search(rf"- \[`src/client.py:\d+-\d+`\]\(https://host/a/b/blob/{'c' * 40}/src/client.py#L\d+-L\d+\)", text)
    assert text.count("\n- ") <= 2


@pytest.mark.parametrize("issue", [{}, {"title": " ", "body": None}, {"title": "zzqx wvkj", "body": ""}, None])
def test_an_issue_that_concerns_nothing_gets_no_comment(
    issue: Any, repository: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    assert comment(issue, repository, environment, tmp_path) == ""


def test_nothing_of_an_issue_is_repeated(repository: Path, environment: dict[str, str], tmp_path: Path) -> None:
    issue = {"title": "follow_redirects", "body": "redirects are followed <img> $(id) @everyone"}
    text = comment(issue, repository, environment, tmp_path)
    assert text
    assert not re.search(r"everyone|img|\$\(", text)


@pytest.mark.parametrize(
    ("text", "shown"), [("a.py", "`a.py`"), ("a`b", "``a`b``"), ("`", "`` ` ``"), ("a\nb", "`a\N{REPLACEMENT CHARACTER}b`")]
)
def test_names_cannot_be_markup(text: str, shown: str) -> None:
    assert load(ROOT / "packaging/action/comment.py").code(text) == shown


def test_a_weak_answer_is_not_written_down() -> None:
    hit = SimpleNamespace(path="a.py", start_line=1, end_line=2, symbol="")
    render = load(ROOT / "packaging/action/comment.py").render
    assert render(SimpleNamespace(hits=[hit], confidence="weak"), "") == ""
    assert "- `a.py:1-2`\n" in render(SimpleNamespace(hits=[hit], confidence="fair"), "")


def test_the_action_puts_nothing_of_an_event_into_a_command() -> None:
    action = yaml.safe_load((ROOT / "packaging/action/action.yml").read_text("utf-8"))
    assert not [step["run"] for step in action["runs"]["steps"] if "${{" in step.get("run", "")]


# -- Docker, Homebrew -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(find("hadolint") is None, reason="needs hadolint")
def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    command = [find("hadolint") or "", str(ROOT / "packaging/Dockerfile")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_image_does_not_run_as_root_and_is_built_from_what_is_sent_to_it() -> None:
    text = (ROOT / "packaging/Dockerfile").read_text("utf-8")
    assert re.findall(r"^USER (\S+)", text, re.M)[-1] not in ("0", "root")
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    copied = {name for line in re.findall(r"^COPY ([^-].*)", text, re.M) for name in line.split()[:-1]}
    assert copied == sent


def test_the_formula_is_filled_for_an_archive() -> None:
    text = fill_formula.fill(b"archive", "https://host/lurcher-1.2.3.tar.gz", "https://host/lurcher")
    assert f'sha256 "{hashlib.sha256(b"archive").hexdigest()}"' in text
    assert "@URL@" not in text and "@HOMEPAGE@" not in text and "@SHA256@" not in text


@pytest.mark.parametrize("url", ["http://host/x", 'https://host/"; system("id")', "https://host/#{`id`}", "https://host/\n"])
def test_an_address_that_would_be_code_is_not_put_into_the_formula(url: str) -> None:
    with pytest.raises(ValueError, match="address"):
        fill_formula.fill(b"", url, "https://host")


@pytest.mark.skipif(shutil.which("ruby") is None, reason="needs ruby")
def test_the_formula_is_ruby(tmp_path: Path) -> None:
    (tmp_path / "lurcher.rb").write_text(fill_formula.fill(b"", "https://host/x", "https://host"))
    subprocess.run(["ruby", "-c", str(tmp_path / "lurcher.rb")], check=True, capture_output=True)


# -- editors --------------------------------------------------------------------------------------------------------------


def nvim(script: str, folder: Path, environment: dict[str, str]) -> Any:
    """What Lua code in Neovim returns, with the module of ours as `lurcher`."""
    code = f"package.path = '{EDITORS}/?.lua;' .. package.path; local lurcher = require('lurcher'); lurcher.setup()\n"
    path = folder / "script.lua"
    path.write_text(code + f"local function run() {script} end\nio.stdout:write(vim.json.encode(run()))\nvim.cmd('qall!')\n")
    done = subprocess.run(
        ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-c", f"luafile {path}", "-c", "cquit"], cwd=folder, env=environment,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


needs_nvim = pytest.mark.skipif(shutil.which("nvim") is None, reason="needs neovim")


@needs_nvim
def test_neovim_fills_the_quickfix_list(repository: Path, environment: dict[str, str]) -> None:
    items = nvim(
        "vim.cmd('Lurcher how are redirects followed'); local found = {};"
        "for _, item in ipairs(vim.fn.getqflist()) do"
        "  table.insert(found, { vim.fn.bufname(item.bufnr), item.lnum, item.text }) end; return found",
        repository, environment,
    )  # fmt: skip
    path, line, text = items[0]
    assert Path(path).name == "client.py"
    assert (repository / "src/client.py").read_text().splitlines()[line - 1].strip() == text


@needs_nvim
def test_neovim_passes_quotes_and_dollars_to_nobody_but_lurcher(repository: Path, environment: dict[str, str]) -> None:
    nvim("vim.cmd([[Lurcher $(touch made) `touch made` '; touch made]]); return true", repository, environment)
    assert not (repository / "made").exists()


@needs_nvim
def test_neovim_says_why_there_is_no_answer(repository: Path, environment: dict[str, str]) -> None:
    said = nvim("local items, problem = lurcher.ask(' '); return { items == nil, problem }", repository, environment)
    assert said[0] is True and "empty" in said[1]


@needs_nvim
def test_the_picker_of_telescope_gets_files_and_lines(repository: Path, environment: dict[str, str]) -> None:
    entry = nvim(
        "local shown; local function make() return {} end;"
        "package.loaded['telescope.pickers'] = { new = function(_, o) shown = o; return { find = function() end } end };"
        "package.loaded['telescope.finders'] = { new_table = function(o) return o end };"
        "package.loaded['telescope.config'] = { values = { grep_previewer = make, generic_sorter = make } };"
        "vim.cmd('LurcherPick how are redirects followed');"
        "local e = shown.finder.entry_maker(shown.finder.results[1]); return { e.display, e.filename, e.lnum }",
        repository, environment,
    )  # fmt: skip
    assert entry[0].startswith(f"src/client.py:{entry[2]}  ")
    assert entry[1] == str(repository / "src/client.py")


@needs_nvim
def test_the_grepprg_of_the_page_works(repository: Path, environment: dict[str, str]) -> None:
    (block,) = re.findall(r"```vim\n(.*?)```", (ROOT / "docs/editors.md").read_text("utf-8"), re.S)
    (repository / "settings.vim").write_text(block)
    found = nvim(
        "vim.cmd('source settings.vim'); vim.cmd([[silent grep! \"how are redirects followed\"]]);"
        "local first = vim.fn.getqflist()[1];"
        "return { vim.fn.bufname(first.bufnr), first.lnum }",
        repository, environment,
    )  # fmt: skip
    assert found[0] == "src/client.py" and found[1] > 1


def test_the_tasks_of_vs_code_run_and_their_pattern_reads_the_places(repository: Path, environment: dict[str, str]) -> None:
    tasks = json.loads((EDITORS / "tasks.json").read_text("utf-8"))["tasks"]
    values = {"${input:question}": "how are redirects followed", "${relativeFile}:${lineNumber}": "src/client.py:14"}
    for task in tasks:
        command = [task["command"], *(values.get(argument, argument) for argument in task["args"])]
        done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        places = [re.match(task["problemMatcher"]["pattern"]["regexp"], line) for line in done.stdout.splitlines()]
        assert places and all(place and (repository / place[1]).is_file() for place in places), done.stdout


def test_the_python_of_the_page_reads_places_from_a_server(shared: Path) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/editors.md").read_text("utf-8"), re.S)
    scope: dict[str, Any] = {}
    exec(block, scope)
    with serving(shared) as served:
        places = list(scope["places"]("how are redirects followed", served.url.rstrip("/")))
    assert re.match(r"src/client\.py:\d+:1:", places[0])


def test_every_page_that_llms_txt_names_exists() -> None:
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "llms.txt").read_text("utf-8"))
    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).is_file()] == []
