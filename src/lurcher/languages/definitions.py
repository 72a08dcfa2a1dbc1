"""Definitions and comments of a parsed file, out of what the patterns of its language matched.

The kernel does the same in C (`kernel/chunk/`); `kernel_rules` is what it needs to know of a
language. Tests hold the two against each other.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from lurcher.languages.base import ATTRIBUTE, COMMENT, OPEN_SCOPE, SCOPE, WRAP, Captures, DefinitionRules, Found
from lurcher.runtime.kernel import native
from lurcher.types import Definition

Range = tuple[int, int]
KernelRules = tuple[tuple[Any, ...], tuple[Any, ...]]
"""The head of each pattern, and a language's rules as the kernel takes them."""

_LONGEST_NAME = 200
"""Characters beyond which a name is a misreading of broken code."""
_MOST_READ = 1 << 32
"""More than any reader makes of one match."""
_CALLABLE = frozenset({"function", "method", "constructor", "macro"})


class Lines(Protocol):
    """A text that knows its lines: `chunking.lines.LineIndex`."""

    text: bytes

    def line(self, byte: int, /) -> int:
        """The 1-based line that `byte` lies on."""
        ...


_BLANK = b" \t\r\n"


class Comments:
    """The comments of a text, in order and disjoint."""

    __slots__ = ("_text", "ranges", "starts")

    def __init__(self, text: bytes, ranges: list[tuple[int, int]]) -> None:
        self._text = text
        self.ranges = ranges
        self.starts = [start for start, _ in ranges]

    def inside(self, start: int, end: int) -> list[tuple[int, int]]:
        """The comments that begin in [start, end)."""
        first = bisect_left(self.starts, start)
        if first == len(self.starts) or self.starts[first] >= end:
            return []
        return self.ranges[first : bisect_left(self.starts, end)]

    def trim(self, start: int, end: int) -> int:
        """The end of [start, end) without trailing white space and, if there is any, the comments around it."""
        text = self._text
        if text[end - 1] not in _BLANK:
            return end
        while True:
            while end > start and text[end - 1] in _BLANK:
                end -= 1
            index = bisect_left(self.starts, end) - 1
            if index < 0 or self.ranges[index][1] != end or self.starts[index] <= start:
                return end
            line = text.rfind(b"\n", start, self.starts[index]) + 1
            if text[max(line, start) : self.starts[index]].strip():
                return end
            end = self.starts[index]


def kernel_rules(rules: DefinitionRules) -> KernelRules:
    """What the kernel needs to know to do what `extract` does."""
    kernel = native()
    assert kernel is not None
    split = re.compile(rules.qualifiers).split if rules.qualifiers else None
    return tuple(head for head, _ in rules.patterns), (
        COMMENT, WRAP, ATTRIBUTE, SCOPE, OPEN_SCOPE, rules.refine, rules.exported, partial(qualify, split) if split else None,
        rules.methods_in, rules.constructors, rules.contains_nothing, rules.signature_at_wrapper, rules.constructor_is_class,
        rules.merge_equations, rules.annotations, kernel.Found, Definition, signature, after_annotations,
    )  # fmt: skip


def extract(
    matches: list[tuple[int, Captures]], rules: DefinitionRules, ruler: Lines
) -> tuple[tuple[Definition, ...], Comments]:
    """Definitions in order of position, and the comments."""
    commented: list[Range] = []
    attributes: list[Range] = []
    wrappers: dict[int, Range] = {}
    captured: list[tuple[int, str, Captures]] = []
    """With a rank each, of which the lower is preferred."""
    heads = [head for head, _ in rules.patterns]
    for index, captures in matches:
        head = heads[index]
        if not isinstance(head, str):
            for rank, (kind, read) in enumerate(head(captures), index * _MOST_READ):
                if kind is COMMENT:
                    commented.append(read["def"][0].byte_range)
                else:
                    captured.append((rank, kind, read))
        elif head is COMMENT:
            commented.append(captures["def"][0].byte_range)
        elif head is WRAP:
            wrappers[captures["inner"][0].start_byte] = captures["def"][0].byte_range
        elif head is ATTRIBUTE:
            attributes.append(captures["def"][0].byte_range)
        else:
            captured.append((index * _MOST_READ, head, captures))
    comments = Comments(ruler.text, _disjoint(commented))
    founds: list[tuple[int, Found]] = []
    for rank, kind, captures in captured:
        found: Found | None = _read_match(kind, captures, rules, ruler.text, wrappers)
        if found is not None and rules.refine is not None:
            found = rules.refine(found, ruler.text)
        if found is not None and 0 < len(found.name) <= _LONGEST_NAME and len(found.owner) <= _LONGEST_NAME:
            found.end = comments.trim(found.name_end, found.end)
            founds.append((rank, found))
    if attributes:
        _include_attributes([found for _, found in founds], attributes, comments, ruler.text)
    founds.sort(key=lambda entry: (entry[1].start, -entry[1].end, entry[0], entry[1].name_start))
    placed = _Placement(rules, ruler, comments)
    for _, found in founds:
        placed.add(found)
    return placed.definitions(), comments


