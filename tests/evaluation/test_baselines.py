"""The greps that lurcher is compared with, on a small tree by hand, and the adapter for other programs."""

import json
import shlex
import shutil
import subprocess
import sys

import pytest

from lurcher.errors import DatasetError
from lurcher.evaluation import baselines
from lurcher.evaluation.baselines import (
    BASELINES,
    GrepSearcher,
    PeerSearcher,
    content_words,
    find_with_python,
    find_with_ripgrep,
    identifiers,
    open_baseline,
    rare_words,
    tuned_grep_output,
)

from .fakes import write_tree

RIPGREP = shutil.which("rg")


def numbered(count, **lines):
    """A file of so many lines, some of them given as line_NUMBER=text."""
    return "".join(f"{lines.get(f'line_{number}', 'pass')}\n" for number in range(1, count + 1))


@pytest.fixture
def tree(tmp_path):
    files = {
        "many.py": numbered(60, line_5="Cache", line_30="cache cache", line_58="cache"),
        "both.py": numbered(60, line_20="cache", line_50="evict_entry(cache)"),
        "one.py": "evict_entry\n",
        "plain.py": "pass\n",
        ".lurcher/a": "cache\n",
    }
    root = write_tree(tmp_path / "tree", files)
    (root / "data.bin").write_bytes(b"cache\n\0cache\n")
    return root


def places(answer):
    return [(hit.path, hit.start_line, hit.end_line) for hit in answer.hits]


def test_content_words_are_small_distinct_and_mean_something():
    assert content_words("How does the Cache evict_entry in a cache, by ID?") == ["cache", "evict_entry"]
    assert len(content_words(" ".join(f"word{number}" for number in range(99)))) == baselines.MAX_WORDS
    assert content_words("what is it") == []


def test_names_in_code_are_known_by_their_form():
    assert identifiers("Does evict_entry call getItem or utf8 with Words?") == {"evict_entry", "getitem", "utf8"}


def test_rare_words_are_names_and_what_few_files_have():
    frequency = {"cache": 90, "evict_entry": 50, "stale": 5, "policy": 6, "entry": 40}
    assert rare_words("cache evict_entry stale policy entry unknown", frequency, 250) == ["evict_entry", "stale", "policy"]
    assert rare_words("cache entry", frequency, 100) == ["entry", "cache"]
    assert rare_words("unknown", frequency, 100) == []


def test_whole_files_come_by_their_distinct_words_and_then_their_matching_lines(tree):
    answer = GrepSearcher(tree, "grep-files").search("when does the cache call evict_entry", limit=9)
    assert places(answer) == [("both.py", 1, 60), ("many.py", 1, 60), ("one.py", 1, 1)]
    assert answer.hits[2].text == "evict_entry\n"


def test_lines_around_matches_are_merged_and_come_by_their_words_too(tree):
    (tree / "both.py").write_text(numbered(60, line_20="cache", line_50="evict_entry(cache)", line_55="cache"))
    answer = GrepSearcher(tree, "grep-lines").search("cache evict_entry", limit=2)
    assert places(answer) == [("both.py", 40, 60), ("both.py", 10, 30)]


def test_lines_around_matches_do_not_overlap(tree):
    answer = GrepSearcher(tree, "grep-lines").search("cache", limit=9)
    assert places(answer) == [
        ("many.py", 1, 15), ("many.py", 20, 40), ("many.py", 48, 60), ("both.py", 10, 30), ("both.py", 40, 60),
    ]  # fmt: skip
    assert answer.hits[1].text.splitlines()[10] == "cache cache"
    assert len(answer.hits[1].text.splitlines()) == 21
    assert places(GrepSearcher(tree, "grep-lines").search("cache", limit=2)) == [("many.py", 1, 15), ("many.py", 20, 40)]


def test_files_with_more_distinct_rare_words_come_first(tree):
    for number in range(50):
        (tree / f"other{number}.py").write_text("cache\n")
    answer = GrepSearcher(tree, "grep-rare").search("cache evict_entry pass", limit=9)
    # All three words are taken, the common ones because fewer than three are rare: both.py has all of them.
    assert places(answer)[0][0] == "both.py"
    narrow = GrepSearcher(tree, "grep-rare")
    (tree / "two.py").write_text("stale policy evict_entry\n")
    paths = [hit.path for hit in narrow.search("cache evict_entry stale policy", limit=9).hits]
    assert (paths[0], set(paths)) == ("two.py", {"two.py", "both.py", "one.py"})


@pytest.mark.parametrize("way", BASELINES)
def test_a_question_without_a_word_finds_nothing(tree, way):
    assert GrepSearcher(tree, way).search("what is it", limit=9).hits == ()
    assert GrepSearcher(tree, way).search("unheardof", limit=9).hits == ()


def test_python_finds_words_inside_words_in_any_case_but_not_in_binary_or_ignored_files(tree):
    write_tree(tree, {"c.txt": "reCacheD caching\r\n\ncach cached", "node_modules/x.js": "cache\n"})
    found = find_with_python(tree, ["cache", "cached", "evict_entry"])
    assert found["c.txt"] == {1: {"cached"}, 3: {"cached"}}
    assert sorted(found) == ["both.py", "c.txt", "many.py", "one.py"]
    assert found["both.py"] == {20: {"cache"}, 50: {"evict_entry", "cache"}}
    assert find_with_python(tree, []) == {}


