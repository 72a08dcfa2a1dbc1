"""Occurrences of names in a file: where each identifier stands and what it is there, outside of strings and comments.

They are kept as bytes, about one per identifier: four bits for the kind, four for the number of bytes since the end of the
identifier before; 15 means that the rest of that number follows, seven bits a byte, the lowest first. The identifier itself,
its line and the definition around it are in the text and the definitions of the file.

The kernel does the same in C (`kernel/chunk/occurrences.c`). Tests hold the two against each other.
"""

from __future__ import annotations

from functools import cache

from lurcher.runtime.kernel import native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from lurcher.languages.base import OccurrenceRules

READ, WRITE, CALL, TYPE, INHERITANCE, IMPORT, DECORATOR, DEFINITION = range(8)
MEMBER = 8
"""Added to a kind where a receiver stands before the name."""
LABEL = DEFINITION | MEMBER
"""The name of an argument or of a key, which is no use of anything."""
KIND_NAMES = ("read", "write", "call", "type", "inheritance", "import", "decorator", "definition")

PASS, PASS_MEMBER, PASS_VALUE, PASS_ARGUMENT, PASS_TYPED = range(32, 37)
_ACTIONS = {
    **{name: number + 1 for number, name in enumerate(KIND_NAMES)},
    "label": LABEL + 1, "inside": PASS, "member": PASS_MEMBER, "value": PASS_VALUE, "argument": PASS_ARGUMENT,
    "typed": PASS_TYPED,
}  # fmt: skip
_SHORT_GAP = 15
_MOST_LEVELS = 24
_WORD = frozenset(byte for byte in range(256) if byte >= 128 or chr(byte) in "_$" or (byte < 128 and chr(byte).isalnum()))

Occurrence = tuple[int, int, int]
"""Start, end, kind."""


def kind_name(kind: int) -> str:
    """What users call a kind: reading a member is `attribute`."""
    return "attribute" if kind == READ | MEMBER else KIND_NAMES[kind & ~MEMBER]


@cache
def parse_rules(rules: OccurrenceRules) -> tuple[dict[str, int], dict[tuple[str, str], int]]:
    """Types of names with the kind that is assumed, and (type, field or "") → what that place says."""
    names = {}
    for entry in rules.names.split():
        name, _, kind = entry.partition("=")
        names[name] = KIND_NAMES.index(kind) if kind else READ
    places = {}
    for line in rules.places.strip().splitlines():
        action, _, entries = line.partition(":")
        for entry in entries.split():
            parent, _, field = entry.partition(".")
            places[parent, field] = _ACTIONS[action.strip()]
    return names, places


def kernel_occurrences(language: Any, rules: OccurrenceRules) -> Any:
    """The rules for a language of the kernel's; node types and fields that the grammar has not are left out."""
    kernel = native()
    assert kernel is not None
    names, places = parse_rules(rules)
    types = [(symbol, kind) for name, kind in names.items() if (symbol := _number(language.symbol, name, True)) is not None]
    actions = []
    # What holds for one field comes first: what holds for any fills in the rest.
    for (parent, field), action in sorted(places.items(), key=lambda place: not place[0][1]):
        symbol = _number(language.symbol, parent, True)
        number = _number(language.field, field) if field else -1
        if symbol is not None and number is not None:
            actions.append((symbol, number, action))
    return kernel.OccurrenceRules(language, tuple(types), tuple(actions))


def _number(find: Any, *arguments: Any) -> int | None:
    try:
        number: int = find(*arguments)
    except ValueError:
        return None
    return number


