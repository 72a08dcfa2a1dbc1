"""Many threads ask one engine at once, and each gets the answer that one thread gets."""

from __future__ import annotations

import json
import random
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lurcher.engine import Engine
from tests.conftest import git
from tests.indexing.test_generation import ASKED, write_tree
from tests.indexing.test_generation import edit as change

PASSING = ("timings_ms", "age_seconds", "checked", "bytes", "size_bytes", "mtime", "updated")
"""What differs between two answers to the same question."""


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key not in PASSING}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def told(engine: Engine, name: str) -> str:
    """What one question is answered with, or how it fails."""
    try:
        return json.dumps(plain(ASKED[name](engine)), sort_keys=True, default=str)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def together(count: int, work: Callable[[int], None]) -> None:
    start = threading.Barrier(count)

    def run(number: int) -> None:
        start.wait(60)
        work(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
        assert not thread.is_alive()


def test_threads_get_the_answers_that_one_thread_gets(tmp_path: Path, switching: None) -> None:
    root = write_tree(tmp_path)
    names = [name for name in ASKED if name != "look"]
    with Engine.open(root) as engine:
        engine.index(history=True)
        wanted = {name: told(engine, name) for name in names}
    assert [name for name in names if wanted[name].startswith(("KeyError", "TypeError", "AttributeError"))] == []
    wrong: list[tuple[str, str]] = []
    for seed in range(2):  # each with an engine that knows nothing yet
        with Engine.open(root) as engine:

            def ask(number: int, engine: Engine = engine, seed: int = seed) -> None:
                order = random.Random(1000 * seed + number).sample(names, len(names))
                wrong.extend((name, found) for name in order if (found := told(engine, name)) != wanted[name])

            together(6, ask)
    assert wrong == []


def test_threads_see_whole_generations_while_files_change(tmp_path: Path, switching: None) -> None:
    root = write_tree(tmp_path)
    names = [name for name in ASKED if name not in ("a failure", "status", "look")]
    problems: list[str] = []
    done = threading.Event()
    with Engine.open(root) as engine:
        engine.index(history=True)

        def work(number: int) -> None:
            if number == 0:
                for edit in range(12):
                    place = edit % 8
                    change(root, 100 + edit)
                    (root / f"n{place}.md").write_text(f"# Note {place}\n\nOn parsing tokens.\n\n## More\n\n{edit}\n")
                    if edit == 6:
                        git(root, "commit", "-q", "-a", "-m", "Parse tokens otherwise")
                    engine.refresh()
                done.set()
                return
            order = random.Random(number)
            for turn in range(200):
                if done.is_set() and turn >= 10:
                    return
                name = order.choice(names)
                try:
                    ASKED[name](engine)
                except Exception as error:
                    problems.append(f"{name}: {type(error).__name__}: {error}")

        together(5, work)
        assert problems == []
        with Engine.open(root, index_dir=tmp_path / "fresh") as fresh:
            assert told(engine, "notes").partition('"index"')[0] == told(fresh, "notes").partition('"index"')[0]
