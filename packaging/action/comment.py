"""Prints a comment with the files that an issue most likely concerns; nothing if there are none, or no query in the issue.

    GITHUB_EVENT_PATH=event.json python comment.py [--limit 5]

The issue is a stranger's text. It is a query and nothing else: it is passed as one argument of Python, and of it nothing is
repeated. Paths and names of the repository are written as code, so that they cannot be links, mentions or markup.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

MOST_CHARACTERS = 9_000
"""Of title and text; a query may have 10,000."""
MARK = "<!-- lurcher: which files -->"


def query_of(event: dict[str, Any]) -> str:
    """Title and text of an issue's event; empty if there are none."""
    issue = event.get("issue") or {}
    parts = [part.strip() for part in (issue.get("title"), issue.get("body")) if isinstance(part, str)]
    return "\n\n".join(part for part in parts if part).replace("\0", "")[:MOST_CHARACTERS]


def code(text: str) -> str:
    """Some text as code in Markdown, whatever is in it."""
    text = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    fence = "`"
    while fence in text:
        fence += "`"
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def render(answer: Any, address: str) -> str:
    """The comment for an answer; empty if nothing was found or the answer is unlikely to be in the repository."""
    if not answer.hits or answer.confidence in ("weak", "none"):
        return ""
    lines = [MARK, "This issue most likely concerns:", ""]
    for hit in answer.hits:
        place = f"{hit.path}:{hit.start_line}-{hit.end_line}"
        link = f"{address}/{quote(hit.path)}#L{hit.start_line}-L{hit.end_line}" if address else ""
        name = f", {code(hit.symbol)}" if hit.symbol else ""
        lines.append(f"- [{code(place)}]({link}){name}" if link else f"- {code(place)}{name}")
    return "\n".join([*lines, "", "Found by lurcher, without a language model."]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="print a comment with the files that an issue concerns")
    parser.add_argument("--limit", type=int, default=5)
    options = parser.parse_args()
    query = query_of(json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text("utf-8")))
    if not query:
        return 0
    from lurcher import Engine

    server, repository, commit = (os.environ.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "SHA"))
    address = f"{server}/{repository}/blob/{commit}" if server and repository and commit else ""
    with Engine.open(["."]) as engine:
        sys.stdout.write(render(engine.search(query, limit=max(1, min(options.limit, 20)), context="none"), address))
    return 0


if __name__ == "__main__":
    sys.exit(main())
