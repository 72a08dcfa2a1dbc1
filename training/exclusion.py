"""Keeps the content of evaluation repositories out of training data: a Bloom filter of their long lines, and the rule for it.

    python -m training.exclusion build MIRRORS OUT [--names FILE] [--revisions FILE]
    python -m training.exclusion check FILTER REPORT FOLDER...

MIRRORS holds bare git directories named OWNER+NAME/repo. Packages are judged by content, never by name: forks, vendored copies
and renamed packages carry the same lines. The filter holds hashes only, so it can be shared where the content cannot.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
NO_KEYS: Keys = np.empty(0, dtype=np.uint64)

# ── Policy: every threshold, with its reason ──────────────────────────────────────────────────────────────────────────────
LONG_LINE = 50  # characters after normalising; shorter lines (imports, returns, braces) recur in unrelated projects
COMMON_IN = 4  # a line of this many excluded repositories is boilerplate that says nothing about where a text came from
FILE_SHARE = 0.20  # a copied file keeps most of its lines over years of edits, an unrelated one stays near 0
FILE_LINES = 3  # one or two lines in common happen by chance (a quoted message, a URL), unless they are all there is
PACKAGE_SHARE = 0.10  # a package this close is a copy, a fork or an old release: its unmatched files are suspect as well
BITS_PER_KEY = 12  # with 8 probes 0.3 % false positives: far below every share above
PROBES = 8

VERSION = 1
MAX_BYTES = 2_000_000  # larger text files are tables and generated code
MAX_MEAN_LINE = 250  # characters; above it a file is minified or data
# Licence texts come in more wrappings than COMMON_IN catches, and would condemn small files of unrelated projects.
LICENCE_WORDS = tuple(
    phrase.encode()
    for phrase in (
        "license|licence|copyright|warranty|warranties|merchantab|redistribut|the software|this software|free software|"
        "software foundation|without limitation|liable|liabilit|hereby granted|permission notice|permission is granted|"
        "all rights reserved|documentation files|persons to whom|substantial portions|following conditions|"
        "following disclaimer|consequential|substitute goods|loss of use|business interruption|contract, tort|negligence or|"
        "possibility of such|endorse or promote|specific prior|names of its contributors|general public|hope that it will|"
        "distributed with this|applicable law or|permissions and limitations|bsd-style|provided with the distribution|"
        "explicitly state otherwise|altered source|removed or altered|product documentation would"
    ).split("|")
)
A_WORD = re.compile(rb"[A-Za-z\x80-\xff]{3}")  # a rule of dashes or stars has none
DATA_SUFFIXES = frozenset(
    ".bmp .bz2 .csv .dat .eot .fits .geojson .gif .gz .ico .ipynb .jar .jpeg .jpg .json .jsonl .lock .map .mo .mp4 .ndjson "
    ".npy .npz .otf .pack .parquet .pdf .pgm .pickle .pkl .png .po .pot .ps .rtf .snap .svg .tar .tif .tiff .tsv .ttf .wasm "
    ".webp .woff .woff2 .xls .xlsx .xz .zip .zst".split()
)
MOVED = {  # listed under an old owner, and that mirror may have stopped there: both are read, as one project
    "echasnovski/mini.nvim": "nvim-mini/mini.nvim",
    "encode/starlette": "Kludex/starlette",
    "neuecc/MessagePack-CSharp": "MessagePack-CSharp/MessagePack-CSharp",
}
LOCK_NAMES = frozenset("go.sum npm-shrinkwrap.json package-lock.json pnpm-lock.yaml pnpm-lock.yml".split())


def is_data(path: str) -> bool:
    """Whether a path names data, a lock file or minified code rather than something that someone wrote."""
    name = path.rpartition("/")[2].lower()
    return name in LOCK_NAMES or ".min." in name or any(name.endswith(suffix) for suffix in DATA_SUFFIXES)


def is_prose_or_code(text: bytes) -> bool:
    """Whether content is text that was written by hand as far as its shape tells."""
    return bool(text) and b"\0" not in text[:8192] and len(text) <= MAX_MEAN_LINE * (text.count(b"\n") + 1)


def is_long(line: bytes) -> bool:
    """Whether a normalised line has the characters, and at least one word among them."""
    characters = len(line) if line.isascii() else len(line.decode("utf-8", "replace"))
    return characters >= LONG_LINE and A_WORD.search(line) is not None


def long_lines(text: bytes) -> set[bytes]:
    """The distinct normalised lines of a text that tell its origin: long ones, neither rules nor licence text."""
    found = {b" ".join(raw.split()) for raw in text.splitlines() if len(raw) >= LONG_LINE}
    lower = b"\n".join(found).lower()
    # Most of the phrases are nowhere in a text: looking once for each spares looking for all of them in every line.
    phrases = [phrase for phrase in LICENCE_WORDS if phrase in lower]
    return {line for line in found if is_long(line) and not any(map(line.lower().__contains__, phrases))}


def keys_of(text: bytes) -> Keys:
    """One 64-bit key per distinct long line, sorted."""
    digests = b"".join(blake2b(line, digest_size=8).digest() for line in long_lines(text))
    return np.sort(np.frombuffer(digests, dtype="<u8").astype(np.uint64))


# ── The filter ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class FileMatch:
    """How many of a file's distinct long lines are excluded content."""

    path: str
    matched: int
    total: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the policy says about one package: all of it goes, or the files listed, or nothing."""

    removed: bool
    files: tuple[FileMatch, ...]
    matched: int
    total: int

    @property
    def share(self) -> float:
        return self.matched / self.total if self.total else 0.0


def file_is_excluded(matched: int, total: int) -> bool:
    """The rule for one file."""
    return matched == total > 0 if total < FILE_LINES else matched >= max(FILE_LINES, FILE_SHARE * total)


class Excluded:
    """The long lines of every excluded repository, as a Bloom filter."""

    def __init__(self, array: NDArray[np.uint8], header: dict[str, Any]) -> None:
        self.header = header
        self._array = array
        self._bits = np.uint64(header["bits"])
        self._steps = np.arange(header["hashes"], dtype=np.uint64)

    @classmethod
    def of(cls, keys: Keys, repositories: Sequence[dict[str, Any]] = (), missing: Sequence[str] = ()) -> Excluded:
        """A filter over distinct keys."""
        bits = max(1 << 16, -(-len(keys) * BITS_PER_KEY // 64) * 64)  # in a tiny array the probes of a key would coincide
        header = {"format": "lurcher-excluded", "version": VERSION, "bits": bits, "hashes": PROBES, "keys": len(keys)}
        header |= {"repositories": list(repositories), "missing": list(missing)}
        made = cls(np.zeros(bits // 8, dtype=np.uint8), header)
        flags = np.zeros(bits, dtype=np.uint8)
        for start in range(0, len(keys), 1 << 18):  # in slices: the probes of millions of keys would not fit in a cache
            flags[made._probes(keys[start : start + (1 << 18)])] = 1
        made._array = np.packbits(flags, bitorder="little")
        return made

    @classmethod
    def load(cls, path: Path | str) -> Excluded:
        """Read a filter that `save` wrote; a file of another kind, version or length is an error, never an empty filter."""
        line, newline, body = Path(path).read_bytes().partition(b"\n")
        try:
            header = json.loads(line)
            sound = header["format"] == "lurcher-excluded" and header["version"] == VERSION and len(body) * 8 == header["bits"]
        except (ValueError, KeyError, TypeError):
            sound = False
        if not (newline and sound):
            raise ValueError(f"{path}: not a filter of version {VERSION}; make it with `python -m training.exclusion build`")
        return cls(np.frombuffer(body, dtype=np.uint8), header)

    def save(self, path: Path | str) -> None:
        header = json.dumps(self.header, sort_keys=True, separators=(",", ":"))
        Path(path).write_bytes(header.encode() + b"\n" + self._array.tobytes())

    def _probes(self, keys: Keys) -> NDArray[np.uint64]:
        # Double hashing (Kirsch and Mitzenmacher, 2006): two halves of one key stand in for as many hashes as are wanted.
        low = (keys & np.uint64(0xFFFFFFFF))[:, None]
        high = (keys >> np.uint64(32) | np.uint64(1))[:, None]
        probes: NDArray[np.uint64] = (low + self._steps * high) % self._bits
        return probes

    def contains(self, keys: Keys) -> NDArray[np.bool_]:
        """Which keys are in the filter: never wrongly no, rarely wrongly yes."""
        probes = self._probes(keys)
        bits = self._array[(probes >> np.uint64(3)).astype(np.intp)] >> (probes & np.uint64(7)).astype(np.uint8) & 1
        return np.asarray(bits.all(axis=1))

    def share(self, text: bytes) -> tuple[int, int]:
        """How many of a text's distinct long lines are excluded content, and how many it has."""
        keys = keys_of(text)
        return int(self.contains(keys).sum()), len(keys)

    def judge(self, files: Iterable[tuple[str, bytes]]) -> Verdict:
        """The verdict on one package, given its files; a line that many of its files repeat counts once for the package."""
        removed, seen, found = [], [NO_KEYS], [NO_KEYS]
        for path, text in files:
            keys = keys_of(text)
            hits = keys[self.contains(keys)]
            seen.append(keys)
            found.append(hits)
            if file_is_excluded(len(hits), len(keys)):
                removed.append(FileMatch(path, len(hits), len(keys)))
        matched, total = (len(np.unique(np.concatenate(parts))) for parts in (found, seen))
        copied = total > 0 and matched >= PACKAGE_SHARE * total
        return Verdict(copied, tuple(sorted(removed, key=lambda file: file.path)), matched, total)


