"""Reads a source file into chunks, definitions, comments and imports; the chunks tile the file and respect its definitions.

A node larger than the target is divided into its children; everything smaller is a leaf that is never cut. The first
byte of each line on which a leaf begins is a boundary. It is *strong* when a chunk may freely begin there, *weak* when
what precedes belongs to what follows (a comment before its function, a class's header before its first member) or
what follows belongs to what precedes (a closing brace). Runs between strong boundaries are packed greedily; a run that
is too large on its own is cut at its weak boundaries, and only then by lines.

Of files that are markup around scripts, the scripts are parsed as what they are, and the rest is cut by lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from lurcher.chunking.lines import LineIndex, chunk_lines, cut_lines
from lurcher.languages.base import Captures, DefinitionRules, Language
from lurcher.languages.definitions import Comments, KernelRules, Range, extract
from lurcher.languages.detect import LANGUAGES, load_language
from lurcher.languages.grammar import Grammar, Reader, grammar_of
from lurcher.languages.imports import imports_among, imports_of
from lurcher.languages.occurrences import decode_occurrences, encode_occurrences
from lurcher.languages.parsed_file import Import, ParsedFile, Span
from lurcher.runtime.kernel import native
from lurcher.runtime.sandbox import SandboxFailure, call, can_start_child
from lurcher.types import Definition

if TYPE_CHECKING:
    from tree_sitter import Node


TARGET = 1500

_MIN_PROBED = 32_768
"""Up to this many bytes any text is parsed: the cost of error recovery is bounded."""
_MAX_MEAN_LINE = 2_048
"""Mean bytes of a line above which a text is data or minified code."""
_PROBE_BYTES = 4_096
_MAX_PROBE_ERRORS = 800
"""With more misplaced tokens in its first bytes, a text is not in the language of its name.

Real files, cut off in the middle of a comment, reach 600; arbitrary words start at 900."""
_MAX_FLAT_CHILDREN = 8_192
"""A root that is an error with more children is not used: queries over it take quadratic time."""

def parse(text: bytes, language: str, target: int = TARGET) -> ParsedFile:
    """Cut `text` (UTF-8) into chunks of about `target` characters and find what it defines and imports.

    Without a grammar, or where it cannot cope with the text, the text is cut by lines and defines nothing.
    """
    known = LANGUAGES.get(language)
    if known is not None and known.script and text:
        return parse_scripts(text, load_language(language), target, parse)
    grammar = grammar_of(language) if text else None
    if grammar is None:
        missing = known is not None and known.grammar is not None and bool(text)
        return ParsedFile(language, chunk_lines(text, target), (), (), no_grammar=missing)
    try:
        if grammar.kernel is not None or not can_start_child():
            return parse_with(grammar, text, target)
        found: ParsedFile = call(f"{__name__}:parse_in_process", text, language, target, grammar.kernel_rules is not None)
        return found
    except SandboxFailure:
        return ParsedFile(language, chunk_lines(text, target), (), (), gave_up=True)


def parse_in_process(text: bytes, language: str, target: int, with_rules: bool) -> ParsedFile:
    """Does the work of `parse` with tree-sitter, in a child process that may be stopped."""
    grammar = grammar_of(language)
    assert grammar is not None
    return parse_with(replace(grammar, kernel=None, kernel_rules=grammar.kernel_rules if with_rules else None), text, target)


def parse_with(grammar: Grammar, text: bytes, target: int) -> ParsedFile:
    """Does the work of `parse` with this grammar, in this process; raises GaveUp where the kernel does."""
    language = grammar.name
    seen = grammar.prepared(text)
    tree = parse_tree(seen, grammar)
    if tree is None:
        return ParsedFile(language, chunk_lines(text, target), (), ())
    root, reader = tree
    matches = reader.matches(root)
    if reader.with_imports:
        end = len(grammar.rules.patterns)
        nodes = [captures["import"][0] for index, captures in matches if index >= end]
        imports = imports_among(nodes, root, seen, language)
        if nodes:
            matches = [match for match in matches if match[0] < end]
    else:
        imports = imports_of(root, seen, language, reader.imports_in)
    if grammar.kernel_rules is None:
        ruler = LineIndex(text)
        definitions, comments = extract(matches, grammar.rules, ruler)
        chunks, ranges = chunk_tree(root, ruler, target, grammar.rules, comments, definitions), tuple(comments.ranges)
    else:
        chunks, definitions, ranges = read_with_kernel(root, matches, text, target, grammar.rules, grammar.kernel_rules)
    return ParsedFile(language, chunks, definitions, ranges, imports, occurrences=reader.occurrences(root, text))


def read_with_kernel(
    root: Node, matches: list[tuple[int, Captures]], text: bytes, target: int, rules: DefinitionRules, for_kernel: KernelRules
) -> tuple[tuple[Span, ...], tuple[Definition, ...], tuple[Range, ...]]:
    """The chunks of a text that is not empty, its definitions in order of position, and its comments, by the kernel.

    `languages/definitions.py` and `tiling.py` do the same in Python.
    """
    kernel = native()
    assert kernel is not None
    ruler = kernel.Ruler(text)
    definitions, comments = kernel.extract(matches, for_kernel[0], ruler, for_kernel[1])
    small = ruler.size(0, len(text)) <= target
    cuts = [0] if small else kernel.cuts(root, ruler, target, rules.leads, rules.divided, definitions, cut_lines)
    return ruler.spans(cuts, Span), definitions, comments


def load_grammar(language: str) -> None:
    """Load a language's grammar before it is needed, if there is one."""
    grammar_of(language)


