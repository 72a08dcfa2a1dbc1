from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lurcher.errors import ModelError
from lurcher.vectors.convert import convert_model2vec
from lurcher.vectors.table import Table

TOKENS = ("[PAD]", "[UNK]", "get", "##user", "user", "##s", "größe")
ROWS = np.random.default_rng(3).standard_normal((len(TOKENS), 12)).astype(np.float32)


def tokenizer(**model: Any) -> dict[str, Any]:
    return {
        "added_tokens": [{"id": 0, "content": "[PAD]", "special": True}, {"id": 1, "content": "[UNK]", "special": True}],
        "model": {"type": "WordPiece", "vocab": {token: i for i, token in enumerate(TOKENS)}, **model},
    }  # fmt: skip


def tensors(**arrays: tuple[str, list[int], bytes]) -> bytes:
    header: dict[str, Any] = {"__metadata__": {"format": "np"}}
    body = b""
    for name, (kind, shape, data) in arrays.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def plain(rows: NDArray[np.float32] = ROWS) -> bytes:
    return tensors(embeddings=("F32", list(rows.shape), rows.tobytes()))


def folder(path: Path, tokens: Mapping[str, Any] | None = None, weights: bytes | None = None) -> Path:
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True, "nested": {"left": "out"}}))
    (path / "tokenizer.json").write_text(json.dumps(tokenizer() if tokens is None else tokens))
    (path / "model.safetensors").write_bytes(plain() if weights is None else weights)
    return path


def converted(tmp_path: Path, **options: Any) -> Table:
    return Table.open(convert_model2vec(folder(tmp_path / "potion", **options), tmp_path / "models"))


def close(found: NDArray[Any], expected: NDArray[Any]) -> bool:
    return bool(np.linalg.norm(found - expected) < 0.02 * np.linalg.norm(expected))


def test_a_folder_becomes_a_table(tmp_path: Path) -> None:
    table = converted(tmp_path)
    assert (len(table), table.dims, table.meta.compose, table.meta.name) == (5, 12, "wordpiece", "potion")
    assert table.meta.training == {"from": "Model2Vec", "model_type": "model2vec", "normalize": True}
    found = table.rows(["get", "größe", "getusers", "[UNK]"])
    assert close(found[0], ROWS[2]) and close(found[1], ROWS[6])
    assert close(found[2], (ROWS[2] + ROWS[3] + ROWS[5]) / 3)
    assert not found[3].any()


def test_a_second_time_gives_the_same_file(tmp_path: Path) -> None:
    source = folder(tmp_path / "potion")
    first = convert_model2vec(source, tmp_path / "models")
    assert convert_model2vec(source, tmp_path / "models") == first
    assert [path.name for path in (tmp_path / "models").iterdir()] == [first.name]


@pytest.mark.parametrize("kind", ["F16", "BF16"])
def test_halves_are_read_too(tmp_path: Path, kind: str) -> None:
    if kind == "F16":
        data = ROWS.astype("<f2").tobytes()
    else:
        data = (ROWS.view(np.uint32) >> 16).astype("<u2").tobytes()
    table = converted(tmp_path, weights=tensors(embeddings=(kind, list(ROWS.shape), data)))
    assert close(table.rows(["user"])[0], ROWS[4])


def test_weights_and_a_mapping_are_followed(tmp_path: Path) -> None:
    order = np.array([6, 5, 4, 3, 2, 1, 0])
    weights = np.linspace(0.1, 2.0, 7)
    table = converted(
        tmp_path,
        weights=tensors(
            embeddings=("F32", [7, 12], ROWS[order].tobytes()), mapping=("I64", [7], order.astype("<i8").tobytes()),
            weights=("F64", [7], weights.astype("<f8").tobytes()),
        ),
    )  # fmt: skip
    assert close(table.rows(["user"])[0], ROWS[4] * weights[4])


HEADER = {"dtype": "F32", "shape": [7, 12], "data_offsets": [0, 336]}


def with_header(**changes: Any) -> bytes:
    text = json.dumps({"embeddings": {**HEADER, **changes}}).encode()
    return struct.pack("<Q", len(text)) + text + ROWS.tobytes()


HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "short": b"1234567",
    "huge header": struct.pack("<Q", 2**63) + b"{}",
    "no header": struct.pack("<Q", 0) + b"{}",
    "header is a list": struct.pack("<Q", 2) + b"[]",
    "header is not JSON": struct.pack("<Q", 2) + b"{x",
    "nested header": struct.pack("<Q", 200_000) + b"[" * 200_000,
    "no embeddings": struct.pack("<Q", 2) + b"{}",
    "shape lies": with_header(shape=[7, 13]),
    "huge shape": with_header(shape=[2**40, 2**40]),
    "negative": with_header(shape=[-7, -12]),
    "three axes": with_header(shape=[7, 12, 1]),
    "no shape": with_header(shape=None),
    "outside": with_header(data_offsets=[336, 672]),
    "backwards": with_header(data_offsets=[336, 0]),
    "offsets as text": with_header(data_offsets=["0", "336"]),
    "other type": with_header(dtype="I8"),
    "type is a list": with_header(dtype=["F32"]),
    "too wide": tensors(embeddings=("F32", [1, 5000], bytes(20_000))),
    "no numbers": tensors(embeddings=("F32", [7, 0], b"")),
    "not a number": plain(ROWS * np.float32(np.nan)),
    "too large a number": plain(ROWS * np.float32(1e30)),
    "fewer rows than tokens": plain(ROWS[:4]),
    "mapping leads nowhere": tensors(
        embeddings=("F32", [7, 12], ROWS.tobytes()), mapping=("I32", [7], np.full(7, 99, "<i4").tobytes())
    ),
    "mapping is short": tensors(embeddings=("F32", [7, 12], ROWS.tobytes()), mapping=("I32", [1], bytes(4))),
    "too few weights": tensors(embeddings=("F32", [7, 12], ROWS.tobytes()), weights=("F32", [1], bytes(4))),
}


@pytest.mark.parametrize("weights", HOSTILE.values(), ids=HOSTILE.keys())
def test_weights_that_cannot_be_used_are_an_error(tmp_path: Path, weights: bytes) -> None:
    with pytest.raises(ModelError) as caught:
        converted(tmp_path, weights=weights)
    assert caught.value.hint
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ({}, "type 'None'"),
        ({"model": "x"}, "type 'None'"),
        (tokenizer(type="BPE"), "type 'BPE', and only WordPiece"),
        (tokenizer(type="Unigram"), "only WordPiece"),
        (tokenizer(continuing_subword_prefix="@@"), "continuations"),
        (tokenizer(vocab=["get"]), "no vocabulary"),
        (tokenizer(vocab={}), "not those of"),
        (tokenizer(vocab={"get": "2"}), "out of range"),
        (tokenizer(vocab={"get": -1}), "out of range"),
        (tokenizer(vocab={"get": 10**9}), "out of range"),
        ([], "not a JSON object"),
    ],
)
def test_a_tokenizer_that_cannot_be_used_is_an_error(tmp_path: Path, tokens: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        converted(tmp_path, tokens=tokens)
    assert caught.value.hint


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    source = folder(tmp_path / "potion")
    (source / name).unlink()
    with pytest.raises(ModelError, match=name):
        convert_model2vec(source, tmp_path / "models")


def test_a_place_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("")
    with pytest.raises(ModelError, match="cannot be written"):
        convert_model2vec(folder(tmp_path / "potion"), tmp_path / "blocked" / "models")
