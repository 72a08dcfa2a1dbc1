"""Finds, pins and downloads the packages whose source trains the term table, and reads their texts.

    python -m training.download resolve --work DIR    sources.toml → packages.lock (keeps what is pinned already)
    python -m training.download fetch --work DIR      packages.lock → DIR/packages, checked against its digests

Packages are data: nothing in them is run, built or unpacked to disk.
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urljoin

from lurcher.languages.detect import detect
from lurcher.sources import name_reason
from lurcher.sources.decode import is_minified, looks_generated, to_utf8
from training import licences

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
LOCK = HERE / "packages.lock"
SOURCES = HERE / "sources.toml"
SUFFIX = {"debian": ".deb", "pypi": ".tar.gz", "debian-source": "", "npm": ".tgz"}
_COMPRESSED = frozenset({".gz", ".xz", ".bz2", ".lzma"})
LANGUAGES = frozenset(
    "bash c cpp csharp elixir go haskell java javascript kotlin lua php python ruby rust scala swift tsx typescript zig".split()
)

_BLOCK = 1 << 20
MAX_FILE = 1 << 20
MAX_TEXT = 6
"""Megabytes of source text taken from one package, if sources.toml says no other: many teach more than much of one."""
MAX_HELD = 60 << 20
MAX_SCANNED = 1 << 30
MAX_MEMBERS = 100_000
MAX_ARCHIVE = 250 << 20
WORKERS = 6


@dataclass(frozen=True, slots=True, order=True)
class Package:
    """One pinned package; a Debian source package is a folder of tar files, pinned together."""

    ecosystem: str
    name: str
    version: str
    sha256: str
    size: int
    licence: str

    def place(self, work: Path) -> Path:
        return place(work, self.ecosystem, self.name, self.version)


def place(work: Path, ecosystem: str, name: str, version: str) -> Path:
    """Where an archive lies (a folder for a Debian source package), whatever its registry calls the file."""
    stem = f"{name.replace('/', '+')}@{version.replace(':', '%3a').replace('/', '+')}"
    return work / "packages" / ecosystem / (stem + SUFFIX[ecosystem])


# --- the lock file


def read_lock(lock: Path = LOCK) -> list[Package]:
    if not lock.exists():
        return []
    return [Package(**json.loads(line)) for line in lock.read_text(encoding="utf-8").splitlines() if line.strip()]


def write_lock(found: Iterable[Package], lock: Path = LOCK) -> None:
    """One object per line, sorted, replaced whole."""
    lines = [json.dumps(asdict(package), ensure_ascii=False) for package in sorted(set(found))]
    fresh = lock.with_suffix(".new")
    fresh.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    fresh.replace(lock)


def packages(work: Path, lock: Path = LOCK) -> Iterator[Package]:
    """The pinned packages that have been fetched, in the order of the lock file."""
    return (package for package in read_lock(lock) if package.place(work).exists())


def read_plan(sources: Path = SOURCES) -> dict[str, Any]:
    plan: dict[str, Any] = tomllib.loads(sources.read_text(encoding="utf-8"))
    return plan


# --- the clients of the registries


def _run(command: Sequence[str], cwd: Path | None = None, config: Path | None = None) -> str:
    environment = dict(os.environ, LC_ALL="C.UTF-8", **({"APT_CONFIG": str(config)} if config else {}))
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def apt_configuration(work: Path) -> Path:
    """A private apt that knows the machine's own archives as source archives too; the system's files stay as they are."""
    base = (work / "apt").resolve()
    config = base / "apt.conf"
    if config.exists():
        return config
    for folder in ("parts", "lists/partial", "cache/archives/partial"):
        (base / folder).mkdir(parents=True, exist_ok=True)
    suites = read_plan().get("suites", [])
    for file in sorted(Path("/etc/apt").rglob("*")):
        if file.suffix in (".list", ".sources"):
            text = file.read_text(encoding="utf-8")
            (base / "parts" / file.name).write_text(with_sources(text), encoding="utf-8")
            if suites and file.suffix == ".sources":
                (base / "parts" / f"more-{file.name}").write_text(of_suites(text, suites), encoding="utf-8")
    fresh = base / "apt.conf.new"
    fresh.write_text(
        f'Dir::State::Lists "{base}/lists";\nDir::Cache "{base}/cache";\n'
        f'Dir::Etc::SourceList "/dev/null";\nDir::Etc::SourceParts "{base}/parts";\nAPT::Sandbox::User "root";\n',
        encoding="utf-8",
    )
    _run(["apt-get", "update"], config=fresh)
    fresh.replace(config)
    return config


def with_sources(text: str) -> str:
    """An apt source list, in either of its formats, that asks for source packages too."""
    text = re.sub(r"(?m)^deb(\s.*)$", r"deb\1\ndeb-src\1", text)
    return re.sub(r"(?m)^(Types:[ \t]*)deb[ \t]*$", r"\1deb deb-src", text)


def of_suites(text: str, suites: Sequence[str]) -> str:
    """The first entry of a source list, for the source packages of other suites of the same archive."""
    first = text.strip().split("\n\n", 1)[0]
    first = re.sub(r"(?m)^Types:.*$", "Types: deb-src", first)
    return re.sub(r"(?m)^Suites:.*$", f"Suites: {' '.join(suites)}", first) + "\n"


@dataclass(slots=True)
class Stanza:
    """What apt's index says about one package."""

    name: str
    version: str
    source: str
    size: int
    needs: frozenset[str]
    dependents: int = 0
    binaries: tuple[str, ...] = field(default=())


