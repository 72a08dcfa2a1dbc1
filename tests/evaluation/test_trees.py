from lurcher.evaluation.trees import list_files, verbatim_queries

from .fakes import write_tree


def found(root, *queries):
    return verbatim_queries(root, list_files(root), queries)


def test_files_are_listed_in_order_without_bookkeeping_folders(tmp_path):
    write_tree(
        tmp_path, {"b.py": "", "a/z.py": "", "a/b/c.py": "", ".git/HEAD": "", ".lurcher/manifest": "", ".env": ""}
    )
    assert list_files(tmp_path) == [".env", "a/b/c.py", "a/z.py", "b.py"]


def test_a_query_is_found_word_for_word_whatever_its_case_and_spacing(tmp_path):
    write_tree(tmp_path, {"a.py": "x = 1", "doc/b.md": "see How  Requests\n   are Retried here"})
    assert found(tmp_path, "how requests are retried") == {"how requests are retried": "doc/b.md"}


def test_part_of_a_word_is_not_the_query(tmp_path):
    write_tree(tmp_path, {"a.md": "show requests are retried"})
    assert found(tmp_path, "how requests are retried") == {}
    assert found(tmp_path, "show requests are retrie") == {}


def test_names_and_short_phrases_may_occur_in_the_corpus(tmp_path):
    write_tree(tmp_path, {"a.py": "class Client: retry policy"})
    assert found(tmp_path, "Client", "retry policy") == {}


def test_large_and_binary_files_and_links_are_not_read(tmp_path):
    phrase = "how requests are retried"
    write_tree(tmp_path, {"large.txt": phrase + " " * 1_000_000, "binary.bin": f"\0{phrase}"})
    (tmp_path / "link.txt").symlink_to(write_tree(tmp_path.parent / "outside", {"t.txt": phrase}) / "t.txt")
    assert found(tmp_path, phrase) == {}


def test_a_query_with_the_signs_of_a_pattern_is_taken_literally(tmp_path):
    write_tree(tmp_path, {"a.md": "what does a(b)* match, [x] asks"})
    assert list(found(tmp_path, "does a(b)* match,", "does aXb match,")) == ["does a(b)* match,"]
