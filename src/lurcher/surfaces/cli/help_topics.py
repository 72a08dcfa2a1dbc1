"""`lurcher help`: topics that concern several commands, half a page each, or the help of a command."""

from __future__ import annotations

from lurcher.errors import UsageError
from lurcher.surfaces.cli.flags import COMMANDS, build_parser

TOPICS: dict[str, tuple[str, str]] = {
    "query": (
        "how a question is read",
        """\
`lurcher search` takes whatever you have:

  a question in your own words     how are redirects followed
  a name                           parse_cookie, Client.retry, Foo::bar
  an error report                  several lines with a stack trace; - reads it from standard input
  a regular expression (RE2)       def \\w+_cookie          (or --literal; -F for plain text, -w for whole words)
  an ast-grep pattern              except $E: pass          (or --structural)

Which of these it is, is decided by its form; --mode says so yourself. --mode dense (or --semantic) asks by meaning alone. In a
question to notes, "what is in quotes" must be found as it is. Put -- before a query that begins with a dash.""",
    ),
    "filters": (
        "which files may answer",
        """\
  -l, --lang LANG        only this language
  --path GLOB            only files that match; without a slash any part of a path, with one from the root on
  --exclude GLOB         not files that match
  PATH …                 folders or files, after the query

Each may be given several times. A filter that matches nothing gives no hits; it never widens. Files that git ignores are not
indexed; a `.lurcherignore` takes out more, or with `!` brings files back. `lurcher status --skipped` lists what was left out.
Questions about history also take --since, --until, --author and --outcome; notes take --tag.""",
    ),
    "budget": (
        "answers that fit a context window",
        """\
--budget TOKENS is a hard ceiling on the texts of one answer; nothing is cut short, and `next` in the answer leads to the rest:

  lurcher search "where are retries configured" --budget 2000 --json
  lurcher search "where are retries configured" --budget 2000 --json --continue CURSOR

--snippet-lines N shows only the N lines of each hit that match best, --context none only where it is.""",
    ),
    "json": (
        "output for programs",
        """\
--json prints one object: `hits` (path, start_line, end_line, symbol, score, tokens, text, why), `total`, `next`, `index` (how
current it is) and `degraded` (what the answer could not take into account, and what to do about it). Fields are added over
time, never renamed. An error is {"error": {"code", "message", "hint"}} with exit status 2.

--format vimgrep prints path:line:column:text. In Vim:

  :set grepprg=lurcher\\ search\\ --format\\ vimgrep\\ -q grepformat=%f:%l:%c:%m
  :grep! "how are redirects followed" """,
    ),
    "exit-codes": (
        "what the exit status says",
        """\
  0      something was found, or done
  1      nothing was found
  2      an error; one line on stderr says what and what to do
  130    interrupted

`doctor` ends with 1 if it found problems; `index --watch` with 0 when it is interrupted, since that is how it ends; `init`
with 2 if it had to leave a file to you. Results go to stdout, everything else to stderr.""",
    ),
    "config": (
        "settings and where they come from",
        """\
Later ones win: defaults; ~/.config/lurcher/config.toml; lurcher.toml at the root, else [tool.lurcher] in pyproject.toml;
LURCHER_SECTION_NAME in the environment; flags and --set section.name=value.

  lurcher config show --origin       every setting, its value and where that came from
  LURCHER_INDEX_DIR=/var/tmp/x       indexes elsewhere than in .lurcher
  lurcher search … --set search.limit=5

An unknown key or a bad value is an error that names the file, the key and what is allowed.""",
    ),
    "agents": (
        "lurcher for coding agents",
        """\
  lurcher init                 puts the server into the settings of the agents found here, and a section into AGENTS.md
  lurcher init --dry-run       shows what that would change; --remove takes it out again
  lurcher mcp --root FOLDER    the server itself, over standard input and output (needs the extra `mcp`)
  lurcher stats                what agents saved, against reading the files whole

The server never waits for an index: until there is one it answers from a quick look at the tree, and says so. It shows nothing
outside of its roots and of those that the client has open.""",
    ),
    "editors": (
        "shells and editors",
        """\
  bash    source <(lurcher completion bash)                in ~/.bashrc
  zsh     source <(lurcher completion zsh)                 in ~/.zshrc, after compinit
  fish    lurcher completion fish | source                 in ~/.config/fish/config.fish

  --format vimgrep     path:line:column:text, for Vim's quickfix list, Emacs' grep-mode and others
  lurcher outline FILE, lurcher symbol NAME, lurcher explain FILE:LINE     take and give places as editors write them""",
    ),
}


def print_help(name: str | None) -> None:
    """The list of topics, one of them, or the help of a command."""
    if name is None:
        print("lurcher help TOPIC, where the topic is one of these or a command:\n")
        width = max(map(len, TOPICS))
        for topic, (title, _) in TOPICS.items():
            print(f"  {topic:<{width}}  {title}")
        print(f"\ncommands: {', '.join(command.name for command in COMMANDS)}")
    elif name in TOPICS:
        title, text = TOPICS[name]
        print(f"{name}: {title}\n\n{text}")
    elif any(command.name == name for command in COMMANDS):
        build_parser().parse_args([name, "--help"])
    else:
        import difflib

        near = difflib.get_close_matches(name, [*TOPICS, *(command.name for command in COMMANDS)], 2)
        raise UsageError(f"there is no help on '{name}'", f"did you mean {' or '.join(near)}?" if near else "see: lurcher help")
