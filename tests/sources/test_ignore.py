from __future__ import annotations

import time

import pytest

from lurcher.sources.ignore import parse, stack_verdict


def verdict(text: str, path: str, folder: bool = False) -> bool | None:
    patterns = parse(text)
    return patterns and patterns.verdict(path, path.rpartition("/")[2], folder)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.log", "deep/a.log", True),
        ("*.log", "a.logs", False),
        ("/a", "a", True),
        ("/a", "b/a", False),
        ("b/a", "b/a", True),
        ("b/a", "c/b/a", False),
        ("**/b/a", "c/d/b/a", True),
        ("**/b/a", "b/a", True),
        ("a/**", "a/b/c", True),
        ("a/**", "a", False),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
        ("a/*/z", "a/b/c/z", False),
        ("**/x/**/y/**/z", "x/1/y/2/x/y/3/z", True),
        ("**/x/**/y/**/z", "y/x/z", False),
        ("[a-c]?.py", "b1.py", True),
        ("[!a-c]?.py", "b1.py", False),
        ("[[:digit:]]", "7", True),
        ("[]-]", "]", True),
        ("[ab", "[ab", False),
        (r"\#a", "#a", True),
        (r"\!a", "!a", True),
        ("#a", "#a", None),
        ("a  ", "a", True),
        ("a\\ ", "a ", True),
        ("a\r", "a", True),
        ("a\\", "a", False),
        ("/", "a", None),
        ("a*b*c", "a-b-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("\ufeffa", "a", True),
    ],
)
def test_patterns_match_as_documented(pattern, path, matches):
    assert verdict(pattern, path) is (None if matches is not True else True)


def test_folder_patterns_spare_files():
    assert verdict("a/", "a") is None
    assert verdict("a/", "a", folder=True) is True


def test_the_last_match_decides():
    assert verdict("*.py\n!a.py\n", "a.py") is False
    assert verdict("!a.py\n*.py\n", "a.py") is True
    assert verdict("*.py\n!a.py\n", "a.js") is None


def test_the_deepest_file_decides():
    outer, inner = parse("*.py\n!/d/b.py"), parse("!a.py\nb.py")
    assert outer is not None and inner is not None
    stack = ((0, outer), (2, inner))
    assert stack_verdict(stack, "d/a.py", "a.py", False) is False
    assert stack_verdict(stack, "d/b.py", "b.py", False) is True
    assert stack_verdict(stack, "d/c.py", "c.py", False) is True


def test_hostile_patterns_cannot_hang():
    text = "*a" * 40 + "b\n" + "**/a/" * 40 + "b\n" + "[" * 1000 + "\n"
    started = time.process_time()
    assert verdict(text, "a/" * 500 + "a" * 250) is None
    assert time.process_time() - started < 5
