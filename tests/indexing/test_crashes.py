"""A writer may be killed at any instant and any disk may fill up: the last good generation answers, the next run completes.

Here it happens at every step in turn; the drills `kills` and `disk` (docs/reliability.md) do it at random, many times over.
"""

from __future__ import annotations

import errno
import fcntl
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.indexing.conftest import answers, opened, write
from tests.indexing.faults import ASKED, KNOWN, Expected, Stop, ended, forked, said, watched
from tests.indexing.scenes import HistoryScene, Scene, right


def test_a_writer_that_is_killed_at_any_step_loses_nothing(any_scene: Scene | HistoryScene) -> None:
    scene = any_scene
    assert scene.steps
    problems = {}
    for place in scene.places:
        scene.again()

        def work(place: int = place) -> None:
            with watched(Stop(place)):
                scene.act()

        status = ended(forked(work))
        assert status == -signal.SIGKILL, f"step {place} of {len(scene.steps)} was not reached"
        if found := scene.expected.problems(whole=scene.whole):
            problems[place, scene.steps[place][0], scene.steps[place][1].name] = found
    assert problems == {}


def test_every_named_step_of_the_protocol_is_among_those(scene: Scene) -> None:
    names = {name for name, _ in scene.steps}
    wanted = {
        "first build": {"folder", "create", "write", "flush", "rename", "flush-folder", "lock"},
        "update": {"create", "write", "flush", "rename", "flush-folder", "lock"},
        "merge": {"create", "write", "flush", "rename", "flush-folder", "remove", "lock"},
        "clear": {"remove", "lock", "flush-folder"},
    }.get(scene.name, {"rename"})
    assert wanted <= names


# -- disks that fail --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("error", "always"), [(errno.ENOSPC, True), (errno.EIO, False)], ids=["full", "fails once"])
def test_a_disk_that_fails_at_any_step_costs_no_answer(any_scene: Scene | HistoryScene, error: int, always: bool) -> None:
    scene, problems = any_scene, {}
    for place in scene.places:
        if scene.steps[place][0] == "write" and scene.steps[place - 1] == scene.steps[place]:
            continue  # the first write to a file stands for all of them
        if found := right(scene, error, place, always=always):
            problems[place, scene.steps[place][0], scene.steps[place][1].name] = found
    assert problems == {}


@pytest.mark.parametrize("error", [errno.EDQUOT, errno.EROFS])
def test_a_quota_or_a_disk_that_became_read_only_is_survived_too(scene: Scene, error: int) -> None:
    problems = {}
    for place in scene.places[:: max(len(scene.places) // 2, 1)]:
        if found := right(scene, error, place, always=True):
            problems[place, scene.steps[place][0], scene.steps[place][1].name] = found
    assert problems == {}


FULL = """
import json, os, sys
from pathlib import Path
from tests.indexing.conftest import opened, write
from tests.indexing.faults import said

root, index = Path(sys.argv[1]), Path(sys.argv[2])
before = opened(root, index)
before.index()
kept = said(before)
# Leave less room than the next generation takes.
spare = os.statvfs(index)
(index / "filler").write_bytes(bytes(max(spare.f_bavail * spare.f_frsize - int(sys.argv[3]), 0)))
write(root, {"src/new.py": "def follow_cookies(pool):\\n    return pool\\n", "src/retry.py": "redirects = 7\\n" * 400})
engine = opened(root, index)
answer = engine.search("redirects")
told = [note.reason for note in answer.degraded]
during = said(engine)
old = said(opened(root, index))
(index / "filler").unlink()
after = opened(root, index)
after.index()
print(json.dumps({
    "told": told, "during": during, "kept": kept == old, "after": said(after), "fresh": said(opened(root, Path(sys.argv[4]))),
    "left": sorted(path.suffix for path in index.iterdir() if path.suffix == ".tmp"),
}))
"""


@pytest.mark.parametrize("room", [0, 16384], ids=["none", "a little"])
def test_a_disk_that_is_really_full_costs_no_answer(tmp_path: Path, room: int) -> None:
    """A small file system of our own, in a name space of our own."""
    shell = shutil.which("unshare")
    if shell is None or subprocess.run([shell, "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no name space with a file system of our own can be had here")
    root, index = tmp_path / "tree", tmp_path / "disk" / "index"
    write(root, KNOWN)
    index.parent.mkdir()
    script = (
        'mount -t tmpfs -o size=400k tmpfs "$1" || exit 77; shift; mkdir "$4"; exec "$1" -c "$2" "$3" "$4" "$5" "$6"'
    )
    done = subprocess.run(
        [shell, "-rm", "sh", "-c", script, "sh", index.parent, sys.executable, FULL, root, index, str(room), tmp_path / "new"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if done.returncode == 77:
        pytest.skip(f"no small file system can be had here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["during"] == found["after"] == found["fresh"]
    assert found["kept"] is True
    assert found["left"] == []
    assert len(found["told"]) == 1
    assert "in memory only: No space left on device" in found["told"][0]


def test_the_checks_can_fail(tmp_path: Path) -> None:
    """A generation that is neither the old nor the new one, one that is gone, and a lock that is held are all seen."""
    root, index = tmp_path / "tree", tmp_path / "index"
    write(root, KNOWN)
    opened(root, index).index()
    before = said(opened(root, index))
    write(root, {"src/new.py": "def follow_cookies(): pass\n"})
    expected = Expected(root, index, before, tmp_path / "fresh")
    assert expected.problems() == {}
    assert expected.problems() == {}
    write(root, {"src/new.py": "def follow_other_cookies(): pass\n"})
    opened(root, index).index()
    assert "wrong" in expected.problems()
    (index / "manifest").unlink()
    assert "lost" in expected.problems()
    (index / ".x.segment.1.tmp").touch()
    (index / ("e" * 24 + ".segment")).touch()
    with open(index / "lock") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert "locks" in expected.problems()
    assert answers(opened(root, index), ASKED[:2]) != expected.final
