"""The only reader of TOML and the environment: defaults < user file < project file < LURCHER_* < flags.

Every setting is declared once, in `settings`, with its default, its meaning and its bounds; the parser, the error messages
and the reference in docs/ come from that declaration.
"""

from __future__ import annotations

import os
import sys
from _collections_abc import Mapping
from math import isfinite

from lurcher.errors import ConfigError
from lurcher.runtime.light import TYPE_CHECKING, Field, fields, replace
from lurcher.settings import Settings, section_of, sections

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Any

__all__ = [
    "MAX_FILE_BYTES",
    "PROJECT_FILE",
    "PYPROJECT",
    "SHORT_NAMES",
    "Settings",
    "apply",
    "cache_folder",
    "colour_wanted",
    "data_folder",
    "hub_folder",
    "kernel_wanted",
    "load",
    "named_folder",
    "secret",
    "sections",
    "set_for_user",
    "state_folder",
    "toml_of",
    "user_file",
]

PROJECT_FILE = "lurcher.toml"
PYPROJECT = "pyproject.toml"
MAX_FILE_BYTES = 1_000_000


def _declared(names: Iterable[str]) -> dict[str, Field[Any]]:
    """What is declared in some sections."""
    return {f"{name}.{item.name}": item for name in names for item in fields(section_of(name))}


