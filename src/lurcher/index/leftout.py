"""What of a tree an index does not hold, and why: an answer that finds nothing has to say so."""

from __future__ import annotations

from lurcher.index.manifest import NO_SEGMENT, SKIP_REASONS, UNREADABLE, Manifest
from lurcher.light import TYPE_CHECKING, NamedTuple
from lurcher.sources.listing import MOST_EXAMPLES
from lurcher.types import Degraded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NO_TEXT = frozenset({"binary-extension", "symlink", "special", "internal", "ignored", "worktree"})
"""Images, archives and programs; what leads elsewhere; and what somebody left out on purpose, as git's ignored files are."""


class Unread(NamedTuple):
    """Files, or whole folders, that were left out for one reason."""

    number: int
    paths: tuple[str, ...]
    """A few of them."""


def unread_in(manifest: Manifest) -> dict[str, Unread]:
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


def together(parts: Sequence[tuple[str, Mapping[str, Unread]]]) -> dict[str, Unread]:
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
    reasons = ", ".join(f"{reason} {each.number:,}{_named(each)}" for reason, each in unread.items())
    return Degraded("files", f"{many} not read: {reasons}", "")


def unreadable_note(manifest: Manifest) -> tuple[Degraded, ...]:
    """Says what could not be read although it should have been, which is something."""
    found = unread_in(manifest)[UNREADABLE]
    many = "1 file or folder" if found.number == 1 else f"{found.number:,} files or folders"
    return (Degraded("files", f"{many} cannot be read, and nothing of it is known{_named(found)}", ""),)


def _named(unread: Unread) -> str:
    if not unread.paths:
        return ""
    return f" ({', '.join(unread.paths)}{', …' if unread.number > len(unread.paths) else ''})"
