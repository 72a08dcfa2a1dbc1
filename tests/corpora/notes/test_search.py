"""Questions of a small vault, as an engine answers them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lurcher import Engine
from lurcher.errors import CursorError, FilterError, QueryError

FILLER = "Nothing of interest stands here, only words that fill the page and mean little to anyone.\n" * 12
VAULT = {
    "Keys.md": (
        "---\ntitle: Key care\ntags: [runbook, area/ops]\naliases: [Rotation]\nupdated: 2024-03-01\n---\n"
        f"# Key care\n\nSee [[Vault]].\n\n{FILLER}\n"
        "## Rotate the keys\n\nRun the rotation script, then restart the gateway.\n\n## Lost keys\n\nAsk the warden.\n"
    ),
    "Vault.md": (
        "---\ntags: area/home\ndate: 2020-01-01\n---\n# Vault\n\nWhere secrets live. #secret\n\n## Gateway\n\n"
        "It holds zero downtime.\n"
    ),
    "sub/Downtime.md": "# Downtime\n\nA downtime of zero is a dream. `## no heading`\n",
    "Broken.md": "---\ntitle: Broken\n}{\n---\nThe warden of odd pages.\n",
    "日本.md": "# 日本語\n\n猫が好きな人は東京都に住んでいます。" + "検索の対象となる長い文章を書く" * 20 + "終わり\n",
    "thai.md": "# ภาษาไทย\n\nการค้นหาข้อความภาษาไทยโดยไม่มีช่องว่าง\n",
    "windows.md": "# Windows\r\n\r\n" + "Filler line of text.\r\n" * 60 + "## Part\r\n\r\nThe flamingo stands here.\r\n",
    "khmer.md": "# ភាសាខ្មែរ\n\nការស្វែងរកអត្ថបទជាភាសាខ្មែរដោយគ្មានដកឃ្លា\n",
    "hindi.md": "# हिन्दी\n\nपाठ की खोज यहाँ होती है।\n",
    "arabic.md": "# العربية\n\nالبَحْثُ عَنْ نُصُوصٍ\n",
    "Twice.md": "# Twice\n\n" + "Filler.\n" * 130 + "## Setup\n\nAn ibis.\n\n## Setup\n\nA heron.\n\n## Setup 1\n\nA stork.\n",
    "near.md": "# Near\n\nThe copper kettle whistles while a train departs from the old harbour.\n",
    "far.md": "# Far\n\nA kettle of iron, and elsewhere in the harbour some copper whistles.\n",
    "plain.txt": "An otter swims in plain text.\n",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("vault")
    for path, text in VAULT.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_bytes(text.encode())
        os.utime(top / path, (1_600_000_000, 1_600_000_000))
    (top / ".obsidian/plugins").mkdir(parents=True)
    (top / ".obsidian/plugins/main.js").write_text("function otter() { return 1 }\n")
    return top


@pytest.fixture(scope="module")
def engine(vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return Engine.open(vault, root=vault, index_dir=tmp_path_factory.mktemp("index"))


def paths(engine: Engine, text: str, **options: object) -> list[str]:
    return [hit.path for hit in engine.notes(text, **options).hits]  # type: ignore[arg-type]


def test_a_hit_is_a_section_that_can_be_opened(engine: Engine, vault: Path) -> None:
    answer = engine.notes("how to rotate the keys")
    hit = answer.hits[0]
    assert (answer.sources, hit.source, hit.path, hit.kind) == (("notes",), "notes", "Keys.md", "section")
    assert hit.symbol == "Key care › Rotate the keys"
    assert hit.note == {
        "title": "Key care", "headings": ["Key care", "Rotate the keys"], "wikilink": "[[Keys#Rotate the keys]]",
        "anchor": "Keys.md#rotate-the-keys", "tags": ["runbook", "area/ops"], "aliases": ["Rotation"], "date": "2024-03-01",
    }  # fmt: skip
    lines = (vault / "Keys.md").read_text().split("\n")
    assert hit.text.split("\n")[0] == lines[hit.start_line - 1] == "## Rotate the keys"
    assert "words" in {stage.stage for stage in hit.why.stages} and "keys" in hit.why.lanes["fields"].terms


def test_each_note_shows_its_best_section_before_any_shows_another(engine: Engine) -> None:
    found = paths(engine, "keys gateway vault", limit=20)
    assert len(set(found[: len(set(found))])) == len(set(found)) < len(found)


def test_headings_weigh_more_than_text(engine: Engine) -> None:
    assert paths(engine, "downtime")[0] == "sub/Downtime.md"


def test_quoted_phrases_must_match(engine: Engine) -> None:
    assert set(paths(engine, "zero downtime")) >= {"Vault.md", "sub/Downtime.md"}
    assert paths(engine, '"zero  Downtime"') == ["Vault.md"]
    assert paths(engine, '"downtime zero"') == []


def test_tags_take_in_those_below(engine: Engine) -> None:
    assert set(paths(engine, "keys vault secrets", tags=["area"])) == {"Keys.md", "Vault.md"}
    assert set(paths(engine, "keys vault secrets", tags=["#area/home", "secret"])) == {"Vault.md"}
    assert paths(engine, "keys", tags=["are"]) == []
    with pytest.raises(FilterError):
        engine.notes("keys", tags=["#"])


def test_dates_come_from_front_matter_else_from_the_file(engine: Engine) -> None:
    assert set(paths(engine, "keys vault secrets downtime", since="2024-01-01")) == {"Keys.md"}
    assert set(paths(engine, "vault downtime", until="2020-06-01")) == {"Vault.md"}
    assert "sub/Downtime.md" in paths(engine, "vault downtime", since="2020-09-01", until="2020-09-30")


def test_paths_narrow(engine: Engine) -> None:
    assert set(paths(engine, "zero downtime", paths=["sub/**"])) == {"sub/Downtime.md"}


def test_links_lend_a_little(engine: Engine) -> None:
    linked = next(hit for hit in engine.notes("keys secrets").hits if hit.path == "Vault.md")
    assert "links" in {stage.stage for stage in linked.why.stages}


@pytest.mark.parametrize("text", ["猫", "東京都", "検索", "長い文章"])
def test_japanese_is_found(engine: Engine, text: str) -> None:
    assert paths(engine, text)[0] == "日本.md"


@pytest.mark.parametrize(
    ("text", "path"),
    [("ข้อความ", "thai.md"), ("អត្ថបទ", "khmer.md"), ("खोज", "hindi.md"), ("البحث نصوص", "arabic.md"), ('"पाठ की"', "hindi.md")],
)
def test_other_scripts_are_found(engine: Engine, text: str, path: str) -> None:
    assert paths(engine, text, mode="lexical")[0] == path


@pytest.mark.parametrize(("bird", "anchor"), [("ibis", "setup"), ("heron", "setup-1"), ("stork", "setup-1-1")])
def test_no_two_headings_have_the_same_anchor(engine: Engine, bird: str, anchor: str) -> None:
    hit = engine.notes(bird, mode="lexical").hits[0]
    assert hit.note is not None and hit.note["anchor"] == f"Twice.md#{anchor}"


def test_words_next_to_each_other_count_for_more(engine: Engine) -> None:
    assert paths(engine, "copper kettle")[:2] == ["near.md", "far.md"]
    assert "pairs" in {stage.stage for stage in engine.notes("copper kettle").hits[0].why.stages}


def test_lines_of_files_with_carriage_returns(engine: Engine, vault: Path) -> None:
    hit = engine.notes("flamingo").hits[0]
    lines = (vault / "windows.md").read_bytes().split(b"\n")
    assert lines[hit.start_line - 1] == b"## Part\r" and b"flamingo" in lines[hit.end_line - 1]


def test_broken_front_matter_is_survived_and_reported(engine: Engine) -> None:
    hit = next(hit for hit in engine.notes("warden of odd pages").hits if hit.path == "Broken.md")
    assert hit.note is not None and hit.note["front_matter_problem"].startswith("line 3")
    assert hit.note["title"] == "Broken"


def test_pages_partition_the_hits(engine: Engine) -> None:
    whole = [hit.id for hit in engine.notes("keys gateway vault downtime", limit=100).hits]
    pages, cursor = [], None
    while True:
        answer = engine.notes("keys gateway vault downtime", limit=2, cursor=cursor)
        pages += [hit.id for hit in answer.hits]
        cursor = answer.next
        if cursor is None:
            break
    assert pages == whole and len(set(whole)) == len(whole)
    with pytest.raises(CursorError):
        first = engine.notes("keys gateway vault downtime", limit=2).next
        engine.notes("something else", limit=2, cursor=first)


def test_scores_fall(engine: Engine) -> None:
    scores = [hit.score for hit in engine.notes("keys gateway vault downtime the of", limit=50).hits]
    assert scores == sorted(scores, reverse=True) and 0 < scores[0] <= 1


def test_code_is_no_note_and_notes_are_the_default_without_code(engine: Engine) -> None:
    assert paths(engine, "otter", mode="lexical") == ["plain.txt"]
    assert engine.search("otter").sources == ("notes",)
    assert engine.search("otter", sources=["code"]).sources == ("code",)
    assert engine.search("otter", mode="literal").sources == ("code",)


def test_bad_questions(engine: Engine) -> None:
    with pytest.raises(QueryError):
        engine.notes("  ")
    with pytest.raises(QueryError):
        engine.notes("keys", mode="structural")
    assert engine.notes("zzzzqqq", mode="lexical").hits == ()


def test_a_changed_note_is_found_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nold text\n")
    with Engine.open(tmp_path, root=tmp_path) as engine:
        assert engine.notes("pelican", mode="lexical").hits == ()
        (tmp_path / "a.md").write_text("---\ntags: bird\n---\n# A\n\na pelican landed\n")
        assert [hit.start_line for hit in engine.notes("pelican", tags=["bird"]).hits] == [1]
        (tmp_path / "a.md").unlink()
        assert engine.notes("pelican", mode="lexical").hits == ()


FAR = ("quantum chromodynamics lattice", "medieval siege weapon trebuchet", "tax deduction for charitable donations")


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Documents about a search engine, asked with the model that comes with it."""
    folder = tmp_path_factory.mktemp("documents")
    source = Path(__file__).parents[3] / "docs"
    for name in ("budget.md", "history.md", "stores.md", "rerank.md", "guide.md"):
        (folder / name).write_text((source / name).read_text())
    with Engine.open(folder, root=folder, overrides={"dense.model": "builtin"}) as engine:
        yield engine


