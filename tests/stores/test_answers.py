"""The same hits for the same data, whichever store has it: compared with the local index, to the last digit of the score."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lurcher import Engine
from lurcher.stores import search
from lurcher.types import Answer
from tests.conftest import write_repository

REPORT = """Client gives up after one redirect

When the server answers with a redirect chain, `Client.follow_redirects` stops:

```
Traceback (most recent call last):
  File "/usr/lib/shop/src/client.py", line 14, in follow_redirects
ConnectionError: gave up after all retries
```
"""
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("how are redirects followed", {}),
    ("idle connections", {}),
    ("where are expired entries evicted", {"limit": 3}),
    ("follow the Location header", {}),
    ("Client.retry", {}),
    ("parse_cookie", {}),
    ("getUserById", {}),
    ("Pool", {}),
    ("no_such_name_anywhere", {}),
    (REPORT, {}),
    ("redirects", {"mode": "lexical"}),
    ("what keeps responses", {"mode": "dense"}),
    ("redirects of a request", {"fusion": "linear"}),
    ("redirects of a request", {"fusion": "linear", "mmr": 0.5}),
    ("redirects", {"languages": ["typescript"]}),
    ("redirects", {"paths": ["src/*.py"]}),
    ("redirects", {"excludes": ["src"]}),
    ("step saw too many redirects", {"limit": 40, "snippet_lines": 3}),
    ("step saw too many redirects", {"budget": 900}),
    ("acquire a connection", {"context": "function"}),
    ("redirects", {"context": "class"}),
    ("zzzz qqqq", {}),
]


def same(ours: Answer, theirs: Answer) -> None:
    assert [hit.id for hit in ours.hits] == [hit.id for hit in theirs.hits]
    for mine, other in zip(ours.hits, theirs.hits, strict=True):
        assert mine.score == pytest.approx(other.score, abs=1e-6)
        assert (mine.path, mine.start_line, mine.end_line, mine.symbol, mine.kind, mine.language, mine.tokens, mine.text) == (
            other.path, other.start_line, other.end_line, other.symbol, other.kind, other.language, other.tokens, other.text,
        )  # fmt: skip
    assert (ours.mode, ours.intent, ours.ranking) == (theirs.mode, theirs.intent, theirs.ranking)


@pytest.fixture
def pair(
    tmp_path: Path, opened: Callable[..., Engine], local: Callable[..., Engine]
) -> tuple[Engine, Engine]:
    """The same project through the store and through its local index."""
    root = tmp_path / "shop"
    root.mkdir()
    write_repository(root)
    engine = opened(root)
    engine.index()
    return engine, local(root)


def test_every_kind_of_question_has_the_same_hits(pair: tuple[Engine, Engine]) -> None:
    through, here = pair
    for text, options in QUESTIONS:
        ours, theirs = through.search(text, **options), here.search(text, **options)
        same(ours, theirs)
        assert not ours.index.fresh and ours.index.shared
        assert not [note for note in ours.degraded if note.stage in ("store", "freshness", "dense")], (text, ours.degraded)


def test_an_update_sends_what_changed_and_is_seen(pair: tuple[Engine, Engine], tmp_path: Path) -> None:
    through, here = pair
    root = tmp_path / "shop"
    (root / "src/cookies.py").write_text("def bake_cookie(oven):\n    return oven.bake()\n")
    (root / "server/pool.go").unlink()
    (root / "src/queue.py").write_text("class PriorityQueue:\n    def push(self, item): ...\n")
    sent = through.index()["sent"][0]
    assert (sent["sent_files"], sent["removed_files"], sent["generation"], sent["changed"]) == (2, 2, 2, True)
    for text in ("bake cookies in the oven", "PriorityQueue", "idle connections", "parse_cookie", "how are redirects followed"):
        same(through.search(text), here.search(text))
    again = through.index()["sent"][0]
    assert (again["sent_files"], again["generation"], again["changed"]) == (0, 2, False)


def test_pages_go_on_where_the_last_one_ended(pair: tuple[Engine, Engine]) -> None:
    through, here = pair
    ours, theirs = (engine.search("step saw too many redirects", limit=2) for engine in pair)
    for _ in range(3):
        same(ours, theirs)
        assert ours.next and theirs.next
        ours = through.search("step saw too many redirects", limit=2, cursor=ours.next)
        theirs = here.search("step saw too many redirects", limit=2, cursor=theirs.next)


def test_few_candidates_give_nearly_the_same_order(
    tmp_path: Path, opened: Callable[..., Engine], local: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where not every file is fetched, statistics are still those of the whole project."""
    root = tmp_path / "wide"
    root.mkdir()
    write_repository(root)
    for i in range(60):
        text = f'"""Filler {i}."""\n\n\ndef fill_{i}(request):\n    """Counts requests."""\n    return request.count + {i}\n'
        (root / f"src/filler_{i}.py").write_text(text)
    monkeypatch.setattr(search, "CANDIDATES", 20)
    monkeypatch.setattr(search, "DEPTH", 60)
    through, here = opened(root), local(root)
    through.index()
    for text in ("how are redirects followed", "Client.retry", "parse cookies", "evict expired entries", "getUserById"):
        ours, theirs = through.search(text, limit=3), here.search(text, limit=3)
        assert [hit.id for hit in ours.hits][:1] == [hit.id for hit in theirs.hits][:1], text
        assert ours.hits[0].score == pytest.approx(theirs.hits[0].score, abs=0.01)
        mine, other = (hits[0].why.lanes["lexical"].terms for hits in (ours.hits, theirs.hits))
        assert mine == pytest.approx(other, rel=0.05), text
    common = [engine.search("counts requests", mode="lexical", limit=1).hits[0].why for engine in (through, here)]
    mine, other = (why.lanes["lexical"].terms for why in common)
    assert mine == pytest.approx(other, rel=0.25)  # two thirds of the files that have these words were not fetched


def test_two_projects_are_searched_together_and_separately(tmp_path: Path, opened: Callable[..., Engine]) -> None:
    """The same paths and words in both; nothing of one is in the answer of the other."""
    roots = []
    for name in ("alpha", "beta"):
        root = tmp_path / name
        (root / "src").mkdir(parents=True)
        (root / "src/secret.py").write_text(f'def vault_code():\n    """The code of the vault."""\n    return "{name}"\n')
        opened(root).index()
        roots.append(root)
    for root in roots:
        answer = opened(root).search("vault_code")
        assert [hit.path for hit in answer.hits] == ["src/secret.py"] and root.name in answer.hits[0].text
        assert list(answer.index.shared) == [root.name]
    both = opened(tmp_path, project=["alpha", "beta"]).search("code of the vault")
    assert sorted(hit.path for hit in both.hits) == ["alpha/src/secret.py", "beta/src/secret.py"]
    assert list(both.index.shared) == ["alpha", "beta"]
    elsewhere = tmp_path / "empty"
    elsewhere.mkdir()
    far = opened(elsewhere, project="beta").search("vault_code")
    assert [hit.path for hit in far.hits] == ["src/secret.py"] and "beta" in far.hits[0].text
    assert not (elsewhere / ".lurcher").exists()
