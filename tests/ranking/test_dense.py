"""What the dense lane does to the rankings."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from lurcher import config
from lurcher.config import Settings
from lurcher.lanes import top_files
from lurcher.query import LANGUAGE, REPORT, SYMBOL
from lurcher.ranking import Context, Ranking, classic, default, evidence, linear
from lurcher.ranking.evidence import DENSE_ALONE, _average_nearest_units, _find_largest, score_dense
from tests.small import context_of, snapshot_of
from tests.tables import WORDS, table_of

TABLE = table_of(WORDS, dims=64)
FILES = {
    "src/location.py": "def follow(response):\n    # the location that it leads to\n    return response.location\n",
    "src/jar.py": "def parse(header):\n    return session  # cookie jar\n",
    "src/pool.py": "def acquire():\n    return idle\n",
    "src/words.py": "# redirected\nvalue = 1\n",
    "tests/test_location.py": "def test_location():\n    assert location\n",
}
QUESTION = "where is it redirected"


def paths(context: Context, ranking: Ranking) -> list[str]:
    return [context.snapshot.path(int(context.snapshot.unit_file[unit])) for unit in ranking.units]


def asked(query: str = QUESTION, **options: object) -> Context:
    return context_of(FILES, query, table=TABLE, **options)  # type: ignore[arg-type]


def test_a_file_without_any_word_of_the_question_is_found_by_meaning() -> None:
    without, context = context_of(FILES, QUESTION), asked()
    assert paths(without, default.rank(without)) == ["src/words.py"]
    found = paths(context, default.rank(context))
    assert found[0] == "src/words.py"
    assert "src/location.py" in found
    assert "src/jar.py" not in found


def test_such_a_file_shows_the_unit_that_is_nearest() -> None:
    text = "# follow the location\n" + "buffer = 1\n" * 120 + "\ndef follow(location):\n    return location, follow\n"
    context = context_of({**FILES, "src/location.py": text}, QUESTION, table=TABLE)
    ranking = default.rank(context)
    position = paths(context, ranking).index("src/location.py")
    assert "def follow" in context.snapshot.unit_text(ranking.unit(position))


def test_the_formula_worked_by_hand() -> None:
    context = asked()
    snapshot = context.snapshot
    others = np.zeros(snapshot.file_total)
    others[3] = 0.8
    gained = score_dense(context, others, 0.25, 0.2)
    lane = context.lanes["dense"]
    assert gained is not None
    cards = lane.cards()  # type: ignore[attr-defined]
    near = np.flatnonzero((cards >= DENSE_ALONE) | (others > 0))
    chunks = {}
    every = lane.scan()  # type: ignore[attr-defined]
    for file in near.tolist():
        chunks[file] = float(np.sort(every[list(snapshot.units_of(file))])[::-1][:3].mean())
    top = max(chunks.values())
    for file in range(snapshot.file_total):
        if file not in chunks:
            assert gained[file] == 0
            continue
        expected = 0.25 * (0.5 + 4 * (cards[file] - cards.max())) + 0.2 * (0.5 + 4 * (chunks[file] - top))
        floor = -0.95 * others[file] if others[file] else 0.0
        assert gained[file] == pytest.approx(max(expected, floor))


def test_the_mean_is_of_the_three_nearest_units() -> None:
    many = "\n\n".join(f"def {word}_{i}(value):\n    return {word}  # {'x ' * 400}" for i, word in enumerate(WORDS[:8]))
    context = context_of({"a.py": many, "b.py": "location = 1\n"}, QUESTION, table=TABLE)
    lane = context.lanes["dense"]
    pool = np.array([0, 1])
    means = _average_nearest_units(context, lane, pool)  # type: ignore[arg-type]
    every = lane.scan()  # type: ignore[attr-defined]
    units = list(context.snapshot.units_of(0))
    assert len(units) > 3
    assert means[0] == pytest.approx(np.sort(every[units])[-3:].mean())
    assert means[1] == pytest.approx(every[context.snapshot.units_of(1).start])


@pytest.mark.parametrize("query", [QUESTION, "redirect the location header of a cookie", "Client", "it breaks\nredirected"])
def test_scores_fall_stay_in_bounds_and_follow_from_the_reasons(query: str) -> None:
    context = asked(query)
    ranking = default.rank(context)
    scores = ranking.scores
    assert all(a >= b for a, b in pairwise(scores)) and all(0 < score <= 1 for score in scores)
    for position, score in enumerate(scores):
        stages = ranking.why(position).stages
        value = sum(stage.amount for stage in stages if stage.amount is not None)
        for stage in stages:
            value *= 1.0 if stage.factor is None else stage.factor
        assert value == pytest.approx(score)


def test_what_was_found_by_words_stays_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default, "DENSE_CARD", 5.0)
    monkeypatch.setattr(default, "DENSE_CHUNK", 5.0)
    files = {**FILES, **{f"src/far_{i}.py": "# redirected\nbuffer = bytes\n" for i in range(30)}}
    plain, pushed = context_of(files, QUESTION), context_of(files, QUESTION, table=TABLE)
    assert set(paths(plain, default.rank(plain))) <= set(paths(pushed, default.rank(pushed)))


def test_files_beyond_the_pool_keep_their_order_and_come_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "DENSE_FILES", 2)
    context = asked("redirected location cookie idle value")
    gained = score_dense(context, np.array([0.5, 0.4, 0.3, 0.2, 0.1]), 0.25, 0.2)
    assert gained is not None
    assert (gained >= -0.95 * np.array([0.5, 0.4, 0.3, 0.2, 0.1])).all()
    ranking = default.rank(context)
    assert len(set(paths(context, ranking))) == 5


def test_a_filter_holds_for_what_is_near_too() -> None:
    context = asked()
    context.allowed = context.allowed.copy()
    context.allowed[:3] = False
    for ranking in (default, classic, linear):
        assert set(paths(context, ranking.rank(context))) <= {"src/words.py", "tests/test_location.py"}


def test_names_are_not_a_matter_of_meaning() -> None:
    settings = Settings()
    context = asked("redirected")
    assert context.plan.intent == SYMBOL
    assert "dense" not in default.lanes(context.plan, settings)
    assert paths(context, default.rank(context)) == ["src/words.py"]
    assert "dense" in default.lanes(asked().plan, settings)


def test_a_report_is_ranked_by_its_words_alone() -> None:
    context = asked("it is redirected\nI do not know why this happens.")
    assert context.plan.intent == REPORT
    assert "dense" not in default.lanes(context.plan, context.settings)
    assert "src/location.py" not in paths(context, default.rank(context))


def test_a_guess_from_spelling_brings_in_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "DENSE_ALONE", 0.0)
    context = asked("xyzzy frobnicates")
    assert context.plan.intent == LANGUAGE and context.lanes["dense"]
    assert len(default.rank(context)) == 0


def test_a_file_is_found_by_meaning_alone_only_if_it_is_near_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "DENSE_ALONE", 0.99)
    context = asked()
    assert paths(context, default.rank(context)) == ["src/words.py"]


def test_classic_fuses_by_reciprocal_rank_with_alpha() -> None:
    context = asked()
    ranking = classic.rank(context)
    lane, settings = context.lanes["dense"], Settings().classic
    for position, unit in enumerate(ranking.units):
        why = ranking.why(position)
        expected = 0.0
        if "lexical" in why.lanes:
            expected += 0.5 / (settings.rrf_k + why.lanes["lexical"].rank)
        near = lane.why(unit)
        if near is not None and near.score > 0:
            assert why.lanes["dense"] == near
            expected += 0.5 / (settings.rrf_k + near.rank)
        assert why.fused == pytest.approx(expected)
    assert {"src/words.py", "src/location.py"} <= set(paths(context, ranking))


def test_classic_weighs_meaning_less_for_a_name() -> None:
    context = asked("redirected")
    ranking = classic.rank(context)
    (position,) = [i for i, path in enumerate(paths(context, ranking)) if path == "src/words.py"]
    why = ranking.why(position)
    k = Settings().classic.rrf_k
    assert why.fused == pytest.approx(0.7 / (k + why.lanes["lexical"].rank) + 0.3 / (k + why.lanes["dense"].rank))


def test_classic_takes_only_the_nearest_candidates() -> None:
    files = {f"src/f{i}.py": f"location = {i}\n" for i in range(30)}
    few = config.apply(Settings(), {"classic.candidates": 1}, "test")
    context = context_of(files, QUESTION, few, table=TABLE)
    context.limit = 2
    assert len(classic.rank(context)) == 10


def test_by_cosine_alone() -> None:
    context = asked(mode="dense")
    assert context.plan.lanes == ("dense",)
    ranking = linear.rank_by_cosine(context)
    assert all(a >= b for a, b in pairwise(ranking.scores))
    for position, score in enumerate(ranking.scores):
        why = ranking.why(position)
        assert why.lanes["dense"].rank == position + 1
        assert why.fused == score == why.lanes["dense"].score
    assert paths(context, ranking)[0] in ("src/location.py", "src/words.py")


def test_the_best_files_of_equals_are_the_first_by_path() -> None:
    snapshot = snapshot_of({f"{name}.py": "x = 1\n" for name in "abcdef"})
    values = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0])
    assert top_files(snapshot, np.arange(6), values, 4).tolist() == [0, 1, 2, 3]
    assert top_files(snapshot, np.arange(6), values, 1).tolist() == [3]
    assert top_files(snapshot, np.array([2, 4]), values[:2], 5).tolist() == [2, 4]


def test_the_largest_of_each_run_is_the_first_of_equals() -> None:
    values = np.array([0.1, 0.5, 0.5, -1.0, 0.2, 0.3, 0.3, 0.3])
    assert _find_largest(values, np.array([0, 3, 5]), np.repeat([0, 1, 2], [3, 2, 3])).tolist() == [1, 4, 5]
