"""A hit is a file with its places: the same places as flat hits, in the same order, on pages that show each once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lurcher import Engine
from lurcher.answer import MAX_PLACES, count_tokens
from lurcher.types import Answer, Hit, Place, Why

_QUESTION = "how are redirects followed by a request"
_TOPICS = ("redirect", "cookie", "header")


def _module(topic: str, functions: int) -> str:
    """Functions of about one unit each."""
    rows = [f'"""Handles each {topic} of a request."""', ""]
    for i in range(functions):
        rows += ["", f"def follow_{topic}_{i}(request):", f'    """How the {topic} of request {i} is followed."""']
        rows += [f"    value_{j} = request.{topic}s[{j}] + followed({i}, {j})" for j in range(24)]
        rows += ["    return request", ""]
    return "\n".join(rows)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    root = tmp_path_factory.mktemp("places")
    for topic in _TOPICS:
        for part in range(4):
            (root / f"{topic}_{part}.py").write_text(_module(topic, 2 + 4 * part))
    with Engine.open(root) as opened:
        yield opened


def _lines(*answers: Answer) -> Counter[tuple[str, int]]:
    """How often each line is shown."""
    return Counter(
        (hit.path, line)
        for answer in answers
        for hit in answer.hits
        for place in hit.places
        for line in range(place.start_line, place.end_line + 1)
    )


def _pages(engine: Engine, **options: Any) -> list[Answer]:
    pages = [engine.search(_QUESTION, **options)]
    while pages[-1].next is not None:
        pages.append(engine.search(_QUESTION, cursor=pages[-1].next, **options))
        assert len(pages) < 300
    return pages


@pytest.mark.parametrize("ranking", ["default", "classic"])
@pytest.mark.parametrize("context", ["block", "function", "none"])
def test_the_limit_counts_files_and_further_places_come_with_them(engine: Engine, ranking: str, context: str) -> None:
    flat = engine.search(_QUESTION, flat=True, limit=100, ranking=ranking, context=context)
    assert all(len(hit.places) == 1 for hit in flat.hits)
    grouped = engine.search(_QUESTION, limit=3, ranking=ranking, context=context)
    expected: dict[str, list[Hit]] = {}
    for hit in flat.hits:
        if hit.path not in expected and len(expected) == 3:
            break
        expected.setdefault(hit.path, []).append(hit)
    assert [hit.path for hit in grouped.hits] == list(expected)
    for hit in grouped.hits:
        assert len(hit.places) <= MAX_PLACES
        assert [place.score for place in hit.places] == sorted((place.score for place in hit.places), reverse=True)
        first = expected[hit.path][0]
        assert (hit.score, hit.symbol) == (first.score, first.symbol)
        assert hit.start_line <= first.start_line <= first.end_line <= hit.end_line
        if len(expected[hit.path]) <= MAX_PLACES:
            assert _lines(grouped.replace(hits=(hit,))) == _lines(flat.replace(hits=tuple(expected[hit.path])))


@pytest.mark.parametrize("options", [{}, {"limit": 2}, {"context": "none"}, {"context": "function"}, {"snippet_lines": 5}])
def test_pages_show_each_place_once(engine: Engine, options: dict[str, Any]) -> None:
    flat, grouped = _pages(engine, flat=True, **options), _pages(engine, **options)
    assert _lines(*grouped) == _lines(*flat)
    assert sum(page.places_shown for page in grouped) == grouped[0].total == flat[0].total


@pytest.mark.parametrize("budget", [300, 700, 2000, 5000])
def test_a_budget_counts_every_place_exactly(engine: Engine, budget: int) -> None:
    pages = _pages(engine, budget=budget, limit=4)
    for answer in pages:
        places = [place for hit in answer.hits for place in hit.places]
        assert all(place.tokens == count_tokens(place.full_text) for place in places)
        assert [hit.tokens for hit in answer.hits] == [sum(place.tokens for place in hit.places) for hit in answer.hits]
        assert answer.tokens == sum(hit.tokens for hit in answer.hits) <= budget
    oversized = sum(bool(page.degraded) for page in pages)
    assert oversized or sum(page.places_shown for page in pages) == pages[0].total


def test_places_that_touch_are_one(engine: Engine) -> None:
    answer = engine.search(_QUESTION, limit=100)
    assert answer.places_shown > sum(len(hit.places) for hit in answer.hits)
    for hit in answer.hits:
        ranges = sorted((place.start_line, place.end_line) for place in hit.places)
        assert all(before[1] + 1 < after[0] for before, after in pairwise(ranges))


def test_budget_that_is_left_shows_whole_functions(tmp_path: Path) -> None:
    steps = [f"    total += weigh_parcel(order.parcels[{i}], rates[{i}])  # parcel {i}" for i in range(90)]
    rows = ["def price_order(order, rates):", "    total = 0", *steps, "    return total", ""]
    (tmp_path / "shop.py").write_text("\n".join(rows))
    with Engine.open(tmp_path) as shop:
        part = shop.search("weigh parcel 3", limit=1, flat=True).hits[0]
        whole = shop.search("weigh parcel 3", limit=1, budget=8000).hits[0]
        tight = shop.search("weigh parcel 3", limit=1, budget=part.tokens + 900).hits[0]
    assert (whole.start_line, whole.end_line, whole.headers) == (1, 93, ())
    assert part.end_line - part.start_line < 50
    assert tight.end_line - tight.start_line < 92


def test_headers_name_the_definitions_around_a_place(tmp_path: Path) -> None:
    steps = [f"            self.weigh_parcel(order, {i})  # step {i}" for i in range(90)]
    rows = ["class Shop:", "    def price(", "        self,", "        order,", "    ):", "        if order:", *steps, ""]
    (tmp_path / "shop.py").write_text("\n".join(rows))
    with Engine.open(tmp_path) as shop:
        answer = shop.search("weigh parcel step 80", limit=1, snippet_lines=6)
        flat = shop.search("weigh parcel step 80", limit=1, snippet_lines=6, flat=True)
    hit = answer.hits[0]
    assert hit.headers == ((1, "class Shop"), (2, "    def price( self, order, )"))
    assert hit.places[0].full_text.startswith("class Shop …\n    def price( self, order, ) …\n            self.weigh")
    assert answer.to_dict()["hits"][0]["headers"][0] == {"line": 1, "text": "class Shop"}
    assert flat.hits[0].headers == ()


def test_a_place_within_decorators_has_no_header_for_what_they_decorate(tmp_path: Path) -> None:
    rows = "".join(f'    ("case {i}", {i}),\n' for i in range(30))
    (tmp_path / "test_kettle.py").write_text(f"@cases(\n{rows})\ndef boil_kettle(case):\n    return case\n")
    with Engine.open(tmp_path) as engine:
        (hit,) = engine.search("boil kettle", snippet_lines=2).hits
    assert hit.start_line > 1 and "def boil_kettle" in hit.text and hit.headers == ()


def test_the_same_question_gives_the_same_bytes(engine: Engine) -> None:
    first, second = (engine.search(_QUESTION, budget=3000).to_dict() for _ in range(2))
    first["timings_ms"] = second["timings_ms"] = {}
    assert json.dumps(first) == json.dumps(second)


def test_json_has_all_places_and_the_first_one_is_the_hit(engine: Engine) -> None:
    answer = engine.search(_QUESTION, limit=3)
    for hit, data in zip(answer.hits, answer.to_dict()["hits"], strict=True):
        first, *further = data["places"]
        assert "text" not in first
        assert {name: data[name] for name in first if name != "tokens"} == {
            name: value for name, value in first.items() if name != "tokens"
        }
        assert [place["text"] for place in further] == [place.text for place in hit.further]
        assert all(place["why"]["lanes"] for place in further)
        assert data["tokens"] == sum(place["tokens"] for place in data["places"])
    assert any(hit.further for hit in answer.hits)


def test_exact_matches_are_not_grouped(engine: Engine) -> None:
    answer = engine.search("def follow_redirect", mode="literal", limit=50)
    assert len(answer.hits) > len({hit.path for hit in answer.hits})
    assert all(len(hit.places) == 1 for hit in answer.hits)


def test_places_of_code_are_grouped_among_other_sources(engine: Engine, repository: Path) -> None:
    with Engine.open(repository) as mixed:
        whole = mixed.search("how are redirects followed", sources=["all"], limit=5)
    assert len(whole.hits) == 5
    code = [hit.path for hit in whole.hits if hit.source == "code"]
    assert len(code) == len(set(code))
    assert all(len(hit.places) == 1 for hit in whole.hits if hit.source != "code")


def test_a_hit_splits_into_its_places_and_back() -> None:
    first = Hit("id", "code", "a.py", 1, 2, "python", "f", "function", 0.5, 3, "x\n", Why(), line=2)
    further = Place(8, 9, "g", "function", 0.4, 4, "y\n", Why(), line=9)
    both = first.with_places((*first.places, further))
    assert (both.tokens, both.start_line, both.further) == (7, 1, (further,))
    assert both.places == (*first.places, further)
    assert [(hit.start_line, hit.symbol, hit.tokens, hit.further) for hit in both.split()] == [(1, "f", 3, ()), (8, "g", 4, ())]
    assert both.split()[0] == first
