"""Sections of notes as hits: how each is called, and how it can be opened."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lurcher.answer.hits import Shown
from lurcher.corpora.notes.link_graph import Vault, stem_of
from lurcher.rerank.base import Candidate
from lurcher.storage.snapshot import Snapshot
from lurcher.types import HEADING, HEADING_PATH, Definition, Hit, Why

SOURCE = "notes"
_EXPLICIT = re.compile(r"\{\s*#([\w:.-]+)[^{}]*\}\s*$")
_IN_LINK = re.compile(r"[\[\]|#^]+")


class NoteShown:
    """Turns positions of a ranking into hits of notes."""

    def __init__(self, snapshot: Snapshot, shown: Shown, vault: Vault, unit_at: Callable[[int], int]) -> None:
        self._snapshot, self._shown, self._vault, self._unit_at = snapshot, shown, vault, unit_at

    def __len__(self) -> int:
        return len(self._shown)

    def score(self, i: int) -> float:
        return self._shown.score(i)

    def cost(self, i: int) -> int:
        return self._shown.cost(i)

    def location(self, i: int) -> str:
        return self._shown.location(i)

    def why(self, i: int) -> Why:
        return self._shown.why(i)

    def candidate(self, i: int) -> Candidate:
        """A section as a reranker reads it: what stands above it says what it is about."""
        found = self._shown.candidate(i)
        file, _, _, _, _, named = self._snapshot.unit(self._unit_at(i))
        heading = self._snapshot.definition(named).qualified if named >= 0 else ""
        title = self._vault.title(file)
        return replace(found, header=" ".join((self._snapshot.path(file), title, heading if heading != title else "")).strip())

    def hit(self, i: int) -> Hit:
        hit = self._shown.hit(i, named=False)
        file, _, _, _, _, named = self._snapshot.unit(self._unit_at(i))
        heading = self._snapshot.definition(named) if named >= 0 else None
        heading = heading if heading is not None and heading.kind == HEADING else None
        return replace(
            hit, source=SOURCE, symbol=heading.qualified if heading else None, kind="section" if heading else "note",
            note=self._note(file, heading, hit.path),
        )  # fmt: skip

    def _note(self, file: int, heading: Definition | None, path: str) -> dict[str, Any]:
        vault = self._vault
        title = vault.title(file)
        headings = [] if heading is None else [*filter(None, heading.container.split(HEADING_PATH)), heading.name]
        top = heading is None or (not heading.container and heading.name == title)
        stem = stem_of(path)
        link = f"[[{stem}]]" if top or heading is None else f"[[{stem}#{link_text(heading.name)}]]"
        out: dict[str, Any] = {
            "title": title,
            "headings": headings,
            "wikilink": link if vault.linked_by_name else None,
            "anchor": path if heading is None else f"{path}#{self._slug(file, heading)}",
            "tags": list(vault.said(file, "tag")),
        }
        for name, key in (("alias", "aliases"), ("date", "date"), ("broken", "front_matter_problem")):
            said = vault.said(file, name)
            if said:
                out[key] = list(said) if name == "alias" else said[0]
        return out

    def _slug(self, file: int, heading: Definition) -> str:
        """The heading's anchor: its own, else as GitHub makes it."""
        explicit = _EXPLICIT.search(heading.signature)
        if explicit:
            return explicit[1]
        found = self._vault.anchors(file).get(heading.start_byte)
        if found is None:
            raise self._snapshot.corrupt(file, "a section is named after another file's heading")
        return found


def link_text(heading: str) -> str:
    """A heading as a wiki-link may name it: what would end the link is left out."""
    return " ".join(_IN_LINK.sub(" ", heading).split())
