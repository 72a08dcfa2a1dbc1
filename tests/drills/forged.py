"""Forged indexes: files whose checksums are right and whose content nobody would have written, for code, notes and history."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

from lurcher.engine import Engine
from lurcher.errors import LurcherError
from tests.drills.drill import REPOSITORY, Drill

sys.path.insert(0, str(REPOSITORY / "tools"))
from hostile_index import TREE, Damaged, Hostile, Unhealed

PAST_QUESTIONS = (("cookies", None), ("fix the client", "dense"), ("redirects", "lexical"), ("who added src", None))


class Forged(Drill):
    """An answer, or the index is called damaged; never an exception of another kind, a crash, or much time or memory."""

    name = "forged"
    short, long = 250, 10_000
    cpu_seconds = 20.0
    memory = 2 << 30

    def __init__(self, folder: Path, sources: Sequence[Path]) -> None:
        super().__init__(folder, sources)
        self._code = Hostile(random.Random(0))
        self._past = _ForgedPast(folder / "past")

    def attempt(self, chance: random.Random) -> str | None:
        if chance.random() < 0.75:
            self._code._random = chance
            believed = self._code.ask() if chance.random() < 0.7 else self._surveyed()
        else:
            believed = self._past.ask(chance)
        self.counts["believed and answered from" if believed else "called damaged"] += 1
        return None

    def _surveyed(self) -> bool:
        """Questions of other kinds than those that the fuzzer of the kernel asks."""
        self._code._replace()
        chance = self._code._random
        try:
            with self._code._opened() as engine:
                calls = (
                    lambda: engine.notes("redirects and cookies", refresh=False),
                    lambda: engine.notes("guide", refresh=False, mode="dense"),
                    lambda: engine.context("src/client.py", refresh=False, check=False),
                    lambda: engine.exists("parse_cookie"),
                    lambda: engine.graph("src/client.py", refresh=False, check=False),
                    lambda: engine.why("src/cookies.py", "parse_cookie", refresh=False),
                    lambda: engine.status(),
                    lambda: engine.search("cookies", sources=["code", "notes"], refresh=False, check=False),
                )
                for call in chance.sample(calls, 3):
                    call()
        except (LurcherError, Damaged):
            return False
        return True

    def close(self) -> None:
        self._code.close()


class _ForgedPast(Hostile):
    """The same for the index of a history."""

    def __init__(self, root: Path) -> None:
        from tests.corpora.history.repo import Repo

        repo = Repo(root)
        for number, (path, text) in enumerate(TREE.items()):
            repo.commit(f"Add {path}\n\nStep {number} of the client, with redirects.", {path: text})
        repo.commit("Fix the client\n\nIt lost cookies.", {"src/client.py": TREE["src/client.py"] + "\n# mended\n"})
        repo.git("revert", "--no-edit", "HEAD")
        self._root = root
        with Engine.open(root, root=root, overrides={"index.workers": 1}) as engine:
            engine.index(history=True)
            self._asked = engine.history("cookies").total
        self._folder = next(path.parent for path in (root / ".lurcher").rglob("manifest") if path.parent.name != ".lurcher")
        self._manifest = (self._folder / "manifest").read_bytes()
        self._files = {path.name: path.read_bytes() for path in self._folder.iterdir() if path.is_file()}

    def _opened(self) -> Unhealed:
        engine = Unhealed.open(self._root, root=self._root, overrides={"index.workers": 1})
        assert isinstance(engine, Unhealed)
        return engine

    def ask(self, chance: random.Random | None = None) -> bool:
        if chance is not None:
            self._random = chance
        for path in self._folder.iterdir():
            path.unlink()
        for name, data in self._files.items():
            (self._folder / name).write_bytes(data)
        named = {}
        for name in [name for name in self._files if name.endswith((".segment", ".outcomes"))]:
            data, digest = self._bent(self._files[name])
            (self._folder / name).unlink()
            named[name] = f"{digest}{Path(name).suffix}"
            (self._folder / named[name]).write_bytes(data)
        said = _renamed(_meta(self._manifest), named)
        data, _ = self._bent(self._manifest, said, often=0.3)
        (self._folder / "manifest").write_bytes(data)
        try:
            with self._opened() as engine:
                for question, mode in self._random.sample(PAST_QUESTIONS, 2):
                    engine.history(question, refresh=False, mode=mode)
                engine.brief("src/client.py")
        except (LurcherError, Damaged):
            return False
        return True

    def close(self) -> None:
        pass


def _meta(manifest: bytes) -> dict[str, object]:
    from lurcher.storage.container import Container

    return dict(Container(manifest, "a manifest").meta)


def _renamed(value: object, names: dict[str, str]) -> object:
    """The same with other names for segments, wherever they stand; and without stamps that would be believed unread."""
    if isinstance(value, dict):
        return {names.get(key, key): {} if key == "stamps" else _renamed(entry, names) for key, entry in value.items()}
    if isinstance(value, list):
        return [_renamed(entry, names) for entry in value]
    return names.get(value, value) if isinstance(value, str) else value


DRILL = Forged
