"""What a notebook shows of an answer."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from lurcher import Engine
from lurcher.runtime.kernel import native


class Reader(HTMLParser):
    """Collects the text, and fails on an element that is not closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    (tmp_path / "retry.py").write_text(
        'def retry(request):\n    """Send a <script>request</script>\n    again."""\n    return request & 1\n', "utf-8"
    )
    return Engine.open(tmp_path)


def test_hits_are_drawn_with_their_code(engine: Engine) -> None:
    html = engine.search("how is a request sent again")._repr_html_()
    found = read(html)
    assert "retry.py:1-4" in found.text and "return request & 1" in found.text
    if native() is not None:
        assert ">def</span>" in html and ">return</span>" in html


def test_nothing_of_the_repository_becomes_markup(engine: Engine) -> None:
    found = read(engine.search("how is a request sent again")._repr_html_())
    assert "<script>" in found.text and "script" not in found.tags


def test_an_answer_without_hits_says_so(engine: Engine) -> None:
    assert "nothing found" in read(engine.search("zebra", mode="literal")._repr_html_()).text


def test_commits_are_drawn(repository: Path) -> None:
    with Engine.open(repository) as engine:
        answer = engine.history("begin")
        assert answer.hits and answer.hits[0].commit is not None
        assert answer.hits[0].commit.sha[:10] in read(answer._repr_html_()).text