def _stanzas(text: str) -> Iterator[dict[str, str]]:
    for block in text.split("\n\n"):
        fields = {}
        for line in re.split(r"\n(?=\S)", block):
            key, colon, value = line.partition(":")
            if colon:
                fields[key] = value.strip()
        if "Package" in fields:
            yield fields


def _needed(*fields: str | None) -> frozenset[str]:
    return frozenset(re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]+)", ",".join(filter(None, fields))))


def apt_index(work: Path) -> tuple[dict[str, Stanza], dict[str, Stanza]]:
    """Binary and source packages by name, each with the number of packages that need it."""
    config = apt_configuration(work)
    binaries: dict[str, Stanza] = {}
    for entry in _stanzas(_run(["apt-cache", "dumpavail"], config=config)):
        source = entry.get("Source", entry["Package"]).split()[0]
        needs = _needed(entry.get("Depends"), entry.get("Pre-Depends"))
        binaries[entry["Package"]] = Stanza(entry["Package"], entry["Version"], source, int(entry.get("Size", 0)), needs)
    sources: dict[str, Stanza] = {}
    suites = read_plan().get("suites", [])
    targets = _run(["apt-get", "indextargets", "--format", "$(CREATED_BY) $(RELEASE) $(FILENAME)"], config=config).splitlines()
    for target in sorted(targets, key=lambda line: line.split(" ")[1] in suites):  # the machine's own release comes first
        kind, _, name = target.split(" ", 2)
        if kind == "Sources":
            for entry in _stanzas(_run(["/usr/lib/apt/apt-helper", "cat-file", name], config=config)):
                if "Extra-Source-Only" not in entry and entry["Package"] not in sources:
                    size = sum(int(line.split()[1]) for line in entry.get("Checksums-Sha256", "").splitlines() if line.strip())
                    needs = _needed(*(entry.get(key) for key in ("Build-Depends", "Build-Depends-Indep", "Build-Depends-Arch")))
                    made = tuple(re.split(r"[,\s]+", entry.get("Binary", "")))
                    sources[entry["Package"]] = Stanza(entry["Package"], entry["Version"], "", size, needs, 0, made)
    users = Counter(name for stanza in (*binaries.values(), *sources.values()) for name in stanza.needs)
    for stanza in binaries.values():
        stanza.dependents = users[stanza.name]
    for stanza in sources.values():
        stanza.dependents = sum(users[name] for name in stanza.binaries)
    return binaries, sources


@functools.cache
def pip_index() -> list[str]:
    """The indexes that pip is configured with, or its own default."""
    pip = [sys.executable, "-m", "pip"]
    found = []
    for line in _run([*pip, "config", "list"]).splitlines():
        key, _, value = line.partition("=")
        if key.rsplit(".", 1)[-1] == "index-url":
            found.append(value.strip("'\""))
    if not found:
        shown = " ".join(_run([*pip, "download", "--help"]).split())
        found = re.findall(r"--index-url <url>.*?\(default\s+(\S+?)\)", shown)[:1]
    return found


