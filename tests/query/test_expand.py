from __future__ import annotations

from lurcher.query import expand, extract_terms, find_forms


class Known:
    """A snapshot that knows a few terms."""

    def __init__(self, *terms: str) -> None:
        self.terms = sorted(terms)

    def terms_with_prefix(self, prefix: str, family: str | None = None, most: int = 20_000) -> list[str]:
        return [term for term in self.terms if term.startswith(prefix)][:most]


def test_stop_words_go_unless_nothing_else_is_there() -> None:
    assert extract_terms("how are the redirects followed") == {"redirects": 1.0, "followed": 1.0}
    assert extract_terms("what is this") == {"what": 1.0, "is": 1.0, "this": 1.0}


def test_compounds_bring_their_parts() -> None:
    assert list(extract_terms("getUser")) == ["getuser", "get", "user"]


def test_forms_share_a_stem_or_abbreviate() -> None:
    known = Known("redirect", "redirected", "redirection", "redundant", "red")
    assert find_forms(known, "redirects") == ["redirect", "redirected", "redirection"]
    assert "config" in find_forms(Known(), "configuration")
    assert "configuration" in find_forms(Known(), "config")


def test_a_form_belongs_to_one_group_and_never_to_a_query_word() -> None:
    groups = expand(Known("parse", "parser", "parsers", "parsing"), [("parse", 1.0), ("parser", 1.0)])
    assert groups[0].forms == ("parsing",)
    assert groups[1].forms == ("parsers",)
