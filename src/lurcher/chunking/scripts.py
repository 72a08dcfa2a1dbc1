"""Files that are markup around scripts: the scripts are parsed as what they are, the rest is cut by lines."""

from __future__ import annotations

from collections.abc import Callable

from lurcher.chunking.lines import LineIndex, chunk_lines
from lurcher.languages.base import Language
from lurcher.runtime.light import replace
from lurcher.types import Definition, Import, ParsedFile

Parse = Callable[[bytes, str, int], ParsedFile]
"""Parses a script: (text, language, characters in a chunk)."""


def parse_scripts(text: bytes, language: Language, target: int, parse: Parse) -> ParsedFile:
    """Chunks that tile the file, and the definitions and imports of its scripts, with the lines of the file."""
    assert language.scripts is not None
    ruler = LineIndex(text)
    cuts: list[int] = []
    definitions: list[Definition] = []
    comments: list[tuple[int, int]] = []
    imports: list[Import] = []
    gave_up, reached = False, 0
    for start, end, name in language.scripts(text):
        if start == end:
            continue
        # The tags belong to the script: a chunk with only a tag would be useless.
        opening = max(ruler.line_start(text.rfind(b"<", 0, start)), reached)
        closing = ruler.next_line(min(end + 1, len(text)))
        cuts += [reached + span.start_byte for span in chunk_lines(text[reached:opening], target)]
        found = parse(text[start:end], name, target)
        above = text.count(b"\n", 0, start)
        cuts += [opening, *(start + span.start_byte for span in found.chunks[1:])]
        definitions += [
            replace(
                entry, start_byte=entry.start_byte + start, end_byte=entry.end_byte + start,
                start_line=entry.start_line + above, end_line=entry.end_line + above,
            )
            for entry in found.definitions
        ]  # fmt: skip
        comments += [(first + start, last + start) for first, last in found.comments]
        imports += [entry._replace(line=entry.line + above) for entry in found.imports]
        gave_up, reached = gave_up or found.gave_up, closing
    cuts += [reached + span.start_byte for span in chunk_lines(text[reached:], target)]
    # Two scripts on one line cut the same place twice, or out of order.
    cuts = sorted({cut for cut in cuts if cut < len(text)})
    return ParsedFile(
        language.name, ruler.spans(cuts), tuple(definitions), tuple(comments), tuple(imports), gave_up=gave_up
    )
