"""References with a SCIP index loaded: it decides about the files whose text has not changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lurcher.engine import Engine
from lurcher.sources import scip
from lurcher.sources.scip import Document, Index, Occurrence, Relationship, Symbol

FILES = {
    "shop/cart.py": (
        "class Cart:\n    def add(self, item):\n        return item\n\n\nclass Gift(Cart):\n    def add(self, item): ...\n"
    ),
    "shop/till.py": "def pay(cart, gift, other):\n    cart.add(1)\n    gift.add(2)\n    other.add(3)\n",
    "shop/late.py": "from shop.cart import Cart\n\nCart().add(4)\n",
}
PACKAGE = ("scip-test", "pip", "shop", "1")
CART_ADD, GIFT_ADD = (
    scip.make_symbol(PACKAGE, [("shop.cart", "/"), (owner, "#"), ("add", "().")]) for owner in ("Cart", "Gift")
)
DOCUMENTS = [
    Document(
        "shop/cart.py", "python",
        (Occurrence((1, 8, 1, 11), CART_ADD, scip.DEFINITION), Occurrence((6, 8, 6, 11), GIFT_ADD, scip.DEFINITION)),
        (Symbol(GIFT_ADD, relationships=(Relationship(CART_ADD, is_reference=True),)),),
    ),
    Document("shop/till.py", "python", (Occurrence((1, 9, 1, 12), CART_ADD), Occurrence((2, 9, 2, 12), GIFT_ADD))),
]  # fmt: skip


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    for name, text in FILES.items():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text(text)
    index = tmp_path / "index.scip"
    index.write_bytes(b"".join(scip.encode_index(Index("scip-test", "1", "", DOCUMENTS))))
    later = max(path.stat().st_mtime_ns for path in tmp_path.rglob("*")) + 10**9
    os.utime(index, ns=(later, later))
    with Engine.open(tmp_path / "tree") as opened:
        opened.index(scip=[index])
        yield opened


def found(engine: Engine, target: str) -> set[tuple[str, int, str, str]]:
    answer: dict[str, Any] = engine.references(target).to_dict()
    return {(item["path"], item["line"], item["resolution"], item["how"]) for item in answer["references"]}


def test_what_the_indexer_says_is_resolved_and_what_it_does_not_know_a_candidate(engine: Engine) -> None:
    """Receivers without a type cannot be resolved by lurcher itself; a file that is not covered is."""
    uses = found(engine, "shop/cart.py:2:9")
    assert ("shop/till.py", 2, "resolved", "scip") in uses
    assert ("shop/till.py", 3, "candidate", "override") in uses  # Gift.add may stand for Cart.add
    assert {use[2] for use in uses if use[:2] == ("shop/till.py", 4)} <= {"candidate"}
    assert {use[2] for use in uses if use[:2] == ("shop/late.py", 3)} == {"resolved"}
    assert all(how != "scip" for path, _, _, how in uses if path == "shop/late.py")


def test_a_place_of_a_use_leads_to_its_definition(engine: Engine) -> None:
    answer = engine.references("shop/till.py:3:10").to_dict()
    assert [(place["path"], place["line"]) for place in answer["definitions"]] == [("shop/cart.py", 7)]
    assert ("shop/till.py", 3, "resolved", "scip") in found(engine, "shop/till.py:3:10")
    assert ("shop/till.py", 2, "resolved", "scip") in found(engine, "shop/till.py:2:10")


def test_callers_are_those_of_the_indexer(engine: Engine) -> None:
    calls = engine.calls("shop/cart.py:2:9").to_dict()["calls"]
    assert "pay" in {call["name"] for call in calls}


def test_a_changed_file_is_answered_without_it(engine: Engine) -> None:
    path = engine.roots[0] / "shop/till.py"
    path.write_text("# a line more\n" + FILES["shop/till.py"])
    assert all(how != "scip" for _, _, _, how in found(engine, "shop/cart.py:2:9"))


def test_damaged_edges_are_a_note(engine: Engine) -> None:
    (engine.roots[0] / ".lurcher/scip").write_bytes(b"x")
    answer = engine.references("shop/cart.py:2:9").to_dict()
    assert ["scip" in str(note) for note in answer["degraded"]] == [True]
    assert answer["references"]


@pytest.mark.parametrize(("place", "symbol"), [("shop/cart.py:2:9", CART_ADD), ("shop/cart.py:7:9", GIFT_ADD)])
def test_the_answer_is_that_of_the_indexer(engine: Engine, place: str, symbol: str) -> None:
    """In the files that it covers, the resolved uses are its references, each of them and no other."""
    covered = {document.path for document in DOCUMENTS}
    own = {
        (document.path, occurrence.range[0] + 1, occurrence.range[1] + 1)
        for document in DOCUMENTS for occurrence in document.occurrences
        if occurrence.symbol == symbol and not occurrence.roles & scip.DEFINITION
    }  # fmt: skip
    uses = engine.references(place).references
    resolved = [use for use in uses if use.resolution == "resolved" and use.path in covered]
    assert {(use.path, use.line, use.column) for use in resolved} == own
    assert {use.how for use in resolved} == {"scip"}
