import json

import pytest

from lurcher.errors import DatasetError
from lurcher.evaluation.datasets import QUOTED, UNQUOTED, Target, load_dataset
from lurcher.evaluation.harness import evaluate

from .fakes import FakeSearcher, Mirror, code_set, commit_hit, opening, write_lines, write_tree

QUESTION = {"query": "how are requests retried", "relevant": ["src/retry.py"]}


def tasks_of(dataset):
    return [task for place in dataset.places for task in place.tasks]


def refused(path, **folders):
    with pytest.raises(DatasetError) as error:
        load_dataset(path, **folders)
    assert error.value.hint
    return error.value.message


def own(tmp_path, *rows):
    return load_dataset(write_lines(tmp_path / "own.jsonl", rows), root=tmp_path)


# -- code -------------------------------------------------------------------------------------------------------------


def test_a_code_set_indexes_the_benchmark_root_of_each_repository(tmp_path):
    questions = [
        {
            "query": "how are requests retried",
            "relevant": ["src/pkg/retry.py"],
            "secondary": [{"path": "src/pkg/client.py", "start_line": 5, "end_line": 9}, "src/pkg/retry.py"],
            "category": "semantic",
        }
    ]
    path = code_set(tmp_path / "set", {"one": ({"benchmark_root": "src/pkg"}, questions), "two": ({}, [QUESTION])})
    write_tree(tmp_path / "trees", {"one/src/pkg/retry.py": "", "two/src/retry.py": ""})
    dataset = load_dataset(path, repos=tmp_path / "trees")
    assert (dataset.name, dataset.kind, dataset.warnings) == ("set", "code", ())
    assert [place.folder for place in dataset.places] == [tmp_path / "trees/one/src/pkg", tmp_path / "trees/two"]
    (task, _) = tasks_of(dataset)
    assert task.targets == (Target("src/pkg/retry.py"), Target("src/pkg/client.py", 5, 9))
    assert (task.category, task.language, task.id) == ("semantic", "python", "one#1")


def test_a_benchmark_root_of_null_is_the_whole_tree(tmp_path):
    path = code_set(tmp_path / "set", {"one": ({"benchmark_root": None}, [QUESTION])})
    write_tree(tmp_path / "trees", {"one/src/retry.py": ""})
    assert load_dataset(path, repos=tmp_path / "trees").places[0].folder == tmp_path / "trees/one"


def test_a_missing_tree_is_named_and_left_out(tmp_path):
    path = code_set(tmp_path / "set", {"one": ({}, [QUESTION]), "two": ({}, [QUESTION])})
    write_tree(tmp_path / "trees", {"two/a.py": ""})
    dataset = load_dataset(path, repos=tmp_path / "trees")
    assert [place.name for place in dataset.places] == ["two"]
    assert dataset.warnings == ("left out, no tree: one",)


def test_a_set_without_any_tree_says_how_to_make_them(tmp_path):
    path = code_set(tmp_path / "set", {"one": ({}, [QUESTION])})
    (tmp_path / "trees").mkdir()
    with pytest.raises(DatasetError) as error:
        load_dataset(path, repos=tmp_path / "trees")
    assert "none of the 1 trees" in error.value.message and "git archive" in error.value.hint


def test_the_digest_depends_on_the_questions_and_not_on_the_place(tmp_path):
    write_tree(tmp_path / "trees", {"one/a.py": ""})
    digests = []
    for folder, text in (("a", "first"), ("b", "first"), ("c", "second")):
        path = code_set(tmp_path / folder, {"one": ({}, [{"query": text, "relevant": ["a.py"]}])})
        digests.append(load_dataset(path, repos=tmp_path / "trees").digest)
    assert digests[0] == digests[1] != digests[2]


def test_a_repository_that_is_listed_twice_counts_once(tmp_path):
    path = code_set(tmp_path / "set", {"one": ({}, [QUESTION])})
    (path / "repos.json").write_text(json.dumps([{"name": "one"}, {"name": "one"}]))
    write_tree(tmp_path / "trees", {"one/a.py": ""})
    dataset = load_dataset(path, repos=tmp_path / "trees")
    assert len(dataset.places) == 1 and dataset.warnings == ("repos.json, entry 2 repeats entry 1: left out",)


@pytest.mark.parametrize("name", ["../outside", "a/b", "..", ""])
def test_a_repository_name_cannot_leave_the_folder(tmp_path, name):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "repos.json").write_text(json.dumps([{"name": name}]))
    assert "repos.json, entry 1: name" in refused(tmp_path / "set", repos=tmp_path)


def test_a_benchmark_root_cannot_leave_the_tree(tmp_path):
    path = code_set(tmp_path / "set", {"one": ({"benchmark_root": "../../etc"}, [QUESTION])})
    assert "benchmark_root" in refused(path, repos=tmp_path)


