"""Searching the history of a small real repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher import Engine
from lurcher.errors import CursorError, FilterError, PathError, QueryError
from lurcher.query.validate import matches_glob
from tests.corpora.history.repo import Repo

CACHE = "def lookup(key):\n    if key in CACHE:\n        return CACHE[key]\n    return fetch(key)\n"
PLAIN = "def lookup(key):\n    return fetch(key)\n"


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Repo, dict[str, str]]:
    """A repository, and its commits by what they are."""
    repo = Repo(tmp_path_factory.mktemp("story") / "tree")
    names = {
        "start": repo.commit("Look up keys over the wire", {"src/lookup.py": PLAIN, "README.md": "# Keys\n"}),
        "cache": repo.commit("Cache looked-up keys\n\nRepeated lookups were slow on large tables.", {"src/lookup.py": CACHE}),
        "docs": repo.commit("Document lookups", {"README.md": "# Keys\n\nLook up keys with lookup(key).\n"}),
        "web": repo.commit("Add a page for lookups", {"web/page.ts": "export function lookupPage() { return 1 }\n"}),
    }
    repo.git("revert", "--no-edit", names["cache"])
    names["revert"] = repo.head
    fetch = "def fetch(key):\n    return retry(3)\n"
    names["retry"] = repo.commit("Retry fetches that time out (#12)", {"src/fetch.py": fetch})
    names["bump"] = repo.commit("Release 1.2.0", {"pyproject.toml": '[project]\nversion = "1.2.0"\n'})
    return repo, names


@pytest.fixture(scope="module")
def engine(story: tuple[Repo, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return Engine.open(story[0].top, index_dir=tmp_path_factory.mktemp("index"))


def search(engine: Engine, story: tuple[Repo, dict[str, str]], text: str, **options: object) -> list[str]:
    by_sha = {sha: name for name, sha in story[1].items()}
    return [by_sha[hit.commit.sha] for hit in engine.history(text, **options).hits]  # type: ignore[arg-type]


def test_a_hit_has_author_date_message_and_changes(engine: Engine, story: tuple[Repo, dict[str, str]]) -> None:
    answer = engine.history("cache looked-up keys")
    assert (answer.sources, answer.ranking, answer.mode) == (("history",), "default", "hybrid")
    hit = answer.hits[0]
    assert hit.source == "history" and hit.commit is not None
    assert (hit.path, hit.language, hit.symbol, hit.kind) == ("src/lookup.py", "python", "lookup", "hunk")
    assert (hit.commit.sha, hit.commit.subject) == (story[1]["cache"], "Cache looked-up keys")
    assert hit.commit.author == "Ada"
    assert hit.commit.date.startswith("2023-11-14T") and hit.commit.files == ("src/lookup.py",)
    assert "Repeated lookups were slow" in hit.text and "+    if key in CACHE:" in hit.text
    assert (hit.start_line, hit.end_line) == (2, 3)
    assert answer.index.coverage == {"history": 1.0} and answer.index.fresh


def test_every_hit_says_why(engine: Engine) -> None:
    why = engine.history("cache looked-up keys").hits[0].why
    assert {"cache", "keys"} <= set(why.lanes["fields"].terms)
    product = why.fused
    for stage in why.stages:
        product *= stage.factor if stage.factor is not None else 1.0
    assert product == pytest.approx(engine.history("cache looked-up keys").hits[0].score)


def test_search_in_history_is_the_same(engine: Engine) -> None:
    one, two = engine.history("retry"), engine.search("retry", sources=["history"])
    assert [hit.to_dict() for hit in one.hits] == [hit.to_dict() for hit in two.hits]


@pytest.mark.parametrize("options", [
    {"ranking": "classic"}, {"fusion": "rrf"}, {"fusion": "linear"}, {"fusion": "linear", "mmr": 0.5}, {"mode": "dense"},
    {"mode": "lexical"}, {"fusion": "linear", "alpha": 0.0},
])  # fmt: skip
def test_every_ranking_finds_the_commit(engine: Engine, story: tuple[Repo, dict[str, str]], options: dict[str, object]) -> None:
    assert "retry" in search(engine, story, "retry fetches that time out", **options)[:2]


def test_linear_fusion_explains_its_scores(engine: Engine) -> None:
    hit = engine.history("cache keys", fusion="linear", alpha=0.6, mmr=0.5).hits[0]
    assert {"hybrid", "cosine", "bm25", "mmr"} == set(hit.why.scores)
    assert hit.to_dict()["why"]["scores"]["hybrid"] == pytest.approx(hit.score, abs=1e-5)
    assert set(engine.history("cache keys", mode="dense").hits[0].why.scores) == {"cosine"}


def test_classic_fuses_lanes_by_their_ranks(engine: Engine) -> None:
    hit = engine.history("cache keys", ranking="classic").hits[0]
    assert set(hit.why.lanes) <= {"dense", "hunks", "symbols", "messages"}
    assert hit.why.fused == pytest.approx(sum(1 / (60 + lane.rank) for lane in hit.why.lanes.values()))


def test_filters_by_path_language_author_and_date(engine: Engine, story: tuple[Repo, dict[str, str]]) -> None:
    assert search(engine, story, "lookups", paths=["web"]) == ["web"]
    assert search(engine, story, "lookups", languages=["typescript"]) == ["web"]
    assert "web" not in search(engine, story, "lookups", excludes=["web"])
    assert search(engine, story, "lookups", author="nobody") == []
    assert search(engine, story, "lookups", author="ADA@example")
    assert search(engine, story, "lookups", until="2023-11-13") == []
    assert search(engine, story, "lookups", since="2030-01-01") == []
    assert set(search(engine, story, "lookups keys", since=story[1]["docs"][:12])) <= {"docs", "web", "revert", "retry", "bump"}
    with pytest.raises(FilterError):
        engine.history("x", since="soon-ish")
    with pytest.raises(FilterError):
        engine.history("x", since="2024-02-01", until="2024-01-01")
    with pytest.raises(FilterError, match="outcome"):
        engine.history("x", outcomes=["good"])


def test_a_release_comes_after_what_is_about_the_matter(engine: Engine, story: tuple[Repo, dict[str, str]]) -> None:
    hit = next(hit for hit in engine.history("release 1.2.0").hits if hit.commit.sha == story[1]["bump"])
    assert [(stage.factor, stage.note) for stage in hit.why.stages if stage.stage == "noise"] == [(0.7, "release")]


def test_pages_partition_the_answer(engine: Engine) -> None:
    whole = [hit.id for hit in engine.history("lookup keys fetch").hits]
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(20):
        page = engine.history("lookup keys fetch", limit=2, cursor=cursor)
        seen += [hit.id for hit in page.hits]
        cursor = page.next
        if cursor is None:
            break
    assert seen == whole and len(whole) > 2
    first = engine.history("lookup keys fetch", limit=2)
    with pytest.raises(CursorError):
        engine.history("another question", limit=2, cursor=first.next)
    assert engine.history("lookup keys fetch", budget=60).tokens <= 60


def test_what_makes_no_sense_is_an_error(engine: Engine, tmp_path: Path) -> None:
    for options in ({"alpha": 0.5}, {"mmr": 0.5}, {"fusion": "linear", "alpha": 2.0}, {"mode": "symbol"}, {"limit": 0},
                    {"ranking": "best"}, {"rerank": ["magic"]}):  # fmt: skip
        with pytest.raises(QueryError):
            engine.history("x", **options)  # type: ignore[arg-type]
    with pytest.raises(QueryError):
        engine.history("  ")
    (tmp_path / "a.py").write_text("a = 1\n")
    with pytest.raises(PathError, match="no git history"):
        Engine.open(tmp_path, root=tmp_path).history("anything")


def test_the_same_change_under_two_hashes_is_one_hit(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "tree")
    repo.commit("start", {"a.py": "a = 1\n"})
    repo.git("checkout", "-q", "-b", "other")
    picked = repo.commit("Handle zebra input", {"b.py": "zebra = 1\n"})
    repo.git("checkout", "-q", "-")
    repo.commit("more", {"c.py": "c = 1\n"})
    repo.now += 60
    repo.git("cherry-pick", picked)
    here = repo.head
    repo.now += 60
    repo.git("merge", "-q", "--no-ff", "-m", "Merge other", "other")
    hits = Engine.open(repo.top).history("zebra input").hits
    assert [hit.commit.subject for hit in hits].count("Handle zebra input") == 1
    commit = hits[0].commit
    assert commit is not None and {commit.sha, *commit.same_change} == {picked, here}


def test_no_commits_is_an_answer(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "tree")
    answer = Engine.open(repo.top).history("anything at all")
    assert answer.hits == () and answer.total == 0


def test_a_new_commit_is_seen_at_once(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "tree")
    repo.commit("start", {"a.py": "a = 1\n"})
    engine = Engine.open(repo.top)
    assert engine.history("giraffe").hits == ()
    sha = repo.commit("Feed the giraffe", {"g.py": "g = 1\n"})
    assert [hit.commit.sha for hit in engine.history("giraffe").hits] == [sha]


def test_several_repositories_are_searched_together(tmp_path: Path) -> None:
    repos = [Repo(tmp_path / name) for name in ("one", "two")]
    for repo in repos:
        repo.commit(f"Paint it {repo.top.name}", {"paint.py": "colour = 1\n"})
    answer = Engine.open([repo.top for repo in repos]).history("paint")
    assert sorted(hit.path for hit in answer.hits) == ["one/paint.py", "two/paint.py"]


def test_a_folder_of_a_repository_means_its_commits(engine: Engine, story: tuple[Repo, dict[str, str]], tmp_path: Path) -> None:
    inside = Engine.open(story[0].top / "web", index_dir=tmp_path / "index")
    assert search(inside, story, "lookups") == ["web"]


def test_a_path_filter_finds_what_a_scan_of_every_commit_finds(tmp_path: Path) -> None:
    names = [
        "src/Größe/a1b2c3.py", "src/x" + "y" * 140 + ".py", "docs/getHTTPResponse.md", "1234567890123.txt", "a b/c-d_e.ts",
        "src/grosse.py",
    ]  # fmt: skip
    repo = Repo(tmp_path / "tree")
    shas = {name: repo.commit("Touch a file", {name: "one = 1\n"}) for name in names}
    engine = Engine.open(repo.top)
    for glob in (*names, "src", "src/Größe", "*.py", "getHTTPResponse.md", "c-d_e.ts", "a b", "docs/*.md", "nowhere"):
        expected = {sha for name, sha in shas.items() if matches_glob(glob, name)}
        assert {hit.commit.sha for hit in engine.history("touch a file", paths=[glob]).hits} == expected