def parse_tree(text: bytes, grammar: Grammar) -> tuple[Node, Reader] | None:
    """The root of the syntax tree and its reader; None for text that would take quadratic time: data, minified code, the wrong
    language. Raises GaveUp where the kernel takes too many steps."""
    if len(text) > _MIN_PROBED:
        if len(text) > _MAX_MEAN_LINE * text.count(b"\n"):
            return None
        if _count_probe_errors(grammar.parsed(text[: text.rfind(b"\n", 0, _PROBE_BYTES) + 1])) > _MAX_PROBE_ERRORS:
            return None
    tree = grammar.parsed(text)
    if tree is None:
        raise SandboxFailure("it takes too many steps or too much memory")
    if tree[0].is_error and tree[0].child_count > _MAX_FLAT_CHILDREN:
        return None
    return tree


def _count_probe_errors(tree: tuple[Node, Reader] | None) -> int:
    return 0 if tree is None else _count_errors(tree[0])


def _count_errors(root: Node) -> int:
    """How many tokens of a tree the parser could not place. A walk, because a query would take longer to compile."""
    count = 0
    stack = [root]
    while stack:
        node = stack.pop()
        if node.has_error:
            count += 1 + node.child_count if node.is_error else 0
            stack.extend(node.children)
    return count


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
    occurrences: list[tuple[int, int]] = []
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
            entry.replace(
                start_byte=entry.start_byte + start, end_byte=entry.end_byte + start,
                start_line=entry.start_line + above, end_line=entry.end_line + above,
            )
            for entry in found.definitions
        ]  # fmt: skip
        comments += [(first + start, last + start) for first, last in found.comments]
        imports += [entry._replace(line=entry.line + above) for entry in found.imports]
        occurrences += [(at + start, kind) for at, _, kind in decode_occurrences(found.occurrences, text[start:end])]
        gave_up, reached = gave_up or found.gave_up, closing
    cuts += [reached + span.start_byte for span in chunk_lines(text[reached:], target)]
    # Two scripts on one line cut the same place twice, or out of order.
    cuts = sorted({cut for cut in cuts if cut < len(text)})
    return ParsedFile(
        language.name, ruler.spans(cuts), tuple(definitions), tuple(comments), tuple(imports),
        occurrences=encode_occurrences(occurrences, text), gave_up=gave_up,
    )  # fmt: skip
