"""Segments: laid out and taken back, and merged as if they had been built at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lurcher.errors import CorruptIndex
from lurcher.indexing.build import build_segment
from lurcher.lanes import lexical
from lurcher.languages.base import KINDS as IMPORT_KINDS
from lurcher.storage import merge as merging
from lurcher.storage import postings as merge_postings
from lurcher.storage.container import Container
from lurcher.storage.container_writer import ContainerWriter, encode_container
from lurcher.storage.imports import read_imports
from lurcher.storage.segment import FAMILIES, KINDS, Segment, check_segment, decode_string, read_table
from lurcher.storage.segment_writer import SegmentData, StringPool, encode_segment
from lurcher.storage.snapshot import Snapshot
from lurcher.storage.tables import to_direction
from lurcher.terms.count import Postings
from tests.indexing.taken_back import decode, postings_in
from tests.storage.kinds import KINDS as SCHEMAS
from tests.storage.kinds import ROWS, Kind
from tests.tables import WORDS, table_of

TABLE = table_of(WORDS, dims=16)
CONTENTS = (
    "import db\n\n\ndef getUser(user_id):\n    # loads one user\n    return db.load(user_id)\n",
    "class Session:\n    limit = 3\n\n    def close(self):\n        '''Ends it.'''\n        pass\n",
    "export function getUser(id: string) { return fetch(`/users/${id}`) }\n",
    "type Pool struct { idle int }\n\nfunc (p *Pool) Get() int { return p.idle }\n",
    "# Guide\n\nHow sessions end.\n",
    "import os\nfrom .b import c as d, e\nfrom . import *\ngröße = 1  # λόγος 検索語\n\n\ndef late():\n    import json\n",
    'import { one, two } from "./b";\nexport * from "./index";\n',
    "",
    "word " * 400,
    "\n".join(f"def step_{i}():\n    return {i}\n" for i in range(60)),
)
PATHS = (
    "a.py",
    "b/index.ts",
    "b/c.go",
    "d/__init__.py",
    "docs/e.md",
    "ä ö.py",
    "f\ng.txt",
    "h.unknown",
    "v1/i.rs",
    "tests/test_j.py",
)
FILES = st.dictionaries(st.sampled_from(PATHS), st.sampled_from(CONTENTS), max_size=7)


def built(files: dict[str, str]) -> SegmentData:
    return build_segment([(path, text.encode()) for path, text in sorted(files.items())], 300, TABLE)


def through_disk(data: SegmentData) -> SegmentData:
    return decode(Container(b"".join(encode_container(*encode_segment(data))), "test"))


def on_disk(data: SegmentData) -> bytes:
    return b"".join(encode_container(*encode_segment(data)))


def merge(parts: Sequence[SegmentData], live: Sequence[Any]) -> SegmentData:
    pieces: list[Any] = []
    merging.merge_segments([Container(on_disk(part), "part") for part in parts], live, ContainerWriter(pieces.append))
    container = Container(b"".join(pieces), "merged")
    container.verify()
    return decode(container)


def plain(data: SegmentData) -> dict[str, Any]:
    """A segment as values that can be compared, strings and texts looked up."""

    def table(rows: Any, strings: Sequence[str]) -> list[dict[str, Any]]:
        names = rows.dtype.names
        found = [dict(zip(names, row, strict=True)) for row in rows.tolist()]
        return [
            {key: decode_string(data.strings["strings"], value) if key in strings else value for key, value in row.items()}
            for row in found
        ]

    return {
        "paths": [decode_string(data.strings["paths"], offset) for offset in data.tables["files"]["path"].tolist()],
        "files": table(data.tables["files"], ()),
        "units": table(data.tables["units"], ()),
        "definitions": table(data.tables["definitions"], ("name", "container", "signature")),
        "imports": [(*row, decode_string(data.strings["import_texts"], row[2])) for row in data.tables["imports"].tolist()],
        "terms": data.terms,
        "postings": {
            family: [(data.terms[term], owner, count) for term, owner, count in _rows(data.postings[family])]
            for family in FAMILIES
        },
        "languages": data.languages,
        "texts": [bytes(text) for text in data.texts],
        "vectors": None if data.vectors is None else [rows.tolist() for rows in data.vectors],
    }


def _rows(postings: Postings) -> list[tuple[int, int, int]]:
    return list(zip(postings.terms.tolist(), postings.owners.tolist(), postings.counts.tolist(), strict=True))


@given(FILES)
@settings(max_examples=40, deadline=None)
def test_a_segment_comes_back_from_disk(files: dict[str, str]) -> None:
    data = built(files)
    assert plain(through_disk(data)) == plain(data)
    assert plain(data)["paths"] == sorted(files)


@given(FILES, st.lists(st.integers(0, 3), min_size=len(PATHS), max_size=len(PATHS)), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_merging_shards_in_any_grouping_equals_building_at_once(files: dict[str, str], places: list[int], random: Any) -> None:
    shards: list[dict[str, str]] = [{}, {}, {}, {}]
    for place, (path, text) in zip(places, files.items(), strict=False):
        shards[place][path] = text
    random.shuffle(shards)
    parts = [through_disk(built(shard)) if random.random() < 0.5 else built(shard) for shard in shards]
    while len(parts) > 1:
        count = random.randint(2, len(parts))
        parts = [*parts[count:], merge(parts[:count], [None] * count)]
    whole = built(files)
    assert plain(parts[0]) == plain(whole)
    assert on_disk(parts[0]) == on_disk(whole)


@given(st.lists(FILES, min_size=1, max_size=3), st.data())
@settings(max_examples=40, deadline=None)
def test_merging_live_files_equals_building_them_alone(versions: list[dict[str, str]], data: st.DataObject) -> None:
    """Of several versions of a file one at most is live, as after edits and deletions."""
    live: dict[str, int] = {}
    for path in sorted({path for version in versions for path in version}):
        holders = [i for i, version in enumerate(versions) if path in version]
        chosen = data.draw(st.sampled_from([None, *holders]))
        if chosen is not None:
            live[path] = chosen
    masks = [np.array([live.get(path) == i for path in sorted(version)], bool) for i, version in enumerate(versions)]
    merged = merge([built(version) for version in versions], masks)
    alone = built({path: versions[i][path] for path, i in live.items()})
    assert plain(merged) == plain(alone)
    assert on_disk(merged) == on_disk(alone)


def test_parts_of_a_new_segment_merge_to_what_is_built_at_once() -> None:
    files = dict(zip(PATHS, CONTENTS, strict=False))
    parts = [built(dict(list(files.items())[i::3])) for i in range(3)]
    pieces: list[Any] = []
    containers = [Container(b"".join(encode_container(*encode_segment(part, part=True))), "part") for part in parts]
    merging.merge_segments(containers, [None] * 3, ContainerWriter(pieces.append))
    assert b"".join(pieces) == on_disk(built(files))


def encoded(data: SegmentData) -> bytes:
    return b"".join(encode_container(*encode_segment(data)))


def merged(kind: Kind, parts: Sequence[SegmentData], live: Sequence[Any]) -> bytes:
    pieces: list[Any] = []
    containers = [Container(encoded(part), "part") for part in parts]
    merging.merge_segments(containers, live, ContainerWriter(pieces.append), kind.schema)
    return b"".join(pieces)


@pytest.fixture(params=sorted(SCHEMAS))
def kind(request: pytest.FixtureRequest) -> Kind:
    return SCHEMAS[request.param]


def test_merging_one_segment_changes_nothing(kind: Kind) -> None:
    data = kind.build(range(ROWS))
    assert merged(kind, [data], [None]) == encoded(data)


@pytest.mark.parametrize("cuts", [(0,), (1, 2), (4, 4), (3, 6, 8), (9,)], ids=str)
def test_parts_of_any_schema_merge_to_what_is_built_at_once(kind: Kind, cuts: tuple[int, ...]) -> None:
    borders = [0, *cuts, ROWS]
    parts = [kind.build(range(a, b)) for a, b in pairwise(borders)]
    assert merged(kind, parts, [None] * len(parts)) == encoded(kind.build(range(ROWS)))


@pytest.mark.parametrize("step", [2, 3, 5])
def test_only_live_rows_of_any_schema_are_merged(kind: Kind, step: int) -> None:
    parts = [range(4), range(4, ROWS)]
    masks = [np.array([number % step == 0 for number in part]) for part in parts]
    kept = [number for number in range(ROWS) if number % step == 0]
    assert merged(kind, [kind.build(part) for part in parts], masks) == encoded(kind.build(kept))


def test_merging_nothing_gives_an_empty_segment(kind: Kind) -> None:
    assert merged(kind, [kind.build([1])], [np.array([False])]) == encoded(kind.build([]))


def test_a_segment_of_another_schema_is_damage(kind: Kind) -> None:
    container = Container(encoded(kind.build(range(ROWS))), "test")
    for schema in (other.schema for other in SCHEMAS.values()):
        if schema is kind.schema:
            assert check_segment(container, schema) is container
        else:
            with pytest.raises(CorruptIndex):
                check_segment(container, schema)


def with_postings(postings: Postings, terms: int, units: int) -> Container:
    empty = built({})
    data = SegmentData(
        {**empty.tables, "units": np.zeros(units, empty.tables["units"].dtype)}, [f"t{i:03}" for i in range(terms)],
        {**empty.postings, "body": postings}, empty.strings, [], empty.languages,
    )  # fmt: skip
    return Container(on_disk(data), "test")


OWNERS = st.lists(st.integers(0, 255) | st.integers(0, 70_000), min_size=1, max_size=20, unique=True)


@given(st.dictionaries(st.integers(0, 20), OWNERS, max_size=6))
@settings(max_examples=50, deadline=None)
def test_postings_come_back_whatever_their_width(owners: dict[int, list[int]]) -> None:
    rows = sorted((term, owner) for term, found in owners.items() for owner in found)
    postings = Postings(
        np.array([term for term, _ in rows], np.uint32),
        np.array([owner for _, owner in rows], np.uint32),
        np.array([1 + owner % 255 for _, owner in rows], np.uint8),
    )
    container = with_postings(postings, 21, 70_001)
    assert _rows(decode_body(container)) == _rows(postings)
    segment = Segment(container)
    for term in range(21):
        found = segment.postings("body", term)
        if term not in owners:
            assert found is None
        else:
            assert found is not None
            assert found[0].tolist() == sorted(owners[term])
            assert found[1].tolist() == [1 + owner % 255 for owner in sorted(owners[term])]


def decode_body(container: Container) -> Postings:
    return postings_in(container, "body")


@pytest.mark.parametrize(
    ("owners", "width"), [([0, 255], 1), ([0, 256], 2), ([65_535], 2), ([65_536], 4), ([7, 8, 900_000], 4)]
)
def test_each_term_takes_the_narrowest_width(owners: list[int], width: int) -> None:
    count = len(owners)
    postings = Postings(np.zeros(count, np.uint32), np.array(owners, np.uint32), np.ones(count, np.uint8))
    container = with_postings(postings, 1, 1_000_000)
    assert container.length("body.data") == (width + 1) * count
    assert decode_body(container).owners.tolist() == owners


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_merging_in_small_slices_changes_nothing(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    files = dict(zip(PATHS, CONTENTS, strict=False))
    parts = [built(dict(list(files.items())[i::3])) for i in range(3)]
    monkeypatch.setattr(merge_postings, "_SLICE_ROWS", rows)
    monkeypatch.setattr(merging, "_PIECE_BYTES", rows)
    monkeypatch.setattr(merging, "_RELEASE_BYTES", 3 * rows)
    assert on_disk(merge(parts, [None] * 3)) == on_disk(built(files))


def test_strings_are_stored_once_per_file_and_end_at_zero() -> None:
    pool = StringPool()
    long = "x" * 500
    offsets = {text: pool.put(text) for text in ("", "a", long, "größe", "a\0b")}
    assert pool.put(long) == offsets[long]
    assert pool.put("a b") == offsets["a\0b"]
    assert pool.next_file() == len(pool.data()) == pool.put(long)
    data = pool.data()
    for text, offset in offsets.items():
        assert decode_string(data, offset) == text.replace("\0", " ")
    assert decode_string(b"no end", 3) == "end"


HOSTILE_TABLES = [
    ("files", "unit", 10**6), ("files", "units", 10**6), ("files", "definition", 10**6), ("files", "definitions", 10**6),
    ("files", "text", 2**63), ("files", "size", 2**32 - 1), ("files", "path", 2**32 - 1), ("files", "strings", 2**32 - 1),
    ("files", "language", 60_000),
    ("units", "file", 10**6), ("units", "definition", 10**6), ("units", "definition", -7),
    ("definitions", "file", 10**6), ("definitions", "unit", 10**6), ("definitions", "kind", len(KINDS)),
    ("definitions", "name", 2**32 - 1), ("definitions", "signature", 2**32 - 1),
    ("imports", "file", 10**6), ("imports", "file", 0), ("imports", "kind", len(IMPORT_KINDS)),
    ("imports", "text", 2**32 - 1), ("imports", "text", 0),
]  # fmt: skip


def read_everything(container: Container) -> None:
    """What a search may do with a segment."""
    snapshot = Snapshot([Segment(container)], 1)
    for file in range(snapshot.file_total):
        snapshot.path(file), snapshot.language(file), snapshot.file_text(file), snapshot.innermost(file, 0, KINDS)
        for unit in snapshot.units_of(file):
            snapshot.unit(unit), snapshot.unit_text(unit)
    for number in range(container.meta["definitions"]):
        snapshot.definition(number), snapshot.definition_place(number)
    list(read_imports(container, [True] * snapshot.file_total))
    direction = to_direction(np.ones(16))
    snapshot.cosines.for_files(direction), snapshot.cosines.for_all_units(direction)
    for term in snapshot.terms_with_prefix(""):
        for family in FAMILIES:
            snapshot.postings(family, term)


@pytest.mark.parametrize(("table", "column", "value"), HOSTILE_TABLES)
def test_a_table_that_leads_nowhere_is_damage(table: str, column: str, value: int) -> None:
    """A checksum is no secret, so a file with a good one may still say anything."""
    data = built(dict(zip(PATHS, CONTENTS, strict=False)))
    data.tables[table][column][-1] = value
    container = Container(on_disk(data), "test")
    container.verify()
    with pytest.raises(CorruptIndex):
        read_everything(container)
    with pytest.raises(CorruptIndex):
        decode(container)


HOSTILE_COMMITS = [
    ("commits", "change", 10**6), ("commits", "changes", 10**6), ("commits", "hunk", 1), ("commits", "hunks", 10**6),
    ("commits", "strings", 2**40), ("commits", "string_size", 2**32 - 1), ("commits", "text", 2**40),
    ("commits", "text_size", 2**32 - 1), ("commits", "sha_size", 5), ("changes", "commit", 10**6), ("changes", "commit", 0),
    ("changes", "path", 2**32 - 1), ("changes", "old_path", 2**32 - 2), ("changes", "language", 60_000),
    ("changes", "kind", 250), ("hunks", "commit", 10**6), ("hunks", "change", 10**6), ("hunks", "heading", 2**32 - 1),
    ("hunks", "name", 2**32 - 1),
    ("hunks", "text", 2**32 - 1), ("hunks", "size", 2**32 - 1),
]  # fmt: skip


@pytest.mark.parametrize(("table", "column", "value"), HOSTILE_COMMITS)
def test_a_table_of_commits_that_leads_nowhere_is_damage(table: str, column: str, value: int) -> None:
    data = SCHEMAS["commits"].build(range(ROWS - 1))
    data.tables[table][column][-1] = value
    container = Container(encoded(data), "test")
    container.verify()
    with pytest.raises(CorruptIndex):
        read_table(container, table, SCHEMAS["commits"].schema)
    with pytest.raises(CorruptIndex):
        merging.merge_segments([container], [None], ContainerWriter(lambda piece: None), SCHEMAS["commits"].schema)


@given(st.sampled_from(("terms", "rows", "ends", "data")), st.sampled_from(FAMILIES), st.data())
@settings(max_examples=50, deadline=None)
def test_postings_that_make_no_sense_are_damage_at_worst(part: str, family: str, data: st.DataObject) -> None:
    sections, meta = encode_segment(built(dict(zip(PATHS, CONTENTS[:6], strict=False))))
    kind, content = sections[f"{family}.{part}"]
    changed = bytearray(content)
    if changed:
        width = 4 if kind == "<u4" else 1
        place = data.draw(st.integers(0, len(changed) // width - 1)) * width
        changed[place : place + width] = data.draw(st.binary(min_size=width, max_size=width))
    if data.draw(st.booleans()):
        changed = changed[: len(changed) // 8 * 4]
    sections[f"{family}.{part}"] = (kind, bytes(changed))
    container = Container(b"".join(encode_container(sections, meta)), "test")
    for use in (read_everything, decode):
        try:
            use(container)
        except CorruptIndex:
            continue


@pytest.mark.parametrize(
    "meta",
    [
        {},
        {"rows": -1},
        {"rows": 10**9},
        {"rows": "many"},
        {"schema": "other"},
        {"terms": None},
        {"languages": 3},
        {"languages": [1]},
        {"format": 0},
        {"dims": 0},
        {"dims": 15},
        {"dims": -16},
        {"dims": 10**12},
        {"dims": None},
    ],
    ids=str,
)
def test_a_segment_that_miscounts_itself_is_damage(kind: Kind, meta: dict[str, Any]) -> None:
    sections, good = encode_segment(kind.build([1, 2]))
    main = kind.schema.main
    wrong = {main if key == "rows" else key: value for key, value in meta.items()}
    container = Container(b"".join(encode_container(sections, {**good, **wrong} if meta else {})), "test")
    with pytest.raises(CorruptIndex):
        check_segment(container, kind.schema)


@pytest.mark.parametrize("name", ["vector_scales", "card_scales"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -0.5, 7.0])
def test_vectors_of_no_length_are_damage(name: str, value: float) -> None:
    sections, meta = encode_segment(built({"a.py": "x = 1\n", "b.py": "y = 2\n"}))
    scales = np.frombuffer(sections[name][1], "<f4").copy()
    scales[1] = value
    container = Container(b"".join(encode_container({**sections, name: ("<f4", scales.tobytes())}, meta)), "test")
    with pytest.raises(CorruptIndex):
        read_everything(container)
    with pytest.raises(CorruptIndex):
        decode(container)


def test_parts_with_and_without_vectors_merge_to_one_without() -> None:
    with_vectors = built({"a.py": "x = 1\n"})
    without = build_segment([("b.py", b"y = 2\n")], 300)
    for parts in ([with_vectors, without], [without, without]):
        merged = merge(parts, [None, None])
        assert merged.vectors is None and len(merged.tables["units"]) == 2
        assert plain(through_disk(merged)) == plain(merged)


def test_files_that_claim_the_same_units_are_damage() -> None:
    """Each claim may lead to what exists; all of them together would fill the memory."""
    data = built(dict(zip(PATHS, CONTENTS, strict=False)))
    data.tables["files"]["unit"], data.tables["files"]["units"] = 0, len(data.tables["units"])
    snapshot = Snapshot([Segment(Container(on_disk(data), "test"))], 1)
    everywhere = np.arange(snapshot.file_total)
    with pytest.raises(CorruptIndex, match="share units"):
        lexical.spread_to_units(snapshot, everywhere, np.ones(len(everywhere)))


def test_a_family_with_a_term_that_is_not_there_is_damage() -> None:
    sections, meta = encode_segment(built({f"{name}.py": "x = 1\n" for name in "abcdef"}))
    kind, data = sections["name.terms"]
    numbers = np.frombuffer(data, "<u4").copy()
    numbers[1] = 1 << 31
    segment = Segment(
        Container(b"".join(encode_container({**sections, "name.terms": (kind, numbers.tobytes())}, meta)), "test")
    )
    with pytest.raises(CorruptIndex, match="does not exist"):
        list(map(segment.term_text, segment.terms_in_family("name", 0, meta["terms"])))
