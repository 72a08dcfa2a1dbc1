"""Names in the text of a file: who uses them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.conftest import git
from tests.surfaces.http.conftest import Served, serving, until
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.test_browser import asked, violations

pytestmark = pytest.mark.browser

LONG = 4000
FILES = {
    "shop/price.py": (
        "class Price:\n"
        "    def total(self, count):\n"
        "        return self.amount * count\n\n\n"
        "class Reduced(Price):\n"
        "    def total(self, count):\n"
        "        return 1\n\n\n"
        "def format_price(price):\n"
        "    text = str(price)\n"
        "    return text + text\n"
    ),
    "shop/cart.py": (
        "from shop.price import Price, format_price\n\n\n"
        "def show(cart):\n"
        "    return format_price(cart.price), format_price(0)\n\n\n"
        "def report(lines):\n"
        "    best = Price()\n"
        "    return [format_price(line) for line in lines]\n"
    ),
    "shop/odd.py": (
        "from shop.price import format_price\n\n\n"
        "def grüße(名前):\n"
        '\treturn "🦊🦊é", 名前, format_price(名前), "𝒳", \t format_price(2)\n'
    ),
    "tests/test_cart.py": (
        "from shop.cart import show\nfrom shop.price import format_price\n\n\n"
        "def test_price():\n    assert format_price(1)\n\n\n"
        "def test_show(helper):\n    assert show(1) and helper.total(3)\n"
    ),
    "web/small.js": (
        "function target(x) { return x; }\n"
        + "".join(f"f{i}(x{i});" for i in range(LONG))
        + 'const é="🦊"; target(1);\n'
        + "// more\n" * 300  # else the file would be taken for minified code, which is not indexed
    ),
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, no_settings_of_others: None) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("names") / "shop"
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "A shop")
    with serving(folder, env={"LURCHER_SERVE_EDITOR": "editor://open{path}#{line}"}) as found:
        until(lambda: httpx.get(f"{found.url}api/symbol?name=x", timeout=60).status_code == 200)
        yield found


def name_on(page: Any, line: int, text: str) -> Any:
    return page.locator(f".line[data-line='{line}'] .name", has_text=text)


def listed(page: Any, section: str) -> list[list[str]]:
    """Each file of a section, with the lines that are listed of it."""
    found: list[list[str]] = page.locator(f".references .{section} .file-uses").evaluate_all("""(files) => files.map((file) => [
      [...file.querySelector("h4").childNodes].slice(0, 2).map((part) => part.textContent).join(""),
      ...[...file.querySelectorAll(".no")].map((no) => no.textContent)])""")
    return found


def open_name(page: Any, line: int, text: str, which: int = 0) -> None:
    name_on(page, line, text).nth(which).click()
    page.wait_for_selector(".references .references-title code")
    page.wait_for_function("() => !document.querySelector('.references-body [role=status]')")


# -- a click ----------------------------------------------------------------------------------------------------------


def test_a_click_on_a_name_shows_its_definition_and_uses_by_file(show: Open, shop: Served) -> None:
    page = show("/?file=shop/cart.py", base=shop.url)
    open_name(page, 5, "format_price")
    assert page.locator("#side .references-title").inner_text() == "format_price"
    assert page.locator(".defined .where").all_inner_texts() == ["shop/price.py:11"]
    assert listed(page, "resolved") == [
        ["shop/cart.py", "1", "5", "10"], ["shop/odd.py", "1", "5"], ["tests/test_cart.py", "2", "6"],
    ]  # fmt: skip
    row = page.locator(".resolved .file-uses").first.locator("li").nth(1)
    assert row.locator(".kind").inner_text() == "call · in show"
    assert row.locator("b").all_inner_texts() == ["format_price", "format_price"]
    assert "9 uses of format_price" in page.locator("#announcement").inner_text()
    assert page.locator(".name.used").count() == 4  # where this file uses it
    assert asked(page)["ref"] == ["shop/cart.py:5:12"]


def test_an_entry_leads_to_its_line_and_back_returns(show: Open, shop: Served) -> None:
    page = show("/?file=shop/cart.py&line=4", base=shop.url)
    open_name(page, 10, "format_price")
    page.locator(".references a.use", has_text="assert format_price(1)").click()
    page.wait_for_selector("h1:has-text('test_cart.py')")
    assert page.locator(".line.chosen").get_attribute("data-line") == "6"
    assert page.locator(".name.here").inner_text() == "format_price"
    assert page.locator("#side .references-title").inner_text() == "format_price"  # to go on to the next use
    page.go_back()
    page.wait_for_selector("h1:has-text('shop/cart.py')")
    assert page.locator(".line.chosen").get_attribute("data-line") == "10"
    page.go_back()
    page.wait_for_selector("#side .past")
    assert page.locator(".line.chosen").get_attribute("data-line") == "4"
    page.go_forward()
    page.wait_for_selector("#side .references .resolved")


def test_candidates_come_after_what_is_resolved(show: Open, shop: Served) -> None:
    page = show("/?file=shop/price.py", base=shop.url)
    open_name(page, 2, "total")
    assert page.locator(".references h3").all_inner_texts()[-1].lower() == "candidates (1)"
    assert listed(page, "candidates") == [["tests/test_cart.py", "10"]]
    assert "does not say which" in page.locator(".candidates").inner_text()


def test_a_local_name_is_listed_in_its_own_file_first(show: Open, shop: Served) -> None:
    page = show("/?file=shop/price.py", base=shop.url)
    open_name(page, 13, "text")
    assert "No definition of text is in the tree" in page.locator(".references .remarks").inner_text()
    assert page.locator(".references h3").first.inner_text().lower() == "in this file (3)"
    assert page.locator(".name.used").all_inner_texts() == ["text"] * 3


def test_text_can_still_be_selected_and_a_line_without_a_name_chosen(show: Open, shop: Served) -> None:
    page = show("/?file=shop/cart.py&ref=format_price", base=shop.url)
    page.wait_for_selector(".references .resolved")
    page.locator(".line[data-line='9'] .no").click()
    assert asked(page)["line"] == ["9"] and asked(page)["ref"] == ["format_price"]
    page.get_by_role("link", name="about the line").click()
    page.get_by_text("Line 9").wait_for()
    assert "ref" not in asked(page)


# -- other views ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("view", "entries"),
    [
        ("Callers", ["show", "report", "grüße", "test_price"]),
        ("Tests", ["test_price", "test_show"]),
        ("Callees", []),
    ],
)
def test_callers_callees_and_tests_are_views_of_their_own(show: Open, shop: Served, view: str, entries: list[str]) -> None:
    page = show("/?file=shop/price.py", base=shop.url)
    open_name(page, 11, "format_price")
    page.locator(".views a", has_text=view).click()
    page.wait_for_selector(f".views a[aria-current]:has-text('{view}')")
    page.wait_for_selector(".references .resolved, .references .nothing")
    assert page.locator(".references .resolved code, .references .candidates code").all_inner_texts() == entries
    if not entries:
        assert page.locator(".references .nothing").inner_text() == "No callee is known."
    page.go_back()
    page.wait_for_selector(".views a[aria-current]:has-text('Uses')")


def test_a_caller_leads_to_the_line_of_the_call(show: Open, shop: Served) -> None:
    page = show("/?file=shop/price.py&line=11&ref=format_price&show=callers&tab=references", base=shop.url)
    page.locator(".references a.use", has_text="report").click()
    page.wait_for_selector(".listing .line.chosen")
    assert asked(page)["file"] == ["shop/cart.py"] and asked(page)["line"] == ["10"]


def test_implementations_are_listed(show: Open, shop: Served) -> None:
    page = show("/?file=shop/price.py&ref=Price&show=implementations&tab=references", base=shop.url)
    page.wait_for_selector(".references .resolved")
    assert "Reduced" in page.locator(".references .resolved code").inner_text()
    page.locator(".references .resolved a.use").click()
    page.wait_for_selector(".listing .line.chosen")
    assert asked(page)["line"] == ["6"]


# -- the tab ----------------------------------------------------------------------------------------------------------


def test_the_tab_takes_a_name_and_says_when_nothing_has_it(show: Open, shop: Served) -> None:
    page = show("/?file=shop/price.py", base=shop.url)
    page.get_by_role("link", name="References", exact=True).click()
    page.wait_for_selector("#references .use")
    assert "format_price" in page.locator("#references code").all_inner_texts()
    page.fill("#name", "zebra_crossing")
    page.keyboard.press("Enter")
    page.wait_for_selector("#references .nothing")
    assert page.locator("#references .nothing").inner_text() == "Nothing in this tree is called zebra_crossing."
    assert asked(page)["ref"] == ["zebra_crossing"]
    page.fill("#name", "Price.total")
    page.get_by_role("button", name="Show", exact=True).click()
    page.wait_for_selector("#references .defined")
    assert page.locator("#references .where").inner_text() == "shop/price.py:2"
    page.go_back()
    page.wait_for_selector("#references .nothing")


@pytest.mark.parametrize("wrong", ["shop/price.py:900:1", "nowhere.py:1:1", "<img src=x onerror=window.hacked=1>", "../x:1"])
def test_a_wrong_place_is_reported_in_the_panel(show: Open, shop: Served, wrong: str) -> None:
    from urllib.parse import quote

    page = show(f"/?file=shop/price.py&ref={quote(wrong)}", base=shop.url)
    page.wait_for_selector("#side .references-body > :not(:has-text('Looking'))")
    assert page.locator(".listing").is_visible()
    assert page.evaluate("window.hacked") is None


def test_a_name_that_many_use_is_listed_in_steps(show: Open, shop: Served) -> None:
    page = show("/", base=shop.url)
    limits: list[str] = []

    def answer(route: Any) -> None:
        limit = parse_qs(urlsplit(route.request.url).query)["limit"][0]
        limits.append(limit)
        one = {
            "column": 1, "kind": "call", "enclosing": "", "text": "f()", "resolution": "resolved", "how": "scope",
            "definition": None, "test": False,
        }  # fmt: skip
        entries = [{"path": "a.py", "line": line, **one} for line in range(1, int(limit) + 1)]
        route.fulfill(json={"name": "f", "definitions": [], "references": entries, "total": 9000, "resolved": 9000})

    page.route("**/api/references?*", answer)
    page.goto(shop.url + "?file=shop/price.py&ref=f&tab=references")
    page.get_by_role("button", name="Show more: 100 of 9,000").click()
    page.get_by_role("button", name="Show more: 500 of 9,000").click()
    page.get_by_text("2,000 of 9,000 are listed.").wait_for()
    assert limits == ["100", "500", "2000"]


# -- keys -------------------------------------------------------------------------------------------------------------


def test_names_are_reached_and_asked_for_by_keys(show: Open, shop: Served) -> None:
    page = show("/?file=shop/cart.py&line=5", base=shop.url)
    page.wait_for_selector(".line.chosen .name")
    page.locator(".listing").focus()
    page.keyboard.press("ArrowRight")
    focused = "document.activeElement.textContent"
    assert page.evaluate(focused) == "format_price"
    assert page.evaluate("document.activeElement.getAttribute('role')") == "button"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "cart"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")  # the last name of the lines above
    assert page.evaluate(focused) == "cart" and asked(page)["line"] == ["4"]
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.classList.contains('listing')") and asked(page)["line"] == ["5"]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector(".references .resolved")
    assert page.locator("#side .references-title").inner_text() == "format_price"
    page.locator(".references a.use").first.focus()
    page.keyboard.press("ArrowDown")
    page.evaluate("HTMLAnchorElement.prototype.click = function () { window.opened = this.href; }")
    page.keyboard.press("o")
    page.wait_for_function("() => window.opened")
    assert page.evaluate("window.opened").endswith("/shop/cart.py#1")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('.line.chosen')?.dataset.line === '1'")
    page.keyboard.press("Escape")
    page.wait_for_selector("#side .past")
    assert "ref" not in asked(page) and asked(page)["file"] == ["shop/cart.py"]


def test_r_shows_the_references_of_a_hit(show: Open, shop: Served) -> None:
    page = show("/?q=format_price", base=shop.url)
    page.wait_for_selector(".hit")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("r")
    page.wait_for_selector("#references .resolved")
    assert page.input_value("#name") == "format_price"
    page.keyboard.press("r")
    page.wait_for_selector(".listing")


# -- positions --------------------------------------------------------------------------------------------------------


def test_names_stand_where_the_text_has_them_whatever_is_before(show: Open, shop: Served) -> None:
    page = show("/?file=shop/odd.py", base=shop.url)
    page.wait_for_selector(".line .name")
    names = page.locator(".line[data-line='5'] .name").all_inner_texts()
    assert names == ["名前", "format_price", "名前", "format_price"]
    line = FILES["shop/odd.py"].split("\n")[4]
    open_name(page, 5, "format_price", 1)
    assert asked(page)["ref"] == [f"shop/odd.py:5:{line.rindex('format_price') + 1}"]
    assert page.locator(".defined .where").inner_text() == "shop/price.py:11"
    assert page.locator(".name.here").evaluate("(span) => [...span.parentNode.querySelectorAll('.name')].indexOf(span)") == 3
    open_name(page, 4, "grüße")
    assert page.locator("#side .references-title").inner_text() == "grüße"


def test_a_name_at_the_end_of_a_very_long_line_can_be_clicked(show: Open, shop: Served) -> None:
    page = show("/?file=web/small.js", base=shop.url)
    page.wait_for_selector(".line[data-line='2'] .name")
    assert page.locator(".line[data-line='2'] .name").count() < 3 * LONG  # its rest is plain text
    box = page.evaluate("""() => {
      const code = document.querySelector(".line[data-line='2'] .code");
      const rest = code.lastChild;
      const range = document.createRange();
      const at = rest.textContent.lastIndexOf("target");
      range.setStart(rest, at); range.setEnd(rest, at + 6);
      document.querySelector(".listing").scrollLeft = 1e9;
      const box = range.getBoundingClientRect();
      return [box.x + box.width / 2, box.y + box.height / 2];
    }""")
    page.mouse.click(*box)
    page.wait_for_selector(".references .defined")
    assert page.locator("#side .references-title").inner_text() == "target"
    line = FILES["web/small.js"].split("\n")[1]
    assert asked(page)["ref"] == [f"web/small.js:2:{line.rindex('target') + 1}"]


# -- themes, phones, and who cannot see ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "ready"),
    [
        ("/?file=shop/cart.py&line=5&column=12&ref=shop/cart.py:5:12", ".references .resolved"),
        ("/?file=shop/price.py&tab=references", "#references .use"),
        ("/?file=shop/price.py&tab=references&ref=Price.total", "#references .candidates"),
        ("/?file=shop/price.py&tab=references&ref=zebra", "#references .nothing"),
    ],
)
def test_axe_finds_nothing_in_either_theme(show: Open, shop: Served, axe: str, address: str, ready: str) -> None:
    page = show(address, base=shop.url, bypass_csp=True)
    page.wait_for_selector(ready)
    page.wait_for_selector(".outline a")
    assert violations(page, axe) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page, axe, "color-contrast", "link-in-text-block") == []


def test_it_fits_a_phone(show: Open, shop: Served, axe: str) -> None:
    page = show("/?file=shop/cart.py", base=shop.url, width=360, height=740, bypass_csp=True)
    open_name(page, 5, "format_price")
    assert page.locator("#side .references .resolved").is_visible()
    assert violations(page, axe) == []
    page.locator(".references a.use", has_text="assert format_price(1)").click()
    page.wait_for_selector("h1:has-text('test_cart.py')")
    assert not page.locator("#side").is_visible()  # the line is what one wants to see
    page.get_by_role("link", name="References", exact=True).click()
    page.wait_for_selector("#references .resolved")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
