"""Every parameter that more than one surface has, declared once: flags, MCP arguments, query parameters and their documents.

A declaration has the name that the command line and hints use (`snippet_lines` is the flag `--snippet-lines`), a help text, and
for each other surface what is different there: its name, a tighter bound, another default. A surface that is not mentioned does
not have the parameter. `read` and `check` are the only places where surfaces check values, and they share the wording of
errors with the engine (`query/validate.py`).

Loaded by every search on the command line: no imports beyond what a query loads anyway.
"""

from __future__ import annotations

from lurcher.errors import UsageError
from lurcher.types import CASES, CONTEXTS, MODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

MCP, HTTP = "mcp", "http"
MAX_VALUES = 50
"""Values of one parameter that may be repeated."""
SOURCES = ("code", "history", "notes", "libraries", "all")
OUTCOMES = ("success", "reverted", "hotfixed")
RANKINGS = ("default", "classic")
_LONGEST_SHOWN = 60
_KINDS = {"text": "text", "int": "a whole number", "float": "a number", "switch": "true or false"}
_SWITCH = {"true": True, "1": True, "": True, "false": False, "0": False}


class Parameter:
    __slots__ = (
        "choices", "default", "help", "high", "http", "kind", "longest", "low", "many", "mcp", "metavar", "more", "name",
        "noun", "place", "required", "same_as", "short",
    )  # fmt: skip

    def __init__(
        self, name: str, kind: str = "text", help: str = "", *, short: str = "", metavar: str = "", choices: Sequence[str] = (),
        more: bool = False, many: bool = False, default: Any = None, low: float | None = None, high: float | None = None,
        longest: int = 1000, place: str = "", required: bool = False, same_as: str = "", noun: str = "",
        mcp: Mapping[str, Any] | None = None, http: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.kind, self.help = name, kind, help
        """`kind` is text, int, float or switch."""
        self.short, self.metavar = short, metavar
        self.choices, self.more = tuple(choices), more
        """`more`: installed packages may add further choices."""
        self.many = many
        """Whether it may be given several times."""
        self.default, self.low, self.high, self.longest = default, low, high, longest
        """`default` is documentation where it is text; `longest` is in characters."""
        self.place, self.required = place, required
        """`place` is set for arguments without a flag: first, optional (first, may be left out) or rest (any number)."""
        self.same_as = same_as
        """The parameter and value that this switch stands for, such as mode=literal."""
        self.noun = noun or name.replace("_", " ")
        """What one of its values is called: `unknown source 'x'`."""
        self.mcp, self.http = mcp, http
        """The fields that differ on that surface; None where it does not have the parameter."""

    def but(self, **changes: Any) -> Parameter:
        """The same with some fields changed."""
        copy = Parameter.__new__(Parameter)
        for name in Parameter.__slots__:
            setattr(copy, name, changes.pop(name) if name in changes else getattr(self, name))
        assert not changes, changes
        return copy

    def on(self, surface: str, **changes: Any) -> Parameter:
        """As a surface other than the command line has it."""
        differences = getattr(self, surface)
        assert differences is not None, f"{surface} has no {self.name}"
        return self.but(**{"place": "", "default": None, **differences, **changes})

    # -- on the command line ----------------------------------------------------------------------------------------------

    @property
    def flags(self) -> tuple[str, ...]:
        """The short and the long flag; none for an argument."""
        if self.place:
            return ()
        long = f"--{self.name.replace('_', '-')}"
        return (self.short, long) if self.short else (long,)

    @property
    def target(self) -> str:
        """The attribute of parsed arguments. The argument PATH and the filter --path would share a name."""
        return "glob" if self.name == "path" and not self.place else self.name

    @property
    def usage(self) -> str:
        """How an argument is written in a usage line."""
        name = self.metavar or self.name.upper()
        return {"rest": f"[{name} …]", "optional": f"[{name}]"}.get(self.place, name)

    @property
    def flag_help(self) -> str:
        """The help text with what follows from the declaration: whether it can be repeated, and the default."""
        notes = ["repeatable"] if self.many and not self.place else []
        notes += [] if self.default is None else [f"default: {self.default}"]
        return f"{self.help} ({'; '.join(notes)})" if notes else self.help


# -- checking -----------------------------------------------------------------------------------------------------------------


def read(
    parameter: Parameter, text: str, label: str, error: type[UsageError] = UsageError, *, bounds: bool = True
) -> Any:
    """The value that a text stands for, checked. `label` is what the surface calls the parameter.

    Without `bounds` only type and choices are checked: the command line leaves bounds to the engine, which checks them anyway.
    """
    value: Any = text
    if parameter.kind == "switch":
        value = _SWITCH.get(text.lower(), text)
    # Python also takes other scripts' digits, spaces and 1_000 for numbers.
    elif parameter.kind != "text" and text.isascii() and len(text) <= 30 and not set(text) & set("_ \t\n\r\f\v"):
        try:
            value = int(text) if parameter.kind == "int" else float(text)
        except ValueError:
            value = text
    return check(parameter, value, label, error, bounds=bounds)


def check(
    parameter: Parameter, value: Any, label: str, error: type[UsageError] = UsageError, *, bounds: bool = True
) -> Any:
    """One value of the right type, among the choices and within the bounds; else the error that says what is allowed."""
    kind = parameter.kind
    if kind == "int" and isinstance(value, float) and value.is_integer():
        value = int(value)
    types: Any = {"text": str, "int": int, "float": (int, float), "switch": bool}[kind]
    right = isinstance(value, types) and (kind == "switch" or not isinstance(value, bool))
    if not right or (kind == "float" and value - value != 0):  # infinite, or not a number
        from lurcher.query.validate import type_error

        raise type_error(label, _shorten(value), _KINDS[kind], error)
    if kind == "text":
        if bounds and len(value) > parameter.longest:
            raise error(f"{label} has {len(value):,} characters", f"use at most {parameter.longest:,}")
        if parameter.choices and not parameter.more and value not in parameter.choices:
            from lurcher.query.validate import choice_error

            raise choice_error(parameter.noun, _shorten(value), parameter.choices, error)
    elif bounds and kind != "switch":
        low, high = parameter.low, parameter.high
        if (low is not None and value < low) or (high is not None and value > high):
            from lurcher.query.validate import range_error

            raise range_error(label, value, low, high, error)
    return value


def check_all(
    parameters: Iterable[Parameter], given: Mapping[str, Any], error: type[UsageError] = UsageError, *, texts: bool = False
) -> dict[str, Any]:
    """The values of a call that names its parameters: MCP's arguments, or with `texts` those of a query string.

    An unknown name is an error, not ignored. A parameter that was not given has its default, if there is one.
    """
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            raise error(f"unknown parameter '{_shorten(name)}'", f"known are: {', '.join(known) or 'none'}")
    convert = read if texts else check
    values: dict[str, Any] = {}
    for name, parameter in known.items():
        value, label = given.get(name), f"'{name}'"
        if parameter.required and (value is None or (texts and value == "")):
            raise error(f"{label} is missing", sentence(parameter.help) or f"known are: {', '.join(known)}")
        if value is None:
            if parameter.default is not None:
                values[name] = parameter.default
        elif parameter.many:
            items = [value] if isinstance(value, str) else value
            if not isinstance(items, list):
                from lurcher.query.validate import type_error

                raise type_error(label, _shorten(value), "a list of texts", error)
            if len(items) > MAX_VALUES:
                raise error(f"{label} has {len(items):,} values", f"use at most {MAX_VALUES}")
            values[name] = [convert(parameter, item, label, error) for item in items]
        else:
            values[name] = convert(parameter, value, label, error)
    return values


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _shorten(value: Any) -> str:
    text = str(value)[: _LONGEST_SHOWN + 1]
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


# -- schemas ------------------------------------------------------------------------------------------------------------------

_JSON_TYPES = {"text": "string", "int": "integer", "float": "number", "switch": "boolean"}


def json_schema(parameter: Parameter) -> dict[str, Any]:
    """The type and the choices of a value. OpenAPI adds the bounds, which agents need not read."""
    value: dict[str, Any] = {"type": _JSON_TYPES[parameter.kind]}
    if parameter.choices and not parameter.more:
        value["enum"] = list(parameter.choices)
    return {"type": "array", "items": value} if parameter.many else value


# -- the question -------------------------------------------------------------------------------------------------------------

_PATH_CHARS, _QUERY_CHARS, _CURSOR_CHARS = 4096, 100_000, 60_000
_ADDRESS_CHARS = 10_000
"""Characters of a question over HTTP, where it is part of the address."""

QUERY = Parameter(
    "query", help="a question, a name, or a whole report; - reads it from standard input", place="first", longest=_QUERY_CHARS,
    mcp={"help": "", "required": True},
    http={
        "name": "q", "help": "a question, a name, a pattern, or a whole report", "required": True, "longest": _ADDRESS_CHARS,
    },
)  # fmt: skip
PATHS = Parameter(
    "path", help="folders or files to search", place="rest", metavar="PATH", default="here", longest=_PATH_CHARS,
    mcp={"help": "folder or file to look in"},
)  # fmt: skip
SOURCE = Parameter(
    "in", help="what to search", metavar="SOURCE", choices=SOURCES, more=True, noun="source", default="code, else notes",
    mcp={"name": "source", "help": "default: code, else notes", "more": False}, http={"more": False},
)  # fmt: skip
MODE = Parameter(
    "mode", help="how to search", metavar="MODE", choices=MODES, mcp={"help": "", "default": "auto"}, http={},
)  # fmt: skip
SEMANTIC = Parameter("semantic", "switch", "by meaning alone, as --mode dense", same_as="mode=dense")
LITERAL = Parameter(
    "literal", "switch", "exact text: a regular expression (RE2), as --mode literal", same_as="mode=literal"
)
STRUCTURAL = Parameter(
    "structural", "switch", "the query is an ast-grep pattern, such as 'fn $NAME($$$) { $$$ }'", same_as="mode=structural"
)
FIXED = Parameter(
    "fixed", "switch", "with --literal: plain text, not a regular expression", short="-F",
    http={"help": "exact text: plain, not a regular expression"},
)  # fmt: skip
WORD = Parameter("word", "switch", "with --literal: whole words", short="-w", http={"help": "exact text: whole words"})
IGNORE_CASE = Parameter(
    "ignore_case", "switch", "with --literal: in any case (default: unless it has capitals)", short="-i", same_as="case=ignore"
)
CASE_SENSITIVE = Parameter("case_sensitive", "switch", "with --literal: in this case", short="-s", same_as="case=exact")
CASE = Parameter("case", help="exact text: whether upper and lower case must match", choices=CASES, http={})
MULTILINE = Parameter(
    "multiline", "switch", "with --literal: matches may span lines", short="-U",
    http={"help": "exact text: matches may span lines"},
)  # fmt: skip
RANKING = Parameter("ranking", help="how to order the hits", metavar="NAME", choices=RANKINGS, more=True, http={})

# -- filters ------------------------------------------------------------------------------------------------------------------

SINCE = Parameter(
    "since", help="history, notes: only from then on; a date, 30d, 6m, 1y, or a tag", metavar="WHEN",
    mcp={"help": "date, tag, or age such as 6m"}, http={},
)  # fmt: skip
UNTIL = Parameter("until", help="history, notes: only until then", metavar="WHEN", mcp={"help": ""}, http={})
AUTHOR = Parameter(
    "author", help="history: only authors whose name or address has this", metavar="NAME", mcp={"help": ""}, http={}
)
OUTCOME = Parameter(
    "outcome", help="history: only this outcome", metavar="OUTCOME", many=True, choices=OUTCOMES, mcp={"help": ""},
    http={},
)  # fmt: skip
TAG = Parameter("tag", help="notes: only those with this tag, or one below it", metavar="TAG", many=True, http={})
LIBRARY = Parameter(
    "library", help="only this indexed library, as --in libraries", metavar="NAME", many=True,
    mcp={"help": "indexed libraries to search instead"}, http={"help": "only this indexed library, as in=libraries"},
)  # fmt: skip
LANG = Parameter(
    "lang", help="only this language", short="-l", metavar="LANG", many=True, http={},
    mcp={"name": "language", "help": "such as python", "many": False},
)  # fmt: skip
PATH = Parameter("path", help="only files that match", metavar="GLOB", many=True, longest=_PATH_CHARS, noun="glob", http={})
EXCLUDE = Parameter("exclude", help="not files that match", metavar="GLOB", many=True, longest=_PATH_CHARS, http={})

# -- the order of hits --------------------------------------------------------------------------------------------------------

FUSION = Parameter("fusion", help="how lanes become one order: by ranks, or added up", metavar="HOW", choices=("rrf", "linear"))
ALPHA = Parameter("alpha", "float", "with --fusion linear: weight of nearness in meaning", metavar="A", default=0.6)
MMR = Parameter("mmr", "float", "with --fusion linear: prefer unlike hits; 1 is relevance alone", metavar="LAMBDA")
RERANK = Parameter(
    "rerank", help="a second look at the first hits", metavar="HOW", many=True, choices=("cross", "llm", "outcome", "none"),
    more=True,
)  # fmt: skip
NO_RERANK = Parameter("no_rerank", "switch", "no second look, whatever is set")

# -- how much of it -----------------------------------------------------------------------------------------------------------

LIMIT = Parameter(
    "limit", "int", "number of hits", short="-k", metavar="N", default=10, low=1, high=1000,
    mcp={"help": "", "default": 8, "high": 100}, http={"high": 200},
)  # fmt: skip
BUDGET = Parameter(
    "budget", "int", "hard ceiling on the tokens of all hits together", metavar="TOKENS", low=1,
    mcp={"help": "tokens of the answer", "default": 2000, "low": 100, "high": 100_000}, http={"high": 1_000_000},
)  # fmt: skip
CURSOR = Parameter(
    "continue", help="go on where an earlier answer's `next` points", metavar="CURSOR", longest=_CURSOR_CHARS,
    mcp={"name": "cursor", "help": "`next` of the answer before"}, http={"name": "cursor"},
)  # fmt: skip
CONTEXT = Parameter("context", help="how much around a match", metavar="HOW", choices=CONTEXTS, http={})
SNIPPET_LINES = Parameter(
    "snippet_lines", "int", "show the N lines that match best", metavar="N", low=1,
    mcp={"name": "lines", "help": "lines per place; 0: whole", "default": 0, "low": 0, "high": 1000},
    http={"help": "only this many lines of each hit, those that match best", "high": 1000},
)  # fmt: skip
FLAT = Parameter(
    "flat", "switch", "each place as a hit, not up to five of a file together", http={},
    mcp={"help": "", "default": False},
)  # fmt: skip
TIMINGS = Parameter("timings", "switch", "include timings (they differ from run to run)", http={})
EXPLAIN = Parameter("explain", "switch", "show why each hit is there")
NO_REFRESH = Parameter("no_refresh", "switch", "answer from the index as it is")

# -- other questions ----------------------------------------------------------------------------------------------------------

_LINES = 10_000_000
FILE = Parameter(
    "file", help="a file, as a hit shows it", place="first", longest=_PATH_CHARS,
    mcp={"name": "path", "help": "file, as hits have it", "required": True}, http={"name": "path", "required": True},
)  # fmt: skip
LINE = Parameter(
    "line", "int", "a line of the file", low=1, high=_LINES, mcp={"help": "", "required": True}, http={}
)
SYMBOL = Parameter("symbol", help="only what uses this name of the file", metavar="NAME", mcp={"help": ""}, http={})
HOPS = Parameter(
    "hops", "int", "how many imports away to look", metavar="N", default=2, low=1, high=6,
    mcp={"help": "", "default": 2, "high": 10}, http={},
)  # fmt: skip
TARGET = Parameter(
    "target", help="a name, such as Client.retry, or a place of it, as FILE:LINE[:COLUMN]", place="first",
    metavar="NAME", longest=_PATH_CHARS, mcp={"name": "name", "help": "or FILE:LINE", "required": True},
    http={"name": "name", "required": True},
)  # fmt: skip
USE_KIND = Parameter(
    "kind", help="only uses of this kind", metavar="KIND", many=True, http={},
    choices=("attribute", "call", "decorator", "import", "inheritance", "read", "type", "write"),
)  # fmt: skip
SHOW = Parameter(
    "show", help="what to list", choices=("uses", "callers", "callees", "tests", "implementations"),
    mcp={"help": "", "default": "uses"}, http={"default": "uses"},
)  # fmt: skip
DEPTH = Parameter(
    "depth", "int", "how many calls away to look", metavar="N", default="1; 3 for tests", low=1, high=10,
    mcp={"help": ""}, http={},
)  # fmt: skip
KIND = Parameter(
    "kind", help="only this kind, such as class or function", metavar="KIND", many=True,
    mcp={"name": "kinds", "help": "such as class, function"},
)  # fmt: skip
EXACT = Parameter("exact", "switch", "look, and make the yes certain too", mcp={"help": "", "default": False})
SKIPPED = Parameter("skipped", "switch", "also the files left out: all that were read, a few of the others", http={})
HISTORY = Parameter(
    "history", "switch", "also that of all commits, which a question about them fills only in part",
    mcp={"help": "all commits too", "default": False},
)  # fmt: skip
REBUILD = Parameter("rebuild", "switch", "make it anew from nothing", mcp={"help": "from nothing", "default": False})

WORKSPACE = Parameter("workspace", "switch", "search the repositories of the workspace instead (lurcher workspace)")
REPO = Parameter(
    "repo", help="of the workspace only this repository, or those that match", metavar="NAME", many=True, http={},
)  # fmt: skip

# -- where the index is -------------------------------------------------------------------------------------------------------

STORE = Parameter("store", help="a shared store; local: none", metavar="URL", default="LURCHER_STORE")
PROJECT = Parameter("project", help="the project in it", metavar="NAME", many=True, default="as git remote or folder")
FALLBACK = Parameter(
    "fallback", help="what answers when the store does not", metavar="WHAT", choices=("local", "none")
)
SHARED = (STORE, PROJECT, FALLBACK)

# -- the command line alone ---------------------------------------------------------------------------------------------------

FORMAT = Parameter("format", help="how to print it", metavar="FORMAT", choices=("text", "json", "vimgrep"))
JSON = Parameter("json", "switch", "print JSON")
SET = Parameter("set", help="set any setting for this run, as section.name=value", metavar="KEY=VALUE", many=True)
QUIET = Parameter("quiet", "switch", "no progress on a terminal", short="-q")
OUTPUT = (FORMAT, JSON, SET, QUIET)

EXACTLY = (FIXED, WORD, IGNORE_CASE, CASE_SENSITIVE, MULTILINE)
ORDER = (FUSION, ALPHA, MMR, RERANK, NO_RERANK)
PAGE = (LIMIT, BUDGET, CURSOR)
FILTERS = (LANG, PATH, EXCLUDE)
SHOWN = (CONTEXT, SNIPPET_LINES, FLAT, EXPLAIN)

SEARCH = (
    QUERY, PATHS, SOURCE, MODE, SEMANTIC, LITERAL, *EXACTLY, STRUCTURAL, RANKING, SINCE, UNTIL, AUTHOR, OUTCOME, *ORDER, TAG,
    LIBRARY, *PAGE, *FILTERS, *SHOWN, WORKSPACE, REPO, *SHARED, TIMINGS, NO_REFRESH, *OUTPUT,
)  # fmt: skip
"""What `lurcher search` takes."""
_LISTED = LIMIT.but(help="how many to list", default=50)
REFERENCES = (
    TARGET, PATHS, USE_KIND, Parameter("callers", "switch", "the functions that call it"),
    Parameter("callees", "switch", "the functions that it calls"), Parameter("tests", "switch", "the tests that reach it"),
    DEPTH, _LISTED, *SHARED, *OUTPUT,
)  # fmt: skip
"""What `lurcher references` takes."""
IMPLEMENTATIONS = (TARGET, PATHS, _LISTED, *SHARED, *OUTPUT)
"""What `lurcher implementations` takes."""