@pytest.mark.parametrize("text", FAR)
def test_a_question_about_nothing_in_the_vault_finds_nothing(documents: Engine, text: str) -> None:
    assert not documents.notes(text).hits
    assert not documents.search(text, sources=["all"]).hits
    assert not documents.notes(text, fusion="rrf").hits


def test_what_has_none_of_the_words_is_found_if_it_is_near(documents: Engine) -> None:
    for text, path in (("spending limit of an answer", "budget.md"), ("commit author and revision", "history.md")):
        near = documents.notes(text, mode="dense")
        assert near.hits and not near.degraded, text
        assert path in [hit.path for hit in documents.notes(text).hits], text


def test_meaning_alone_says_that_nothing_is_near(documents: Engine) -> None:
    answer = documents.notes(FAR[0], mode="dense")
    assert answer.hits and "least far" in answer.degraded[0].reason


def test_a_question_to_all_sources_scores_as_its_strongest_source_does(documents: Engine) -> None:
    text = "how are hits packed into a budget"
    alone, together = documents.notes(text), documents.search(text, sources=["all"])
    assert together.hits[0].score == pytest.approx(alone.hits[0].score)
    weak = documents.search("marathon training plan", sources=["all"])
    assert all(hit.score < 0.25 for hit in weak.hits)
