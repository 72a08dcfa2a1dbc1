"""Which files may answer, by language, glob and folder. A filter that matches no file yields no hits."""

from __future__ import annotations

from lurcher.errors import FilterError, Template
from lurcher.runtime.arrays import np
from lurcher.runtime.light import TYPE_CHECKING
from lurcher.storage.snapshot import Snapshot
from lurcher.types import Filter

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_GLOB = 1000


def resolve_languages(names: tuple[str, ...]) -> tuple[str, ...]:
    """Canonical language names; FilterError for an unknown one, with similar names."""
    if not names:
        return ()
    from lurcher.languages.detect import LANGUAGES, resolve

    found: list[str] = []
    for name in names:
        language = resolve(name)
        if language is None:
            import difflib

            near = difflib.get_close_matches(name.lower(), LANGUAGES, 3) or sorted(LANGUAGES)[:12]
            raise FilterError(f"unknown language '{name}'", f"known are: {', '.join(near)}, …")
        found += (language, *LANGUAGES[language].also)
    return tuple(dict.fromkeys(found))


def check_globs(globs: tuple[str, ...]) -> tuple[str, ...]:
    for glob in globs:
        broken = not glob.isascii() and any("\ud800" <= c <= "\udfff" for c in glob)
        if not glob or len(glob) > _MAX_GLOB or "\0" in glob or glob.count("**") > 8 or broken:
            raise FilterError(f"not a usable glob: {glob[:40]!r}", Template("for example: {path='src/**/*.py'}"))
    return globs


def filter_files(snapshot: Snapshot, filter: Filter) -> NDArray[np.bool_]:
    """Live files that pass the filter."""
    allowed: NDArray[np.bool_] = snapshot.live_files.copy()
    if filter.prefixes is None and not filter.languages and not filter.globs and not filter.excludes:
        return allowed
    for file in np.flatnonzero(allowed).tolist():
        allowed[file] = _passes_filter(snapshot, file, filter)
    return allowed


def _passes_filter(snapshot: Snapshot, file: int, filter: Filter) -> bool:
    path = snapshot.path(file)
    if filter.prefixes is not None and not any(
        not prefix or path == prefix or path.startswith(prefix + "/") for prefix in filter.prefixes
    ):
        return False
    if filter.languages and snapshot.language(file) not in filter.languages:
        return False
    bare = snapshot.bare_path(file)
    if filter.globs and not any(matches_glob(glob, bare) for glob in filter.globs):
        return False
    return not any(matches_glob(glob, bare) for glob in filter.excludes)


def matches_glob(glob: str, path: str) -> bool:
    """As in .gitignore: without a slash a glob matches any component, with one it is anchored; a folder matches its files."""
    from fnmatch import fnmatchcase

    parts = path.split("/")
    glob = glob.removeprefix("./").rstrip("/")
    if "/" not in glob:
        return any(fnmatchcase(part, glob) for part in parts)
    return _matches_components(glob.lstrip("/").split("/"), parts)


def _matches_components(pattern: list[str], parts: list[str]) -> bool:
    """Whether the pattern matches the path or one of the folders above it; `**` matches any number of folders."""
    from fnmatch import fnmatchcase

    reachable = {0}
    for component in pattern:
        following: set[int] = set()
        for position in reachable:
            if component == "**":
                following.update(range(position, len(parts) + 1))
            elif position < len(parts) and fnmatchcase(parts[position], component):
                following.add(position + 1)
        reachable = following
    return bool(reachable)
