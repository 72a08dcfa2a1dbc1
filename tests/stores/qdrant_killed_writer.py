"""A writer that is killed again and again, and a reader that never sees half of what it wrote.

`python -m tests.stores.qdrant_killed_writer URL PROJECT FILES [ROUNDS]` is the writer: it brings the project from one version
to another, as the engine does, until it is killed or has done so many rounds. Versions come by chance: what a killed writer was
about to publish is not what the next one wants.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from lurcher import config
from lurcher.stores.base import Question, Store, StoredFile, store_at
from lurcher.stores.qdrant import store as store_module
from tests.stores.samples import file, head, sparse

ROOT = Path(__file__).parents[2]
LEASE = 1.5
UNITS = 3


def settings() -> config.Settings:
    return config.apply(config.Settings(), {"store.seconds": 20.0}, "flag")


def shorten_lease() -> None:
    """In the writer's process, and through monkeypatch in a test's own."""
    store_module.LEASE_SECONDS, store_module.BATCH = LEASE, 20


def version_of(version: int, files: int) -> list[StoredFile]:
    """Each version changes a third of the files, and another file is missing."""
    there = [number for number in range(files) if number != version % files]
    return [file("p", f"src/{number}.py", (version + number) // 3, UNITS) for number in there]


def write(store: Store, project: str, files: int) -> None:
    """Another version in the place of the one that is there."""
    version = random.SystemRandom().randrange(30)
    with store.writing(project, 30):
        before = store.head(project)
        generation = (before.generation if before else 0) + 1
        wanted = {one.key: one for one in version_of(version, files)}
        listed = {one.key: one for one in store.listing(project)}
        for one in listed.values():
            if one.key in wanted:
                if one.died is not None and one.born < generation <= one.died:
                    store.adopt(project, [one.key], one.born)
                elif one.died is not None or one.born > generation:
                    store.adopt(project, [one.key], generation)
        store.put(project, [one for key, one in wanted.items() if key not in listed], generation, lambda count: None)
        store.put_pages(project, {"a": str(generation).encode(), "b": b"x"}, generation)
        gone = [one.key for one in listed.values() if one.key not in wanted and one.died is None]
        store.retire(project, gone, generation)
        store.publish(project, head(generation, len(wanted), UNITS * len(wanted), version=str(version)))
        store.sweep(project, generation)


def look(store: Store, project: str, files: int) -> int | None:
    """Raise where what a reader sees is not one version, whole; None where it changed meanwhile."""
    now = store.head(project)
    if now is None:
        return None
    g = now.generation
    wanted = {one.key: one for one in version_of(int(now.more["version"]), files)}
    found = store.candidates(project, g, Question(None, sparse("common"), depth=UNITS * files * 2, limit=files * 2))
    units = store.texts(project, [(key, place) for key in wanted for place in range(UNITS)])
    records = store.records(project, list(wanted))
    pages = store.pages(project, g, ["a", "b"])
    seen = {one.key for one in store.listing(project) if one.born <= g and (one.died is None or one.died > g)}
    if store.head(project) != now:
        return None
    assert {one.key for one in found} == set(wanted), (g, len(found), len(wanted))
    assert units == {(key, place): one.units[place].text for key, one in wanted.items() for place in range(UNITS)}, g
    assert records == {key: one.record for key, one in wanted.items()}, g
    assert pages == {"a": str(g).encode(), "b": b"x"}, (g, pages)
    assert seen == set(wanted), g
    return g


class Watching:
    """Looks all the time, in a thread of its own."""

    def __init__(self, url: str, project: str, files: int) -> None:
        self._store, self._project, self._files = store_at(url, settings()), project, files
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.looks, self.generations = 0, set[int]()
        self.problem: BaseException | None = None

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                found = look(self._store, self._project, self._files)
            except BaseException as problem:
                self.problem = problem
                return
            if found is not None:
                self.looks += 1
                self.generations.add(found)
            time.sleep(0.005)

    def __enter__(self) -> Watching:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(60)
        self._store.close()


def killed(url: str, files: int, kills: int, seed: int = 0) -> dict[str, int]:
    """Kill the writer so many times and let it finish once; readers look all the while."""
    chance = random.Random(seed)
    command = [sys.executable, "-m", "tests.stores.qdrant_killed_writer", url, "p", str(files)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    store = store_at(url, settings())
    write(store, "p", files)
    with Watching(url, "p", files) as watching:
        for _ in range(kills):
            writer = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE)
            try:
                assert writer.stdout is not None
                assert writer.stdout.readline() == b"writing\n"
                time.sleep(chance.uniform(0.0, 0.6))
            finally:
                writer.send_signal(signal.SIGKILL)
                writer.wait(120)
                writer.stdout.close()
            if watching.problem is not None:
                raise watching.problem
        subprocess.run([*command, "1"], cwd=ROOT, env=environment, check=True, timeout=60, stdout=subprocess.DEVNULL)
        time.sleep(0.1)
    if watching.problem is not None:
        raise watching.problem
    last = look(store, "p", files)
    assert last is not None
    left = [one for one in store.listing("p") if one.died is not None or one.born > last]
    assert not left
    store.close()
    return {"kills": kills, "looks": watching.looks, "generations seen": len(watching.generations), "last": last}


def main(url: str, project: str, files: int, rounds: int) -> None:
    store = store_at(url, settings())
    with store.writing(project, 30):  # waits for the lease of the one that was killed
        pass
    print("writing", flush=True)
    while rounds:
        write(store, project, files)
        rounds -= 1


if __name__ == "__main__":
    shorten_lease()
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 1_000_000)
