"""Arguments that are read without argparse are read as argparse reads them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.errors import LurcherError
from lurcher.surfaces import IMPLEMENTATIONS, REFERENCES, SEARCH, Parameter
from lurcher.surfaces.cli.fast_argv import parse_usual
from lurcher.surfaces.cli.flags import parse

WORDS = st.sampled_from(
    ["how are redirects followed", "-", "", "src", "a=b", "--", "-5", "-x y", "é", "5", "0.5", "1e400", "x\ny", "none", "local"]
)


def given_to(parameter: Parameter) -> st.SearchStrategy[list[str]]:
    """A flag as people write it, and as they should not."""
    if parameter.place:
        return WORDS.map(lambda word: [word])
    name = st.sampled_from(parameter.flags)
    if parameter.kind == "switch":
        return name.map(lambda name: [name])
    value = st.sampled_from(parameter.choices) | WORDS if parameter.choices else WORDS | st.integers(-3, 99).map(str)
    apart = st.tuples(name, value).map(list)
    together = st.tuples(name, st.sampled_from(["=", ""]), value).map(lambda parts: ["".join(parts)])
    return apart | together | apart | apart


def lines_of(command: str, parameters: tuple[Parameter, ...]) -> st.SearchStrategy[list[str]]:
    """Command lines of a command, right and wrong ones."""
    odd = st.sampled_from([["--lim", "3"], ["-qF"], ["--json=1"]])
    words = st.lists(st.one_of(*(given_to(parameter) for parameter in parameters), odd), max_size=6)
    return words.map(lambda parts: [command, *(word for part in parts for word in part)])


LINES = lines_of("search", SEARCH) | lines_of("references", REFERENCES) | lines_of("implementations", IMPLEMENTATIONS)
USUAL = st.lists(
    st.sampled_from(
        [
            ["--json"],
            ["-k", "5"],
            ["--limit=7"],
            ["--lang", "python"],
            ["--path", "src/*"],
            ["src"],
            ["tests"],
            ["-q"],
            ["--mode", "lexical"],
            ["--set", "search.limit=3"],
            ["--budget", "2000"],
            ["--mmr", "0.5"],
            ["--rerank", "mine"],
        ]
    ),  # fmt: skip
    max_size=6,
).map(lambda parts: ["search", "a question", *(word for part in parts for word in part)])


@settings(max_examples=500, deadline=None)
@given(LINES)
def test_both_read_the_same(line: list[str]) -> None:
    found = parse_usual(line)
    if found is not None:
        assert vars(found) == vars(parse(line))


@settings(max_examples=100, deadline=None)
@given(USUAL)
def test_what_is_usual_needs_no_argparse(line: list[str]) -> None:
    found = parse_usual(line)
    assert found is not None
    assert vars(found) == vars(parse(line))


@pytest.mark.parametrize(
    "line",
    [
        ["references", "Client.retry"], ["references", "Client.retry", "src", "--kind", "call", "--kind=read", "-k", "5"],
        ["references", "Client.retry", "--callers", "--depth", "2", "--json"], ["implementations", "Transport", "--quiet"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_references_need_no_argparse(line: list[str]) -> None:
    found = parse_usual(line)
    assert found is not None
    assert vars(found) == vars(parse(line))


@pytest.mark.parametrize(
    "line",
    [
        [], ["references"], ["references", "x", "--kind", "poem"], ["search"],
        ["search", "--json"], ["search", "x", "--help"], ["search", "x", "-h"], ["search", "x", "--limit"],
        ["search", "x", "-k", "many"], ["search", "x", "--mode", "loud"], ["search", "x", "--jso"], ["search", "--", "-x"],
        ["index"], ["--version"], ["search", "x", "--json=yes"], ["search", "x", "--lang", "--json"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_the_rest_is_left_to_it(line: list[str]) -> None:
    assert parse_usual(line) is None


def test_every_call_has_lists_of_its_own() -> None:
    first, second = parse_usual(["search", "x", "--lang", "go"]), parse_usual(["search", "x"])
    assert first is not None
    assert second is not None
    assert (vars(first)["lang"], vars(second)["lang"]) == (["go"], [])


def test_an_error_names_the_flag() -> None:
    with pytest.raises(LurcherError, match="--limit is 'many'"):
        parse(["search", "x", "-k", "many"])
