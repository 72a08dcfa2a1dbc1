"""A writer may die at any step: readers see a whole project all the same, and the next run completes it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lurcher import Engine
from lurcher.errors import IndexLocked
from lurcher.stores.base import Head, Question, Store, StoredFile
from lurcher.stores.query import sparse_vector
from tests.stores.conftest import write_tree

QUESTIONS = ("what counts the items", "Basket", "pay the bill", "shared words")


class Killed(BaseException):
    """As a signal would end the process: nothing may catch it."""


class Dying:
    """A store whose user dies once so many steps of writing are done; a file more is a step, and so is each call."""

    def __init__(self, store: Store, steps: int) -> None:
        self._store, self._left = store, steps

    def _step(self) -> None:
        if self._left <= 0:
            raise Killed
        self._left -= 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def close(self) -> None:
        pass

    def put(self, project: str, files: Iterable[StoredFile], born: int, done: Callable[[int], None]) -> None:
        def one_by_one() -> Iterator[StoredFile]:
            for file in files:
                self._step()
                yield file

        self._store.put(project, one_by_one(), born, done)
        self._step()

    def put_pages(self, project: str, pages: Mapping[str, bytes], born: int) -> None:
        self._step()
        half = dict(list(pages.items())[: len(pages) // 2])
        if half:
            self._store.put_pages(project, half, born)
            self._step()
        self._store.put_pages(project, pages, born)

    def adopt(self, project: str, keys: Sequence[str], born: int) -> None:
        self._step()
        self._store.adopt(project, keys, born)

    def retire(self, project: str, keys: Sequence[str], died: int) -> None:
        self._step()
        self._store.retire(project, keys[:1], died)
        self._step()
        self._store.retire(project, keys, died)

    def publish(self, project: str, head: Head) -> None:
        self._step()
        self._store.publish(project, head)

    def sweep(self, project: str, generation: int) -> int:
        self._step()
        return self._store.sweep(project, generation)


def before() -> dict[str, str]:
    return {
        "basket.py": 'class Basket:\n    """Counts the items of a customer."""\n\n    def count(self): return shared_words()\n',
        "till.py": 'def pay(bill):\n    """Pay the bill."""\n    return shared_words(bill)\n',
        "old.py": "def shared_words(*given):\n    return given\n",
        "gone.py": "class Forgotten:\n    shared_words = 1\n",
    }


def after() -> dict[str, str]:
    changed = before()
    del changed["gone.py"]
    changed["basket.py"] = 'class Basket:\n    """Weighs the goods."""\n\n    def weigh(self): return shared_words()\n'
    changed["fresh.py"] = 'def count_items(items):\n    """Counts the items now."""\n    return shared_words(len(items))\n'
    return changed


def later() -> dict[str, str]:
    changed = after()
    changed["gone.py"] = before()["gone.py"]  # what the killed writer had marked is wanted again
    del changed["fresh.py"]
    changed["till.py"] = 'def pay(bill):\n    """Pay the bill twice."""\n    return 2 * shared_words(bill)\n'
    return changed


def lay_out(root: Path, files: dict[str, str]) -> None:
    for path in root.glob("*.py"):
        path.unlink()
    write_tree(root, files)


def seen(store: Store, project: str) -> set[str]:
    """The texts that readers see."""
    head = store.head(project)
    assert head is not None
    question = Question(None, sparse_vector({"words": 1.0, "sharedwords": 1.0}))
    found = store.candidates(project, head.generation, question)
    texts = store.texts(project, [(item.key, 0) for item in found])
    assert len(texts) == len(found) == head.files
    return set(texts.values())


def answers(engine: Engine) -> list[list[tuple[str, float]]]:
    return [[(hit.id, round(hit.score, 6)) for hit in engine.search(text).hits] for text in QUESTIONS]


@pytest.fixture
def shop(tmp_path: Path, opened: Callable[..., Engine]) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    lay_out(root, before())
    opened(root).index()
    return root


def test_readers_never_see_half_a_project(
    place: str, shop: Path, store: Store, opened: Callable[..., Engine], local: Callable[..., Engine],
    use: Callable[[Any], None],
) -> None:  # fmt: skip
    """The writer is killed after each number of steps in turn (on slow stores every third), and so is the one after it,
    which has another tree."""
    stride = 1 if place.startswith("memory") else 3
    whole = [set(files.values()) for files in (before(), after(), later())]
    steps = 0
    while True:
        lay_out(shop, after())
        use(Dying(store, steps))
        first_died = dies(opened(shop))
        assert seen(store, "shop") in (whole[:2] if first_died else [whole[1]])
        lay_out(shop, later())
        use(Dying(store, steps // 2))
        second_died = dies(opened(shop))
        assert seen(store, "shop") in (whole if second_died else [whole[2]])
        use(store)
        engine = opened(shop)
        engine.index()
        assert seen(store, "shop") == whole[2]
        assert answers(engine) == answers(local(shop))
        assert {item.died for item in store.listing("shop")} == {None}
        if not first_died:
            break
        steps += stride
        lay_out(shop, before())
        opened(shop).index()
        assert seen(store, "shop") == whole[0]
    assert steps > 10


def dies(engine: Engine) -> bool:
    try:
        engine.index()
    except Killed:
        return True
    return False


def test_a_killed_rebuild_is_gone_on_with(
    shop: Path, store: Store, opened: Callable[..., Engine], use: Callable[[Any], None]
) -> None:
    use(Dying(store, 2))
    with pytest.raises(Killed):
        opened(shop).index(rebuild=True)
    assert seen(store, "shop") == set(before().values())
    left = {item.key for item in store.listing("shop") if item.born == 2}
    use(store)
    sent = opened(shop).index(rebuild=True)["sent"][0]
    assert sent["sent_files"] == 4 - len(left) and sent["kept_files"] == len(left)
    assert left <= {item.key for item in store.listing("shop")}
    assert seen(store, "shop") == set(before().values())


def test_two_machines_at_once(shop: Path, tmp_path: Path, store: Store, opened: Callable[..., Engine]) -> None:
    """Each writes the whole of what it has; whoever comes last is what is there."""
    other = tmp_path / "other"
    other.mkdir()
    lay_out(other, after())
    lay_out(shop, later())
    problems: list[BaseException] = []

    def index(root: Path) -> None:
        try:
            for _ in range(3):
                opened(root, project="shop").index()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=index, args=(root,)) for root in (shop, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not problems
    assert seen(store, "shop") in (set(after().values()), set(later().values()))


def test_a_writer_that_lost_its_lock_starts_over(
    shop: Path, store: Store, opened: Callable[..., Engine], use: Callable[[Any], None]
) -> None:
    """Somebody publishes between our look at the head and our own publication."""
    overtaken: list[int] = []

    class Overtaken(Dying):
        def publish(self, project: str, head: Head) -> None:
            if not overtaken:
                overtaken.append(head.generation)
                raise IndexLocked("overtaken", "")
            store.publish(project, head)

    lay_out(shop, after())
    use(Overtaken(store, 1000))
    assert opened(shop).index()["sent"][0]["changed"]
    assert overtaken == [2] and seen(store, "shop") == set(after().values())


@pytest.mark.parametrize("moments", [["candidates"], ["records"], ["texts"], ["records", "texts"]], ids="-".join)
def test_a_reader_retries_when_its_generation_is_replaced(
    shop: Path, store: Store, opened: Callable[..., Engine], use: Callable[[Any], None], moments: list[str]
) -> None:
    """What was seen in the old generation is swept while a question is under way."""
    many, moments = len(moments), list(moments)

    class Replaced:
        def __getattr__(self, name: str) -> Any:
            if moments and name == moments[0]:
                moments.pop(0)
                lay_out(shop, after() if moments else later())
                use(store)
                opened(shop).index()
                use(self)
            return getattr(store, name)

        def close(self) -> None:
            pass

    use(Replaced())
    answer = opened(shop).search("pay the bill")
    assert answer.index.shared["shop"]["generation"] == 1 + many and not moments
    assert "twice" in answer.hits[0].text


def test_little_is_written_for_a_little_change(
    shop: Path, store: Store, opened: Callable[..., Engine], use: Callable[[Any], None]
) -> None:
    written: dict[str, list[str]] = {"put": [], "put_pages": [], "retire": []}

    class Counted(Dying):
        def put(self, project: str, files: Iterable[StoredFile], born: int, done: Callable[[int], None]) -> None:
            kept = list(files)
            written["put"] += [file.path for file in kept]
            store.put(project, iter(kept), born, done)

        def put_pages(self, project: str, pages: Mapping[str, bytes], born: int) -> None:
            written["put_pages"] += list(pages)
            store.put_pages(project, pages, born)

        def retire(self, project: str, keys: Sequence[str], died: int) -> None:
            written["retire"] += list(keys)
            store.retire(project, keys, died)

    use(Counted(store, 1000))
    opened(shop).index()
    assert written == {"put": [], "put_pages": [], "retire": []}
    text = before()["till.py"].replace("Pay", "Settle")
    (shop / "till.py").write_text(text)
    progress: list[tuple[str, int, int]] = []
    opened(shop).index(progress=lambda *step: progress.append(step))
    assert written["put"] == ["till.py"] and len(written["retire"]) == 1
    pages = set(written["put_pages"])
    assert 0 < len([name for name in pages if name.startswith("w.")]) < 4
    # Of the index a new segment and manifest, and the old manifest, which is emptied.
    assert sorted(name.split(".")[2] for name in pages if name.startswith("f.")) == ["manifest", "manifest", "segment"]
    sent = [(done, total) for what, done, total in progress if what == "sending units to the store"]
    assert sent[0] == (0, 1) and sent[-1] == (1, 1)
