"""The values of --since and --until."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.errors import FilterError
from lurcher.query.dates import check_range, commit_date_resolver, parse_date
from tests.corpora.history.commits import Repository

UTC = timezone.utc
NOW = int(datetime(2024, 3, 31, 12, tzinfo=UTC).timestamp())


def read(text: str, until: bool = False) -> str:
    seconds = parse_date(text, now=NOW, until=until, zone=UTC)
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2024-02-29", "2024-02-29 00:00:00", "2024-02-29 23:59:59"),
        ("2024-02", "2024-02-01 00:00:00", "2024-02-29 23:59:59"),
        ("2023", "2023-01-01 00:00:00", "2023-12-31 23:59:59"),
        ("2024/2/9", "2024-02-09 00:00:00", "2024-02-09 23:59:59"),
        ("yesterday", "2024-03-30 00:00:00", "2024-03-30 23:59:59"),
        ("today", "2024-03-31 00:00:00", "2024-03-31 23:59:59"),
    ],
)
def test_whole_days_begin_or_end(text: str, since: str, until: str) -> None:
    assert (read(text), read(text, until=True)) == (since, until)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30d", "2024-03-01 12:00:00"),
        ("2w", "2024-03-17 12:00:00"),
        ("12h", "2024-03-31 00:00:00"),
        ("1m", "2024-02-29 12:00:00"),
        ("6m", "2023-09-30 12:00:00"),
        ("1y", "2023-03-31 12:00:00"),
        ("3 months ago", "2023-12-31 12:00:00"),
        ("999999y", "1970-01-01 00:00:00"),
        ("now", "2024-03-31 12:00:00"),
        ("@60", "1970-01-01 00:01:00"),
        ("2024-05-31T12:00", "2024-05-31 12:00:00"),
        ("2024-05-31T12:00Z", "2024-05-31 12:00:00"),
        ("2024-05-31 12:00:30.5+02:00", "2024-05-31 10:00:30"),
        ("2024-05-31T12:00-0530", "2024-05-31 17:30:00"),
    ],
)
def test_moments_and_spans(text: str, expected: str) -> None:
    assert read(text) == read(text, until=True) == expected


def test_a_date_without_a_zone_is_in_the_one_given() -> None:
    east = timezone(timedelta(hours=9))
    assert parse_date("2024-01-02", now=NOW, zone=UTC) - parse_date("2024-01-02", now=NOW, zone=east) == 9 * 3600


@pytest.mark.parametrize(
    "text", ["", "   ", "soon", "2023-02-29", "2024-13-01", "31.12.2024", "2024-01-01T25:00", "-5d", "5x", "a\0b"]
)
def test_what_is_no_date_says_what_would_be_one(text: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_date(text, now=NOW)
    assert "30d" in caught.value.hint and "--since" in caught.value.message
    assert "\0" not in caught.value.message


def test_names_go_to_the_resolver_and_hostile_ones_do_not() -> None:
    asked: list[str] = []

    def resolve(name: str) -> int | None:
        asked.append(name)
        return 77 if name == "v1.2" else None

    assert parse_date("v1.2", now=NOW, resolve=resolve) == 77
    with pytest.raises(FilterError, match="neither a date nor a tag"):
        parse_date("v9", now=NOW, resolve=resolve, until=True)
    for hostile in ("--output=/tmp/x", "-1", "a b", "a:b", "x" * 300, "v\ud800"):
        with pytest.raises(FilterError):
            parse_date(hostile, now=NOW, resolve=resolve)
    assert asked == ["v1.2", "v9"]


@given(st.text(max_size=40), st.booleans())
def test_any_text_is_a_time_or_an_error(text: str, until: bool) -> None:
    try:
        assert isinstance(parse_date(text, now=NOW, until=until, zone=UTC), int)
    except FilterError as error:
        assert error.hint


def test_since_after_until() -> None:
    check_range(1, 2)
    check_range(None, 2)
    with pytest.raises(FilterError):
        check_range(3, 2)


def test_tags_and_commits_of_a_repository(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r")
    sha = repository.commit("Start", a__txt="1\n")
    when = repository.clock
    repository.git("tag", "-a", "v1.0", "-m", "one")
    repository.commit("More", a__txt="2\n")
    resolve = commit_date_resolver(repository.path)
    assert resolve("v1.0") == resolve(sha[:10]) == resolve("HEAD~1") == when
    assert resolve("v2.0") is None
    assert resolve("--all") is None
