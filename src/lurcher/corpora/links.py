"""What a hit has to do with the other sources: code with the commits that shaped it and the notes that name it, and back.

A link says why it is there. Names that are plain words count only where they are written as code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from lurcher.corpora.notes.links import MentionFinder, find_paths_named, open_vault
from lurcher.lanes.symbol import find_definitions, select_fitting
from lurcher.sources.git.commit import iso_date
from lurcher.storage.snapshot import Snapshot
from lurcher.terms import compound, split, words
from lurcher.types import HEADING, Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.corpora.history.corpus import HistoryRoot

_MOST = 3
"""Links of one kind that a hit gets."""
_LOOKED_AT = 40
"""Commits, or notes, that are read for one hit."""
_NAMED_IN_TEXT = re.compile(r"`([^`\n]{2,120})`|(?<![\w/.@:-])((?:[\w.-]+/)*[\w-]+(?:\.\w+)*\.[A-Za-z]\w{0,9})(?![\w/])")
_SHA = re.compile(r"(?<![\w/-])([0-9a-f]{7,64})(?![\w-])")
_CALL = re.compile(r"\(.*\)$")
_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)*[!?]?")


@dataclass(frozen=True, slots=True)
class Linker:
    """Finds the links of one answer's hits."""

    snapshot: Snapshot
    pasts: Sequence[HistoryRoot] = ()

    def linked(self, hit: Hit) -> Hit:
        if hit.source == "history":
            links = self._of_commit(hit)
        elif hit.source == "notes":
            links = self._of_note(hit)
        else:
            links = {"commits": self._find_shaping(hit.path, _last(hit.symbol)), "notes": self._naming(hit.path, hit.symbol)}
        return hit.replace(links={**hit.links, **links})

    # -- from code --------------------------------------------------------------------------------------------------------

    def _find_shaping(self, path: str, name: str | None) -> list[dict[str, Any]]:
        """The commits that changed a definition, the newest first, filled up with the newest that changed its file."""
        root = self._past_of(path)
        if root is None:
            return []
        from lurcher.corpora.history.related_commits import commits_of_file

        history, bare = root.view.history, path[len(root.label) :]
        found: dict[int, str] = {}
        touches = commits_of_file(history, bare, _LOOKED_AT)
        names = {bare, *(touch.change.path for touch in touches)}
        if name is not None:
            owners, _ = history.postings("symbols", compound(name))
            hunks = owners[history.live[history.hunk_commit[owners]]]
            by_date = sorted(hunks.tolist(), key=lambda hunk: int(history.rank[history.hunk_commit[hunk]]))
            for hunk in by_date[:_LOOKED_AT]:
                if len(found) < _MOST and history.hunk(hunk).path in names:
                    found.setdefault(int(history.hunk_commit[hunk]), f"changed {name}")
        for touch in touches:
            if len(found) < _MOST:
                found.setdefault(touch.commit, "changed the file")
        return [self._commit(root, commit, why) for commit, why in found.items()]

    def _naming(self, path: str, symbol: str | None) -> list[dict[str, Any]]:
        """The notes that name a file by its path, or a symbol; a name that is a plain word must be written as code."""
        snapshot = self.snapshot
        found: list[dict[str, Any]] = []
        seen: set[int] = set()
        mentions = MentionFinder(snapshot, path)
        ways: list[tuple[str, str, Callable[[bytes], int | None]]] = [
            (word, "names the file", mentions.first) for word in mentions.words
        ]
        ways += [(wanted, why, partial(_first, wanted)) for wanted, why in _names_of(symbol)]
        for wanted, why, place in ways:
            for file in sorted(self._notes_with(wanted), key=snapshot.path)[:_LOOKED_AT]:
                if len(found) >= _MOST or file in seen or snapshot.path(file) == path:
                    continue
                text = snapshot.file_text(file)
                start = place(text)
                if start is not None:
                    seen.add(file)
                    found.append(self._note(file, text.count(b"\n", 0, start) + 1, why))
        return found

    def _notes_with(self, wanted: str) -> list[int]:
        """Notes that have every word of a name."""
        import numpy as np

        snapshot = self.snapshot
        files: NDArray[np.int64] | None = None
        for term in sorted({compound(word) for word in words(wanted)}, key=lambda term: (-len(term), term)):
            owners = np.concatenate([snapshot.postings(family, term)[0] for family in ("body", "comments")])
            here = np.unique(snapshot.unit_file[owners])
            files = here if files is None else np.intersect1d(files, here, assume_unique=True)
            if not len(files):
                break
        if files is None:
            return []
        found: list[int] = files[open_vault(snapshot).notes[files]].tolist()
        return found

    # -- back -------------------------------------------------------------------------------------------------------------

    def _of_commit(self, hit: Hit) -> dict[str, list[dict[str, Any]]]:
        """The code that a commit changed as it is now, and the notes that it changed or that name what it changed."""
        root = self._past_of(hit.path)
        label = root.label if root is not None else ""
        files = [label + path for path in (hit.commit.files if hit.commit else ())]
        live = self.snapshot.live_paths
        notes = open_vault(self.snapshot).notes
        code, written = [], []
        for path in sorted(files, key=lambda path: path != hit.path):
            file = live.get(path)
            if file is None:
                file = self._respelt(root, path, hit.commit.sha if hit.commit else "")
            if file is None:
                continue
            if notes[file]:
                written.append(self._note(file, 1, "changed by the commit"))
            else:
                code.append(self._place(file, _last(hit.symbol) if path == hit.path else None, "changed by the commit"))
        named = self._naming(hit.path, hit.symbol) if hit.path in live and not notes[live[hit.path]] else []
        known = {link["path"] for link in written}
        return {"code": code[:_MOST], "notes": [*written, *(link for link in named if link["path"] not in known)][:_MOST]}

    def _respelt(self, root: HistoryRoot | None, path: str, sha: str) -> int | None:
        """The file that a commit changed under a name that differs in nothing but capitals."""
        alike = [now for now in self.snapshot.live_paths if len(now) == len(path) and now.casefold() == path.casefold()]
        if root is None or len(alike) != 1:
            return None
        from lurcher.corpora.history.related_commits import commits_of_file

        history = root.view.history
        touches = commits_of_file(history, alike[0][len(root.label) :], _LOOKED_AT)
        return self.snapshot.live_paths[alike[0]] if any(history.sha(touch.commit) == sha for touch in touches) else None

    def _of_note(self, hit: Hit) -> dict[str, list[dict[str, Any]]]:
        """The files and symbols that a section names, the commits it names, and the notes that it is linked with."""
        file = self.snapshot.live_paths.get(hit.path)
        if file is None:
            return {}
        lines = self.snapshot.file_text(file).decode("utf-8", "replace").split("\n")[hit.start_line - 1 : hit.end_line]
        text = "\n".join(lines)
        vault = open_vault(self.snapshot)
        near = vault.neighbours([file]).get(file, ())[:_MOST]
        return {
            "code": self._find_named_code(file, text),
            "commits": self._find_named_commits(hit.path, text),
            "notes": [self._note(other, 1, "linked with it") for other in near],
        }

    def _find_named_code(self, note: int, text: str) -> list[dict[str, Any]]:
        found: dict[tuple[str, int], dict[str, Any]] = {}
        for match in _NAMED_IN_TEXT.finditer(text):
            for place in self._places(note, match[1] or match[2], quoted=match[1] is not None):
                found.setdefault((place["path"], place["start_line"]), place)
            if len(found) >= _MOST:
                break
        return list(found.values())[:_MOST]

    def _places(self, note: int, name: str, *, quoted: bool) -> Iterable[dict[str, Any]]:
        """The file, or the one definition, that a note means by a name."""
        snapshot, notes = self.snapshot, open_vault(self.snapshot).notes
        name = _CALL.sub("", name.strip())
        if "/" in name or "." in name:
            for path in self._find_files_called(name):
                first = MentionFinder(snapshot, path).first(f"`{name}`".encode() if quoted else name.encode())
                if first is not None and not notes[snapshot.live_paths[path]]:
                    yield self._place(snapshot.live_paths[path], None, f"named as {name}")
                    return
        if quoted and _SYMBOL.fullmatch(name) and len(name) > 2:
            fitting = select_fitting(find_definitions(snapshot, [name]))
            matches = [match for match in fitting if match.definition.kind != HEADING and match.fits]
            own = {match.file for match in matches}
            if len(own) == 1 or (len(own) == 2 and len(name) > 6):
                best = max(matches, key=lambda match: (match.strength, -match.definition.start_line))
                yield self._place(best.file, best.definition.name, f"names {name}")

    def _find_files_called(self, name: str) -> list[str]:
        """Files that a path or a dotted name may stand for, by its last part; of a dotted name also by the last but one."""
        if "/" in name:
            return find_paths_named(self.snapshot, name)
        parts = (name, *name.strip(".").split(".")[:0:-1])
        known = dict.fromkeys(path for part in parts for path in find_paths_named(self.snapshot, part))
        return list(known)[:_LOOKED_AT]

    def _find_named_commits(self, path: str, text: str) -> list[dict[str, Any]]:
        root = self._past_of(path)
        found: dict[int, dict[str, Any]] = {}
        for match in _SHA.finditer(text) if root is not None else ():
            assert root is not None
            number = root.view.history.number_of(match[1]) if not match[1].isdigit() else None
            if number is not None and number not in found:
                found[number] = self._commit(root, number, f"named as {match[1]}")
                if len(found) == _MOST:
                    break
        return list(found.values())

    # -- how links are shown -----------------------------------------------------------------------------------------------

    def _past_of(self, path: str) -> HistoryRoot | None:
        """The history that a path belongs to: that of the root whose label it begins with."""
        return next((root for root in self.pasts if path.startswith(root.label)), None)

    def _commit(self, root: HistoryRoot, commit: int, why: str) -> dict[str, Any]:
        header = root.view.history.header(commit)
        return {
            "sha": header.sha, "subject": header.subject, "date": iso_date(header.authored)[:10],
            "outcome": root.view.verdicts.outcome_of(header.sha).verdict, "why": why,
        }  # fmt: skip

    def _note(self, file: int, line: int, why: str) -> dict[str, Any]:
        return {"path": self.snapshot.path(file), "line": line, "title": open_vault(self.snapshot).title(file), "why": why}

    def _place(self, file: int, name: str | None, why: str) -> dict[str, Any]:
        line = 1
        if name is not None:
            line = next((item.start_line for item in self.snapshot.definitions_of(file) if item.name == name), 0)
            name, line = (name, line) if line else (None, 1)
        return {"path": self.snapshot.path(file), "start_line": line, "symbol": name, "why": why}


def _last(symbol: str | None) -> str | None:
    return symbol.rpartition(".")[2] if symbol else None


def _first(wanted: str, text: bytes) -> int | None:
    """Where a text has a name by itself."""
    before, after = (rb"(?<!\w)" * wanted[0].isalnum(), rb"(?!\w)" * wanted[-1].isalnum())
    match = re.search(before + re.escape(wanted.encode("utf-8", "surrogateescape")) + after, text)
    return match.start() if match is not None else None


def _names_of(symbol: str | None) -> list[tuple[str, str]]:
    """What a note may call a symbol: with what it is in, or as code."""
    found: list[tuple[str, str]] = []
    name = _last(symbol)
    if symbol and name and len(name) > 2:
        if "." in symbol:
            owner = ".".join(symbol.split(".")[-2:])
            found.append((owner, f"names {owner}"))
        plain = len(split(name)) == 1 and "_" not in name
        found += [(f"`{name}`", f"names {name}"), (f"{name}()", f"names {name}")] if plain else [(name, f"names {name}")]
    return found