def _read_match(kind: str, captures: Captures, rules: DefinitionRules, text: bytes, wrappers: dict[int, Range]) -> Found | None:
    """Read one match; only byte positions are taken from the tree."""
    node = captures["def"][0]
    names = captures.get("name")
    name = names[0] if names else node.child_by_field_name("name")
    if name is None:
        return None
    start, end = node.byte_range
    name_start, name_end = name.byte_range
    owners = captures.get("owner")
    owner = text[owners[0].start_byte : owners[0].end_byte].decode("utf-8", "replace") if owners else ""
    values = captures.get("value")
    bodies = captures.get("body")
    body = bodies[0] if bodies else (values[0] if values else node).child_by_field_name("body")
    found = Found(
        kind=kind,
        name=text[name_start:name_end].decode("utf-8", "replace"),
        owner=owner,
        start=start,
        end=end,
        signature_start=start,
        signature_end=body.start_byte if body is not None else end,
        name_start=name_start,
        name_end=name_end,
        value_start=values[0].start_byte if values else name_end,
    )
    while (outer := wrappers.get(found.start)) is not None:
        found.end = max(found.end, outer[1])
        if outer[0] == found.start:
            break
        found.start = outer[0]
        if rules.signature_at_wrapper:
            found.signature_start = outer[0]
    return found


class _Placement:
    """Gives definitions, which arrive in order of position, their containers by nesting."""

    def __init__(self, rules: DefinitionRules, ruler: Lines, comments: Comments) -> None:
        self._rules = rules
        self._ruler = ruler
        self._comments = comments
        self._split = re.compile(rules.qualifiers).split if rules.qualifiers else None
        self._open: list[tuple[int, int, str, str]] = []
        """Start, end, qualified name and kind of the definitions around the current one."""
        self._seen: set[tuple[int, int, str]] = set()
        self._result: list[Definition] = []
        self._equation: tuple[int, str, str, str] | None = None
        """What distinguishes further equations of the previous definition from other definitions."""

    def definitions(self) -> tuple[Definition, ...]:
        return tuple(sorted(self._result, key=lambda entry: (entry.start_byte, -entry.end_byte, entry.name)))

    def add(self, found: Found) -> None:
        """Place one definition, unless an earlier pattern has found it."""
        rules = self._rules
        start, end, kind = found.start, found.end, found.kind
        around = self._open
        while around and (around[-1][1] < end or around[-1][1] <= start):
            around.pop()
        outer = len(around) - 1
        while outer >= 0 and around[outer][:2] == (start, end):
            outer -= 1
        if kind == "field" and outer >= 0 and around[outer][3] == "constructor":
            outer -= 1  # what a constructor declares is a field of its type
        scope, _, container, parent_kind = around[outer] if outer >= 0 else (-1, -1, "", "")
        if self._split is not None:
            qualify(self._split, found)
        name = found.name
        if found.owner:
            container = f"{container}.{found.owner}" if container else found.owner
            parent_kind = SCOPE if kind == "function" else parent_kind
        qualified = f"{container}.{name}" if container else name
        if kind is SCOPE or kind is OPEN_SCOPE:
            around.append((start, end, qualified, kind))
            return
        key = (start, end, name)
        if key in self._seen:
            return
        self._seen.add(key)
        found.kind = kind = self._kind(kind, name, container, parent_kind)
        if outer == len(around) - 1 and kind not in rules.contains_nothing:
            around.append((start, end, qualified, kind))
        if rules.merge_equations:
            equation = (scope, name, container, kind)
            if kind in _CALLABLE and equation == self._equation:
                self._result[-1] = self._extend_definition(self._result[-1], end)
                return
            self._equation = equation
        begin = found.signature_start
        if rules.annotations and self._ruler.text[begin] in rules.annotations:
            begin = after_annotations(self._ruler.text, begin, found.name_start)
        self._result.append(
            Definition(
                name=name,
                kind=kind,
                container=container,
                signature=self._signature(begin, found),
                start_byte=start,
                end_byte=end,
                start_line=self._ruler.line(start),
                end_line=self._ruler.line(max(start, end - 1)),
                exported=rules.exported(found, self._ruler.text[begin : found.name_start], parent_kind),
            )
        )

    def _kind(self, kind: str, name: str, container: str, parent_kind: str) -> str:
        rules = self._rules
        if kind == "function" and parent_kind in rules.methods_in:
            kind = "method"
        if kind == "method" and (
            name in rules.constructors or (rules.constructor_is_class and name == container.rsplit(".", 1)[-1])
        ):
            return "constructor"
        if kind == "variable" and len(name) > 1 and name.isupper():
            return "constant"
        return kind

    def _signature(self, begin: int, found: Found) -> str:
        """The signature, read around the comments that lie in it."""
        end = min(found.signature_end, found.end)
        ends_at_brace = end >= found.end and found.kind not in _CALLABLE
        return signature(self._ruler.text, begin, end, self._comments.inside(begin, end), ends_at_brace)

    def _extend_definition(self, previous: Definition, end: int) -> Definition:
        """A definition extended over the next of its equations."""
        return Definition(
            name=previous.name,
            kind=previous.kind,
            container=previous.container,
            signature=previous.signature,
            start_byte=previous.start_byte,
            end_byte=max(end, previous.end_byte),
            start_line=previous.start_line,
            end_line=max(self._ruler.line(end - 1), previous.end_line),
            exported=previous.exported,
        )