def write_report(path: Path | str, verdicts: Iterable[tuple[str, Verdict]]) -> str:
    """Write one JSON line per package that lost something, with the reason, and return a summary of a few lines."""
    packages = whole = partly = files = lines = 0
    with open(path, "w", encoding="utf-8") as out:
        for package, verdict in verdicts:
            packages += 1
            if not verdict.removed and not verdict.files:
                continue
            whole, partly = whole + verdict.removed, partly + (not verdict.removed)
            files += 0 if verdict.removed else len(verdict.files)
            lines += verdict.matched
            row: dict[str, Any] = {"package": package, "removed": "package" if verdict.removed else "files"}
            row |= {"share": round(verdict.share, 4), "matched": verdict.matched, "total": verdict.total}
            row |= {"file_count": len(verdict.files)}
            if not verdict.removed:
                row["files"] = [{"path": f.path, "matched": f.matched, "total": f.total} for f in verdict.files]
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    return (
        f"{packages} packages judged, {packages - whole - partly} untouched\n"
        f"{whole} removed whole (>= {PACKAGE_SHARE:.0%} of their long lines are evaluation content)\n"
        f"{files} files removed from {partly} others (>= {FILE_SHARE:.0%} of a file's and {FILE_LINES}, or all of fewer)\n"
        f"{lines} matching lines in all of these"
    )


