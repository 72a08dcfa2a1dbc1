"""The words of a path: what a file is called and where it lies."""

from __future__ import annotations

from pathlib import PurePosixPath

from lurcher.terms.split import split, words

_PLACEHOLDER_NAMES = frozenset(("index", "mod", "init", "__init__", "lib", "main", "core", "__main__"))


def name_of(path: str) -> str:
    """The name a file goes by: its stem, or its folder's name when the stem says nothing (`index`, `mod`, `__init__`)."""
    pure = PurePosixPath(path)
    stem = pure.name.split(".")[0] or pure.stem
    if stem.lower() in _PLACEHOLDER_NAMES and pure.parent.name:
        return pure.parent.name
    return stem


def name_parts(name: str) -> list[str]:
    """The words of a file's name, without the compound."""
    parts: list[str] = []
    for word in words(name):
        whole, *rest = split(word) or ("",)
        parts += rest or ([whole] if whole else [])
    return parts[:64]


def folders_of(path: str) -> list[str]:
    """The last three folders of a path."""
    return list(PurePosixPath(path).parent.parts[-3:])
