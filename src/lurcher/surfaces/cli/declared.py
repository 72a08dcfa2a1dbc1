"""What a flag and a command are, and the flags of the command that is called most: others are declared in `flags`."""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING, dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Flag:
    names: tuple[str, ...]
    help: str
    kind: str = "text"
    """text, int, float, switch, list, positional, paths, optional"""
    metavar: str = ""
    choices: tuple[str, ...] = ()
    more: bool = False
    """Whether installed packages may bring further choices."""

    @property
    def target(self) -> str:
        # The positional PATH and the filter --path would share a name.
        longest = max(self.names, key=len)
        return "glob" if longest == "--path" else longest.lstrip("-").replace("-", "_")

    @property
    def placed(self) -> str:
        """How a positional argument is written in a usage line."""
        name = self.metavar or self.names[0].upper()
        return {"paths": f"[{name} …]", "optional": f"[{name}]"}.get(self.kind, name)


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    help: str
    flags: tuple[Flag, ...]
    example: str

    @property
    def usage(self) -> str:
        """What stands where; every flag is told of below it."""
        return " ".join([flag.placed for flag in self.flags if not flag.names[0].startswith("-")] + ["[flags]"])


SOURCES = ("code", "history", "notes", "libraries", "all")
MODES = ("auto", "hybrid", "lexical", "dense", "symbol", "literal", "structural")
JSON = Flag(("--json",), "print JSON", "switch")
SET = Flag(("--set",), "set any setting for this run, as section.name=value", "list", "KEY=VALUE")
PATHS = Flag(("path",), "folders or files to search (default: here)", "paths", "PATH")
QUIET = Flag(("-q", "--quiet"), "no progress on a terminal", "switch")

FORMAT = Flag(("--format",), "how to print it", "text", "FORMAT", ("text", "json", "vimgrep"))

PAGE = (
    Flag(("-k", "--limit"), "number of hits (default: 10)", "int", "N"),
    Flag(("--budget",), "hard ceiling on the tokens of all hits together", "int", "TOKENS"),
    Flag(("--continue",), "go on where an earlier answer's `next` points", "text", "CURSOR"),
)
FILTERS = (
    Flag(("-l", "--lang"), "only this language (repeatable)", "list", "LANG"),
    Flag(("--path",), "only files that match (repeatable)", "list", "GLOB"),
    Flag(("--exclude",), "not files that match (repeatable)", "list", "GLOB"),
)
SHOWN = (
    Flag(("--context",), "how much around a match", "text", "HOW", ("none", "block", "function", "class")),
    Flag(("--snippet-lines",), "show the N lines that match best", "int", "N"),
    Flag(("--explain",), "show why each hit is there", "switch"),
)
PAST = (
    Flag(("--since",), "only commits from then on: a date, 30d, 2w, 6m, 1y, or a tag", "text", "WHEN"),
    Flag(("--until",), "only commits until then", "text", "WHEN"),
    Flag(("--author",), "only commits whose author's name or address has this", "text", "NAME"),
    Flag(("--outcome",), "only commits that ended so (repeatable)", "list", "OUTCOME", ("success", "reverted", "hotfixed")),
)
"""What only questions about history take."""

ORDER = (
    Flag(("--fusion",), "how lanes become one order: by ranks, or added up", "text", "HOW", ("rrf", "linear")),
    Flag(("--alpha",), "with --fusion linear: weight of nearness in meaning (default: 0.6)", "float", "A"),
    Flag(("--mmr",), "with --fusion linear: prefer unlike hits; 1 is relevance alone", "float", "LAMBDA"),
    Flag(
        ("--rerank",), "a second look at the first hits (repeatable)", "list", "HOW", ("cross", "llm", "outcome", "none"),
        more=True,
    ),  # fmt: skip
    Flag(("--no-rerank",), "no second look, whatever is set", "switch"),
)
"""How hits of any source get their order."""

STORE = (
    Flag(("--store",), "a shared store (default: LURCHER_STORE); local: none", "text", "URL"),
    Flag(("--project",), "the project in it (repeatable; default: as git remote or folder)", "list", "NAME"),
)
FALLBACK = Flag(("--fallback",), "what answers when the store does not", "text", "WHAT", ("local", "none"))
"""Where an index is shared, and by which name."""

TAG = Flag(("--tag",), "only notes that have this tag, or one below it (repeatable)", "list", "TAG")

SEARCH = Command(
    "search",
    "find the code that answers a question",
    (
        Flag(("query",), "a question, a name, or a whole report; - reads it from standard input", "positional"),
        PATHS,
        Flag(("--in",), "what to search (default: code, else notes)", "text", "SOURCE", SOURCES, more=True),
        Flag(("--mode",), "how to read the query", "text", "MODE", MODES),
        Flag(("--semantic",), "by meaning alone, as --mode dense", "switch"),
        Flag(("--literal",), "exact text: a regular expression (RE2), as --mode literal", "switch"),
        Flag(("-F", "--fixed"), "with --literal: the text as it stands", "switch"),
        Flag(("-w", "--word"), "with --literal: whole words", "switch"),
        Flag(("-i", "--ignore-case"), "with --literal: in any case (default: unless it has capitals)", "switch"),
        Flag(("-s", "--case-sensitive"), "with --literal: in this case", "switch"),
        Flag(("-U", "--multiline"), "with --literal: also over several lines", "switch"),
        Flag(("--structural",), "the query is an ast-grep pattern, such as 'fn $NAME($$$) { $$$ }'", "switch"),
        Flag(("--ranking",), "how to order the hits", "text", "NAME", ("default", "classic"), more=True),
        *PAST,
        *ORDER,
        TAG,
        Flag(("--library",), "only this indexed library, as --in libraries (repeatable)", "list", "NAME"),
        *PAGE,
        *FILTERS,
        *SHOWN,
        *STORE,
        FALLBACK,
        Flag(("--timings",), "include timings (they differ from run to run)", "switch"),
        Flag(("--no-refresh",), "answer from the index as it is", "switch"),
        FORMAT,
        JSON,
        SET,
        QUIET,
    ),
    'lurcher search "how are redirects followed" src -k 5 --budget 2000',
)


AGREED = "index.broad=true"
"""A setting that says yes to an index of a home folder or a whole disk."""


def overrides_of(pairs: Sequence[str]) -> dict[str, str]:
    """`key=value` arguments as settings."""
    from lurcher.errors import ConfigError

    found = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign:
            raise ConfigError(f"'{pair}' is not a setting", "write it as section.name=value")
        found[key.strip()] = value.strip()
    return found
