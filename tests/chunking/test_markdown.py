"""What Markdown says: headings, tags, links and comments, and none of them where code stands."""

from __future__ import annotations

from lurcher.chunking import markdown, notes
from lurcher.chunking.markdown import Outline


def read(text: str, language: str = "markdown") -> Outline:
    return notes.parse_outline(text.split("\n"), language)


def headings(text: str, language: str = "markdown") -> list[tuple[int, str, int]]:
    return [(item.level, item.text, item.line + 1) for item in read(text, language).headings]


def test_headings_of_both_styles() -> None:
    assert headings("# One #\n\nTwo\n===\n\nThree\n---\n\n####### seven\n#none\n   ## in\n    # code\n") == [
        (1, "One", 1), (1, "Two", 3), (2, "Three", 6), (2, "in", 11),
    ]  # fmt: skip


def test_a_rule_or_a_table_is_no_heading() -> None:
    assert headings("text\n\n---\n\n| a | b |\n---|---\n- item\n---\n> quoted\n---\n") == []


def test_nothing_in_code_counts() -> None:
    fences = "```md\n# no\n#no [[no]] [a](b.md)\n```\n~~~~\n# no\n~~~\n# no\n~~~~\n> ```\n> # no\n> ```\n"
    found = read(fences + "`#no [[no]]`\n# yes\n")
    assert [item.text for item in found.headings] == ["yes"]
    assert found.tags == () and found.references == []


def test_an_open_fence_reaches_to_the_end() -> None:
    assert headings("# a\n```\n# b\n") == [(1, "a", 1)]


def test_comments_hide_headings_and_one_without_end_does_not() -> None:
    assert headings("<!--\n# no\n-->\n# yes\n%%\n# no\n%%\n") == [(1, "yes", 4)]
    assert headings("<!-- open\n# yes\n") == [(1, "yes", 2)]
    assert headings("100%% and\n# yes\n50%%\n") == [(1, "yes", 2)]


def test_headings_are_shown_as_rendered() -> None:
    assert markdown.strip_markup("**Bold** `code` [link](x.md) [[Note|label]] <b>tag</b> {#id}") == "Bold code link label tag"
    assert markdown.strip_markup("Use it { #use-it }") == "Use it"
    assert markdown.strip_markup("snake_case stays ^block") == "snake_case stays"


def test_tags_of_front_matter_and_text() -> None:
    front = "---\ntags: [a, '#b']\nkeywords: c, d\n---\n"
    found = read(front + "#e text #area/home, #42 x#no [y](#no)\n# Heading #no\n> [!note] #f\n")
    assert found.tags == ("a", "b", "c", "d", "e", "area/home", "f")


def test_links() -> None:
    found = read(
        "[[Note#Part one|label]] ![[Pic]] [[#Here]] [[Note#^block]] [a](../b%20c.md#d) [w](https://x.y/z.md)\n"
        "[r]: ./e.md 'E'\nx ^id-1\n"
    )
    told = [(item.kind, item.target, item.heading) for item in found.references]
    assert told == [
        ("wikilink", "Note", "Part one"), ("embed", "Pic", ""), ("wikilink", "", "Here"), ("wikilink", "Note", "^block"),
        ("link", "../b c.md", "d"), ("link", "./e.md", ""),
    ]  # fmt: skip
    assert found.blocks == [("id-1", 2)]


def test_title_aliases_and_the_later_date() -> None:
    found = read("---\naliases: [Other]\ncreated: 2020-01-01\nupdated: 2021-02-03T04:05\n---\n# The title\n")
    assert (found.title, found.aliases, found.date) == ("The title", ("Other",), "2021-02-03T04:05")


def test_other_markups() -> None:
    text = "=====\nTitle\n=====\n\nPart\n----\n\ntext::\n\n   Not\n   ---\n\nPart two\n--------\n"
    assert headings(text, "restructuredtext") == [
        (1, "Title", 1), (2, "Part", 5), (2, "Part two", 13),
    ]  # fmt: skip
    assert headings("= Title\n\n== Part\n----\n== no\n----\n=== Sub\n", "asciidoc") == [
        (1, "Title", 1), (2, "Part", 3), (3, "Sub", 7),
    ]  # fmt: skip
    assert headings("* One :tag:\n#+BEGIN_SRC\n* no\n#+END_SRC\n** Two\n", "org") == [(1, "One", 1), (2, "Two", 5)]
    assert read("* One :ops:\n", "org").tags == ("ops",)


def test_fences_end_where_one_as_long_ends_them() -> None:
    assert headings("````\n```\n# no\n```\n# no\n````\n# yes\n") == [(1, "yes", 7)]
    assert headings("- item\n\n  ```\n  # no\n  ```\n1. ~~~\n# no\n   ~~~\n# yes\n") == [(1, "yes", 9)]
    assert headings("```not`a fence\n# yes\n") == [(1, "yes", 2)]


def test_html_that_shows_its_text_as_it_is_has_no_headings() -> None:
    text = "<pre>\n# no\n</pre>\n# yes\n<script>\n# no\n</script>\n<style>\n# open\n"
    assert headings(text) == [(1, "yes", 4), (1, "open", 9)]


def test_a_comment_that_code_speaks_of_is_none() -> None:
    found = read("Write `<!--` here.\n# yes\nand `-->` there. <!-- but\n# no\n-->\n")
    assert [item.text for item in found.headings] == ["yes"]
    assert found.comments == [((2, 17), (4, 3))]


def test_headings_keep_what_is_no_closing() -> None:
    assert headings("# C#\n## a ## b ##\n### # \n#\tTab\n") == [(1, "C#", 1), (2, "a ## b", 2), (3, "", 3), (1, "Tab", 4)]
