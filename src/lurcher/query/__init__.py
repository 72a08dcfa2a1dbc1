"""From a query to a plan: its intent, the mode to run, the weighted terms to search.

    text → intent (name, question, report) → terms with their other forms → Plan

Patterns are defined by regular expressions. Most queries are a few ASCII words, for which plain string methods give the same
result: importing and compiling `re` would take longer than the search.
"""

from __future__ import annotations

from itertools import pairwise

from lurcher.runtime.stdlib import Protocol, pattern
from lurcher.terms import split, words
from lurcher.terms.vocabulary import STOP_WORDS, abbreviations, stem
from lurcher.types import ANY_FILE, Filter, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from lurcher.query.text_pattern import TextPattern
    from lurcher.storage.container import BoundedCache


class Query(Record):
    __slots__ = (
        "text", "limit", "mode", "ranking", "filter", "budget", "cursor", "context", "snippet_lines", "fixed", "case", "word",
        "multiline", "rerank", "fusion", "alpha", "mmr", "reasons", "prose", "flat",
    )  # fmt: skip

    def __init__(
        self, text: str, limit: int = 10, mode: str = "auto", ranking: str = "default", filter: Filter = ANY_FILE,
        budget: int | None = None, cursor: str | None = None, context: str = "block", snippet_lines: int | None = None,
        fixed: bool = False, case: str = "smart", word: bool = False, multiline: bool = False, rerank: tuple[str, ...] = (),
        fusion: str | None = None, alpha: float | None = None, mmr: float | None = None, reasons: bool = True,
        prose: bool = True, flat: bool = False,
    ) -> None:  # fmt: skip
        self.text, self.limit, self.mode, self.ranking, self.filter, self.budget = text, limit, mode, ranking, filter, budget
        self.cursor, self.context, self.snippet_lines, self.alpha, self.mmr = cursor, context, snippet_lines, alpha, mmr
        self.fixed = fixed
        """A literal query is a fixed string, not a regular expression."""
        self.case = case
        """Whether letters must match in case: smart (only if the pattern has a capital), ignore, exact."""
        self.word, self.multiline = word, multiline
        self.rerank = rerank
        """Second looks at the first hits, one after the other."""
        self.fusion = fusion
        """rrf is the classic ranking, linear adds up; None: as the ranking has it."""
        self.reasons = reasons
        """Whether hits tell why they are there, which takes a tenth of the time."""
        self.prose = prose
        """Whether notes may answer too; where they are asked for themselves, they do not answer as code."""
        self.flat = flat
        """Whether each place is a hit of its own, rather than one of its file's."""

    @property
    def order(self) -> str:
        """Which ranking puts the units in order."""
        return {"linear": "linear", "rrf": "classic"}.get(self.fusion or "", self.ranking)


SYMBOL, LANGUAGE, REPORT, LITERAL, PATTERN = "symbol", "natural-language", "report", "literal", "pattern"

_NAME = r"[^\W\d]\w*[?!]?"
QUALIFIED = pattern(rf"^[@$#.:]*{_NAME}(?:(?:::?|\.|#|->|/|\\){_NAME})*(?:\(\))?$")
"""`name`, `a.b.c`, `Foo::bar`, `Foo#bar`, `call()`."""

_CODE_NAME = pattern(
    r"(?<![\w.])[^\W\d]\w*(?:(?:::|\.|#)[^\W\d]\w*)+"  # qualified
    r"|(?<!\w)[^\W\d_]*[a-z0-9][A-Z]\w*"  # camelCase, PascalCase of two words
    r"|(?<!\w)[A-Z]{2,}[a-z]\w*"  # HTTPServer
    r"|(?<!\w)\w*[^\W_]_[^\W_]\w*"  # snake_case
    r"|(?<!\w)_+[^\W\d_]\w+"  # _private
)
_CAPITALISED = pattern(r"(?<!^)(?<![.!?]\s)(?<!\w)[A-Z][a-z]\w+")


