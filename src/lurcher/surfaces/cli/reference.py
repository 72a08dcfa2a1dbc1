"""`lurcher help`, and what is generated from the declared commands and settings: docs/reference.md, completion for shells.

    python -m lurcher.surfaces.cli.reference > docs/reference.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from lurcher import config
from lurcher.config.schema import Setting
from lurcher.config.trust import TABLE
from lurcher.errors import UsageError
from lurcher.surfaces import Parameter
from lurcher.surfaces.cli.flags import COMMANDS, Command, build_parser

# -- lurcher help: topics that concern several commands ----------------------------------------------------------------


TOPICS: dict[str, tuple[str, str]] = {
    "query": (
        "how a query is read",
        """\
`lurcher search` takes whatever you have:

  a question in your own words     how are redirects followed
  a name                           parse_cookie, Client.retry, Foo::bar
  an error report                  several lines with a stack trace; - reads it from standard input
  a regular expression (RE2)       def \\w+_cookie          (or --literal; -F for plain text, -w for whole words)
  an ast-grep pattern              except $E: pass          (or --structural)

The form of the query decides which of these it is; --mode sets it. --mode dense (or --semantic) searches by meaning alone. In
a query to notes, "text in quotes" must occur as it is. Put -- before a query that begins with a dash.""",
    ),
    "filters": (
        "which files may answer",
        """\
  -l, --lang LANG        only this language
  --path GLOB            only files that match; without a slash any part of a path, with one from the root on
  --exclude GLOB         not files that match
  PATH …                 folders or files, after the query

