"""The page in a real Chromium, served by the real process. Without Chromium these tests are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.npm import modules_with
from tests.surfaces.http.conftest import Served, no_settings_of_others, serving, with_past

__all__ = ["no_settings_of_others"]

CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
HOSTILE = '<img src=x onerror="window.hacked=1">.py'


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here: apt install chromium")
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture(scope="package")
def place(tmp_path_factory: pytest.TempPathFactory, no_settings_of_others: None) -> Path:
    """A repository with a past, notes, imports, and names that would run if they were taken for markup."""
    folder = tmp_path_factory.mktemp("page") / "shop"
    folder.mkdir()
    with_past(folder)
    (folder / HOSTILE).write_text("# zebra <script>window.hacked=1</script>\nzebra = '<b onclick=hack()>'\n")
    return folder


@pytest.fixture(scope="package")
def served(place: Path) -> Iterator[Served]:
    with serving(place, env={"LURCHER_SERVE_EDITOR": "editor://open{path}#{line}"}) as found:
        yield found


Open = Callable[..., Any]


@pytest.fixture(scope="package")
def contexts(browser: Any) -> dict[bool, Any]:
    """One for most tests, and one without the page's own policy, which would keep axe-core out; new ones take long to make."""
    return {without: browser.new_context(bypass_csp=without) for without in (False, True)}


@pytest.fixture
def show(browser: Any, contexts: dict[bool, Any], served: Served) -> Iterator[Open]:
    """Opens the page at an address. Whatever goes wrong in it fails the test."""
    opened: list[Any] = []
    wrong: list[str] = []

    def open_page(
        address: str = "/",
        *,
        base: str = served.url,
        width: int = 1440,
        height: int = 900,
        theme: str = "light",
        bypass_csp: bool = False,
        own: bool = False,
    ) -> Any:
        """With `own` nothing is remembered from other tests."""
        context = browser.new_context() if own else contexts[bypass_csp]
        page = context.new_page()
        opened.append(context if own else page)
        page.set_default_timeout(60_000)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
        page.goto(base.rstrip("/") + address)
        return page

    yield open_page
    for entry in opened:
        entry.close()
    assert not wrong


@pytest.fixture(scope="package")
def axe() -> str:
    """axe-core, fetched once: it is a tool of these tests, not a part of the project."""
    return (modules_with("axe-core@4", "axe-core/axe.min.js") / "axe-core/axe.min.js").read_text("utf-8")
