from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lurcher.errors import LurcherError, ModelError
from lurcher.storage.container import Container
from lurcher.storage.container_writer import encode_container
from lurcher.vectors.table import DOCUMENT, QUERY, Table, pack_table, write_table
from lurcher.vectors.unseen_terms import hash_grams
from tests.tables import META, arguments, table_of

TERMS = ("größe", "redirect", "検索", "get", "follow", "zebra", "")


def sections_of(data: bytes) -> tuple[dict[str, tuple[str, bytes]], dict[str, Any]]:
    container = Container(data, "t")
    return {name: (entry.kind, bytes(container.section(name))) for name, entry in container._table.items()}, container.meta


def packed(**options: Any) -> bytes:
    return b"".join(pack_table(*arguments(TERMS, **options)))


def test_terms_are_found_however_many_are_requested() -> None:
    table = table_of(TERMS)
    order = sorted(TERMS, key=str.encode)
    asked = [*TERMS, "absent", "redirec", "redirects"]
    expected = [order.index(term) if term in order else -1 for term in asked]
    assert table.find(asked).tolist() == expected
    assert table.find(asked * 30).tolist() == expected * 30
    assert table.find(asked).tolist() == expected
    assert table.find([]).tolist() == []


@pytest.mark.parametrize("bits", [4, 8])
def test_a_known_term_has_its_own_row(bits: int) -> None:
    terms, rows, *_ = arguments(TERMS)
    found = table_of(TERMS, bits=bits).rows(terms)
    assert found.dtype == np.float32 and found.shape == (len(terms), 32)
    cosines = (found * rows).sum(axis=1) / np.linalg.norm(found, axis=1) / np.linalg.norm(rows, axis=1)
    assert cosines.min() > (0.98 if bits == 4 else 0.9999)


def test_few_and_many_terms_have_the_same_rows() -> None:
    table = table_of([f"term{i}" for i in range(200)])
    asked = [f"term{i}" for i in range(0, 220, 7)]
    assert (table.rows(asked * 20)[: len(asked)] == table.rows(asked)).all()


def test_an_unseen_term_is_the_mean_of_its_n_grams() -> None:
    arguments_ = arguments(TERMS)
    grams = arguments_[4]
    table = table_of(TERMS)
    for term in ("unseen", "grün", "x語"):
        buckets, _ = hash_grams([term], [3, 4, 5], len(grams))
        expected = grams[buckets].mean(axis=0)
        found = table.rows([term])[0]
        assert np.linalg.norm(found - expected) < 0.03 * np.linalg.norm(expected)


def test_a_script_that_the_table_has_not_learnt_is_nothing() -> None:
    assert not table_of(TERMS).rows(["語", "привет", "ö"]).any()


def test_what_a_composed_vector_is_does_not_depend_on_the_others() -> None:
    table = table_of(TERMS)
    asked = [f"unseen{i}{'x' * (i % 9)}" for i in range(300)]
    together = table.rows(asked)
    for i in range(0, 300, 37):
        assert (table.rows([asked[i]])[0] == together[i]).all()
    assert (table.rows(asked[::-1])[::-1] == together).all()


def test_pieces_make_up_an_unseen_word() -> None:
    table = table_of(["get", "##user", "##us", "##er", "user"], compose="wordpiece")
    rows = dict(zip(("get", "##user"), table.rows(["get", "##user"]), strict=True))
    found = table.rows(["getuser", "getx", "user", "get" * 50])
    expected = (rows["get"] + rows["##user"]) / 2
    assert np.linalg.norm(found[0] - expected) < 0.02 * np.linalg.norm(expected)
    assert not found[1].any()
    assert (found[2] == table.rows(["user"])[0]).all()
    assert not found[3].any()


def test_without_composition_an_unseen_term_is_nothing() -> None:
    assert not table_of(TERMS, compose="none").rows(["unseen"]).any()
    assert not table_of(TERMS, buckets=0).rows(["unseen"]).any()


def test_weights_multiply_on_their_side() -> None:
    terms, rows, _, _, grams, meta = arguments(["a", "b"])
    pieces = pack_table(terms, rows, np.array([2.0, 3.0]), np.array([5.0, 7.0]), grams, {**meta, "gram_weight_query": 0.25})
    table = Table.of(b"".join(pieces))
    plain = table.rows(["b", "unseen"])
    assert np.allclose(table.vectors(["b", "unseen"], QUERY), plain * [[3.0], [0.25]])
    assert np.allclose(table.vectors(["b", "unseen"], DOCUMENT), plain * [[7.0], [0.5]])


def test_an_empty_table_still_composes() -> None:
    table = table_of(())
    assert len(table) == 0
    assert table.vectors(["unseen"], QUERY).any()


def test_a_table_goes_through_a_file_and_opens_at_once(tmp_path: Path) -> None:
    written = write_table(tmp_path / "t.table", *arguments([f"term{i}" for i in range(20_000)], dims=64))
    started = time.process_time()
    table = Table.open(tmp_path / "t.table")
    digest = table.digest
    assert time.process_time() - started < 0.5
    assert (digest, len(table), table.dims, table.meta.name) == (written.digest, 20_000, 64, "tiny")
    assert table.size == (tmp_path / "t.table").stat().st_size