def test_a_broken_question_file_is_named_with_its_line(tmp_path):
    path = code_set(tmp_path / "set", {"one": ({}, [QUESTION])})
    (path / "one.json").write_text('[\n {"query": "x",\n}]')
    assert "one.json, line 3: not JSON" in refused(path, repos=tmp_path)
    (path / "one.json").write_text('{"query": "x"}')
    assert "one.json, line 1: not a list" in refused(path, repos=tmp_path)
    (path / "one.json").unlink()
    assert "one.json cannot be read" in refused(path, repos=tmp_path)


# -- issues and history -----------------------------------------------------------------------------------------------


def issue(number=1, **changes):
    return {
        "instance_id": f"own__project-{number}",
        "repo": "own/project",
        "base_commit": "a" * 40,
        "problem_statement": "Title line\r\nBody of the report",
        "gold_files": ["src/a.py"],
        **changes,
    }


def test_an_issue_becomes_a_query_by_title_and_one_by_whole_text(tmp_path):
    Mirror(tmp_path)
    dataset = load_dataset(write_lines(tmp_path / "dev.jsonl", [issue()]), repos=tmp_path)
    assert dataset.kind == "issues"
    assert [(task.variant, task.text) for task in tasks_of(dataset)] == [
        ("title", "Title line"),
        ("text", "Title line\r\nBody of the report"),
    ]


def test_issues_at_one_commit_share_a_tree(tmp_path):
    Mirror(tmp_path)
    rows = [issue(1), issue(2), issue(3, base_commit="b" * 40)]
    dataset = load_dataset(write_lines(tmp_path / "dev.jsonl", rows), repos=tmp_path)
    assert [len(place.tasks) for place in dataset.places] == [4, 2]
    assert {place.repository for place in dataset.places} == {"own/project"}


def test_an_absent_git_directory_is_named_and_left_out(tmp_path):
    Mirror(tmp_path)
    rows = [issue(1), issue(2, repo="other/thing")]
    dataset = load_dataset(write_lines(tmp_path / "dev.jsonl", rows), repos=tmp_path)
    assert dataset.warnings == ("left out, no git directory: other/thing",)
    assert "no git directory of other/thing" in refused(write_lines(tmp_path / "b.jsonl", rows[1:]), repos=tmp_path)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"base_commit": "--output=x"}, "base_commit is not a commit"),
        ({"repo": "../../etc"}, "repo is not a name"),
        ({"gold_files": []}, "gold_files is empty"),
        ({"problem_statement": " "}, "problem_statement must be a text"),
    ],
)
def test_a_bad_issue_is_refused_with_its_line(tmp_path, change, complaint):
    path = write_lines(tmp_path / "dev.jsonl", [issue(1), issue(2, **change)])
    assert f"dev.jsonl, line 2: {complaint}" in refused(path, repos=tmp_path)


def test_history_tasks_are_split_by_whether_the_commit_quotes_the_report(tmp_path):
    mirror = Mirror(tmp_path)
    plain = mirror.commit("Keep the separator", {"a.py": "1"})
    telling = mirror.commit("Join drops the last separator", {"a.py": "2"})
    row = {"repo": "own/project", "title": "Join drops the last separator", "query": "Join drops it.\nAlways."}
    rows = [{**row, "instance_id": "one", "commit": plain}, {**row, "instance_id": "two", "commit": telling}]
    dataset = load_dataset(write_lines(tmp_path / "dev.jsonl", rows), repos=tmp_path)
    assert dataset.kind == "history"
    assert [(task.id, task.category) for task in tasks_of(dataset)] == [
        ("one/title", UNQUOTED),
        ("one/text", UNQUOTED),
        ("two/title", QUOTED),
        ("two/text", QUOTED),
    ]


def test_a_history_task_without_its_commit_is_named(tmp_path):
    Mirror(tmp_path).commit("one", {"a.py": ""})
    row = {"instance_id": "x", "repo": "own/project", "title": "T", "query": "T", "commit": "f" * 40}
    dataset = load_dataset(write_lines(tmp_path / "dev.jsonl", [row]), repos=tmp_path)
    assert dataset.warnings == ("x: own/project has no commit ffffffffffff",)


def test_a_question_about_the_past_may_have_several_right_commits(tmp_path):
    mirror = Mirror(tmp_path)
    one, two = mirror.commit("one", {"a.py": ""}), mirror.commit("two", {"a.py": "x"})
    row = {"repo": "Own/Project", "query": "was it ever undone?", "commits": [one, two], "category": "tried"}
    path = write_lines(tmp_path / "past.jsonl", [row])
    dataset = load_dataset(path, repos=tmp_path)
    (task,) = tasks_of(dataset)
    assert (dataset.kind, task.commits, task.category, dataset.warnings) == ("history", (one, two), "tried", ())
    assert dataset.places[0].git_directory == tmp_path / "own+project" / "repo"  # names of owners do not mind their case
    found = evaluate(path, opening(FakeSearcher({row["query"]: [commit_hit("f" * 40), commit_hit(two)]})), repos=tmp_path)
    assert found.results[0].scores["file_mrr@10"] == found.results[0].scores["file_mrr@3"] == 0.5
    for broken in ([], "one", ["not a commit"]):
        assert "commits" in refused(write_lines(tmp_path / "broken.jsonl", [{**row, "commits": broken}]), repos=tmp_path)


