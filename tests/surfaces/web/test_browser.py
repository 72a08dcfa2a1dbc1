"""The page as a person uses it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.conftest import write_repository
from tests.surfaces.http.conftest import Served, serving
from tests.surfaces.web.conftest import HOSTILE, Open

pytestmark = pytest.mark.browser


def asked(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def paths(page: Any) -> list[str]:
    return [text.split(":")[0] for text in page.locator(".hit .place").all_text_contents()]


# -- asking -----------------------------------------------------------------------------------------------------------


def test_it_answers_while_one_types(show: Open) -> None:
    page = show("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("follow redirects", delay=20)
    page.wait_for_selector(".hit")
    assert paths(page)[0] == "src/client.py"
    assert asked(page)["q"] == ["follow redirects"]
    assert "hits" in page.locator("#announcement").inner_text()


def test_letters_typed_in_a_burst_are_one_query(show: Open) -> None:
    page = show("/")
    questions: list[str] = []
    page.on("request", lambda request: questions.append(request.url) if "/api/search" in request.url else None)
    page.clock.install(time=0)
    page.clock.pause_at(3_600_000)  # the page's time stands still while its user types, however slow the machine is
    page.keyboard.type("parse cookie header")
    page.clock.run_for(1000)
    page.clock.resume()
    page.wait_for_selector(".hit")
    assert len(questions) == 1
    assert paths(page)[0] == "src/cookies.py"


def test_the_answer_to_an_older_query_is_discarded(show: Open) -> None:
    page = show("/")
    held: list[Any] = []
    page.route(re.compile(r"/api/search\?q=slow"), lambda route: held.append(route))
    with page.expect_request(re.compile(r"/api/search\?q=slow")):
        page.fill("#q", "slow router")
    page.fill("#q", "parse cookie")
    page.wait_for_selector(".hit")
    for route in held:  # the older answer comes after the newer one
        route.fulfill(json={"hits": []})
    page.wait_for_timeout(200)
    assert paths(page)[0] == "src/cookies.py"


def test_hits_show_code_with_marks_numbers_and_badges(show: Open) -> None:
    page = show("/?q=follow+redirects")
    first = page.locator(".hit").first
    first.locator("mark").first.wait_for()
    assert "redirect" in " ".join(first.locator("mark").all_inner_texts()).lower()
    assert first.locator(".no").first.inner_text().isdigit()
    assert first.locator(".t-keyword").count()
    assert "python" in first.locator(".badge.language").inner_text()
    assert first.locator(".badge.source").inner_text() == "code"


def test_a_new_answer_takes_less_than_200_ms_of_the_page_s_cpu_time(show: Open) -> None:
    """CPU time of the page's main thread for typing, drawing the hits and the filters; the median of several queries."""
    page = show("/?q=cookies")
    page.wait_for_selector(".hit")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def cpu_seconds() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(entry["value"] for entry in metrics if entry["name"] == "TaskDuration")

    taken = []
    for query in ("parse cookie", "retry request", "router dispatch", "idle connection", "evict entries"):
        before = cpu_seconds()
        with page.expect_response(re.compile("/api/facets")):
            page.fill("#q", query)
        page.wait_for_selector("#main:not([aria-busy])")
        taken.append(cpu_seconds() - before)
    assert 0 < sorted(taken)[2] <= 0.2, taken


# -- filters ----------------------------------------------------------------------------------------------------------


def test_filters_have_counts_and_can_be_removed(show: Open) -> None:
    page = show("/?q=redirect")
    box = page.locator("input[data-facet=lang][data-value=typescript]")
    box.wait_for()
    count = int(box.locator("xpath=ancestor::label").locator(".count").inner_text())
    box.check()
    page.wait_for_function(
        "() => [...document.querySelectorAll('.badge.language')].every((badge) => badge.textContent.trim() === 'typescript')"
    )
    assert page.locator(".hit").count() == count
    assert asked(page)["lang"] == ["typescript"]
    page.get_by_role("button", name="Clear all filters").click()
    page.wait_for_function("() => document.querySelectorAll('.hit').length > 1")
    assert "lang" not in asked(page)


