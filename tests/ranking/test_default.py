from __future__ import annotations

from itertools import pairwise

import pytest

from lurcher import config
from lurcher.query import LANGUAGE, REPORT, SYMBOL
from lurcher.ranking import default, evidence
from lurcher.ranking.evidence import noise_factors, weigh_units
from tests.small import context_of, ranked_paths

BODY = "def run(value):\n    return value\n"
FILES = {
    "src/redirect.py": "def follow(url):\n    '''Follow a redirect.'''\n    return url\n",
    "src/session.py": "class Session:\n    def send(self):\n        # redirect\n        return follow(self)\n",
    "src/other.py": "def unrelated():\n    return 0\n",
    "tests/test_redirect.py": "def test_redirect():\n    follow('redirect')\n    assert redirect\n",
}


def test_the_file_that_is_named_for_it_comes_first_and_tests_last() -> None:
    paths = ranked_paths(FILES, "how are redirects followed")
    assert paths[0] == "src/redirect.py"
    assert paths[-1] == "tests/test_redirect.py"
    assert "src/other.py" not in paths


def test_naming_tests_lifts_their_penalty() -> None:
    plain, asked = context_of(FILES, "redirect follow"), context_of(FILES, "redirect follow tests")
    value = lambda context: noise_factors(context)[3]  # noqa: E731
    assert value(plain) == pytest.approx(0.3)
    assert value(asked) == 1.0


def test_a_symbol_query_shows_the_defining_unit_first() -> None:
    files = {**FILES, "src/session.py": "x = Session\n" * 300 + FILES["src/session.py"]}
    context = context_of(files, "Session")
    assert context.plan.intent == SYMBOL
    first = int(default.rank(context).units[0])
    assert "class Session" in context.snapshot.unit_text(first)


def test_every_matching_unit_is_there_once() -> None:
    text = "\n\n".join(f"def redirect_{i}():\n    return {'1' * 400}" for i in range(30))
    many = {f"src/file_{i}.py": text for i in range(30)}
    context = context_of(many, "where is the redirect")
    ranking = default.rank(context)
    units = ranking.units
    assert len(units) == len(ranking) == len(set(units)) == int((context.lexical.scores > 0).sum())
    assert all(a >= b for a, b in pairwise(ranking.scores))


def test_scores_fall_and_every_step_is_listed() -> None:
    context = context_of(FILES, "how are redirects followed")
    ranking = default.rank(context)
    assert all(a >= b for a, b in pairwise(ranking.scores))
    why = ranking.why(0)
    assert why.lanes["lexical"].rank >= 1 and "redirects" in why.lanes["lexical"].terms


@pytest.mark.parametrize("query", ["how are redirects followed", "redirect", "Session.send", "it breaks\nredirect"])
def test_the_reasons_lead_to_the_score(query: str) -> None:
    many = "\n\n".join(f"def redirect_{i}(value):\n    return value  # {'x' * 300}" for i in range(20))
    ranking = default.rank(context_of({**FILES, "src/many.py": many}, query))
    for position, score in enumerate(ranking.scores):
        stages = ranking.why(position).stages
        value = sum(stage.amount for stage in stages if stage.amount is not None)
        for stage in stages:
            value *= 1.0 if stage.factor is None else stage.factor
        assert value == pytest.approx(score)


def test_superseded_versions_fall_behind_unless_requested() -> None:
    files = {"api/v1/auth.py": "def login():\n    return token\n", "api/v2/auth.py": "def login():\n    return token\n"}
    assert ranked_paths(files, "login token") == ["api/v2/auth.py", "api/v1/auth.py"]
    assert ranked_paths(files, "login token in v1")[0] == "api/v1/auth.py"


def test_a_project_within_the_project_falls_behind_as_vendored() -> None:
    code = "int deflate_block(char *block) { return write_block(block); }\n"
    files = {"deps/zlib/LICENSE": "MIT License", "deps/zlib/configure": "echo configured", "src/zip.c": code}
    files |= dict.fromkeys(("deps/zlib/lib/zip.c", "deps/zlib0.c"), code)
    ranking = default.rank(context := context_of(files, "deflate block"))
    found = {context.snapshot.path(int(context.snapshot.unit_file[unit])): i for i, unit in enumerate(ranking.units)}
    noise = {path: [stage.note for stage in ranking.why(i).stages if stage.stage == "noise"] for path, i in found.items()}
    assert noise["deps/zlib/lib/zip.c"] == ["vendored"] and noise["src/zip.c"] == noise["deps/zlib0.c"] == []
    assert found["deps/zlib/lib/zip.c"] > max(found["src/zip.c"], found["deps/zlib0.c"])


def test_a_report_points_to_the_deepest_frame_of_ours() -> None:
    files = {f"pkg/{name}.py": f"def {name}_one():\n    return session\n" for name in ("alpha", "beta", "gamma")}
    report = (
        "session is lost\nIt fails.\n"
        '  File "/site-packages/pkg/alpha.py", line 1, in alpha_one\n'
        '  File "/site-packages/pkg/beta.py", line 1, in beta_one\n'
        '  File "/site-packages/requests/api.py", line 9, in get\n'
    )
    context = context_of(files, report)
    assert context.plan.intent == REPORT
    assert ranked_paths(files, report) == ["pkg/beta.py", "pkg/alpha.py", "pkg/gamma.py"]
    assert any(stage.stage == "trace" for stage in default.rank(context).why(0).stages)


@pytest.mark.parametrize(
    ("text", "stage"),
    [
        ("it breaks\nsee pkg/beta.py please", "mentioned"),
        ("it breaks\nsee https://host/o/r/blob/main/pkg/beta.py#L3 please", "url"),
        ("it breaks\nwhen calling pkg.beta.beta_one() twice", "dotted"),
    ],
)
def test_what_a_report_mentions_counts(text: str, stage: str) -> None:
    files = {f"pkg/{name}.py": f"def {name}_one():\n    return breaks\n" for name in ("alpha", "beta", "gamma")}
    context = context_of(files, text)
    ranking = default.rank(context)
    assert context.snapshot.path(int(context.snapshot.unit_file[ranking.units[0]])) == "pkg/beta.py"
    assert stage in {item.stage for item in ranking.why(0).stages}


def test_no_match_is_an_empty_ranking() -> None:
    context = context_of(FILES, "zebra")
    assert context.plan.intent == SYMBOL
    assert len(default.rank(context).units) == 0
    assert context_of(FILES, "zebra crossing").plan.intent == LANGUAGE


def test_the_penalty_of_tests_is_a_setting() -> None:
    assert ranked_paths(FILES, "redirect follow")[-1] == "tests/test_redirect.py"
    settings = config.apply(config.Settings(), {"noise.tests": 1.0}, "test")
    paths = ranked_paths(FILES, "redirect follow", settings=settings)
    assert paths.index("tests/test_redirect.py") < len(paths) - 1


def test_in_a_large_tree_a_unit_loses_by_the_words_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"src/a.py": "inactive = inactive + inactive\n" * 12, "src/b.py": "inactive = pages = memory\n"}

    def scores(query: str) -> list[float]:
        context = context_of(files, query)
        found = weigh_units(context).files.best
        return [float(found[context.snapshot.live_paths[path]]) for path in sorted(files)]

    question, name = "inactive pages of memory", "inactive"
    before, named = scores(question), scores(name)
    monkeypatch.setattr(evidence, "COVERAGE_UNITS", 0.01)
    some, every = scores(question)
    assert some < before[0] / 2 and every == pytest.approx(before[1])
    assert scores(name) == named
