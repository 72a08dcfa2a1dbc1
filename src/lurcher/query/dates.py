"""Parses the values of `--since` and `--until`: a date, a time span back from now, or the date of a tag or commit."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone, tzinfo
from pathlib import Path

from lurcher.errors import FilterError, Template
from lurcher.sources import git

Resolver = Callable[[str], int | None]
"""From the name of a tag or commit to its date in seconds since 1970; None if it does not exist."""

_SPAN = re.compile(r"(\d{1,6})\s*(h|d|w|mo|m|y|hours?|days?|weeks?|months?|years?)(?:\s+ago)?", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d{1,2}(?:-\d{1,2})?|\d{4}/\d{1,2}/\d{1,2}|\d{4}")
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})[T ]+(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\s*(Z|UTC|[+-]\d{2}:?\d{2})?", re.IGNORECASE)
_SECONDS = re.compile(r"@(\d{1,12})")
_NAME = re.compile(r"(?!-)[^\s\x00-\x20\x7f~^:?*\[\\\ud800-\udfff]{1,250}(?:[~^]\d{0,4})*")
_HINT = "use a date (2024-05-31, 2024-05-31T12:00Z), a span back from now (12h, 30d, 2w, 6m, 1y), yesterday, or a tag"


def parse_date(
    text: str, *, now: int, until: bool = False, resolve: Resolver | None = None, zone: tzinfo | None = None, flag: str = ""
) -> int:
    """Seconds since 1970. A day, month or year stands for its first second, with `until` for its last.

    Dates without a time zone are in `zone`, by default that of this machine. `flag` is the name of the value in errors.
    """
    value = text.strip()
    name = flag or Template("{until}" if until else "{since}")
    if not value:
        raise FilterError(Template("{*} is empty", name), _HINT)
    try:
        found = _parse(value, now, until, zone)
    except (ValueError, OverflowError, OSError):
        raise FilterError(Template("{*}: there is no such date as '{*}'", name, value), _HINT) from None
    if found is not None:
        return found
    # The pattern excludes names that git would read as an option or as something other than a commit.
    if resolve is not None and _NAME.fullmatch(value):
        known = resolve(value)
        if known is not None:
            return known
        raise FilterError(Template("{*}: '{*}' is neither a date nor a tag or commit here", name, value), _HINT)
    raise FilterError(Template("{*}: '{*}' is no date", name, _printable(value)), _HINT)


def commit_date_resolver(top: Path) -> Resolver:
    """A function that looks up the dates of tags and commits in the repository at `top`."""

    def resolve(name: str) -> int | None:
        if not _NAME.fullmatch(name):
            return None
        arguments = ("--no-patch", "--no-show-signature", "--format=%ct", "--end-of-options", f"{name}^{{commit}}", "--")
        status, output = git.finish(git.start(top, "log", "-1", *arguments))
        found = output.decode("ascii", "replace").strip()
        return int(found) if status == 0 and found.isdigit() else None

    return resolve


def check_range(since: int | None, until: int | None) -> None:
    """Raise if `since` is later than `until`: nothing could match."""
    if since is not None and until is not None and since > until:
        raise FilterError(Template("{since} is later than {until}"), "exchange them, or leave one out")


def _printable(text: str) -> str:
    clean = "".join(character if character.isprintable() else "?" for character in text)
    return clean if len(clean) <= 60 else clean[:59] + "…"


def _parse(text: str, now: int, until: bool, zone: tzinfo | None) -> int | None:
    """The date of a text; None if it is neither a date nor a time span. Raises ValueError for a date that does not exist."""
    if text.lower() == "now":
        return now
    if text.lower() in ("today", "yesterday"):
        today = datetime.fromtimestamp(now, zone).date()
        first = today if text.lower() == "today" else today - timedelta(days=1)
        return _boundary(first, first + timedelta(days=1), until, zone)
    if match := _SECONDS.fullmatch(text):
        return int(match[1])
    if match := _SPAN.fullmatch(text):
        return _subtract(now, int(match[1]), match[2].lower(), zone)
    if match := _TIME.fullmatch(text):
        return _parse_time(match[1], match[2], match[3], zone)
    if _DATE.fullmatch(text):
        parts = [int(part) for part in re.split(r"[-/]", text)]
        first = date(*[*parts, 1, 1][:3])
        if len(parts) == 3:
            after = first + timedelta(days=1)
        else:
            after = _add_months(first, 12 if len(parts) == 1 else 1)
        return _boundary(first, after, until, zone)
    return None


def _boundary(first: date, after: date, until: bool, zone: tzinfo | None) -> int:
    return _midnight(after, zone) - 1 if until else _midnight(first, zone)


def _midnight(day: date, zone: tzinfo | None) -> int:
    moment = datetime(day.year, day.month, day.day, tzinfo=zone)
    return int(moment.timestamp())


def _parse_time(day: str, clock: str, offset: str | None, zone: tzinfo | None) -> int:
    moment = datetime.fromisoformat(f"{day}T{clock.partition('.')[0]}")
    if offset is None:
        return int(moment.replace(tzinfo=zone).timestamp())
    if offset.upper() in ("Z", "UTC"):
        return int(moment.replace(tzinfo=timezone.utc).timestamp())
    hours, minutes = int(offset[1:3]), int(offset[-2:])
    if hours > 23 or minutes > 59:
        raise ValueError(offset)
    difference = timedelta(hours=hours, minutes=minutes) * (-1 if offset[0] == "-" else 1)
    return int(moment.replace(tzinfo=timezone(difference)).timestamp())


def _subtract(now: int, count: int, unit: str, zone: tzinfo | None) -> int:
    seconds = {"h": 3600, "d": 86_400, "w": 604_800}.get(unit[0])
    if seconds is not None:
        return max(0, now - count * seconds)
    then = datetime.fromtimestamp(now, zone)
    months = count * (12 if unit[0] == "y" else 1)
    if months >= (then.year - 1970) * 12:
        return 0
    day = _add_months(then.date(), -months)
    moment = datetime(day.year, day.month, day.day, then.hour, then.minute, then.second, tzinfo=zone)
    return int(moment.timestamp())


def _add_months(day: date, months: int) -> date:
    """The same day some months later, or the last day of a month that is too short."""
    whole = day.year * 12 + day.month - 1 + months
    year, month = divmod(whole, 12)
    after = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    last = (after - timedelta(days=1)).day
    return date(year, month + 1, min(day.day, last))
