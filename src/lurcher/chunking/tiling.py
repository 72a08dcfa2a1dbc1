"""Cuts a syntax tree into chunks that tile its file and respect its definitions.

A node larger than the target is divided into its children; everything smaller is a leaf that is never cut. The first
byte of each line on which a leaf begins is a boundary. It is *strong* when a chunk may freely begin there, *weak* when
what precedes belongs to what follows (a comment before its function, a class's header before its first member) or
what follows belongs to what precedes (a closing brace). Runs between strong boundaries are packed greedily; a run that
is too large on its own is cut at its weak boundaries, and only then by lines.
"""

from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING

from lurcher.chunking.lines import LineIndex, cut_lines
from lurcher.languages.base import DefinitionRules
from lurcher.languages.definitions import Comments
from lurcher.types import Definition, Span

if TYPE_CHECKING:
    from tree_sitter import Node

_WIDE_GAP = 64


def chunk_tree(
    root: Node, ruler: LineIndex, target: int, rules: DefinitionRules, comments: Comments, definitions: tuple[Definition, ...]
) -> tuple[Span, ...]:
    """Tile the parsed text; `rules` says which nodes belong to the sibling that they precede."""
    if not ruler.text:
        return ()
    if ruler.size(0, len(ruler.text)) <= target:
        return ruler.spans([0])
    boundaries, weak = _find_boundaries(root, ruler, target, rules, comments)
    boundaries, weak = _drop_inside_definitions(boundaries, weak, ruler, target, definitions)
    return ruler.spans(_pack(boundaries, weak, ruler, target))


def _find_boundaries(
    root: Node, ruler: LineIndex, target: int, rules: DefinitionRules, comments: Comments
) -> tuple[list[int], list[bool]]:
    """Where chunks may begin, in order, and which of those places are weak."""
    text, starts, size = ruler.text, ruler.line_starts, ruler.size
    leads, divided = rules.leads, rules.divided
    line, line_end, following = 0, 0, 0
    boundaries, weak = [0], [False]
    reached = 0
    header_open = after_lead = long_line = False
    stack: list[tuple[Node, bool, bool]] = [(root, False, True)]
    while stack:
        node, in_header, first = stack.pop()
        start, end = node.start_byte, node.end_byte
        large = end - start > target and size(start, end) > target
        if (large or (divided and node.type in divided)) and node.child_count:
            children = node.children
            body = 0 if node is root else _count_header(children, start, ruler, target)
            stack.extend((children[index], 0 < index <= body, False) for index in range(len(children) - 1, 0, -1))
            stack.append((children[0], in_header or body > 0, True))
            continue
        if start >= line_end and following < len(starts):
            while following < len(starts) and starts[following] <= start:
                following += 1
            line = starts[following - 1]
            line_end = starts[following] if following < len(starts) else len(text)
            long_line = line_end - line > target and size(line, line_end) > target
        begins_line = reached <= line
        if begins_line or long_line:
            place = line if begins_line else start
            if boundaries[-1] < place < len(text):  # a token that is missing may be at the very end
                if line - reached > _WIDE_GAP and boundaries[-1] < (gap := ruler.next_line(reached)) < line:
                    boundaries.append(gap)
                    weak.append(True)
                boundaries.append(place)
                weak.append(header_open or after_lead or not (first or node.is_named))
                header_open = False
            after_lead = node.type in leads
        else:
            after_lead = False
        header_open = header_open or in_header
        if end > reached:
            reached = end
            if text[end - 1] in b" \t\r\n":
                reached = comments.trim(start, end)
                run_on = comments.inside(reached, end)
                if run_on and (place := ruler.line_start(run_on[0][0])) > boundaries[-1]:
                    boundaries.append(place)
                    weak.append(False)
                    after_lead = True
                    reached = run_on[-1][1]
    return boundaries, weak


def _drop_inside_definitions(
    boundaries: list[int], weak: list[bool], ruler: LineIndex, target: int, definitions: tuple[Definition, ...]
) -> tuple[list[int], list[bool]]:
    """The boundaries that do not lie within a definition that fits: one may consist of several nodes."""
    reached = 0
    index = 0
    kept = []
    for position, boundary in enumerate(boundaries):
        while index < len(definitions) and definitions[index].start_byte < boundary:
            entry = definitions[index]
            if entry.end_byte > reached and ruler.size(entry.start_byte, entry.end_byte) <= target:
                reached = entry.end_byte
            index += 1
        if boundary >= reached:
            kept.append(position)
    return [boundaries[position] for position in kept], [weak[position] for position in kept]


def _count_header(children: list[Node], start: int, ruler: LineIndex, target: int) -> int:
    """How many children introduce the first one that must be divided; 0 when they are too large for a header."""
    for index, child in enumerate(children):
        begin = child.start_byte
        end = child.end_byte
        if end - begin > target and ruler.size(begin, end) > target:
            return index if 2 * ruler.size(start, begin) <= target else 0
    return 0


def _pack(boundaries: list[int], weak: list[bool], ruler: LineIndex, target: int) -> list[int]:
    """Where chunks begin. A run may exceed the target by a quarter rather than lose its header or its end."""
    limit = target + target // 4
    total = len(ruler.text)
    strong = [index for index, is_weak in enumerate(weak) if not is_weak]
    cuts = [0]
    for index, after in pairwise(chain(strong, [len(boundaries)])):
        begin = boundaries[index]
        end = boundaries[after] if after < len(boundaries) else total
        if ruler.size(cuts[-1], end) <= target:
            continue
        if begin > cuts[-1]:
            cuts.append(begin)
        if ruler.size(begin, end) > limit:
            cuts.extend(_divide([*boundaries[index:after], end], ruler, target, limit)[1:])
    return cuts


def _divide(atoms: list[int], ruler: LineIndex, target: int, limit: int) -> list[int]:
    """Cut one run at its weak boundaries, filling chunks from the end so that headers stay with what they introduce."""
    runs: list[tuple[int, int]] = []
    end = atoms[-1]
    begin = end
    for atom in reversed(atoms[:-1]):
        if begin < end and ruler.size(atom, end) > target:
            runs.append((begin, end))
            end = begin
        begin = atom
    runs.append((begin, end))
    runs.reverse()
    cuts: list[int] = []
    for begin, end in runs:
        if ruler.size(begin, end) <= limit:
            cuts.append(begin)
            continue
        # Cutting by lines never cuts in the first half of a chunk, so a short header before them is safe with them.
        if cuts and 2 * ruler.size(cuts[-1], begin) <= target:
            begin = cuts.pop()
        cuts.extend(cut_lines(ruler, begin, end, target))
    return cuts