def qualify(split: Callable[[str], list[str]], found: Found) -> None:
    """`a::Foo::bar` is bar of a.Foo."""
    parts = [part.strip() for part in split(found.name) if part.strip()]
    owners = [part.strip() for part in split(found.owner) if part.strip()] if found.owner else []
    if len(parts) > 1:
        owners += parts[:-1]
    if parts:
        found.name = parts[-1]
    found.owner = ".".join(owners)


def _include_attributes(founds: list[Found], attributes: list[Range], comments: Comments, text: bytes) -> None:
    """Extend definitions back over the attributes before them, across comments between attributes."""
    attributes.sort()
    attribute_starts = [start for start, _ in attributes]
    for found in founds:
        position = found.start
        while True:
            before = _before(attributes, attribute_starts, position, text)
            if before is not None:
                found.start = position = before[0]
                continue
            before = _before(comments.ranges, comments.starts, position, text)
            if before is None:
                break
            position = before[0]


def _before(ranges: list[Range], starts: list[int], position: int, text: bytes) -> Range | None:
    """The range that ends before `position` with nothing but white space between."""
    index = bisect_right(starts, position - 1) - 1
    if index < 0:
        return None
    end = ranges[index][1]
    if end > position or position - end > 400 or text[end:position].strip():
        return None
    return ranges[index]


def _disjoint(ranges: list[Range]) -> list[Range]:
    """Ranges in order; one that begins inside another is dropped."""
    ranges.sort(key=lambda entry: (entry[0], -entry[1]))
    result: list[Range] = []
    reached = 0
    for start, end in ranges:
        if start >= reached and end > start:
            result.append((start, end))
            reached = end
    return result


_LONGEST_SIGNATURE = 200
_READ = 4 * _LONGEST_SIGNATURE
"""Bytes that are read: enough for a line of four-byte characters."""
_OPENING = {ord("("): ord(")"), ord("["): ord("]")}


def signature(text: bytes, start: int, end: int, comments: list[tuple[int, int]], ends_at_brace: bool) -> str:
    """The text of [start, end) on one line, without the comments in it, optionally only up to its first brace."""
    if comments:
        pieces = []
        position = start
        for comment_start, comment_end in comments:
            pieces.append(text[position:comment_start])
            position = comment_end
            if position - start > _READ:
                break
        else:
            pieces.append(text[position : min(end, start + _READ)])
        raw = b" ".join(pieces)
    else:
        raw = text[start : min(end, start + _READ)]
    if ends_at_brace:
        raw = raw.split(b"{", 1)[0]
    line = " ".join(raw.decode("utf-8", "ignore").split())
    return line.rstrip(" {:=;,")[:_LONGEST_SIGNATURE].rstrip()


def after_annotations(text: bytes, start: int, end: int) -> int:
    """Where a definition goes on after its leading annotations, such as `@Test(timeout = 1)`, `[Fact]` or `#[A]`."""
    position = start
    while position < end:
        byte = text[position]
        if byte in b" \t\r\n":
            position += 1
        elif text.startswith(b"//", position):
            position = _after(text, b"\n", position, end)
        elif text.startswith(b"/*", position):
            position = _after(text, b"*/", position, end)
        elif byte in b"@#[" and not text.startswith(b"@interface", position):
            position = _annotation_end(text, position, end)
        else:
            return position
    return start


def _after(text: bytes, mark: bytes, position: int, end: int) -> int:
    found = text.find(mark, position, end)
    return found + len(mark) if found >= 0 else end


def _annotation_end(text: bytes, position: int, end: int) -> int:
    """The byte after the annotation that begins here: its mark, a dotted name, and balanced arguments."""
    if text[position] in b"@#":
        position += 1
        while position < end and (text[position : position + 1].isalnum() or text[position] in b"_.:"):
            position += 1
        if position < end and text[position] not in _OPENING:
            return position
    depth = 0
    quote = 0
    while position < end:
        byte = text[position]
        if quote:
            if byte == ord("\\"):
                position += 1
            elif byte == quote:
                quote = 0
        elif byte in b"\"'":
            quote = byte
        elif byte in b"([{":
            depth += 1
        elif byte in b")]}":
            depth -= 1
            if depth <= 0:
                return position + 1
        position += 1
    return end
