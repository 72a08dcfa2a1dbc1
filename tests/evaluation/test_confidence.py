import pytest

from lurcher.errors import DatasetError
from lurcher.evaluation import evaluate, format_report, load_run, save_run
from lurcher.evaluation.confidence import choose_other_repositories
from lurcher.evaluation.metrics import auc, auc_interval

from .fakes import answer, code_set, hit, opening, write_tree


def test_the_auc_counts_pairs_in_the_right_order_and_half_of_ties():
    # 0.9 beats both, 0.4 beats 0.2 and ties with 0.4, 0.1 beats none: 3.5 of 6 pairs
    assert auc([0.9, 0.4, 0.1], [0.4, 0.2]) == pytest.approx(3.5 / 6)
    assert (auc([1.0], [0.0]), auc([0.0], [1.0]), auc([0.5, 0.5], [0.5])) == (1.0, 0.0, 0.5)


def test_the_interval_of_the_auc_is_around_it_and_repeats():
    groups = {"a": ([0.9, 0.4], [0.4]), "b": ([0.1], [0.2])}
    found = auc_interval(groups)
    assert found.mean == pytest.approx(3.5 / 6) and found.low < found.mean < found.high
    assert found.resampled == "queries" and auc_interval(groups) == found
    assert auc_interval({f"r{i}": ([0.9], [0.1]) for i in range(8)}).resampled == "repositories"
    assert auc_interval({"a": ([0.9], [])}) is None


def test_each_repository_gets_the_questions_of_another():
    other = choose_other_repositories(["c", "a", "b", "a"])
    assert sorted(other) == sorted(other.values()) == ["a", "b", "c"]
    assert all(name != asked for name, asked in other.items())
    with pytest.raises(DatasetError, match="one repository"):
        choose_other_repositories(["a", "a"])


class Judging:
    """Says of each question what `told` has for it in this folder."""

    def __init__(self, told):
        self.told = told
        self.folder = ""
        self.asked = []

    def search(self, text, *, limit, **options):
        self.asked.append((self.folder, text))
        level, here, first, path = self.told.get((self.folder, text), ("none", 0.0, 0.0, "x.py"))
        return answer([hit(path)]).replace(confidence=level, likelihood={"here": here, "first": first})


TOLD = {
    ("one", "q1"): ("strong", 0.9, 0.9, "a.py"), ("one", "q2"): ("none", 0.2, 0.3, "b.py"),
    ("two", "q3"): ("fair", 0.6, 0.4, "a.py"), ("two", "q1"): ("weak", 0.4, 0.5, "a.py"),
}  # fmt: skip


@pytest.fixture
def run(tmp_path):
    questions = {"one": ["q1", "q2"], "two": ["q3"]}
    rows = {
        name: ({}, [{"query": text, "relevant": ["a.py"], "category": "semantic"} for text in texts])
        for name, texts in questions.items()
    }
    dataset = code_set(tmp_path / "set", rows)
    for name in questions:
        write_tree(tmp_path / "trees" / name, {"a.py": "x\n", "b.py": "x\n"})
    judging = Judging(TOLD)
    inner = opening(judging)

    def open_engine(folder):
        judging.folder = folder.name
        return inner(folder)

    return evaluate(dataset, open_engine, repos=tmp_path / "trees", negatives=True)


def test_confidence_is_measured_against_right_answers_and_against_other_repositories(run):
    # Asked of another repository: q1 of two (0.4), since two has one question, and q3 of one (0.0).
    assert [(entry.id, entry.repository, entry.confidence) for entry in run.negatives] == [
        ("two#1", "one", "none"), ("one#1", "two", "weak"),
    ]  # fmt: skip
    (summary,) = run.summaries
    found = summary.confidence
    assert found.levels == {"strong": 1, "fair": 1, "weak": 0, "none": 1}
    assert found.negative_levels == {"strong": 0, "fair": 0, "weak": 1, "none": 1}
    assert (found.false_alarms, found.noticed) == (pytest.approx(1 / 3), 0.5)
    assert found.first_file.mean == 1.0  # 0.9 and 0.4 are right, 0.3 is wrong
    assert found.wrong_repository.mean == pytest.approx(5 / 6)  # only 0.2 is below 0.4
    text = format_report(run)
    assert "strong 1  fair 1  weak 0  none 1 · false alarms 0.333 · AUC first file right 1.000 [" in text
    assert "none 1 · noticed 0.500 · AUC own against wrong 0.833 [" in text


def test_a_saved_run_keeps_its_confidence(run, tmp_path):
    save_run(run, tmp_path / "run.json")
    again = load_run(tmp_path / "run.json")
    assert again.negatives == run.negatives and again.summaries == run.summaries


def test_questions_about_one_repository_have_no_negatives(tmp_path):
    root = write_tree(tmp_path / "project", {"a.py": "x\n"})
    path = tmp_path / "own.jsonl"
    path.write_text('{"query": "q", "relevant": ["a.py"]}\n')
    with pytest.raises(DatasetError, match="one repository"):
        evaluate(path, opening(Judging({})), root=root, negatives=True)


def test_answers_without_confidence_are_not_measured(tmp_path):
    root = write_tree(tmp_path / "project", {"a.py": "x\n"})
    path = tmp_path / "own.jsonl"
    path.write_text('{"query": "q", "relevant": ["a.py"]}\n')

    class Silent:
        def search(self, text, *, limit, **options):
            return answer([hit("a.py")])

    measured = evaluate(path, opening(Silent()), root=root)
    assert measured.summaries[0].confidence is None and "confidence" not in format_report(measured)
