"""Files taken out of a segment for a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from lurcher import Engine
from lurcher.stores import export
from lurcher.stores.export import ExportItem, export_files
from lurcher.types import silent

FILES = {
    "a.py": '"""Sends a request again."""\n\ndef retry(request):\n    return send(request)\n\n\nclass Client:\n    limit = 3\n',
    "b.py": "from a import retry\n\ndef main():\n    retry(None)\n" * 400,
    "empty.py": "",
    "notes/c.md": "# Retries\n\nA request is sent three times.\n",
}


def test_small_groups_of_files_hold_what_one_group_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    with Engine.open(tmp_path, root=tmp_path) as engine:
        segment = engine.projects[0].view(silent).snapshot.segments[0]
        items = [ExportItem(place, f"key{place}", "digest") for place in range(len(segment.tables.files))]
        together = [_describe(file) for file in export_files(segment, items, "model")]
        assert len(together) == len(FILES) and sum(len(units) for *_, units in together) > 4
        monkeypatch.setattr(export, "UNITS_AT_ONCE", 1)
        assert [_describe(file) for file in export_files(segment, items, "model")] == together
        monkeypatch.setattr(export, "_ROW_BATCH", 7)
        assert [_describe(file) for file in export_files(segment, items[1:], "model")] == together[1:]


def _describe(file: export.StoredFile) -> tuple[object, ...]:
    units = [(unit.symbol, unit.text, unit.sparse.numbers.tolist(), unit.sparse.weights.tolist()) for unit in file.units]
    return file.key, file.path, file.names, file.record, units
