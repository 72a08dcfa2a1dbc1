import pytest

from lurcher.errors import QueryError
from lurcher.evaluation import evaluate, format_report
from lurcher.evaluation.report import table

from .fakes import FakeSearcher, code_set, hit, opening, write_tree


@pytest.fixture
def report(tmp_path):
    asked = [
        {"query": "q", "relevant": ["a.py"], "category": "semantic"},
        {"query": "r", "relevant": ["a.py"], "category": "symbol"},
        {"query": "bad", "relevant": ["gone.py"], "category": "symbol"},
    ]
    path = code_set(
        tmp_path / "set", {"one": ({}, asked), "two": ({"language": "go"}, asked[:1]), "three": ({}, asked)}
    )
    trees = write_tree(tmp_path / "trees", {"one/a.py": "", "two/a.py": ""})
    answers = {"q": [hit("a.py")], "r": [hit("b.py"), hit("b.py", 20, 30), hit("a.py")], "bad": QueryError("too long")}
    return format_report(evaluate(path, opening(FakeSearcher(answers)), repos=trees))


def line(report, start):
    return next(text for text in report.splitlines() if text.strip().startswith(start))


def test_the_headline_is_the_mean_over_repositories_with_its_interval(report):
    # one: (1 + 0.5 + 0) / 3, two: 1
    assert line(report, "ndcg@10").startswith("ndcg@10 0.7500  [")
    assert line(report, "ndcg@10").endswith("mean over repositories")


def test_groups_stand_in_rows_under_their_titles(report):
    assert line(report, "mean over queries").split()[3:5] == ["4", "0.6250"]
    assert line(report, "semantic").split()[:3] == ["semantic", "2", "1.0000"]
    assert line(report, "symbol").split()[:3] == ["symbol", "2", "0.2500"]
    assert line(report, "go").split()[:3] == ["go", "1", "1.0000"]
    assert line(report, "two").split()[:3] == ["two", "1", "1.0000"]
    titles = [text for text in report.splitlines() if text in ("category", "language", "repository")]
    assert titles == ["category", "language", "repository"]


def test_columns_are_aligned(report):
    rows = [row for row in report.splitlines() if row.startswith(("  ", "mean over")) and row[-1].isdigit()]
    assert len({len(row) for row in rows}) == 1


def test_the_rest_is_one_line_each(report):
    assert line(report, "any hit") == "any hit 0.750 · distinct first hits 0.750 · first three repeat a file 0.250"
    assert line(report, "latency").endswith("1 failed")
    assert line(report, "recall in tokens").startswith("recall in tokens  500: 0.750")


def test_warnings_come_last(report):
    assert report.splitlines()[-4:] == [
        "warnings (3)",
        "  left out, no tree: three",
        "  one: no file gone.py, which a label names",
        "  1 × question failed: too long",
    ]


def test_a_row_of_one_cell_is_a_title():
    assert list(table([["title"], ["  a", "1"], ["  long", "22"]], ["", "n"])) == [
        "         n",
        "title",
        "  a      1",
        "  long  22",
    ]
