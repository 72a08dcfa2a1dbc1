"""A model that embeds text, behind a shared store: what is near is told by a sample of the project, not by what was fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lurcher import Engine
from lurcher.storage import disk
from lurcher.stores import search
from lurcher.stores.base import Store
from lurcher.stores.vocabulary import SAMPLE, decode_sample
from tests.rerank.server import playing
from tests.stores.backends import PLACES
from tests.stores.conftest import write_tree
from tests.vectors.servers import embedding

SUBJECTS = ("redirect", "cookie", "pool", "retry", "route", "cache")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[str]:
    with PLACES["memory"](tmp_path / "store") as url:
        yield url


def test_nearness_is_on_the_same_scale(
    tmp_path: Path, store: Store, opened: Callable[..., Engine], local: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk.os, "fsync", lambda descriptor: None)
    files = {
        f"src/{subject}_{i}.py": f'def {subject}_{i}(given):\n    """The {subject} number {i}."""\n    return given\n'
        for i in range(10) for subject in SUBJECTS
    }  # fmt: skip
    root = write_tree(tmp_path / "tree", files)
    with playing(embedding()) as played:
        settings: dict[str, Any] = {"embedding.provider": "tei", "embedding.url": played.url, "embedding.seconds": 5.0}
        monkeypatch.setattr(search, "CANDIDATES", 20)
        monkeypatch.setattr(search, "DEPTH", 40)
        through, here = opened(root, overrides=settings), local(root, overrides=settings)
        through.index()
        sample = decode_sample(store.pages("tree", 1, [SAMPLE])[SAMPLE])
        assert sample is not None and len(sample[0]) == len(sample[1]) == 60
        assert np.abs(np.linalg.norm(sample[0] * sample[1][:, None], axis=1) - 1).max() < 0.01
        text = "where does the biscuit of a visitor go"
        ours, theirs = through.search(text, limit=5), here.search(text, limit=5)
        assert {hit.path.split("_")[0] for hit in ours.hits} == {"src/cookie"}
        assert [hit.path for hit in ours.hits] == [hit.path for hit in theirs.hits]
        assert [hit.score for hit in ours.hits] == pytest.approx([hit.score for hit in theirs.hits], abs=1e-6)
