"""Completion for shells, generated from the declared parameters: `lurcher completion bash|zsh|fish`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lurcher.surfaces.cli.flags import COMMANDS, Command
from lurcher.surfaces.parameters import Parameter

SHELLS = ("bash", "zsh", "fish")


def script(shell: str) -> str:
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
    for option in _options(command):
        text = _zsh_text(option.flag_help)
        value = "" if option.kind == "switch" else f":{_zsh_text(option.metavar or 'value')}:{_zsh_action(option)}"
        repeat = "*" if option.many else ""
        rest = "" if repeat else f"({' '.join(option.flags)})" if len(option.flags) > 1 else ""
        for flag in option.flags:
            yield _quoted(f"{rest}{repeat}{flag}[{text}]{value}")
    for number, argument in enumerate(_arguments(command), 1):
        place = "*" if argument.place == "rest" else str(number)
        yield _quoted(f"{place}:{_zsh_text(argument.metavar or argument.name)}:{_zsh_action(argument)}")


def _zsh_action(parameter: Parameter) -> str:
    if parameter.choices:
        return f"({' '.join(parameter.choices)})"
    plain = parameter.kind in ("int", "float") or (parameter.place and parameter.name in ("query", "name", "pattern"))
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
