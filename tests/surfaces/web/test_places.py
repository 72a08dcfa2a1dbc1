"""Hits with several places."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lurcher.answer.borders import settle_window
from tests.answer.test_borders import ROWS
from tests.surfaces.http.conftest import Served, serving, until
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.test_browser import asked

pytestmark = pytest.mark.browser

QUERY = "zebra+stripes"
FILLER = "".join(f"def other_{i}(value):\n    total = value + {i}\n    return total * {i}\n\n\n" for i in range(40))


def zebra(name: str, lines: int) -> str:
    body = "".join(f"    value_{i} = {i}\n" for i in range(lines))
    return f"def {name}(herd):\n    # the stripes of a zebra\n    zebra = herd.zebra\n{body}    return zebra.stripes\n\n\n"


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory, no_settings_of_others: None) -> Iterator[tuple[Served, Path]]:
    folder = tmp_path_factory.mktemp("places")
    (folder / "zoo.py").write_text(FILLER.join(zebra(f"count_{i}", 30) for i in range(3)), "utf-8")
    with serving(folder, env={"LURCHER_SERVE_EDITOR": "editor://open{path}#{line}"}) as found:
        until(lambda: httpx.get(f"{found.url}api/symbol?name=x", timeout=60).status_code == 200)
        yield found, folder


def first_hit(served: Served) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{served.url}api/search?q={QUERY}&limit=12", timeout=60).json()["hits"][0]
    return found


def test_every_place_is_shown_and_named_after_the_lines_shown(show: Open, zoo: tuple[Served, Path]) -> None:
    served, folder = zoo
    places = first_hit(served)["places"]
    assert len(places) > 1
    page = show(f"/?q={QUERY}", base=served.url)
    page.wait_for_selector(".further-place")
    shown = page.locator(".hit").first.locator(".further-place")
    assert shown.locator("a.lines").all_inner_texts() == [f":{place['line']}" for place in places[1:]]
    assert shown.locator(".sub code").all_inner_texts() == [place["symbol"] for place in places[1:]]
    rows = (folder / "zoo.py").read_text("utf-8").split("\n")
    for number, place in enumerate(places[1:]):
        lines = [int(text) for text in shown.nth(number).locator(".block .line:not(.above) .no").all_inner_texts()]
        assert place["line"] in lines and place["start_line"] <= lines[0] and lines[-1] <= place["end_line"]
        begin = next(i for i, row in enumerate(rows, 1) if f"def {place['symbol']}(" in row)
        end = next((i for i, row in enumerate(rows[begin:], begin + 1) if row.startswith("def ")), len(rows) + 1)
        assert lines[0] < end and lines[-1] >= begin


def test_a_long_place_says_what_is_left_out_and_shows_it(show: Open, zoo: tuple[Served, Path]) -> None:
    page = show(f"/?q={QUERY}", base=zoo[0].url)
    page.wait_for_selector(".further-place")
    block = page.locator(".hit .block").first
    before = block.locator(".line:not(.above)").count()
    hidden = int(block.locator(".more").inner_text().split()[1])
    block.locator(".more").click()
    assert block.locator(".line:not(.above)").count() == before + hidden
    assert block.locator(".more").count() == 0


def test_a_further_place_is_opened_at_its_line_by_click_and_by_o(show: Open, zoo: tuple[Served, Path]) -> None:
    served, folder = zoo
    line = first_hit(served)["places"][1]["line"]
    page = show(f"/?q={QUERY}", base=served.url)
    page.wait_for_selector(".further-place a.lines")
    link = page.locator(".hit").first.locator(".further-place a.lines").first
    page.evaluate(""
                  "HTMLAnchorElement.prototype.click = function () { window.opened = this.href; }")  # fmt: skip
    link.focus()
    page.keyboard.press("o")
    page.wait_for_function("() => window.opened")
    assert page.evaluate("window.opened") == f"editor://open{folder}/zoo.py#{line}"
    link.click()
    page.wait_for_selector(".listing .line.chosen")
    assert asked(page)["line"] == [str(line)]
    assert page.locator(".line.chosen").get_attribute("data-line") == str(line)


BORDERS = """async ([text, start, end, best]) => {
  const [{ settle }, { lines, tokens }] = await Promise.all([import("/assets/marked.js"), import("/assets/highlight.js")]);
  return settle(lines(text, tokens(text, "python"), []), start, end, best, best);
}"""


def test_the_lines_shown_begin_and_end_as_on_a_terminal(show: Open, zoo: tuple[Served, Path]) -> None:
    page = show("/", base=zoo[0].url)
    script = page.evaluate("document.querySelector('script[type=module]').getAttribute('src')").rsplit("/", 1)[0]
    for start in range(len(ROWS)):
        for end in range(start + 1, len(ROWS) + 1, 3):
            for best in {start, (start + end) // 2, end - 1}:
                wanted = settle_window(ROWS, start, end, (best, best))
                found = page.evaluate(BORDERS.replace("/assets", script), ["\n".join(ROWS), start, end, best])
                assert tuple(found) == wanted, (start, end, best)


def test_text_that_would_be_shown_in_another_order_is_marked(show: Open, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('def zebra():\n    return "\u202ereversed"  # \u2066nested\u2069\n', "utf-8")
    with serving(tmp_path) as own:
        page = show("/?q=zebra", base=own.url)
        page.wait_for_selector(".hit")
        assert '"\ufffdreversed"  # \ufffdnested\ufffd' in page.locator(".hit .block").first.inner_text()
        page.goto(own.url + "?file=a.py&line=1")
        page.wait_for_selector(".listing .line .t-keyword")
        assert '"\ufffdreversed"  # \ufffdnested\ufffd' in page.locator(".listing").inner_text()
