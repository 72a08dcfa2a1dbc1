"""Front matter as people write it, and as they break it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lurcher.chunking import markdown


def read(text: str) -> markdown.FrontMatter:
    return markdown.parse_front_matter(text.split("\n"))


def test_scalars_lists_in_both_styles_quotes_and_blocks() -> None:
    found = read(
        '---\ntitle: "Keys: how \\"we\\" rotate"  \ntags: [ops, \'on, call\', area/home]\n'
        'aliases:\n  - Rotation\n- "Key: care"\n'
        "date: 2024-05-31 # the day\nabout: >\n  long\n  text\nempty:\nnested:\n  a: 1\n---\nbody\n"
    )
    assert found.lines == 14 and not found.problem
    assert found.values["title"] == ('Keys: how "we" rotate',)
    assert found.values["tags"] == ("ops", "on, call", "area/home")
    assert found.values["aliases"] == ("Rotation", "Key: care")
    assert found.first("date") == "2024-05-31"
    assert found.first("about") == "long text"
    assert found.values["empty"] == ()


def test_a_bad_line_costs_itself_only_and_is_reported() -> None:
    found = read("---\ntitle: Good\n}{ what\ntags: [a, b\ndate: 2024-01-02\nname: 'open\n---\n")
    assert found.first("title") == "Good" and found.first("date") == "2024-01-02"
    assert found.values["tags"] == ("a", "b") and found.first("name") == "open"
    assert found.problem == "line 3: it is neither a key nor an item"


def test_front_matter_without_an_end_is_text_and_reported() -> None:
    found = read("---\ntitle: x\n# Heading\n")
    assert found.lines == 0 and "no end" in found.problem
    rule = read("---\n\nA page that begins with a rule.\n")
    assert rule == markdown.FrontMatter()


def test_front_matter_is_only_at_the_top() -> None:
    assert read("\n---\ntitle: x\n---\n").lines == 0
    assert read("\ufeff---\ntitle: x\n---\n").first("title") == "x"


def test_toml_is_read_by_the_same_rules() -> None:
    assert read('+++\ntitle = "T"\ntags = ["a", "b"]\n+++\n').values == {"title": ("T",), "tags": ("a", "b")}


@given(st.text(alphabet="-:[]{}'\"#|>,ab \n\t\\=+", max_size=200))
def test_nothing_makes_it_fail(text: str) -> None:
    found = read("---\n" + text + "\n---\nrest")
    assert 0 <= found.lines <= text.count("\n") + 3
