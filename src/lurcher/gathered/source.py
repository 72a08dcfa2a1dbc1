"""What a source of documents is: one file, told of by an entry point in the group `lurcher.sources`, with

    stamp(request)     -> a text that changes when the documents do; asked for on each question, so it has to be cheap
    documents(request) -> all documents as they are now, each with a name of its own

They are kept as files in a folder of the user and indexed as any others are: a name that ends in `.md` is a note with headings
and tags, one that ends in `.py` is code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from lurcher.config import Settings
from lurcher.light import dataclass

LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Request:
    root: Path
    """The folder that the question is about."""
    settings: Settings


@dataclass(frozen=True, slots=True)
class Document:
    name: str
    """With an ending that says what it is; slashes make folders."""
    text: str


Stamp = Callable[[Request], str]
Documents = Callable[[Request], Iterable[Document]]


def checked_name(name: object) -> str:
    """A name under which a document can be kept; ValueError for any other."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable() or "\\" in name:
        raise ValueError(f"{str(name)[:40]!r} is no name for a document")
    parts = PurePosixPath(name).parts
    if name.startswith("/") or any(part.startswith(".") for part in parts) or "/".join(parts) != name:
        raise ValueError(f"{name[:40]!r} is no name for a document")
    return name
