"""A watched tree is not looked at for every question, and every change shows in the very next answer all the same."""

from __future__ import annotations

import errno
import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lurcher.engine import Engine
from lurcher.indexing import inotify
from lurcher.indexing.inotify import InotifyMonitor
from tests.conftest import git

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells of changes in time")


class Watched:
    """An engine over a watched tree, and whether an answer took a look at it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.engine = Engine.open(root, root=root)
        self.project = self.engine.projects[0]
        self.project.monitor = self.quiet = InotifyMonitor(root)
        self.looks = 0
        look = self.project._refresh_view

        def counted(*arguments: bool) -> object:
            self.looks += 1
            return look(*arguments)  # type: ignore[arg-type]

        self.project._refresh_view = counted  # type: ignore[method-assign, assignment]

    def files(self) -> list[str]:
        answer = self.engine.search("redirects cookies zebra", limit=100)
        assert answer.index.fresh
        return sorted({hit.path for hit in answer.hits})

    def found(self, word: str) -> bool:
        return self.engine.exists(word, exact=True).exists

    def settle(self) -> None:
        """Ask until answers take no look any more."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            before = self.looks
            self.files()
            if self.looks == before:
                return
            time.sleep(0.05)
        raise AssertionError("the tree is never quiet")


@pytest.fixture
def watched(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setattr(inotify, "MAX_TRUST_SECONDS", 3600.0)  # only what is heard counts here
    found = Watched(root)
    yield found
    found.quiet.close()


def test_a_tree_that_is_queried_repeatedly_is_watched(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inotify, "MAX_TRUST_SECONDS", 3600.0)
    with Engine.open(root, root=root) as engine:
        asked = engine.projects[0]
        engine.search("redirects")
        assert asked.monitor is None
        deadline = time.monotonic() + 120
        while not asked.is_unchanged() and time.monotonic() < deadline:
            engine.search("redirects")
            time.sleep(0.02)
        assert asked.is_unchanged()
        (root / "src" / "new.py").write_text("def follow_zebra(): pass\n")
        assert engine.search("follow_zebra").hits[0].path == "src/new.py"
    assert not asked.is_unchanged()
    with Engine.open(root, root=root) as engine:
        for _ in range(20):
            engine.search("redirects", check=False)
        assert engine.projects[0].monitor is None


def test_a_forked_process_does_not_consume_events(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    watched.settle()
    own = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: own + 1)
    assert not watched.quiet.is_unchanged()
    (watched.root / "src" / "new.py").write_text("def zebra(): pass\n")
    watched.quiet.start_check()
    monkeypatch.setattr(os, "getpid", lambda: own)
    assert watched.quiet._saw_events()


def test_a_tree_without_events_is_not_checked(watched: Watched) -> None:
    watched.settle()
    before = watched.looks
    for _ in range(20):
        assert "src/client.py" in watched.files()
    assert watched.looks == before


def test_the_tree_is_checked_regularly_even_without_events(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    watched.settle()
    monkeypatch.setattr(inotify, "MAX_TRUST_SECONDS", 0.0)
    before = watched.looks
    watched.files()
    assert watched.looks == before + 1


def _new(root: Path) -> None:
    (root / "new.py").write_text("zebra = 1\n")


def _in_a_new_folder(root: Path) -> None:
    (root / "a/b/c").mkdir(parents=True)
    (root / "a/b/c/deep.py").write_text("zebra = 1\n")


def _appended(root: Path) -> None:
    with (root / "src/client.py").open("a") as file:
        file.write("zebra = 1\n")


def _replaced(root: Path) -> None:
    (root / "x.tmp").write_text("zebra = 1\n")
    os.replace(root / "x.tmp", root / "src/client.py")


def _same_size_and_time(root: Path) -> None:
    path = root / "src/cookies.py"
    before = path.stat()
    path.write_text("zebra " + path.read_text()[6:])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _moved_in(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "z.py").write_text("zebra = 1\n")
    os.replace(outside, root / "inside")


def _through_another_name(root: Path) -> None:
    (root.parent / "other-name.py").write_text((root.parent / "other-name.py").read_text() + "zebra = 1\n")


CHANGES = (_new, _in_a_new_folder, _appended, _replaced, _same_size_and_time, _moved_in)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__.strip("_"))
def test_a_change_shows_at_once(watched: Watched, change: Callable[[Path], None]) -> None:
    watched.settle()
    assert not watched.found("zebra")
    change(watched.root)
    assert watched.found("zebra")


def test_a_file_with_a_second_hard_link_is_checked(root: Path, watched: Watched) -> None:
    os.link(root / "src/client.py", root.parent / "other-name.py")
    watched.settle()
    _through_another_name(root)
    assert watched.found("zebra")


def test_what_is_removed_is_gone_at_once(watched: Watched) -> None:
    watched.settle()
    (watched.root / "src/client.py").unlink()
    assert "src/client.py" not in watched.files()
    shutil.rmtree(watched.root / "docs")
    assert "docs/guide.md" not in watched.files()


def test_a_root_that_is_replaced_is_noticed(watched: Watched) -> None:
    watched.settle()
    watched.root.rename(watched.root.parent / "old")
    watched.root.mkdir()
    (watched.root / "z.py").write_text("zebra = 1\n")
    assert watched.found("zebra")
    assert not watched.found("redirects")


def test_what_git_ignores_from_now_on_is_gone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inotify, "MAX_TRUST_SECONDS", 3600.0)
    git(root, "init", "-q")
    watched = Watched(root)
    watched.engine = Engine.open(root)
    watched.project = watched.engine.projects[0]
    watched.project.monitor = watched.quiet
    for _ in range(6):
        watched.files()
        time.sleep(0.06)
    (root / ".git/info/exclude").write_text("src/\n")
    assert "src/client.py" not in watched.files()
    watched.quiet.close()


