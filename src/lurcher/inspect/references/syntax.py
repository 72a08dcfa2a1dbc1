"""Reads the expressions, types and imports around a name from the text: what occurrences do not say.

Nothing here raises for text that is no such expression: it gives None or nothing.
"""

from __future__ import annotations

from lurcher.runtime.stdlib import NamedTuple, pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re


_REACH = 4_000
"""Bytes that one expression, annotation or import may have."""
_MOST_SEGMENTS = 12
_WORD = pattern(rb"#?[\w$\x80-\xff]+")
_WORD_BYTES = frozenset(byte for byte in range(256) if byte > 127 or chr(byte).isalnum() or byte in b"_$")
_GENERIC = pattern(rb"<[\w\s,.<>\[\]|]{1,200}>(?=\()")
_OPERATOR = pattern(rb"[!?]?\s*(?:\.|::|->)\s*")
_COLON = pattern(rb"[ \t]*[?!]?[ \t]*:(?![:=])\s*")
_ARROW = pattern(rb"\s*(?:->|:)\s*(?!$)")
_GO_RESULT = pattern(rb"[ \t]*\(?[ \t]*(\*?[\w.]+)")
_PYTHON_ALIAS = pattern(rb"([\w.]+)\s+as\s+\Z")
_SCRIPT_ALIAS = pattern(rb"([\w$]+|\*)\s+as\s+\Z")
_AS = pattern(rb"\s+as\s")
_DOT = pattern(r"\s*(?:\.|::)\s*")
_BLANK = b" \t\r\n"


class Segment(NamedTuple):
    """One name of a chain such as `self.client.get(url)[0]`."""

    name: str
    start: int
    called: bool = False
    indexed: bool = False


class Chain(NamedTuple):
    segments: tuple[Segment, ...]
    new: bool = False
    """Whether `new` or `&` stands before it, or braces behind it: it makes an object."""


def find_receiver(text: bytes, start: int) -> Chain | None:
    """The expression before the dot before a member; None where it is something else than a chain of names."""
    start -= text[start - 1 : start] in (b"#", b"$")
    at = _skip_operator(text, _strip_back(text, start))
    return None if at is None else chain_before(text, at)


def chain_before(text: bytes, end: int) -> Chain | None:
    """The chain of names that ends at a byte."""
    segments: list[Segment] = []
    at = end
    while len(segments) < _MOST_SEGMENTS:
        at = _strip_back(text, at)
        while at and text[at - 1] in b"!?":
            at -= 1
        called = indexed = False
        while at and text[at - 1] in b")]":
            called, indexed = called or text[at - 1] == 41, indexed or text[at - 1] == 93
            opening = _match_back(text, at)
            if opening is None:
                return None
            at = _strip_back(text, opening)
        if called and at and text[at - 1] == 62:  # f<T>(…)
            opening = text.rfind(b"<", max(0, at - 200), at)
            at = opening if opening > 0 else at
        start = _word_start(text, at)
        if start == at:
            return None
        segments.append(Segment(_text(text[start:at]), start, called, indexed))
        at = start
        before = _strip_back(text, at)
        following = _skip_operator(text, before)
        if following is None:
            new = text[_word_start(text, before) : before] == b"new"
            return Chain(tuple(reversed(segments)), new or text[before - 1 : before] == b"&")
        at = following
    return None


def chain_after(text: bytes, at: int) -> Chain | None:
    """The chain of names that begins at a byte: the value of an assignment."""
    limit = min(len(text), at + _REACH)
    new = False
    while True:
        while at < limit and text[at] in b" \t\r\n(&*":
            new = new or text[at] == 38
            at += 1
        word = _WORD.match(text, at, limit)
        if word is None:
            return None
        if word.group() not in (b"await", b"new", b"yield", b"try"):
            break
        new = new or word.group() == b"new"
        at = word.end()
    segments: list[Segment] = []
    while len(segments) < _MOST_SEGMENTS:
        name, start, at = _text(word.group()), word.start(), word.end()
        called = indexed = False
        generic = _GENERIC.match(text, at, limit)
        at = generic.end() if generic else at
        while at < limit and text[at] in b"([":
            called, indexed = called or text[at] == 40, indexed or text[at] == 91
            closing = _match_ahead(text, at, limit)
            if closing is None:
                return None
            at = closing
        segments.append(Segment(name, start, called, indexed))
        operator = _OPERATOR.match(text, at, limit)
        following = _WORD.match(text, operator.end(), limit) if operator else None
        if following is None:
            return Chain(tuple(segments), new or text[at : at + 1] == b"{" or text[at : at + 2] == b" {")
        word = following
    return None


