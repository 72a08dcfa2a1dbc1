from math import exp, prod, sqrt

import pytest

from lurcher import Engine
from lurcher.surfaces.mcp.answers import render_search
from lurcher.types import FAIR, NONE, STRONG, WEAK

FILES = {
    "auth.py": '''"""Checks who a user is."""


def authenticate(user, password):
    """Return the user if the password is correct."""
    stored = load_hash(user)
    return user if verify(password, stored) else None
''',
    "store.py": '''"""Reads and writes rows."""


def load_hash(user):
    return open(f"{user}.hash").read()


def write_row(row, path):
    with open(path, "a") as file:
        file.write(row)
''',
    "paint.py": '''"""Draws shapes on a canvas."""


def draw_circle(canvas, x, y, radius):
    canvas.arc(x, y, radius)


def fill(canvas, colour):
    canvas.fill(colour)
''',
}


@pytest.fixture(autouse=True)
def shipped_model(monkeypatch):
    monkeypatch.setenv("LURCHER_DENSE_MODEL", "builtin")  # the one that the constants were fitted with


@pytest.fixture
def tree(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def engine(tree):
    with Engine.open(tree) as opened:
        yield opened


def test_a_question_that_the_tree_answers_is_trusted(engine):
    answer = engine.search("how is the password of a user verified")
    assert (answer.hits[0].path, answer.confidence, answer.caveat) == ("auth.py", STRONG, "")
    assert answer.likelihood["here"] > 0.8 and answer.unknown_words == ()


def test_a_question_about_something_else_has_no_good_match(engine):
    answer = engine.search("which file system encodings does the tokenizer of the user agent header support")
    assert answer.hits and answer.confidence == NONE and answer.likelihood["here"] < 0.25
    assert answer.caveat.startswith("No good match: these are only the nearest places; nowhere in the index: system, encodings")


def test_a_question_without_a_common_word_gets_the_nearest_places_marked_weak(engine):
    answer = engine.search("sign in with account secret")
    assert [hit.path for hit in answer.hits] == ["auth.py"]
    assert (answer.confidence, answer.unknown_words) == (WEAK, ("sign", "account", "secret"))
    assert answer.caveat == (
        "Weak match: these places may not be what you look for; nowhere in the index: sign, account, secret"
    )


def test_a_filter_without_a_common_word_gets_the_nearest_places_too(engine):
    assert [hit.path for hit in engine.search("row of the account secret", paths=["auth.py"]).hits] == ["auth.py"]


def test_gibberish_finds_nothing(engine):
    answer = engine.search("xyzzy frobnicate")
    assert (answer.hits, answer.confidence) == ((), NONE)
    assert answer.nothing == "nothing found; nowhere in the index: xyzzy, frobnicate"
    assert answer.caveat == ""


@pytest.mark.parametrize(
    ("name", "level"),
    [("authenticate", STRONG), ("draw_circle", STRONG), ("canvas", FAIR), ("draw_square", WEAK), ("Canvas.missing", WEAK),
     ("frobnicate", NONE)],
)  # fmt: skip
def test_a_name_is_judged_by_what_it_names(engine, name, level):
    assert engine.search(name).confidence == level


def test_exact_matches_are_certain(engine):
    assert engine.search("canvas.fill(", mode="literal", fixed=True).confidence == STRONG
    assert engine.search("canvas.empty(", mode="literal", fixed=True).confidence == NONE


@pytest.mark.parametrize("options", [{"ranking": "classic"}, {"mode": "lexical"}, {"mode": "dense"}, {"fusion": "linear"}])
def test_rankings_without_scores_of_files_say_nothing(engine, options):
    answer = engine.search("how is the password of a user verified", **options)
    assert answer.hits and answer.confidence is None
    assert "confidence" not in answer.to_dict() and "likelihood" not in answer.to_dict()


def test_the_likelihood_follows_its_formula(tmp_path):
    (tmp_path / "auth.py").write_text(FILES["auth.py"])
    with Engine.open(tmp_path) as engine:
        answer = engine.search("how does the password of a zebra get verified")
    lanes, words = answer.hits[0].why.lanes, 4  # password, zebra, get, verified
    score = prod(stage.factor for stage in answer.hits[0].why.stages if stage.stage in ("scale", "noise"))
    score *= sum(stage.amount for stage in answer.hits[0].why.stages if stage.amount is not None)
    found = len(lanes["lexical"].terms) / words * sqrt(5)
    here = 1 / (1 + exp(13.63 - 3.27 * found - 12.63 * lanes["dense"].score - 6.16 * score))
    assert answer.likelihood == {"here": pytest.approx(here, rel=1e-6), "first": pytest.approx(1 / (1 + exp(-3.53)))}


def test_without_vectors_the_words_decide(tree):
    with Engine.open(tree, overrides={"dense.model": "none"}) as engine:
        own, foreign = engine.search("how is the password of a user verified"), engine.search("which zebra file has stripes")
    assert own.likelihood["here"] > 0.7 > 0.4 > foreign.likelihood["here"]


def test_scores_are_weighed_by_the_likelihood_and_keep_their_order(engine):
    for text in ("how is the password of a user verified", "which zebra file reads a refund webhook"):
        answer = engine.search(text)
        weight = max(0.1, answer.likelihood["here"])
        assert answer.hits and [hit.why.stages[-1].stage for hit in answer.hits] == ["confidence"] * len(answer.hits)
        assert {hit.why.stages[-1].factor for hit in answer.hits} == {weight}
        assert all(hit.score <= weight for hit in answer.hits)
        scores = [hit.score for hit in answer.hits]
        assert scores == sorted(scores, reverse=True)


def test_unknown_words_are_named_as_written_and_other_forms_are_known(engine):
    answer = engine.search("how does the HTTPServer verify passwords, the passwords of a QuuxBlargh")
    assert answer.unknown_words == ("HTTPServer", "QuuxBlargh")


def test_of_a_report_the_unknown_words_of_the_title_are_named(engine):
    answer = engine.search("Refund circle is shown twice\n\nThe canvas shows a webhook after draw_circle was called.\n")
    assert (answer.intent, answer.unknown_words) == ("report", ("Refund", "shown", "twice"))
    assert answer.likelihood.keys() == {"here", "first"}


def test_the_words_of_another_tree_are_forgotten_with_it(tree):
    with Engine.open(tree) as engine:
        assert engine.search("which password draws a circle").unknown_words == ()
        (tree / "paint.py").unlink()
        assert engine.search("which password draws a circle").unknown_words == ("draws", "circle")


def test_every_surface_says_first_that_an_answer_is_weak(tree, run):
    shipped = {"LURCHER_DENSE_MODEL": "builtin"}
    asked = ("search", "sign in with account secret", ".")
    text = run(*asked, cwd=tree, env=shipped)
    assert text.status == 0 and text.err.startswith("Weak match: ") and text.out.startswith("auth.py:")
    assert run(*asked, "--format", "vimgrep", cwd=tree, env=shipped).err.startswith("Weak match: ")
    data = run(*asked, "--json", cwd=tree, env=shipped).json
    assert list(data)[5:9] == ["confidence", "likelihood", "unknown_words", "caveat"]
    assert (data["confidence"], data["unknown_words"]) == (WEAK, ["sign", "account", "secret"])
    with Engine.open(tree) as engine:
        shown = render_search(engine.search("sign in with account secret"), 2000)
    assert shown.text.startswith(f"{data['caveat']}\n\nauth.py:")
    assert shown.data["confidence"] == WEAK and shown.data["unknown_words"] == ["sign", "account", "secret"]