def test_another_process_that_writes_the_index_is_noticed(watched: Watched) -> None:
    watched.settle()
    Engine.open(watched.root, root=watched.root).index(rebuild=True)
    before = watched.looks
    watched.files()
    assert watched.looks > before


def test_lost_events_lead_to_a_check(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    watched.settle()
    overflow = inotify._EVENT_HEADER.pack(-1, 0x4000, 0, 0)
    answers = iter([overflow])

    def read(descriptor: int, size: int) -> bytes:
        data = next(answers, None)
        if data is None:
            raise BlockingIOError
        return data

    monkeypatch.setattr(inotify.os, "read", read)
    before = watched.looks
    watched.files()
    assert watched.looks == before + 1


def test_without_watches_every_query_checks_the_tree(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: InotifyMonitor, folders: object) -> bool:
        raise OSError(errno.ENOSPC, "no watches left")

    monkeypatch.setattr(InotifyMonitor, "_watch", refuse)
    for _ in range(4):
        before = watched.looks
        watched.files()
        assert watched.looks == before + 1
        time.sleep(0.06)
    _new(watched.root)
    assert watched.found("zebra")


def test_what_changes_before_the_first_watch_is_there_is_seen(watched: Watched) -> None:
    watched.settle()
    other = Watched(watched.root)  # finds an index that it can believe at once
    look = other.project._refresh_view

    def slow(*arguments: bool) -> object:
        view = look(*arguments)  # type: ignore[arg-type]
        if other.looks == 1:
            _appended(watched.root)
        return view

    other.project._refresh_view = slow  # type: ignore[method-assign, assignment]
    assert not other.found("zebra")
    assert other.found("zebra")
    other.quiet.close()


def test_a_network_file_system_is_not_relied_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inotify, "_file_system_type", lambda libc, path: 0x6969)
    with pytest.raises(OSError, match="other machines"):
        InotifyMonitor(root)


def test_random_edits_never_give_a_stale_answer(watched: Watched) -> None:
    """Each step changes something, or nothing, and asks at once; an engine that looks each time must say the same."""
    chance = random.Random(7)
    root = watched.root
    names = [f"{folder}f{i}.py" for folder in ("", "src/", "deep/er/", "web/") for i in range(4)]
    asked = 0
    for step in range(120):
        path = root / chance.choice(names)
        kind = chance.randrange(6)
        if kind == 0 and path.exists():
            path.unlink()
        elif kind == 1 and path.exists():
            os.replace(path, root / chance.choice(names).replace("/er/", "/").replace("deep/", ""))
        elif kind == 2 and path.parent.is_dir() and path.parent != root and chance.random() < 0.3:
            shutil.rmtree(path.parent)
        elif kind in (3, 4):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"zebra_{step} = {chance.random()}  # redirects cookies\n")
        watched.root.joinpath("src").mkdir(exist_ok=True)
        for _ in range(chance.randrange(1, 4)):
            asked += 1
            expected = sorted(
                str(file.relative_to(root)) for file in root.rglob("*.py") if "zebra_" in file.read_text()
            )
            found = watched.engine.search("zebra_", mode="literal", limit=1000)
            assert sorted({hit.path for hit in found.hits}) == expected, f"step {step}"
            for hit in found.hits:
                assert hit.text in (root / hit.path).read_text()
    assert watched.looks < asked  # some of them went without
