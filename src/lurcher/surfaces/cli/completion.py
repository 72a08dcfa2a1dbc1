"""Completion for shells, written from the table of flags: `lurcher completion bash|zsh|fish`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lurcher.surfaces.cli.flags import COMMANDS, Command, Flag

SHELLS = ("bash", "zsh", "fish")
_VALUELESS = ("switch",)


def script(shell: str) -> str:
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _options(command: Command) -> list[Flag]:
    return [flag for flag in command.flags if flag.names[0].startswith("-")]


def _positional(command: Command) -> list[Flag]:
    return [flag for flag in command.flags if not flag.names[0].startswith("-")]


def _takes_value(flag: Flag) -> bool:
    return flag.kind not in _VALUELESS


def _first_choices(command: Command) -> tuple[str, ...]:
    """What the first argument may be, where that is a short list."""
    first = next(iter(_positional(command)), None)
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
    return " ".join([name for flag in _options(command) for name in flag.names] + ["--help"])


def _bash_values() -> Iterator[str]:
    for command in COMMANDS:
        for flag in _options(command):
            if flag.choices:
                pattern = "|".join(f'"{command.name} {name}"' for name in flag.names)
                yield f"    {pattern}) COMPREPLY=($(compgen -W '{' '.join(flag.choices)}' -- \"$cur\")); return ;;"


# -- zsh ----------------------------------------------------------------------------------------------------------------


def _zsh() -> str:
    lines = ["#compdef lurcher", "", "_lurcher() {", "  local -a commands", "  commands=("]
    lines += [f"    {_quoted(command.name + ':' + command.help.replace(':', chr(92) + ':'))}" for command in COMMANDS]
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
        specs = [*_zsh_specs(command), _quoted("(- *)--help[show the help]")]
        lines += [f"        {spec} \\" for spec in specs[:-1]] + [f"        {specs[-1]}", "      ;;"]
    begin = 'if [[ $funcstack[1] == _lurcher ]]; then _lurcher "$@"; else compdef _lurcher lurcher; fi'
    return "\n".join([*lines, "  esac", "}", "", begin, ""])


def _zsh_specs(command: Command) -> Iterator[str]:
    for flag in _options(command):
        text = _zsh_text(flag.help)
        value = f":{_zsh_text(flag.metavar or 'value')}:{_zsh_action(flag)}" if _takes_value(flag) else ""
        repeat = "*" if flag.kind == "list" else ""
        rest = "" if repeat else f"({' '.join(flag.names)})" if len(flag.names) > 1 else ""
        for name in flag.names:
            yield _quoted(f"{rest}{repeat}{name}[{text}]{value}")
    for number, flag in enumerate(_positional(command), 1):
        place = "*" if flag.kind == "paths" else str(number)
        yield _quoted(f"{place}:{_zsh_text(flag.metavar or flag.names[0])}:{_zsh_action(flag)}")


def _zsh_action(flag: Flag) -> str:
    if flag.choices:
        return f"({' '.join(flag.choices)})"
    plain = flag.kind in ("int", "float") or flag.names[0] in ("query", "name", "pattern")
    return "" if plain else "_files"


def _zsh_text(text: str) -> str:
    return "".join(f"\\{c}" if c in "[]:\\" else c for c in text)


def _quoted(text: str) -> str:
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
    for flag in _options(command):
        parts = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names]
        if flag.choices:
            parts.append(f"-x -a {_quoted_fish(' '.join(flag.choices))}")
        elif _takes_value(flag):
            parts.append("-x" if flag.kind in ("int", "float") else "-r")
        yield " ".join([*parts, f"-d {_quoted_fish(flag.help)}"])
    choices: Iterable[str] = _first_choices(command)
    if choices:
        yield f"-f -a {_quoted_fish(' '.join(choices))}"


def _quoted_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
