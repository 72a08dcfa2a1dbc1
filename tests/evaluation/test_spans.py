"""Lines that answer a question: the measures by hand, the format of a set, and a run from its file to its report."""

import json
import math

import pytest

from lurcher.answer import count_tokens
from lurcher.errors import DatasetError
from lurcher.evaluation import compare, evaluate, format_comparison, format_report, load_run, save_run
from lurcher.evaluation.datasets import load_dataset
from lurcher.evaluation.metrics import median_change
from lurcher.evaluation.spans import NEVER, graded_ndcg, line_scores, merge_ranges, read_in_order
from lurcher.types import Answer, IndexState

from .fakes import FakeSearcher, Mirror, hit, opening, write_lines, write_tree

LINE = "word\n"


def shown(path, first, last):
    return hit(path, first, last, text=LINE * (last - first + 1))


def heading(path, first, last):
    return count_tokens(f"{path}:{first}-{last}\n")


def test_ranges_that_overlap_or_touch_become_one():
    assert merge_ranges([(8, 9), (1, 3), (2, 5), (6, 6)]) == ((1, 6), (8, 9))
    assert merge_ranges([(1, 9), (2, 3)]) == ((1, 9),)
    assert merge_ranges([]) == ()


def test_reading_pays_for_the_heading_and_spreads_the_text_by_length():
    text = "a = 1\nlonger = 22222\n"
    read = list(read_in_order([hit("a.py", 7, 8, text=text)]))
    head = heading("a.py", 7, 8)
    each = count_tokens(text) / len(text)
    assert [(entry.path, entry.line) for entry in read] == [("a.py", 7), ("a.py", 8)]
    assert read[0].tokens == pytest.approx(head + 6 * each)
    assert read[1].tokens == pytest.approx(head + count_tokens(text))


def test_reading_ends_at_the_last_line_that_fits():
    one = heading("a.py", 1, 4)
    each = count_tokens(LINE * 4) / 4
    assert [entry.line for entry in read_in_order([shown("a.py", 1, 4)], at_most=one + 2.5 * each)] == [1, 2]
    assert list(read_in_order([shown("a.py", 1, 4)], at_most=one)) == []


def test_a_text_without_a_last_line_end_has_as_many_lines_as_one_with_it():
    assert len(list(read_in_order([hit("a.py", 1, 2, text="a\nb")]))) == 2
    assert len(list(read_in_order([hit("a.py", 1, 2, text="a\nb\n")]))) == 2
    assert len(list(read_in_order([hit("a.py", 1, 1, text="")]))) == 1


def test_the_gain_is_the_share_of_a_range_that_a_hit_is_the_first_to_cover():
    gold = {"a.py": ((1, 10),), "b.py": ((5, 6),)}
    ideal = 1 + 1 / math.log2(3)
    # Half of the first range, then the same half again with two lines more, then the whole second range.
    hits = [shown("a.py", 1, 5), shown("a.py", 1, 7), shown("b.py", 1, 20)]
    gained = 0.5 + 0.2 / math.log2(3) + 1 / math.log2(4)
    assert graded_ndcg(hits, gold) == pytest.approx(gained / ideal)


def test_the_graded_gain_is_capped_and_ends_at_its_depth():
    gold = {"a.py": ((1, 2), (5, 6))}
    assert graded_ndcg([shown("a.py", 1, 9)], gold) == 1.0
    assert graded_ndcg([shown("no.py", 1, 2)] * 10 + [shown("a.py", 1, 9)], gold) == 0.0
    assert graded_ndcg([], gold) == 0.0
    assert graded_ndcg([shown("a.py", 3, 4)], gold) == 0.0


def test_lines_count_once_and_budgets_include_headings_and_wrong_hits():
    each = count_tokens(LINE * 100) / 100
    hits = [shown("no.py", 1, 100), shown("a.py", 1, 100), shown("a.py", 51, 150)]
    before = heading("no.py", 1, 100) + 100 * each
    first = before + heading("a.py", 1, 100) + 41 * each
    assert 500 > first > 200  # or the figures below would not be those meant
    scores = line_scores(hits, {"a.py": ((41, 50), (101, 110))})
    assert scores["first_line_tokens"] == pytest.approx(first)
    whole = before + heading("a.py", 1, 100) + 100 * each + heading("a.py", 51, 150) + 60 * each
    assert 500 < whole < 1000
    assert scores["lines@500t"] == 0.5
    assert scores["lines@1000t"] == scores["lines@8000t"] == 1.0
    assert scores["precision@2000t"] == pytest.approx(20 / 250)


