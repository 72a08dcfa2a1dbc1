"""One declaration serves every surface, and bad values are reported in the same words."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lurcher import surfaces as p
from lurcher.errors import LurcherError, QueryError, UsageError
from lurcher.query.validate import FUSIONS, KNOWN, MAX_LIMIT
from lurcher.surfaces import HTTP, MCP, Parameter, check, check_all, read
from lurcher.surfaces.cli.flags import COMMANDS, parse
from lurcher.surfaces.http.endpoints import ENDPOINTS, openapi_document
from lurcher.surfaces.mcp.requests import ARGUMENTS, check_arguments, input_schema

DECLARED = [value for value in vars(p).values() if isinstance(value, Parameter)]
SEARCH = next(endpoint for endpoint in ENDPOINTS if endpoint.name == "search")


def test_no_two_flags_of_a_command_are_the_same() -> None:
    for command in COMMANDS:
        flags = [flag for parameter in command.parameters for flag in parameter.flags]
        assert len(flags) == len(set(flags)), command.name


@pytest.mark.parametrize("surface", [MCP, HTTP])
def test_every_declared_name_is_taken_somewhere(surface: str) -> None:
    lists = ARGUMENTS.values() if surface == MCP else [endpoint.parameters for endpoint in ENDPOINTS]
    taken = {parameter.name for given in lists for parameter in given}
    declared = {parameter.on(surface).name for parameter in DECLARED if getattr(parameter, surface) is not None}
    assert declared - taken <= {"line"}  # start_line and end_line, or first and last


def test_choices_and_bounds_are_the_engines() -> None:
    assert set(p.SOURCE.choices) == set(KNOWN)
    assert p.FUSION.choices == FUSIONS
    assert (p.LIMIT.low, p.LIMIT.high) == (1, MAX_LIMIT)


def test_help_says_what_follows_from_the_declaration() -> None:
    assert p.LIMIT.flag_help == "number of hits (default: 10)"
    assert p.LANG.flag_help == "only this language (repeatable)"
    assert p.PROJECT.flag_help == "the project in it (repeatable; default: as git remote or folder)"


def _command_line(**given: Any) -> None:
    parse(["search", "x", *(f"--{name}={value}" for name, value in given.items())])


def _mcp(**given: Any) -> None:
    check_arguments(ARGUMENTS["search"], {"query": "x", **given})


def _http(**given: Any) -> None:
    SEARCH.values([("q", "x"), *((name, str(value)) for name, value in given.items())])


@pytest.mark.parametrize(
    ("given", "message", "hint", "calls"),
    [
        ({"mode": "loud"}, "unknown mode 'loud'", "known are: auto", (_command_line, _mcp, _http)),
        ({"limit": "ten"}, "limit'? is 'ten'", "pass a whole number", (_command_line, _mcp, _http)),
        ({"limit": 0}, "'limit' is 0", "use 1 to [12]00", (_mcp, _http)),
        ({"colour": "red"}, "unknown parameter 'colour'", "known are: ", (_mcp, _http)),
        ({"context": "all"}, "unknown context 'all'", "known are: none", (_command_line, _http)),
    ],
)
def test_a_bad_value_is_reported_in_the_same_words(
    given: dict[str, Any], message: str, hint: str, calls: tuple[Any, ...]
) -> None:
    for call in calls:
        with pytest.raises(UsageError, match=message) as error:
            call(**given)
        assert re.search(hint, error.value.hint), (call, error.value.hint)


@pytest.mark.parametrize("text", ["1_000", " 7", "٣", "1e3", "", "nan", "9" * 31])
def test_what_only_python_takes_for_a_whole_number_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="limit"):
        read(p.LIMIT, text, "'limit'")


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "x"])
def test_a_number_is_finite(text: str) -> None:
    with pytest.raises(UsageError):
        read(p.ALPHA, text, "--alpha")


def test_the_command_line_leaves_bounds_to_the_engine() -> None:
    assert read(p.LIMIT, "5000", "--limit", bounds=False) == 5000
    with pytest.raises(UsageError):
        read(p.LIMIT, "5000", "--limit")


def test_true_is_not_a_number() -> None:
    with pytest.raises(UsageError):
        check(p.LIMIT, True, "'limit'")
    assert check(p.LIMIT, 7.0, "'limit'") == 7


def test_lists() -> None:
    outcome = (p.OUTCOME.on(MCP),)
    assert check_all(outcome, {"outcome": "success"}) == {"outcome": ["success"]}
    assert check_all(outcome, {}) == {}
    for bad in ({"outcome": 5}, {"outcome": [5]}, {"outcome": ["lost"]}, {"outcome": ["success"] * (p.MAX_VALUES + 1)}):
        with pytest.raises(LurcherError):
            check_all(outcome, bad)


def test_a_required_one_is_missing() -> None:
    with pytest.raises(QueryError, match="'q' is missing"):
        SEARCH.values([("q", "")])


def test_both_documents_describe_the_same_choices() -> None:
    tool = input_schema(ARGUMENTS["search"])["properties"]
    described = openapi_document(ENDPOINTS)["paths"]["/api/search"]["get"]["parameters"]
    page = {entry["name"]: entry["schema"] for entry in described}
    assert tool["mode"]["enum"] == page["mode"]["enum"] and tool["source"]["enum"] == page["in"]["enum"]
    assert tool["limit"]["default"] == 8 and page["limit"]["maximum"] == 200