def _open(url: str, accept: str = "*/*") -> IO[bytes]:
    stream: IO[bytes] = urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept}), timeout=60)
    return stream


def pypi_files(index: str, name: str) -> list[tuple[str, str, str]]:
    """File name, address and sha256 of what the index holds of a project, yanked files left out."""
    address = f"{index.rstrip('/')}/{re.sub(r'[-_.]+', '-', name).lower()}/"
    with _open(address, "application/vnd.pypi.simple.v1+json, text/html;q=0.1") as reply:
        body = reply.read(64 << 20).decode("utf-8", "replace")
    if body.lstrip().startswith("{"):
        rows = [row for row in json.loads(body)["files"] if not row.get("yanked")]
        return [(row["filename"], urljoin(address, row["url"]), row["hashes"].get("sha256", "")) for row in rows]
    links = re.findall(r"<a\s([^>]*)>([^<]+)</a>", body)
    found = []
    for attributes, filename in links:
        target = re.search(r'href="([^"#]+)#sha256=([0-9a-f]{64})"', attributes)
        if target and "data-yanked" not in attributes:
            found.append((filename.strip(), urljoin(address, target[1]), target[2]))
    return found


def sdists(name: str, files: Iterable[tuple[str, str, str]]) -> dict[str, tuple[str, str]]:
    """Address and sha256 of each final release's source archive by version."""
    stem = re.sub(r"[-_.]+", "[-_.]+", re.escape(re.sub(r"[-_.]+", "-", name)).replace(r"\-", "-"))
    pattern = re.compile(rf"(?i){stem}-(\d[0-9.]*(?:\.?post\d+)?)\.tar\.gz")
    matches = ((pattern.fullmatch(filename), address, digest) for filename, address, digest in files)
    return {match[1]: (address, digest) for match, address, digest in matches if match}


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _pypi(name: str, version: str | None, work: Path) -> Path | None:
    for index in pip_index():
        found = sdists(name, pypi_files(index, name))
        if not found or (version is not None and version not in found):
            continue
        chosen = version or max(found, key=_version_key)
        address, digest = found[chosen]
        target = place(work, "pypi", name, chosen)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".", delete=False) as draft:
            with _open(address) as reply:
                data = reply.read(MAX_ARCHIVE + 1)
            draft.write(data)
        if len(data) > MAX_ARCHIVE or hashlib.sha256(data).hexdigest() != digest:
            Path(draft.name).unlink()
            return None
        Path(draft.name).replace(target)
        return target
    return None