def find_occurrences(root: Any, text: bytes, rules: OccurrenceRules) -> bytes:
    """The encoded occurrences in a tree of tree-sitter's: the reference."""
    names, places = parse_rules(rules)
    cursor = root.walk()
    around: list[tuple[str, str]] = []
    """Type and field of each node from the root to the current one."""
    found: list[tuple[int, int]] = []
    while True:
        node = cursor.node
        around.append((node.type if node.is_named else "", cursor.field_name or ""))
        if node.is_named and node.type in names and not node.child_count:
            start = next((byte for byte in range(node.start_byte, node.end_byte) if text[byte] in _WORD), None)
            if start is not None:
                found.append((start, _kind(names[node.type], around, places)))
        if cursor.goto_first_child():
            continue
        around.pop()
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return encode_occurrences(found, text)
            around.pop()


def _kind(kind: int, around: list[tuple[str, str]], places: dict[tuple[str, str], int]) -> int:
    passed = set()
    depth = len(around) - 1
    for _ in range(_MOST_LEVELS):
        action = _action(around, depth, places)
        if action < PASS:
            kind = action - 1 if action else kind
            break
        passed.add(action)
        depth -= 1
    if PASS_VALUE in passed and kind not in (TYPE, INHERITANCE):
        kind = READ
    if PASS_ARGUMENT in passed:
        kind = TYPE if kind in (INHERITANCE, TYPE) else kind if kind == IMPORT else READ
    if PASS_TYPED in passed and kind not in (INHERITANCE, IMPORT, DECORATOR):
        kind = TYPE
    if kind == CALL and depth and _action(around, depth - 1, places) == DECORATOR + 1:
        kind = DECORATOR
    return kind | MEMBER if PASS_MEMBER in passed and kind & ~MEMBER != DEFINITION else kind


def _action(around: list[tuple[str, str]], depth: int, places: dict[tuple[str, str], int]) -> int:
    """What the place of a node in the one around it says."""
    if depth == 0:
        return 0
    parent, field = around[depth - 1][0], around[depth][1]
    known = places.get((parent, field)) if field else None
    return known if known is not None else places.get((parent, ""), 0)


def encode_occurrences(occurrences: Iterable[tuple[int, int]], text: bytes) -> bytes:
    """Starts and kinds, in order; what begins inside the identifier before it is left out."""
    out = bytearray()
    reached = 0
    for start, kind in occurrences:
        gap = start - reached
        if gap < 0:
            continue
        out.append(kind << 4 | min(gap, _SHORT_GAP))
        if gap >= _SHORT_GAP:
            gap -= _SHORT_GAP
            while gap >= 128:
                out.append(gap & 127 | 128)
                gap >>= 7
            out.append(gap)
        reached = _word_end(text, start)
    return bytes(out)


def decode_occurrences(
    encoded: bytes, text: bytes, name: bytes | None = None, first: int = 0, last: int = 1 << 62
) -> list[Occurrence]:
    """The occurrences that begin in [first, last), of one name if one is given; a ValueError for data that does not fit."""
    kernel = native()
    if kernel is not None:
        found: list[Occurrence] = kernel.occurrences(encoded, text, name, first, last)
        return found
    inside = [entry for entry in _decode(encoded, text, last) if entry[0] >= first]
    return inside if name is None else [entry for entry in inside if text[entry[0] : entry[1]] == name]


def _decode(encoded: bytes, text: bytes, last: int) -> Iterator[Occurrence]:
    at = reached = 0
    while at < len(encoded):
        code = encoded[at]
        at += 1
        gap = code & _SHORT_GAP
        if gap == _SHORT_GAP:
            shift, byte = 0, 128
            while byte & 128:
                if at == len(encoded) or shift > 35:
                    raise ValueError("occurrences that do not fit the text")
                byte = encoded[at]
                at += 1
                gap += (byte & 127) << shift
                shift += 7
        start = reached + gap
        if start >= len(text) or text[start] not in _WORD:
            raise ValueError("occurrences that do not fit the text")
        reached = _word_end(text, start)
        if start >= last:
            return
        yield start, reached, code >> 4


def _word_end(text: bytes, start: int) -> int:
    while start < len(text) and text[start] in _WORD:
        start += 1
    return start
