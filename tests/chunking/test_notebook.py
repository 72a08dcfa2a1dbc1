"""Notebooks are searched by their cells, on the lines of their file; what is no notebook is plain text."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher import Engine
from lurcher.chunking.notebook import find_cell, find_cells, parse_notebook, read_notebook

MARKDOWN = "# Retry study\n\nHow requests are retried."
CODE = 'def retry(url):\n    """Retry with backoff."""\n    return url\n'


def cell(kind: str, source: str | list[str], outputs: list[Any] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source}
    if kind == "code":
        found |= {"execution_count": None, "outputs": outputs or []}
    return dict(sorted(found.items()))


def notebook(*cells: dict[str, Any], language: str = "python") -> dict[str, Any]:
    return {"cells": list(cells), "metadata": {"language_info": {"name": language}}, "nbformat": 4, "nbformat_minor": 5}


def written(whole: dict[str, Any]) -> bytes:
    """As Jupyter writes it."""
    return json.dumps(whole, indent=1, ensure_ascii=False).encode() + b"\n"


def lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)


PICTURE = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0KGgo" * 500, "text/plain": ["<fig>"]}}
STUDY = notebook(
    cell("markdown", lines(MARKDOWN)),
    cell("code", lines("%matplotlib inline\nimport numpy as np\n"), [{"output_type": "stream", "text": ["one\n", "two\n"]}]),
    cell("code", lines(CODE), [PICTURE]),
    cell("code", []),
    cell("raw", ["as it is"]),
)


def test_lines_are_those_of_the_file() -> None:
    raw = written(STUDY)
    text = read_notebook(raw)
    found, file = text.decode().split("\n"), raw.decode().split("\n")
    for line in (*MARKDOWN.split("\n"), *CODE.split("\n")):
        if line:
            assert json.dumps(line)[1:-1] in file[found.index(line)]
    assert "iVBOR" not in text.decode()
    assert "one" not in text.decode()


@pytest.mark.parametrize("indent", [1, None])
def test_a_line_knows_its_cell(indent: int | None) -> None:
    text = read_notebook(json.dumps(STUDY, indent=indent).encode())
    assert [entry.type for entry in find_cells(text)] == ["markdown", "code", "code", "code", "raw"]
    number = text.decode().split("\n").index("    return url") + 1
    assert find_cell(text, number - 1, number) == {"number": 3, "type": "code", "start_line": 2, "end_line": 3}
    assert find_cell(text, 1, 1) is None
    assert find_cell(text, number - 3, number) is None  # the line between two cells


def test_code_defines_and_imports_and_prose_is_a_comment() -> None:
    text = read_notebook(written(STUDY))
    found = parse_notebook(text, 1500)
    (retry,) = found.definitions
    assert (retry.name, retry.kind) == ("retry", "function")
    assert text.split(b"\n")[retry.start_line - 1] == b"def retry(url):"
    (imported,) = found.imports
    assert text.split(b"\n")[imported.line - 1] == b"import numpy as np"
    assert [text[start:end].decode() for start, end in found.comments] == [MARKDOWN, '"""Retry with backoff."""']


def check_chunks(text: bytes, target: int) -> None:
    chunks = parse_notebook(text, target).chunks
    assert b"".join(text[chunk.start_byte : chunk.end_byte] for chunk in chunks) == text
    for chunk in chunks:
        assert chunk.start_line == text.count(b"\n", 0, chunk.start_byte) + 1
        assert chunk.end_line == text.count(b"\n", 0, chunk.end_byte - 1) + 1
    for entry in find_cells(text):
        for chunk in chunks:
            inside = entry.start <= chunk.start_byte and chunk.end_byte <= entry.end
            assert inside or chunk.end_byte <= entry.start or entry.end <= chunk.start_byte or entry.start == entry.end


def test_no_chunk_reaches_over_a_cell() -> None:
    check_chunks(read_notebook(written(STUDY)), 1500)
    long = notebook(cell("code", lines(CODE * 100)), cell("markdown", lines("words and words\n" * 300)))
    check_chunks(read_notebook(written(long)), 300)


def test_other_languages_and_older_forms() -> None:
    julia = read_notebook(written(notebook(cell("code", ["f(x) = 1"]), language="julia")))
    assert [entry.name for entry in parse_notebook(julia, 1500).definitions] == ["f"]
    unknown = read_notebook(written(notebook(cell("code", ["def f(): pass"]), language="klingon")))
    assert parse_notebook(unknown, 1500).definitions == ()
    one_string = read_notebook(written(notebook(cell("code", "def f():\n    pass\n"))))
    assert [entry.name for entry in parse_notebook(one_string, 1500).definitions] == ["f"]
    third = {"worksheets": [{"cells": [{"cell_type": "code", "input": ["def g():\n", "    pass"], "language": "python"}]}]}
    assert [entry.name for entry in parse_notebook(read_notebook(written({**third, "nbformat": 3})), 1500).definitions] == ["g"]


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b"1", b'{"cells": 1}', b"\xff\xfe", b"plain words\n", b"[" * 100_000, b'{"cells": [' + b"[" * 50_000],
)
def test_what_is_no_notebook_stays_as_it_is(raw: bytes) -> None:
    assert read_notebook(raw) == raw
    parse_notebook(raw, 1500)


def test_separators_in_a_source_are_blanks() -> None:
    text = read_notebook(written(notebook(cell("code", ["a\x1e\x1fb\r\n", "\x1e"]))))
    assert len(find_cells(text)) == 1
    assert b"a  b " in text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["cells", "source", "cell_type", "metadata", "input", "x"]), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["code", "markdown", "raw"]), st.text(max_size=40), VALUES), max_size=5),
    st.sampled_from([None, 0, 1, 4]),
    VALUES,
)
def test_any_notebook_can_be_read(cells: list[tuple[str, str, Any]], indent: int | None, other: Any) -> None:
    whole = notebook(*({**cell(kind, source.split("\n")), "outputs": extra} for kind, source, extra in cells)) | {"x": other}
    raw = json.dumps(whole, indent=indent).encode()
    text = read_notebook(raw)
    assert len(find_cells(text)) == len(cells)
    check_chunks(text, 50)


def test_large_outputs_take_no_time() -> None:
    output = {"output_type": "stream", "text": ["line of output\n"] * 200, "data": {"source": [{"cells": ["x"]}]}}
    raw = written(notebook(*(cell("code", ["x = 1\n", "y = 2"], [output]) for _ in range(200))))
    begun = time.process_time()
    parse_notebook(read_notebook(raw), 1500)
    assert time.process_time() - begun < 10


def test_pictures_keep_no_notebook_out(tmp_path: Path) -> None:
    large = {**PICTURE, "data": {"image/png": "iVBORw0KGgo" * 20_000}}
    (tmp_path / "study.ipynb").write_bytes(written(notebook(cell("code", lines(CODE), [large]))))
    (tmp_path / "broken.ipynb").write_bytes(b'{"cells": ["' + b"A" * 200_000)
    with Engine.open(tmp_path) as engine:
        assert [hit.path for hit in engine.search("retry").hits] == ["study.ipynb"]


def test_a_hit_names_the_cell_and_the_lines_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "study.ipynb").write_bytes(written(STUDY))
    (tmp_path / "broken.ipynb").write_bytes(written(STUDY)[:-30])
    with Engine.open(tmp_path) as engine:
        found = engine.search("retry with backoff", limit=10).hits
        hits = {hit.path: hit.to_dict() for hit in reversed(found)}
        (symbol,) = engine.symbol("retry").definitions
    hit = hits["study.ipynb"]
    raw = written(STUDY).decode().split("\n")
    assert hit["language"] == "jupyter"
    assert hit["symbol"] == "retry"
    assert hit["cell"] == {"number": 3, "type": "code", "start_line": 1, "end_line": 3}
    assert "def retry(url)" in raw[hit["start_line"] - 1]
    assert hit["text"] == CODE.rstrip("\n")
    assert "cell" not in hits["broken.ipynb"]
    assert (symbol.path, symbol.start_line) == ("study.ipynb", hit["start_line"])
