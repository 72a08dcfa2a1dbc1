"""What defines a name comes first where the name is the whole question, in every mode and ranking, in tests too."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher import Engine

ROUTER = '''class TestRouter:
    def db_for_write(self, model):
        return "other"


class AuthRouter:
    """Keeps users apart."""

    def db_for_read(self, model):
        return "auth"

    def db_for_write(self, model):
        return "auth"
'''
USE = "\n\n".join(
    f"def use_{i}(router, auth):\n    db = router.db_for_write(auth)\n    return db.write(router, auth)" for i in range(6)
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("exact")
    files = {
        "src/auth_router.py": USE + "\n",
        "src/router/db_for_write.py": '"""The auth router and its db for write."""\n' + USE + "\n",
        "src/utils.py": "def _func(name): ...\n\n\nclass ConnectionRouter:\n    db_for_write = _func('db_for_write')\n",
        "tests/routers.py": ROUTER,
        "src/color.ts": "export enum Color { Red, DarkBlue = 2 }\nexport interface Box { innerWidth: number }\n",
        "src/use.ts": "".join(f"export function f{i}(b: Box) {{ return b.innerWidth + Color.DarkBlue; }}\n" for i in range(9)),
        "src/cache.py": '"""The cache keeps what was asked for in a cache."""\n\n\ndef keep():\n    return "cache"\n',
        "src/other.py": "class Other:\n    cache = None\n",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


MODES = ("auto", "hybrid", "lexical", "dense", "symbol")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranking", ["default", "classic"])
def test_a_qualified_name_lists_its_definition_first(tree: Path, mode: str, ranking: str) -> None:
    answer = Engine.open(tree).search("AuthRouter.db_for_write", mode=mode, ranking=ranking)
    assert (answer.hits[0].path, answer.hits[0].symbol) == ("tests/routers.py", "AuthRouter.db_for_write")
    assert (tree / "tests/routers.py").read_text().split("\n")[answer.hits[0].line - 1] == "    def db_for_write(self, model):"
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("mode", MODES)
def test_every_definition_comes_before_every_use(tree: Path, mode: str) -> None:
    hits = Engine.open(tree).search("db_for_write", mode=mode, limit=20).hits
    defining = [hit.path in ("src/utils.py", "tests/routers.py") for hit in hits]
    assert defining == sorted(defining, reverse=True) and sum(defining) >= 2


def test_exact_text_that_is_a_name_lists_its_definitions_first(tree: Path) -> None:
    hits = Engine.open(tree).search("db_for_write", mode="literal", limit=20).hits
    defining = [hit.path in ("src/utils.py", "tests/routers.py") for hit in hits]
    assert defining == sorted(defining, reverse=True) and sum(defining) >= 2


def test_members_are_definitions(tree: Path) -> None:
    engine = Engine.open(tree)
    for name, qualified, kind in (
        ("db_for_write", "ConnectionRouter.db_for_write", "field"),
        ("Color.DarkBlue", "Color.DarkBlue", "enumerator"),
        ("innerWidth", "Box.innerWidth", "field"),
    ):
        assert (qualified, kind) in [(hit.qualified, hit.kind) for hit in engine.symbol(name).definitions]
    assert engine.search("Color.DarkBlue").hits[0].symbol == "Color.DarkBlue"
    assert engine.search("innerWidth").hits[0].path == "src/color.ts"


def test_a_plain_word_is_about_something_unless_definitions_are_requested(tree: Path) -> None:
    engine = Engine.open(tree)
    assert engine.search("cache").hits[0].path == "src/cache.py"
    assert engine.search("cache", mode="symbol").hits[0].path == "src/other.py"


def test_what_lifts_a_definition_is_reported(tree: Path) -> None:
    hit = Engine.open(tree).search("AuthRouter.db_for_write").hits[0]
    assert hit.why.stages[-1].stage == "exact"
    assert hit.score == pytest.approx(hit.why.fused * _product(hit.why.stages), rel=1e-6)


def _product(stages: object) -> float:
    product = 1.0
    for stage in stages:  # type: ignore[attr-defined]
        if stage.stage in ("scale", "further", "exact"):
            product *= stage.factor
    return product
