"""What is large enough for two cores comes out as it does on one, to the last bit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lurcher import lanes as numbering
from lurcher.ranking import evidence
from lurcher.ranking.evidence import sum_harmonic
from lurcher.storage import tables as vectors
from lurcher.storage.tables import ProductBuffer, to_direction
from tests.kernel import kernel

pytestmark = kernel.needed


def test_products_of_many_rows() -> None:
    random = np.random.default_rng(3)
    rows, direction = random.integers(-127, 128, (40_001, 256)).astype(np.int8), to_direction(random.normal(size=256))
    data = memoryview(rows.tobytes()).cast("b")
    for places in (None, random.permutation(len(rows))):
        native = ProductBuffer().products(data, 256, places, direction)
        plain = ProductBuffer()._reference(data, 256, places, len(rows), direction)
        assert np.asarray(native).tobytes() == plain.tobytes()
    assert vectors.native() is not None


def test_files_of_many_units() -> None:
    random = np.random.default_rng(4)
    counts = random.integers(0, 12, 50_001)
    total = int(counts.sum())
    snapshot: Any = SimpleNamespace(
        unit_counts=counts, first_unit=np.cumsum(counts) - counts, unit_file=np.repeat(np.arange(len(counts)), counts),
        file_total=len(counts), divisors={},
    )  # fmt: skip
    scores = np.where(random.random(total) < 0.4, random.random(total), 0.0)
    allowed = random.random(len(counts)) < 0.9
    files = numbering.best_units_by_file(snapshot, scores)
    native = sum_harmonic(snapshot, scores, files, allowed, 1.0)
    with pytest.MonkeyPatch.context() as patch:
        for module in (numbering, evidence):
            patch.setattr(module, "native", lambda: None)
        patch.setattr(numbering, "np", np)
        plain = numbering.best_units_by_file(snapshot, scores)
        assert np.asarray(native).tobytes() == sum_harmonic(snapshot, scores, plain, allowed, 1.0).tobytes()
    for name in files.__slots__:
        assert np.asarray(getattr(files, name)).tolist() == getattr(plain, name).tolist()
    snapshot.first_unit[-1] = total  # in the second half
    with pytest.raises(ValueError, match="not there"):
        kernel.module().best_units(scores, snapshot.first_unit, snapshot.unit_counts + 1)


def test_terms_with_some_bytes_among_very_many() -> None:
    terms = [b"%09d" % (7 * number) for number in range(1_000_000)]
    blob, ends = b"".join(terms), (np.arange(len(terms), dtype=np.uint32) + 1) * np.uint32(9)
    module = kernel.module()
    for piece in (b"0347", b"3499997", b"000000000", b"6999993", b"4999", b"zz"):
        wanted = [number for number, term in enumerate(terms) if piece in term]
        assert module.terms_with(blob, ends, piece, len(wanted)).tolist() == wanted
        assert not wanted or module.terms_with(blob, ends, piece, len(wanted) - 1) is None