def detect_intent(text: str) -> str:
    """Which of the three intents a query has."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if len(lines) > 1:
        return REPORT
    return SYMBOL if lines and _is_qualified_name(lines[0].strip()) else LANGUAGE


def _is_qualified_name(line: str) -> bool:
    if " " in line:
        return False
    if not line.isascii():
        return QUALIFIED.match(line) is not None
    parts = _unify_separators(line.lstrip("@$#.:").removesuffix("()").replace("::", "/")).split("/")
    return all((part[:-1] if part.endswith(("?", "!")) else part).isidentifier() for part in parts)


def is_plain_word(text: str) -> bool:
    """Whether a name is spelled like an ordinary word, `cache` or `Args`, and may as well be the subject of a question."""
    word = text.strip()
    return word.isalpha() and word[1:].islower()


def _unify_separators(name: str) -> str:
    for sign in ("->", ":", ".", "#", "\\"):
        name = name.replace(sign, "/")
    return name


_REGEX_SYNTAX = pattern(
    r"\\[wWdDsSbB](?!\w)|\\[.()\[\]{}+*?|^$/]"  # classes and escapes
    r"|[\w\])]?\.[*+]\??(?=\S|$)"  # .* and .+
    r"|\[\^?(?:\w-\w|\\\w)+\][*+?{]?"  # [a-z], [^0-9]+
    r"|\(\?[:iP<]"  # groups of regular expressions
    r"|^\^\w|\w\$$"  # anchors
)


_REGEX_MARKS = ("\\", ".*", ".+", "[", "(?", "^", "$")
"""At least one of them is in every match of `_REGEX_SYNTAX`."""


def looks_like_regex(text: str) -> bool:
    """Whether a line uses the syntax of regular expressions, and compiles as one."""
    line = text.strip()
    if "\n" in line or not any(sign in line for sign in _REGEX_MARKS) or not _REGEX_SYNTAX.search(line):
        return False
    from lurcher.errors import QueryError
    from lurcher.query.text_pattern import compile_pattern

    try:
        compile_pattern(line)
    except QueryError:
        return False
    return True


_QUESTION_WORDS = ("how", "what", "where", "which", "who", "when", "why")
_QUESTION = pattern(rf"(?i)^\s*(?:{'|'.join(_QUESTION_WORDS)})\b")
_COMPLAINT_WORDS = (
    "not", "cannot", "never", "unable", "should", "please", "fail", "fails", "failed", "failing", "raise", "raises", "throw",
    "throws", "break", "breaks", "broke", "broken", "wrong", "wrongly", "incorrect", "incorrectly", "missing", "regression",
    "bug", "bugs", "hang", "hangs", "ignored", "ignores", "loses", "misleading", "spurious",
)  # fmt: skip
_COMPLAINT_PREFIXES = ("crash", "unexpected", "inconsistent")
_COMPLAINT_PHRASES = ("no longer", "instead of")
_ERROR_SUFFIXES = ("error", "exception", "warning")
_REQUEST_WORDS = (
    "add", "support", "allow", "make", "remove", "rename", "improve", "change", "enable", "disable", "provide", "fix",
    "feature", "drop", "avoid", "prevent", "extend", "implement", "simplify", "deprecate",
)  # fmt: skip
_COMPLAINT = pattern(
    r"(?i)\b(?:do|does|did|is|are|was|were|has|have|could|would|should|ca|wo)n['’]t\b"
    rf"|\b(?:{'|'.join(_COMPLAINT_WORDS + _COMPLAINT_PHRASES)})\b"
    rf"|\b(?:{'|'.join(_COMPLAINT_PREFIXES)})\w*\b"
    rf"|\b[A-Z]\w*(?:{'|'.join(_ERROR_SUFFIXES)})\b"
    rf"|^(?:[\w ]{{1,20}}: *)?(?:{'|'.join(_REQUEST_WORDS)})\b"
)


def requests_change(text: str) -> bool:
    """Whether a sentence reads as a bug report or a request rather than as a question about the code."""
    low = text.lower()
    if not text.isascii() or "'" in low or ":" in low or any(pair in low for pair in _COMPLAINT_PHRASES):
        return not _QUESTION.match(text) and _COMPLAINT.search(text) is not None
    found = words(low)
    if not found or (low.lstrip().startswith(found[0]) and found[0] in _QUESTION_WORDS):
        return False
    return (low.startswith(found[0]) and found[0] in _REQUEST_WORDS) or any(
        word in _COMPLAINT_WORDS
        or word.startswith(_COMPLAINT_PREFIXES)
        or (word.endswith(_ERROR_SUFFIXES) and word not in _ERROR_SUFFIXES and word[0].isalpha())
        for word in found
    )


_USAGE_SHAPES = {
    "uses": (
        "who uses *", "what uses *", "where is * used", "where is * referenced", "uses of *", "usages of *", "references to *",
    ),
    "callers": (
        "who calls *", "what calls *", "which functions call *", "where is * called", "callers of *", "calls to *",
    ),
    "callees": ("what does * call", "callees of *"),
    "implementations": (
        "what implements *", "who implements *", "which classes implement *", "which types implement *", "what extends *",
        "what overrides *", "implementations of *", "subclasses of *", "overrides of *",
    ),
    "tests": (
        "tests for *", "tests of *", "what tests *", "which tests cover *", "which tests reach *", "which tests use *",
        "where is * tested",
    ),
}  # fmt: skip
"""Questions about who uses a name, by what is to be shown; the name is at the star."""
_USAGE_BEGINNINGS = frozenset(shape.split(" ", 1)[0] for shapes in _USAGE_SHAPES.values() for shape in shapes)
_BEFORE_QUESTIONS = ("find", "show", "list", "me", "all", "the")
_BEFORE_NAMES = ("the", "function", "method", "class", "interface", "trait", "type", "struct")
_MOST_WORDS = 10


class UsageQuestion(Record):
    """A question about who uses a name."""

    __slots__ = ("show", "name", "quoted")

    def __init__(self, show: str, name: str, quoted: bool) -> None:
        self.show, self.name = show, name
        self.quoted = quoted
        """Whether the name is in backticks, and so meant as a name for sure."""


def read_usage_question(text: str) -> UsageQuestion | None:
    """The question about the uses of a name that a query is; None for every other query."""
    found = text.split(None, _MOST_WORDS)
    while found and found[0].lower() in _BEFORE_QUESTIONS:
        del found[0]
    if not 3 <= len(found) < _MOST_WORDS or found[0].lower() not in _USAGE_BEGINNINGS:
        return None
    found[-1] = found[-1].rstrip("?!.") or found[-1]
    low = [word.lower() for word in found]
    for show, shapes in _USAGE_SHAPES.items():
        for shape in shapes:
            before, _, after = [part.split() for part in shape.partition("*")]
            end = len(low) - len(after)
            if low[: len(before)] == before and low[end:] == after and end > len(before):
                return _named_usage(show, found[len(before) : end])
    return None


def _named_usage(show: str, found: list[str]) -> UsageQuestion | None:
    while len(found) > 1 and found[0].lower() in _BEFORE_NAMES:
        del found[0]
    name = found[0].strip("`").removesuffix("()")
    return UsageQuestion(show, name, found[0].startswith("`")) if len(found) == 1 and _is_qualified_name(name) else None


def find_code_names(text: str) -> list[str]:
    """Words of a sentence that are written like code: CamelCase, snake_case, `a.b`."""
    if not text.isascii() or any(sign in text.rstrip(" .?!") for sign in (".", "#", "::")):
        return list(dict.fromkeys(match[0] for match in _CODE_NAME.finditer(text)))
    return list(dict.fromkeys(filter(_is_code_name, words(text))))


def _is_code_name(word: str) -> bool:
    """Whether `_CODE_NAME` matches an ASCII word."""
    if word.islower() and word.isalnum():
        return False
    letters = word.lstrip("_")
    if letters != word and len(letters) > 1 and letters[0].isalpha():
        return True  # _private
    if "_" in letters and any(before and after for before, after in pairwise(word.split("_"))):
        return True  # snake_case
    for here, after in pairwise(word):
        if after.isupper() and (here.islower() or here.isdigit()):
            return True  # camelCase
        if not here.isalpha():
            break
    capitals = len(word) - len(word.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    return capitals > 1 and word[capitals : capitals + 1].islower()  # HTTPServer


def find_capitalised_words(text: str) -> list[str]:
    """Capitalised words inside a sentence, which often are types."""
    if text.isascii() and not any(word[:1].isupper() for word in words(text)[1:]):
        first = words(text)[:1]
        if not first or text.startswith(first[0]) or not first[0][0].isupper():
            return []
    return list(dict.fromkeys(match[0] for match in _CAPITALISED.finditer(text)))


def split_qualified_name(name: str) -> list[str]:
    """A qualified name's components, outermost first."""
    return [part for part in _unify_separators(name.strip("@$#.:").removesuffix("()")).split("/") if part]


