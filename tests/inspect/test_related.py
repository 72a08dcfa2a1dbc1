"""Units like one another: found by the words they share and by meaning, never the unit itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher import Engine
from lurcher.errors import CursorError, PathError, QueryError

FILES = {
    "src/orders.py": "def total_price(order):\n    return sum(item.price * item.quantity for item in order.items)\n",
    "src/invoice.py": "def invoice_total(invoice):\n    return sum(item.price * item.quantity for item in invoice.items)\n",
    "src/paths.py": "def normalise(path):\n    return path.replace('//', '/').rstrip('/')\n",
    "tests/test_orders.py": "def test_total_price():\n    assert total_price(order(item(price=2, quantity=3))) == 6\n",
    "src/empty.py": "",
}


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    for name, text in FILES.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Engine.open(tmp_path / "tree", root=tmp_path / "tree")


def test_code_that_does_the_same_comes_first_and_itself_never(engine: Engine) -> None:
    answer = engine.related("src/orders.py", 2)
    paths = [hit.path for hit in answer.hits]
    assert paths[0] == "src/invoice.py" and "tests/test_orders.py" in paths
    assert "src/orders.py" not in paths
    assert (answer.mode, answer.intent, answer.ranking, answer.query) == ("related", "related", "related", "src/orders.py:2")
    why = answer.hits[0].why
    assert {"price", "quantity"} <= set(why.lanes["lexical"].terms)
    assert [stage.stage for stage in why.stages] == ["words", "meaning"]


def test_without_a_model_words_alone_decide(tmp_path: Path, engine: Engine) -> None:
    plain = Engine.open(tmp_path / "tree", root=tmp_path / "tree", overrides={"dense.model": "none"})
    answer = plain.related("src/orders.py", 1)
    assert answer.hits[0].path == "src/invoice.py" and answer.hits[0].score == pytest.approx(1.0)


def test_other_parts_of_the_same_file_come_later(engine: Engine, tmp_path: Path) -> None:
    body = "    rows = sum(item.price * item.quantity for item in order.items)\n" * 40
    (tmp_path / "tree/src/twice.py").write_text(f"def one(order):\n{body}\n\ndef two(order):\n{body}")
    answer = engine.related("src/twice.py", 3)
    same = next(hit for hit in answer.hits if hit.path == "src/twice.py")
    assert [stage.factor for stage in same.why.stages if stage.stage == "same-file"] == [0.5]


def test_filters_pages_and_budgets_hold(engine: Engine) -> None:
    assert {hit.path for hit in engine.related("src/orders.py", 1, paths=["tests"]).hits} == {"tests/test_orders.py"}
    first = engine.related("src/orders.py", 1, limit=1)
    second = engine.related("src/orders.py", 1, limit=1, cursor=first.next)
    assert first.hits[0].path != second.hits[0].path
    with pytest.raises(CursorError):
        engine.related("src/invoice.py", 1, limit=1, cursor=first.next)
    assert engine.related("src/orders.py", 1, budget=30).tokens <= 30


def test_addresses_do_not_make_code_alike(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "tree/src/a.py").write_text("# see https://example.org/wiki/first-place\nzebra = 1\n")
    (tmp_path / "tree/src/b.py").write_text("# see https://example.org/wiki/first-place\ncrocodile = 2\n")
    assert "wiki" not in {word for hit in engine.related("src/a.py", 2).hits for word in hit.why.lanes["lexical"].terms}


@pytest.mark.parametrize(("path", "line", "error"), [
    ("src/orders.py", 99, QueryError), ("src/orders.py", 0, QueryError), ("src/empty.py", 1, QueryError),
    ("src", 1, PathError), ("nowhere.py", 1, PathError),
])  # fmt: skip
def test_what_is_not_there_is_an_error(engine: Engine, path: str, line: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        engine.related(path, line)