def test_the_digest_follows_the_content(tmp_path: Path) -> None:
    digests = {
        table_of(TERMS).digest, table_of(TERMS[1:]).digest, table_of(TERMS, weights={"get": 2.0}).digest,
        table_of(TERMS, name="other").digest, table_of(TERMS, bits=4).digest,
    }  # fmt: skip
    assert len(digests) == 5
    assert table_of(TERMS).digest == table_of(TERMS).digest


def test_a_link_to_a_table_is_followed(tmp_path: Path) -> None:
    write_table(tmp_path / "t.table", *arguments(TERMS))
    (tmp_path / "link").symlink_to("t.table")
    assert len(Table.open(tmp_path / "link")) == len(TERMS)


HOSTILE: dict[str, dict[str, Any]] = {
    "bits 7": {"bits": 7},
    "no bits": {"bits": None},
    "huge dims": {"dims": 10**9},
    "no dims": {"dims": 0},
    "other dims": {"dims": 31},
    "dims as text": {"dims": "32"},
    "later version": {"version": 2},
    "unknown compose": {"compose": "magic"},
    "no name": {"name": 3},
    "lengths": {"gram_lengths": [0]},
    "huge lengths": {"gram_lengths": [10**6]},
    "weight": {"gram_weight_query": float("nan")},
    "field": {"fields": {"body": float("inf")}},
    "unknown field": {"fields": {"smell": 1.0}},
    "card": {"card": {"name": "much"}},
    "licence": {"licence": ["a"]},
}


@pytest.mark.parametrize("meta", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_table_that_says_nonsense_of_itself_is_an_error(meta: dict[str, Any]) -> None:
    sections, good = sections_of(packed())
    with pytest.raises(ModelError) as caught:
        Table.of(b"".join(encode_container(sections, {**good, **meta})))
    assert caught.value.hint and "model file" in caught.value.message


@pytest.mark.parametrize("name", ["rows", "scales", "term_ends", "query_weights", "document_weights", "grams"])
@pytest.mark.parametrize("how", ["shorter", "longer", "gone"])
def test_a_section_of_another_length_is_an_error(name: str, how: str) -> None:
    sections, meta = sections_of(packed())
    kind, data = sections.pop(name)
    if how != "gone":
        sections[name] = (kind, data[:-32] if how == "shorter" else data + bytes(32))
    with pytest.raises(ModelError):
        Table.of(b"".join(encode_container(sections, meta)))


@pytest.mark.parametrize("name", ["scales", "gram_scales", "query_weights", "document_weights"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_not_a_number_is_an_error(name: str, value: float) -> None:
    sections, meta = sections_of(packed())
    numbers = np.frombuffer(sections[name][1], "<f4").copy()
    numbers[-1] = value
    table = Table.of(b"".join(encode_container({**sections, name: ("<f4", numbers.tobytes())}, meta)))
    with pytest.raises(ModelError, match="out of range"):
        table.vectors(["get", "unseen"], QUERY), table.vectors(["get", "unseen"], DOCUMENT)
    with pytest.raises(ModelError):
        table.verify()


@pytest.mark.parametrize("ends", [[5, 3, 9, 9, 9, 9, 9], [2**32 - 1] * 7, [0] * 7])
def test_terms_that_end_nowhere_are_an_error(ends: list[int]) -> None:
    sections, meta = sections_of(packed())
    table = Table.of(b"".join(encode_container({**sections, "term_ends": ("<u4", np.array(ends, "<u4").tobytes())}, meta)))
    for asked in (["get"], ["get"] * 100):
        with pytest.raises(ModelError):
            table.find(asked)


def test_any_damage_is_an_error_or_changes_nothing(tmp_path: Path) -> None:
    data = packed()
    path = tmp_path / "t.table"
    whole = table_of(TERMS).rows(["get", "unseen", *TERMS])
    errors = 0
    for position in range(0, len(data), 101):
        broken = bytearray(data)
        broken[position] ^= 0xFF
        path.write_bytes(broken)
        try:
            table = Table.open(path)
            assert (table.rows(["get", "unseen", *TERMS]) == whole).all()
            table.verify()
        except ModelError as error:
            assert error.hint
            errors += 1
    assert errors > 10


@pytest.mark.parametrize("content", [b"", b"x", b"LURCHER1" * 20, packed()[:-1], packed()[: len(packed()) // 2]])
def test_a_file_that_is_no_table_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(ModelError):
        Table.open(tmp_path / "t")


def test_no_file_a_folder_and_a_forbidden_one_are_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path, Path("/proc/self/mem")):
        with pytest.raises(LurcherError):
            Table.open(path)


def test_what_cannot_be_written_is_reported(tmp_path: Path) -> None:
    terms, rows, own, _, grams, meta = arguments(["a", "b"])
    broken = rows.copy()
    broken[0, 0] = np.nan
    for case in (
        (["a", "a"], rows, own, own, grams, meta),
        (["a"], rows, own, own, grams, meta),
        (terms, broken, own, own, grams, meta),
        (terms, rows, own * np.nan, own, grams, meta),
        (terms, rows, own, own, grams, {**meta, "compose": "magic"}),
    ):
        with pytest.raises(ModelError):
            write_table(tmp_path / "t", *case)
        assert not (tmp_path / "t").exists()


def test_the_meta_entry_is_plain_json() -> None:
    assert json.loads(json.dumps(META)) == META
