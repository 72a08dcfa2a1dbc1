"""What becomes of a file on its way into a segment."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.indexing.build import build_segment
from lurcher.storage.container import Container
from lurcher.storage.container_writer import encode_container
from lurcher.storage.segment import Segment
from lurcher.storage.segment_writer import SegmentData, encode_segment
from lurcher.storage.snapshot import Snapshot
from lurcher.terms import split, words

SOURCE = '''"""Talks to servers."""

LIMIT = 20


class Client:
    """Follows redirects."""

    def follow_redirects(self, response):
        # until the chain ends
        return response.next_request
'''


def snapshot_of(*parts: dict[str, str]) -> Snapshot:
    segments = [Segment(Container(b"".join(encode_container(*encode_segment(built(files)))), "test")) for files in parts]
    order = sorted((path, number, place) for number, files in enumerate(parts) for place, path in enumerate(sorted(files)))
    return Snapshot(segments, 1, [(number, place) for _, number, place in order])


def built(files: dict[str, str], chunk_chars: int = 1500) -> SegmentData:
    return build_segment([(path, text.encode()) for path, text in sorted(files.items())], chunk_chars)


def terms(data: SegmentData, family: str) -> dict[tuple[str, int], int]:
    rows = data.postings[family]
    columns = (rows.terms.tolist(), rows.owners.tolist(), rows.counts.tolist())
    return {(data.terms[term], owner): count for term, owner, count in zip(*columns, strict=True)}


def test_comments_are_counted_separately_from_code() -> None:
    data = built({"src/client.py": SOURCE})
    comments = {term for term, _ in terms(data, "comments")}
    body = {term for term, _ in terms(data, "body")}
    assert {"talks", "servers", "follows", "redirects", "until", "chain"} <= comments
    assert not {"talks", "servers", "until", "chain"} & body
    assert {"nextrequest", "next", "limit", "client"} <= body


@given(
    st.lists(
        st.sampled_from(["# a note\n", "x = get_user(1)\n", "'''words of\ntwo lines'''\n", "def f(): pass\n", "\n"]),
        max_size=12,
    )
)
@settings(max_examples=40, deadline=None)
def test_every_word_is_counted_once(lines: list[str]) -> None:
    text = "".join(lines)
    data = built({"a.py": text}, 200)
    counted: Counter[str] = Counter()
    for family in ("body", "comments"):
        for (term, _), count in terms(data, family).items():
            counted[term] += count
    assert counted == Counter(term for word in words(text) for term in split(word))


def test_lengths_are_the_sums_of_counts() -> None:
    data = built({"a.py": SOURCE, "b.py": SOURCE * 5}, 300)
    for field in ("body", "comments", "symbols"):
        sums: Counter[int] = Counter()
        for (_, owner), count in terms(data, field).items():
            sums[owner] += count
        assert data.tables["units"][field].tolist() == [sums[unit] for unit in range(len(data.tables["units"]))]


def test_names_lead_to_their_definitions() -> None:
    snapshot = snapshot_of({"src/client.py": SOURCE})
    owners, _ = snapshot.postings("definitions", "followredirects")
    found = [snapshot.definition(number) for number in owners.tolist()]
    assert [(item.qualified, item.kind, item.start_line) for item in found] == [("Client.follow_redirects", "method", 9)]
    file, unit = snapshot.definition_place(int(owners[0]))
    assert snapshot.path(file) == "src/client.py"
    assert "def follow_redirects" in snapshot.unit_text(unit)


def test_a_type_is_found_by_the_parts_of_its_name() -> None:
    snapshot = snapshot_of({"a.py": "class HttpRetryPolicy:\n    pass\n\n\ndef retry_policy(): pass\n"})
    owners, _ = snapshot.postings("types", "retry")
    assert [snapshot.definition(number).name for number in owners.tolist()] == ["HttpRetryPolicy"]
    assert snapshot.definition_parts[owners].tolist() == [3]


def test_a_file_is_found_by_its_name_and_folders() -> None:
    snapshot = snapshot_of({"net/http/RetryPolicy.java": "class A {}\n", "net/http/index.ts": "let a = 1\n"})
    assert [snapshot.path(i) for i in snapshot.postings("name", "retry")[0].tolist()] == ["net/http/RetryPolicy.java"]
    assert [snapshot.path(i) for i in snapshot.postings("stem", "retrypolicy")[0].tolist()] == ["net/http/RetryPolicy.java"]
    assert len(snapshot.postings("folder", "http")[0]) == 2
    assert [snapshot.path(i) for i in snapshot.postings("name", "http")[0].tolist()] == ["net/http/index.ts"]


def test_segments_are_numbered_as_one() -> None:
    one = {"b.py": "def beta(): pass\n", "d.py": "class Delta:\n    def beta(self): pass\n"}
    other = {"a.py": "def alpha(): pass\n", "c.go": "package c\n\nfunc beta() {}\n"}
    snapshot = snapshot_of(one, other)
    assert [snapshot.path(file) for file in range(snapshot.file_total)] == ["b.py", "d.py", "a.py", "c.go"]
    assert snapshot.path_rank.tolist() == [1, 3, 0, 2]
    assert (snapshot.file_count, snapshot.file_total) == (4, 4)
    owners, counts = snapshot.postings("definitions", "beta")
    assert [snapshot.path(snapshot.definition_place(i)[0]) for i in owners.tolist()] == ["b.py", "d.py", "c.go"]
    assert counts.tolist() == [1, 1, 1]
    for file, text in enumerate([*one.values(), *other.values()]):
        assert snapshot.file_text(file).decode() == text
        assert "".join(snapshot.unit_text(unit) for unit in snapshot.units_of(file)) == text
        assert {snapshot.unit(unit)[0] for unit in snapshot.units_of(file)} == {file}
    assert [snapshot.language(file) for file in range(4)] == ["python", "python", "python", "go"]
    assert snapshot.definition_file.tolist() == [0, 1, 1, 2, 3]


def test_terms_are_found_by_their_beginning() -> None:
    snapshot = snapshot_of({"a.py": "redirect = 1\nredirects = 2\nred = 3\n"}, {"b.py": "redirected = 1\nreel = 2\n"})
    assert snapshot.terms_with_prefix("redirect") == ["redirect", "redirected", "redirects"]
    assert snapshot.terms_with_prefix("x") == []
    assert snapshot.terms_with_prefix("a", "name") == ["a"]


@pytest.mark.parametrize("term", ["", "zzz", "ä", "\ud800"])
def test_an_unknown_term_has_no_owners(term: str) -> None:
    snapshot = snapshot_of({"a.py": SOURCE})
    assert len(snapshot.postings("body", term)[0]) == 0


def test_an_empty_snapshot_holds_nothing() -> None:
    snapshot = Snapshot([], 0)
    assert (snapshot.file_count, snapshot.unit_count, snapshot.file_total) == (0, 0, 0)
    assert snapshot.terms_with_prefix("a") == []
    assert len(snapshot.postings("body", "a")[0]) == 0
    assert snapshot.lengths("body")[1] == 0.0