def test_folders_and_sources_narrow_too(show: Open) -> None:
    page = show("/?q=redirect")
    page.locator("input[data-facet=path][data-value='web/**']").check()
    page.wait_for_function(
        "() => [...document.querySelectorAll('.hit .folder')].every((part) => part.textContent.startsWith('web/'))"
    )
    page.get_by_role("link", name="Notes").click()
    page.wait_for_selector(".hit[data-source=notes]")
    assert asked(page)["in"] == ["notes"]


# -- keys -------------------------------------------------------------------------------------------------------------


def test_everything_can_be_reached_by_keys(show: Open) -> None:
    page = show("/?q=redirect")
    page.wait_for_selector(".hit")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.id") == "hit-0"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.id") == "hit-1"
    assert page.locator(".hit.chosen").get_attribute("data-position") == "1"
    assert page.locator("#side h2").inner_text() == "Why hit 2"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector(".listing")
    assert asked(page)["file"]
    page.keyboard.press("Escape")
    page.wait_for_selector("#hit-1:focus")  # the one that was opened, and not the first
    assert page.locator("#side h2").inner_text() == "Why hit 2"
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    assert not page.get_by_role("dialog").is_visible()


def test_o_opens_the_editor_by_its_address(show: Open, place: Path) -> None:
    page = show("/?q=parse_cookie")
    page.evaluate("HTMLAnchorElement.prototype.click = function () { window.opened = this.href; }")
    page.wait_for_selector(".hit")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("o")
    page.wait_for_function("() => window.opened")
    assert page.evaluate("window.opened") == f"editor://open{place}/src/cookies.py#4"


def test_a_hit_leads_to_the_line_that_matched(show: Open) -> None:
    page = show("/?q=parse_cookie")
    page.wait_for_selector(".hit")
    link = page.locator(".hit .go").first
    assert link.locator(".lines").inner_text() == ":4"
    assert "line=4" in link.get_attribute("href")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector(".listing")
    assert asked(page)["line"] == ["4"]


# -- why --------------------------------------------------------------------------------------------------------------


def test_the_panel_draws_lanes_fusion_and_every_push(show: Open, served: Served) -> None:
    page = show("/?q=follow+redirects")
    page.wait_for_selector("#side .pushes")
    hit = httpx.get(f"{served.url}api/search?q=follow+redirects&limit=12").json()["hits"][0]
    lanes = page.locator("#side .lane b").all_inner_texts()
    assert lanes == list(hit["why"]["lanes"])
    stages = page.locator("#side .pushes .stage").all_inner_texts()
    assert stages[-1] == "score"
    assert stages[:-1][-len(hit["why"]["stages"]) :] == [stage["stage"] for stage in hit["why"]["stages"]]
    assert page.locator("#side svg.ranks polyline.chosen").count() == 1
    assert float(page.locator("#side .total .value").inner_text()) == pytest.approx(hit["score"], abs=0.005)


# -- history ----------------------------------------------------------------------------------------------------------


def test_history_is_drawn_over_time_with_outcomes(show: Open) -> None:
    page = show("/?q=cookies+jar+order&in=history")
    page.wait_for_selector(".timeline .commit")
    assert page.locator(".commit.reverted").count() == 1
    assert page.locator(".arc").count() >= 1
    reverted = page.locator(".hit", has=page.locator(".badge.outcome.reverted")).first
    assert "reverted by" in reverted.inner_text()
    page.locator(".commit.reverted").focus()
    page.keyboard.press("Enter")
    assert page.locator(".hit.chosen .badge.outcome").inner_text() == "reverted"
    reverted.locator("a[data-sha]").first.click()
    assert page.locator(".hit.chosen .place").inner_text().startswith("Revert")
    page.locator(".commit[tabindex='0']").focus()
    before = page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.classList.contains('commit')")
    assert before


