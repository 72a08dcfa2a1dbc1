"""All settings as one value, and what is declared of each."""

from __future__ import annotations

import copy
import pickle

import pytest

from lurcher import config
from lurcher.config import Settings, sections, trust
from lurcher.config.schema import SECRETS, settings_by_key

MOST = 91
"""Settings are for users. A number that only a measurement can choose is a constant beside its formula."""


def test_every_section_declares_settings_with_their_meaning() -> None:
    settings = Settings()
    for name in sections():
        assert getattr(settings, name).declared()
    assert all(item.doc for item in settings_by_key().values())
    assert list(settings.to_dict()) == list(settings_by_key())


def test_there_are_not_more_settings_than_a_user_can_survey() -> None:
    assert len(settings_by_key()) <= MOST


def test_other_sections_are_errors() -> None:
    with pytest.raises(AttributeError, match="serch"):
        _ = Settings().serch  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="serch"):
        Settings(serch=1)  # type: ignore[call-arg]


def test_what_was_changed_is_what_differs() -> None:
    settings = Settings()
    other = settings.replace(origins={"search.limit": "flag"}, search=settings.search.replace(limit=3))
    assert (other.search.limit, settings.search.limit) == (3, 10)
    assert other.changed() == [("search.limit", 3)]
    assert settings.changed() == []
    assert other.origins == {"search.limit": "flag"}
    assert repr(other) == "Settings(search.limit=3)"
    assert dict(other.to_dict()) == {**settings.to_dict(), "search.limit": 3}


def test_they_compare_by_their_values() -> None:
    settings = Settings()
    other = settings.replace(search=settings.search.replace(limit=3))
    assert settings != other
    assert settings != 1
    assert settings == Settings({"search.limit": "flag"})
    assert settings == other.replace(search=settings.search)
    assert hash(settings) == hash(Settings({"search.limit": "flag"})) != hash(other)
    for one in (settings, other):
        assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one)


def test_variables_that_hold_secrets_are_not_settings() -> None:
    assert set(SECRETS) == {"embedding", "sparse", "reranker", "judge", "store"}
    assert config.load(None, environ=dict.fromkeys(SECRETS.values(), "secret")) == Settings()
    assert trust.read_secret("judge", {"LURCHER_JUDGE_KEY": " sesame\n"}) == "sesame"
    assert trust.read_secret("judge", {}) == ""
