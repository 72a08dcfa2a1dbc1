"""Questions from documentation comments: what is taken, what is hidden, and that a sample repeats."""

import json

import pytest

from lurcher.errors import DatasetError
from lurcher.evaluation.datasets import load_dataset
from tests.evaluation.fakes import write_tree

doc_comments = pytest.importorskip("doc_comments")
blank, find_candidates, first_sentence = doc_comments.blank, doc_comments.find_candidates, doc_comments.first_sentence
make_questions, write_set = doc_comments.make_questions, doc_comments.write_set

GO = """package store

// Evict removes the entries that are older than
// the limit of the cache. It is never called twice.
//
// More on that.
func Evict(limit int) {
	for {
	}
}

// far away from what follows it, by a line

func Other() {
	for {
	}
}
"""
JAVA = """class Store {
  /**
   * Removes the {@code entries} that are <b>older</b> than the limit.
   *
   * @param limit how old they may be
   */
  @Override
  public void evict(int limit) {
    limit++;
  }
}
"""
RUST = """/// Removes the entries that are `older` than the limit
#[inline]
pub fn evict(limit: usize) {
    drop(limit);
}
"""
PYTHON = '''class Store:
    """Keeps the newest entries of a cache on disk.

    More.
    """

    def evict(self, limit):
        """Remove the entries that are older than the limit."""

    def other(self):
        # Remove nothing at all, since nothing is here.
        limit = """text that is no documentation at all"""
        return limit
'''


def candidates(path, text, language):
    return [(one.question, one.kind, one.first, one.last) for one in find_candidates(path, text.encode(), language)]


def test_a_comment_right_above_a_definition_is_taken_without_its_marks():
    (go,) = candidates("a.go", GO, "go")
    assert go == ("removes the entries that are older than the limit of the cache", "function", 7, 10)
    assert candidates("A.java", JAVA, "java") == [("Removes the entries that are older than the limit", "method", 7, 10)]
    (rust,) = candidates("a.rs", RUST, "rust")
    assert rust[0] == "Removes the entries that are older than the limit"


def test_of_python_the_docstring_is_taken():
    body = "\n        self.entries = []\n        return limit"
    text = PYTHON.replace('older than the limit."""', f'older than the limit."""{body}')
    found = candidates("a.py", text, "python")
    assert found == [
        ("Keeps the newest entries of a cache on disk", "class", 1, 15),
        ("Remove the entries that are older than the limit", "method", 7, 10),
    ]


@pytest.mark.parametrize(
    ("comment", "name", "sentence"),
    [
        ("// Evict removes what is older than that.", "Evict", "removes what is older than that"),
        ("// Calls evictAll when the cache is full.", "evictAll", ""),
        ("# close the file and all its handles", "close", "close the file and all its handles"),
        ("// Apply the changes to the current state.", "Apply", "Apply the changes to the current state"),
        ("// too short", "x", ""),
        ("// " + "word " * 41, "x", ""),
        ("// Copyright of all the people of this project.", "x", ""),
        ("// let x = call(y) and then go on with it", "x", ""),
        ("/** e.g. reads one entry of the cache. More. */", "x", "e.g. reads one entry of the cache"),
        ("/// Größe of all the entries in the cache", "x", ""),
        ("-- | Reads one entry of the whole cache.", "x", "Reads one entry of the whole cache"),
    ],
)
def test_the_first_sentence_is_a_question_or_nothing(comment, name, sentence):
    assert first_sentence(comment, name) == sentence


def test_blanking_preserves_lines_columns_and_docstring_quotes():
    assert blank(b"a\n// b c\r\nd\n", [(2, 8)]) == b"a\n      \r\nd\n"
    text = b'def f():\n    """Do\n    it."""\n'
    assert blank(text, [(13, 29)]) == b'def f():\n    """  \n       """\n'
    compile(blank(text, [(13, 29)]), "f", "exec")


def test_the_copy_hides_the_questions_and_has_every_line(tmp_path):
    tree = write_tree(tmp_path / "project", {"src/a.go": GO, "src/A.java": JAVA, "tests/b.go": GO, "README": "text\n"})
    rows = make_questions(tree, tmp_path / "copy")
    assert [(row["repo"], row["language"], row["category"], row["gold"]) for row in rows] == [
        ("project", "java", "method", {"src/A.java": [[7, 10]]}),
        ("project", "go", "function", {"src/a.go": [[7, 10]]}),
    ]
    copied = (tmp_path / "copy/src/A.java").read_text()
    assert "older" not in copied and "@param" not in copied
    assert copied.splitlines()[6:] == JAVA.splitlines()[6:]
    assert (tmp_path / "copy/README").read_text() == "text\n"


def test_a_sentence_that_occurs_elsewhere_is_no_question(tmp_path):
    manual = "It says: removes the entries that are older than the limit of the cache, and so on.\n"
    tree = write_tree(tmp_path / "project", {"a.go": GO, "manual.txt": manual})
    assert make_questions(tree, tmp_path / "copy") == []


def test_two_definitions_with_the_same_sentence_are_left_out(tmp_path):
    tree = write_tree(tmp_path / "project", {"a.go": GO, "b.go": GO})
    assert make_questions(tree, tmp_path / "copy") == []


def many(count):
    return "package a\n" + "".join(
        f"\n// does the work of number {number} and stops\nfunc F{number}() {{\n\tfor {{\n\t}}\n}}\n" for number in range(count)
    )


def test_a_sample_repeats_with_its_seed_and_spares_files(tmp_path):
    tree = write_tree(tmp_path / "project", {f"{name}.go": many(9).replace("work", f"work {name}") for name in "abcd"})
    one = make_questions(tree, tmp_path / "one", each=8, seed=7)
    assert len(one) == 8
    assert max(sum(path in row["gold"] for row in one) for path in ("a.go", "b.go", "c.go", "d.go")) <= 3
    assert make_questions(tree, tmp_path / "two", each=8, seed=7) == one
    assert make_questions(tree, tmp_path / "three", each=8, seed=8) != one


def test_a_set_is_written_that_can_be_loaded(tmp_path, capsys):
    tree = write_tree(tmp_path / "project", {"a.go": GO})
    out = tmp_path / "out"
    write_set([tree], out)
    assert capsys.readouterr().out == "project: 1 questions\n"
    (row,) = [json.loads(line) for line in (out / "set.jsonl").read_text().splitlines()]
    assert row["gold"] == {"a.go": [[7, 10]]}
    dataset = load_dataset(out / "set.jsonl", repos=out / "trees")
    assert [place.folder for place in dataset.places] == [out / "trees" / "project"]


def test_bad_arguments_are_dataset_errors(tmp_path):
    tree = write_tree(tmp_path / "project", {"a.go": "package a\n"})
    with pytest.raises(DatasetError, match="no documentation comment"):
        write_set([tree], tmp_path / "out")
    with pytest.raises(DatasetError, match="same name"):
        write_set([tree, tree], tmp_path / "new")
    with pytest.raises(DatasetError, match="not a folder"):
        write_set([tmp_path / "gone"], tmp_path / "new")
    with pytest.raises(DatasetError, match="a set already"):
        write_set([tree], tmp_path / "out")
