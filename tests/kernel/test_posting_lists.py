"""Lists of postings are added up as they are stored, to what they add up to when they are taken apart; broken ones are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lurcher import Engine
from lurcher.lanes import lexical
from lurcher.storage import container, segment
from lurcher.storage import tables as postings
from lurcher.storage.postings import pack_postings
from lurcher.storage.tables import PostingSum
from lurcher.terms.count import Postings
from lurcher.types import silent
from tests.kernel import kernel

pytestmark = kernel.needed


def packed(owners: Any, counts: Any) -> bytes:
    return pack_postings(Postings(np.zeros(len(owners), np.uint32), owners.astype(np.uint32), counts)).data.tobytes()


def broken() -> Exception:
    return LookupError("broken")


@given(st.data())
def test_lists_add_up_like_arrays(data: st.DataObject) -> None:
    draw = data.draw
    random = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    stored, apart, first = PostingSum(), PostingSum(), 0
    for _ in range(draw(st.integers(1, 3))):  # segments, one after the other
        limit = draw(st.sampled_from([1, 64, 300, 5000, 70_000]))
        for weight in draw(st.lists(st.sampled_from([1.0, 0.1, 2.5, 0.0]), max_size=4)):
            owners = np.unique(random.integers(0, limit, draw(st.sampled_from([1, 3, 400]))))
            counts = random.integers(1, 256, len(owners)).astype(np.uint8)
            stored.add_list(memoryview(packed(owners, counts)), len(owners), limit, first, weight, broken)
            apart.add(owners + first, counts, weight)
        first += limit
    stored.add(np.array([0]), np.array([7], np.uint8), 0.3)
    apart.add(np.array([0]), np.array([7], np.uint8), 0.3)
    native = stored.sparse(first)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "native", lambda: None)
        plain = apart.sparse(first)
    assert [array.tolist() for array in native] == [array.tolist() for array in plain]


def test_a_list_that_leads_nowhere_is_named_by_its_number() -> None:
    tally_of, sound = kernel.module().tally, (b"\x01\x02", 1, 5, 0, 1.0)
    assert tally_of([sound], 5) == (bytearray(np.array([1]).tobytes()), bytearray(np.array([2.0]).tobytes()))
    for wrong in (
        (b"\x05\x02", 1, 5, 0, 1.0), (b"\x01\x02", 1, 1, 0, 1.0), (b"\x01\xff\x02\x02", 2, 5, 0, 1.0),
        (b"\x01\x02\x03\x04", 1, 5, 0, 1.0),
        (b"\x01\x02", 0, 5, 0, 1.0), (b"\x01\x02", -1, 5, 0, 1.0), (b"\x01\x02", 1 << 40, 5, 0, 1.0), (b"", 1, 5, 0, 1.0),
        (b"\xff\xff\xff\xff\x01", 1, 5, 0, 1.0),
    ):  # fmt: skip
        assert tally_of([sound, wrong, sound], 5) == 1
    for limit, first in ((6, 0), (5, 1), (5, -1), (-5, 0)):
        with pytest.raises(ValueError, match="owners"):
            tally_of([(b"\x01\x02", 1, limit, first, 1.0)], 5)
    total = PostingSum()
    total.add(np.array([0]), np.ones(1), 1.0)
    total.add_list(memoryview(b"\x09\x01"), 1, 5, 0, 1.0, broken)
    with pytest.raises(LookupError, match="broken"):
        total.sparse(5)


def test_words_weigh_the_same_in_segments_that_grew(tmp_path: Path) -> None:
    for number in range(12):
        text = f"def retry_{number}(socket):\n    # retry the socket\n    return {number}\n"
        (tmp_path / f"retry{number}.py").write_text(text * 3)
    with Engine.open(tmp_path) as engine:
        engine.index()
        (tmp_path / "retry3.py").write_text("def other(socket):\n    return socket.retry\n")
        (tmp_path / "late.py").write_text("def late(socket):\n    return retry(socket)\n")
        answer = engine.search("retry socket", refresh=True)
        assert answer.index.fresh
        snapshot = engine._workspace.snapshot([project.view(silent) for project in engine.projects])
        assert len(snapshot.segments) > 1
        weights = {"body": 1.0, "comments": 0.7, "symbols": 2.0, "name": 1.5, "folder": 0.5, "stem": 1.5}
        for term in ("retry", "socket", "other", "nowhere"):
            native = lexical._weigh_term(snapshot, term, weights)
            with pytest.MonkeyPatch.context() as patch:
                for module in (postings, segment):
                    patch.setattr(module, "native", lambda: None)
                snapshot.weighted = container.BoundedCache(1000)
                plain = lexical._weigh_term(snapshot, term, weights)
            assert [array.tolist() for array in native] == [array.tolist() for array in plain]
            assert len(native[0]) or term == "nowhere"
