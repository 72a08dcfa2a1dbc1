"""How many units have any form of a word is exact for a whole project, however few of its files a search fetches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from lurcher import Engine
from lurcher.config import Settings
from lurcher.query import expand
from lurcher.stores import overlaps, search
from lurcher.stores.base import Head, Store
from lurcher.stores.overlaps import count_shared, decode_page, family_of, page_name
from lurcher.stores.search import StoreSearcher
from lurcher.stores.vocabulary import Vocabulary, count_terms, encode_pages
from lurcher.terms.vocabulary import list_abbreviations
from lurcher.types import silent
from tests.stores.conftest import write_tree

WORDS = ("connect", "connects", "connected", "connecting", "connection", "connections", "conn", "retry", "retries", "conf")
ASKED = ("connection", "connects", "conn", "retrying", "configuration", "config", "retries", "nothing")


def texts() -> dict[str, str]:
    """Files that have some of the words, each another choice of them; one is in no git, and each is a unit or two."""
    chosen = [choice for size in (1, 2, 3) for choice in combinations(WORDS, size)]
    return {f"src/file{n}.py": f"def part{n}():\n    return {' + '.join(choice)}\n" for n, choice in enumerate(chosen[::3])}


@pytest.fixture
def tree(tmp_path: Path, local: Callable[..., Engine]) -> Path:
    """A project of several segments, in which some files are gone."""
    root = write_tree(tmp_path / "project", texts())
    with local(root) as engine:
        engine.index()
        write_tree(root, {f"src/later{n}.py": f"connected = conf + retries{n}\n" for n in range(9)})
        for number in range(0, 30, 3):
            (root / f"src/file{number}.py").unlink()
        engine.index()
    return root


def test_the_number_is_that_of_the_local_index_for_any_forms(tree: Path, local: Callable[..., Engine]) -> None:
    with local(tree) as engine:
        snapshot = engine.projects[0].view(silent).snapshot
        assert len(snapshot.segments) > 1
        words, shared = count_terms(snapshot)
        pages = dict(encode_pages(words, {}, shared))

        def fetch(names: Sequence[str]) -> Mapping[str, bytes]:
            return {name: pages[name] for name in names if name in pages}

        known = Vocabulary(fetch, overlaps=True)
        for group in expand(snapshot, [(word, 1.0) for word in ASKED]):
            forms = (group.word, *group.forms)
            for some in (choice for size in range(1, len(forms) + 1) for choice in combinations(forms, size)):
                assert known.units_with_any(some) == units_with(snapshot, some), some


def units_with(snapshot: Any, terms: Sequence[str]) -> int:
    from lurcher.lanes.lexical import FIELD_WEIGHTS, _sum_frequencies
    from lurcher.query import Group

    return len(_sum_frequencies(snapshot, Group(terms[0], 1.0, tuple(terms[1:])), FIELD_WEIGHTS)[0])


def weights_of(hit: Any) -> dict[str, float]:
    """What each word adds, which has its rarity."""
    return dict(hit.why.lanes["lexical"].terms)


def test_all_forms_of_a_word_are_of_one_family() -> None:
    for long, short in list_abbreviations():
        assert family_of(long) == family_of(short)
    assert family_of("retries") == family_of("retrying") == family_of("retry")
    assert family_of("configured") != family_of("connected")


def test_a_search_weighs_words_as_the_local_index_though_it_fetches_few_files(
    tree: Path, store: Store, opened: Callable[..., Engine], local: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "CANDIDATES", 6)
    opened(tree).index()
    with local(tree) as here:
        for text in ("connections that retried", "configured connects"):
            ours, theirs = here.search(text, limit=200), opened(tree).search(text, limit=2)
            assert theirs.at_least, "what was counted in a few files is not all there is"
            assert not ours.at_least
            found = {hit.path: weights_of(hit) for hit in ours}
            assert len(theirs) == 2
            for hit in theirs:
                assert weights_of(hit) == pytest.approx(found[hit.path])


def test_what_an_older_version_wrote_is_estimated_until_it_is_written_again(
    tree: Path, store: Store, opened: Callable[..., Engine]
) -> None:
    name = "project"
    opened(tree).index()
    head = store.head(name)
    assert head is not None
    assert head.more[overlaps.HEAD_KEY] == overlaps.FORMAT
    with store.writing(name, 1):
        more = {key: value for key, value in head.more.items() if key != overlaps.HEAD_KEY}
        old = Head(head.generation + 1, head.fingerprint, head.written, head.commit, head.files, head.units, head.dims, more)
        store.publish(name, old)
    searcher = StoreSearcher(store, [name], Settings())
    assert searcher._vocabulary(name, old).units_with_any(("connected", "connection")) is None
    assert opened(tree).search("connections that retried").hits
    assert opened(tree).index() is not None
    now = store.head(name)
    assert now is not None
    assert now.more[overlaps.HEAD_KEY] == overlaps.FORMAT
    assert searcher._vocabulary(name, now).units_with_any(("connected", "connection"))


def test_a_family_of_very_many_terms_is_left_out(
    tmp_path: Path, local: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlaps, "_MAX_TERMS", 3)
    root = write_tree(tmp_path / "many", texts())
    with local(root) as engine:
        words, shared = count_terms(engine.projects[0].view(silent).snapshot)
    pages = dict(encode_pages(words, {}, shared))
    family = family_of("connection")
    assert decode_page(pages[page_name(family)])[family] is None
    known = Vocabulary(lambda names: {name: pages[name] for name in names if name in pages}, overlaps=True)
    assert known.units_with_any(("connection", "connected")) is None


def test_a_damaged_page_is_an_error_of_the_store() -> None:
    from lurcher.errors import StoreError
    from lurcher.stores.records import encode

    for text in (b"[]", b"{", b'{"a": 1}', b'{"a": [["b"], [["x", 1]]]}'):
        with pytest.raises(StoreError):
            decode_page(encode(text))


def test_shared_units_are_subtracted_once_for_each_further_form() -> None:
    family = {"a": 0, "b": 1, "c": 2}, {0b011: 5, 0b111: 2}
    assert count_shared(family, ["a", "b"]) == 7
    assert count_shared(family, ["a", "b", "c"]) == 9
    assert count_shared(family, ["b", "c"]) == 2
    assert count_shared(family, ["c", "unknown"]) == 0