_PART_WEIGHT = 0.3
"""Weight of a part of a queried name: a query for `getUser` is not one for every `get`."""

_MAX_SCANNED = 1500
_SUFFIXES = ("", "s", "es", "ed", "d", "ing", "er", "ers", "or", "ors", "ion", "ions", "ation", "ations", "ment", "able", "ly")


class TermLookup(Protocol):
    """The part of a snapshot that expansion needs: which terms exist."""

    def terms_with_prefix(self, prefix: str, family: str | None = None, most: int = ...) -> list[str]: ...


class Group(Record):
    """One word of the query and the forms under which it may be found."""

    __slots__ = ("word", "weight", "forms")

    def __init__(self, word: str, weight: float, forms: tuple[str, ...]) -> None:
        self.word, self.weight = word, weight
        self.forms = forms
        """Other terms that count as this word, less than the word itself; sorted."""


def extract_terms(text: str) -> dict[str, float]:
    """The query's terms, each with its count; stop words are dropped unless there is nothing else."""
    counted: dict[str, float] = {}
    for identifier in words(text):
        for term in split(identifier):
            counted[term] = counted.get(term, 0.0) + 1.0
    content = {term: count for term, count in counted.items() if term not in STOP_WORDS and (len(term) > 1 or term.isdigit())}
    return content or counted


