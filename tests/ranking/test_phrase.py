"""A query of a few plain words, found as it stands, is one more sign."""

from __future__ import annotations

import pytest

from lurcher.query import compile_phrase, make_plan
from tests.small import snapshot_of

FILES = {
    "src/a.py": "def pool():\n    # the limit of a connection, and then a pool\n    return 'limit connection pool limit'\n",
    "src/b.py": "def pool():\n    # enforces the connection pool limit\n    return 'limit'\n",
}


@pytest.mark.parametrize(("text", "phrase"), [
    ("connection pool limit", True), ("retry-after header", True), ("follow", False), ("what is a pool?", False),
    ("how are redirects followed by the client", False), ("foo(bar) baz", False), ("two\nlines", False),
])  # fmt: skip
def test_which_queries_are_phrases(text: str, phrase: bool) -> None:
    assert (compile_phrase(text) is not None) == phrase


def test_the_literal_lane_joins_the_others_and_does_not_replace_them() -> None:
    snapshot = snapshot_of(FILES)
    plan = make_plan("connection pool limit", "auto", snapshot)
    assert plan.mode == "hybrid" and plan.lanes == ("lexical", "symbol", "dense", "literal")
    assert make_plan("connection pool limit", "lexical", snapshot).lanes == ("lexical",)
    assert "literal" not in make_plan("how are pools limited here", "auto", snapshot).lanes


def test_a_file_that_says_it_word_for_word_gains(tmp_path_factory: pytest.TempPathFactory) -> None:
    from lurcher import Engine

    root = tmp_path_factory.mktemp("tree")
    for name, text in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    for ranking, stage in (("default", "phrase"), ("classic", None)):
        hits = {hit.path: hit for hit in Engine.open(root, root=root).search("pool limit", ranking=ranking).hits}
        assert set(hits) == set(FILES)
        if stage:
            assert [item.note for item in hits["src/b.py"].why.stages if item.stage == stage] == ["says pool limit"]
        assert hits["src/b.py"].why.lanes["literal"].rank >= 1
        assert hits["src/b.py"].text.startswith("def pool():\n")  # shown whole, not cut to the phrase
