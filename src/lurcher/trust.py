"""What a repository's own settings may not decide: where text is sent, and which of the user's secrets goes with it."""

from __future__ import annotations

from urllib.parse import SplitResult

from lurcher import config
from lurcher.config import Settings
from lurcher.errors import ConfigError


def own_setting(settings: Settings, key: str) -> bool:
    """Whether a setting is the project's own."""
    return settings.origins.get(key) in (config.PROJECT_FILE, config.PYPROJECT)


def users_own(settings: Settings, key: str, why: str = "decides where text is sent") -> str:
    """A setting that only the user may have made."""
    if own_setting(settings, key):
        raise ConfigError(
            f"{settings.origins[key]}: {key} {why}, which a project cannot",
            f"set it yourself: in your own settings, as LURCHER_{key.upper().replace('.', '_')}, or with --set",
        )
    value: str = settings.to_dict()[key]
    return value


def users_url(settings: Settings, key: str) -> str:
    """The address of a server, which only the user may set."""
    return users_own(settings, key)


def users_key(settings: Settings, section: str, base: SplitResult, instead: str = "") -> str:
    """The key that goes along to a server of a section; it is not sent in the clear to another machine.

    `instead` is what to write for a safe address, where that is not https in the section's url.
    """
    variable = users_own(settings, f"{section}.key", "names a secret that is sent along")
    key = config.secret(variable)
    if key and not key.isprintable():
        raise ConfigError(f"the key in {variable} has letters that no key has", "set it again")
    if key and base.scheme != "https" and not _here(base.hostname or ""):
        safe = instead or f"https in {section}.url"
        raise ConfigError(f"the key in {variable} would be sent in the clear", f"use {safe}, or unset it")
    return key


def bearing(key: str) -> dict[str, str]:
    """The header that carries a key, if there is one."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def _here(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
