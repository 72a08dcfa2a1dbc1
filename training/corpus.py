"""Packages → counted pairs on disk → a vocabulary and the matrices that training reads."""

from __future__ import annotations

import hashlib
import json
import lzma
import multiprocessing
import tarfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lurcher.languages.detect import detect
from lurcher.terms.vocabulary import STOP_WORDS
from training.download import Package, packages, texts
from training.exclusion import Excluded
from training.pairs import FIELDS, PackagePairs, cut
from training.train import Pairs, Rows

DOCUMENT_FIELDS = ("body", "comments", "symbols", "name", "folder")
LONGEST_TERM = 40
FEWEST_QUERY_TERMS = 2
_CUT_VERSION = 1
"""Counts up when pairs are cut differently, so that kept ones are cut again."""


# -- packages → files of pairs ---------------------------------------------------------------------------------------------


def cut_packages(work: Path, jobs: int, tell: Callable[[int, int], None] = lambda done, total: None) -> list[dict[str, Any]]:
    """Cut every package of the lock into `work/pairs`, less what evaluation uses; a report of each.

    What is there already is kept, so an interrupted run goes on where it stopped.
    """
    folder = work / "pairs"
    folder.mkdir(parents=True, exist_ok=True)
    # In the order of digests, so that what an interrupted run leaves is a fair sample of every language.
    todo = sorted(((work, package) for package in packages(work)), key=lambda task: task[1].sha256)
    reports = []
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=200) as pool:
        for done, report in enumerate(pool.imap_unordered(_cut_one, todo, 4)):
            reports.append(report)
            tell(done + 1, len(todo))
    return sorted(reports, key=lambda report: str(report["package"]))


def _cut_one(task: tuple[Path, Package]) -> dict[str, Any]:
    work, package = task
    stamp = hashlib.blake2b(f"{_CUT_VERSION} {package.sha256} {_excluded()[1]}".encode(), digest_size=6).hexdigest()
    name = f"{package.ecosystem}-{package.name}".replace("/", "+")
    target = work / "pairs" / f"{name}-{stamp}.npz"
    told = target.with_suffix(".json")
    if target.exists() and told.exists():
        kept: dict[str, Any] = json.loads(told.read_text())
        return kept
    try:
        files = list(texts(package, work))
    except (OSError, EOFError, tarfile.TarError, zlib.error, lzma.LZMAError) as error:
        return {"package": name, "version": package.version, "pairs": 0, "error": f"{type(error).__name__}: {error}"}
    verdict = _excluded()[0].judge(files)
    gone = {match.path for match in verdict.files}
    left = [] if verdict.removed else [(path, text) for path, text in files if path not in gone]
    found = cut(left, name)
    save(found, target)
    sizes: dict[str, int] = {}
    for path, text in left:
        language = detect(path, text[:512])
        sizes[language] = sizes.get(language, 0) + len(text)
    report = {
        "package": name, "version": package.version, "licence": package.licence, "file": target.name, "pairs": len(found.kinds),
        "bytes": sizes, "matched": verdict.matched, "lines": verdict.total, "removed": verdict.removed,
        "removed_files": sorted(gone),
    }  # fmt: skip
    told.write_text(json.dumps(report, sort_keys=True) + "\n")
    return report


@cache
def _excluded() -> tuple[Excluded, str]:
    path = Path(__file__).with_name("excluded.bloom")
    return Excluded.load(path), hashlib.blake2b(path.read_bytes(), digest_size=6).hexdigest()


def save(pairs: PackagePairs, path: Path) -> None:
    arrays: dict[str, Any] = {"kinds": pairs.kinds, "files": pairs.files}
    for name, rows in pairs.postings.items():
        arrays[f"{name}.terms"], arrays[f"{name}.owners"], arrays[f"{name}.counts"] = rows.terms, rows.owners, rows.counts
    arrays["terms"] = np.frombuffer("\n".join(pairs.terms).encode("utf-8", "surrogatepass"), np.uint8)
    arrays["languages"] = np.frombuffer("\n".join(pairs.languages).encode(), np.uint8)
    part = path.with_suffix(".part")
    with part.open("wb") as stream:
        np.savez(stream, **arrays)
    part.rename(path)


def _lines(data: NDArray[np.uint8]) -> list[str]:
    return data.tobytes().decode("utf-8", "surrogatepass").split("\n") if len(data) else []


# -- files of pairs → matrices ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Loaded:
    """Every pair of every package over one list of terms."""

    terms: list[str]
    fields: dict[str, Rows]
    package: NDArray[np.int32]
    file: NDArray[np.int64]
    kind: NDArray[np.uint8]
    language: NDArray[np.uint8]
    languages: list[str]