def test_a_question_without_any_line_read_counts_as_never():
    scores = line_scores([shown("no.py", 1, 9)], {"a.py": ((1, 2),)})
    assert scores["first_line_tokens"] == NEVER
    assert scores["precision@2000t"] == scores["lines@8000t"] == scores["graded_ndcg@10"] == 0.0
    assert line_scores([], {"a.py": ((1, 2),)})["precision@2000t"] == 0.0


def test_a_change_of_medians_is_resampled_in_pairs():
    steady = median_change([(float(value), value + 10.0) for value in range(50)])
    assert (steady.mean, steady.low, steady.high) == (10.0, 10.0, 10.0)
    assert median_change([(1.0, 1.0), (5.0, 2.0), (9.0, 30.0)]).mean == -3.0
    assert median_change([]).mean == 0.0


# -- sets and runs -----------------------------------------------------------------------------------------------------


def own_set(tmp_path, gold, **rest):
    root = write_tree(tmp_path / "project", {"a.py": LINE * 40, "b.py": LINE * 40, "empty.py": ""})
    return write_lines(tmp_path / "set.jsonl", [{"id": "one", "query": "where", "gold": gold, **rest}]), root


def test_span_ranks_need_the_lines_and_file_ranks_only_the_file(tmp_path):
    path, root = own_set(tmp_path, {"a.py": [[10, 12]], "b.py": [[1, 2], [3, 4]]}, category="how", language="python")
    hits = [shown("x.py", 1, 3), shown("a.py", 1, 9), shown("a.py", 12, 20), shown("b.py", 4, 4)]
    run = evaluate(path, opening(FakeSearcher({"where": hits})), root=root)
    result = run.results[0]
    assert (result.id, result.category, result.language) == ("one", "how", "python")
    assert result.chunk_ranks == (3, 4)
    assert result.file_ranks == (2, 3)
    assert result.scores["mrr@10"] == pytest.approx(1 / 3, abs=1e-6)
    assert (result.scores["hit@1"], result.scores["hit@5"]) == (0.0, 1.0)
    assert (result.scores["file_mrr@10"], result.scores["file_hit@1"]) == (0.5, 0.0)
    assert "recall@500t" not in result.scores
    assert run.settings["limit"] == 10


def test_places_are_ranked_as_shown_and_lines_are_read_within_the_budget(tmp_path):
    path, root = own_set(tmp_path, {"a.py": [[10, 12]]})
    first, second = shown("x.py", 1, 3), shown("a.py", 10, 12)
    grouped = first.with_places((*first.places, *shown("x.py", 8, 9).places))

    class Packing:
        def search(self, text, *, limit, budget=None, **options):
            # With a budget the second file is shown, without one only the first.
            hits = (grouped, second) if budget is None else (first,) if budget < 4000 else (second,)
            return Answer("q", "hybrid", "natural-language", "default", ("code",), hits, 2, 0, None, IndexState(1, True, 0))

    scores = evaluate(path, opening(Packing()), root=root).results[0].scores
    assert scores["mrr@10"] == pytest.approx(1 / 3, abs=1e-6)
    assert scores["file_mrr@10"] == 0.5
    assert (scores["lines@2000t"], scores["lines@4000t"]) == (0.0, 1.0)
    unpacked = evaluate(path, opening(Packing()), root=root, packed=False).results[0].scores
    assert unpacked["lines@2000t"] == 1.0


def test_lines_that_the_tree_lacks_are_left_out_and_counted(tmp_path):
    root = write_tree(tmp_path / "project", {"a.py": LINE * 40})
    rows = [
        {"id": "whole", "query": "one", "gold": {"a.py": [[39, 60]]}},
        {"id": "part", "query": "two", "gold": {"a.py": [[1, 2], [50, 60]], "gone.py": [[1, 2]]}},
        {"id": "none", "query": "three", "gold": {"gone.py": [[1, 2]], "a.py": [[41, 42]]}},
    ]
    searcher = FakeSearcher({"one": [shown("a.py", 40, 40)], "two": [shown("a.py", 1, 1)]})
    run = evaluate(write_lines(tmp_path / "set.jsonl", rows), opening(searcher), root=root)
    assert [result.id for result in run.results] == ["whole", "part"]
    assert [result.scores["lines@500t"] for result in run.results] == [0.5, 0.5]
    assert run.left_out == {"no labelled line in the tree": 1}
    assert any("gone.py" in warning for warning in run.warnings)
    assert "2 questions; left out: 1 no labelled line in the tree" in format_report(run)


def test_a_set_whose_lines_are_all_gone_is_an_error(tmp_path):
    path, root = own_set(tmp_path, {"gone.py": [[1, 2]]})
    with pytest.raises(DatasetError, match="none of the labelled lines"):
        evaluate(path, opening(FakeSearcher({})), root=root)


