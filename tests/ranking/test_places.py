"""Which units of the best files come first."""

from __future__ import annotations

from math import exp

import pytest

from lurcher.ranking import default, places, ranking_named
from lurcher.ranking.evidence import score_content
from tests.small import context_of


def ranked_paths(files: dict[str, str], query: str) -> list[str]:
    context = context_of(files, query)
    return [context.snapshot.path(int(context.snapshot.unit_file[unit])) for unit in default.rank(context).units]


def test_a_strong_second_unit_comes_before_a_weak_file() -> None:
    relevant = "\n\n".join(f"def follow_redirect_{i}(value):\n    return value  # {'x' * 300}" for i in range(20))
    weak = {f"src/other_{i}.py": "def unrelated():\n    pass\n" * 60 + "# follow\n" for i in range(30)}
    paths = ranked_paths({"src/redirect.py": relevant, **weak}, "how does it follow a redirect")
    assert paths[:3] == ["src/redirect.py"] * 3 and "src/other_1.py" in paths


def test_a_unit_named_by_the_question_comes_before_one_that_mentions_its_words() -> None:
    mentions = "def unrelated():\n" + "    # follow the redirect, then follow the redirect\n" * 3
    names = "class Redirect:\n    def follow(self, value):\n        return value.location\n" + "        # then\n" * 120
    text = mentions + "\n\n" + "buffer = 1\n" * 200 + "\n\n" + names
    context = context_of({"src/session.py": text, "src/other.py": "x = 1\n"}, "how does it follow a redirect")
    first, second = (context.snapshot.unit_text(unit) for unit in default.rank(context).units[:2])
    assert "class Redirect" in first and "# follow the redirect" in second


def test_the_definition_named_by_the_question_is_the_first_place_of_its_file() -> None:
    """It is a small part of its unit, which neither repeats the words nor is in a definition of that name."""
    mentions = "def unrelated():\n" + "    value = 1  # follow the redirect\n" * 12
    named = "def follow_redirect(value):\n    return value.location\n\n\ndef setup():\n" + "    counter = 1\n" * 30
    text = mentions + "\n\n" + "buffer = 1\n" * 150 + "\n\n" + named
    context = context_of({"src/session.py": text, "src/other.py": "x = 1\n"}, "how does it follow a redirect")
    first = default.rank(context).units[0]
    assert "def follow_redirect" in context.snapshot.unit_text(first)
    around = context.snapshot.enclosing_definitions(int(context.snapshot.unit_file[first]), places._NAMING_KINDS)
    number = around[first - context.snapshot.units_of(int(context.snapshot.unit_file[first]))[0]]
    assert context.snapshot.definition_label(number)[0] == "setup"


def test_the_formula_worked_by_hand() -> None:
    """Without a dense lane: v = u^0.5 · exp(3.5 · encl), and S = x · (v / max v)^0.15 · (v / max v of its file)^0.85 ·
    0.85^(n-1)."""
    names = ("redirect", "other", "third")
    text = "\n\n".join(f"def {name}(value):\n    return value  # redirect {'x' * 900}" for name in names)
    context = context_of({"src/a.py": text, "src/b.py": "def redirect():\n    pass\n"}, "where is the redirect")
    a, b = (context.snapshot.live_paths[f"src/{name}.py"] for name in "ab")
    units = {file: list(context.snapshot.units_of(file)) for file in (a, b)}
    leads = [units[a][0], units[b][0]]
    ordered, scores = places.order_places(context, [a, b], [1.0, 0.5], leads)
    highest = float(context.lexical.scores.max())
    v = {
        unit: (float(context.lexical.scores[unit]) / highest) ** 0.5 * exp(3.5 * (unit in leads))
        for unit in units[a] + units[b]
    }
    most = max(v.values())
    expected = {units[b][0]: 0.5 * (v[units[b][0]] / most) ** 0.15}
    for place, unit in enumerate(sorted(units[a], key=lambda unit: (-v[unit], unit))):
        expected[unit] = (v[unit] / most) ** 0.15 * (v[unit] / v[leads[0]]) ** 0.85 * 0.85**place
    assert dict(zip(ordered, scores, strict=True)) == pytest.approx(expected)
    assert scores == sorted(scores, reverse=True) and len(units[a]) == 3


INLINE = (
    "pub fn follow_redirect(url: &str) -> String {\n" + "    let next = step(url);\n" * 60 + "    next\n}\n\n"
    "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn follows_a_redirect() {\n"
    + '        assert_eq!(follow_redirect("redirect"), "follow redirect");\n' * 24
    + "    }\n}\n"
)


@pytest.mark.parametrize("ranking", ["default", "classic"])
def test_inline_tests_come_after_what_they_test_unless_the_query_asks_for_them(ranking: str) -> None:
    def first_unit(query: str) -> str:
        context = context_of({"src/redirect.rs": INLINE, "src/other.rs": "fn other() {}\n"}, query)
        return context.snapshot.unit_text(ranking_named(ranking)(context).unit(0))

    assert first_unit("follow redirect").startswith("pub fn follow_redirect")
    assert "mod tests" in first_unit("follow redirect tests")


def test_the_factor_of_inline_tests_is_in_why_and_the_file_does_not_gain_from_them() -> None:
    context = context_of({"src/redirect.rs": INLINE, "src/other.rs": "fn other() {}\n"}, "follow redirect")
    ranking = default.rank(context)
    tests = context.snapshot.inline_tests.tolist()
    assert tests and all("assert_eq!" in context.snapshot.unit_text(unit) for unit in tests)
    why = ranking.why(ranking.units.index(tests[0]))
    assert ("noise", 0.3, "inline test") in [(stage.stage, stage.factor, stage.note) for stage in why.stages]
    value = sum(stage.amount or 0.0 for stage in why.stages)
    for stage in why.stages:
        value *= 1.0 if stage.factor is None else stage.factor
    assert value == pytest.approx(ranking.scores[ranking.units.index(tests[0])])
    plain = context_of({"src/redirect.rs": INLINE, "src/other.rs": "fn other() {}\n"}, "follow redirect tests")
    assert score_content(context, 1.4).max() < score_content(plain, 1.4).max()
