"""After any history of changes the index has what a listing shows.

FRESHNESS_EXAMPLES sets how many random histories of a tree are tried.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lurcher import sources as sources
from lurcher.indexing import freshness
from lurcher.indexing import root_index as projects
from lurcher.indexing.freshness import check_tree
from lurcher.indexing.root_index import RootIndex
from lurcher.storage.manifest import Manifest
from tests.indexing.conftest import WHO, git, opened, write
from tests.indexing.repositories import known, project_of, truth, view

EXAMPLES = int(os.environ.get("FRESHNESS_EXAMPLES", "25"))
PLACES = ("", "src/", "src/deep/", "out/", "empty/", "empty/er/", "inner/", "inner/sub/", "build/")
NAMES = ("a.py", "b.py", "c.log", "d.txt", "e.png")
RULES = ("*.log\n", "out/\n", "src\n", "a.py\n!b.py\n", "", "*\n", "/empty/\n!/src/\n", "inner/\nd.txt\n", "*.txt\nbuild/\n")
RULE_FILES = (
    *(".gitignore", "src/.gitignore", ".lurcherignore", "src/.lurcherignore", ".git/info/exclude", "inner/.gitignore"),
    "out/.gitignore",
)
ACTIONS = (
    *("write", "write", "same size", "same stamp", "edit", "edit", "edit", "delete", "rename", "touch", "mode", "folder"),
    *("remove folder", "rename folder", "rules", "rules", "no rules", "add", "force", "untrack", "commit", "branch"),
    *("checkout", "nest", "unnest", "wait"),
)
STEPS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 10_000), st.integers(0, 10_000)), min_size=1, max_size=14)


def act(root: Path, action: str, one: int, two: int) -> None:
    """One thing that people and programs do to a work tree; what cannot be done is not."""
    path = root / (PLACES[one % len(PLACES)] + NAMES[two % len(NAMES)])
    files = sorted(p for p in root.rglob("*") if p.is_file() and not {".git", ".lurcher"} & set(p.parts))
    some = files[one % len(files)] if files else path
    folder = root / PLACES[1 + one % (len(PLACES) - 1)]
    if action == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"value_{two} = {one}\n")
    elif action == "edit" and files:
        some.write_text(f"value_{two} = {two}\n")
    elif action in ("same size", "same stamp") and files:
        status = some.stat()
        some.write_bytes(b"xyz"[two % 3 : two % 3 + 1] * status.st_size)
        if action == "same stamp":
            os.utime(some, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif action == "delete" and files:
        some.unlink()
    elif action == "rename" and files:
        path.parent.mkdir(parents=True, exist_ok=True)
        some.rename(path)
    elif action == "touch" and files:
        os.utime(some, ns=(two, two))
    elif action == "mode" and files:
        some.chmod((0o644, 0o755)[two % 2])
    elif action == "folder":
        folder.mkdir(parents=True, exist_ok=True)
    elif action == "remove folder":
        shutil.rmtree(folder, ignore_errors=True)
    elif action == "rename folder" and folder.is_dir():
        target = root / f"{PLACES[two % len(PLACES)]}moved{two % 3}"
        if target.parent.is_dir() and not target.exists() and folder not in target.parents:
            folder.rename(target)
    elif action == "rules":
        rules = root / RULE_FILES[one % len(RULE_FILES)]
        if rules.parent.is_dir():
            rules.write_text(RULES[two % len(RULES)])
    elif action == "no rules":
        (root / RULE_FILES[one % len(RULE_FILES)]).unlink(missing_ok=True)
    elif action == "wait":
        time.sleep(0.03)
    elif action == "nest":
        nested = root / ("inner", "src/deep")[one % 2]
        nested.mkdir(parents=True, exist_ok=True)
        git(nested, "init", "-q")
        if two % 2:
            git(nested, *WHO, "commit", "-q", "--allow-empty", "-m", "x")
    elif action == "unnest":
        shutil.rmtree(root / ("inner", "src/deep")[one % 2] / ".git", ignore_errors=True)
    else:
        command = {
            "add": ("add", "-A"), "force": ("add", "-f", "."), "untrack": ("rm", "-rqf", "--cached", "--ignore-unmatch", "src"),
            "commit": (*WHO, "commit", "-qam", "x", "--allow-empty"), "branch": ("branch", f"b{one % 3}"),
            "checkout": ("checkout", "-qf", f"b{one % 3}"),
        }.get(action)  # fmt: skip
        if command:
            subprocess.run(["git", "-c", "advice.addEmbeddedRepo=false", *command], cwd=root, capture_output=True)


GLANCES = [0, 0]


@given(STEPS, st.booleans())
@example([("force", 0, 0), ("branch", 0, 0), ("checkout", 0, 0)], False)
@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_after_any_history_the_index_has_what_a_listing_shows(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, int, int]], again: bool
) -> None:
    """Nobody waits here for time stamps to become old. The margin is smaller than usual, so that glances do happen."""
    monkeypatch.setattr(freshness, "FINE_NS", 15_000_000)
    root = tmp_path_factory.mktemp("history")
    try:
        write(root, {"a.py": "a = 1\n", "src/b.py": "b = 1\n", "src/deep/a.py": "c\n", ".gitignore": "*.log\n", "c.log": "x"})
        git(root, "init", "-q")
        git(root, "add", "-A")
        git(root, *WHO, "commit", "-qm", "first")
        time.sleep(0.02)
        project = project_of(opened(root))
        for action, one, two in [("wait", 0, 0), *steps]:
            view(project)
            act(root, action, one, two)
            manifest = view(project).manifest
            assert known(manifest) == truth(project), action
            GLANCES[0] += glanced(project, manifest)
            GLANCES[1] += 1
            if again:
                project = project_of(opened(root))
    finally:
        shutil.rmtree(root, ignore_errors=True)


def glanced(project: RootIndex, manifest: Manifest) -> bool:
    """Whether a glance would do; then it must say what a listing says."""
    chosen = projects.listing_settings(project.settings)
    changes = check_tree(manifest, project.root.path, sources.circumstances(project.root, chosen), chosen.max_file_bytes)
    assert changes is None or not changes.gone
    return changes is not None


def test_in_those_histories_a_glance_is_often_enough() -> None:
    if not GLANCES[1]:
        pytest.skip("needs the histories")
    assert GLANCES[0] > GLANCES[1] / 20
