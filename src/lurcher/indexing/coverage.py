"""What an index does not cover, and why: files left out, not read yet, or cut by lines because their grammar failed.

An answer that finds nothing has to say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lurcher.languages.detect import LANGUAGES
from lurcher.runtime.process import format_count
from lurcher.sources import MOST_EXAMPLES
from lurcher.storage.manifest import NO_SEGMENT, SKIP_REASONS, UNREADABLE, WAITING
from lurcher.storage.segment import GRAMMAR_GAVE_UP, NO_GRAMMAR
from lurcher.types import Degraded

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from lurcher.indexing.freshness import Changes
    from lurcher.sources import Entry
    from lurcher.storage.manifest import FileRow, Manifest
    from lurcher.storage.segment import Segment
    from lurcher.storage.snapshot import Snapshot


_NO_TEXT = frozenset({"binary-extension", "symlink", "special", "internal", "ignored", "worktree"})
"""Reasons that are no news: not text, links, and files left out on purpose, such as those that git ignores."""
_MAX_NAMED = 3
"""Files that a note names."""


class Unread(NamedTuple):
    """Files, or whole folders, that were left out for one reason."""

    number: int
    paths: tuple[str, ...]
    """A few of them."""


def find_unread(manifest: Manifest) -> dict[str, Unread]:
    """Files left out that may hold text, by reason."""
    found = {
        reason: Unread(count, tuple(manifest.examples.get(reason, ())))
        for reason, count in manifest.skipped.items()
        if count and reason not in _NO_TEXT
    }
    for path, row in manifest.rows.items():
        if row.segment == NO_SEGMENT:
            reason = SKIP_REASONS[row.place]
            count, paths = found.get(reason, Unread(0, ()))
            found[reason] = Unread(count + 1, paths if len(paths) >= MOST_EXAMPLES else (*paths, path))
    return dict(sorted(found.items()))


def combine_unread(parts: Sequence[tuple[str, Mapping[str, Unread]]]) -> dict[str, Unread]:
    """The same for several roots, each with the prefix of its paths."""
    found: dict[str, Unread] = {}
    for label, part in parts:
        for reason, (count, paths) in part.items():
            before = found.get(reason, Unread(0, ()))
            shown = (*before.paths, *(label + path for path in paths))[:MOST_EXAMPLES]
            found[reason] = Unread(before.number + count, shown)
    return dict(sorted(found.items()))


def unread_note(unread: Mapping[str, Unread]) -> Degraded:
    """Says which files were not searched."""
    count = sum(each.number for each in unread.values())
    many = "1 file or folder was" if count == 1 else f"{count:,} files or folders were"
    reasons = ", ".join(f"{reason} {each.number:,}{_list_paths(each)}" for reason, each in unread.items())
    return Degraded("files", f"{many} not read: {reasons}", "")


def unreadable_notes(manifest: Manifest) -> tuple[Degraded, ...]:
    """Says which files could not be read; there are some."""
    found = find_unread(manifest)[UNREADABLE]
    many, them = ("1 file or folder", "it") if found.number == 1 else (f"{found.number:,} files or folders", "them")
    return (Degraded("files", f"{many} cannot be read, and nothing of {them} is known{_list_paths(found)}", ""),)


def _list_paths(unread: Unread) -> str:
    if not unread.paths:
        return ""
    return f" ({', '.join(unread.paths)}{', …' if unread.number > len(unread.paths) else ''})"


def find_waiting(manifest: Manifest, changes: Changes) -> list[Entry]:
    """The files that a first build has not read yet."""
    return [entry for entry in changes.suspects if entry.path not in manifest.rows]


def partial_index_note(manifest: Manifest, waiting: Sequence[Entry] | None = None) -> Degraded:
    """Says how much of the tree a first build covers so far. `waiting` is None where the tree was not listed.

    A first build that was cut short is an ordinary generation that lacks files; their number is in `manifest.skipped`. Until
    it is complete, every check lists the tree, and files without a row count as new.
    """
    rows = manifest.rows
    missing = manifest.skipped.get(WAITING, 0) if waiting is None else len(waiting)
    covered = f"{len(rows):,} of {format_count(len(rows) + missing, 'file')}"
    if waiting is not None:
        size = sum(row.size for row in rows.values())
        covered += f", {size / 1e6:,.1f} of {(size + sum(entry.size for entry in waiting)) / 1e6:,.1f} MB"
    hint = "ask again to go on with it, or run: lurcher index"
    return Degraded("index", f"the index is not complete yet: it has {covered}", hint)



def grammar_failure_notes(snapshot: Snapshot, files: Collection[int] | None = None) -> tuple[Degraded, ...]:
    """A note about files whose grammar took too much time or memory, restricted to `files` where given."""
    found = _restrict(snapshot.flagged(GRAMMAR_GAVE_UP), files)
    if not found:
        return ()
    paths = sorted(map(snapshot.path, found))
    names = ", ".join(paths[:_MAX_NAMED]) + (f" and {len(paths) - _MAX_NAMED:,} more" if len(paths) > _MAX_NAMED else "")
    many = "is cut by lines, without definitions: its grammar gave up on it"
    if len(paths) > 1:
        many = "are cut by lines, without definitions: their grammars gave up on them"
    return (Degraded("grammar", f"{names} {many}", "text in it is found as ever" if len(paths) == 1 else ""),)


def missing_grammar_notes(snapshot: Snapshot, files: Collection[int] | None = None) -> tuple[Degraded, ...]:
    """A note for each language whose grammar was not installed when its files were read."""
    counts: dict[str, int] = {}
    for file in _restrict(snapshot.flagged(NO_GRAMMAR), files):
        language = snapshot.language(file)
        counts[language] = counts.get(language, 0) + 1
    notes = []
    for language, count in sorted(counts.items()):
        many = f"1 {language} file is" if count == 1 else f"{count:,} {language} files are"
        reason = f"{many} cut by lines, without definitions or imports: the grammar of {language} could not be loaded"
        notes.append(Degraded("grammar", reason, f"run: pip install {grammar_package(language)}"))
    return tuple(notes)


def grammar_package(language: str) -> str:
    """The package with the grammar of a language; empty where there is none."""
    known = LANGUAGES.get(language)
    return known.grammar[0].replace("_", "-") if known is not None and known.grammar is not None else ""


def _restrict(flagged: list[int], files: Collection[int] | None) -> list[int]:
    return flagged if files is None else [file for file in flagged if file in files]


def expire_languages(manifest: Manifest, segments: Sequence[Segment], languages: Sequence[str]) -> Manifest:
    """The manifest without the digests and time stamps of files in some languages, so that they count as changed."""
    places: list[set[int]] = []
    for segment in segments:
        names: list[str] = segment.meta["languages"]
        numbers = {number for number, name in enumerate(names) if name in languages}
        column: list[int] = segment.files["language"].tolist() if numbers else []
        places.append({place for place, number in enumerate(column) if number in numbers})
    rows: dict[str, FileRow] = {
        path: row._replace(digest=bytes(16), mtime_ns=0, ctime_ns=0, inode=0)
        if row.segment >= 0 and row.place in places[row.segment]
        else row
        for path, row in manifest.rows.items()
    }
    kept = {language: grammar for language, grammar in manifest.grammars.items() if language not in languages}
    return manifest.replace(rows=rows, grammars=kept)
