"""Shell: functions, and variables set at the top level."""

from __future__ import annotations

from lurcher.languages.base import COMMENT, DefinitionRules, Language, OccurrenceRules, no_underscore

_PATTERNS = (
    ("function", "(function_definition name: (_) @name) @def"),
    ("variable", "(program (variable_assignment name: (variable_name) @name) @def)"),
    ("variable", "(program (declaration_command (variable_assignment name: (variable_name) @name)) @def)"),
    (COMMENT, "(comment) @def"),
)

_DEFINITIONS = DefinitionRules(patterns=_PATTERNS, leads=frozenset({"comment"}), exported=no_underscore)


_LETTERS = bytes(byte if 0 < byte < 128 else ord("x") for byte in range(256))


def _prepare(text: bytes) -> bytes:
    """A letter for each byte of a wider character: the grammar's scanner passes any code point to functions of the C library
    that take a byte, which crashes now and then."""
    return text.translate(_LETTERS)


_OCCURRENCES = OccurrenceRules(
    names="word variable_name",
    places="""
    definition: function_definition.name
    call: command.name
    write: variable_assignment.name
    label: command.argument
    inside: command_name
    """,
)


LANGUAGES = (
    Language(
        name="bash",
        extensions=("sh", "bash", "zsh", "ksh", "bats", "ebuild"),
        filenames=(".bashrc", ".bash_profile", ".bash_aliases", ".profile", ".zshrc", ".zprofile", "PKGBUILD"),
        aliases=("sh", "shell", "zsh"),
        interpreters=("sh", "bash", "zsh", "ksh", "dash", "bats"),
        grammar=("tree_sitter_bash", "language"),
        prepare=_prepare,
        sigil="$",
        definitions=_DEFINITIONS,
        occurrences=_OCCURRENCES,
    ),
)
