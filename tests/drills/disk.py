"""Full and failing disks: any step of any change to an index, and files that cannot grow any further."""

from __future__ import annotations

import errno
import random
import resource
import signal
from collections.abc import Sequence
from pathlib import Path

from lurcher.types import silent
from tests.drills.drill import Drill
from tests.indexing.conftest import HISTORY_SCENES, SCENES, opened
from tests.indexing.faults import ended, forked, said
from tests.indexing.scenes import HistoryScene, Scene, right, said_of_history

ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS)


class Disk(Drill):
    """The answer is right and says that the disk failed; the last good generation stays; the next run completes the work."""

    name = "disk"
    short, long = 40, 2_000
    cpu_seconds = 120.0

    def __init__(self, folder: Path, sources: Sequence[Path]) -> None:
        super().__init__(folder, sources)
        self._scenes: list[Scene | HistoryScene] = [Scene(name, folder / name.replace(" ", "-")) for name in SCENES]
        self._scenes += [HistoryScene(name, folder / name.replace(" ", "-")) for name in HISTORY_SCENES]

    def attempt(self, chance: random.Random) -> str | None:
        scene = chance.choice(self._scenes)
        if scene.name not in ("clear", "heal") and chance.random() < 0.3:
            self.counts["files that cannot grow"] += 1
            return self._outgrown(scene, chance.choice((0, 1, 100, 1000, 5000, chance.randrange(20_000))))
        self.counts["history" if isinstance(scene, HistoryScene) else "code and notes"] += 1
        place, error, always = chance.choice(scene.places), chance.choice(ERRORS), chance.random() < 0.5
        self.counts["always" if always else "once"] += 1
        wrong = right(scene, error, place, always=always)
        kind = "history" if isinstance(scene, HistoryScene) else "files"
        where = f"{scene.name} of {kind}, step {place} of {len(scene.steps)}, {errno.errorcode[error]}"
        return f"{where}: {wrong}" if wrong else None

    def _outgrown(self, scene: Scene | HistoryScene, most: int) -> str | None:
        """No file may become larger than so many bytes."""
        scene.again()

        def work() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
            if isinstance(scene, HistoryScene):
                index = scene.open()
                scene.act(index)
                assert said_of_history(index.view(silent)) == scene.after, "the answer is wrong"
                return
            engine = opened(scene.root, scene.index, workers=1)
            scene.act(engine)
            assert said(engine) == scene.expected.after, "the answer is wrong"

        if status := ended(forked(work), 200):
            return f"{scene.name}, files of {most} bytes at most: ended with {status}"
        problems = scene.expected.problems(whole=scene.whole)
        return f"{scene.name}, files of {most} bytes at most: {problems}" if problems else None


DRILL = Disk
