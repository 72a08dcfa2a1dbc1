"""The page before there is an index."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import write_repository
from tests.surfaces.http.conftest import held, serving
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.test_browser import paths, violations

pytestmark = pytest.mark.browser


def test_the_first_index_is_watched_and_then_answers(tmp_path: Path, show: Open) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    write_repository(folder)
    go = tmp_path / "go"
    slow = f"""
import os, time
from lurcher.engine import Engine
real = Engine.refresh
def refresh(self, **options):
    while not os.path.exists({str(go)!r}):
        options["progress"]("reading", 7, 20)
        time.sleep(0.1)
    return real(self, **options)
Engine.refresh = refresh
"""
    with serving(folder, before=slow) as own:
        page = show("/?file=src/cookies.py&tab=graph", base=own.url)  # what needs the whole index
        page.wait_for_selector("#indexing")
        page.wait_for_selector("#state[data-kind=busy]")
        assert page.locator("#meter").is_visible()
        go.touch()
        page.wait_for_selector("#indexing", state="detached", timeout=60_000)
        page.wait_for_selector("#state[data-kind=fresh]", timeout=60_000)


def test_a_cold_repository_has_a_quick_answer_that_the_full_one_replaces(show: Open, axe: str, tmp_path: Path) -> None:
    folder = tmp_path / "cold"
    folder.mkdir()
    write_repository(folder)
    with serving(folder, before=held(tmp_path / "go")) as cold:
        page = show("/?q=follow+redirects", base=cold.url, bypass_csp=True)
        page.wait_for_selector("#quick")
        assert "quick answer" in page.locator("#quick").inner_text().lower() and paths(page)[0] == "src/client.py"
        assert violations(page, axe) == []
        page.locator("#hit-0").click()
        page.wait_for_selector(".listing .name")
        page.get_by_text("The index is being built; then").wait_for()
        page.go_back()
        page.wait_for_selector("#quick")
        (tmp_path / "go").touch()
        page.wait_for_selector("#quick", state="detached", timeout=60_000)
        page.wait_for_selector(".facets .group", timeout=60_000)
        assert paths(page)[0] == "src/client.py"