def extract_name_terms(text: str) -> dict[str, float]:
    """The terms of a query that is a name: each component whole, and with less weight its parts."""
    weights: dict[str, float] = {}
    for identifier in words(text):
        for place, term in enumerate(split(identifier)):
            weights[term] = max(weights.get(term, 0.0), 1.0 if place == 0 else _PART_WEIGHT)
    return weights


def expand(snapshot: TermLookup, weights: Iterable[tuple[str, float]]) -> tuple[Group, ...]:
    """Groups for weighted terms, with the forms that occur in the snapshot. No form belongs to two groups."""
    weights = list(weights)
    own = {term for term, _ in weights}
    taken = set(own)
    groups = []
    for term, weight in weights:
        forms = tuple(form for form in find_forms(snapshot, term) if form not in taken)
        taken.update(forms)
        groups.append(Group(term, weight, forms))
    return tuple(groups)


def find_forms(snapshot: TermLookup, term: str) -> list[str]:
    """Other terms with the same stem, and known abbreviations, sorted."""
    cache: BoundedCache[str, list[str]] | None = getattr(snapshot, "forms", None)  # only where terms do not change
    known = cache.get(term) if cache is not None else None
    if known is None:
        known = _compute_forms(snapshot, term)
        if cache is not None:
            cache.put(term, known, len(known))
    return known


def _compute_forms(snapshot: TermLookup, term: str) -> list[str]:
    found = set(abbreviations(term))
    root = stem(term)
    for other in abbreviations(root):
        found.add(other)
    if len(term) > 2 and term.isalpha() and term.isascii():
        # Stemming may have replaced y by i, or added an e: the other forms need not have either.
        prefix = root[:-1] if root.endswith(("i", "e")) else root
        known = snapshot.terms_with_prefix(prefix, None, _MAX_SCANNED) if len(prefix) > 3 else []
        listed = len(prefix) > 3 and len(known) < _MAX_SCANNED
        if not listed:
            known = [root + suffix for suffix in _SUFFIXES]
        longest = len(term) + 6
        forms = [other for other in known if len(other) <= longest and stem(other) == root]
        occurs: Callable[[str], bool] | None = getattr(snapshot, "occurs", None)
        if listed and occurs is not None:  # a form that only deleted files had must not decide which line a hit shows
            forms = [form for form in forms if occurs(form)]
        found.update(forms)
    found.discard(term)
    return sorted(found)


LANES = ("lexical", "symbol", "dense", "literal", "structural")
_PHRASE = pattern(r"[\w.'-]+(?: [\w.'-]+){1,3}")
_AS_LETTERS = str.maketrans("_.'-", "aaaa")


class Plan(Record):
    __slots__ = ("text", "mode", "intent", "groups", "names", "report", "change", "pattern", "like")

    def __init__(
        self, text: str, mode: str, intent: str, groups: tuple[Group, ...], names: tuple[str, ...],
        report: Report | None = None, change: bool = False, pattern: TextPattern | None = None, like: int | None = None,
    ) -> None:  # fmt: skip
        self.text = text
        self.mode = mode
        """hybrid, lexical, dense, symbol, literal, structural or related; `auto` is resolved."""
        self.intent, self.groups = intent, groups
        self.names = names
        """Qualified or plain names in the query, as written."""
        self.report = report
        self.change = change
        """The query asks for a change (a bug report, a request) rather than for understanding."""
        self.pattern = pattern
        """The pattern of a literal query; for a query of a few words, the phrase as a fixed string."""
        self.like = like
        """In related mode: the unit to which others are compared."""

    @property
    def lanes(self) -> tuple[str, ...]:
        """The lanes that the mode allows."""
        if self.mode == "related":
            return "lexical", "dense"
        alone = self.mode in ("lexical", "dense", "literal", "structural")
        if alone and self.intent == SYMBOL:
            return self.mode, "symbol"
        return (self.mode,) if alone else ("lexical", "symbol", "dense") + (("literal",) if self.pattern else ())


