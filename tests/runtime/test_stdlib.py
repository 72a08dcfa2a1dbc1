"""Patterns that are compiled when they are first used, and what only type checkers look at."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import lurcher
from lurcher.runtime.stdlib import Generic, TypeVar, pattern


def test_a_pattern_is_like_a_compiled_one() -> None:
    made, real = pattern(r"(\w)(\d)", re.IGNORECASE), re.compile(r"(\w)(\d)", re.IGNORECASE)
    assert made.findall("a1 B2") == real.findall("a1 B2")
    assert made.sub("-", "a1 B2") == "- -"
    assert (made.pattern, made.flags, made.groups) == (real.pattern, real.flags, real.groups)
    assert pattern(rb"x+").split(b"axxb") == [b"a", b"b"]


def test_a_pattern_is_compiled_when_it_is_used() -> None:
    code = "import sys; from lurcher.runtime.stdlib import pattern as p; a = p('('); assert 're' not in sys.modules; a.match"
    paths = {**os.environ, "PYTHONPATH": str(Path(lurcher.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False, env=paths)
    assert "re.error" in done.stderr or "PatternError" in done.stderr, done.stderr


def test_generic_classes_are_classes() -> None:
    kind = TypeVar("kind")

    class Box(Generic[kind]):
        pass

    assert isinstance(Box(), Box)
