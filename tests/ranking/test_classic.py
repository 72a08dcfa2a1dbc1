from __future__ import annotations

import pytest

from lurcher.config import Settings
from lurcher.ranking import classic
from lurcher.ranking.classic import apply_coherence, apply_definition, apply_noise, apply_saturation, apply_stem
from lurcher.types import StageWhy
from tests.small import context_of, ranked_paths

FILES = {
    "src/redirect.py": "def follow(url):\n    return redirect(url)\n",
    "src/session.py": "class Session:\n    def send(self):\n        return redirect(self)\n",
    "tests/test_redirect.py": "def test_redirect():\n    redirect('redirect')\n",
}


def units_of(context: object, path: str) -> list[int]:
    snapshot = context.snapshot  # type: ignore[attr-defined]
    return [unit for unit in range(snapshot.unit_total) if snapshot.path(int(snapshot.unit_file[unit])) == path]


def test_coherence_lifts_the_best_unit_by_its_files_share() -> None:
    context = context_of({"a.py": "x = 1\n" * 600, "b.py": "y = 1\n"}, "x")
    first, second, *_ = units_of(context, "a.py")
    (other,) = units_of(context, "b.py")
    scores, log = {first: 1.0, second: 0.5, other: 0.6}, dict[int, list[StageWhy]]()
    apply_coherence(context, scores, log)
    assert scores[first] == pytest.approx(1.0 + 1.0 * 0.2 * 1.5 / 1.5)
    assert scores[second] == 0.5
    assert scores[other] == pytest.approx(0.6 + 1.0 * 0.2 * 0.6 / 1.5)


def test_definition_multiplies_by_twelve_for_a_name() -> None:
    context = context_of(FILES, "Session")
    (unit,) = units_of(context, "src/session.py")
    scores, log = {unit: 0.01}, dict[int, list[StageWhy]]()
    apply_definition(context, scores, log)
    assert scores[unit] == pytest.approx(0.01 * 12 * 1.5)
    assert log[unit][0].note == "defines Session"


def test_definition_multiplies_by_four_in_a_question() -> None:
    context = context_of({"src/net.py": FILES["src/session.py"]}, "how does Session send")
    (unit,) = units_of(context, "src/net.py")
    scores = {unit: 0.01}
    apply_definition(context, scores, {})
    assert scores[unit] == pytest.approx(0.04)


def test_stem_adds_by_the_share_of_words_in_name_or_folder() -> None:
    context = context_of(FILES, "redirect banana")
    (unit,) = units_of(context, "src/redirect.py")
    scores = {unit: 2.0}
    apply_stem(context, scores, {})
    assert scores[unit] == pytest.approx(2.0 + 2.0 * 0.5 * 1.5)


def test_noise_multiplies_tests_down() -> None:
    context = context_of(FILES, "redirect")
    (unit,) = units_of(context, "tests/test_redirect.py")
    scores, log = {unit: 1.0}, dict[int, list[StageWhy]]()
    apply_noise(context, scores, log)
    assert scores[unit] == pytest.approx(0.3)
    assert log[unit][0].note == "test"


def test_saturation_halves_each_further_unit() -> None:
    context = context_of({"a.py": "x = 1\n" * 900}, "x")
    first, second, third, *_ = units_of(context, "a.py")
    scores = {first: 0.9, second: 1.0, third: 0.8}
    apply_saturation(context, scores, {})
    assert scores == {second: 1.0, first: pytest.approx(0.45), third: pytest.approx(0.2)}


def test_the_whole_ranking_prefers_source_over_tests() -> None:
    paths = ranked_paths(FILES, "redirect", "classic")
    assert paths[0] == "src/redirect.py" and paths[-1] == "tests/test_redirect.py"


def test_fused_scores_are_reciprocal_ranks() -> None:
    context = context_of(FILES, "redirect")
    ranking = classic.rank(context)
    fused = sorted((ranking.why(i).fused for i in range(len(ranking.units))), reverse=True)
    k = Settings().classic.rrf_k
    assert fused == pytest.approx([1 / (k + rank) for rank in range(1, len(fused) + 1)])
