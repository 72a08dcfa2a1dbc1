"""A source: the tickets in `tickets.json` of a repository, a list of objects with `number`, `title` and `text`."""

import json
from collections.abc import Iterator

from lurcher.corpora.documents import Document, Request


def stamp(request: Request) -> str:
    status = (request.root / "tickets.json").stat()
    return f"{status.st_mtime_ns} {status.st_size}"


def documents(request: Request) -> Iterator[Document]:
    for ticket in json.loads((request.root / "tickets.json").read_text("utf-8")):
        yield Document(f"{ticket['number']}.md", f"# {ticket['title']}\n\n{ticket['text']}\n")
