"""Files that are cut by lines although there is a grammar for their language, somewhere: which, why, and when to try again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from lurcher.chunking.languages import LANGUAGES
from lurcher.index.segment import GAVE_UP, NO_GRAMMAR
from lurcher.light import replace
from lurcher.types import Degraded

if TYPE_CHECKING:
    from lurcher.index.manifest import Manifest, Row
    from lurcher.index.mapped import Segment
    from lurcher.index.reader import Snapshot

_NAMED = 3


def given_up(snapshot: Snapshot, files: Collection[int] | None = None) -> tuple[Degraded, ...]:
    """A note about files that took their grammar too much time or memory; about some `files` only, where these are given."""
    found = _among(snapshot.flagged(GAVE_UP), files)
    if not found:
        return ()
    paths = sorted(map(snapshot.path, found))
    names = ", ".join(paths[:_NAMED]) + (f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else "")
    many = "is cut by lines, without definitions: its grammar gave up on it"
    if len(paths) > 1:
        many = "are cut by lines, without definitions: their grammars gave up on them"
    return (Degraded("grammar", f"{names} {many}", "text in it is found as ever" if len(paths) == 1 else ""),)


def without_grammar(snapshot: Snapshot, files: Collection[int] | None = None) -> tuple[Degraded, ...]:
    """A note for each language whose grammar was missing when its files were read."""
    counts: dict[str, int] = {}
    for file in _among(snapshot.flagged(NO_GRAMMAR), files):
        language = snapshot.language(file)
        counts[language] = counts.get(language, 0) + 1
    notes = []
    for language, count in sorted(counts.items()):
        many = f"1 {language} file is" if count == 1 else f"{count:,} {language} files are"
        reason = f"{many} cut by lines, without definitions or imports: the grammar of {language} could not be loaded"
        notes.append(Degraded("grammar", reason, f"run: pip install {package_of(language)}"))
    return tuple(notes)


def package_of(language: str) -> str:
    """The package that brings the grammar of a language."""
    known = LANGUAGES.get(language)
    return known.grammar[0].replace("_", "-") if known is not None and known.grammar is not None else ""


def _among(flagged: list[int], files: Collection[int] | None) -> list[int]:
    return flagged if files is None else [file for file in flagged if file in files]


def forget(manifest: Manifest, segments: Sequence[Segment], languages: Sequence[str]) -> Manifest:
    """The manifest without the digests and time stamps of files in some languages: they count as changed then."""
    places: list[set[int]] = []
    for segment in segments:
        names: list[str] = segment.meta["languages"]
        numbers = {number for number, name in enumerate(names) if name in languages}
        column: list[int] = segment.files["language"].tolist() if numbers else []
        places.append({place for place, number in enumerate(column) if number in numbers})
    rows: dict[str, Row] = {
        path: row._replace(digest=bytes(16), mtime_ns=0, ctime_ns=0, inode=0)
        if row.segment >= 0 and row.place in places[row.segment]
        else row
        for path, row in manifest.rows.items()
    }
    kept = {language: grammar for language, grammar in manifest.grammars.items() if language not in languages}
    return replace(manifest, rows=rows, grammars=kept)
