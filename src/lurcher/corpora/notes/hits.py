"""Sections of notes as hits: title and headings of each, and the link and anchor that open it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lurcher.answer.hits import HitList
from lurcher.corpora.notes.link_graph import Vault, get_stem
from lurcher.rerank.base import Candidate
from lurcher.storage.snapshot import Snapshot
from lurcher.types import HEADING, HEADING_PATH, Definition, Hit, Why

SOURCE = "notes"
_EXPLICIT_ANCHOR = re.compile(r"\{\s*#([\w:.-]+)[^{}]*\}\s*$")
_LINK_SYNTAX = re.compile(r"[\[\]|#^]+")


class NoteHits:
    """Turns positions of a ranking into hits of notes."""

    def __init__(self, snapshot: Snapshot, shown: HitList, vault: Vault, unit_at: Callable[[int], int]) -> None:
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
        """A section as a reranker reads it, with title and heading as its header."""
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
        stem = get_stem(path)
        link = f"[[{stem}]]" if top or heading is None else f"[[{stem}#{make_link_text(heading.name)}]]"
        out: dict[str, Any] = {
            "title": title,
            "headings": headings,
            "wikilink": link if vault.linked_by_name else None,
            "anchor": path if heading is None else f"{path}#{self._slug(file, heading)}",
            "tags": list(vault.read_facts(file, "tag")),
        }
        for name, key in (("alias", "aliases"), ("date", "date"), ("broken", "front_matter_problem")):
            values = vault.read_facts(file, name)
            if values:
                out[key] = list(values) if name == "alias" else values[0]
        return out

    def _slug(self, file: int, heading: Definition) -> str:
        """The heading's anchor: an explicit one, else the one GitHub would generate."""
        explicit = _EXPLICIT_ANCHOR.search(heading.signature)
        if explicit:
            return explicit[1]
        found = self._vault.anchors(file).get(heading.start_byte)
        if found is None:
            raise self._snapshot.corrupt(file, "a section is named after another file's heading")
        return found


def make_link_text(heading: str) -> str:
    """A heading as text of a wiki-link, without the characters that would end the link."""
    return " ".join(_LINK_SYNTAX.sub(" ", heading).split())
