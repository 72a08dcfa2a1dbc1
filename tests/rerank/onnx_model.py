"""A small cross-encoder made here: a real tokenizer, and an ONNX graph that counts what question and text share.

    score = Σ over words  (times in the question) · (times in the text)  −  bias

It is loaded the way any other is. The graph is written as the protocol buffer that it is, so that no further package is needed.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from pathlib import Path

import numpy as np

_FLOAT, _INT64 = 1, 7
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def make_model(folder: Path, words: Iterable[str], *, bias: float = 1.0, place: str = "model.onnx", classes: int = 1) -> Path:
    vocabulary = [*SPECIAL, *sorted(set(words) - set(SPECIAL))]
    file = folder / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(_model(vocabulary, bias, classes))
    _tokenizer(vocabulary).save(str(folder / "tokenizer.json"))
    about = {"model_type": "bert", "max_position_embeddings": 128, "pad_token_id": 0}
    (folder / "config.json").write_text(json.dumps(about))
    return folder


def _tokenizer(vocabulary: list[str]):  # type: ignore[no-untyped-def]
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return made


def _model(vocabulary: list[str], bias: float, classes: int) -> bytes:
    table = np.eye(len(vocabulary), dtype=np.float32)
    table[: len(SPECIAL)] = 0
    table[0] = table[vocabulary.index("stamp")]  # padding would count as this word, were it not masked
    nodes = [
        _node("Cast", ["attention_mask"], "mask", [("to", _FLOAT)]),
        _node("Cast", ["token_type_ids"], "kind", [("to", _FLOAT)]),
        _node("Mul", ["mask", "kind"], "in_text"),
        _node("Sub", ["mask", "in_text"], "in_query"),
        _node("Gather", ["table", "input_ids"], "words"),
        _node("Unsqueeze", ["in_text", "last"], "text_column"),
        _node("Unsqueeze", ["in_query", "last"], "query_column"),
        _node("Mul", ["words", "text_column"], "text_words"),
        _node("Mul", ["words", "query_column"], "query_words"),
        _node("ReduceSum", ["text_words", "first"], "text_sum", [("keepdims", 0)]),
        _node("ReduceSum", ["query_words", "first"], "query_sum", [("keepdims", 0)]),
        _node("Mul", ["text_sum", "query_sum"], "shared"),
        _node("ReduceSum", ["shared", "first"], "total", [("keepdims", 1)]),
        _node("Sub", ["total", "bias"], "logits" if classes == 1 else "yes"),
    ]
    if classes == 2:
        nodes += [_node("Sub", ["yes", "yes"], "no"), _node("Concat", ["no", "yes"], "logits", [("axis", 1)])]
    graph = b"".join(_field(1, node) for node in nodes) + _field(2, b"g")
    constants = {"table": table, "last": np.array([2]), "first": np.array([1]), "bias": np.array([bias], np.float32)}
    graph += b"".join(_field(5, _tensor(name, value)) for name, value in constants.items())
    graph += b"".join(_field(11, _value(name, _INT64, 2)) for name in ("input_ids", "attention_mask", "token_type_ids"))
    graph += _field(12, _value("logits", _FLOAT, 2))
    return _number(1, 8) + _field(7, graph) + _field(8, _field(1, b"") + _number(2, 13))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _number(tag: int, value: int) -> bytes:
    return _varint(tag << 3) + _varint(value)


def _field(tag: int, value: bytes) -> bytes:
    return _varint(tag << 3 | 2) + _varint(len(value)) + value


def _node(kind: str, inputs: list[str], output: str, attributes: Iterable[tuple[str, int]] = ()) -> bytes:
    out = b"".join(_field(1, name.encode()) for name in inputs) + _field(2, output.encode()) + _field(4, kind.encode())
    for name, value in attributes:
        out += _field(5, _field(1, name.encode()) + _number(3, value) + _number(20, 2))
    return out


def _tensor(name: str, value: np.ndarray) -> bytes:  # type: ignore[type-arg]
    kind = _FLOAT if value.dtype == np.float32 else _INT64
    dims = b"".join(_number(1, size) for size in value.shape)
    code = "f" if kind == _FLOAT else "q"
    raw = struct.pack(f"<{value.size}{code}", *value.reshape(-1).tolist())
    return dims + _number(2, kind) + _field(8, name.encode()) + _field(9, raw)


def _value(name: str, kind: int, rank: int) -> bytes:
    shape = b"".join(_field(1, _field(2, f"d{i}".encode())) for i in range(rank))
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, kind) + _field(2, shape)))
