"""Evaluation content is recognised by its long lines, whatever the package is called."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.exclusion import (
    COMMON_IN,
    LONG_LINE,
    MOVED,
    NO_KEYS,
    Excluded,
    Verdict,
    build,
    file_is_excluded,
    folder,
    keys_of,
    long_lines,
    main,
    write_report,
)

SHIPPED = Path(__file__).parents[2] / "training" / "excluded.bloom"


def lines(stem: str, count: int) -> bytes:
    return "".join(f"    result_{n} = {stem}_function(argument_number_{n}, another={n})\n" for n in range(count)).encode()


def filter_of(text: bytes) -> Excluded:
    return Excluded.of(keys_of(text))


def commit(mirrors: Path, name: str, files: dict[str, bytes]) -> str:
    """Add a commit with these files to a mirror and name it HEAD."""
    repository = mirrors / name.replace("/", "+") / "repo"
    if not repository.exists():
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(repository)], check=True)
    stream = b"commit refs/heads/main\ncommitter A <a@b.c> 1700000000 +0000\ndata 1\nx\ndeleteall\n"
    for path, text in files.items():
        stream += b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(text), text)
    command = ["git", "--git-dir", str(repository)]
    subprocess.run([*command, "fast-import", "--quiet", "--force"], input=stream, check=True)
    return subprocess.run([*command, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


class TestLongLines:
    def test_white_space_does_not_matter(self) -> None:
        plain = b"value = compute(first_argument, second_argument, third_argument)"
        assert long_lines(b"\t\t" + plain.replace(b" ", b"  \t") + b"  \r\n") == {plain} == long_lines(plain)

    def test_length_is_counted_after_normalising_and_in_characters(self) -> None:
        assert long_lines(b"word" + b" " * 80 + b"word") == set()
        assert long_lines(b"w" * (LONG_LINE - 1)) == set()
        assert len(long_lines(b"w" * LONG_LINE)) == 1
        assert long_lines("語".encode() * (LONG_LINE - 1)) == set()
        assert len(long_lines("語".encode() * LONG_LINE)) == 1

    @pytest.mark.parametrize(
        "line",
        [
            b"// " + b"-" * 80,
            b'# THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED',
            b" * You should have received a copy of the GNU Lesser General Public License along with it",
        ],
    )
    def test_rules_and_licence_text_are_not_compared(self, line: bytes) -> None:
        assert len(line) >= LONG_LINE
        assert long_lines(line) == set()

    @given(st.binary(max_size=400), st.binary(max_size=400))
    def test_any_bytes_can_be_read_and_lines_do_not_depend_on_their_neighbours(self, one: bytes, other: bytes) -> None:
        assert long_lines(one + b"\n" + other) == long_lines(one) | long_lines(other)


class TestFilter:
    @given(st.sets(st.integers(0, 2**64 - 1), max_size=300))
    def test_what_was_put_in_is_always_found(self, values: set[int]) -> None:
        keys = np.array(sorted(values), dtype=np.uint64)
        assert Excluded.of(keys).contains(keys).all()

    def test_what_was_not_put_in_is_found_less_than_once_in_two_hundred(self) -> None:
        keys = np.random.default_rng(1).integers(0, 2**64, 150_000, dtype=np.uint64)
        assert Excluded.of(keys[:50_000]).contains(keys[50_000:]).mean() < 0.005

    def test_an_empty_filter_matches_nothing(self) -> None:
        assert Excluded.of(NO_KEYS).share(lines("any", 20)) == (0, 20)

    def test_share_counts_distinct_lines(self) -> None:
        excluded = filter_of(lines("ours", 10))
        assert excluded.share(lines("ours", 10) * 3 + lines("theirs", 30)) == (10, 40)
        assert excluded.share(b"") == (0, 0)

    def test_survives_saving(self, tmp_path: Path) -> None:
        made = Excluded.of(keys_of(lines("ours", 10)), [{"name": "a/b"}], ["c/d"])
        made.save(tmp_path / "f")
        loaded = Excluded.load(tmp_path / "f")
        assert loaded.share(lines("ours", 10)) == (10, 10)
        assert loaded.header == made.header
        assert (loaded.header["keys"], loaded.header["missing"]) == (10, ["c/d"])

    @pytest.mark.parametrize("damage", ["truncated", "beheaded", "other version", "emptied"])
    def test_a_damaged_or_foreign_file_is_an_error(self, tmp_path: Path, damage: str) -> None:
        path = tmp_path / "f"
        filter_of(lines("ours", 10)).save(path)
        sound = path.read_bytes()
        other = sound.replace(b'"version":1', b'"version":0')
        path.write_bytes({"truncated": sound[:-1], "beheaded": sound[1:], "other version": other, "emptied": b""}[damage])
        with pytest.raises(ValueError, match="not a filter"):
            Excluded.load(path)


class TestPolicy:
    @pytest.mark.parametrize(
        ("matched", "total", "removed"),
        [
            *[(0, 0, False), (0, 1, False), (1, 1, True), (1, 2, False), (2, 2, True), (2, 3, False), (2, 9, False)],
            *[(3, 15, True), (3, 16, False), (19, 100, False), (20, 100, True)],
        ],
    )
    def test_a_file_goes_with_a_fifth_and_three_lines_or_all_of_fewer(self, matched: int, total: int, removed: bool) -> None:
        assert file_is_excluded(matched, total) is removed

    def test_a_copy_within_a_larger_package_loses_its_file_only(self) -> None:
        verdict = filter_of(lines("ours", 30)).judge([("z/vendored.py", lines("ours", 30)), ("a.py", lines("theirs", 500))])
        assert not verdict.removed
        assert [(f.path, f.matched, f.total) for f in verdict.files] == [("z/vendored.py", 30, 30)]
        assert (verdict.matched, verdict.total) == (30, 530)

    def test_an_old_release_goes_whole(self) -> None:
        changed = lines("ours", 10) + lines("theirs", 90)
        assert filter_of(lines("ours", 300)).judge([("a.py", changed)]).removed

    def test_a_line_in_every_file_counts_once_for_the_package(self) -> None:
        shared = lines("ours", 1)
        files = [(f"{n}.py", shared + lines(f"theirs{n}", 4)) for n in range(20)]
        verdict = filter_of(shared).judge(files)
        assert (verdict.removed, verdict.files, verdict.matched, verdict.total) == (False, (), 1, 81)

    def test_a_package_without_long_lines_stays(self) -> None:
        verdict = filter_of(lines("ours", 30)).judge([("a.py", b"x = 1\n")])
        assert (verdict.removed, verdict.share) == (False, 0.0)


def test_the_report_says_what_went_and_why(tmp_path: Path) -> None:
    excluded = filter_of(lines("ours", 30))
    packages = {
        "copy": [("a.py", lines("ours", 30))],
        "vendors": [("v.py", lines("ours", 20)), ("b.py", lines("theirs", 400))],
        "clean": [("c.py", lines("theirs", 50))],
    }
    summary = write_report(tmp_path / "report", ((name, excluded.judge(files)) for name, files in packages.items()))
    copy, vendors = (json.loads(line) for line in (tmp_path / "report").read_text().splitlines())
    assert copy == {"package": "copy", "removed": "package", "share": 1.0, "matched": 30, "total": 30, "file_count": 1}
    assert (vendors["package"], vendors["removed"], vendors["share"]) == ("vendors", "files", round(20 / 420, 4))
    assert vendors["files"] == [{"path": "v.py", "matched": 20, "total": 20}]
    assert summary.startswith("3 packages judged, 1 untouched\n1 removed whole")
    assert "1 files removed from 1 others" in summary


class TestBuild:
    def test_reads_head_and_the_pinned_revision(self, tmp_path: Path) -> None:
        old = commit(tmp_path, "a/one", {"x.py": lines("old", 20)})
        new = commit(tmp_path, "a/one", {"x.py": lines("new", 20)})
        assert build(tmp_path).share(lines("old", 20))[0] == 0
        made = build(tmp_path, revisions={"a/one": [old]})
        assert made.share(lines("old", 20) + lines("new", 20)) == (40, 40)
        assert made.header["repositories"] == [{"name": "a/one", "commits": [new, old], "absent": []}]

    def test_leaves_out_data_lock_minified_and_binary_files(self, tmp_path: Path) -> None:
        text = lines("data", 20)
        names = ["a.json", "b.svg", "c.min.js", "sub/pnpm-lock.yaml", "d.lock"]
        commit(tmp_path, "a/one", dict.fromkeys(names, text) | {"e.py": b"\0" + text, "f.js": text.replace(b"\n", b";")})
        assert build(tmp_path).header["keys"] == 0

    def test_leaves_out_what_many_repositories_share(self, tmp_path: Path) -> None:
        for n in range(COMMON_IN):
            few = lines("few", 20) if n else b""
            commit(tmp_path, f"owner/r{n}", {"x.py": lines("common", 20) + few + lines(f"own{n}", 20)})
        made = build(tmp_path)
        assert made.share(lines("common", 20))[0] == 0
        assert made.share(lines("few", 20)) == made.share(lines("own0", 20)) == (20, 20)

    def test_a_project_that_moved_is_read_under_both_names_and_counts_once(self, tmp_path: Path) -> None:
        old, new = next(iter(MOVED.items()))
        for name in (old, new, *(f"owner/r{n}" for n in range(COMMON_IN - 2))):
            commit(tmp_path, name, {"x.py": lines("shared", 20) + lines(name.replace("/", "_"), 20)})
        for made in (build(tmp_path), build(tmp_path, [old, "owner/r0", "owner/r1"])):
            assert made.share(lines("shared", 20) + lines(new.replace("/", "_"), 20)) == (40, 40)

    def test_names_limit_what_is_read_and_absent_mirrors_are_recorded(self, tmp_path: Path) -> None:
        commit(tmp_path, "a/one", {"x.py": lines("one", 20)})
        commit(tmp_path, "a/two", {"x.py": lines("two", 20)})
        made = build(tmp_path, ["a/two", "a/gone"])
        assert made.header["missing"] == ["a/gone"]
        assert made.share(lines("one", 20) + lines("two", 20)) == (20, 40)

    def test_an_unknown_revision_is_an_error(self, tmp_path: Path) -> None:
        commit(tmp_path, "a/one", {"x.py": lines("one", 20)})
        with pytest.raises(subprocess.CalledProcessError):
            build(tmp_path, revisions={"a/one": ["0" * 40]})

    def test_the_command_writes_the_same_bytes_each_time_and_checks_folders(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        first = commit(tmp_path / "m", "a/one", {"x.py": lines("one", 200)})
        commit(tmp_path / "m", "a/other", {"x.py": lines("other", 20)})
        (tmp_path / "names").write_text("# evaluation\na/one\n")
        (tmp_path / "revisions").write_text(json.dumps([{"url": "https://host/a/one.git", "revision": first}]))
        for out in ("f", "g"):
            options = ["--names", str(tmp_path / "names"), "--revisions", str(tmp_path / "revisions")]
            assert main(["build", str(tmp_path / "m"), str(tmp_path / out), *options]) == 0
        assert (tmp_path / "f").read_bytes() == (tmp_path / "g").read_bytes()
        assert "200 keys" in capsys.readouterr().out
        (tmp_path / "copy").mkdir()
        (tmp_path / "copy" / "renamed.py").write_bytes(lines("one", 150))
        assert main(["check", str(tmp_path / "f"), str(tmp_path / "report"), str(tmp_path / "copy")]) == 0
        assert "1 removed whole" in capsys.readouterr().out
        assert json.loads((tmp_path / "report").read_text())["package"] == "copy"


@pytest.fixture(scope="module")
def shipped() -> Excluded:
    return Excluded.load(SHIPPED)


class TestShippedFilter:
    def test_is_small_and_complete(self, shipped: Excluded) -> None:
        assert SHIPPED.stat().st_size < 6_000_000
        assert shipped.header["missing"] == []
        assert len(shipped.header["repositories"]) >= 77

    def test_random_lines_match_less_than_once_in_two_hundred(self, shipped: Excluded) -> None:
        assert shipped.contains(np.random.default_rng(2).integers(0, 2**64, 200_000, dtype=np.uint64)).mean() < 0.005

    def test_knows_an_excluded_project_from_others(self, shipped: Excluded) -> None:
        """On whatever is installed where the tests run: pytest is excluded, hypothesis and the standard library are not."""
        import _pytest
        import hypothesis

        def judged(module: object) -> Verdict:
            return shipped.judge(folder(Path(str(module.__file__)).parent))  # type: ignore[attr-defined]

        ours, other = judged(_pytest), judged(hypothesis)
        assert ours.removed
        assert ours.share > 0.7
        assert not other.removed
        assert other.share < 0.03
        assert not shipped.judge([("json.py", Path(json.__file__).read_bytes())]).removed

    def test_a_typical_file_takes_a_millisecond_or_two_at_most(self, shipped: Excluded) -> None:
        text = lines("typical", 120)  # about 8 KB
        took = []
        for _ in range(30):
            start = time.process_time()
            shipped.share(text)
            took.append(time.process_time() - start)
        assert min(took) < 0.002  # measured 0.4 ms; the margin is for slower machines