def test_outcomes_are_a_filter(show: Open) -> None:
    page = show("/?q=cookies&in=history")
    page.locator("input[data-facet=outcome][data-value=reverted]").check()
    page.wait_for_function("() => document.querySelectorAll('.hit').length === 1")
    assert asked(page)["outcome"] == ["reverted"]


def test_all_sources_together(show: Open) -> None:
    page = show("/?q=order+of+cookies+in+the+jar&in=all")
    page.wait_for_selector(".hit[data-source=history]")
    page.wait_for_selector(".hit[data-source=code]")
    linked = page.locator(".hit[data-source=code] .links a").first
    assert re.match(r"[0-9a-f]{9} ", linked.inner_text())
    linked.click()
    page.wait_for_selector(".timeline, .hit[data-source=history]")
    assert asked(page)["in"] == ["history"]


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_file_has_outline_age_and_relatives(show: Open) -> None:
    page = show("/?file=src/client.py&line=8")
    page.wait_for_selector(".line.chosen")
    assert page.locator(".line.chosen").get_attribute("data-line") == "8"
    page.get_by_text("Retry a request five times before giving up").wait_for()
    page.wait_for_selector(".heat.h7")
    page.wait_for_selector(".like .related li")
    page.get_by_role("link", name="follow_redirects").click()
    page.wait_for_function("() => document.querySelector('.line.chosen')?.dataset.line === '12'")
    assert asked(page)["line"] == ["12"]
    page.locator(".listing").focus()
    page.keyboard.press("ArrowDown")
    assert asked(page)["line"] == ["13"]


def test_imports_are_a_picture_that_keys_move_in(show: Open) -> None:
    page = show("/?file=src/client.py&tab=graph")
    page.wait_for_selector(".node.centre")
    drawn = page.locator(".node").evaluate_all("(nodes) => nodes.map((node) => node.dataset.path)")
    assert {"src/client.py", "src/app.py"} <= set(drawn)
    assert page.locator(".edge").count() == len(drawn) - 1
    page.locator(".node.centre").focus()
    page.keyboard.press("ArrowRight")
    there = page.evaluate("document.activeElement.dataset.path")
    assert there != "src/client.py"
    assert there in page.locator(".caption").inner_text()
    before = page.locator(".stage").get_attribute("transform")
    page.get_by_role("button", name="Zoom in").click()
    assert page.locator(".stage").get_attribute("transform") != before
    page.locator(f".node[data-path='{there}']").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("(path) => document.querySelector('.node.centre')?.dataset.path === path", arg=there)
    assert asked(page)["file"] == [there]


# -- addresses --------------------------------------------------------------------------------------------------------


def test_an_address_brings_back_the_view(show: Open) -> None:
    page = show("/?q=redirect&lang=python&path=src%2F**")
    page.wait_for_selector(".hit")
    assert page.input_value("#q") == "redirect"
    assert {path.split("/")[0] for path in paths(page)} == {"src"}
    assert page.locator("input[data-facet=lang][data-value=python]").is_checked()


def test_back_and_forward(show: Open) -> None:
    page = show("/")
    page.fill("#q", "router")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    page.locator("#hit-0").click()
    page.wait_for_selector(".listing")
    page.go_back()
    page.wait_for_selector(".hit")
    assert page.input_value("#q") == "router"
    page.go_back()
    page.wait_for_selector(".start")
    page.go_forward()
    page.wait_for_selector(".hit")


# -- the index, live --------------------------------------------------------------------------------------------------


def test_a_change_shows_by_itself(browser: Any, tmp_path: Path, show: Open) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    write_repository(folder)
    with serving(folder, before="import lurcher.surfaces.http.service as s\ns._POLL = 0.3\n") as own:
        page = show("/?q=zebra", base=own.url)
        page.wait_for_selector("#nothing")
        page.wait_for_selector("#state[data-kind=fresh]")
        (folder / "zebra.py").write_text("def zebra():\n    return 'stripes'\n")
        page.wait_for_selector(".hit")
        assert paths(page) == ["zebra.py"]
        assert "14 files" in page.locator("#state").inner_text()


