"""What `lurcher --help` prints: all commands on one screen, one line each, by what they are for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GROUPS = {
    "ask": ("search", "history", "notes", "symbol", "references", "implementations", "related", "exists"),
    "understand a place": ("explain", "why", "brief", "impact", "outline", "context"),
    "index": ("index", "status", "doctor", "workspace", "export", "projects", "sync", "model"),
    "agents, browser and editors": ("init", "mcp", "serve", "stats", "hook", "completion"),
    "settings and help": ("config", "eval", "help"),
}
_WIDTH = 80
_MARGIN = 19
"""Letters before the text of a command."""


def render_overview(helps: Mapping[str, str]) -> str:
    """The help of each command by its name, as the page."""
    return "\n".join(_lines(helps)) + "\n"


def _lines(helps: Mapping[str, str]) -> Iterator[str]:
    yield "usage: lurcher QUESTION [PATH…] [flags]"
    yield "       lurcher COMMAND … [flags]"
    yield ""
    yield "Finds the code that answers a question: offline, with the reason for every hit."
    for title, names in GROUPS.items():
        yield ""
        yield f"{title}:"
        for name in names:
            yield f"  {name:<{_MARGIN - 4}}  {_shorten(helps[name])}"
    yield ""
    yield "lurcher COMMAND --help lists the flags of a command."
    yield 'example: lurcher "how are redirects followed"'


def _shorten(text: str) -> str:
    """A command's help in one line."""
    text = re.split(r"[:;]| \(", text)[0]
    while len(text) > _WIDTH - _MARGIN and ", " in text:
        text = text.rpartition(", ")[0]
    return text
