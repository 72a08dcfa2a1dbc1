"""The commands and what each takes: the parser, `--help`, shell completion and docs/reference.md come from here.

Parameters that other surfaces have too are declared in `lurcher.surfaces`; the rest is declared where it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lurcher import surfaces as p
from lurcher.errors import UsageError
from lurcher.surfaces import Parameter, read
from lurcher.surfaces.cli.fast_argv import is_question

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn


class Command:
    def __init__(self, name: str, help: str, parameters: tuple[Parameter, ...], example: str) -> None:
        self.name, self.help, self.parameters, self.example = name, help, parameters, example

    @property
    def usage(self) -> str:
        """The arguments in order; flags are listed below the usage line."""
        return " ".join([parameter.usage for parameter in self.parameters if parameter.place] + ["[flags]"])


_LISTEN = (
    Parameter(
        "host", help="address to listen on; one that others can reach needs a token", metavar="ADDRESS",
        default="127.0.0.1",
    ),
    Parameter("port", "int", "port to listen on; 0: any", metavar="N", default=7433),
    Parameter(
        "token", help="what clients have to send; LURCHER_SERVE_TOKEN is safer, since process lists do not show it",
        metavar="SECRET",
    ),
)
_INSPECT = (p.JSON, p.SET, p.QUIET)
_ASK = (*p.SHARED, *_INSPECT)
"""Of commands that ask the index, here or in a shared store."""
_PLACE = Parameter("place", help="a file or folder", place="optional", metavar="PATH", default="here")
_COMMON_MODES = ("auto", "hybrid", "lexical", "dense")
_SHOWN_OF_TEXT = (
    p.CONTEXT.but(help="how much to show", choices=("none", "block")), p.SNIPPET_LINES, p.EXPLAIN,
)  # fmt: skip

COMMANDS: tuple[Command, ...] = (
    Command(
        "search", "find the code that answers a question", p.SEARCH,
        'lurcher search "how are redirects followed" src -k 5 --budget 2000',
    ),
    Command(
        "symbol", "show where a name is defined",
        (
            Parameter("name", help="Client, Client.retry, Foo::bar or Foo#bar", place="first"), p.PATHS,
            p.LIMIT.but(help="number of definitions", default=20), p.LANG, *p.SHARED, *p.OUTPUT,
        ),
        "lurcher symbol Client.retry",
    ),
    Command(
        "references", "show who uses or calls a definition, or which tests reach it",
        p.REFERENCES,
        "lurcher references Client.retry --kind call",
    ),
    Command(
        "implementations", "show the types below a type, or what overrides a method",
        p.IMPLEMENTATIONS,
        "lurcher implementations Transport",
    ),
    Command(
        "related", "find code that is like the code around a line",
        (
            Parameter("place", help="a file and a line of it, as FILE:LINE", place="first", metavar="FILE:LINE"),
            *p.PAGE, *p.FILTERS, *p.SHOWN, *p.SHARED, *p.OUTPUT,
        ),
        "lurcher related src/client.py:42",
    ),
    Command(
        "why", "explain why a file is, or is not, among the hits for a query",
        (
            Parameter("place", help="a file, or a line of it, as FILE[:LINE]", place="first", metavar="FILE[:LINE]"),
            p.QUERY.but(help="the query, as it was given to search"), p.MODE, p.RANKING,
            p.LIMIT.but(help="number of hits that would be shown"), *p.FILTERS, *_ASK,
        ),
        'lurcher why src/client.py:42 "how are redirects followed"',
    ),
    Command(
        "impact", "show what depends on a file, by the imports that lead to it",
        (
            p.FILE.but(help="a file, as seen from here or as a hit shows it", metavar="FILE"), p.SYMBOL, p.HOPS,
            p.FORMAT.but(help="text, or a picture of the graph", choices=("text", "dot", "svg")), *_ASK,
        ),
        "lurcher impact src/client.py --symbol retry",
    ),
    Command(
        "outline", "show the symbols of a file, or of each file of a folder",
        (
            _PLACE, p.KIND, *_ASK,
        ),
        "lurcher outline src --kind class",
    ),
    Command(
        "context", "show what to know about a file or folder before working on it",
        (_PLACE, p.BUDGET.but(help="hard ceiling on its tokens", default=4000), *_ASK),
        "lurcher context src --budget 2000",
    ),
    Command(
        "exists",
        "say whether a name or short text occurs at all: yes is probable, no is certain unless files were left out",
        (
            Parameter("pattern", help="a name or text, as it is spelled and by itself", place="first", metavar="PATTERN"),
            p.PATHS, p.EXACT, *_ASK,
        ),
        "lurcher exists parse_cookie",
    ),
    Command(
        "history", "find the commits that answer a question, and what became of them",
        (
            p.QUERY.but(help="a question or a report; - reads it from standard input"), p.PATHS,
            p.MODE.but(choices=_COMMON_MODES), p.RANKING,
            p.SINCE.but(help="only commits from then on: a date, 30d, 2w, 6m, 1y, or a tag"),
            p.UNTIL.but(help="only commits until then"),
            p.AUTHOR.but(help="only commits whose author's name or address contains this"),
            p.OUTCOME.but(help="only commits with this outcome"), *p.ORDER, *p.PAGE,
            p.LANG.but(help="only commits that change this language"),
            p.PATH.but(help="only commits that change files that match"), p.EXCLUDE, *_SHOWN_OF_TEXT[:1],
            p.SNIPPET_LINES.but(help="show the N changed lines that match best"), p.EXPLAIN, *p.SHARED,
            p.NO_REFRESH, p.TIMINGS, *p.OUTPUT,
        ),
        'lurcher history "have we tried caching this"',
    ),
    Command(
        "notes", "find the sections of documents that answer a question",
        (
            p.QUERY.but(help='a question; "what is in quotes" must be found; - reads it from standard input'), p.PATHS,
            p.MODE.but(choices=_COMMON_MODES), p.TAG.but(help="only notes with this tag, or one below it"),
            p.SINCE.but(help="only notes from then on, by front matter or file time: a date, 30d, 6m, 1y"),
            p.UNTIL.but(help="only notes until then"), *p.ORDER, *p.PAGE,
            p.LANG.but(help="only this markup, such as markdown"), p.PATH.but(help="only notes that match"),
            p.EXCLUDE.but(help="not notes that match"), *_SHOWN_OF_TEXT, *p.SHARED, p.TIMINGS,
            p.NO_REFRESH, *p.OUTPUT,
        ),
        'lurcher notes "how do we rotate keys" --tag runbook',
    ),
    Command(
        "brief",
        "show what to know before editing a file or symbol: its past, its dependents, documents that name it",
        (
            Parameter("target", help="a file, or a name such as Client.retry", place="first", metavar="FILE|SYMBOL"),
            p.BUDGET.but(help="hard ceiling on its tokens", default=1500), *_ASK,
        ),
        "lurcher brief src/client.py",
    ),
    Command(
        "explain", "show the commits that wrote these lines, with their reasons",
        (
            p.FILE.but(help="a file, or some lines of it: FILE:12 or FILE:12-20", metavar="FILE[:A-B]"),
            p.LIMIT.but(help="number of commits, newest first"), *p.SHARED, p.JSON, p.SET,
        ),
        "lurcher explain src/client.py:40-60",
    ),
    Command(
        "index", "bring the index up to date",
        (
            p.PATHS, Parameter("watch", "switch", "keep it up to date until Ctrl-C, which ends it with status 0"), p.HISTORY,
            p.LIBRARY.but(help="index an installed dependency instead, named as code names it"), p.REBUILD,
            Parameter(
                "scip", help="also keep what this SCIP index says about references, in place of what was kept before",
                metavar="FILE", many=True,
            ),
            Parameter(
                "seed", help="begin a first index with what the index of this checkout has in common with it", metavar="FOLDER",
            ),
            Parameter("clear", "switch", "remove it; with --store, from there"),
            Parameter("yes", "switch", "index a home folder, a whole disk or a system folder without asking"),
            p.STORE, p.PROJECT, p.JSON, p.SET, p.QUIET.but(help="no progress on a terminal; with --watch, only errors"),
        ),
        "lurcher index --watch",
    ),
    Command(
        "workspace", "choose the repositories of search --workspace, and keep their indexes up to date",
        (
            Parameter("action", help="what to do", place="first", choices=("add", "remove", "list", "refresh")),
            p.PATHS.but(
                help="to add: folders, or patterns such as '~/src/*'; to remove or refresh: names, or patterns of names",
                default=None,
            ),
            Parameter("yes", "switch", "index a home folder, a whole disk or a system folder without asking"), *_INSPECT,
        ),
        "lurcher workspace add '~/src/*'",
    ),
    Command(
        "export", "write the definitions of the index for other programs: as a SCIP index, or as tags for editors",
        (
            p.PATHS, Parameter("scip", help="the SCIP index to write", metavar="FILE"),
            Parameter("ctags", help="the file to write, in the format of universal-ctags", metavar="FILE"), *_ASK,
        ),
        "lurcher export --ctags tags",
    ),
    Command(
        "serve", "serve the HTTP API and a page for the browser, until Ctrl-C",
        (
            p.PATHS,
            *_LISTEN,
            Parameter("open", "switch", "open the page in the browser"),
            p.WORKSPACE.but(help="also answer about the repositories of the workspace, at /api/workspace"),
            p.STORE.but(help="serve the projects of a shared store instead, for a team", default=None),
            p.PROJECT.but(help="only these projects of it; with --new-token, those it may see", default="all"),
            Parameter("tokens", help="with --store: the file of hashed tokens", metavar="FILE"),
            Parameter("rate", "int", "with --store: requests per minute that one token may send", metavar="N", default=600),
            Parameter("log_queries", "switch", "with --store: write the text of queries to the log too"),
            Parameter("new_token", help="make a token, print the line for the file, and end", metavar="NAME"), p.SET,
        ),
        "lurcher serve --open",
    ),
    Command(
        "status", "show what the index holds and what was left out",
        (p.PATHS, p.SKIPPED, p.STORE, p.PROJECT, p.JSON, p.SET),
        "lurcher status --skipped",
    ),
    Command(
        "projects", "list the projects in a shared store",
        (p.STORE, *_INSPECT),
        "lurcher projects --store postgres://db.example.com/lurcher",
    ),
    Command(
        "sync", "bring a shared store up to date with many git remotes",
        (
            Parameter("repos", help="the file that lists them, one per line: REMOTE [name=NAME] [ref=REF]", metavar="FILE"),
            Parameter("folder", help="where clones are kept", metavar="FOLDER", default="the user's cache"),
            Parameter("workers", "int", "how many are worked on at a time", metavar="N", default=2),
            p.HISTORY, p.STORE, *_INSPECT,
        ),
        "lurcher sync --repos repos.txt --store postgres://db.example.com/lurcher",
    ),
    Command(
        "doctor", "check installation, settings, index and tree, and say how to repair them; changes nothing",
        (p.PATHS, Parameter("quick", "switch", "do not read every byte of the index and of the tree"), *_INSPECT),
        "lurcher doctor",
    ),
    Command(
        "model", "show or choose the model behind the dense lane",
        (
            Parameter("action", help="info, or use", place="first", choices=("info", "use")),
            Parameter("model", help="a table, a Model2Vec folder, builtin or none", place="optional", metavar="MODEL"),
            p.JSON, p.SET,
        ),
        "lurcher model info",
    ),
    Command(
        "eval", "measure retrieval quality on labelled questions",
        (
            Parameter("dataset", help="a folder or file of questions; with --compare, two saved runs", place="first"),
            Parameter("other", help="the second run of --compare", place="optional"),
            Parameter("repos", help="the folder with the repositories of the dataset", metavar="FOLDER"),
            Parameter("root", help="the repository that your own questions are about", metavar="FOLDER"),
            Parameter("work", help="the folder to keep trees and indexes of the evaluation in", metavar="FOLDER"),
            Parameter("only", help="only this repository", metavar="NAME", many=True),
            p.SOURCE.but(choices=("code", "history", "notes", "all"), more=False, default="what the dataset is about"),
            p.MODE.but(help="how to read the queries"), p.RANKING, p.FUSION.but(help="how lanes become one order"),
            p.ALPHA.but(default=None), p.MMR.but(help="with --fusion linear: prefer unlike hits"),
            p.LIMIT.but(help="hits per question", default="20; 10 where lines are labelled"), p.FLAT,
            Parameter("baseline", help="measure a grep instead", choices=("grep-files", "grep-lines", "grep-rare")),
            Parameter("peer", help="measure another program instead", metavar="COMMAND"),
            Parameter("versus", help="also run with this setting, and compare", metavar="KEY=VALUE", many=True),
            Parameter("compare", "switch", "compare two saved runs"),
            Parameter("negatives", "switch", "also ask each repository questions about another, to measure confidence"),
            Parameter("save", help="save the run to this file", metavar="FILE"),
            Parameter("warnings", "switch", "list every warning"),
            p.STORE.but(help="search through this shared store, each repository as a project eval:NAME", default=None),
            *_INSPECT,
        ),
        "lurcher eval questions.jsonl --root . --versus search.ranking=classic",
    ),
    Command(
        "mcp", "serve agents over standard input and output (Model Context Protocol)",
        (
            Parameter(
                "root", help="allow only what is below this folder", metavar="FOLDER", many=True, default="the project here"
            ),
            p.WORKSPACE.but(help="allow the repositories of the workspace, and search them as one"),
            Parameter("http", "switch", "serve many agents over HTTP instead, at /mcp"), *_LISTEN, p.SET,
        ),
        "lurcher mcp --root ~/project",
    ),
    Command(
        "init", "add the MCP server to the coding agents found here, once it has answered",
        (
            _PLACE.but(help="the project"),
            Parameter(
                "client", metavar="NAME", many=True, default="those found here",
                help="claude, cursor, codex, opencode, vscode, gemini, zed, windsurf, cline, kilo, amp, goose or copilot",
            ),
            Parameter("instructions", "switch", "also add a section to AGENTS.md, and include it in CLAUDE.md"),
            Parameter("skill", "switch", "also write a skill, and for Claude Code a subagent that finds places"),
            Parameter("agent_hooks", "switch", "also add hooks that suggest places, to Claude Code and Codex"),
            Parameter("hook", "switch", "also add a git hook that updates the index after each commit"),
            Parameter("plugin", help="write plugins for Claude Code and Codex to this folder", metavar="FOLDER"),
            Parameter("dry_run", "switch", "only show what would be changed"),
            Parameter("remove", "switch", "remove what was added, hooks too"), p.JSON,
        ),
        "lurcher init --dry-run",
    ),
    Command(
        "hook", "answer a hook of a coding agent: its JSON on standard input, ours on standard output",
        (),
        "lurcher hook < event.json",
    ),
    Command(
        "stats", "show how many tokens agents saved: their answers, compared with what a tuned grep prints",
        (
            Parameter("days", "int", "only this many days back", metavar="N"),
            Parameter("clear", "switch", "delete all counts"), p.JSON,
        ),
        "lurcher stats --days 30",
    ),
    Command(
        "completion", "print the completion for a shell",
        (Parameter("shell", help="bash, zsh or fish", place="first", choices=("bash", "zsh", "fish")),),
        "lurcher completion bash",
    ),
    Command(
        "help", "explain a topic: query, filters, budget, json, exit-codes, config, agents, editors",
        (Parameter("topic", help="a topic or a command", place="optional", metavar="TOPIC"),),
        "lurcher help query",
    ),
    Command(
        "config", "show the settings",
        (
            Parameter("action", help="show", place="optional", choices=("show",), default="show"), p.PATHS,
            Parameter("origin", "switch", "also where each value came from"), p.JSON, p.SET,
        ),
        "lurcher config show --origin",
    ),
)  # fmt: skip


_GROUPS = {
    "what to search": (
        "in", "library", "mode", "semantic", "literal", "fixed", "word", "ignore_case", "case_sensitive", "multiline",
        "structural",
    ),
    "filters": ("lang", "path", "exclude", "since", "until", "author", "outcome", "tag"),
    "output": (
        "limit", "budget", "continue", "context", "snippet_lines", "flat", "explain", "format", "json", "timings", "quiet",
    ),
    "ranking": ("ranking", "rerank", "no_rerank", "fusion", "alpha", "mmr"),
    "index and settings": ("no_refresh", "workspace", "repo", "store", "project", "fallback", "set"),
}  # fmt: skip
"""The flags of a long help, by what they are for."""
_RARE = frozenset(
    """
    alpha case_sensitive continue fallback flat fusion library mmr multiline no_refresh no_rerank project ranking repo semantic
    store timings word
    """.split()
)
"""Flags that only --help-all shows."""
_RARE_IN_SEARCH = frozenset(("author", "outcome", "tag", "until"))
"""Those of a command of their own, which shows them."""
_GROUPED = ("search", "history", "notes")
"""Commands with so many flags that their help has groups."""


def build_parser(only: str | None = None, *, rare: bool = True) -> Any:
    """The parser of all commands, or of one, which takes a tenth of the time; without `rare` its help is shorter."""
    import argparse

    from lurcher.runtime import VERSION

    class Parser(argparse.ArgumentParser):
        """Raises UsageError for bad arguments, so that they are printed like all errors: one line and a hint."""

        color: bool

        def format_help(self) -> str:
            if self is not parser:
                return super().format_help()
            from lurcher.surfaces.cli.overview import render_overview

            return render_overview({command.name: command.help for command in COMMANDS})

        def error(self, message: str) -> NoReturn:
            hint = f"see: {self.prog} --help"
            if "required: query" in message:
                hint += "; put -- before a query that begins with a dash"
            raise UsageError(message.removesuffix(", PATH"), hint)

    parser = Parser(
        prog="lurcher",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"lurcher {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in COMMANDS:
        if only not in (None, command.name):
            continue
        child = commands.add_parser(
            command.name, help=command.help, description=command.help[0].upper() + command.help[1:] + ".",
            epilog=f"example: {command.example}", allow_abbrev=False, usage=f"lurcher {command.name} {command.usage}",
        )  # fmt: skip
        child.color = False
        flags = [parameter for parameter in command.parameters if not parameter.place]
        if command.name not in _GROUPED:
            for parameter in command.parameters:
                _add(child, parameter)
            continue
        child.add_argument("--help-all", action="help", help="also show the rare flags, and exit")
        for parameter in command.parameters:
            if parameter.place:
                _add(child, parameter)
        for title, names in _GROUPS.items():
            group = child.add_argument_group(title)
            for parameter in sorted((flag for flag in flags if flag.name in names), key=lambda flag: names.index(flag.name)):
                hidden = parameter.name in _RARE or (command.name == "search" and parameter.name in _RARE_IN_SEARCH)
                _add(group, parameter, hidden=hidden and not rare)
        for parameter in flags:
            assert any(parameter.name in names for names in _GROUPS.values()), f"--{parameter.name} is in no group"
    parser.color = False  # newer versions of argparse would colour the help
    return parser


def parse(arguments: Sequence[str]) -> Any:
    """The arguments as a namespace. Paths may come before, between and after the flags."""
    known = [command.name for command in COMMANDS]
    arguments = _with_command(arguments, known)
    first = arguments[0] if arguments else None
    parser = build_parser(first if first in known else None, rare="--help-all" in arguments)
    parsed, rest = parser.parse_known_args(arguments)
    unknown = [item for item in rest if item.startswith("-")]
    if not unknown and rest and getattr(parsed, "other", "") is None:
        parsed.other = rest.pop(0)
    if unknown:
        raise _unknown_flag(parsed.command, unknown[0])
    if rest and not hasattr(parsed, "path"):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        # argparse gives PATH … only the first run of arguments.
        parsed.path = [*parsed.path, *rest]
    if parsed.command is None:
        parser.print_help()
    return parsed


def _with_command(arguments: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    """The arguments with a command first: `symbols` is `symbol`, and a question or a name from code is searched for.

    A plain word may be a mistyped command, for which nothing is to be indexed.
    """
    first = arguments[0] if arguments else ""
    if first in known or not arguments:
        return arguments
    if first.startswith("-") and first != "-":
        return _with_command_first(arguments, known)
    for name in (f"{first}s", first.removesuffix("s")):
        if name in known:
            return [name, *arguments[1:]]
    if is_question(first) or first == "-" or not first.islower() or any(mark in first for mark in "_.:#"):
        return ["search", *arguments]
    near = _nearest(first, known) or "see: lurcher --help;"
    shown = first if len(first) <= 60 else f"{first[:60]}…"
    raise UsageError(f"'{shown}' is not a command", f"{near} for a search: lurcher search QUERY")


def _with_command_first(arguments: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    """The arguments of which the first is a flag: of the command that follows, or else of a search."""
    if arguments[0] in ("-h", "--help", "--version", "--help-all"):
        return ["--help"] if arguments[0] == "--help-all" else arguments[:1]
    at = next((position for position, argument in enumerate(arguments) if argument in known), None)
    if at is not None:
        return [arguments[at], *arguments[:at], *arguments[at + 1 :]]
    return ["search", *arguments] if any(not argument.startswith("-") for argument in arguments) else arguments


def _unknown_flag(command: str | None, given: str) -> UsageError:
    flag = given.partition("=")[0]
    flags = [flag for each in COMMANDS if each.name == command for parameter in each.parameters for flag in parameter.flags]
    help_flag = f"see: lurcher {command} --help" if command else "see: lurcher --help"
    return UsageError(f"unknown flag {given}", _nearest(flag, flags or ["--help", "--version"]) or help_flag)


def _nearest(name: str, known: Sequence[str]) -> str:
    """A hint that names the most similar of the known names, or nothing."""
    import difflib

    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean {near[0]}?" if near else ""


def _add(parser: Any, parameter: Parameter, *, hidden: bool = False) -> None:
    import argparse

    options: dict[str, Any] = {"help": parameter.flag_help}
    if parameter.choices and parameter.metavar:
        options["help"] += f": {', '.join(parameter.choices)}"
    if parameter.metavar:
        options["metavar"] = parameter.metavar
    elif parameter.choices:
        options["choices"] = parameter.choices  # for the usage line; `read` has checked the value before argparse does
    if hidden:
        options["help"] = argparse.SUPPRESS
    if parameter.kind == "switch":
        parser.add_argument(*parameter.flags, dest=parameter.target, action="store_true", **options)
        return
    options["type"] = _reader(parameter)
    if parameter.place:
        nargs = {"optional": "?", "rest": "*"}.get(parameter.place)
        parser.add_argument(parameter.name, **({"nargs": nargs} if nargs else {}), **options)
    elif parameter.many:
        parser.add_argument(*parameter.flags, dest=parameter.target, action="append", default=[], **options)
    else:
        parser.add_argument(*parameter.flags, dest=parameter.target, **options)


def _reader(parameter: Parameter) -> Callable[[str], Any]:
    label = parameter.flags[-1] if parameter.flags else parameter.name
    return lambda text: read(parameter, text, label, bounds=False)
