import pytest

from lurcher.errors import DatasetError, LurcherError, QueryError
from lurcher.evaluation import evaluate
from lurcher.evaluation.harness import WARM_UP
from lurcher.types import Degraded

from .fakes import FakeSearcher, Mirror, answer, code_set, commit_hit, hit, opening, write_lines, write_tree


def own_run(tmp_path, rows, answers, files=("a.py", "b.py"), **options):
    root = write_tree(tmp_path / "project", dict.fromkeys(files, "x\n"))
    path = write_lines(tmp_path / "own.jsonl", rows)
    searcher = answers if hasattr(answers, "search") else FakeSearcher(answers)
    return evaluate(path, opening(searcher), root=root, **options)


def scores(run, number=0):
    return run.results[number].scores


def test_answers_are_scored_by_the_rank_of_their_targets(tmp_path):
    rows = [{"query": "q", "relevant": ["b.py"]}]
    run = own_run(tmp_path, rows, {"q": [hit("a.py"), hit("a.py", 11, 20), hit("b.py")]})
    assert (run.results[0].chunk_ranks, run.results[0].file_ranks) == ((3,), (2,))
    assert scores(run)["ndcg@10"] == 0.5
    assert scores(run)["file_ndcg@10"] == pytest.approx(0.6309, abs=1e-4)
    assert (scores(run)["hit@1"], scores(run)["hit@3"], scores(run)["mrr@10"]) == (0.0, 1.0, pytest.approx(1 / 3))
    assert run.results[0].top == ("a.py", "a.py", "b.py")


def test_a_target_with_lines_waits_for_a_hit_that_overlaps_them(tmp_path):
    rows = [{"query": "q", "relevant": [{"path": "a.py", "start_line": 30, "end_line": 40}]}]
    run = own_run(tmp_path, rows, {"q": [hit("a.py", 1, 29), hit("a.py", 35, 36)]})
    assert run.results[0].chunk_ranks == (2,)
    assert run.results[0].file_ranks == (None,)  # the first hit of that file is what file ranks keep


def test_tokens_of_the_hits_bound_the_recall(tmp_path):
    rows = [{"query": "q", "relevant": ["a.py", "b.py"]}]
    run = own_run(tmp_path, rows, {"q": [hit("a.py", tokens=400), hit("b.py", tokens=500)]})
    assert (scores(run)["recall@500t"], scores(run)["recall@1000t"]) == (0.5, 1.0)


def test_a_pattern_counts_as_one_target(tmp_path):
    run = own_run(tmp_path, [{"query": "q", "pattern": "retry"}], {"q": [hit("a.py"), hit("b.py", symbol="retry")]})
    assert run.results[0].chunk_ranks == (2,)


def test_the_warm_up_is_neither_scored_nor_one_of_the_questions(tmp_path):
    searcher = FakeSearcher({})
    run = own_run(tmp_path, [{"query": "q", "relevant": ["a.py"]}], searcher, options={"mode": "lexical"})
    assert searcher.asked == [(text, {"limit": 20, "mode": "lexical"}) for text in (WARM_UP, "q")]
    assert len(run.results) == 1


def test_options_and_settings_are_recorded(tmp_path):
    rows = [{"query": "q", "relevant": ["a.py"]}]
    run = own_run(tmp_path, rows, {}, options={"mode": "lexical"}, settings={"k1": 1.2}, limit=15)
    assert run.settings == {"k1": 1.2, "limit": 15, "mode": "lexical"}


def test_a_label_without_a_file_is_warned_of_and_counts_as_missed(tmp_path):
    rows = [{"query": "q", "relevant": ["a.py", "gone.py"]}]
    run = own_run(tmp_path, rows, {"q": [hit("a.py")]})
    assert run.warnings == ("project: no file gone.py, which a label names",)
    assert run.results[0].chunk_ranks == (1, None)


def test_a_query_that_occurs_in_the_corpus_gives_a_warning(tmp_path):
    rows = [{"query": "where words stand", "relevant": ["a.py"]}]
    write_tree(tmp_path / "project", {"notes.md": "Where words\nstand"})
    assert own_run(tmp_path, rows, {}).warnings == ("project: notes.md holds the query 'where words stand'",)
    assert own_run(tmp_path, rows, {}, check_leaks=False).warnings == ()


