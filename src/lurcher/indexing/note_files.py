"""Which files are notes."""

from __future__ import annotations

from lurcher.runtime.kernel import np
from lurcher.runtime.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from lurcher.storage.snapshot import Snapshot

MARKED_UP = frozenset(("markdown", "restructuredtext", "asciidoc", "org"))
"""Languages whose every file is a note."""
PARSED = frozenset((
    "bash", "c", "cpp", "csharp", "dart", "elixir", "go", "haskell", "java", "javascript", "julia", "kotlin", "lua",
    "objective-c", "ocaml", "ocaml-interface", "perl", "php", "powershell", "python", "ruby", "rust", "scala", "sql", "svelte",
    "swift", "terraform", "tsx", "typescript", "vue", "zig",
))  # fmt: skip
"""Languages that have definitions, and so are code; a copy, since every question asks for them and the table takes a while."""
_PLAIN = (".txt", ".text")
_ROOM = ("", "code")


def is_note(path: str, language: str) -> bool:
    """Prose by its language; plain text only where its name says so, since much else has no language either."""
    return language in MARKED_UP or (language == "text" and path.lower().endswith(_PLAIN))


def notes_in(snapshot: Snapshot) -> NDArray[np.bool_]:
    """Which files are notes and live."""
    found = files_in(snapshot, MARKED_UP) & snapshot.live_files
    for file in np.flatnonzero(files_in(snapshot, {"text"}) & snapshot.live_files).tolist():
        found[file] = is_note(snapshot.path(file), "text")
    return found


def has_code(snapshot: Snapshot) -> bool:
    """Whether there is any file in a programming language outside of hidden folders, where tools keep their own."""
    known: bool | None = snapshot.graphs.get(_ROOM)
    if known is None:
        code = np.flatnonzero(files_in(snapshot, PARSED) & snapshot.live_files).tolist()
        known = any(not _is_hidden(snapshot.bare_path(file)) for file in code)
        snapshot.graphs[_ROOM] = known
    return known


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/")[:-1])


def files_in(snapshot: Snapshot, languages: Iterable[str]) -> NDArray[np.bool_]:
    """Which files, live or not, are in one of some languages."""
    wanted = set(languages)
    parts = [
        np.isin(segment.files["language"], [i for i, name in enumerate(segment.meta["languages"]) if name in wanted])
        for segment in snapshot.segments
    ]
    return np.concatenate(parts) if parts else np.zeros(0, bool)