Each may be given several times. A filter that matches nothing gives no hits; it never widens. Files that git ignores are not
indexed; a `.lurcherignore` excludes more, or with `!` includes files again. `lurcher status --skipped` lists what was left out.
Searches of history also take --since, --until, --author and --outcome; notes take --tag.""",
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
--json prints one object: `confidence` (strong, fair, weak, none), `hits` (path, start_line, end_line, symbol, score, tokens,
text, why; and `places`, all places of the file, of which the first gives the fields before it), `total`, `next`, `index`
(how current it is) and `degraded` (what the answer does not cover, and what to do about it). Fields are added over
time, never renamed. An error is {"error": {"code", "message", "hint"}} with exit status 2.

--format vimgrep prints path:line:column:text. In Vim:

  :set grepprg=lurcher\\ search\\ --format\\ vimgrep\\ -q grepformat=%f:%l:%c:%m
  :grep! "how are redirects followed" """,
    ),
    "exit-codes": (
        "what the exit status means",
        """\
  0      something was found, or done
  1      nothing was found
  2      an error; one line on stderr says what and what to do
  130    interrupted

`doctor` ends with 1 if it found problems; `index --watch` with 0 when it is interrupted, since that is how it ends; `init`
with 2 if it could not change a file. Results go to stdout, everything else to stderr.""",
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
  lurcher init                  adds the server to the settings of the agents found here, once it has answered
  lurcher init --dry-run        shows what that would change; --remove undoes it
  lurcher init --instructions   also adds a section to AGENTS.md; --skill and --agent-hooks add a skill and hooks
  lurcher mcp --root FOLDER     the server itself, over standard input and output (needs the extra `mcp`)
  lurcher stats                 how many tokens agents saved, compared with a tuned grep

The server never waits for an index: until there is one it answers from a quick scan of the tree, and says so. It shows nothing
outside of its roots, nor outside of those that the client has open.""",
    ),
    "editors": (
        "shells and editors",
        """\
  bash    source <(lurcher completion bash)                in ~/.bashrc
  zsh     source <(lurcher completion zsh)                 in ~/.zshrc, after compinit
  fish    lurcher completion fish | source                 in ~/.config/fish/config.fish

  --format vimgrep     path:line:column:text, for Vim's quickfix list, Emacs' grep-mode and others
  lurcher outline FILE, lurcher symbol NAME, lurcher explain FILE:LINE     take and print locations as editors write them""",
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


# -- docs/reference.md and docs/services.md ----------------------------------------------------------------------------


_HEAD = """\
# Reference

Written by `python -m lurcher.surfaces.cli.reference > docs/reference.md` from the declarations in the code; a test fails when
this page is behind them.

Exit status of every command: 0 something was found or done, 1 nothing was found, 2 an error, 130 interrupted. Some differ:
`doctor` ends with 1 if it found problems, `index --watch` with 0 when it is interrupted, since that is how it ends, and
`init` with 2 if it could not change a file. Results
go to stdout; notes, progress and errors go to stderr. With `--json` an error is also printed as
`{"error": {"code": …, "message": …, "hint": …}}`.

## Commands
"""
_SETTINGS_HEAD = """
## Settings

Each layer overrides the one before it:

1. the defaults below
2. the user file: `$LURCHER_CONFIG`, else `$XDG_CONFIG_HOME/lurcher/config.toml`, else `~/.config/lurcher/config.toml`
3. the project file at the root: `lurcher.toml`, else the table `[tool.lurcher]` of `pyproject.toml`
4. the environment: `LURCHER_` + section + `_` + name in capitals, such as `LURCHER_SEARCH_LIMIT=5`
5. flags, and `--set section.name=value` for what has no flag of its own

In a file a section is a table: `search.limit` is `limit` under `[search]`. An unknown key or a bad value is an error that
names the layer, the key and what is allowed. `lurcher config show --origin` prints every value and where it came from.

**What a project may set.** Who clones a repository has not read its settings. A project file may say how its code is cut,
ranked and shown. It may not have text sent anywhere, start processes, run code of other packages or of its own,
write elsewhere, or take much more time and memory than the defaults do: the column "in a project" says what is allowed
there. Anything else is an error, unless you have set the same yourself, in your own file, the environment or by a flag: then
yours counts.
"""


def render() -> str:
    """The whole page."""
    lines = [_HEAD]
    for command in COMMANDS:
        lines += _command(command)
    lines.append(_SETTINGS_HEAD)
    for section in config.sections():
        lines += _section(section)
    return "\n".join(lines).rstrip() + "\n"


def _command(command: Command) -> Iterator[str]:
    yield f"### `lurcher {command.name}`"
    yield ""
    yield f"{command.help[0].upper()}{command.help[1:]}. For example: `{command.example}`"
    yield ""
    yield f"Usage: `lurcher {command.name} {command.usage}`"
    yield ""
    yield "| argument | meaning |"
    yield "|---|---|"
    for parameter in command.parameters:
        choices = f": {', '.join(f'`{choice}`' for choice in parameter.choices)}" if parameter.choices else ""
        yield f"| {_name(parameter)} | {_cell(parameter.flag_help)}{choices} |"
    yield ""


def _name(parameter: Parameter) -> str:
    if parameter.place:
        return f"`{parameter.usage}`"
    return ", ".join(f"`{flag} {parameter.metavar}`" if parameter.metavar else f"`{flag}`" for flag in parameter.flags)


def _section(section: str) -> Iterator[str]:
    part = getattr(config.Settings(), section)
    yield f"### `[{section}]`"
    yield ""
    if part.__doc__ and "(" not in part.__doc__.splitlines()[0]:
        yield part.__doc__.strip()
        yield ""
    yield "| setting | default | allowed | in a project | meaning |"
    yield "|---|---|---|---|---|"
    for item in part.declared().values():
        cells = (
            f"`{section}.{item.name}`",
            f"`{json.dumps(item.default)}`",
            _describe_allowed(item),
            _in_project(f"{section}.{item.name}"),
            _cell(item.doc),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _in_project(key: str) -> str:
    """What a project's own file may set of it."""
    rule = TABLE[key]
    if not rule.why:
        return "yes"
    if rule.words:
        return ", ".join(f"`{word}`" for word in rule.words)
    if rule.most is None:
        return "no"
    return f"{'' if rule.above is None else f'over {rule.above:g}, '}up to {rule.most:,g}"


SERVICES = ("embedding", "sparse", "reranker", "judge", "store", "qdrant", "postgres")
"""Sections about what runs elsewhere."""
SERVICES_HEAD = "| setting | environment | default | effect |"


def services() -> Iterator[str]:
    """The table of docs/services.md: every setting of every service."""
    yield SERVICES_HEAD
    yield "|---|---|---|---|"
    for key, value, _, meaning in config.Settings().rows():
        if key.partition(".")[0] in SERVICES:
            variable = f"`LURCHER_{key.upper().replace('.', '_')}`"
            yield f"| `{key}` | {variable} | `{json.dumps(value)}` | {_cell(meaning)} |"


def _describe_allowed(item: Setting) -> str:
    if item.choices:
        return ", ".join(f"`{choice}`" for choice in item.choices)
    if isinstance(item.default, bool):
        return "`true`, `false`"
    low, high = item.low, item.high
    if low is None and high is None:
        return "text" if isinstance(item.default, str) else "any"
    if high is None:
        return f"{low:,} or more"
    return f"{low:,} to {high:,}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# -- lurcher completion ------------------------------------------------------------------------------------------------

SHELLS = ("bash", "zsh", "fish")


def completion_script(shell: str) -> str:
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _options(command: Command) -> list[Parameter]:
    return [parameter for parameter in command.parameters if not parameter.place]


def _arguments(command: Command) -> list[Parameter]:
    return [parameter for parameter in command.parameters if parameter.place]


def _first_choices(command: Command) -> tuple[str, ...]:
    """The values of the first argument, where they are a short list."""
    first = next(iter(_arguments(command)), None)
    return first.choices if first is not None else ()


# -- bash ---------------------------------------------------------------------------------------------------------------


def _bash() -> str:
    names = " ".join(command.name for command in COMMANDS)
    return "\n".join([
        "# bash completion for lurcher",
        "_lurcher() {",
        "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= at=0 i",
        "  for ((i = 1; i < COMP_CWORD; i++)); do",
        '    if [[ ${COMP_WORDS[i]} != -* ]]; then command=${COMP_WORDS[i]}; at=$i; break; fi',
        "  done",
        "  COMPREPLY=()",
        "  if [[ -z $command ]]; then",
        f"    COMPREPLY=($(compgen -W '{names} --help --version' -- \"$cur\"))",
        "    return",
        "  fi",
        '  case "$command $prev" in',
        *_bash_values(),
        "  esac",
        '  if [[ $cur == -* ]]; then',
        '    case "$command" in',
        *(f"      {command.name}) COMPREPLY=($(compgen -W '{_names(command)}' -- \"$cur\")) ;;" for command in COMMANDS),
        "    esac",
        "    return",
        "  fi",
        "  if ((COMP_CWORD == at + 1)); then",
        '    case "$command" in',
        *(
            f"      {command.name}) COMPREPLY=($(compgen -W '{' '.join(_first_choices(command))}' -- \"$cur\")); return ;;"
            for command in COMMANDS
            if _first_choices(command)
        ),
        "    esac",
        "  fi",
        '  COMPREPLY=($(compgen -f -- "$cur"))',
        "}",
        "complete -o filenames -F _lurcher lurcher",
        "",
    ])  # fmt: skip


def _names(command: Command) -> str:
    return " ".join([flag for option in _options(command) for flag in option.flags] + ["--help"])


def _bash_values() -> Iterator[str]:
    for command in COMMANDS:
        for option in _options(command):
            if option.choices:
                pattern = "|".join(f'"{command.name} {flag}"' for flag in option.flags)
                yield f"    {pattern}) COMPREPLY=($(compgen -W '{' '.join(option.choices)}' -- \"$cur\")); return ;;"


# -- zsh ----------------------------------------------------------------------------------------------------------------


def _zsh() -> str:
    lines = ["#compdef lurcher", "", "_lurcher() {", "  local -a commands", "  commands=("]
    lines += [f"    {_quote(command.name + ':' + command.help.replace(':', chr(92) + ':'))}" for command in COMMANDS]
    lines += [
        "  )",
        "  if ((CURRENT == 2)); then",
        "    _describe -t commands command commands",
        "    return",
        "  fi",
        "  local command=${words[2]}",
        "  shift words",
        "  ((CURRENT--))",
        '  case "$command" in',
    ]
    for command in COMMANDS:
        lines.append(f"    {command.name})")
        lines.append("      _arguments -s \\")
        specs = [*_zsh_specs(command), _quote("(- *)--help[show the help]")]
        lines += [f"        {spec} \\" for spec in specs[:-1]] + [f"        {specs[-1]}", "      ;;"]
    begin = 'if [[ $funcstack[1] == _lurcher ]]; then _lurcher "$@"; else compdef _lurcher lurcher; fi'
    return "\n".join([*lines, "  esac", "}", "", begin, ""])


def _zsh_specs(command: Command) -> Iterator[str]:
    for option in _options(command):
        text = _zsh_text(option.flag_help)
        value = "" if option.kind == "switch" else f":{_zsh_text(option.metavar or 'value')}:{_zsh_action(option)}"
        repeat = "*" if option.many else ""
        rest = "" if repeat else f"({' '.join(option.flags)})" if len(option.flags) > 1 else ""
        for flag in option.flags:
            yield _quote(f"{rest}{repeat}{flag}[{text}]{value}")
    for number, argument in enumerate(_arguments(command), 1):
        place = "*" if argument.place == "rest" else str(number)
        yield _quote(f"{place}:{_zsh_text(argument.metavar or argument.name)}:{_zsh_action(argument)}")


def _zsh_action(parameter: Parameter) -> str:
    if parameter.choices:
        return f"({' '.join(parameter.choices)})"
    plain = parameter.kind in ("int", "float") or (parameter.place and parameter.name in ("query", "name", "pattern"))
    return "" if plain else "_files"


def _zsh_text(text: str) -> str:
    return "".join(f"\\{c}" if c in "[]:\\" else c for c in text)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# -- fish ---------------------------------------------------------------------------------------------------------------


def _fish() -> str:
    lines = ["# fish completion for lurcher", "complete -c lurcher -n __fish_use_subcommand -f"]
    first = "complete -c lurcher -n __fish_use_subcommand -a"
    lines += [f"{first} {command.name} -d {_quoted_fish(command.help)}" for command in COMMANDS]
    for command in COMMANDS:
        seen = f"-n '__fish_seen_subcommand_from {command.name}'"
        lines += [f"complete -c lurcher {seen} {spec}" for spec in _fish_specs(command)]
    return "\n".join(lines) + "\n"


def _fish_specs(command: Command) -> Iterator[str]:
    for option in _options(command):
        parts = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags]
        if option.choices:
            parts.append(f"-x -a {_quoted_fish(' '.join(option.choices))}")
        elif option.kind != "switch":
            parts.append("-x" if option.kind in ("int", "float") else "-r")
        yield " ".join([*parts, f"-d {_quoted_fish(option.flag_help)}"])
    choices: Iterable[str] = _first_choices(command)
    if choices:
        yield f"-f -a {_quoted_fish(' '.join(choices))}"


def _quoted_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


if __name__ == "__main__":
    if len(sys.argv) == 2:  # a page that ends with the table of services
        page = Path(sys.argv[1])
        page.write_text(page.read_text("utf-8").partition(SERVICES_HEAD)[0] + "\n".join(services()) + "\n", "utf-8")
    else:
        sys.stdout.write(render())