def _skip_operator(text: bytes, at: int) -> int | None:
    """Where the operator that takes a member out of something begins, if it ends here."""
    for operator in (b"?.", b"!.", b"->", b"::", b"."):
        if text[at - len(operator) : at] == operator:
            return None if text[at - 2 : at] == b".." else at - len(operator)
    return None


def _word_start(text: bytes, at: int) -> int:
    """Where the word begins that ends at a byte; a private member of JavaScript begins with `#`."""
    start = at
    while start and text[start - 1] in _WORD_BYTES:
        start -= 1
    return start - (at > start > 0 and text[start - 1] == 35)


def _strip_back(text: bytes, at: int) -> int:
    while at and text[at - 1] in _BLANK:
        at -= 1
    return at


def _match_back(text: bytes, end: int) -> int | None:
    """Where the bracket opens that is closed before `end`; what is in strings counts too, which only misleads."""
    depth = 0
    for at in range(end - 1, max(-1, end - _REACH), -1):
        byte = text[at]
        if byte in b")]}":
            depth += 1
        elif byte in b"([{":
            depth -= 1
            if depth == 0:
                return at
    return None


def _match_ahead(text: bytes, start: int, limit: int) -> int | None:
    """The byte after the bracket that closes the one at `start`."""
    depth = 0
    for at in range(start, limit):
        byte = text[at]
        if byte in b"([{":
            depth += 1
        elif byte in b")]}":
            depth -= 1
            if depth == 0:
                return at + 1
    return None


def after_equals(text: bytes, end: int) -> int | None:
    """Where the value begins in `name = value` and `name := value`."""
    at = end
    while at < len(text) and text[at] in b" \t":
        at += 1
    if text[at : at + 2] == b":=":
        return at + 2
    return at + 1 if text[at : at + 1] == b"=" and text[at + 1 : at + 2] not in (b"=", b">") else None


def annotation_after(text: bytes, end: int) -> str:
    """The type in `name: Type`, or nothing."""
    match = _COLON.match(text, end, end + 40)
    return "" if match is None else read_type(text, match.end())


def read_type(text: bytes, at: int) -> str:
    """The type that begins at a byte, up to what cannot be part of one."""
    start, limit, depth = at, min(len(text), at + 400), 0
    while at < limit:
        byte = text[at]
        if byte in b"([<":
            depth += 1
        elif byte in b")]>" and not (byte == 62 and text[at - 1 : at] in (b"=", b"-")):
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and byte in b",=;{\n:#":
            break
        at += 1
    return _text(text[start:at]).strip()


_WRAPPERS = pattern(
    r"(?s)(?:[\w.]+\.)?(Optional|Final|ClassVar|Required|NotRequired|Annotated|Awaitable|Promise|PromiseLike|Readonly|Partial|NonNullable"
    r"|Type|type|Box|Rc|Arc|RefCell|Mutex|RwLock|Ref|ComputedRef)\s*[\[<](.*)[\]>]\Z",
)
_NOTHING = frozenset({"None", "null", "undefined", "void", "never"})
_PREFIXES = pattern(r"(?:&(?:'\w+\s*)?|\*|mut\b|dyn\b|impl\b|const\b|final\b|readonly\b|keyof\b|typeof\b|async\b|\?|\s)+")
_DOTTED = pattern(r"[\w$]+(?:\s*(?:\.|::)\s*[\w$]+)*")


def type_names(written: str, depth: int = 0) -> list[str]:
    """The names of the types that a value of a written type may have: wrappers and unions are taken apart."""
    written = written.strip().strip("\"'").strip()
    found: list[str] = []
    for part in _split(written, "|"):
        part = _PREFIXES.sub("", part, count=1) if _PREFIXES.match(part) else part
        part = part.strip().strip("\"'")
        wrapped = _WRAPPERS.match(part)
        if wrapped is not None and depth < 4:
            found += type_names(_split(wrapped.group(2), ",")[0], depth + 1)
            continue
        if part.startswith("Union[") and part.endswith("]"):
            found += [name for each in _split(part[6:-1], ",") for name in type_names(each, depth + 1)]
            continue
        match = _DOTTED.match(part)
        if match is not None and match.group() not in _NOTHING and not part.endswith("[]"):
            found.append(_DOT.sub(".", match.group()))
    return found