def load(root: Path | str | None, flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read every layer for the project at `root`."""
    environ = os.environ if environ is None else environ
    settings = Settings()
    refused: list[tuple[str, ConfigError]] = []
    user = _user_place(environ)
    if user is not None:
        data = _read(user)
        if data is None and environ.get("LURCHER_CONFIG"):
            raise ConfigError(f"LURCHER_CONFIG names {user}, which does not exist", "create it, or unset the variable")
        name = os.path.split(user)[1]
        name = user if name in (PROJECT_FILE, PYPROJECT) else name  # a project's are told from the user's by their origin
        settings = settings if data is None else apply(settings, _flatten(_parsed(data, name), name), name)
    if root is not None:
        settings, refused = _apply_project(settings, root)
    settings = apply(settings, _environment(environ), "environment")
    if flags:
        settings = apply(settings, flags, "flag")
    for key, problem in refused:
        if key not in settings.origins:  # who has decided it need not be told that somebody else would have
            raise problem
    return settings


def colour_wanted(environ: Mapping[str, str] | None = None) -> bool:
    """Whether a terminal may be written to in colour (no-color.org)."""
    environ = os.environ if environ is None else environ
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def kernel_wanted(environ: Mapping[str, str] | None = None) -> bool:
    """Whether the compiled kernel may be used, where there is one; LURCHER_KERNEL=python says no."""
    chosen = (os.environ if environ is None else environ).get("LURCHER_KERNEL") or "auto"
    if chosen not in ("auto", "python"):
        raise ConfigError(f"environment: LURCHER_KERNEL cannot be {chosen!r}", "allowed: auto, python")
    return chosen == "auto"


def apply(settings: Settings, values: Mapping[str, Any], origin: str) -> Settings:
    """A copy of `settings` with `values` (dotted keys) checked and put in."""
    if not values:
        return settings
    named = {key.partition(".")[0] for key in values}
    declared = _declared(name for name in sections() if name in named)
    origins = dict(settings.origins)
    changed: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        if key not in declared:
            raise ConfigError(f"{origin}: unknown setting '{key}'", _nearest(key, _declared(sections())))
        part, _, name = key.partition(".")
        changed.setdefault(part, {})[name] = _checked(key, value, declared[key], origin)
        origins[key] = origin
    return settings.put(origins, **{part: replace(getattr(settings, part), **items) for part, items in changed.items()})


def _checked(key: str, value: Any, declared: Field[Any], origin: str) -> Any:
    kind: type[Any] = type(declared.default)
    bounds = declared.metadata
    if isinstance(value, str) and kind is not str:
        value = _from_text(value, kind)
    if kind is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63:
        value = float(value)
    if type(value) is not kind or _unusable(value):
        raise ConfigError(f"{origin}: '{key}' must be {_KINDS[kind]}, not {value!r}", _allowed(bounds))
    if bounds["choices"] and value not in bounds["choices"] and not (bounds["stage"] and _installed(bounds["stage"], value)):
        raise ConfigError(f"{origin}: '{key}' cannot be {value!r}", _allowed(bounds))
    low, high = bounds["low"], bounds["high"]
    if (low is not None and value < low) or (high is not None and value > high):
        raise ConfigError(f"{origin}: '{key}' cannot be {value!r}", _allowed(bounds))
    return value


def _installed(stage: str, name: str) -> bool:
    from lurcher.registry import installed

    return installed(stage, name)


def _unusable(value: Any) -> bool:
    """No amount, or no name of a file: what the type alone does not rule out."""
    return (isinstance(value, float) and not isfinite(value)) or (isinstance(value, str) and "\0" in value)


_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def _from_text(value: str, kind: type) -> Any:
    try:
        if kind is bool:
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[value.lower()]
        return kind(value)
    except (KeyError, ValueError):
        return value


def _allowed(bounds: Mapping[str, Any]) -> str:
    if bounds["choices"]:
        return "allowed: " + ", ".join(bounds["choices"])
    low, high = bounds["low"], bounds["high"]
    if low is None and high is None:
        return ""
    if high is None:
        return f"allowed: {low} or more"
    return f"allowed: {low if low is not None else '-∞'} to {high}"


def _nearest(key: str, declared: Mapping[str, object]) -> str:
    import difflib

    near = difflib.get_close_matches(key, declared, 1)
    return f"did you mean '{near[0]}'? `lurcher config show` lists them all" if near else "`lurcher config show` lists them all"


def _user_place(environ: Mapping[str, str]) -> str | None:
    if environ.get("LURCHER_CONFIG"):
        return environ["LURCHER_CONFIG"]
    base = environ.get("XDG_CONFIG_HOME") or (os.path.join(environ["HOME"], ".config") if environ.get("HOME") else None)
    return os.path.join(base, "lurcher", "config.toml") if base else None


def _user_file(environ: Mapping[str, str]) -> Path | None:
    from pathlib import Path

    place = _user_place(environ)
    return None if place is None else Path(place)


def toml_of(data: bytes, name: str) -> dict[str, Any]:
    """What a TOML file says; ConfigError where it is none."""
    return _parsed(data, name)


def user_file() -> Path | None:
    """Where the user's settings are, if there is a place for them."""
    return _user_file(os.environ)


def data_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where what the user added is kept."""
    from pathlib import Path

    environ = os.environ if environ is None else environ
    base = environ.get("XDG_DATA_HOME") or (os.path.join(environ["HOME"], ".local", "share") if environ.get("HOME") else None)
    if base is None:
        raise ConfigError("there is no folder for the user's data", "set HOME or XDG_DATA_HOME")
    return Path(base) / "lurcher"


def state_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where what is counted over time is kept."""
    from pathlib import Path

    environ = os.environ if environ is None else environ
    base = environ.get("XDG_STATE_HOME") or (os.path.join(environ["HOME"], ".local", "state") if environ.get("HOME") else None)
    if base is None:
        raise ConfigError("there is no folder for the user's state", "set HOME or XDG_STATE_HOME")
    return Path(base) / "lurcher"


def named_folder(variable: str, below_home: str = "", environ: Mapping[str, str] | None = None) -> Path | None:
    """The folder that a variable of another tool names, else the one it has below the user's home."""
    from pathlib import Path

    environ = os.environ if environ is None else environ
    if environ.get(variable):
        return Path(environ[variable])
    return Path(environ["HOME"], below_home) if below_home and environ.get("HOME") else None


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where what can be made again is kept for the user."""
    from pathlib import Path

    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CACHE_HOME") or (os.path.join(environ["HOME"], ".cache") if environ.get("HOME") else None)
    if base is None:
        raise ConfigError("there is no folder for what can be made again", "set HOME or XDG_CACHE_HOME")
    return Path(base) / "lurcher"


def hub_folder(environ: Mapping[str, str] | None = None) -> Path | None:
    """Where the hub's own tools keep what they downloaded."""
    from pathlib import Path

    environ = os.environ if environ is None else environ
    if environ.get("HF_HUB_CACHE"):
        return Path(environ["HF_HUB_CACHE"])
    if environ.get("HF_HOME"):
        return Path(environ["HF_HOME"]) / "hub"
    base = environ.get("XDG_CACHE_HOME") or (os.path.join(environ["HOME"], ".cache") if environ.get("HOME") else None)
    return Path(base) / "huggingface" / "hub" if base else None


def set_for_user(key: str, value: str, environ: Mapping[str, str] | None = None) -> Path:
    """Put one setting into the user's file, whose other lines stay as they are."""
    from lurcher import userfile

    path = _user_file(os.environ if environ is None else environ)
    if path is None:
        raise ConfigError("there is no place for the user's settings", "set HOME, XDG_CONFIG_HOME or LURCHER_CONFIG")
    before = _read(path) or b""
    wanted = _parsed(before, path.name)
    apply(Settings(), {key: value}, path.name)
    after = userfile.with_setting(before.decode("utf-8"), key, value).encode("utf-8", "surrogateescape")
    section, _, name = key.partition(".")
    _section(wanted, section, path.name)[name] = value
    try:
        agreed = _parsed(after, path.name) == wanted
    except ConfigError:
        agreed = False
    if not agreed:
        raise ConfigError(
            f"{path.name}: '{key}' is set in a way that cannot be changed safely", f'write there yourself: {key} = "{value}"'
        )
    userfile.replace(path, after)
    return path


def _section(table: dict[str, Any], section: str, origin: str) -> dict[str, Any]:
    content = table.setdefault(section, {})
    if not isinstance(content, dict):
        raise ConfigError(f"{origin}: '{section}' is not a section", "sections: " + ", ".join(sections()))
    return content


_NOT_SETTINGS = {
    "LURCHER_CONFIG",
    "LURCHER_KERNEL",
    *(f"LURCHER_{name}_KEY" for name in ("EMBEDDING", "SPARSE", "RERANKER", "JUDGE", "STORE")),
}
"""The last ones hold secrets, as the defaults of `embedding.key` and the like say."""
SHORT_NAMES = {"LURCHER_STORE": "store.url"}
"""Variables that are not named after section and setting."""


def secret(variable: str, environ: Mapping[str, str] | None = None) -> str:
    """What a variable of the environment holds that must not be kept or shown anywhere; empty where it is not set."""
    environ = os.environ if environ is None else environ
    return environ.get(variable, "").strip() if variable else ""


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    values = {}
    for variable in sorted(environ):
        if variable.startswith("LURCHER_") and variable not in _NOT_SETTINGS:
            section, _, name = variable.removeprefix("LURCHER_").lower().partition("_")
            values[SHORT_NAMES.get(variable, f"{section}.{name}")] = environ[variable]
    return values


def _flatten(table: Mapping[str, Any], origin: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for section, content in table.items():
        if not isinstance(content, Mapping):
            raise ConfigError(f"{origin}: '{section}' is not a section", "sections: " + ", ".join(sections()))
        for name, value in content.items():
            values[f"{section}.{name}"] = value
    return values


def _apply_project(settings: Settings, root: Path | str) -> tuple[Settings, list[tuple[str, ConfigError]]]:
    """The settings with those of the project, as far as it may set them, and why it may not set the others."""
    data = _read(os.path.join(root, PROJECT_FILE))
    name = PYPROJECT if data is None else PROJECT_FILE
    values = _of_pyproject(root) if data is None else _flatten(_parsed(data, name), name)
    if not values:
        return settings, []
    from lurcher.trust import refusal

    checked = apply(settings, values, name)
    meant = {key: getattr(getattr(checked, key.partition(".")[0]), key.partition(".")[2]) for key in values}
    problems = ((key, refusal(key, value, name)) for key, value in meant.items())
    refused = [(key, problem) for key, problem in problems if problem is not None]
    if refused:
        allowed = {key: value for key, value in values.items() if key not in dict(refused)}
        checked = apply(settings, allowed, name)
    return checked, refused


def _of_pyproject(root: Path | str) -> dict[str, Any]:
    # The file belongs to others: where it cannot be used at all, it says nothing about us. Parsing TOML costs milliseconds
    # on every query, and most such files have no table for us.
    try:
        data = _read(os.path.join(root, PYPROJECT))
    except ConfigError:
        return {}
    if data is None or b"lurcher" not in data:
        return {}
    tools = _parsed(data, PYPROJECT).get("tool", {})
    table = tools.get("lurcher", {}) if isinstance(tools, Mapping) else {}
    if not isinstance(table, Mapping):
        raise ConfigError(f"{PYPROJECT}: 'tool.lurcher' is not a table", "sections: " + ", ".join(sections()))
    return _flatten(table, PYPROJECT)


def _read(path: Path | str) -> bytes | None:
    """A configuration file's bytes, None where there is none. A pipe or a device in its place cannot hold us up."""
    name = os.path.split(path)[1]
    try:
        with open(path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as handle:
            data: bytes = handle.read(MAX_FILE_BYTES + 1) or b""
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{name}: cannot be read: {reason}", "check what it is and its permissions") from error
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"{name}: larger than 1 MB", "a configuration file is a few lines of TOML")
    return data


def _parsed(data: bytes, name: str) -> dict[str, Any]:
    if not data:
        return {}
    try:
        text = data.decode("utf-8")
    except ValueError as error:
        raise ConfigError(f"{name}: not valid TOML: {error}", "fix the file or remove it") from error
    from lurcher.plainly import plain_toml

    plain = plain_toml(text)
    return _toml(text, name) if plain is None else plain


def _toml(text: str, name: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        table: dict[str, Any] = tomllib.loads(text)
        return table
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: not valid TOML: {error}", "fix the file or remove it") from error
