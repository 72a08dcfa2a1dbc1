"""Workflows, templates and the pages about releases agree with each other, and linters find nothing in them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from lurcher.runtime import VERSION
from tools import check_release

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTION = ROOT / "packaging" / "action" / "action.yml"
USES = [line.strip() for path in (*WORKFLOWS, ACTION) for line in path.read_text("utf-8").splitlines() if "uses:" in line]


def find(program: str) -> str | None:
    """A linter beside this interpreter, or on the PATH."""
    beside = Path(sys.executable).with_name(program)
    return str(beside) if beside.exists() else shutil.which(program)


def lint(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(find("actionlint") is None, reason="needs actionlint")
def test_actionlint_finds_nothing() -> None:
    lint(find("actionlint") or "", *map(str, WORKFLOWS))


@pytest.mark.skipif(find("zizmor") is None, reason="needs zizmor")
def test_zizmor_finds_nothing() -> None:
    lint(find("zizmor") or "", "--offline", "--no-progress", ".github", str(ACTION))


@pytest.mark.parametrize("line", USES)
def test_actions_of_others_are_pinned_to_a_commit_and_name_its_version(line: str) -> None:
    assert re.fullmatch(r"(- )?uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_start_without_permissions_and_every_job_has_a_limit(path: Path) -> None:
    workflow: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 60, name
        writes = {key for key, value in job["permissions"].items() if value == "write"}
        assert not writes or (path.name, name) == ("release.yml", "publish")


def test_the_tests_run_on_three_systems_and_every_python_that_the_package_names() -> None:
    matrix = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text("utf-8"))["jobs"]["tests"]["strategy"]["matrix"]
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert matrix["python"] == named
    assert [name.split("-")[0] for name in matrix["system"]] == ["ubuntu", "macos", "windows"]


def test_publishing_waits_for_every_build_and_for_a_tag() -> None:
    publish = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))["jobs"]["publish"]
    assert set(publish["needs"]) == {"wheels", "sources"}
    assert "refs/tags/v" in publish["if"]
    assert publish["environment"] == "pypi"


def test_the_citation_names_this_version() -> None:
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == VERSION


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")))
def test_issue_forms_have_what_a_form_needs(path: Path) -> None:
    form = yaml.safe_load(path.read_text("utf-8"))
    assert form["name"] and form["description"]
    assert all(part["attributes"] for part in form["body"])
    ids = [part["id"] for part in form["body"] if part["type"] != "markdown"]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("ref", "problems"), [("v1.2.3", 0), ("v1.2.4", 1), ("main", 0)])
def test_a_tag_is_released_only_as_the_version_it_names(ref: str, problems: int) -> None:
    assert len(check_release.check(ref, "1.2.3", "# Changelog\n\n## [1.2.3] - 2026-11-18\n")) == problems


def test_a_version_without_a_heading_in_the_changelog_is_not_released() -> None:
    assert check_release.check("v1.2.3", "1.2.3", "## [1.2.30]\n") == ["CHANGELOG.md has no heading for 1.2.3"]


@pytest.mark.parametrize("page", ["SECURITY.md", "docs/releasing.md"])
def test_what_the_pages_link_to_exists(page: str) -> None:
    path = ROOT / page
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text("utf-8")):
        assert (path.parent / link).exists(), link
