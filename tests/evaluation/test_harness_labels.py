import re

import pytest

from lurcher.evaluation.datasets import Target, quotes_report
from lurcher.evaluation.harness import FileNames, document_key, judge_commit, judge_pattern, judge_target

from .fakes import commit, commit_hit, hit

SHA = "0123456789abcdef0123456789abcdef01234567"


def test_a_label_relative_to_the_repository_finds_the_file_below_the_indexed_folder():
    names = FileNames(["init.lua", "actions/init.lua"], prefix="lua/telescope")
    assert names.find("lua/telescope/actions/init.lua") == {"actions/init.lua"}
    assert names.find("lua/telescope/init.lua") == {"init.lua"}


def test_a_shorter_label_finds_every_file_that_ends_in_it():
    names = FileNames(["a/core/api.py", "b/core/api.py", "b/hardcore/api.py"])
    assert names.find("core/api.py") == {"a/core/api.py", "b/core/api.py"}


def test_an_exact_path_is_preferred_to_a_longer_one():
    assert FileNames(["setup.py", "examples/setup.py"]).find("setup.py") == {"setup.py"}


def test_a_label_without_a_file_finds_nothing():
    assert FileNames(["a.py"]).find("b.py") == frozenset()
    assert FileNames(["a.py"]).find("src/a.py") == frozenset()


@pytest.mark.parametrize(
    ("start", "end", "accepted"), [(1, 19, False), (1, 20, True), (25, 26, True), (30, 40, True), (31, 40, False)]
)
def test_lines_must_overlap(start, end, accepted):
    judge = judge_target(Target("a.py", 20, 30), frozenset({"a.py"}))
    assert judge(hit("a.py", start, end)) is accepted
    assert not judge(hit("b.py", 20, 30))


def test_an_open_range_reaches_to_its_end_of_the_file():
    assert judge_target(Target("a.py", 20), frozenset({"a.py"}))(hit("a.py", 500, 510))
    assert not judge_target(Target("a.py", None, 20), frozenset({"a.py"}))(hit("a.py", 21, 30))


@pytest.mark.parametrize(
    "found",
    [
        hit("src/retry.py"),
        hit("a.py", symbol="Client.retry"),
        hit("a.py", text="one\nretry later"),
        commit_hit(SHA, "retry on 503"),
    ],
)
def test_a_pattern_reads_path_symbol_subject_and_text(found):
    assert judge_pattern(re.compile("retry"))(found)
    assert not judge_pattern(re.compile("backoff"))(found)


def test_a_pattern_reads_only_the_first_20000_characters():
    judge = judge_pattern(re.compile("needle"))
    assert judge(hit("a.py", text="x" * 19_994 + "needle"))
    assert not judge(hit("a.py", text="x" * 19_995 + "needle"))


def test_a_commit_is_accepted_by_its_name_whole_or_shortened():
    judge = judge_commit(SHA, "fix", lambda sha: False)
    assert judge(commit_hit(SHA)) and judge(commit_hit(SHA[:12]))
    assert not judge(commit_hit("f" * 40)) and not judge(commit_hit("")) and not judge(hit("a.py"))


def test_the_same_patch_counts_but_only_under_the_same_subject():
    asked = []
    judge = judge_commit(SHA, "fix the leak", lambda sha: asked.append(sha) or True)
    assert judge(commit_hit("f" * 40, "fix the leak"))
    assert not judge(commit_hit("e" * 40, "another"))
    assert asked == ["f" * 40]


def test_hunks_of_one_commit_are_one_document():
    assert document_key(commit_hit(SHA)) == SHA
    assert document_key(hit("a.py", commit=commit(SHA))) == "a.py"  # code that shows who last changed it
    assert document_key(hit("a.py", 5)) == document_key(hit("a.py", 90)) == "a.py"


@pytest.mark.parametrize(
    ("message", "quoted"),
    [
        ("Fix overflow, closes #77", True),
        ("Fix overflow (GH-77)", True),
        ("Fix overflow\n\nSee https://example.org/own/project/issues/77", True),
        ("Fix overflow (#778)", False),
        ("Fix overflow (#12)", False),
        ("parser: `join` drops  the LAST separator", True),
        ("join drops the last separators", False),
    ],
)
def test_a_message_gives_a_report_away_by_a_number_or_by_its_title(message, quoted):
    assert quotes_report(message, "Join drops the last separator", "It fails since #77 was merged.") is quoted


def test_a_title_of_two_words_proves_nothing():
    assert not quotes_report("fix memory leak in the cache", "Memory leak", "")
