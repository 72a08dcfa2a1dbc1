"""Indexes with checksums that are right and numbers that are not: they are answered from, or called damaged.

`python tools/hostile_index.py SECONDS [SEED]` is the long form.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lurcher.engine import Engine
from lurcher.storage.container import Container
from lurcher.storage.container_writer import ContainerWriter
from lurcher.storage.segment import UNIT

SEED = 20


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "tools"))
    monkeypatch.setenv("LURCHER_CONFIG", "")
    from hostile_index import Hostile

    made = Hostile(random.Random(SEED))
    yield made
    made.close()
    sys.modules.pop("hostile_index", None)


def test_forged_indexes_of_all_kinds_raise_nothing_else(hostile: object) -> None:
    believed = sum(hostile.ask() for _ in range(12))  # type: ignore[attr-defined]
    assert 0 <= believed <= 12


def test_a_section_named_after_the_heading_of_another_note_is_damage(tmp_path: Path) -> None:
    import numpy as np

    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.md").write_text("intro\n\n# First\n\nCookies are kept.\n")
    (tree / "b.md").write_text("# Second\n\nPools are kept.\n\n## More about pools\n\nText.\n")
    with Engine.open(tree, root=tree) as engine:
        wanted = [hit.path for hit in engine.notes("pools").hits]
    folder = tree / ".lurcher"
    (segment,) = folder.glob("*.segment")
    data, manifest = segment.read_bytes(), (folder / "manifest").read_bytes()

    def forged(data: bytes, meta: dict[str, object]) -> tuple[bytes, str]:
        container, out, listed = Container(data, "a file"), bytearray(), Container(data, "a file")._table
        builder = ContainerWriter(out.extend)
        for name, entry in sorted(listed.items(), key=lambda item: item[1].position):
            stored = data[entry.position : entry.position + entry.length]
            if name == "units":
                rows = np.frombuffer(stored, np.dtype(UNIT)).copy()
                rows["definition"] = 0  # the first heading of the first note
                stored = rows.tobytes()
            builder.begin(name, "V" if entry.kind == "lz4" else entry.kind)
            builder.write(stored)
            builder.end()
            if entry.kind == "lz4":
                builder._table[name][0], builder._table[name][3] = "lz4", []
        digest = builder.finish({**container.meta, **meta})
        return bytes(out), digest

    other, digest = forged(data, {})
    segment.unlink()
    (folder / f"{digest}.segment").write_bytes(other)
    (folder / "manifest").write_bytes(forged(manifest, {"segments": [f"{digest}.segment"], "stamps": {}})[0])
    with Engine.open(tree, root=tree) as engine:
        answer = engine.notes("pools", refresh=False, check=False)
    assert [hit.path for hit in answer.hits] == wanted
    assert any("another file's heading; it was rebuilt" in note.reason for note in answer.degraded)
