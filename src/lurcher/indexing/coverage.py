"""What of a tree an index does not hold, and why: an answer that finds nothing has to say so."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lurcher.languages.detect import LANGUAGES
from lurcher.runtime.light import TYPE_CHECKING, NamedTuple, replace
from lurcher.sources.files import MOST_EXAMPLES
from lurcher.storage.manifest import NO_SEGMENT, SKIP_REASONS, UNREADABLE, Manifest
from lurcher.storage.segment import GRAMMAR_GAVE_UP, NO_GRAMMAR
from lurcher.types import Degraded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lurcher.storage.manifest import FileRow, Manifest
    from lurcher.storage.segment_reader import Segment
    from lurcher.storage.snapshot import Snapshot


_NO_TEXT = frozenset({"binary-extension", "symlink", "special", "internal", "ignored", "worktree"})
"""Images, archives and programs; what leads elsewhere; and what somebody left out on purpose, as git's ignored files are."""


class Unread(NamedTuple):
    """Files, or whole folders, that were left out for one reason."""

    number: int
    paths: tuple[str, ...]
    """A few of them."""


def find_unread(manifest: Manifest) -> dict[str, Unread]:
    """Everything left out that may hold text, by reason."""
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
    """The same of several roots, each with what its paths begin with."""
    found: dict[str, Unread] = {}
    for label, part in parts:
        for reason, (count, paths) in part.items():
            before = found.get(reason, Unread(0, ()))
            shown = (*before.paths, *(label + path for path in paths))[:MOST_EXAMPLES]
            found[reason] = Unread(before.number + count, shown)
    return dict(sorted(found.items()))


def unread_note(unread: Mapping[str, Unread]) -> Degraded:
    """Says what was not looked at."""
    count = sum(each.number for each in unread.values())
    many = "1 file or folder was" if count == 1 else f"{count:,} files or folders were"
    reasons = ", ".join(f"{reason} {each.number:,}{_list_paths(each)}" for reason, each in unread.items())
    return Degraded("files", f"{many} not read: {reasons}", "")


def unreadable_notes(manifest: Manifest) -> tuple[Degraded, ...]:
    """Says what could not be read although it should have been, which is something."""
    found = find_unread(manifest)[UNREADABLE]
    many = "1 file or folder" if found.number == 1 else f"{found.number:,} files or folders"
    return (Degraded("files", f"{many} cannot be read, and nothing of it is known{_list_paths(found)}", ""),)


def _list_paths(unread: Unread) -> str:
    if not unread.paths:
        return ""
    return f" ({', '.join(unread.paths)}{', …' if unread.number > len(unread.paths) else ''})"

# ----------------------------------------------------------------------------------------------------------------------
# Files that are cut by lines although there is a grammar for their language, somewhere: which, why, and when to try again.


_MAX_NAMED = 3


def grammar_failure_notes(snapshot: Snapshot, files: Collection[int] | None = None) -> tuple[Degraded, ...]:
    """A note about files that took their grammar too much time or memory; about some `files` only, where these are given."""
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
    """A note for each language whose grammar was missing when its files were read."""
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
    """The package that brings the grammar of a language."""
    known = LANGUAGES.get(language)
    return known.grammar[0].replace("_", "-") if known is not None and known.grammar is not None else ""


def _restrict(flagged: list[int], files: Collection[int] | None) -> list[int]:
    return flagged if files is None else [file for file in flagged if file in files]


def expire_languages(manifest: Manifest, segments: Sequence[Segment], languages: Sequence[str]) -> Manifest:
    """The manifest without the digests and time stamps of files in some languages: they count as changed then."""
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
    return replace(manifest, rows=rows, grammars=kept)