def test_what_the_index_holds_is_reported(show: Open) -> None:
    page = show("/")
    page.locator("#state").click()
    page.get_by_role("cell", name="up to date").wait_for()
    assert page.get_by_role("dialog").get_by_text("generation").is_visible()


# -- nothing, and errors ----------------------------------------------------------------------------------------------


def test_without_anything_to_filter_there_are_no_filters(show: Open) -> None:
    page = show("/?q=zebra")
    page.wait_for_selector(".hit")
    page.wait_for_selector("#main:not([aria-busy])")
    assert page.locator("#facets").inner_text() == ""


def test_nothing_found_says_what_else_could_be_done(show: Open) -> None:
    page = show("/?q=parse_cookie&lang=go")
    page.get_by_text("Nothing found").first.wait_for()
    page.wait_for_selector("#main:not([aria-busy])")  # until then the link may be drawn again under the click
    page.get_by_role("link", name="Search without the filters").click()
    page.wait_for_selector(".hit")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/?file=nowhere.py", "not in the index"),
        ("/?q=(&mode=literal", "The request failed"),
        ("/?q=a&lang=klingon", "klingon"),
        ("/?q=a&mode=loud", "known are: auto"),
    ],
)
def test_an_error_is_reported_with_what_to_do(show: Open, address: str, said: str) -> None:
    page = show(address)
    page.wait_for_selector("#failure")
    assert said in page.locator("#failure").inner_text()
    assert page.get_by_role("button", name="Try again").is_visible()


def test_a_server_that_is_gone_is_reported(tmp_path: Path, show: Open) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    write_repository(folder)
    with serving(folder) as own:
        page = show("/?q=cookie", base=own.url)
        page.wait_for_selector(".hit")
    page.wait_for_selector("#state[data-kind=away]")
    page.fill("#q", "router")
    page.get_by_text("The server does not answer.").first.wait_for()


# -- hostile repositories ---------------------------------------------------------------------------------------------


def test_nothing_of_a_repository_runs(show: Open) -> None:
    """A name, a text and a question that would be markup if they were not text; the browser would refuse them too."""
    page = show("/?q=zebra")
    page.wait_for_selector(".hit")
    assert HOSTILE in page.locator(".hit .place").first.inner_text()
    assert "<script>" in page.locator(".hit .block").first.inner_text()
    page.locator("#hit-0").click()
    page.wait_for_selector(".listing")
    assert "<script>window.hacked=1</script>" in page.locator(".listing").inner_text()
    page.goto(page.url.split("?")[0] + "?q=<img src=x onerror=window.hacked=1>&in=history&author=<b>x</b>&file=")
    page.wait_for_selector("#main > *")
    page.wait_for_timeout(300)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, iframe, object, embed").count() == 0


def test_the_browser_would_refuse_it_as_well(show: Open) -> None:
    page = show("/")
    refused = page.evaluate(
        """() => { try { document.body.innerHTML = "<b>x</b>"; return false; }
        catch (error) { return error instanceof TypeError; } }"""
    )
    assert refused


# -- exact text ----------------------------------------------------------------------------------------------------------


def pressed(page: Any) -> list[str]:
    names = ("exact", "regex", "case", "word")
    return [name for name in names if page.get_attribute(f"#switch-{name}", "aria-pressed") == "true"]