def _many(wanted: Sequence[tuple[str, str | None]], command: Callable[[Sequence[str]], object], draft: Path) -> None:
    """Runs a client for a batch; if it fails and leaves nothing, for each half of it, so that one bad name costs little."""
    before = len(list(draft.iterdir()))
    try:
        command([_spec(name, version, "=") for name, version in wanted])
    except subprocess.CalledProcessError:
        if len(wanted) > 1 and len(list(draft.iterdir())) == before:
            _many(wanted[: len(wanted) // 2], command, draft)
            _many(wanted[len(wanted) // 2 :], command, draft)


def _spec(name: str, version: str | None, mark: str) -> str:
    return name if version is None else f"{name}{mark}{version}"


def _download(ecosystem: str, wanted: Sequence[tuple[str, str | None]], work: Path) -> list[Path]:
    """Brings a batch of packages to their places; what could not be had is not in the answer."""
    if ecosystem == "pypi":
        answers = []
        for name, version in wanted:
            try:
                answers.append(_pypi(name, version, work))
            except (OSError, ValueError) as error:
                print(f"  {name}: {error}", file=sys.stderr)
        return [path for path in answers if path is not None]
    root = work / "packages" / ecosystem
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=".") as name:
        draft = Path(name)
        if ecosystem == "npm":
            pack = ["npm", "pack", "--ignore-scripts", "--silent"]
            _many(wanted, lambda specs: _run([*pack, *(re.sub(r"(.)=", r"\1@", spec) for spec in specs)], draft), draft)
            return [_keep(file, _npm_place(file, work)) for file in sorted(draft.glob("*.tgz"))]
        config = apt_configuration(work)
        if ecosystem == "debian":
            _many(wanted, lambda specs: _run(["apt-get", "download", *specs], draft, config), draft)
            return [
                _keep(file, place(work, ecosystem, *file.name.split("_")[:2])) for file in sorted(draft.glob("*.deb"))
            ]
        _many(wanted, lambda specs: _run(["apt-get", "source", "--download-only", "-qq", *specs], draft, config), draft)
        kept = []
        for name, version in wanted:
            files = [file for file in sorted(draft.glob(f"{name}_*.tar.*")) if file.suffix in _COMPRESSED]
            # An archive may have lost the packaging and still hold the upstream source, which is what counts.
            if files and version is not None:
                inner = draft / "one"
                inner.mkdir()
                for file in files:
                    file.replace(inner / file.name)
                kept.append(_keep(inner, place(work, ecosystem, name, version)))
        return kept


def _keep(source: Path, target: Path) -> Path:
    _remove(target)
    return source.replace(target)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _npm_place(file: Path, work: Path) -> Path:
    manifest = json.loads(_member(file, re.compile(r"[^/]+/package\.json")) or "{}")
    return place(work, "npm", str(manifest["name"]), str(manifest["version"]))


def digest(path: Path) -> tuple[str, int]:
    """The sha256 that pins an archive, and its bytes; of a folder, the sha256 of what `sha256sum` says of its files."""
    if not path.is_dir():
        return _sha256(path), path.stat().st_size
    files = sorted(path.iterdir())
    listing = "".join(f"{_sha256(file)}  {file.name}\n" for file in files)
    return hashlib.sha256(listing.encode()).hexdigest(), sum(file.stat().st_size for file in files)


def _sha256(path: Path) -> str:
    total = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            total.update(block)
    return total.hexdigest()


# --- inside the archives


def _tars(path: Path) -> Iterator[tarfile.TarFile]:
    """The archive's tar streams, read forward only."""
    if path.suffix == ".deb":
        command = ["dpkg-deb", "--fsys-tarfile", str(path)]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process,
            tarfile.open(fileobj=process.stdout, mode="r|", bufsize=_BLOCK) as archive,
        ):
            yield archive
        return
    files = sorted(path.glob("*.tar.*")) if path.is_dir() else [path]
    for file in files:
        with tarfile.open(file, "r|*", bufsize=_BLOCK) as archive:
            yield archive


def members(path: Path, wanted: Callable[[str, int], bool]) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of the regular files that are wanted, within the limits that a hostile archive must not pass."""
    count = scanned = 0
    for archive in _tars(path):
        try:
            for member in archive:
                count += 1
                scanned += member.size
                if count > MAX_MEMBERS or scanned > MAX_SCANNED:
                    return
                name = member.name.removeprefix("./")
                if not member.isreg() or name.startswith("/") or ".." in name.split("/") or not wanted(name, member.size):
                    continue
                stream = archive.extractfile(member)
                if stream is not None:
                    yield name, stream.read(MAX_FILE + 1)
        except (tarfile.TarError, OSError, EOFError, ValueError) as error:
            print(f"  {path.name}: {error}", file=sys.stderr)


def _member(path: Path, pattern: re.Pattern[str]) -> bytes | None:
    found = members(path, lambda name, size: size <= MAX_FILE and pattern.fullmatch(name) is not None)
    return next((data for _, data in found), None)


_COPYRIGHT = re.compile(r"(?:[^/]+/)?debian/copyright")
_STATEMENT = re.compile(
    r"(?i)(?:[^/]+/){1,2}(?:package\.json|pkg-info|mix\.exs|[^/]+\.cabal|pom\.xml"
    r"|(?:licen[cs]e|copying|copyright|notice|readme)(?:[-_.][a-z0-9_.-]+)?)"
)


def licence(ecosystem: str, name: str, path: Path) -> str:
    """The licence that a package states in the place where its ecosystem keeps it, else in a licence file or in its sources."""
    if ecosystem == "debian":
        data = _member(path, re.compile(rf"usr/share/doc/{re.escape(name)}/copyright(?:\.gz)?"))
        return licences.of_debian(_text(gzip.decompress(data) if data and data[:2] == b"\x1f\x8b" else data))
    found: dict[str, str] = {}
    heads: list[str] = []
    for member, data in members(path, lambda member, size: size <= MAX_FILE and _tells(member, len(heads))):
        folder, _, file = member.lower().rpartition("/")
        if ecosystem == "debian-source" and _COPYRIGHT.fullmatch(member) and (stated := licences.of_debian(_text(data))):
            return stated
        if "/" not in folder and file in ("package.json", "pkg-info"):
            stated = licences.of_files({file: _text(data)})
            if licences.classify(stated) != "unknown":  # said where it should be said: no need to read on
                return stated
        if not _STATEMENT.fullmatch(member):
            heads.append(_text(data[:3000]))
        elif "/" not in folder or file not in found:
            found[file] = _text(data)
    return licences.of_files(found) or (licences.of_heads(heads) if ecosystem == "debian-source" else "")


def _tells(name: str, heads: int) -> bool:
    """Whether a file may name the licence: many sources do in their first lines, of which forty are enough."""
    if _STATEMENT.fullmatch(name) or _COPYRIGHT.fullmatch(name):
        return True
    return heads < 40 and detect(name, b"") in LANGUAGES


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


_VENDORED = frozenset(
    "node_modules bower_components third_party third-party thirdparty 3rdparty 3rd_party vendor vendored _vendor _vendored "
    "extern external externals Godeps Pods __pycache__ .git subprojects bundled".split()
)
_TOOL_MADE = re.compile(
    r"configure|config\.(?:guess|sub|status|rpath)|ltmain\.sh|install-sh|missing|depcomp|compile|test-driver|libtool|ylwrap"
    r"|py-compile|mkinstalldirs|ar-lib|aclocal\.m4|versioneer\.py|_version\.py"
    r"|.*[._-](?:pb|pb2|pb2_grpc|generated|min|bundle|umd|prod|production)\.\w+"
)
_MADE_BY = re.compile(
    rb"(?i)made by GNU Bison|lexical analyzer generated"
    rb"|generated by (?:swig|cython|lemon|re2c|ragel|antlr|javacc|protoc|thrift)"
)
_ROOTS = re.compile(
    r"usr/share/(?:cargo/registry/[^/]+/|rubygems-integration/[^/]+/gems/[^/]+/|php/|lua/[^/]+/|doc/[^/]+/|nodejs/"
    r"|gocode/src/|[^/]+/)|usr/lib/(?:ruby/(?:vendor_ruby|gems/[^/]+/gems/[^/]+)/|python3/dist-packages/|nodejs/)"
)
_TEST = re.compile(
    r"(?i)(?:^|/)(?:tests?|specs?|testing|testdata|__tests__|examples?|benches|benchmarks?)/"
    r"|[._-](?:test|spec)s?\.\w+$|(?:^|/)test_"
)
_PATCH = re.compile(r"debian/patches/.+\.(?:patch|diff)")
_BUILT = ("lib", "es", "esm", "cjs", "dist", "build", "umd", "out", "commonjs", "module", "types", "bundles")


def texts(package: Package, work: Path) -> Iterator[tuple[str, bytes]]:
    """Path and UTF-8 text of a package's source and Markdown files, sorted by path.

    Of a large package a fixed sample is taken, chosen by the digest of the path, tests and examples last.
    """
    held: dict[str, bytes] = {}
    total = 0
    for name, data in members(package.place(work), lambda name, size: size <= MAX_FILE and _may_be_source(name)):
        text = to_utf8(data)
        path = _inside(package, name)
        if text is None or path in held or not (_PATCH.fullmatch(path) or _is_source(path, text)):
            continue
        total += len(text)
        if total > MAX_HELD:
            break
        held[path] = text
    limit = _caps().get(package.name, MAX_TEXT) << 20
    yield from sorted(_sample(_unbuilt(package, _rooted(package, held)), limit).items())


@functools.cache
def _caps() -> dict[str, int]:
    return dict(read_plan().get("text_mb", {}))


def _may_be_source(name: str) -> bool:
    folders, _, filename = name.rpartition("/")
    if _VENDORED.intersection(folders.split("/")) or name_reason(filename, filename.rpartition(".")[2]) is not None:
        return False
    return not _TOOL_MADE.fullmatch(filename) and not folders.startswith(("usr/bin", "usr/share/man", "usr/share/locale"))


def _is_source(path: str, text: bytes) -> bool:
    language = detect(path, text[:4096])
    if language not in LANGUAGES and language != "markdown":
        return False
    if is_minified(text, path.rpartition(".")[2].lower()) or len(text) > 200 * (text.count(b"\n") + 5):
        return False
    return not looks_generated(text[:4096]) and _MADE_BY.search(text[:1024]) is None


def _inside(package: Package, name: str) -> str:
    """The path within the package's own tree."""
    if package.ecosystem == "debian":
        root = _ROOTS.match(name)
        return name[root.end() :] if root else name
    if package.ecosystem == "debian-source" and name.startswith("debian/"):
        return name
    return name.partition("/")[2] or name


def _rooted(package: Package, held: dict[str, bytes]) -> dict[str, bytes]:
    """Go packages without the import path that their files lie under: at most HOST/OWNER/NAME."""
    if package.ecosystem != "debian" or not package.name.startswith("golang-"):
        return held
    folders = [path.split("/")[:-1] for path in held if path.endswith(".go")]
    shared: list[str] = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1 or len(shared) == 3:
            break
        shared.append(parts[0])
    prefix = "".join(f"{part}/" for part in shared)
    return {path.removeprefix(prefix): text for path, text in held.items()}


def _unbuilt(package: Package, held: dict[str, bytes]) -> dict[str, bytes]:
    """An npm package without what its build made of the sources it ships, or with one build of several."""
    if package.ecosystem != "npm":
        return held
    tops = {path.split("/", 1)[0] for path in held if "/" in path and not path.endswith(".md")}
    kept = None if tops & {"src", "source", "ts"} else next((top for top in _BUILT if top in tops), None)
    left = frozenset(_BUILT) - {kept}
    return {path: text for path, text in held.items() if path.split("/", 1)[0] not in left}


def _sample(held: dict[str, bytes], limit: int) -> dict[str, bytes]:
    def order(path: str) -> tuple[bool, bool, bytes]:
        return _PATCH.fullmatch(path) is None, _TEST.search(path) is not None, hashlib.blake2b(path.encode()).digest()

    chosen: dict[str, bytes] = {}
    seen: set[bytes] = set()
    total = 0
    for path in sorted(held, key=order):
        text = held[path]
        mark = hashlib.blake2b(text, digest_size=16).digest()
        if mark not in seen and total + len(text) <= limit:
            seen.add(mark)
            total += len(text)
            chosen[path] = text
    return chosen


# --- the two commands


def wanted(work: Path, plan: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    """Ecosystem, name and (for Debian) version of what sources.toml asks for: most needed first, then by name."""
    binaries, sources = apt_index(work)
    refused = plan.get("leave_out", [])
    chosen: dict[tuple[str, str], str | None] = {}
    taken: set[str] = set()
    for group in plan["group"]:
        ecosystem = group["ecosystem"]
        names: list[str] = []
        for entry in group.get("names", []):
            names += entry.split()
        if ecosystem in ("npm", "pypi"):
            for name in names:
                if not _named(name, refused):
                    chosen[ecosystem, name] = None
            continue
        index = binaries if ecosystem == "debian" else sources
        for stanza in _group(group, names, index):
            origin = stanza.source or stanza.name
            if origin not in taken and not _named(stanza.name, refused) and not _named(origin, refused):
                taken.add(origin)
                chosen[ecosystem, stanza.name] = stanza.version
    return [(ecosystem, name, version) for (ecosystem, name), version in sorted(chosen.items())]


def _group(group: dict[str, Any], names: Sequence[str], index: dict[str, Stanza]) -> list[Stanza]:
    needs, patterns = frozenset(group.get("needs", [])), group.get("match", ["*"] if "needs" in group else [])
    low, high = group.get("min_kb", 0) << 10, group.get("max_kb", 30_000) << 10
    found = [
        stanza
        for stanza in index.values()
        if low <= stanza.size <= high and (not needs or needs & stanza.needs) and _named(stanza.name, patterns)
    ]
    found.sort(key=lambda stanza: (-stanza.dependents, stanza.name))
    named = [index[name] for name in names if name in index and index[name].size <= high]
    return named + found[: group.get("take", 0)]


def _named(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _batches(items: Sequence[tuple[str, str, str | None]]) -> list[tuple[str, list[tuple[str, str | None]]]]:
    size = {"debian": 25, "debian-source": 16, "npm": 20, "pypi": 4}
    batches = []
    for ecosystem in SUFFIX:
        ours = [(name, version) for kind, name, version in items if kind == ecosystem]
        step = size[ecosystem]
        batches += [(ecosystem, ours[start : start + step]) for start in range(0, len(ours), step)]
    return batches


def _gather(items: Sequence[tuple[str, str, str | None]], work: Path) -> Iterator[list[Package]]:
    """Downloads in parallel; yields the pins of what arrived, batch by batch."""
    batches = _batches(items)
    if any(ecosystem.startswith("debian") for ecosystem, _ in batches):
        apt_configuration(work)
    with ThreadPoolExecutor(WORKERS) as pool:
        jobs = [pool.submit(_batch, ecosystem, batch, work) for ecosystem, batch in batches]
        for number, job in enumerate(jobs, 1):
            yield job.result()
            print(f"\r{number} of {len(jobs)} batches ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def _batch(ecosystem: str, wanted: Sequence[tuple[str, str | None]], work: Path) -> list[Package]:
    there: list[Path] = []
    missing = []
    for name, version in wanted:
        path = place(work, ecosystem, name, version or "*")
        found = sorted(path.parent.glob(path.name))
        there += found[-1:]
        missing += [] if found else [(name, version)]
    return [_pin(ecosystem, path) for path in there + (_download(ecosystem, missing, work) if missing else [])]


def _pin(ecosystem: str, path: Path) -> Package:
    stem = path.name.removesuffix(SUFFIX[ecosystem]) if SUFFIX[ecosystem] else path.name
    name, _, version = stem.rpartition("@")
    name, version = name.replace("+", "/") if ecosystem == "npm" else name, version.replace("%3a", ":")
    sha256, size = digest(path)
    return Package(ecosystem, name, version, sha256, size, " ".join(licence(ecosystem, name, path).split()))


def resolve(work: Path, lock: Path = LOCK, sources: Path = SOURCES) -> Counter[str]:
    """Pins what sources.toml asks for and is not pinned yet; counts packages per licence class."""
    plan = read_plan(sources)
    asked = wanted(work, plan)
    names = {(ecosystem, name) for ecosystem, name, _ in asked}
    pinned = {(package.ecosystem, package.name): package for package in read_lock(lock)}
    pinned = {key: package for key, package in pinned.items() if key in names}
    counts: Counter[str] = Counter(licences.classify(package.licence) for package in pinned.values())

    missing = [item for item in asked if (item[0], item[1]) not in pinned]
    for number, batch in enumerate(_gather(missing, work), 1):
        for package in batch:
            kind = licences.classify(package.licence)
            counts[kind] += 1
            if kind in licences.USABLE and package.size <= MAX_ARCHIVE:
                pinned[package.ecosystem, package.name] = package
            else:
                reason = package.licence or "no licence found"
                print(f"\rleft out: {package.ecosystem} {package.name} ({reason})", file=sys.stderr)
        if number % 20 == 0:  # so that little is lost when it is stopped
            write_lock(pinned.values(), lock)
    write_lock(pinned.values(), lock)
    return counts


def fetch(work: Path, lock: Path = LOCK) -> list[Package]:
    """Downloads what is pinned and not there or damaged; answers with what could not be had as pinned."""
    pins = read_lock(lock)
    missing = [package for package in pins if not _sound(package, work)]
    print(f"{len(pins)} packages, {len(pins) - len(missing)} there already", file=sys.stderr)
    for package in missing:  # a damaged archive would count as there
        _remove(package.place(work))
    wanted = [(package.ecosystem, package.name, package.version) for package in missing]
    arrived = {package for batch in _gather(wanted, work) for package in batch}
    return [package for package in missing if package not in arrived]


def _sound(package: Package, work: Path) -> bool:
    path = package.place(work)
    return path.exists() and digest(path) == (package.sha256, package.size)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m training.download", description=__doc__.split("\n", 1)[0])
    parser.add_argument("command", choices=("resolve", "fetch"))
    parser.add_argument("--work", type=Path, required=True, help="folder for the archives and the private apt lists")
    options = parser.parse_args(arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    failed: list[Package] = []
    if options.command == "resolve":
        counts = resolve(options.work)
    else:
        failed = fetch(options.work)
        for package in failed:
            print(f"not as pinned: {package.ecosystem} {package.name} {package.version}", file=sys.stderr)
        counts = Counter(licences.classify(package.licence) for package in packages(options.work))
    print(", ".join(f"{kind} {count}" for kind, count in sorted(counts.items())), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
