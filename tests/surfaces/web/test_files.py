"""What the page is made of."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import lurcher
from lurcher.surfaces.http.app import Page

WEB = Path(lurcher.__file__).parent / "surfaces/web"
SCRIPTS = sorted(WEB.glob("*.js"))


def test_it_is_small() -> None:
    assert 10_000 < Page().compressed_bytes < 60_000


def test_nothing_comes_from_elsewhere() -> None:
    for file in WEB.iterdir():
        if file.suffix in (".js", ".css", ".html", ".svg"):
            outside = [
                url for url in re.findall(r"(?:https?:)?//[\w.-]+\.\w+", file.read_text("utf-8")) if "www.w3.org" not in url
            ]
            assert not outside, file.name


def test_text_never_becomes_markup_or_code() -> None:
    for script in SCRIPTS:
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|setAttribute\(\"on",
            script.read_text("utf-8"),
        )
        assert not found, f"{script.name}: {found}"


def test_the_frame_has_no_inline_script_or_style() -> None:
    frame = (WEB / "index.html").read_text("utf-8")
    assert not re.findall(r"<style|\sstyle=|\son\w+=", frame)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", frame))


@pytest.mark.skipif(shutil.which("node") is None, reason="node runs these")
def test_colours_and_marks_lose_nothing_of_the_text() -> None:
    """Every character of a text is in its lines once, whatever the language makes of it."""
    texts = [
        "def f(x):\n    '''doc\n    more'''\n    return x # end\n",
        "/* open",
        "'unended\nnext",
        '"\\',
        "a\n\n\nb",
        "",
        "\n",
        "x" * 300,
        "# Title\n\n``code`` and [link](http://a.b) **strong**\n",
        "SELECT 'it''s' -- note\n",
        "`multi\nline ${x}`",
        "\u202e<b>&amp;",
        "0x1f 1e9 1_000 @dec",
    ]
    languages = [
        "python",
        "typescript",
        "go",
        "rust",
        "sql",
        "markdown",
        "yaml",
        "haskell",
        "lua",
        "css",
        "json",
        "elixir",
        "php",
        "klingon",
        "",
    ]
    program = f"""
    import {{ lines, marksOf, tokens }} from {json.dumps((WEB / "highlight.js").as_uri())};
    const out = [];
    for (const text of {json.dumps(texts)}) for (const language of {json.dumps(languages)}) {{
      const pieces = tokens(text, language);
      for (let i = 1; i < pieces.length; i += 1) if (pieces[i][0] < pieces[i - 1][1]) throw new Error("overlap");
      const marks = marksOf(text, new Set(["e", "no", "multi", "code", "t.t", "next"]));
      const whole = lines(text, pieces, marks).map((row) => row.map((part) => part[0]).join("")).join("\\n");
      if (whole !== text) out.push([text, language, whole]);
    }}
    console.log(JSON.stringify(out));
    """
    done = subprocess.run(
        ["node", "--input-type=module", "-e", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


@pytest.mark.skipif(shutil.which("node") is None, reason="node runs these")
def test_words_are_marked_where_they_begin_a_word_or_a_part_of_a_name() -> None:
    wanted = {
        "threaded read readers lineRead HTTPRead READ_ME readiness": ["read", "readers", "Read", "Read", "READ"],
        "configuration preconfigured configure": ["configuration", "configure"],
        "é read éread": ["read"],
    }
    program = f"""
    import {{ marksOf }} from {json.dumps((WEB / "highlight.js").as_uri())};
    const terms = new Set(["read", "configur"]);
    const marked = (text) => marksOf(text, terms).map(([start, end]) => text.slice(start, end));
    console.log(JSON.stringify({json.dumps(list(wanted))}.map(marked)));
    """
    done = subprocess.run(
        ["node", "--input-type=module", "-e", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == list(wanted.values())
