"""Damage to the files of an index, and what must hold after it: answers are right, the damage is named, and it is repaired."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from lurcher.errors import CorruptIndex
from lurcher.storage.container import Container
from tests.indexing.faults import folder_bytes, restore
from tests.storage.kinds import Kept

WAYS = ("cut", "flipped", "flipped", "flipped", "zeros", "grown", "gone", "empty", "another", "swapped", "older")
OWN = [".gitignore", "CACHEDIR.TAG", "lock", "manifest"]


def intact(folder: Path) -> None:
    """Every byte of an index on disk is as it should be."""
    names = sorted(path.name for path in folder.iterdir() if path.name != "history")
    own = OWN if (folder / ".gitignore").exists() else OWN[1:]  # inside of another index folder its own is not needed
    assert names == sorted([*own, *(name for name in names if name.endswith((".segment", ".outcomes")))]), names
    for name in names:
        if name not in (".gitignore", "CACHEDIR.TAG", "lock"):
            Container.open(folder / name).verify()


def break_file(
    files: dict[str, bytes], name: str, way: str, chance: random.Random, older: dict[str, bytes]
) -> dict[str, bytes]:
    """The files of an index with one of them damaged."""
    data = files[name]
    size = len(data)
    others = sorted(other for other in files if other != name)
    if way == "gone":
        return {other: kept for other, kept in files.items() if other != name}
    if way == "older":  # a generation before, as a backup that was put back in part has it
        return {**files, name: older.get(name, b"")}
    if way in ("another", "swapped"):
        other = chance.choice(others)
        return {**files, name: files[other], **({other: data} if way == "swapped" else {})}
    if way == "cut":
        near = (0, 1, 7, 8, 9, 100, size - 40, size - 33, size - 24, size - 9, size - 1)
        length = chance.choice((*near, chance.randrange(size + 1)))
        return {**files, name: data[: max(length, 0)]}
    ends = (0, 4, size - 1, size - 5, size - 12, size - 16, size - 24, size - 40)
    place = chance.choice(ends) if chance.random() < 0.25 else chance.randrange(size or 1)
    place = min(max(place, 0), max(size - 1, 0))
    if way == "flipped":
        changed = bytes([data[place] ^ (1 << chance.randrange(8))]) if data else b"x"
    elif way == "zeros":
        changed = bytes(min(chance.choice((1, 8, 64, 4096)), size - place))
    else:
        return {**files, name: {"grown": data + b"\0", "empty": b""}[way]}
    return {**files, name: data[:place] + changed + data[place + len(changed) :]}


class Patient:
    """An index that is damaged again and again, and asked."""

    def __init__(self, kept: Kept) -> None:
        self._kept, self._folder = kept, kept.folder
        self._older = folder_bytes(self._folder)
        kept.add()
        kept.index()
        kept.take_back()
        kept.index()  # the generation after that one and another
        self._files = folder_bytes(self._folder)
        self._expected, notes = kept.ask()
        assert notes == [], notes

    def attempt(self, chance: random.Random, counts: Counter[str]) -> str | None:
        """Damage a file and ask; what is wrong."""
        name, way = chance.choice(sorted(self._files)), chance.choice(WAYS)
        broken = break_file(self._files, name, way, chance, self._older)
        if broken == self._files:
            counts["no damage"] += 1
            return None
        restore(self._folder, broken)
        touched = sorted(other for other in self._files if broken.get(other) != self._files[other])
        what = f"{type(self._kept).__name__}, {name} {way}"
        said, notes = self._kept.ask()
        if said != self._expected:
            return f"{what}: the answer is wrong; {notes}"
        containers = [other for other in touched if other not in OWN or other == "manifest"]
        if notes:
            counts["named by a query, and rebuilt"] += 1
            if wrong := [note for note in notes if "it was rebuilt" not in note]:
                return f"{what}: {wrong}"
            if way not in ("another", "swapped", "older") and not any(name in note for note in notes):
                return f"{what}: {notes} names another file"
        elif not containers:
            counts["of no consequence"] += 1  # nothing is believed that stands in a lock, a mark or a .gitignore
        elif remaining := [other for other in containers if _is_damaged(self._folder / other)]:
            # A query believes only what it has checked; what it did not read is found by whoever checks everything.
            counts["named by doctor"] += 1
            problems = self._kept.problems()
            if not any(other in finding.message for finding in problems for other in remaining):
                return f"{what}: undetected: {remaining}, doctor says {problems}"
            if not all(finding.hint for finding in problems):
                return f"{what}: doctor gives no hint: {problems}"
            self._kept.index(rebuild=True)
        else:
            counts["replaced by the query"] += 1
        return self._mended(what, counts)

    def _mended(self, what: str, counts: Counter[str]) -> str | None:
        """After the next change the index is whole, whatever was missing."""
        self._kept.add()
        self._kept.index()
        self._kept.take_back()
        self._kept.index()
        try:
            intact(self._folder)
        except (AssertionError, CorruptIndex) as error:
            return f"{what}: not repaired: {error}"
        for finding in self._kept.problems():
            # A mark of the folder is never rewritten unasked; doctor says that it is to be removed.
            for name in (".gitignore", "CACHEDIR.TAG"):
                if finding.message.startswith(f"{name} is damaged") and "rm -r" in finding.hint:
                    counts["named by doctor"] += 1
                    (self._kept.root / ".lurcher" / name).unlink()
                    self._kept.index(rebuild=True)
        said, notes = self._kept.ask()
        problems = self._kept.problems()
        if said != self._expected or notes or problems:
            return f"{what}: still wrong after the repair: {notes} {problems}"
        return None


def _is_damaged(path: Path) -> bool:
    try:
        container = Container.open(path)
        container.verify()
    except (CorruptIndex, OSError):
        return True
    return path.name != "manifest" and not path.name.startswith(container.digest())