def test_a_question_that_fails_scores_zero_and_is_reported(tmp_path):
    rows = [{"query": "good", "relevant": ["a.py"]}, {"query": "bad", "relevant": ["a.py"]}]
    run = own_run(tmp_path, rows, {"good": [hit("a.py")], "bad": QueryError("too long")})
    assert [result.scores["ndcg@10"] for result in run.results] == [1.0, 0.0]
    assert run.results[1].error == "query: too long"
    assert run.summaries[0].failed == 1
    assert run.warnings == ("1 × question failed: too long",)


def test_when_every_question_fails_the_error_is_raised(tmp_path):
    with pytest.raises(QueryError, match="no"):
        own_run(tmp_path, [{"query": "bad", "relevant": ["a.py"]}], {"bad": QueryError("no")})


def test_errors_that_are_no_answer_of_the_engine_are_not_hidden(tmp_path):
    with pytest.raises(ZeroDivisionError):
        own_run(tmp_path, [{"query": "bad", "relevant": ["a.py"]}], {"bad": ZeroDivisionError()})


def test_degraded_answers_are_counted(tmp_path):
    class Weak:
        def search(self, text, *, limit):
            return answer([], degraded=(Degraded("dense", "no model"),))

    rows = [{"query": text, "relevant": ["a.py"]} for text in "qr"]
    assert own_run(tmp_path, rows, Weak()).warnings == ("2 × answer degraded: dense: no model",)


def test_progress_counts_up_to_the_total(tmp_path):
    seen = []
    rows = [{"query": text, "relevant": ["a.py"]} for text in "qr"]
    own_run(tmp_path, rows, {}, progress=lambda *report: seen.append(report))
    assert seen == [("project", 0, 2), ("project", 1, 2), ("", 2, 2)]


def test_a_code_set_opens_each_benchmark_root_and_averages_over_repositories(tmp_path):
    asked = [{"query": f"q{number}", "relevant": ["lib/x/init.lua"], "category": "c"} for number in range(3)]
    path = code_set(tmp_path / "set", {"one": ({"benchmark_root": "lib"}, asked), "two": ({}, asked[:1])})
    trees = write_tree(
        tmp_path / "trees", dict.fromkeys(("one/lib/x/init.lua", "one/lib/init.lua", "two/lib/x/init.lua"), "")
    )
    folders = []
    searcher = FakeSearcher({f"q{number}": [hit("init.lua"), hit("x/init.lua")] for number in range(3)})
    run = evaluate(path, opening(searcher, folders), repos=trees)
    assert folders == [trees / "one/lib", trees / "two"]
    assert [result.chunk_ranks for result in run.results] == [(2,), (2,), (2,), (None,)]
    (summary,) = run.summaries
    assert summary.metric == "ndcg@10" and summary.headline.over == "repositories"
    assert summary.headline.mean == pytest.approx(0.6309 / 2, abs=1e-4)
    assert summary.by_queries.scores["ndcg@10"] == pytest.approx(0.6309 * 3 / 4, abs=1e-4)
    assert {group.name: group.queries for group in summary.repositories} == {"one": 3, "two": 1}


def test_a_repository_that_cannot_be_opened_scores_zero_and_the_others_go_on(tmp_path):
    asked = [{"query": "q", "relevant": ["a.py"]}]
    path = code_set(tmp_path / "set", {"one": ({}, asked), "two": ({}, asked)})
    trees = write_tree(tmp_path / "trees", {"one/a.py": "", "two/a.py": ""})
    working = opening(FakeSearcher({"q": [hit("a.py")]}))

    def open_engine(folder):
        if folder.name == "one":
            raise LurcherError("cannot read it")
        return working(folder)

    run = evaluate(path, open_engine, repos=trees)
    assert [result.scores["hit@1"] for result in run.results] == [0.0, 1.0]
    assert run.warnings == ("1 × question failed: cannot read it",)