# -- one's own --------------------------------------------------------------------------------------------------------


def test_questions_of_ones_own_name_files_lines_or_a_pattern(tmp_path):
    dataset = own(
        tmp_path,
        {
            "query": "a",
            "relevant": ["./src\\x.py", {"path": "y.py", "start_line": 3}],
            "category": "c",
            "language": "go",
        },
        {"query": "b", "pattern": "^class Retry"},
    )
    first, second = tasks_of(dataset)
    assert dataset.kind == "own"
    assert first.targets == (Target("src/x.py"), Target("y.py", 3))
    assert (first.category, first.language) == ("c", "go")
    assert second.pattern.search("x\nclass Retry:")


def test_a_repeated_query_is_left_out_and_reported(tmp_path):
    dataset = own(
        tmp_path, QUESTION, {"query": "other", "relevant": ["a"]}, {**QUESTION, "query": "how  are requests retried "}
    )
    assert [task.id for task in tasks_of(dataset)] == ["line 1", "line 2"]
    assert dataset.warnings == ("own.jsonl, line 3 repeats line 1: left out",)


def test_blank_lines_a_byte_order_mark_and_exotic_line_ends_are_no_obstacle(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text('\ufeff\n{"query": "a\u2028b", "relevant": ["a.py"]}\r\n\n', encoding="utf-8")
    assert [task.id for task in tasks_of(load_dataset(path, root=tmp_path))] == ["line 2"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "not JSON"),
        ("[1]", "not an object"),
        ('"text"', "not an object"),
        ("[" * 100_000, "not JSON"),
        ('{"relevant": ["a"]}', "query must be a text"),
        ('{"query": 3, "relevant": ["a"]}', "query must be a text"),
        ('{"query": "x\\ud800", "relevant": ["a"]}', "query holds half a character"),
        ('{"query": "x"}', "relevant must be a list"),
        ('{"query": "x", "relevant": []}', "relevant is empty"),
        ('{"query": "x", "relevant": "a.py"}', "relevant must be a list"),
        ('{"query": "x", "relevant": [7]}', "relevant holds 7"),
        ('{"query": "x", "relevant": ["/etc/passwd"]}', "relevant holds '/etc/passwd'"),
        ('{"query": "x", "relevant": ["../a.py"]}', "relevant holds '../a.py'"),
        ('{"query": "x", "relevant": [{"path": "a", "start_line": 0}]}', "relevant holds the line 0"),
        ('{"query": "x", "relevant": [{"path": "a", "start_line": true}]}', "relevant holds the line True"),
        ('{"query": "x", "relevant": [{"path": "a", "start_line": 9, "end_line": 3}]}', "relevant ends at line 3"),
        ('{"query": "x", "relevant": ["a"], "category": 1}', "category must be a text"),
        ('{"query": "x", "pattern": "("}', "pattern is not a regular expression"),
        (json.dumps({"query": "x", "pattern": "a" * 1001}), "pattern has more than 1000 characters"),
        ('{"query": "x", "pattern": "a", "relevant": ["a"]}', "both relevant and pattern"),
    ],
)
def test_a_malformed_line_is_refused_with_file_and_number(tmp_path, line, complaint):
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(QUESTION) + "\n" + line + "\n")
    assert f"own.jsonl, line 2: {complaint}" in refused(path, root=tmp_path)


def test_a_pattern_of_a_thousand_characters_is_still_allowed(tmp_path):
    assert tasks_of(own(tmp_path, {"query": "x", "pattern": "a" * 1000}))


def test_missing_parts_are_reported(tmp_path):
    assert "no dataset at" in refused(tmp_path / "nothing.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n\n")
    assert "holds no questions" in refused(tmp_path / "empty.jsonl", root=tmp_path)
    (tmp_path / "folder").mkdir()
    assert "holds no repos.json" in refused(tmp_path / "folder")
    (tmp_path / "folder" / "repos.json").write_text("[]")
    assert "holds no questions" in refused(tmp_path / "folder", repos=tmp_path)
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    assert "cannot be read" in refused(tmp_path / "binary.jsonl", root=tmp_path)
    path = write_lines(tmp_path / "own.jsonl", [QUESTION])
    assert "needs a folder: the repository" in refused(path)
    assert "is not a folder" in refused(path, root=tmp_path / "nowhere")
