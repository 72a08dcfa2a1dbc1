"""Settings: declared in `schema`, read here (defaults < user file < project file < LURCHER_* < flags), limited by `trust`.

Bounds, choices and meanings come from the declarations in `schema`, and so do the error messages. This is the only reader of
TOML and the environment. What a plain query does not need (`user_files`, `trust`) is imported where it is used.
"""

from __future__ import annotations

import os
import sys
from _collections_abc import Mapping
from math import isfinite

from lurcher.config.schema import PROJECT_FILE, PYPROJECT, SECRETS, Settings, sections, settings_by_key
from lurcher.errors import ConfigError
from lurcher.runtime.process import open_waiting_for_nobody

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from lurcher.config.schema import Setting

__all__ = [
    "PROJECT_FILE", "PYPROJECT", "Settings", "apply", "load", "parse_toml", "read_file", "sections",
    "user_file_path", "wants_colour",
]  # fmt: skip

_MAX_FILE_BYTES = 1_000_000


def load(root: Path | str | None, flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read every layer for the project at `root`."""
    environ = os.environ if environ is None else environ
    settings = Settings()
    refused: list[tuple[str, ConfigError]] = []
    user = user_file_path(environ)
    if user is not None:
        data = read_file(user)
        if data is None and environ.get("LURCHER_CONFIG"):
            raise ConfigError(f"LURCHER_CONFIG names {user}, which does not exist", "create it, or unset the variable")
        name = os.path.split(user)[1]
        name = user if name in (PROJECT_FILE, PYPROJECT) else name  # the origin distinguishes a user's file from a project's
        settings = settings if data is None else apply(settings, _flatten(parse_toml(data, name), name), name)
    if root is not None:
        settings, refused = _apply_project(settings, root)
    settings = apply(settings, _read_environment(environ), "environment")
    if flags:
        settings = apply(settings, flags, "flag")
    for key, problem in refused:
        if key not in settings.origins:  # where the user has decided, the project's value does not matter
            raise problem
    return settings


def terminal_columns(stream: Any) -> int:
    """How wide the terminal behind a stream is; COLUMNS says otherwise."""
    chosen = os.environ.get("COLUMNS", "")
    if chosen.isdecimal() and 0 < int(chosen) < _MOST_COLUMNS:
        return int(chosen)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_COLUMNS
    except (OSError, ValueError):
        return _USUAL_COLUMNS


_USUAL_COLUMNS, _MOST_COLUMNS = 80, 100_000


def wants_colour(environ: Mapping[str, str] | None = None) -> bool:
    """Whether output to a terminal may have colours (no-color.org)."""
    environ = os.environ if environ is None else environ
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def apply(settings: Settings, values: Mapping[str, Any], origin: str) -> Settings:
    """A copy of `settings` with `values` (dotted keys), each checked against its declaration."""
    if not values:
        return settings
    declared = settings_by_key()
    origins = dict(settings.origins)
    changed: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        if key not in declared:
            raise _unknown_setting(key, origin)
        section, _, name = key.partition(".")
        changed.setdefault(section, {})[name] = _check(key, value, declared[key], origin)
        origins[key] = origin
    parts = {section: getattr(settings, section).replace(**items) for section, items in changed.items()}
    return settings.replace(origins=origins, **parts)


def _unknown_setting(key: str, origin: str) -> ConfigError:
    import difflib

    near = difflib.get_close_matches(key, settings_by_key(), 1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    return ConfigError(f"{origin}: unknown setting '{key}'", f"{hint}`lurcher config show` lists them all")


def _check(key: str, value: Any, declared: Setting, origin: str) -> Any:
    kind: type[Any] = type(declared.default)
    if isinstance(value, str) and kind is not str:
        value = _convert(value, kind)
    if kind is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63:
        value = float(value)
    if type(value) is not kind or _is_unusable(value):
        raise ConfigError(f"{origin}: '{key}' must be {_KINDS[kind]}, not {value!r}", _describe_allowed(declared))
    if declared.choices and value not in declared.choices and not (declared.stage and _is_installed(declared.stage, value)):
        raise ConfigError(f"{origin}: '{key}' cannot be {value!r}", _describe_allowed(declared))
    low, high = declared.low, declared.high
    if (low is not None and value < low) or (high is not None and value > high):
        raise ConfigError(f"{origin}: '{key}' cannot be {value!r}", _describe_allowed(declared))
    return value


def _is_installed(stage: str, name: str) -> bool:
    from lurcher.runtime import installed

    return installed(stage, name)


def _is_unusable(value: Any) -> bool:
    """Infinite and not-a-number, and text with a NUL, which no file name can have."""
    return (isinstance(value, float) and not isfinite(value)) or (isinstance(value, str) and "\0" in value)


_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def _convert(value: str, kind: type) -> Any:
    """Text of a flag or variable as a value of `kind`, unchanged if it is not one."""
    try:
        if kind is bool:
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[value.lower()]
        return kind(value)
    except (KeyError, ValueError):
        return value


def _describe_allowed(declared: Setting) -> str:
    if declared.choices:
        return "allowed: " + ", ".join(declared.choices)
    low, high = declared.low, declared.high
    if low is None and high is None:
        return ""
    if high is None:
        return f"allowed: {low} or more"
    return f"allowed: {low if low is not None else '-∞'} to {high}"


def user_file_path(environ: Mapping[str, str] | None = None) -> str | None:
    """Where the user's settings are or would be; None where there is no place for them."""
    environ = os.environ if environ is None else environ
    if environ.get("LURCHER_CONFIG"):
        return environ["LURCHER_CONFIG"]
    base = environ.get("XDG_CONFIG_HOME") or (os.path.join(environ["HOME"], ".config") if environ.get("HOME") else None)
    return os.path.join(base, "lurcher", "config.toml") if base else None


_NOT_SETTINGS = {"LURCHER_CONFIG", "LURCHER_KERNEL", *SECRETS.values()}
_SHORT_NAMES = {"LURCHER_STORE": "store.url"}
"""Variables that are not named after section and setting."""


def _read_environment(environ: Mapping[str, str]) -> dict[str, str]:
    values = {}
    for variable in sorted(environ):
        if variable.startswith("LURCHER_") and variable not in _NOT_SETTINGS:
            section, _, name = variable.removeprefix("LURCHER_").lower().partition("_")
            values[_SHORT_NAMES.get(variable, f"{section}.{name}")] = environ[variable]
    return values


def _flatten(table: Mapping[str, Any], origin: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for section, content in table.items():
        if not isinstance(content, Mapping):
            raise ConfigError(*_not_a_section(origin, section))
        for name, value in content.items():
            values[f"{section}.{name}"] = value
    return values


def _not_a_section(origin: str, name: str) -> tuple[str, str]:
    if name in sections():
        return f"{origin}: '{name}' is a section, and not a setting", f"write [{name}] on a line of its own, above its settings"
    return f"{origin}: '{name}' is not a section", "sections: " + ", ".join(sections())


def _apply_project(settings: Settings, root: Path | str) -> tuple[Settings, list[tuple[str, ConfigError]]]:
    """The settings with those that the project may set, and the error for each that it may not."""
    data = read_file(os.path.join(root, PROJECT_FILE))
    name = PYPROJECT if data is None else PROJECT_FILE
    values = _read_pyproject(root) if data is None else _flatten(parse_toml(data, name), name)
    if not values:
        return settings, []
    from lurcher.config.trust import refusal

    checked = apply(settings, values, name)
    refused = []
    for key in values:
        section, _, setting = key.partition(".")
        problem = refusal(key, getattr(getattr(checked, section), setting), name)
        if problem is not None:
            refused.append((key, problem))
    if refused:
        allowed = {key: value for key, value in values.items() if key not in dict(refused)}
        checked = apply(settings, allowed, name)
    return checked, refused


def _read_pyproject(root: Path | str) -> dict[str, Any]:
    # The file belongs to other tools: if it cannot be read, it is ignored. Parsing TOML costs milliseconds
    # on every query, and most such files have no table for us.
    try:
        data = read_file(os.path.join(root, PYPROJECT))
    except ConfigError:
        return {}
    if data is None or b"lurcher" not in data:
        return {}
    tools = parse_toml(data, PYPROJECT).get("tool", {})
    table = tools.get("lurcher", {}) if isinstance(tools, Mapping) else {}
    if not isinstance(table, Mapping):
        raise ConfigError(f"{PYPROJECT}: 'tool.lurcher' is not a table", "sections: " + ", ".join(sections()))
    return _flatten(table, PYPROJECT)


def read_file(path: Path | str) -> bytes | None:
    """The bytes of a settings file, None where there is none. A pipe or a device in its place cannot block."""
    name = os.path.split(path)[1]
    try:
        with open(path, "rb", opener=open_waiting_for_nobody) as handle:
            data: bytes = handle.read(_MAX_FILE_BYTES + 1) or b""
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{name}: cannot be read: {reason}", "check what it is and its permissions") from error
    if len(data) > _MAX_FILE_BYTES:
        raise ConfigError(f"{name}: larger than 1 MB", "a configuration file is a few lines of TOML")
    return data


def parse_toml(data: bytes, name: str) -> dict[str, Any]:
    """The tables of a TOML file; ConfigError, with the file's `name`, where it is not valid."""
    if not data:
        return {}
    try:
        text = data.decode("utf-8")
    except ValueError as error:
        raise ConfigError(f"{name}: not valid TOML: {error}", "fix the file or remove it") from error
    from lurcher.config.toml_subset import parse_toml_subset

    plain = parse_toml_subset(text)
    return _parse_full_toml(text, name) if plain is None else plain


def _parse_full_toml(text: str, name: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        table: dict[str, Any] = tomllib.loads(text)
        return table
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: not valid TOML: {error}", "fix the file or remove it") from error