@pytest.mark.skipif(RIPGREP is None, reason="ripgrep is not installed")
def test_ripgrep_and_python_find_the_same(tree):
    write_tree(tree, {"c.txt": "reCacheD caching\r\n\ncach cached \u212a", ".hidden/d.py": "cache\n"})
    write_tree(tree, {"node_modules/x.js": "cache\n"})
    (tree / "latin.py").write_bytes(b"\xe9t\xe9 cache\n")
    (tree / "large.py").write_text("cache\n" * 200_000)
    for words in (["cache", "cached", "evict_entry", "k"], ["pass"], []):
        assert find_with_ripgrep(RIPGREP, tree, words) == find_with_python(tree, words)


def test_without_ripgrep_the_search_is_done_in_python(tree, monkeypatch):
    monkeypatch.setattr(baselines, "ripgrep", lambda: None)
    assert baselines.ripgrep_version() == "python"
    assert places(GrepSearcher(tree, "grep-files").search("evict_entry", limit=1)) == [("both.py", 1, 60)]


def test_an_unknown_baseline_is_an_error():
    with pytest.raises(DatasetError, match="grep-most") as error:
        open_baseline("grep-most")
    assert "grep-rare" in error.value.hint


def peer(tmp_path, script):
    program = tmp_path / "peer.py"
    program.write_text(script)
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(program))} --fast"


def test_a_peer_gets_the_question_and_the_folder_and_prints_places(tree, tmp_path):
    command = peer(
        tmp_path,
        "import json, sys\n"
        "assert sys.argv[1] == '--fast'\n"
        "root, question = sys.argv[2], sys.stdin.read()\n"
        "assert question == 'größe'\n"
        "print(json.dumps({'path': 'both.py', 'start': 20, 'end': 21, 'more': 1}))\n"
        "print()\n"
        "print(json.dumps({'path': root + '/one.py', 'start': 1, 'end': 900}))\n"
        "print(json.dumps({'path': 'gone.py', 'start': 2, 'end': 3}))\n",
    )
    hits = PeerSearcher(tree, command).search("größe", limit=9).hits
    assert [(hit.path, hit.start_line, hit.end_line, hit.text) for hit in hits] == [
        ("both.py", 20, 21, "cache\npass\n"),
        ("one.py", 1, 1, "evict_entry\n"),
        ("gone.py", 2, 2, ""),
    ]
    assert len(PeerSearcher(tree, command).search("größe", limit=1).hits) == 1


@pytest.mark.parametrize(
    "printed",
    [
        "nonsense", '{"path": "a.py"}', '["a.py", 1, 2]', '{"path": "a.py", "start": 3, "end": 2}',
        '{"path": "../a.py", "start": 1, "end": 2}',
    ],
)  # fmt: skip
def test_what_a_peer_prints_is_checked(tree, tmp_path, printed):
    with pytest.raises(DatasetError, match="the peer printed"):
        PeerSearcher(tree, peer(tmp_path, f"print({printed!r})")).search("x", limit=9)


def test_a_peer_that_fails_says_why(tree, tmp_path):
    with pytest.raises(DatasetError, match="status 3: no model"):
        PeerSearcher(tree, peer(tmp_path, "import sys; print('no model', file=sys.stderr); sys.exit(3)")).search("x", limit=9)
    assert PeerSearcher(tree, peer(tmp_path, "raise SystemExit(1)")).search("x", limit=9).hits == ()
    with pytest.raises(DatasetError, match="does not run"):
        PeerSearcher(tree, "/no/such/program").search("x", limit=9)
    with pytest.raises(DatasetError, match="empty"):
        PeerSearcher(tree, " ")


def test_the_command_measures_a_baseline_and_says_what_searched(tree, tmp_path):
    (tmp_path / "set.jsonl").write_text(json.dumps({"query": "cache", "gold": {"both.py": [[20, 20]]}}) + "\n")
    arguments = [str(tmp_path / "set.jsonl"), "--root", str(tree), "--baseline", "grep-files", "--json"]
    command = [sys.executable, "-m", "lurcher", "eval", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    run = json.loads(done.stdout)
    assert run["settings"] == {"baseline": "grep-files", "grep": baselines.ripgrep_version(), "limit": 50}
    assert run["results"][0]["chunk_ranks"] == [2]
    refused = subprocess.run([*command, "--peer", "x"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "--peer" in refused.stderr


def test_a_grep_tuned_in_hindsight_prints_the_lines_around_names_and_the_rarest_words(tmp_path):
    body = [f"line {number}" for number in range(1, 101)]
    body[49] = "retry_limit = 3  # rare"
    body[9] = body[29] = body[69] = body[89] = "common"
    (tmp_path / "a.py").write_text("\n".join(body) + "\n")
    (tmp_path / "b.bin").write_bytes(b"retry_limit\0")
    files = [tmp_path / "a.py", tmp_path / "b.bin", tmp_path / "gone.py"]
    around = "".join(f"{line}\n" for line in body[39:60])
    assert tuned_grep_output("where is retry_limit", files) == len(around)
    assert tuned_grep_output("RARE", files) == len(around)
    # Of the words, only the three that match the fewest lines count; names always do.
    assert tuned_grep_output("zebra is not there", files) == 0
    (tmp_path / "c.py").write_text("".join(f"{word}\n" * 30 for word in ("one", "two", "six")) + "\n" * 40 + "many\n" * 200)
    assert tuned_grep_output("one two six many", [tmp_path / "c.py"]) == 3 * 30 * len("one\n") + 10