def compile_literal_query(query: Query) -> TextPattern | None:
    """The pattern of a literal query; None for every other query."""
    text = query.text.rstrip("\r\n")
    guessed = query.mode == "auto" and looks_like_regex(query.text) and not _has_metavariables(query.text)
    if query.mode != "literal" and not guessed:
        return None
    from lurcher.query.text_pattern import compile_pattern

    return compile_pattern(text, fixed=query.fixed, case=query.case, word=query.word, multiline=query.multiline)


def make_plan(
    text: str, mode: str, snapshot: TermLookup, pattern: TextPattern | None = None, languages: Collection[str] = ()
) -> Plan:
    """Choose mode, intent and terms. A literal query comes with its pattern; one with metavariables is structural if it parses
    in one of `languages`, those of the files that may answer."""
    if pattern is not None:
        return Plan(text, "literal", LITERAL, (), (), pattern=pattern)
    if mode == "structural" or (mode == "auto" and _has_metavariables(text, languages)):
        return Plan(text, "structural", PATTERN, (), ())
    intent = detect_intent(text)
    if mode == "auto":
        mode = "symbol" if intent == SYMBOL else "hybrid"
    elif mode == "symbol" and intent == LANGUAGE:
        intent = SYMBOL
    if intent == REPORT:
        report = read_report(text)
        return Plan(text, mode, intent, expand(snapshot, report.terms.items()), report.names, report, True)
    names: tuple[str, ...]
    if intent == SYMBOL:
        terms = extract_name_terms(text)
        names = (text.strip(),)
    else:
        terms = extract_terms(text)
        names = tuple(dict.fromkeys((*find_code_names(text), *find_capitalised_words(text))))
    change = intent == LANGUAGE and requests_change(text)
    phrase = compile_phrase(text) if intent == LANGUAGE and mode == "hybrid" else None
    return Plan(text, mode, intent, expand(snapshot, terms.items()), names, None, change, phrase)


def _has_metavariables(text: str, languages: Collection[str] | None = None) -> bool:
    """Whether a query reads as code with metavariables, and where languages are given, parses in one of them."""
    if "$" not in text:  # most queries have none, and need not import the parser of patterns
        return False
    from lurcher.query.syntax_pattern import is_pattern, looks_like_pattern

    return looks_like_pattern(text) if languages is None else is_pattern(text, languages)


def _is_short_phrase(line: str) -> bool:
    if not line.isascii():
        return _PHRASE.fullmatch(line) is not None
    found = line.split(" ")
    return 1 < len(found) < 5 and all(word.translate(_AS_LETTERS).isalnum() for word in found)


def compile_phrase(text: str) -> TextPattern | None:
    """A query of two to four plain words as a fixed string, which is one more piece of evidence; None for other queries."""
    line = text.strip()
    if not _is_short_phrase(line):
        return None
    from lurcher.errors import MissingExtra
    from lurcher.query.text_pattern import IGNORE, compile_pattern

    try:
        return compile_pattern(line, fixed=True, case=IGNORE)
    except MissingExtra:
        return None


TITLE, PROSE, INLINE, CODE, ERROR, TRACE = 3.0, 1.0, 1.0, 0.7, 0.7, 0.5
"""Weight of a word by where it occurs; inline code counts in addition to its prose."""

MAX_CHARS = 200_000

