"""All settings as one value: sections are made when they are asked for, and nobody can tell."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest

from lurcher import config
from lurcher.config import Settings
from lurcher.runtime.light import fields, replace
from lurcher.settings import section_of, sections


def test_every_section_is_declared_with_the_meaning_of_each_setting() -> None:
    settings = Settings()
    for name in sections():
        part = getattr(settings, name)
        assert type(part) is section_of(name)
        assert getattr(settings, name) is part
        assert fields(part)
        assert all(item.metadata["doc"] for item in fields(part))
    assert len(set(sections())) == len(sections())


def test_other_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="no settings 'serch'"):
        _ = Settings().serch  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="no settings serch"):
        Settings(serch=1)


def test_what_was_put_is_what_differs() -> None:
    settings = Settings()
    other = settings.put({"search.limit": "flag"}, search=replace(settings.search, limit=3))
    assert (other.search.limit, settings.search.limit) == (3, 10)
    assert other.changed() == [("search.limit", 3)]
    assert settings.changed() == []
    assert other.origins == {"search.limit": "flag"}
    assert other.put(history=settings.history).origins == other.origins
    assert repr(other) == "Settings(search.limit=3)"
    assert dict(other.to_dict()) == {**settings.to_dict(), "search.limit": 3}


def test_they_compare_by_their_values() -> None:
    settings = Settings()
    other = settings.put(search=replace(settings.search, limit=3))
    assert settings != other
    assert settings != 1
    assert settings == settings.put(search=settings.search) == Settings({"search.limit": "flag"})
    assert settings == other.put(search=settings.search)
    assert hash(settings) == hash(settings.put(search=settings.search)) != hash(other)
    for one in (settings, other):
        assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one)


def test_variables_that_hold_secrets_are_no_settings() -> None:
    secrets = {section_of(name).key for name in sections() if hasattr(section_of(name), "key")}
    assert secrets <= config._NOT_SETTINGS
    assert len(secrets) == 5
    assert config.load(None, environ=dict.fromkeys(secrets, "secret")) == Settings()


def test_a_section_that_nobody_asks_for_is_not_loaded() -> None:
    script = (
        "import sys; from lurcher import config; config.load(None, environ={'LURCHER_SEARCH_LIMIT': '3'}).search.limit; "
        "print(*[name for name in sys.modules if name.startswith('lurcher.settings')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["lurcher.settings"]
