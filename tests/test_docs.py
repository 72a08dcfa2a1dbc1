"""The documentation keeps step with the code: commands parse, settings exist, snippets run, links lead somewhere."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lurcher.config import SECRETS, Settings, load
from lurcher.errors import UsageError
from lurcher.surfaces.cli.flags import COMMANDS, parse
from lurcher.surfaces.cli.reference import render, services
from lurcher.surfaces.cli.search_cmd import overrides_of

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)

pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not here")


def blocks(page: Path, *languages: str) -> list[str]:
    return [text for language, text in FENCE.findall(page.read_text("utf-8")) if language in languages]


def command_lines() -> list[tuple[str, str]]:
    """Every `lurcher …` that a page tells the reader to type."""
    found = []
    for page in PAGES:
        text = page.read_text("utf-8")
        lines = [line.removeprefix("$ ") for block in blocks(page, "sh", "console") for line in block.splitlines()]
        lines += re.findall(r"`(lurcher [a-z][^`]*)`", text)
        found += [(page.name, line) for line in lines if re.match(r"(\w+=\S+ )*lurcher ", line)]
    return found


def test_the_reference_is_up_to_date() -> None:
    page = (ROOT / "docs" / "reference.md").read_text("utf-8")
    assert page == render(), "run: python -m lurcher.surfaces.cli.reference > docs/reference.md"


def test_the_table_of_services_is_that_of_the_code() -> None:
    page = (ROOT / "docs" / "services.md").read_text("utf-8")
    table = page[page.index("| setting | environment |") :].rstrip("\n").split("\n")
    assert table == list(services()), "run: python -m lurcher.surfaces.cli.reference docs/services.md"
    known = Settings().to_dict()
    for line in table[2:]:
        key, variable, value = (cell.strip(" `") for cell in line.split("|")[1:4])
        assert json.loads(value) == known[key]
        if variable:
            assert load(None, environ={variable: str(known[key])}).origins == {key: "environment"}
        else:  # a variable of that name holds the key itself
            assert known[key] == f"LURCHER_{key.upper().replace('.', '_')}"


def test_every_command_flag_and_setting_is_documented() -> None:
    page = (ROOT / "docs" / "reference.md").read_text("utf-8")
    for command in COMMANDS:
        section = page.split(f"### `lurcher {command.name}`")[1].split("\n### ")[0]
        assert command.example in section
        for name in (flag for parameter in command.parameters for flag in parameter.flags):
            assert re.search(rf"`{name}[ `]", section), f"{command.name} {name}"
    for key, _, _, meaning in Settings().rows():
        assert re.search(rf"^\| `{re.escape(key)}` \| .*{re.escape(meaning)} \|$", page, re.M), key


def test_every_command_is_in_the_readme_or_the_guide() -> None:
    text = (ROOT / "README.md").read_text("utf-8") + (ROOT / "docs" / "guide.md").read_text("utf-8")
    assert all(f"lurcher {command.name}" in text for command in COMMANDS)


@pytest.mark.parametrize(("page", "line"), command_lines())
def test_documented_commands_parse(page: str, line: str) -> None:
    words = shlex.split(line.replace("…", ""), comments=True)
    words = words[words.index("lurcher") + 1 :]
    if "<" in words:
        words = words[: words.index("<")]
    if "|" in words:
        words = words[: words.index("|")]
    names = [command.name for command in COMMANDS]
    if "[flags]" in words or "DATASET" in words or words in [[name] for name in names]:  # a usage line, or only its name
        assert words[0] in names
        return
    if words[0] == "serach":  # the mistake that pages show
        with pytest.raises(UsageError) as refused:
            parse(words)
        assert "did you mean search?" in refused.value.hint
        return
    parsed = parse(words)
    known = Settings().to_dict()
    assert all(key in known for key in overrides_of([*getattr(parsed, "set", []), *getattr(parsed, "versus", [])]))


NO_SETTINGS = {"LURCHER_CONFIG", "LURCHER_KERNEL", "LURCHER_BUILD_KERNEL"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documented_settings_exist(page: Path) -> None:
    known = Settings().to_dict()
    sections = {key.split(".")[0] for key in known}
    for variable in re.findall(r"\bLURCHER_[A-Z0-9_]+[A-Z0-9]\b", page.read_text("utf-8")):
        section, _, name = variable.removeprefix("LURCHER_").lower().partition("_")
        assert variable in (*NO_SETTINGS, "LURCHER_STORE", *SECRETS.values()) or f"{section}.{name}" in known, variable
    for key in re.findall(r"`([a-z]+\.[a-z_0-9]+)`", page.read_text("utf-8")):
        if key.split(".")[0] in sections and not key.endswith((".py", ".md", ".toml")):
            assert key in known, key


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text("utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", FENCE.sub("", page.read_text("utf-8"))):
        place = page.parent / target if target else page
        assert place.exists(), target
        assert not anchor or place.suffix != ".md" or anchor in anchors(place), f"{target}#{anchor}"


def test_json_examples_are_valid() -> None:
    for page in PAGES:
        for block in blocks(page, "json"):
            assert all(isinstance(json.loads(line), dict) for line in block.splitlines()), page.name


def test_the_python_of_the_readme_runs(
    shared: Path, clean_environment: Callable[..., dict[str, str]]
) -> None:
    (snippet,) = blocks(ROOT / "README.md", "python")
    assert len([line for line in snippet.splitlines() if line.strip()]) <= 5
    done = subprocess.run(
        [sys.executable, "-c", snippet], cwd=shared, env=clean_environment(), capture_output=True, text=True, timeout=60,
        check=True,
    )  # fmt: skip
    assert done.stdout.startswith("src/client.py:1 Client ")
    assert done.stdout.count("\n") == 3


PYTHON = [*enumerate(blocks(ROOT / "docs" / "python.md", "python"))] if (ROOT / "docs").is_dir() else []


@pytest.mark.parametrize("snippet", [snippet for _, snippet in PYTHON], ids=[f"snippet {number}" for number, _ in PYTHON])
def test_the_python_of_the_python_page_runs(
    shared: Path, clean_environment: Callable[..., dict[str, str]], snippet: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", snippet], cwd=shared, env=clean_environment(), capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = {"klingon": ["filter; ", "the engine was closed"], "asyncio": ["how are redirects followed ", "where are "]}
    for word, lines in expected.items():
        for line in lines if word in snippet else ():
            assert f"\n{line}" in f"\n{done.stdout}"


def test_the_readme_is_short_and_has_exactly_two_set_up_commands() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert text.count("\n") <= 115, "at most two screens: the guide and the tutorial have room"
    lines = [line for block in blocks(ROOT / "README.md", "sh") for line in block.splitlines() if "pip install" in line]
    assert len(lines) == 2
    assert "lurcher search" in lines[0] and "-m pytest" in lines[1]


def test_the_changelog_names_this_version() -> None:
    from lurcher import __version__

    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")
