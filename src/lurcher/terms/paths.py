"""The words of a path: what a file is called and where it lies."""

from __future__ import annotations

from lurcher.terms.split import split, words

_PLACEHOLDER_NAMES = frozenset(("index", "mod", "init", "__init__", "lib", "main", "core", "__main__"))


def name_of(path: str) -> str:
    """The name a file goes by: its stem, or its folder's name when the stem says nothing (`index`, `mod`, `__init__`)."""
    parts = _parts(path)
    name = parts[-1] if parts else ""
    dot = name.rfind(".")
    stem = name.split(".")[0] or (name[:dot] if 0 < dot < len(name) - 1 else name)
    if stem.lower() in _PLACEHOLDER_NAMES and len(parts) > 1:
        return parts[-2]
    return stem


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part and part != "."]


def name_parts(name: str) -> list[str]:
    """The words of a file's name, without the compound."""
    parts: list[str] = []
    for word in words(name):
        whole, *rest = split(word) or ("",)
        parts += rest or ([whole] if whole else [])
    return parts[:64]


def folders_of(path: str) -> list[str]:
    """The last three folders of a path."""
    return _parts(path)[:-1][-3:]