def test_a_run_can_be_restricted_to_some_repositories(tmp_path):
    asked = [{"query": "q", "relevant": ["a.py"]}]
    path = code_set(tmp_path / "set", {"one": ({}, asked), "two": ({}, asked)})
    trees = write_tree(tmp_path / "trees", {"one/a.py": "", "two/a.py": ""})
    run = evaluate(path, opening(FakeSearcher({})), repos=trees, only=["two"])
    assert [result.repository for result in run.results] == ["two"]
    with pytest.raises(DatasetError, match="no repository three"):
        evaluate(path, opening(FakeSearcher({})), repos=trees, only=["three"])


@pytest.fixture
def issue_set(tmp_path):
    mirror = Mirror(tmp_path / "mirrors")
    commit = mirror.commit("start", {"src/a.py": "", "src/b.py": ""})
    mirror.commit("later", {"src/c.py": ""})
    row = {
        "instance_id": "own__project-1",
        "repo": "own/project",
        "base_commit": commit,
        "problem_statement": "Title\nBody",
        "gold_files": ["src/b.py"],
    }
    return write_lines(tmp_path / "dev.jsonl", [row]), commit


def test_issues_are_run_at_their_commit_and_reported_in_two_variants(tmp_path, issue_set):
    path, commit = issue_set
    folders = []
    searcher = FakeSearcher(
        {"Title": [hit("src/a.py"), hit("src/a.py", 50, 60), hit("src/b.py")], "Title\nBody": [hit("src/b.py")]}
    )
    for _ in range(2):  # the second time over the tree that the first one laid out
        run = evaluate(path, opening(searcher, folders), repos=tmp_path / "mirrors", work=tmp_path / "work")
    assert folders == [tmp_path / "work" / f"own+project@{commit[:12]}"] * 2
    assert sorted(name.name for name in (folders[0] / "src").iterdir()) == ["a.py", "b.py"]
    assert [(summary.variant, summary.headline.mean) for summary in run.summaries] == [("title", 0.5), ("text", 1.0)]
    assert {summary.metric for summary in run.summaries} == {"file_mrr@10"}


def test_issues_need_a_folder_to_work_in(tmp_path, issue_set):
    with pytest.raises(DatasetError, match="a folder is needed"):
        evaluate(issue_set[0], opening(FakeSearcher({})), repos=tmp_path / "mirrors")


@pytest.fixture
def history_set(tmp_path):
    mirror = Mirror(tmp_path / "mirrors")
    mirror.commit("start", {"a.py": "1\n", "b.py": "1\n"})
    fix = mirror.commit("fix the leak", {"a.py": "2\n"})
    mirror.git("checkout", "--quiet", "-b", "release", "HEAD~1")
    mirror.commit("unrelated", {"b.py": "2\n"})
    mirror.git("cherry-pick", fix)
    row = {"instance_id": "one", "repo": "own/project", "title": "It leaks", "query": "It leaks\nbadly", "commit": fix}
    return write_lines(tmp_path / "dev.jsonl", [row]), fix, mirror.git("rev-parse", "HEAD")


def test_history_hits_are_judged_by_their_commit(tmp_path, history_set):
    path, fix, picked = history_set
    searcher = FakeSearcher(
        {
            "It leaks": [commit_hit("e" * 40), commit_hit("e" * 40), commit_hit(fix)],
            "It leaks\nbadly": [commit_hit("d" * 40, "fix the leak"), commit_hit(picked, "fix the leak")],
        }
    )
    folders = []
    run = evaluate(path, opening(searcher, folders), repos=tmp_path / "mirrors")
    assert folders == [tmp_path / "mirrors/own+project/repo"]
    assert all(options["sources"] == ["history"] for _, options in searcher.asked)
    assert [result.chunk_ranks for result in run.results] == [(3,), (2,)]
    assert [result.file_ranks for result in run.results] == [(2,), (2,)]
    assert [group.name for group in run.summaries[0].categories] == ["not quoted"]


def test_an_engine_without_history_says_so_itself(tmp_path, history_set):
    class CodeOnly:
        def search(self, text, *, limit, sources):
            raise LurcherError("history is not indexed", hint="run lurcher index --history")

    with pytest.raises(LurcherError, match="history is not indexed"):
        evaluate(history_set[0], opening(CodeOnly()), repos=tmp_path / "mirrors")