_SOURCE = r"(?:py|pyx|pyi|js|jsx|mjs|ts|tsx|go|rs|java|c|h|cc|cpp|hpp|cs|rb|php|kt|kts|scala|swift|ex|exs|hs|lua|zig|sh|vue)"
_COMMENT = pattern(r"(?s)<!--.*?(?:-->|\Z)")
_URL = pattern(r"https?://[^\s)>\]\"'`]+")
_FENCE = pattern(r"^\s*(?:```|~~~)")
_INLINE = pattern(r"`([^`\n]+)`")
_HEADING = pattern(r"^\s*#{1,6}\s|^\s*\*\*[^*]+\*\*:?\s*$|^[-=~^]{3,}\s*$")
_FRAME = pattern(
    r"^(?:[>E]?\s*|.*\bFile \"|\s*at\s.*?)"
    rf"((?:[\w.~@+<>:\\-]*[/\\])*[\w.@+-]+\.{_SOURCE})"
    r"(?:\", line (\d+)|:(\d+)|\s+in\s+\w)"
)
_ERROR = pattern(
    r"(?i)^\s*(?:E\s+)?(?:[\w.]*(?:Error|Exception|Warning|Failure)\b|error\b|fatal\b|panic\b|thread '.*' panicked)"
)
_PATH = pattern(rf"(?<![\w/.])((?:[\w.@+-]+/)+[\w.@+-]+\.\w{{1,6}}|[\w-]+\.{_SOURCE})(?!\w)")
_VERSION_LINE = pattern(
    r"(?i)^\s*(?:[-*]\s*)?\**[\w .()/-]{1,40}\**\s*(?::|==|=|\s)\s*(?:[vV]?\d+(?:\.\w+)+\S*|none|null|true|false)\s*$"
)
_ENVIRONMENT = pattern(
    r"(?i)environment|version|system info|your setup|platform|output of|installed packages|pip (?:list|freeze)"
)
_DOTTED = pattern(r"(?<![\w./])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_CONSOLE = ("    ", "\t", ">>>", "...", "In [", "$ ")


class Report(Record):
    __slots__ = ("title", "terms", "names", "dotted", "urls", "frames", "paths")

    def __init__(
        self, title: str, terms: dict[str, float], names: tuple[str, ...], dotted: tuple[str, ...], urls: tuple[str, ...],
        frames: tuple[str, ...], paths: tuple[str, ...],
    ) -> None:  # fmt: skip
        self.title, self.terms, self.names = title, terms, names
        self.dotted = dotted
        """Dotted names, which may be a module or a symbol of the repository."""
        self.urls = urls
        self.frames = frames
        """The path of each stack frame in order; the last is the deepest."""
        self.paths = paths
        """Paths mentioned outside of traces."""


def read_report(text: str) -> Report:
    text = text[:MAX_CHARS].replace("\r\n", "\n").replace("\r", "\n")
    urls = dict.fromkeys(_URL.findall(text))
    lines = _URL.sub(" ", _COMMENT.sub(" ", text)).strip().split("\n")
    title, body = lines[0].strip(), lines[1:]
    counts: dict[str, dict[float, float]] = {}
    names: dict[str, None] = {}
    dotted: dict[str, None] = {}
    paths: dict[str, None] = {}
    frames: list[str] = []
    for weight, line in ((TITLE, title), *_weigh_lines(body)):
        _count_terms(counts, line, weight)
        if weight == TRACE:
            frame = _FRAME.match(line)
            frames += [frame[1]] if frame else []
            continue
        names.update(dict.fromkeys(find_code_names(line)))
        dotted.update(dict.fromkeys(_DOTTED.findall(line)))
        paths.update(dict.fromkeys(_PATH.findall(line)))
        if weight in (PROSE, TITLE):
            for inline in _INLINE.findall(line):
                _count_terms(counts, inline, INLINE)
                names.update({inline: None} if inline.isidentifier() else {})
    terms = {
        term: sum(weight * 2 * count / (1 + count) for weight, count in places.items()) for term, places in counts.items()
    }
    return Report(title, terms, tuple(names), tuple(dotted), tuple(urls), tuple(frames), tuple(paths))


def _weigh_lines(lines: list[str]) -> Iterator[tuple[float, str]]:
    """The lines that are not noise, each with the weight of its words."""
    fenced = environment = False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and _HEADING.match(line):
            environment = bool(_ENVIRONMENT.search(line))
        elif not line.strip() or environment or _VERSION_LINE.match(line):
            continue
        elif _FRAME.match(line):
            yield TRACE, line
        elif _ERROR.match(line):
            yield ERROR, line
        elif fenced or line.startswith(_CONSOLE):
            yield CODE, line
        else:
            yield PROSE, line


def _count_terms(counts: dict[str, dict[float, float]], text: str, weight: float) -> None:
    for identifier in words(text):
        for term in split(identifier):
            if term in STOP_WORDS or len(term) < 2 or term.isdigit():
                continue
            places = counts.setdefault(term, {})
            places[weight] = places.get(weight, 0.0) + 1.0