def load(paths: Iterable[Path], tell: Callable[[int], None] = lambda done: None) -> Loaded:
    numbers: dict[str, int] = {}
    fields: dict[str, list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]] = {name: [] for name in FIELDS}
    package, file, kind, language = [], [], [], []
    languages: dict[str, int] = {}
    pairs = files = 0
    for done, path in enumerate(paths):
        with np.load(path) as stored:
            terms = _lines(stored["terms"])
            mapped = np.fromiter((numbers.setdefault(term, len(numbers)) for term in terms), np.int32, len(terms))
            count = len(stored["kinds"])
            if not count:
                continue
            for name in FIELDS:
                owners = stored[f"{name}.owners"].astype(np.int64)
                order = np.argsort(owners, kind="stable")
                lengths = np.bincount(owners, minlength=count)
                fields[name].append((lengths, mapped[stored[f"{name}.terms"]][order], stored[f"{name}.counts"][order]))
            names = _lines(stored["languages"])
            spoken = np.array([languages.setdefault(name, len(languages)) for name in names], np.uint8)
            package.append(np.full(count, done, np.int32))
            file.append(stored["files"].astype(np.int64) + files)
            kind.append(stored["kinds"])
            language.append(spoken[stored["files"]])
            files += len(names)
            pairs += count
        tell(done)
    rows = {
        name: Rows(
            np.concatenate(([0], np.cumsum(np.concatenate([lengths for lengths, _, _ in parts])))),
            np.concatenate([ids for _, ids, _ in parts]),
            np.concatenate([counts for _, _, counts in parts]).astype(np.float32),
        )
        for name, parts in fields.items()
    }
    return Loaded(
        list(numbers), rows, np.concatenate(package), np.concatenate(file), np.concatenate(kind), np.concatenate(language),
        list(languages),
    )  # fmt: skip


def vocabulary(loaded: Loaded, size: int) -> list[int]:
    """The terms worth a row: the most frequent, asked-for ones counting more; packages are counted, not their copies."""
    total = np.zeros(len(loaded.terms))
    for name, weight in (("query", 4.0), ("body", 1.0), ("comments", 1.0), ("symbols", 1.0), ("name", 2.0), ("folder", 1.0)):
        rows = loaded.fields[name]
        owners = np.repeat(loaded.package, np.diff(rows.starts))
        keys = np.unique(owners.astype(np.int64) * len(loaded.terms) + rows.ids)
        total += weight * np.bincount(keys % len(loaded.terms), minlength=len(loaded.terms))
    usable = np.fromiter((_usable(term) for term in loaded.terms), bool, len(loaded.terms))
    total[~usable] = 0
    order = sorted(np.argsort(-total, kind="stable")[: 2 * size].tolist(), key=lambda i: (-total[i], loaded.terms[i]))
    return sorted((i for i in order[:size] if total[i] > 0), key=lambda i: loaded.terms[i])


def _usable(term: str) -> bool:
    return len(term) <= LONGEST_TERM and any(c.isalpha() for c in term)


def matrices(
    loaded: Loaded, chosen: list[int], weights: Mapping[str, float], keep: NDArray[np.bool_] | None = None
) -> tuple[Pairs, NDArray[np.float32]]:
    """Queries and documents over the chosen terms, and each term's IDF. Pairs with next to nothing on a side are left out."""
    number = np.full(len(loaded.terms), -1, np.int32)
    number[chosen] = np.arange(len(chosen), dtype=np.int32)
    stop = np.zeros(len(loaded.terms), bool)
    for i in chosen:
        stop[i] = loaded.terms[i] in STOP_WORDS or len(loaded.terms[i]) < 2
    queries = _select(loaded.fields["query"], np.where(stop, -1, number))
    parts = [(name, _select(loaded.fields[name], number)) for name in DOCUMENT_FIELDS if weights[name]]
    documents = _joined([(weights[name], rows) for name, rows in parts])
    use = (np.diff(queries.starts) >= FEWEST_QUERY_TERMS) & (np.diff(documents.starts) >= 3)
    if keep is not None:
        use &= keep
    places = np.flatnonzero(use)
    df = np.bincount(documents.ids, minlength=len(chosen)) + 1
    idf = np.log(1 + len(use) / df).astype(np.float32)
    return Pairs(
        queries.take(places), documents.take(places), loaded.package[places], loaded.file[places], loaded.kind[places]
    ), idf  # fmt: skip


def _select(rows: Rows, number: NDArray[np.int32]) -> Rows:
    mapped = number[rows.ids]
    keep = mapped >= 0
    kept = np.concatenate(([0], np.cumsum(keep)))
    return Rows(kept[rows.starts], mapped[keep], np.sqrt(rows.values[keep]))


def _joined(parts: list[tuple[float, Rows]]) -> Rows:
    """The rows of several matrices one after the other."""
    lengths = np.stack([np.diff(rows.starts) for _, rows in parts])
    starts = np.concatenate(([0], np.cumsum(lengths.sum(0))))
    ids = np.empty(starts[-1], np.int32)
    values = np.empty(starts[-1], np.float32)
    offset = starts[:-1].copy()
    for (weight, rows), length in zip(parts, lengths, strict=True):
        places = np.repeat(offset - rows.starts[:-1], length) + np.arange(len(rows.ids))
        ids[places] = rows.ids
        values[places] = weight * rows.values
        offset += length
    return Rows(starts, ids, values)
