"""Every flag and command, declared once: the parser, `--help` and the reference in docs/ all come from here."""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING
from lurcher.surfaces.cli.declared import (
    FALLBACK,
    FILTERS,
    FORMAT,
    JSON,
    MODES,
    ORDER,
    PAGE,
    PAST,
    PATHS,
    QUIET,
    SEARCH,
    SET,
    SHOWN,
    STORE,
    TAG,
    Command,
    Flag,
    overrides_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

__all__ = ["COMMANDS", "Command", "Flag", "build_parser", "overrides_of", "parse"]

COMMANDS: tuple[Command, ...] = (
    SEARCH,
    Command(
        "symbol",
        "show where a name is defined",
        (
            Flag(("name",), "Client, Client.retry, Foo::bar or Foo#bar", "positional"),
            PATHS,
            Flag(("-k", "--limit"), "number of definitions (default: 20)", "int", "N"),
            Flag(("-l", "--lang"), "only this language (repeatable)", "list", "LANG"),
            *STORE,
            FALLBACK,
            FORMAT,
            JSON,
            SET,
            QUIET,
        ),
        "lurcher symbol Client.retry",
    ),
    Command(
        "related",
        "find code that is like the code around a line",
        (
            Flag(("place",), "a file and a line of it, as FILE:LINE", "positional", "FILE:LINE"),
            *PAGE,
            *FILTERS,
            *SHOWN,
            FORMAT,
            JSON,
            SET,
            QUIET,
        ),
        "lurcher related src/client.py:42",
    ),
    Command(
        "why",
        "tell why a file is not among the hits for a question, or why it is",
        (
            Flag(("place",), "a file, or a line of it, as FILE[:LINE]", "positional", "FILE[:LINE]"),
            Flag(("query",), "the question, as it was asked", "positional"),
            Flag(("--mode",), "how to read the query", "text", "MODE", MODES),
            Flag(("--ranking",), "how to order the hits", "text", "NAME", ("default", "classic"), more=True),
            Flag(("-k", "--limit"), "number of hits that would be shown (default: 10)", "int", "N"),
            *FILTERS,
            JSON,
            SET,
            QUIET,
        ),
        'lurcher why src/client.py:42 "how are redirects followed"',
    ),
    Command(
        "impact",
        "show what depends on a file, by the imports that lead to it",
        (
            Flag(("file",), "a file, as seen from here or as a hit shows it", "positional", "FILE"),
            Flag(("--symbol",), "only what uses this name of the file", "text", "NAME"),
            Flag(("--hops",), "how many imports away to look (default: 2)", "int", "N"),
            Flag(("--format",), "text, or a picture of the graph", "text", "FORMAT", ("text", "dot", "svg")),
            JSON,
            SET,
            QUIET,
        ),
        "lurcher impact src/client.py --symbol retry",
    ),
    Command(
        "outline",
        "show the symbols of a file, or of each file of a folder",
        (
            Flag(("place",), "a file or folder (default: here)", "optional", "PATH"),
            Flag(("--kind",), "only this kind, such as class or function (repeatable)", "list", "KIND"),
            JSON,
            SET,
            QUIET,
        ),
        "lurcher outline src --kind class",
    ),
    Command(
        "context",
        "put together what one should know of a file or folder before working on it",
        (
            Flag(("place",), "a file or folder (default: here)", "optional", "PATH"),
            Flag(("--budget",), "hard ceiling on its tokens (default: 4000)", "int", "TOKENS"),
            JSON,
            SET,
            QUIET,
        ),
        "lurcher context src --budget 2000",
    ),
    Command(
        "exists",
        "tell whether a name or short text occurs at all: yes is probable, no is certain unless files were left out",
        (
            Flag(("pattern",), "a name or text, as it is spelled and by itself", "positional", "PATTERN"),
            PATHS,
            Flag(("--exact",), "look, and make the yes certain too", "switch"),
            JSON,
            SET,
            QUIET,
        ),
        "lurcher exists parse_cookie",
    ),
    Command(
        "history",
        "find the commits that answer a question, and what became of them",
        (
            Flag(("query",), "a question or a report; - reads it from standard input", "positional"),
            PATHS,
            Flag(("--mode",), "how to read the query", "text", "MODE", ("auto", "hybrid", "lexical", "dense")),
            Flag(("--ranking",), "how to order the hits", "text", "NAME", ("default", "classic"), more=True),
            *PAST,
            *ORDER,
            *PAGE,
            Flag(("-l", "--lang"), "only commits that change this language (repeatable)", "list", "LANG"),
            Flag(("--path",), "only commits that change files that match (repeatable)", "list", "GLOB"),
            Flag(("--exclude",), "not files that match (repeatable)", "list", "GLOB"),
            Flag(("--context",), "how much to show", "text", "HOW", ("none", "block")),
            Flag(("--snippet-lines",), "show the N changed lines that match best", "int", "N"),
            Flag(("--explain",), "show why each hit is there", "switch"),
            Flag(("--no-refresh",), "answer from the index as it is", "switch"),
            Flag(("--timings",), "show how long each stage took", "switch"),
            FORMAT,
            JSON,
            SET,
            QUIET,
        ),
        'lurcher history "have we tried caching this"',
    ),
    Command(
        "notes",
        "find the sections of notes and documents that answer a question",
        (
            Flag(("query",), 'a question; "what is in quotes" must be found; - reads it from standard input', "positional"),
            PATHS,
            Flag(("--mode",), "how to read the query", "text", "MODE", ("auto", "hybrid", "lexical", "dense")),
            TAG,
            Flag(("--since",), "only notes from then on, by front matter or file time: a date, 30d, 6m, 1y", "text", "WHEN"),
            Flag(("--until",), "only notes until then", "text", "WHEN"),
            *ORDER,
            *PAGE,
            Flag(("-l", "--lang"), "only this markup, such as markdown (repeatable)", "list", "LANG"),
            Flag(("--path",), "only notes that match (repeatable)", "list", "GLOB"),
            Flag(("--exclude",), "not notes that match (repeatable)", "list", "GLOB"),
            Flag(("--context",), "how much to show", "text", "HOW", ("none", "block")),
            Flag(("--snippet-lines",), "show the N lines that match best", "int", "N"),
            Flag(("--explain",), "show why each hit is there", "switch"),
            Flag(("--timings",), "include timings (they differ from run to run)", "switch"),
            Flag(("--no-refresh",), "answer from the index as it is", "switch"),
            FORMAT,
            JSON,
            SET,
            QUIET,
        ),
        'lurcher notes "how do we rotate keys" --tag runbook',
    ),
    Command(
        "brief",
        "put together what one should know before editing a file or symbol: its past, its dependents, documents that name it",
        (
            Flag(("target",), "a file, or a name such as Client.retry", "positional", "FILE|SYMBOL"),
            Flag(("--budget",), "hard ceiling on its tokens (default: 1500)", "int", "TOKENS"),
            JSON,
            SET,
            QUIET,
        ),
        "lurcher brief src/client.py",
    ),
    Command(
        "explain",
        "show the commits that wrote these lines, and why",
        (
            Flag(("file",), "a file, or some lines of it: FILE:12 or FILE:12-20", "positional", "FILE[:A-B]"),
            Flag(("-k", "--limit"), "number of commits, newest first (default: 10)", "int", "N"),
            JSON,
            SET,
        ),
        "lurcher explain src/client.py:40-60",
    ),
    Command(
        "index",
        "bring the index up to date",
        (
            PATHS,
            Flag(("--watch",), "keep it up to date until Ctrl-C, which ends it with status 0", "switch"),
            Flag(("--history",), "also that of all commits, which a question about them fills only in part", "switch"),
            Flag(("--library",), "instead that of an installed dependency, as code names it (repeatable)", "list", "NAME"),
            Flag(("--rebuild",), "make it anew from nothing", "switch"),
            Flag(("--clear",), "remove it; with --store, from there", "switch"),
            Flag(("--yes",), "also that of a home folder, a whole disk or a folder of the system, without asking", "switch"),
            *STORE,
            JSON,
            SET,
            Flag(("-q", "--quiet"), "no progress on a terminal; with --watch, only errors", "switch"),
        ),
        "lurcher index --watch",
    ),
    Command(
        "serve",
        "serve the HTTP API and a page for the browser, until Ctrl-C",
        (
            PATHS,
            Flag(("--host",), "address to listen on (default: 127.0.0.1); any other needs a token", "text", "ADDRESS"),
            Flag(("--port",), "port to listen on (default: 7433; 0: any)", "int", "N"),
            Flag(("--token",), "what clients have to send; better set LURCHER_SERVE_TOKEN, which no process list shows", "text",
                 "SECRET"),
            Flag(("--open",), "open the page in the browser", "switch"),
            SET,
        ),
        "lurcher serve --open",
    ),
    Command(
        "status",
        "tell what the index holds and what was left out",
        (PATHS, Flag(("--skipped",), "also the paths that were read and left out", "switch"), *STORE, JSON, SET),
        "lurcher status --skipped",
    ),
    Command(
        "doctor",
        "check installation, settings, index and tree, and say how to mend them; changes nothing",
        (
            PATHS,
            Flag(("--quick",), "do not read every byte of the index and of the tree", "switch"),
            JSON,
            SET,
            QUIET,
        ),
        "lurcher doctor",
    ),
    Command(
        "model",
        "show or choose the model behind the dense lane",
        (
            Flag(("action",), "info, or use", "positional", choices=("info", "use")),
            Flag(("model",), "a table, a Model2Vec folder, builtin or none", "optional", "MODEL"),
            JSON,
            SET,
        ),
        "lurcher model info",
    ),
    Command(
        "eval",
        "measure retrieval quality on labelled questions",
        (
            Flag(("dataset",), "a folder or file of questions; with --compare, two saved runs", "positional"),
            Flag(("other",), "the second run of --compare", "optional"),
            Flag(("--repos",), "where the repositories of the dataset lie", "text", "FOLDER"),
            Flag(("--root",), "the repository that your own questions are about", "text", "FOLDER"),
            Flag(("--work",), "where trees and indexes of the evaluation are kept", "text", "FOLDER"),
            Flag(("--only",), "only this repository (repeatable)", "list", "NAME"),
            Flag(("--in",), "what to search (default: what the dataset is about)", "text", "SOURCE",
                 ("code", "history", "notes", "all")),
            Flag(("--mode",), "how to read the queries", "text", "MODE", MODES),
            Flag(("--ranking",), "how to order the hits", "text", "NAME", ("default", "classic"), more=True),
            Flag(("--fusion",), "how lanes become one order", "text", "HOW", ("rrf", "linear")),
            Flag(("--alpha",), "with --fusion linear: weight of nearness in meaning", "float", "A"),
            Flag(("--mmr",), "with --fusion linear: prefer unlike hits", "float", "LAMBDA"),
            Flag(("-k", "--limit"), "hits per question (default: 20)", "int", "N"),
            Flag(("--versus",), "also run with this setting and compare (repeatable)", "list", "KEY=VALUE"),
            Flag(("--compare",), "compare two saved runs", "switch"),
            Flag(("--save",), "keep the run in this file", "text", "FILE"),
            Flag(("--warnings",), "list every warning", "switch"),
            Flag(("--store",), "ask through this shared store, each repository as a project eval:NAME", "text", "URL"),
            JSON,
            SET,
            QUIET,
        ),
        "lurcher eval questions.jsonl --root . --versus search.ranking=classic",
    ),
    Command(
        "mcp",
        "serve agents over standard input and output (Model Context Protocol)",
        (
            Flag(("--root",), "only what is below this folder (repeatable; default: the project here)", "list", "FOLDER"),
            SET,
        ),
        "lurcher mcp --root ~/project",
    ),
    Command(
        "init",
        "put the MCP server into the settings of the coding agents found here, and a section into AGENTS.md",
        (
            Flag(("place",), "the project (default: here)", "optional", "PATH"),
            Flag(("--client",), "claude, cursor, codex, opencode, vscode, gemini or zed (repeatable)", "list", "NAME"),
            Flag(("--hook",), "also a git hook that brings the index up to date after each commit", "switch"),
            Flag(("--no-agents",), "leave AGENTS.md alone", "switch"),
            Flag(("--dry-run",), "only show what would be changed", "switch"),
            Flag(("--remove",), "take out what was put in, the hook too", "switch"),
            JSON,
        ),
        "lurcher init --dry-run",
    ),
    Command(
        "stats",
        "show what agents saved: tokens of the answers they got, against reading the files whole",
        (
            Flag(("--days",), "only the last so many days", "int", "N"),
            Flag(("--clear",), "forget all that was counted", "switch"),
            JSON,
        ),
        "lurcher stats --days 30",
    ),
    Command(
        "completion",
        "print the completion for a shell",
        (Flag(("shell",), "bash, zsh or fish", "positional", choices=("bash", "zsh", "fish")),),
        "lurcher completion bash",
    ),
    Command(
        "help",
        "explain a topic: query, filters, budget, json, exit-codes, config, agents, editors",
        (Flag(("topic",), "a topic or a command", "optional", "TOPIC"),),
        "lurcher help query",
    ),
    Command(
        "config",
        "show the settings",
        (
            Flag(("action",), "show", "positional", choices=("show",)),
            PATHS,
            Flag(("--origin",), "also where each value came from", "switch"),
            JSON,
            SET,
        ),
        "lurcher config show --origin",
    ),
)


def build_parser(only: str | None = None) -> Any:
    """The argument parser of all commands, or of one: most of the work would be for those that nobody called."""
    import argparse

    from lurcher.errors import UsageError
    from lurcher.version import VERSION

    class Parser(argparse.ArgumentParser):
        """Reports bad arguments as every other error is reported: one line and a hint."""

        color: bool

        def error(self, message: str) -> NoReturn:
            hint = f"see: {self.prog} --help"
            if "required: query" in message:
                hint += "; put -- before a query that begins with a dash"
            raise UsageError(message.removesuffix(", PATH"), hint)

    parser = Parser(
        prog="lurcher",
        allow_abbrev=False,
        description="Finds the code that answers a question: offline, in milliseconds, with the reason for every hit.",
        epilog='example: lurcher search "how are redirects followed"',
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
        for flag in command.flags:
            _add(child, flag)
    parser.color = False  # which newer ones have by themselves, and not ours
    return parser


def parse(arguments: Sequence[str]) -> Any:
    """The arguments as a namespace; paths may stand before, between and after the flags."""
    first = arguments[0] if arguments else None
    parser = build_parser(first if any(command.name == first for command in COMMANDS) else None)
    parsed, rest = parser.parse_known_args(arguments)
    unknown = [item for item in rest if item.startswith("-")]
    if not unknown and rest and getattr(parsed, "other", "") is None:
        parsed.other = rest.pop(0)
    if rest and (unknown or not hasattr(parsed, "path")):
        parser.error(f"unrecognized arguments: {' '.join(unknown or rest)}")
    if rest:
        # argparse gives a positional of any length only what stands in one piece.
        parsed.path = [*parsed.path, *rest]
    if parsed.command is None:
        parser.print_help()
    return parsed


def _add(parser: Any, flag: Flag) -> None:
    common: dict[str, Any] = {"help": flag.help}
    if flag.choices and flag.metavar:
        common["help"] += f": {', '.join(flag.choices)}"
    if flag.choices and not flag.more:
        common["choices"] = flag.choices
    if flag.metavar:
        common["metavar"] = flag.metavar
    if flag.kind == "positional":
        parser.add_argument(*flag.names, **common)
    elif flag.kind == "optional":
        parser.add_argument(*flag.names, nargs="?", **common)
    elif flag.kind == "paths":
        parser.add_argument(*flag.names, nargs="*", **common)
    elif flag.kind == "switch":
        parser.add_argument(*flag.names, dest=flag.target, action="store_true", **common)
    elif flag.kind == "list":
        parser.add_argument(*flag.names, dest=flag.target, action="append", default=[], **common)
    else:
        kind = {"int": int, "float": float}.get(flag.kind, str)
        parser.add_argument(*flag.names, dest=flag.target, type=kind, **common)