def test_switches_of_exact_text_are_part_of_the_address(show: Open) -> None:
    page = show("/?q=COOKIE")
    page.wait_for_selector(".hit")
    assert pressed(page) == []
    with page.expect_response(re.compile(r"/api/search\?.*mode=literal.*fixed=true")):
        page.click("#switch-exact")
    assert pressed(page) == ["exact"] and asked(page) == {"q": ["COOKIE"], "mode": ["literal"], "fixed": ["true"]}
    with page.expect_response(re.compile(r"/api/search\?.*case=exact")):
        page.focus("#switch-case")
        page.keyboard.press("Enter")  # as everything here, without a mouse
    page.wait_for_selector("#nothing")
    assert page.evaluate("document.activeElement.id") == "switch-case" and pressed(page) == ["exact", "case"]
    page.fill("#q", "c[o]+kie")
    page.click("#switch-case")
    with page.expect_response(re.compile(r"/api/search\?(?!.*fixed).*mode=literal")):
        page.click("#switch-regex")
    page.wait_for_selector(".hit")
    assert pressed(page) == ["exact", "regex"]
    with page.expect_response(re.compile(r"/api/search\?.*word=true")):
        page.click("#switch-word")
    page.reload()
    page.wait_for_selector("#main .summary")
    assert pressed(page) == ["exact", "regex", "word"]
    page.go_back()
    page.wait_for_function("document.getElementById('switch-word').ariaPressed === 'false'")
    page.click("#switch-exact")
    assert pressed(page) == [] and asked(page) == {"q": ["c[o]+kie"]}


def test_what_has_no_exact_text_has_no_switches(show: Open) -> None:
    page = show("/?q=cookies&mode=literal&fixed=true&in=history")
    page.wait_for_selector(".hit")
    assert page.locator("#switches").is_hidden()
    page.locator("#sources a", has_text="Code").click()
    page.wait_for_selector(".hit[data-source=code]")
    assert pressed(page) == ["exact"]


# -- while counts are not there yet, and to begin with -------------------------------------------------------------------


def test_hits_are_not_dimmed_while_they_are_counted(show: Open) -> None:
    page = show("/")
    waiting: list[Any] = []
    page.route(re.compile("/api/facets"), lambda route: waiting.append(route))
    page.fill("#q", "follow redirects")
    page.wait_for_selector(".hit")
    page.wait_for_selector("#main:not([aria-busy])")
    page.wait_for_function("getComputedStyle(document.querySelector('.hits')).opacity === '1'")
    for route in waiting:
        route.continue_()
    page.wait_for_selector(".facets .group")


def test_examples_are_of_this_repository(show: Open) -> None:
    page = show("/")
    page.wait_for_selector("#examples li")
    texts = page.locator("#examples a").all_text_contents()
    assert "Client.retry" not in texts and "how are redirects followed" not in texts
    name = next(text for text in texts if re.fullmatch(r"[A-Z]\w+\.\w+", text))
    page.locator("#examples a", has_text=name).click()
    page.wait_for_selector(".hit")
    assert asked(page)["q"] == [name]


def test_files_of_one_name_are_distinguished_in_the_graph(show: Open) -> None:
    page = show("/")
    found = page.evaluate("""async () => {
      const { uniqueLabels } = await import("/static/graph.js");
      const paths = ["views.py", "a/views.py", "b/views.py", "x/b/views.py", "shop/urls.py", "shop/__init__.py",
        "one/" + "deep/".repeat(12) + "same.py", "two/" + "deep/".repeat(12) + "same.py"];
      return [...uniqueLabels(paths)];
    }""")
    labels = dict(found)
    assert len(set(labels.values())) == len(labels)
    assert [labels[path] for path in ("views.py", "a/views.py", "x/b/views.py", "shop/urls.py", "shop/__init__.py")] == [
        "views.py", "a/views.py", "x/b/views.py", "urls.py", "shop/__init__.py",
    ]  # fmt: skip
    assert labels["b/views.py"] == "b/views.py" and max(map(len, labels.values())) <= 44


