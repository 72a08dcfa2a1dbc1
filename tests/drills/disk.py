"""Full and failing disks: any step of any change to an index, and files that cannot grow any further."""

from __future__ import annotations

import errno
import random
import resource
import signal
from collections.abc import Sequence
from pathlib import Path

from tests.drills.drill import Drill
from tests.indexing.conftest import SCENES, opened
from tests.indexing.faults import ended, forked, said
from tests.indexing.scenes import Scene, right

ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS)


class Disk(Drill):
    """The answer is right and says that the disk failed; the last good generation stays; the next run completes the work."""

    name = "disk"
    short, long = 40, 2_000
    cpu_seconds = 120.0

    def __init__(self, folder: Path, sources: Sequence[Path]) -> None:
        super().__init__(folder, sources)
        self._scenes = [Scene(name, folder / name.replace(" ", "-")) for name in SCENES]

    def attempt(self, chance: random.Random) -> str | None:
        scene = chance.choice(self._scenes)
        if scene.name not in ("clear", "heal") and chance.random() < 0.3:
            self.counts["files that cannot grow"] += 1
            return self._outgrown(scene, chance.choice((0, 1, 100, 1000, 5000, chance.randrange(20_000))))
        place, error, always = chance.choice(scene.places), chance.choice(ERRORS), chance.random() < 0.5
        self.counts["always" if always else "once"] += 1
        wrong = right(scene, error, place, always=always)
        return (wrong and f"{scene.name}, step {place} of {len(scene.steps)}, {errno.errorcode[error]}: {wrong}") or None

    def _outgrown(self, scene: Scene, most: int) -> str | None:
        """No file may become larger than so many bytes."""
        scene.again()

        def work() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
            engine = opened(scene.root, scene.index, workers=1)
            scene.act(engine)
            assert said(engine) == scene.expected.after, "the answer is wrong"

        if status := ended(forked(work), 200):
            return f"{scene.name}, files of {most} bytes at most: ended with {status}"
        problems = scene.expected.problems(whole=scene.whole)
        return f"{scene.name}, files of {most} bytes at most: {problems}" if problems else None


DRILL = Disk
