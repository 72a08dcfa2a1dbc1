from __future__ import annotations

import pytest

from lurcher.sources.git.commit import KINDS, is_generated_or_vendored, kind_of


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/flask/app.py", "code"), ("Makefile", "code"), ("bin/run", "code"), ("tests/test_app.py", "test"),
        ("src/app.test.ts", "test"), ("spec/models/user_spec.rb", "test"), ("docs/guide.rst", "docs"), ("README.md", "docs"),
        ("CHANGES.rst", "changelog"), ("CHANGELOG.md", "changelog"), ("docs/changelog.md", "changelog"),
        ("newsfragments/123.bugfix.rst", "changelog"), ("src/history.py", "code"), ("src/news/views.py", "code"),
        ("tests/data/big.json", "data"), ("config.yaml", "data"), ("style.css", "data"), ("tests/fixtures/x.snap", "data"),
        ("weights.xyz", "data"),
    ],
)  # fmt: skip
def test_kinds_of_files(path: str, kind: str) -> None:
    assert KINDS[kind_of(path)] == kind


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("yarn.lock", True), ("a/b/jquery-3.1.js", True), ("vendor/lib/x.go", True), ("node_modules/x/index.js", True),
        ("logo.png", True), ("app.min.css", True), ("src/vendors.py", False), ("lock.py", False), ("src/a.py", False),
    ],
)  # fmt: skip
def test_what_nobody_wrote(path: str, left: bool) -> None:
    assert is_generated_or_vendored(path) is left
