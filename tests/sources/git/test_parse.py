"""Output in chunks of any size parses the same; output that ends early never counts as complete."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher.sources import git
from lurcher.sources.git import parse as streams
from lurcher.sources.git.log import _GLOBAL, _PATCHES, _TREES
from lurcher.sources.git.parse import Parsed, ParseError, Parser, RecordStream
from tests.corpora.history.repo import Repo


def chunks(data: bytes, sizes: list[int]) -> Callable[[], bytes]:
    """The data, in pieces of these sizes, over and over."""
    pieces = []
    position = 0
    while position < len(data):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(data[position : position + size])
        position += size
    found = iter(pieces)
    return lambda: next(found, b"")


@pytest.fixture(scope="module")
def git_output(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What git writes about a small history."""
    repo = Repo(tmp_path_factory.mktemp("git_output") / "repo")
    names = [
        repo.commit("one\n\nbody", {"a.py": "a = 1\nb = 2\n", 'odd "name"\n.py': "x\n", "data.raw": b"\0\1"}),
        repo.commit("two", {"a.py": "a = 1\nb = 3", "new.py": "".join(f"line {i}\n" for i in range(40))}),
        repo.commit("empty"),
        repo.commit("gone", {"a.py": None}),
    ]
    status, output = git.run_with_input(repo.top, *_GLOBAL, *_TREES, *_PATCHES, data="\n".join(names).encode() + b"\n")
    assert status == 0
    return output


@given(sizes=st.lists(st.integers(1, 50), min_size=1, max_size=5))
def test_pieces_do_not_matter(git_output: bytes, sizes: list[int]) -> None:
    whole = list(Parser(RecordStream(chunks(git_output, [1 << 20])), 20_000))
    assert len(whole) == 4
    assert list(Parser(RecordStream(chunks(git_output, sizes)), 20_000)) == whole


def test_truncated_output_gives_no_partial_commit(git_output: bytes) -> None:
    whole = list(Parser(RecordStream(chunks(git_output, [1 << 20])), 20_000))
    for end in range(len(git_output)):
        found: list[Parsed] = []
        with contextlib.suppress(ParseError):
            found.extend(Parser(RecordStream(chunks(git_output[:end], [64])), 20_000))
            # That a commit ends here cannot be git_output from a stop between two lines: whoever reads asks how git ended.
            del found[-1:]
        assert found == whole[: len(found)]


@given(data=st.binary(max_size=400))
def test_noise_is_refused(data: bytes) -> None:
    with pytest.raises(ParseError):
        list(Parser(RecordStream(chunks(b"\x1e" + data + b"\n", [7])), 20_000))


def test_overlong_lines_and_fields_are_cut_and_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_LINE", 10)
    monkeypatch.setattr(streams, "MAX_FIELD", 20)
    data = b"x" * 5000 + b"\n" + b"short\n" + b"f" * 5000 + b"\0" + b"y" * 11 + b"\nend\n"
    for size in (3, 7, 4096, 1 << 20):
        stream = RecordStream(chunks(data, [size]))
        assert stream.line() == b"x" * 10
        assert stream.lines(1) == [b"short"]
        assert stream.field() == b"f" * 20
        assert stream.lines(2) == [b"y" * 10, b"end"]
        assert stream.peek() == b""


def test_who_stops_reading_leaves_no_process_behind(tmp_path: Path) -> None:
    import subprocess

    from lurcher.sources.git import log
    from lurcher.sources.git.log import LogSettings

    repo = Repo(tmp_path / "repo")
    for i in range(3):
        repo.commit(f"{i}", {"big.py": "".join(f"{i} {j}\n" for j in range(20_000))})
    started: list[subprocess.Popen[bytes]] = []
    real = git.start

    def start(*arguments: str, **options: bool) -> subprocess.Popen[bytes] | None:
        process = real(*arguments, **options)
        assert process is not None
        started.append(process)
        return process

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(git, "start", start)
        names = log.list_commits(repo.top, "HEAD", LogSettings())
        assert names is not None
        reading = log.read_commits(repo.top, names, LogSettings())
        assert next(reading).subject == "2"
        reading.close()  # type: ignore[attr-defined]
    assert [process.poll() is not None for process in started] == [True] * len(started)