# ── Building it from mirrors ──────────────────────────────────────────────────────────────────────────────────────────────
class Mirror:
    """One bare git directory."""

    def __init__(self, path: Path) -> None:
        self._git = ["git", "--git-dir", str(path)]
        self.absent: set[str] = set()  # paths whose content the mirror lacks; known once `texts` has run

    def commit(self, name: str) -> str:
        command = [*self._git, "rev-parse", "--verify", f"{name}^{{commit}}"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def texts(self, commits: Sequence[str]) -> Iterator[bytes]:
        """The content of every distinct text file in the trees of some commits."""
        wanted: dict[str, None] = {}
        for commit in commits:
            command = [*self._git, "ls-tree", "-rlz", "--full-tree", commit]
            listing = subprocess.run(command, check=True, capture_output=True).stdout.decode("utf-8", "replace")
            for entry in listing.split("\0")[:-1]:
                meta, _, path = entry.partition("\t")
                mode, kind, name, size = meta.split()
                if kind != "blob" or mode == "120000" or is_data(path):  # submodules and links are not files
                    continue
                if not size.isdigit():
                    self.absent.add(path)
                elif int(size) <= MAX_BYTES:
                    wanted[name] = None
        return (text for text in self._contents(list(wanted)) if is_prose_or_code(text))

    def _contents(self, names: Sequence[str]) -> Iterator[bytes]:
        with tempfile.TemporaryFile() as requests:  # a file, not a pipe: both ends of a pipe could wait for each other
            requests.write("".join(f"{name}\n" for name in names).encode())
            requests.seek(0)
            command = [*self._git, "cat-file", "--batch", "--buffer"]
            with subprocess.Popen(command, stdin=requests, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                for name in names:
                    _, kind, size = process.stdout.readline().split()
                    if kind != b"blob":
                        raise ValueError(f"{name}: expected a file, git answered {kind!r}")
                    yield process.stdout.read(int(size))
                    process.stdout.read(1)


def pinned(path: Path) -> dict[str, list[str]]:
    """OWNER/NAME → revisions, from a JSON list of objects with `url` and `revision`."""
    found: dict[str, list[str]] = {}
    for row in json.loads(path.read_text(encoding="utf-8")):
        name = "/".join(row["url"].removesuffix(".git").split("/")[-2:])
        found.setdefault(name, []).append(row["revision"])
    return found


def build(mirrors: Path, names: Sequence[str] | None = None, revisions: dict[str, list[str]] | None = None) -> Excluded:
    """Make the filter from the mirrors named (all there are, if none are), at HEAD and at the revisions given."""
    present = {path.parent.name.replace("+", "/", 1): path for path in mirrors.glob("*+*/repo")}
    names = sorted(present.keys() - MOVED.values() if names is None else names)
    repositories, projects = [], [NO_KEYS]
    for project in names:
        keys = NO_KEYS
        for name in filter(present.__contains__, (project, MOVED.get(project, ""))):
            mirror = Mirror(present[name])
            commits = list(dict.fromkeys(mirror.commit(rev) for rev in ["HEAD", *(revisions or {}).get(name, [])]))
            keys = np.unique(np.concatenate([keys, *map(keys_of, mirror.texts(commits))]))
            repositories.append({"name": name, "commits": commits, "absent": sorted(mirror.absent)})
            print(f"{name}: {len(keys):,} long lines, {len(mirror.absent)} files absent", file=sys.stderr)
        projects.append(keys)
    keys, held_by = np.unique(np.concatenate(projects), return_counts=True)
    return Excluded.of(keys[held_by < COMMON_IN], repositories, [name for name in names if name not in present])


def listed(path: Path) -> list[str]:
    """The OWNER/NAME lines of a file; `#` starts a comment."""
    lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def folder(path: Path) -> Iterator[tuple[str, bytes]]:
    """The text files of an unpacked package."""
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path).as_posix()
        if file.is_file() and not file.is_symlink() and not is_data(name) and is_prose_or_code(text := file.read_bytes()):
            yield name, text


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m training.exclusion", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("build", help="make the filter from mirrors")
    make.add_argument("mirrors", type=Path)
    make.add_argument("out", type=Path)
    make.add_argument("--names", type=Path, help="file of OWNER/NAME lines (default: every mirror)")
    make.add_argument("--revisions", type=Path, help="JSON list of {url, revision} to read beside HEAD")
    check = commands.add_parser("check", help="judge unpacked packages, one folder each")
    check.add_argument("filter", type=Path)
    check.add_argument("report", type=Path)
    check.add_argument("folders", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    if options.command == "check":
        excluded = Excluded.load(options.filter)
        print(write_report(options.report, ((path.name, excluded.judge(folder(path))) for path in options.folders)))
        return 0
    names = None if options.names is None else listed(options.names)
    made = build(options.mirrors, names, pinned(options.revisions) if options.revisions else None)
    made.save(options.out)
    missing = made.header["missing"]
    print(f"{made.header['keys']:,} keys, {options.out.stat().st_size:,} bytes; not mirrored: {', '.join(missing) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