def test_trees_come_from_git_directories_and_missing_ones_are_counted(tmp_path):
    mirror = Mirror(tmp_path / "mirrors")
    commit = mirror.commit("one", {"a.py": LINE * 3, ".gitattributes": "a.py export-ignore\n"})
    rows = [
        {"id": "1", "repo": "own/project", "commit": commit, "query": "one", "gold": {"a.py": [[1, 2]]}},
        {"id": "2", "repo": "own/project", "commit": "f" * 40, "query": "two", "gold": {"a.py": [[1, 2]]}},
        {"id": "3", "repo": "own/other", "commit": commit, "query": "three", "gold": {"a.py": [[1, 2]]}},
    ]
    path = write_lines(tmp_path / "set.jsonl", rows)
    folders = []
    searcher = FakeSearcher({"one": [shown("a.py", 1, 3)]})
    run = evaluate(path, opening(searcher, folders), repos=tmp_path / "mirrors", work=tmp_path / "work")
    assert [result.scores["hit@1"] for result in run.results] == [1.0]
    assert run.left_out == {"no git directory of the repository": 1, "no such commit in the git directory": 1}
    assert [folder.name for folder in folders] == [f"own+project@{commit[:12]}"]


def test_a_repository_without_a_commit_is_an_exported_tree(tmp_path):
    write_tree(tmp_path / "trees" / "one", {"a.py": LINE})
    rows = [{"repo": name, "query": f"in {name}", "gold": {"a.py": [[1, 1]]}} for name in ("one", "two")]
    dataset = load_dataset(write_lines(tmp_path / "set.jsonl", rows), repos=tmp_path / "trees")
    assert [(place.name, place.tasks[0].id) for place in dataset.places] == [("one", "line 1")]
    assert dataset.left_out == {"no tree of the repository": 1}


@pytest.mark.parametrize(
    "gold",
    [
        {}, [], {"a.py": []}, {"a.py": [3]}, {"a.py": [[1]]}, {"a.py": [[0, 1]]}, {"a.py": [[3, 2]]}, {"../a.py": [[1, 2]]},
        {"a.py": [["1", "2"]]},
    ],
)
def test_bad_labels_are_errors_that_name_the_line(tmp_path, gold):
    path, root = own_set(tmp_path, gold)
    with pytest.raises(DatasetError, match="line 1: gold") as error:
        load_dataset(path, root=root)
    assert error.value.hint


def test_a_run_of_lines_is_saved_read_and_compared(tmp_path):
    path, root = own_set(tmp_path, {"a.py": [[10, 12]]})
    bad = evaluate(path, opening(FakeSearcher({"where": [shown("b.py", 1, 9)]})), root=root)
    good = evaluate(path, opening(FakeSearcher({"where": [shown("a.py", 11, 12)]})), root=root)
    save_run(good, tmp_path / "good.json")
    assert load_run(tmp_path / "good.json").results == good.results
    raw = json.loads((tmp_path / "good.json").read_text())
    tokens = good.results[0].scores["first_line_tokens"]
    assert raw["aggregates"]["query"]["first_line"] == {"median_tokens": round(tokens, 1), "never": 0}
    assert raw["aggregates"]["query"]["mean_over_queries"]["lines@500t"] == pytest.approx(2 / 3, abs=1e-6)
    assert "never read in 1 of 1" in format_report(bad)
    comparison = compare(bad, good)
    (entry,) = comparison.variants
    assert entry.intervals["lines@2000t"].mean == pytest.approx(2 / 3, abs=1e-6)
    assert entry.intervals["hit@10"].mean == 1.0
    assert entry.first_line is not None and entry.first_line[:2] == (NEVER, tokens)
    assert comparison.to_dict()["variants"]["query"]["first_line"]["after"] == round(tokens, 1)
    text = format_comparison(comparison)
    assert "lines@4000t" in text and "tokens until the first line" in text


def test_many_repositories_with_one_question_each_have_no_rows(tmp_path):
    def report(count):
        rows = [{"repo": f"p{number}", "query": "where", "gold": {"a.py": [[1, 1]]}} for number in range(count)]
        for number in range(count):
            write_tree(tmp_path / "trees" / f"p{number}", {"a.py": LINE})
        searcher = FakeSearcher({"where": [shown("a.py", 1, 1)]})
        run = evaluate(write_lines(tmp_path / "set.jsonl", rows), opening(searcher), repos=tmp_path / "trees")
        return format_report(run) + format_comparison(compare(run, run))

    assert report(20).count("  p7") == 2
    assert "p7" not in report(21)
