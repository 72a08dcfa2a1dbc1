import pytest

from lurcher.errors import DatasetError
from lurcher.evaluation import compare, evaluate, format_comparison, save_run

from .fakes import FakeSearcher, code_set, hit, opening, write_lines, write_tree

FIRST, SECOND = [hit("a.py")], [hit("b.py"), hit("a.py")]


@pytest.fixture
def run_of(tmp_path):
    root = write_tree(tmp_path / "project", {"a.py": "", "b.py": ""})
    rows = [
        {"query": f"q{number}", "relevant": ["a.py"], "category": "even" if number % 2 == 0 else "odd"}
        for number in range(6)
    ]

    def make(found, rows=rows, **settings):
        path = write_lines(tmp_path / "own.jsonl", rows)
        answers = {f"q{number}": hits for number, hits in enumerate(found)}
        return evaluate(path, opening(FakeSearcher(answers)), root=root, settings=settings)

    return make


def test_the_difference_is_paired_question_by_question(run_of):
    before = run_of([SECOND, SECOND, SECOND, FIRST, FIRST, []], alpha=0.3)
    after = run_of([FIRST, FIRST, SECOND, SECOND, FIRST, []], alpha=0.5)
    (variant,) = compare(before, after).variants
    gain = 1 - 0.63093
    assert (variant.wins, variant.losses, variant.ties) == (2, 1, 3)
    assert variant.headline.change.mean == pytest.approx(gain / 6, abs=1e-4)
    assert variant.headline.after - variant.headline.before == pytest.approx(variant.headline.change.mean)
    assert variant.headline.p_value == pytest.approx(1.0)  # +g +g −g: any signs are as far from zero
    assert [move.query for move in variant.gained] == ["q0", "q1"]
    assert [move.query for move in variant.lost] == ["q3"]
    assert {entry.name: round(entry.change.mean, 3) for entry in variant.categories} == {
        "even": round(gain / 3, 3),
        "odd": 0.0,
    }
    assert variant.metrics["hit@1"] == (pytest.approx(2 / 6), pytest.approx(3 / 6))


def test_the_largest_moves_come_first(run_of):
    third = [hit("b.py"), hit("b.py", 20, 30), hit("a.py")]
    before = run_of([SECOND, [], third, FIRST, FIRST, FIRST])
    after = run_of([FIRST, FIRST, FIRST, SECOND, [], third])
    (forth,), (back,) = compare(before, after).variants, compare(after, before).variants
    assert [move.query for move in forth.gained] == [move.query for move in back.lost] == ["q1", "q2", "q0"]
    assert [move.query for move in forth.lost] == [move.query for move in back.gained] == ["q4", "q5", "q3"]


def test_a_run_does_not_differ_from_itself(run_of):
    run = run_of([FIRST, SECOND, [], FIRST, FIRST, FIRST])
    (variant,) = compare(run, run).variants
    assert (variant.headline.change.mean, variant.headline.change.low, variant.headline.change.high) == (0, 0, 0)
    assert variant.headline.p_value == 1.0
    assert not variant.gained and not variant.lost


def test_swapping_the_runs_turns_the_sign(run_of):
    one, two = run_of([FIRST] * 6), run_of([SECOND] * 5 + [FIRST])
    (forth,), (back,) = compare(one, two).variants, compare(two, one).variants
    assert forth.headline.change.mean == pytest.approx(-back.headline.change.mean)
    assert forth.headline.change.low == pytest.approx(-back.headline.change.high, abs=0.02)
    assert forth.headline.p_value == back.headline.p_value == pytest.approx(2 / 32)


def test_settings_that_differ_are_named(run_of):
    comparison = compare(run_of([], alpha=0.3, b=1), run_of([], alpha=0.5, b=1))
    assert comparison.settings == {"alpha": (0.3, 0.5)}


def test_different_datasets_do_not_compare(run_of):
    other = [{"query": "q0", "relevant": ["b.py"]}]
    with pytest.raises(DatasetError, match="different datasets"):
        compare(run_of([FIRST]), run_of([FIRST], rows=other))


def test_questions_of_only_one_run_are_left_out_and_counted(tmp_path):
    asked = [{"query": "q", "relevant": ["a.py"]}]
    path = code_set(tmp_path / "set", {"one": ({}, asked), "two": ({}, asked)})
    trees = write_tree(tmp_path / "trees", {"one/a.py": "", "two/a.py": ""})
    searcher = opening(FakeSearcher({"q": FIRST}))
    both = evaluate(path, searcher, repos=trees)
    one = evaluate(path, searcher, repos=trees, only=["one"])
    two = evaluate(path, searcher, repos=trees, only=["two"])
    assert compare(both, two).left_out == 1
    assert "left out: 1" in format_comparison(compare(both, two))
    with pytest.raises(DatasetError, match="no question in common"):
        compare(one, two)


def test_saved_runs_compare_as_they_did_before(tmp_path, run_of):
    one, two = run_of([SECOND] * 6), run_of([FIRST] * 6)
    save_run(one, tmp_path / "one.json")
    save_run(two, tmp_path / "two.json")
    assert compare(tmp_path / "one.json", tmp_path / "two.json") == compare(one, two)


def test_the_text_shows_change_interval_chance_and_movers(run_of):
    text = format_comparison(compare(run_of([SECOND] * 6, alpha=0.3), run_of([FIRST] * 6, alpha=0.5)))
    assert "ndcg@10 0.6309 → 1.0000  +0.3691 [+0.3691, +0.3691]  p = 0.0312  mean over queries" in text
    assert "6 better, 0 worse, 0 equal" in text
    assert "  alpha: 0.3 → 0.5" in text
    assert "  0.631 → 1.000  project: q0" in text
    assert "lost most" not in text