def _split(text: str, separator: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter in "[(<{":
            depth += 1
        elif letter in "])>}":
            depth -= 1
        elif letter == separator and depth <= 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def return_type(text: bytes, start: int, end: int) -> str:
    """What a function says it returns, read behind its parameters."""
    opening = text.find(b"(", start, min(end, start + _REACH))
    closing = None if opening < 0 else _match_ahead(text, opening, min(end, opening + _REACH))
    if closing is None:
        return ""
    match = _ARROW.match(text, closing, min(end, closing + 40))
    if match is not None:
        # A colon ends a Python header; in other languages a type follows on the same line.
        if b":" in match.group() and (b"\n" in match.group() or text[match.end() : match.end() + 1] in b"\n#"):
            return ""
        return read_type(text, match.end())
    go = _GO_RESULT.match(text, closing, min(end, closing + 80))
    return "" if go is None else _text(go.group(1))


class ImportedName(NamedTuple):
    """What an import binds a name to."""

    module: str
    name: str | None
    """The name in the module; None for the module itself."""
    kind: str
    line: int = 0


_PYTHON_IMPORT = pattern(rb"(?m)(?:^|[;:])[ \t]*(?:from[ \t]+([.\w \t]+?)[ \t]+)?import\b")


def python_import(text: bytes, start: int, end: int) -> ImportedName | None:
    """What the import statement around a name binds it to; None for parts of the statement that bind nothing."""
    begin = max(0, text.rfind(b"\n", 0, max(0, start - _REACH)))
    match = _last_match(_PYTHON_IMPORT, text, begin, start)
    if match is None:
        return None
    before = text[match.end() : start]
    alias = _PYTHON_ALIAS.search(before)
    if _AS.match(text[end : end + 10]):
        return None  # the alias is bound instead
    if match.group(1) is not None:
        name = alias.group(1) if alias else text[start:end]
        return ImportedName(_text(match.group(1)).replace(" ", ""), _text(name), "from")
    if alias is not None:
        return ImportedName(_text(alias.group(1)), None, "import")
    if before.rstrip().endswith(b"."):
        return None
    return ImportedName(_text(text[start:end]), None, "import")


_SCRIPT_IMPORT = pattern(rb"(?:^|[;}\n])\s*(import|export)\b")
_SCRIPT_SOURCE = pattern(rb"\bfrom\s*['\"]([^'\"\n]+)['\"]|=\s*require\(\s*['\"]([^'\"\n]+)['\"]|;|\n\s*\n")


def script_import(text: bytes, start: int, end: int) -> ImportedName | None:
    """The same for JavaScript and TypeScript; the module is empty for names that are exported from here."""
    match = _last_match(_SCRIPT_IMPORT, text, max(0, start - _REACH), start)
    if match is None or _AS.match(text[end : end + 10]):
        return None
    before = text[match.end() : start]
    source = _SCRIPT_SOURCE.search(text, end, end + _REACH)
    module = b"" if source is None else source.group(1) or source.group(2) or b""
    alias = _SCRIPT_ALIAS.search(before)
    if alias is not None:
        name = None if alias.group(1) == b"*" else _text(alias.group(1))
    elif before.count(b"{") > before.count(b"}"):
        name = _text(text[start:end])
    else:
        name = "default" if source is None or source.group(1) else None
    return ImportedName(_text(module), name, _text(match.group(1)))


_DEFAULT = pattern(
    rb"export\s+default\s+(?:abstract\s+|async\s+)*(?:class|function\s*\*?|interface|enum)?\s*([\w$]+)|export\s*\{[^}]*?([\w$]+)\s+as\s+default\b"
)


def default_export(text: bytes) -> str:
    """The name of what a module exports by default, or nothing."""
    match = _DEFAULT.search(text)
    return "" if match is None else _text(match.group(1) or match.group(2))


def _last_match(wanted: re.Pattern[bytes], text: bytes, start: int, end: int) -> re.Match[bytes] | None:
    matches = list(wanted.finditer(text, start, end))
    return matches[-1] if matches else None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
