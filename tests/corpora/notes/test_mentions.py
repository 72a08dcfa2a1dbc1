"""Which file a text names: by two parts of its path, or as a module; never by a bare name that others have too."""

from __future__ import annotations

import pytest

from lurcher import Engine
from lurcher.corpora.notes.links import MentionFinder, find_paths_named
from lurcher.storage.snapshot import Snapshot
from lurcher.types import silent

FILES = (
    "setup.py", "manage.py", "tools/manage.py", "shop/middleware/__init__.py", "shop/middleware/csrf.py", "shop/views/csrf.py",
    "tests/csrf/tests.py", "tests/forms/tests.py", "shop/db/base.py", "shop/gis/db/base.py", "web/src/index.js",
    "app/src/index.js", "lib/index.js", "shop/x+y.py", "index.js",
)  # fmt: skip


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    root = tmp_path_factory.mktemp("tree")
    for path in FILES:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x = 1\n")
    engine = Engine.open(root, root=root)
    return engine.projects[0].view(silent).snapshot


def named(snapshot: Snapshot, text: str) -> list[str]:
    return [path for path in FILES if MentionFinder(snapshot, path).first(text.encode()) is not None]


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("see csrf.py, tests.py and `base.py`", []),
        ("tests.py", []),
        ("look at middleware/csrf.py first", ["shop/middleware/csrf.py"]),
        ("look at `shop/views/csrf.py`.", ["shop/views/csrf.py"]),
        ("[the view](../shop/views/csrf.py#L12)", ["shop/views/csrf.py"]),
        ("https://example.org/blob/main/shop/views/csrf.py", ["shop/views/csrf.py"]),
        ("other/csrf.py", []),
        ("shop/other/csrf.py", []),
        ("my-middleware/csrf.py", []),
        ("middleware/notcsrf.py and middleware/csrf.pyc", []),
        ("middleware/csrf.py/more", []),
        # Dotted modules, with or without what is in them.
        ("shop.middleware.csrf.CsrfMiddleware", ["shop/middleware/csrf.py"]),
        ("`middleware.csrf`", ["shop/middleware/csrf.py"]),
        ("the package shop.middleware", ["shop/middleware/__init__.py"]),
        ("other.middleware.csrf", []),
        ("the csrf. Another sentence", []),
        # Two files end alike: only more of the path, or all of it, tells them apart.
        ("db/base.py", []),
        ("shop/db/base.py", ["shop/db/base.py"]),
        ("gis/db/base.py", ["shop/gis/db/base.py"]),
        ("src/shop/gis/db/base.py", ["shop/gis/db/base.py"]),
        ("db.base", []),
        ("gis.db.base", ["shop/gis/db/base.py"]),
        ("csrf/tests.py", ["tests/csrf/tests.py"]),
        ("src/index.js", []),
        ("web/src/index.js", ["web/src/index.js"]),
        ("lib/index.js", ["lib/index.js"]),
        ("`index.js`", []),
        ("shop/x+y.py", ["shop/x+y.py"]),
        # At the top of the tree a name is the whole path: where no other has it, and it is written as a path.
        ("run setup.py", []),
        ("run `setup.py`", ["setup.py"]),
        ("run ./setup.py", ["setup.py"]),
        ("run other/setup.py", []),
        ("run `manage.py`", []),
        ("run tools/manage.py", ["tools/manage.py"]),
    ],
)  # fmt: skip
def test_what_a_text_names(snapshot: Snapshot, text: str, files: list[str]) -> None:
    assert named(snapshot, text) == files


def test_a_long_text_is_read_once(snapshot: Snapshot) -> None:
    """Runs of letters without end cost no more than their length."""
    assert named(snapshot, "a/" * 200_000 + "csrf.py " + "csrf.py" * 20_000) == []


def test_files_are_found_by_what_they_are_called(snapshot: Snapshot) -> None:
    assert find_paths_named(snapshot, "csrf") == ["shop/middleware/csrf.py", "shop/views/csrf.py"]
    assert find_paths_named(snapshot, "middleware") == ["shop/middleware/__init__.py"]
    assert find_paths_named(snapshot, "nothing") == find_paths_named(snapshot, "...") == []
