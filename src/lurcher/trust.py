"""What a repository's own settings may not decide: where text is sent, and which of the user's secrets goes with it."""

from __future__ import annotations

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
