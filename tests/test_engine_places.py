"""What a hit shows and where it says it is."""

from __future__ import annotations

import os
from pathlib import Path

from lurcher import Engine

SEVERAL = """def small_zebra(value):
    return value + stripes


def the_largest_function(value):
    first = value + 1
    second = first + 1
    third = second + 1
    return third


def tiny_giraffe():
    return 1
"""


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def test_a_hit_is_named_after_what_matched_in_it(tmp_path: Path) -> None:
    engine = Engine.open(write(tmp_path / "r", zoo=SEVERAL))
    assert engine.search("stripes").hits[0].symbol == "small_zebra"
    hit = engine.search("where are the stripes", context="function").hits[0]
    assert (hit.symbol, hit.start_line, hit.end_line) == ("small_zebra", 1, 2)
    assert hit.text == "def small_zebra(value):\n    return value + stripes\n"
    hit = engine.search("stripes", snippet_lines=1).hits[0]
    assert (hit.start_line, hit.text) == (2, "    return value + stripes\n")


def test_only_line_feeds_count_lines(tmp_path: Path) -> None:
    text = "import os\n\x0c\ndef a():\n    pass\n\x0c\n# \u2028\ndef b():\n    return 'zebra'\n"
    (hit,) = Engine.open(write(tmp_path / "r", feed=text)).search("zebra", snippet_lines=1).hits
    assert (hit.start_line, hit.text) == (8, "    return 'zebra'\n")


def test_a_file_swapped_for_one_of_the_same_size_and_time_is_known_to_be_stale(tmp_path: Path) -> None:
    root = write(tmp_path / "r", a="aaa_one = 1\n")
    engine = Engine.open(root)
    engine.index()
    status = (root / "a.py").stat()
    (tmp_path / "b.py").write_text("bbb_one = 1\n")
    os.utime(tmp_path / "b.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    (tmp_path / "b.py").replace(root / "a.py")
    answer = Engine.open(root).search("aaa_one", refresh=False)
    assert (answer.index.fresh, answer.index.stale_paths) == (False, 1)
    assert Engine.open(root).search("bbb_one").hits[0].text == "bbb_one = 1\n"


def test_one_string_is_one_value(tmp_path: Path) -> None:
    engine = Engine.open(write(tmp_path / "r", a="word = 1\n"))
    assert engine.search("word", paths="*.js").hits == ()
    assert len(engine.search("word", paths="*.py", languages="python", sources="code").hits) == 1


def test_roots_are_distinguished_whatever_they_are_called(tmp_path: Path) -> None:
    roots = [write(tmp_path / place, file=f"shared_word = {n}\n") for n, place in enumerate(("1/x", "2/x", "3/x-2"))]
    engine = Engine.open(roots)
    for hit in engine.search("shared_word").hits:
        assert engine.locate(hit.path).read_text() == hit.text
    assert len(engine.search("shared_word", paths="/file.py").hits) == 3


def test_a_folder_inside_another_is_not_searched_twice(tmp_path: Path) -> None:
    outer = write(tmp_path / "p", a="word_one = 1\n")
    inner = write(outer / "sub", n="word_one = 2\n")
    hits = Engine.open([outer, inner]).search("word_one").hits
    assert sorted(hit.path for hit in hits) == ["a.py", "sub/n.py"]
    assert not (inner / ".lurcher").exists()


def test_several_roots_share_one_index_folder(tmp_path: Path) -> None:
    roots = [write(tmp_path / name, f=f"word_{name} = 1\n") for name in ("a", "b")]
    engine = Engine.open(roots, overrides={"index.dir": str(tmp_path / "kept")})
    assert engine.search("word_b").hits[0].path == "b/f.py"
    assert Engine.open(roots, index_dir=tmp_path / "own").search("word_a").hits[0].path == "a/f.py"


def test_a_member_is_found_among_thousands_of_its_name(tmp_path: Path) -> None:
    text = "\n".join(f"class C{i}:\n    def run(self):\n        pass\n" for i in range(2300))
    engine = Engine.open(write(tmp_path / "r", many=text))
    assert [hit.qualified for hit in engine.symbol("C2250.run")] == ["C2250.run"]
    other = engine.symbol("Absent.run")
    assert other.definitions and "nothing is named Absent.run" in other.degraded[0].reason
