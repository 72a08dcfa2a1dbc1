"""The page on a team's server: the project picker, and every view of a project that is not checked out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from lurcher.surfaces.team.tokens import make_token
from tests.stores.postgres_server import postgres
from tests.surfaces.http.conftest import until
from tests.surfaces.team.conftest import PROJECTS, fill_store
from tests.surfaces.team.test_process import serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, no_settings_of_others: None) -> Iterator[tuple[str, str]]:
    """The address of a server, and a token that sees two of its three projects."""
    folder = tmp_path_factory.mktemp("team")
    token, line = make_token("acme", ["acme/*"])
    (folder / "tokens").write_text(line + "\n")
    with postgres(folder / "pg") as url:
        fill_store(url, folder / "trees", PROJECTS)
        with serving(url, "--tokens", str(folder / "tokens")) as running:
            until(lambda: httpx.get(f"{running.url}readyz").status_code == 200)
            yield running.url, token


@pytest.fixture
def open_page(browser: Any, team: tuple[str, str]) -> Iterator[Any]:
    wrong: list[str] = []
    contexts: list[Any] = []

    def make(address: str) -> Any:
        context = browser.new_context()
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        url, token = team
        page.goto(f"{url}?token={token}")
        page.goto(url.rstrip("/") + address)
        return page

    yield make
    for context in contexts:
        context.close()
    assert not wrong


def named(page: Any) -> list[str]:
    return parse_qs(urlsplit(page.url).query).get("project", [])


def test_the_picker_chooses_by_keyboard_and_the_address_keeps_it(open_page: Any) -> None:
    page = open_page("/?q=parse+cookie")
    page.wait_for_selector(".hit")
    assert page.locator("#project option").all_text_contents() == ["acme/api", "acme/web"]
    assert named(page) == ["acme/api"]
    assert "acme_api" in page.locator("#hits").inner_text()
    assert page.get_by_label("Project").evaluate("element => element.id") == "project"
    page.focus("#project")
    page.keyboard.press("ArrowDown")
    page.locator("#hits", has_text="acme_web").wait_for()
    assert named(page) == ["acme/web"]
    assert page.evaluate("document.activeElement.id") == "project"
    page.go_back()
    page.locator("#hits", has_text="acme_api").wait_for()
    assert page.input_value("#project") == "acme/api"


def test_a_view_of_a_project_is_a_link(open_page: Any) -> None:
    page = open_page("/?project=acme/web&q=follow+redirects")
    page.wait_for_selector(".hit")
    assert page.input_value("#project") == "acme/web"
    page.locator(".hit a").first.click()
    page.wait_for_selector(".file-head h1")
    assert named(page) == ["acme/web"]
    page.locator("#main", has_text="acme_web").wait_for()
    page.locator("text=Imports").click()
    page.wait_for_selector("svg.graph, #main .empty, #main svg")
    assert named(page) == ["acme/web"]


def test_the_start_page_and_the_state(open_page: Any) -> None:
    page = open_page("/")
    page.locator(".about", has_text="3 files").wait_for()
    assert page.locator(".about h2").inner_text() == "acme/api"
    assert page.inner_text("#state-text") == "shared index"
    page.click("#state")
    page.wait_for_selector("#dialog .facts")
    assert "written" in page.inner_text("#dialog")
    assert "secret" not in page.content()


def test_a_hidden_project_is_not_there(open_page: Any) -> None:
    said = []
    for name in ("secret/plans", "secret/none"):
        page = open_page(f"/?project={name}&q=redirects")
        page.wait_for_selector("#failure")
        said.append(page.inner_text("#failure").replace(name, "NAME"))
        assert page.locator("#project option").all_text_contents() == ["choose a project", "acme/api", "acme/web"]
    assert said[0] == said[1]
