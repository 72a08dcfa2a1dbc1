"""A generation goes with its last reader: its files are closed and its memory is free, without a look for cycles.

`python -m tests.indexing.test_generation EDITS` is the long form, and prints what a process holds on the way.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import textwrap
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lurcher.engine import Engine
from lurcher.errors import LurcherError
from lurcher.runtime.process import CollectorPause
from lurcher.storage.container import Container
from tests.conftest import git

Ask = Callable[[Engine], Any]
ASKED: dict[str, Ask] = {
    "search": lambda engine: engine.search("parse tokens"),
    "classic": lambda engine: engine.search("parse tokens", ranking="classic"),
    "linear": lambda engine: engine.search("parse tokens", fusion="linear", mmr=0.5),
    "symbol": lambda engine: engine.search("Thing3", mode="symbol"),
    "dense": lambda engine: engine.search("parse tokens", mode="dense"),
    "literal": lambda engine: engine.search("tok[e]n", mode="literal"),
    "structural": lambda engine: engine.search("def $NAME($$$): $$$", mode="structural", languages=["python"]),
    "report": lambda engine: engine.search('Traceback:\n  File "m3.py", line 3\nparse_3 fails\n'),
    "notes": lambda engine: engine.notes("parsing tokens"),
    "history": lambda engine: engine.history("parse tokens"),
    "all": lambda engine: engine.search("parse tokens", sources=["all"]),
    "related": lambda engine: engine.related("m3.py", 4),
    "why": lambda engine: engine.why("m3.py", "parse tokens"),
    "definition": lambda engine: engine.symbol("Thing3"),
    "impact": lambda engine: engine.impact("m3.py"),
    "outline": lambda engine: engine.outline("m3.py"),
    "context": lambda engine: engine.context("m3.py"),
    "exists": lambda engine: engine.exists("Thing3"),
    "file": lambda engine: engine.file("m3.py"),
    "graph": lambda engine: engine.graph("m3.py"),
    "brief": lambda engine: engine.brief("m3.py"),
    "explain": lambda engine: engine.explain("m3.py"),
    "heat": lambda engine: engine.heat("m3.py"),
    "status": lambda engine: engine.status(),
    "look": lambda engine: engine.look(),
    "a failure": lambda engine: engine.outline("nowhere.py"),
}


def ask(engine: Engine, name: str) -> None:
    try:
        ASKED[name](engine)
    except LurcherError:
        assert name == "a failure"


def edit(root: Path, number: int) -> None:
    (root / f"m{number % 8}.py").write_text(code(number))


def code(number: int) -> str:
    here, there = number % 8, (number + 1) % 8
    return textwrap.dedent(f'''
        import m{there}

        class Thing{here}:
            """Parses tokens, for the {number}th time."""

            def parse_{here}(self, token):
                return m{there}.parse(token, {number})
    ''')


def write_tree(root: Path) -> Path:
    for number in range(8):
        edit(root, number)
        link = f"[[n{(number + 1) % 8}]]"
        about = f"# Note {number}\n\nOn parsing tokens, see {link}.\n\n## More\n\nText.\n"
        (root / f"n{number}.md").write_text(f"---\ntags: [a{number}]\n---\n{about}")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Parse tokens of things")
    return root


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Nobody looks for cycles."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ASKED)
def test_a_generation_goes_when_its_last_question_is_answered(name: str, tmp_path: Path, uncollected: None) -> None:
    root = write_tree(tmp_path)
    with Engine.open(root) as engine:
        ask(engine, name)
        engine.refresh()
        old = weakref.ref(engine.projects[0].view(lambda *_: None).snapshot)
        ask(engine, name)
        edit(root, 100)
        ask(engine, name)
        engine.refresh()
        engine.refresh()
        assert old() is None, gc.get_referrers(old())


def test_a_reader_holds_on_to_its_generation(tmp_path: Path) -> None:
    root = write_tree(tmp_path)
    with Engine.open(root) as engine:
        engine.refresh()
        old = engine.projects[0].view(lambda *_: None).snapshot
        for number in range(100, 112):  # so many that segments are merged, and their files removed
            edit(root, number)
            engine.refresh()
        assert b"for the 3th time" in old.file_text(old.live_paths["m3.py"])


def test_a_file_of_several_generations_is_mapped_once(tmp_path: Path) -> None:
    root = write_tree(tmp_path)
    with Engine.open(root) as engine:
        engine.refresh()
        project = engine.projects[0]
        old = project.view(lambda *_: None).snapshot
        edit(root, 100)
        engine.refresh()
        new = project.view(lambda *_: None).snapshot
        assert new is not old
        assert new.segments[0].container is old.segments[0].container
        # One that was touched meanwhile is opened anew, since it may not be what it was.
        place = project.store.folder / old.segments[0].container.name
        data = place.read_bytes()
        place.write_bytes(data)
        assert project.store.container(place.name) is not old.segments[0].container


def test_segments_in_memory_are_freed_too(tmp_path: Path) -> None:
    root = write_tree(tmp_path)
    with Engine.open(root) as engine:
        store = engine.projects[0].store
        store.fall_back_to_memory(OSError(30, "Read-only file system"))
        for number in range(100, 130):
            edit(root, number)
            engine.refresh()
            assert set(store.memory) == set(engine.projects[0].view(lambda *_: None).manifest.segments)
        assert set(store.stamps) <= set(store.memory)


def test_a_damaged_section_is_reported_without_its_container() -> None:
    """What unpacks a section does not refer to the container, so it has to know by itself what to say."""
    from lurcher.storage.container_writer import ContainerWriter

    out = bytearray()
    builder = ContainerWriter(out.extend)
    builder.add("text", "lz4", b"abc" * 100)
    builder.finish({})
    container = Container(bytes(out), "some.segment")
    assert bytes(container.section("text", 0, 3)) == b"abc"
    with pytest.raises(LurcherError, match=r"index file some\.segment is damaged"):
        container.section("text", 0, 1 << 40)
    held = weakref.ref(container)
    gc.disable()
    try:
        del container
        assert held() is None
    finally:
        gc.enable()


def test_garbage_collection_is_enabled_again_after_the_last_of_several_threads() -> None:
    assert gc.isenabled()
    paused = CollectorPause()
    paused.__enter__()
    paused.__enter__()  # a thread that begins while another one is inside
    paused.__exit__(None, None, None)
    assert not gc.isenabled()
    paused.__exit__(None, None, None)
    assert gc.isenabled()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs to count descriptors")
def test_many_edits_need_no_more_descriptors(tmp_path: Path) -> None:
    """As many as macOS gives, and no look for cycles."""
    command = [sys.executable, "-m", "tests.indexing.test_generation", "60", "64"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stdout + done.stderr


def held() -> int:
    return len(os.listdir("/proc/self/fd"))


def resident() -> int:
    """Megabytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def main(edits: int, most: int) -> int:
    """Edits with questions of all kinds between them, with few descriptors and without a look for cycles."""
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    gc.disable()
    with tempfile.TemporaryDirectory() as folder, Engine.open(write_tree(Path(folder))) as engine:
        names = list(ASKED)
        for name in names:
            ask(engine, name)
        start, memory, highest = held(), resident(), 0
        for number in range(edits):
            edit(Path(folder), 100 + number)
            for name in names if number % 50 == 0 else [names[number % len(names)], "search"]:
                ask(engine, name)
            highest = max(highest, held())
            if number % max(1, edits // 10) == 0:
                now = f"{held()} descriptors ({start} at first), {resident()} MB ({memory} at first)"
                print(f"{number} edits: {now}", flush=True)
        print(f"{edits} edits: at most {highest} descriptors ({start} at first), {resident()} MB ({memory} at first)")
        return 0 if highest <= start + 20 else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 256))
