from __future__ import annotations

from lurcher.query.expand import expand, forms_of, query_terms


class Known:
    """A snapshot that knows a few terms."""

    def __init__(self, *terms: str) -> None:
        self.terms = sorted(terms)

    def terms_with_prefix(self, prefix: str, family: str | None = None, most: int = 20_000) -> list[str]:
        return [term for term in self.terms if term.startswith(prefix)][:most]


def test_stop_words_go_unless_nothing_else_is_there() -> None:
    assert query_terms("how are the redirects followed") == {"redirects": 1.0, "followed": 1.0}
    assert query_terms("what is this") == {"what": 1.0, "is": 1.0, "this": 1.0}


def test_compounds_bring_their_parts() -> None:
    assert list(query_terms("getUser")) == ["getuser", "get", "user"]


def test_forms_share_a_stem_or_abbreviate() -> None:
    known = Known("redirect", "redirected", "redirection", "redundant", "red")
    assert forms_of(known, "redirects") == ["redirect", "redirected", "redirection"]
    assert "config" in forms_of(Known(), "configuration")
    assert "configuration" in forms_of(Known(), "config")


def test_a_form_belongs_to_one_group_and_never_to_a_query_word() -> None:
    groups = expand(Known("parse", "parser", "parsers", "parsing"), [("parse", 1.0), ("parser", 1.0)])
    assert groups[0].forms == ("parsing",)
    assert groups[1].forms == ("parsers",)
