"""Traits of commits that are rarely the answer to a query, and the factors for them."""

from __future__ import annotations

import pytest

from lurcher.config.schema import RecencySettings
from lurcher.corpora.history.classify import FACTORS, TRAITS, commit_traits, noise_factor
from lurcher.corpora.history.ranking import recency_factor
from lurcher.sources.git.commit import Change
from tests.corpora.history.commits import change, commit


def traits_of(subject: str, *changes: Change) -> tuple[str, ...]:
    return commit_traits(commit(2, subject, changes=changes))


def changes_of(*paths: str, lines: int = 1) -> list[Change]:
    return [change(path, ["new line"] * lines, ["old line"] * lines) for path in paths]


@pytest.mark.parametrize(
    ("subject", "paths"),
    [
        ("4.18.2", ["History.md", "package.json"]),
        ("Release 1.0a2", ["datasette/version.py", "docs/changelog.rst"]),
        ("release version 3.1.0", ["CHANGES.rst", "pyproject.toml"]),
        ("Bump version number to 1.0", ["flask/__init__.py"]),
        ("axum v0.6.1 (#1588)", ["axum/CHANGELOG.md", "axum/Cargo.toml"]),
        ("Start 2.2.0 development", ["lib/rack.rb"]),
        ("chore: Release", ["Cargo.toml"]),
        ("Prep for 1.4.1", ["README.rdoc", "rack.gemspec"]),
    ],
)
def test_releases(subject: str, paths: list[str]) -> None:
    assert traits_of(subject, *changes_of(*paths)) == ("release",)


@pytest.mark.parametrize(
    ("subject", "paths"),
    [
        ("Bump black from 21.11b1 to 21.12b0 (#1543)", ["setup.py"]),
        ("deps: qs@6.11.0", ["package.json", "History.md"]),
        ("Bump actions/checkout from 5 to 6", [".github/workflows/test.yaml"]),
        ("update requirements", ["requirements/dev.txt", "requirements/docs.txt"]),
        ("whatever it says", ["yarn.lock"]),
        ("Update to tokio-tungstenite 0.28", ["Cargo.lock", "axum/Cargo.toml"]),
    ],
)
def test_dependencies(subject: str, paths: list[str]) -> None:
    assert traits_of(subject, *changes_of(*paths)) == ("dependencies",)


@pytest.mark.parametrize(
    ("subject", "paths"),
    [
        ("Version checks in the client", ["src/client.py"]),
        ("Release the lock after 2.5 seconds", ["src/lock.py"]),
        ("Update version negotiation", ["src/client.py", "src/server.py"]),
        ("Add a script", ["package.json"]),
        ("Use a job matrix", [".github/workflows/test.yml"]),
        ("Update links.", ["rack.gemspec"]),
        ("Fix the cache", ["src/cache.py", "tests/test_cache.py", "docs/cache.md"]),
        ("Pin the connection", ["src/pool.py"]),
    ],
)
def test_work_is_not_noise(subject: str, paths: list[str]) -> None:
    assert traits_of(subject, *changes_of(*paths, lines=30)) == ()


def test_a_bare_number_above_a_month_of_work_is_no_release() -> None:
    assert traits_of("2.0.0", *changes_of("package.json"), *changes_of("lib/router.js", lines=400)) == ()


@pytest.mark.parametrize(
    ("paths", "trait"),
    [
        (["docs/guide.rst", "README.md"], "docs"),
        (["docs/patterns/jquery.rst"], "docs"),
        (["docs/conf.py", "docs/index.rst"], "docs"),
        (["CHANGES"], "docs"),
        (["tests/test_cache.py", "tests/data/x.txt"], "tests"),
        (["src/cache_test.go"], "tests"),
        (["static/app.min.js", "vendor/x/y.py"], "generated"),
    ],
)
def test_commits_beside_the_code(paths: list[str], trait: str) -> None:
    assert traits_of("Some work", *changes_of(*paths)) == (trait,)


def test_requirements_are_no_documents() -> None:
    assert traits_of("Some work", *changes_of("requirements.txt")) == ()


def test_merges_and_empty_commits() -> None:
    assert commit_traits(commit(3, "Merge branch 'x'", parents=(1, 2))) == ("merge",)
    assert traits_of("Nothing changed") == ()


def test_reformatting() -> None:
    old = [f"value_{i}=compute( {i} )" for i in range(30)]
    new = [f"    value_{i} = compute({i})" for i in range(30)]
    assert traits_of("Whatever", change("src/a.py", new, old)) == ("reformat",)
    quotes = [f'call("{i}", [{i}])' for i in range(120)], [f"call('{i}', [{i},])" for i in range(120)]
    assert traits_of("Whatever", change("src/a.py", *quotes)) == ("reformat",)
    assert traits_of("Apply black", change("src/a.py", quotes[0][:3], quotes[1][:3])) == ("reformat",)


def test_a_little_white_space_may_be_a_fix_and_moved_code_is_no_format() -> None:
    spaced = change("src/a.py", ["    return total", "    log(total)"], ["return total", "log(total)"])
    assert traits_of("Return after the loop", spaced) == ()
    lines = [f"value_{i} = compute({i})" for i in range(200)]
    moved = [change("src/a.py", [], lines), change("src/b.py", lines)]
    assert traits_of("Move values, black", *moved) == ()
    assert traits_of("Compute more", change("src/a.py", [f"{line} + more({i})" for i, line in enumerate(lines)], lines)) == ()


def test_every_kind_of_noise_has_a_factor_below_one() -> None:
    assert list(FACTORS) == list(TRAITS)
    assert all(0 < factor < 1 for factor in FACTORS.values())
    assert noise_factor(()) == 1.0
    assert noise_factor(("docs", "reformat")) == pytest.approx(0.8 * 0.7)


def test_recency_by_hand() -> None:
    settings, day = RecencySettings(), 86_400
    assert recency_factor(1000 * day, 1000 * day, settings) == pytest.approx(1.05)
    assert recency_factor(910 * day, 1000 * day, settings) == pytest.approx(1 + 0.05 * 0.36787944)
    assert recency_factor(2000 * day, 1000 * day, settings) == pytest.approx(1.05)
    assert recency_factor(910 * day, 1000 * day, RecencySettings(weight=0)) == 1.0
