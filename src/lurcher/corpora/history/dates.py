"""What `--since` and `--until` stand for: a date, a time span back from now, or the date of a tag or commit."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone, tzinfo
from pathlib import Path

from lurcher.errors import FilterError, Template
from lurcher.sources.git import command

Resolver = Callable[[str], int | None]
"""From the name of a tag or commit to its date in seconds since 1970; None if there is no such thing."""

_SPAN = re.compile(r"(\d{1,6})\s*(h|d|w|mo|m|y|hours?|days?|weeks?|months?|years?)(?:\s+ago)?", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d{1,2}(?:-\d{1,2})?|\d{4}/\d{1,2}/\d{1,2}|\d{4}")
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})[T ]+(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\s*(Z|UTC|[+-]\d{2}:?\d{2})?", re.IGNORECASE)
_SECONDS = re.compile(r"@(\d{1,12})")
_NAME = re.compile(r"(?!-)[^\s\x00-\x20\x7f~^:?*\[\\\ud800-\udfff]{1,250}(?:[~^]\d{0,4})*")
_HINT = "use a date (2024-05-31, 2024-05-31T12:00Z), a span back from now (12h, 30d, 2w, 6m, 1y), yesterday, or a tag"


def parse(
    text: str, *, now: int, until: bool = False, resolve: Resolver | None = None, zone: tzinfo | None = None, flag: str = ""
) -> int:
    """Seconds since 1970. A whole day, month or year begins it for `since` and ends it for `until`.

    Dates without a zone are in `zone`, or in the one of this machine. `flag` is how the value is called in errors.
    """
    asked = text.strip()
    named = flag or Template("{until}" if until else "{since}")
    if not asked:
        raise FilterError(Template("{*} is empty", named), _HINT)
    try:
        found = _read(asked, now, until, zone)
    except (ValueError, OverflowError, OSError):
        raise FilterError(Template("{*}: there is no such date as '{*}'", named, asked), _HINT) from None
    if found is not None:
        return found
    # A name that begins with a dash would be a flag to git; one with a space or a colon is none.
    if resolve is not None and _NAME.fullmatch(asked):
        known = resolve(asked)
        if known is not None:
            return known
        raise FilterError(Template("{*}: '{*}' is neither a date nor a tag or commit here", named, asked), _HINT)
    raise FilterError(Template("{*}: '{*}' is no date", named, _shown(asked)), _HINT)


def resolver(top: Path) -> Resolver:
    """Finds the dates of tags and commits in the repository at `top`."""

    def resolve(name: str) -> int | None:
        if not _NAME.fullmatch(name):
            return None
        arguments = ("--no-patch", "--no-show-signature", "--format=%ct", "--end-of-options", f"{name}^{{commit}}", "--")
        status, output = command.finish(command.start(top, "log", "-1", *arguments))
        found = output.decode("ascii", "replace").strip()
        return int(found) if status == 0 and found.isdigit() else None

    return resolve


def check(since: int | None, until: int | None) -> None:
    """Nothing can be both later and earlier."""
    if since is not None and until is not None and since > until:
        raise FilterError(Template("{since} is later than {until}"), "exchange them, or leave one out")


def _shown(text: str) -> str:
    clean = "".join(character if character.isprintable() else "?" for character in text)
    return clean if len(clean) <= 60 else clean[:59] + "…"


def _read(text: str, now: int, until: bool, zone: tzinfo | None) -> int | None:
    if text.lower() == "now":
        return now
    if text.lower() in ("today", "yesterday"):
        today = datetime.fromtimestamp(now, zone).date()
        first = today if text.lower() == "today" else today - timedelta(days=1)
        return _edge(first, first + timedelta(days=1), until, zone)
    if match := _SECONDS.fullmatch(text):
        return int(match[1])
    if match := _SPAN.fullmatch(text):
        return _back(now, int(match[1]), match[2].lower(), zone)
    if match := _TIME.fullmatch(text):
        return _moment(match[1], match[2], match[3], zone)
    if _DATE.fullmatch(text):
        parts = [int(part) for part in re.split(r"[-/]", text)]
        first = date(*[*parts, 1, 1][:3])
        if len(parts) == 3:
            after = first + timedelta(days=1)
        else:
            after = _months_later(first, 12 if len(parts) == 1 else 1)
        return _edge(first, after, until, zone)
    return None


def _edge(first: date, after: date, until: bool, zone: tzinfo | None) -> int:
    return _at(after, zone) - 1 if until else _at(first, zone)


def _at(day: date, zone: tzinfo | None) -> int:
    moment = datetime(day.year, day.month, day.day, tzinfo=zone)
    return int(moment.timestamp())


def _moment(day: str, clock: str, offset: str | None, zone: tzinfo | None) -> int:
    moment = datetime.fromisoformat(f"{day}T{clock.partition('.')[0]}")
    if offset is None:
        return int(moment.replace(tzinfo=zone).timestamp())
    if offset.upper() in ("Z", "UTC"):
        return int(moment.replace(tzinfo=timezone.utc).timestamp())
    hours, minutes = int(offset[1:3]), int(offset[-2:])
    if hours > 23 or minutes > 59:
        raise ValueError(offset)
    away = timedelta(hours=hours, minutes=minutes) * (-1 if offset[0] == "-" else 1)
    return int(moment.replace(tzinfo=timezone(away)).timestamp())


def _back(now: int, count: int, unit: str, zone: tzinfo | None) -> int:
    seconds = {"h": 3600, "d": 86_400, "w": 604_800}.get(unit[0])
    if seconds is not None:
        return max(0, now - count * seconds)
    then = datetime.fromtimestamp(now, zone)
    months = count * (12 if unit[0] == "y" else 1)
    if months >= (then.year - 1970) * 12:
        return 0
    day = _months_later(then.date(), -months)
    moment = datetime(day.year, day.month, day.day, then.hour, then.minute, then.second, tzinfo=zone)
    return int(moment.timestamp())


def _months_later(day: date, months: int) -> date:
    """The same day some months on, or the last one of a month that is too short for it."""
    whole = day.year * 12 + day.month - 1 + months
    year, month = divmod(whole, 12)
    after = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    last = (after - timedelta(days=1)).day
    return date(year, month + 1, min(day.day, last))
