"""Which folders a client may ask about: those the server was started with, within those the client has open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lurcher.errors import PathError
from lurcher.runtime.terminal import printable
from lurcher.sources.roots import Root, breadth, find_root


@dataclass(frozen=True, slots=True)
class Access:
    """Resolved folders; a path is inside only if it is after every link is followed."""

    folders: tuple[Path, ...]

    def check(self, path: str) -> Path:
        """The file or folder that a path means, which need not exist; PathError where it is out of bounds.

        A relative path is one as hits have it: below one of the folders, or with several of them, after its name.
        """
        if "\0" in path or len(path) > 4096:
            raise PathError("this is not a path", "pass a path as a hit has it")
        asked = Path(path)
        places = [asked] if asked.is_absolute() else [base / asked for base in self._bases(asked)]
        allowed = []
        for place in places:
            try:
                meant = place.resolve()
            except (OSError, RuntimeError, ValueError):
                continue
            if any(meant.is_relative_to(folder) for folder in self.folders):
                allowed.append(meant)
        if not allowed:
            raise PathError(f"{_shown(path)} is outside of the allowed roots", f"allowed: {', '.join(map(str, self.folders))}")
        return next((place for place in allowed if place.exists()), allowed[0])

    def _bases(self, path: Path) -> Iterable[Path]:
        for folder in self.folders:
            yield from dict.fromkeys((top_of(folder), folder))  # hits have paths from the top of the repository on
        if len(self.folders) > 1 and path.parts:
            yield from (folder.parent for folder in self.folders if folder.name == path.parts[0])

    def narrow(self, roots: Sequence[Path]) -> Access:
        """Within what the client has open as well, where it says what that is."""
        both = [inner for a in self.folders for b in roots if (inner := _inner(a, b)) is not None]
        if not both:
            raise PathError(
                "none of the client's roots is inside of the folders that this server may show",
                f"it was started for: {', '.join(map(str, self.folders))}",
            )
        return Access(tuple(dict.fromkeys(both)))


def top_of(folder: Path) -> Path:
    """The root of the index that a folder belongs to."""
    try:
        return find_root(folder).path
    except PathError:
        return folder


def _inner(a: Path, b: Path) -> Path | None:
    return a if a.is_relative_to(b) else b if b.is_relative_to(a) else None


def folders_of(uris: Iterable[str]) -> list[Path]:
    """The folders that `file:` addresses name, resolved; others and those that are not there are left out."""
    found = []
    for uri in uris:
        parts = urlsplit(uri)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            continue
        try:
            path = Path(unquote(parts.path)).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            continue
        found.append(path if path.is_dir() else path.parent)
    return found


def starting_access(roots: Sequence[str], here: Path) -> Access:
    """The folders of `--root`, else the repository around the current folder."""
    if roots:
        found = []
        for root in roots:
            try:
                path = Path(root).expanduser().resolve(strict=True)
            except (OSError, RuntimeError, ValueError):
                raise PathError(f"{root} does not exist", "name a folder with --root") from None
            if not path.is_dir():
                raise PathError(f"{root} is not a folder", "name a folder with --root")
            found.append(path)
        return Access(tuple(dict.fromkeys(found)))
    return Access((top_of(here.resolve()),))


def is_too_wide(folder: Path) -> bool:
    """Whether a folder is too broad to be a project, such as the home folder a desktop program starts servers in."""
    return breadth(Root(folder, False, "")) != ""


def _shown(path: str) -> str:
    text = printable(path)
    return text if len(text) <= 200 else text[:199] + "…"
