"""References of Java and Rust packages against labelled positions (`positions`): no code of the packages is kept here."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import pytest

from lurcher import Engine
from lurcher.errors import LurcherError
from tests.own_home import SHARED

HERE = Path(__file__).resolve().parent / "positions"
PACKAGES = {
    "java": ("gson-2.11.0", "jsoup-1.18.1"),
    "rust": ("clap_builder-4.5.20", "regex-automata-0.4.8"),
}
_SECONDS, _LARGEST = 60, 20_000_000


def _read(name: str) -> tuple[str, str, list[tuple[str, str]]]:
    """SHA-256 and address of a package, and each position with what it means."""
    lines = (HERE / f"{name}.txt").read_text("utf-8").splitlines()
    _, _, digest, address = lines[0].split()
    rows = [line.split(" ") for line in lines if not line.startswith("#")]
    return digest, address, [(place, meant) for place, meant in rows]


def _unpack(name: str, folder: Path) -> None:
    digest, address, _ = _read(name)
    kept = SHARED / "positions" / f"{name}.{digest[:16]}"
    data = kept.read_bytes() if kept.exists() else b""
    if hashlib.sha256(data).hexdigest() != digest:
        try:
            with urllib.request.urlopen(address, timeout=_SECONDS) as answer:
                data = answer.read(_LARGEST)
        except (OSError, urllib.error.URLError) as error:
            pytest.skip(f"cannot download {address}: {error}")
        if hashlib.sha256(data).hexdigest() != digest:
            pytest.skip(f"{address} is not the file whose SHA-256 is pinned")
        kept.parent.mkdir(parents=True, exist_ok=True)
        draft = kept.with_suffix(f".{os.getpid()}")
        draft.write_bytes(data)
        draft.replace(kept)
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = {member: archive.read(member) for member in archive.namelist() if member.endswith(".java")}
    else:
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            found = {
                entry.name.partition("/")[2]: content.read()
                for entry in tar if entry.name.endswith((".rs", "Cargo.toml")) and (content := tar.extractfile(entry))
            }  # fmt: skip
    for path, text in found.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text)


def measure(name: str, folder: Path) -> tuple[int, int, int, list[str]]:
    """References to definitions of the package, those that were resolved to the right one, those to a wrong one, and faults."""
    _unpack(name, folder)
    wanted = right = wrong = 0
    faults = []
    with Engine.open(folder) as engine:
        engine.index()
        for place, meant in _read(name)[2]:
            try:
                found = engine.references(place, refresh=False, check=False, limit=1).definitions
            except LurcherError:
                found = ()
            told = {f"{entry.path}:{entry.line}" for entry in found}
            inside = meant not in ("local", "outside")
            wanted += inside
            if inside and (meant in told or _is_constructor(folder, meant, found)):
                right += 1
            elif told:
                wrong += 1
                faults.append(f"wrong {place}: {sorted(told)[:3]}, not {meant}")
            elif inside:
                faults.append(f"missed {place}: {meant}")
    return wanted, right, wrong, faults


def _is_constructor(folder: Path, meant: str, found: tuple[object, ...]) -> bool:
    """Whether what was found is the class whose constructor is meant."""
    path, _, line = meant.rpartition(":")
    written = (folder / path).read_text("utf-8").split("\n")[int(line) - 1]
    names = {(getattr(entry, "path", ""), getattr(entry, "name", "").rpartition(".")[2]) for entry in found}
    return any(place == path and f" {name}(" in f" {written}" for place, name in names)


BARS = {"java": (0.97, 0.90), "rust": (0.97, 0.80)}
"""Least precision and recall of what is resolved."""


@pytest.mark.parametrize("language", sorted(PACKAGES))
def test_resolved_references_mean_what_the_labels_say(language: str, tmp_path: Path) -> None:
    measured = [measure(name, tmp_path / name) for name in PACKAGES[language]]
    wanted, right, wrong = (sum(row[column] for row in measured) for column in range(3))
    faults = [fault for row in measured for fault in row[3]]
    assert wanted == 100
    precision, recall = right / (right + wrong), right / wanted
    least_precision, least_recall = BARS[language]
    assert precision >= least_precision and recall >= least_recall, (precision, recall, faults)
