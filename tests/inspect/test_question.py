"""Questions in words about who uses a name: which are recognised, and that the table comes before the hits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lurcher.engine import Engine
from lurcher.query import read_usage_question
from lurcher.surfaces.cli import main
from lurcher.types import Answer

FILES = {
    "shop/base.py": "class Base:\n    def send(self):\n        return None\n",
    "shop/client.py": (
        "from shop.base import Base\n\n\nclass Client(Base):\n    def send(self):\n        return prepare(self)\n\n\n"
        "def prepare(client):\n    return client\n"
    ),
    "shop/cart.py": (
        "from shop.client import Client, prepare\n\ncolour = 'red'\n\n\ndef buy():\n    prepare(Client())\n    return colour\n"
    ),
    "tests/test_cart.py": "from shop.cart import buy\n\n\ndef test_buy():\n    buy()\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("questions")
    for name, text in FILES.items():
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text(text)
    return top


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[Engine]:
    with Engine.open(folder) as found:
        yield found


@pytest.mark.parametrize(
    ("text", "show", "name"),
    [
        ("who calls prepare", "callers", "prepare"),
        ("Who calls `prepare`?", "callers", "prepare"),
        ("callers of shop.client.prepare", "callers", "shop.client.prepare"),
        ("find all callers of the function prepare()", "callers", "prepare"),
        ("where is `Client::send` used", "uses", "Client::send"),
        ("where is the class Client used?", "uses", "Client"),
        ("references to Client", "uses", "Client"),
        ("what implements `Base`", "implementations", "Base"),
        ("subclasses of Base", "implementations", "Base"),
        ("what overrides Base.send", "implementations", "Base.send"),
        ("tests for `buy`", "tests", "buy"),
        ("which tests cover buy", "tests", "buy"),
        ("what does prepare call", "callees", "prepare"),
    ],
)
def test_shapes(text: str, show: str, name: str) -> None:
    found = read_usage_question(text)
    assert found is not None and (found.show, found.name) == (show, name)


@pytest.mark.parametrize(
    "text",
    [
        "who calls", "where is the retry limit applied", "where is Client defined", "prepare", "tests for the shopping cart",
        "what implements retry with backoff", "who calls a b", "who calls 12", "callers", "", "who calls `two names`",
        "where is x used " * 50, "who uses ../../etc",
    ],
)  # fmt: skip
def test_other_queries_are_no_such_questions(text: str) -> None:
    assert read_usage_question(text) is None


def listed(answer: Answer) -> list[tuple[str, int]]:
    return [(entry.path, entry.line) for entry in answer.usage.entries]


def test_the_table_comes_before_the_hits(engine: Engine) -> None:
    answer = engine.search("who calls `prepare`")
    assert answer.intent == "callers" and answer.hits
    assert listed(answer) == [("shop/cart.py", 6), ("shop/client.py", 5)]
    plain = engine.search("who calls `prepare`", mode="hybrid")
    assert plain.usage is None and plain.intent == "natural-language"
    assert [hit.id for hit in plain.hits] == [hit.id for hit in answer.hits]


def test_each_kind_is_answered(engine: Engine) -> None:
    assert listed(engine.search("where is Client used")) == [("shop/cart.py", 1), ("shop/cart.py", 7)]
    assert listed(engine.search("what implements Base")) == [("shop/client.py", 4)]
    assert listed(engine.search("tests for prepare")) == [("tests/test_cart.py", 4)]
    assert listed(engine.search("what does buy call")) == [("shop/client.py", 4), ("shop/client.py", 9)]
    assert listed(engine.search("callers of Base.send", limit=1)) == []  # nobody calls it, which is said


def test_a_name_that_nothing_has_is_searched_for(engine: Engine) -> None:
    answer = engine.search("who calls unheard_of")
    assert answer.usage is None and answer.intent == "natural-language"
    assert "references" not in answer.to_dict()


def test_an_ordinary_word_has_to_name_a_function_or_type_unless_in_backticks(engine: Engine) -> None:
    assert engine.search("where is colour used").usage is None
    assert listed(engine.search("where is `colour` used")) == [("shop/cart.py", 8)]


def test_filters_apply_to_the_table(engine: Engine) -> None:
    assert listed(engine.search("who calls prepare", paths=["shop/cart.py"])) == [("shop/cart.py", 6)]
    answer = engine.search("who calls prepare", languages=["go"])
    assert listed(answer) == [] and answer.usage.answer.total == 0


def test_table_and_hits_share_the_budget_and_pages_go_on_with_hits(engine: Engine) -> None:
    for budget in (1, 30, 80, 200):
        answer = engine.search("who calls prepare", budget=budget)
        assert answer.tokens <= budget
    first = engine.search("who calls prepare", budget=120, limit=1)
    assert first.usage is not None and first.next is not None
    second = engine.search("who calls prepare", budget=120, limit=1, cursor=first.next)
    assert second.usage is None and second.hits and second.hits[0].id != first.hits[0].id


def run(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["search", *arguments, str(folder)])
    return code, capsys.readouterr().out


def test_the_command_shows_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run(folder, capsys, "who calls prepare")
    assert code == 0 and text.startswith("function prepare at")
    assert text.index("Client.send  call") < text.index("\n\n") < text.index("def prepare(client)")
    code, text = run(folder, capsys, "who calls prepare", "--json")
    value: dict[str, Any] = json.loads(text)
    assert code == 0 and value["intent"] == "callers"
    assert {"show", "name", "definitions", "entries", "total"} == set(value["references"])
    assert value["references"]["total"] == 2 and value["references"]["definitions"][0]["path"] == "shop/client.py"


def test_all_sources_too(engine: Engine) -> None:
    assert engine.search("who calls prepare", sources=["code", "notes"]).intent == "callers"