# -- themes, phones, and who cannot see --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "ready"),
    [
        ("/", ".languages li"),
        ("/?q=follow+redirects", ".facets .group"),
        ("/?q=cookies&in=history", ".facets .group"),
        ("/?q=cookies&in=notes", ".facets .group"),
        ("/?file=src/client.py&line=8&q=redirects", ".like .related li"),
        ("/?file=src/client.py&tab=graph", ".node.centre"),
        ("/?q=zzzqqq&lang=go", "#nothing"),
        ("/?file=nowhere.py", "#failure"),
        ("/?q=parse_cookie&mode=literal&word=true", ".hit"),
    ],
)
def test_axe_finds_nothing_in_either_theme(show: Open, axe: str, address: str, ready: str) -> None:
    page = show(address, bypass_csp=True)
    page.wait_for_selector(ready)
    assert violations(page, axe) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page, axe, "color-contrast", "link-in-text-block") == []


def test_axe_finds_nothing_on_a_phone_or_in_a_dialog(show: Open, axe: str) -> None:
    page = show("/?q=follow+redirects", bypass_csp=True, width=390, height=800)
    page.wait_for_selector(".facets summary")
    page.locator(".why-button").first.click()
    assert violations(page, axe) == []
    page.keyboard.press("Escape")
    page.locator("#help").click()
    assert violations(page, axe) == []


def violations(page: Any, axe: str, *only: str) -> list[str]:
    """What axe-core finds; of rules that depend on the theme alone, where the others have been looked at."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(axe)
    options = {"resultTypes": ["violations"], **({"runOnly": list(only)} if only else {})}
    found = page.evaluate("(options) => axe.run(document, options)", options)
    return [
        f"{entry['id']}: {node['target']} {node['failureSummary']}" for entry in found["violations"] for node in entry["nodes"]
    ]


def test_the_theme_follows_the_system_until_one_chooses(show: Open) -> None:
    page = show("/", theme="dark", own=True)
    shade = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(shade)
    page.locator("#theme").click()
    light = page.evaluate(shade)
    assert dark != light
    page.reload()
    assert page.evaluate(shade) == light
    other = show("/", own=True)
    assert other.evaluate(shade) == light


def test_it_fits_a_phone(show: Open) -> None:
    page = show("/?q=follow+redirects", width=360, height=740)
    page.wait_for_selector(".facets summary")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("document.getElementById('q').offsetWidth") > 300, "a question can be read"
    for part in ("state", "sources"):
        assert page.evaluate(f"document.getElementById('{part}').scrollWidth <= document.getElementById('{part}').clientWidth")
    assert not page.locator("#side").is_visible()
    page.locator(".why-button").first.click()
    assert page.locator("#side .pushes").is_visible()
    page.locator("#side .close").click()
    assert not page.locator("#side").is_visible()
    page.locator(".facets summary").click()
    assert page.locator("input[data-facet=lang]").first.is_visible()
    page.locator("#hit-0").click()
    page.locator(".line[data-line='3']").click()
    assert page.locator("#side").get_by_text("Line 3").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#side").is_visible()
    assert page.locator(".listing").is_visible()


def test_a_long_history_of_one_repository_is_not_needed(show: Open, tmp_path: Path) -> None:
    """Outside of git the page works, and says what it cannot know."""
    (tmp_path / "a.py").write_text("def zebra():\n    return 1\n")
    with serving(tmp_path) as own:
        page = show("/?q=zebra", base=own.url)
        page.wait_for_selector(".hit")
        page.get_by_role("link", name="History").click()
        page.wait_for_selector("#failure, #nothing")
        page.goto(own.url + "?file=a.py&line=1")
        page.get_by_text("No commit is known for this line.").wait_for()


def test_who_uses_a_name_comes_before_the_hits(show: Open) -> None:
    page = show("/?q=where+is+%60Client%60+used")
    page.wait_for_selector("#usage li")
    assert "of Client" in page.locator("#usage h2").inner_text()
    place = page.locator("#usage a").first.inner_text()
    page.locator("#usage a").first.click()
    page.wait_for_selector(".listing .line.chosen")
    assert page.locator(".listing .line.chosen").get_attribute("data-line") == place.rpartition(":")[2]
