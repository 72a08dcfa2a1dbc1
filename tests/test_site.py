"""The site of the documentation: every page has its place, links and anchors lead somewhere, nothing comes from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "mkdocs.yml"

pytestmark = pytest.mark.skipif(not CONFIG.is_file(), reason="the documentation is not here")
with_mkdocs = pytest.mark.skipif(find_spec("mkdocs") is None, reason="mkdocs is not installed")


def entries(nav: list[Any]) -> Iterator[str]:
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from entries(below if isinstance(below, list) else [below])


def build(folder: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(folder / "mkdocs.yml"), "-d", str(out)],
        capture_output=True, text=True, timeout=300, cwd=folder,
    )  # fmt: skip


def test_every_page_is_in_the_navigation_once() -> None:
    listed = list(entries(yaml.safe_load(CONFIG.read_text("utf-8"))["nav"]))
    folders = tuple(entry for entry in listed if entry.endswith("/"))
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
    missing = [page for page in pages if page not in listed and not page.startswith(folders)]
    assert not missing, f"add to `nav` in mkdocs.yml, below the heading where a reader would look: {', '.join(missing)}"
    assert len(listed) == len(set(listed))


@with_mkdocs
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    done = build(ROOT, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    assert {"index.html", "guide.html", "CONTRIBUTING.html"} <= {page.name for page in pages}
    for page in pages:
        text = page.read_text("utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=\"([^\"]*)\"", text)
        assert not [address for address in loaded if re.match(r"(https?:)?//", address)], page.name
        assert "](" not in re.sub(r"<(pre|code)\b.*?</\1>", "", text, flags=re.S), f"{page.name} has a link that is none"
    for sheet in tmp_path.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", sheet.read_text("utf-8")), sheet.name


def small_site(folder: Path, page: str) -> Path:
    """A site of two pages, with the settings and the code of the real one."""
    settings = CONFIG.read_text("utf-8")
    (folder / "docs" / "adr").mkdir(parents=True)
    (folder / "tools").mkdir()
    (folder / "src").mkdir()
    (folder / "mkdocs.yml").write_text(settings[: settings.index("\nnav:")] + "\nnav: [index.md, guide.md, adr/]\n", "utf-8")
    (folder / "tools" / "site_pages.py").write_text((ROOT / "tools" / "site_pages.py").read_text("utf-8"), "utf-8")
    links = "[how](docs/guide.md#search-a-tree-it-s-new) [why](docs/adr/001-why.md)"
    (folder / "README.md").write_text(f"# Shop\n\n{links}\n", "utf-8")
    (folder / "docs" / "guide.md").write_text(f"# Guide\n\n## Search a tree: `it-s` new!\n\n{page}\n", "utf-8")
    (folder / "docs" / "adr" / "001-why.md").write_text("# Why\n\n[first page](../../README.md#shop)\n", "utf-8")
    (folder / "docs" / "site.css").write_text("", "utf-8")
    (folder / "src" / "a.py").write_text("", "utf-8")
    return folder


@with_mkdocs
def test_links_of_the_repository_become_links_of_the_site(tmp_path: Path) -> None:
    text = "[up](../README.md) [code](../src/a.py) [`src/a.py`](../src/a.py)\n\n```md\n[kept](../README.md)\n```"
    done = build(small_site(tmp_path / "in", text), tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "out" / "guide.html").read_text("utf-8")
    assert 'href="index.html">up</a>' in page
    assert "code (<code>src/a.py</code>) <code>src/a.py</code>" in page
    assert "../README.md" in page
    assert 'href="guide.html#search-a-tree-it-s-new"' in (tmp_path / "out" / "index.html").read_text("utf-8")
    assert 'href="../index.html#shop"' in (tmp_path / "out" / "adr" / "001-why.html").read_text("utf-8")


@with_mkdocs
@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("[gone](gone.md)", "gone.md"),
        ("[gone](../src/gone.py)", "gone.py"),
        ("[gone](guide.md#no-such-heading)", "no-such-heading"),
        ("[gone](../README.md#no-such-heading)", "no-such-heading"),
    ],
)
def test_a_link_that_leads_nowhere_stops_the_build(tmp_path: Path, page: str, said: str) -> None:
    done = build(small_site(tmp_path / "in", page), tmp_path / "out")
    assert done.returncode != 0 and said in done.stdout + done.stderr


@with_mkdocs
def test_a_page_that_nobody_can_reach_stops_the_build(tmp_path: Path) -> None:
    folder = small_site(tmp_path / "in", "")
    (folder / "docs" / "lonely.md").write_text("# Lonely\n", "utf-8")
    done = build(folder, tmp_path / "out")
    assert done.returncode != 0 and "lonely.md" in done.stdout + done.stderr
