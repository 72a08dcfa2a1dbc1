"""Git remotes that a store is kept current with: the file that lists them, and a shallow or whole clone of each.

    https://git.example.com/acme/web.git
    git@git.example.com:acme/web.git      ref=v2                # the project acme/web@v2
    /srv/git/tools.git                    name=acme/tools

A line is not trusted: it cannot give git options or have it run a program, and only these transports are allowed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from lurcher.errors import LurcherError, PathError, UsageError
from lurcher.net.http import one_line, redact_url
from lurcher.sources import git
from lurcher.stores.shared import check_project_name, name_in_url

_PROTOCOLS = "https:ssh:file"
_SCHEME = re.compile(r"(https|ssh|file)://[^\s]+")
_HOST = re.compile(r"(?:[^@/\s]*@)?([^/\s]*)")
_SCP = re.compile(r"(?:[A-Za-z0-9._][A-Za-z0-9._-]*@)?([A-Za-z0-9][A-Za-z0-9.-]*):(?!:)(?![-/]?-)(\S+)")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+@-]{0,199}")
_MAX_FILE_BYTES = 16 << 20
ASK_SECONDS = 120.0
FETCH_SECONDS = 3600.0
_KEPT = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH")
"""Variables of git that say how the user reaches servers."""
_TIP = "refs/lurcher/tip"


class RemoteError(LurcherError):
    """A remote that git cannot read."""

    code = "remote"


@dataclass(frozen=True, slots=True)
class Remote:
    url: str
    project: str
    ref: str = ""
    """A branch or a tag; empty: what the remote's HEAD is."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that is not obeyed, and why."""

    line: int
    problem: str


def read_remotes(path: Path) -> tuple[list[Remote], list[Refused]]:
    """What a file of remotes lists, and the lines that are refused."""
    try:
        with path.open("rb") as handle:
            raw = handle.read(_MAX_FILE_BYTES + 1)
        text = raw.decode()
    except OSError as error:
        raise PathError(f"{path} cannot be read: {error.strerror}", "name a file with one remote per line") from None
    except UnicodeDecodeError:
        raise PathError(f"{path} is not text in UTF-8", "name a file with one remote per line") from None
    if len(raw) > _MAX_FILE_BYTES:
        raise PathError(f"{path} is larger than {_MAX_FILE_BYTES:,} bytes", "split it")
    found: dict[str, Remote] = {}
    refused: list[Refused] = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            words = shlex.split(line, comments=True)
            if words:
                remote = parse_remote(words, path.absolute().parent)
                if remote.project in found:
                    raise UsageError(f"the project {remote.project} is listed twice", "add name=NAME to one of the lines")
                found[remote.project] = remote
        except (UsageError, ValueError) as error:
            refused.append(Refused(number, one_line(str(error))))
    return list(found.values()), refused


def parse_remote(words: Sequence[str], base: Path) -> Remote:
    url, options = words[0], {}
    for word in words[1:]:
        key, sign, value = word.partition("=")
        if key not in ("name", "ref") or not sign or key in options:
            raise UsageError(f"{word[:60]!r} is not understood", "after the remote: name=NAME, ref=BRANCH-OR-TAG")
        options[key] = value
    ref = options.get("ref", "")
    if "ref" in options and (not _REF.fullmatch(ref) or any(sign in ref for sign in ("..", "@{", "//", "/.")) or
                             ref.endswith(("/", ".", ".lock"))):  # fmt: skip
        raise UsageError(f"{ref[:60]!r} cannot be a branch or a tag")
    url = _check_url(url, base)
    name = options.get("name") or _default_name(url) + (f"@{ref}" if ref else "")
    return Remote(url, check_project_name(name), ref)


def _check_url(url: str, base: Path) -> str:
    """The remote as git is given it; UsageError for anything but an address of a known kind."""
    shown = redact_url(url)[:80]
    if not url.isprintable() or url.startswith("-") or re.match(r"[A-Za-z0-9+.-]*::", url):
        raise UsageError(f"{shown!r} is not a remote that is allowed")
    if "://" in url:
        if not _SCHEME.fullmatch(url):
            raise UsageError(f"{shown!r} has another scheme than https, ssh or file")
        host = _HOST.match(url.partition("://")[2])
        if host is None or host[0].startswith("-") or host[1].startswith("-"):
            raise UsageError(f"{shown!r} has a host that begins with a dash")
        return url
    if ":" in url.split("/")[0]:
        if not _SCP.fullmatch(url):
            raise UsageError(f"{shown!r} is not a remote that is allowed")
        return url
    return str((base / Path(url).expanduser()).absolute())


def _default_name(url: str) -> str:
    found = name_in_url(url) or Path(url.removeprefix("file://")).name.removesuffix(".git")
    return re.sub(r"[^A-Za-z0-9._+/-]+", "-", found).strip("-/.")


class Clone:
    """The clone of one remote at one ref, in a folder that is its own."""

    def __init__(self, remote: Remote, folder: Path) -> None:
        self._remote = remote
        named = blake2b(f"{remote.project}\0{remote.url}\0{remote.ref}".encode(), digest_size=10).hexdigest()
        self.place = folder / named
        # Its name is known in questions, as that of a checkout is, so it is the same on every machine.
        self.tree = self.place / (remote.project.rpartition("/")[2].partition("@")[0] or "tree")
        self.index_dir = self.place / "index"

    def find_tip(self) -> tuple[str, str]:
        """The commit that the remote has now, and the full name of its ref."""
        ref = self._remote.ref
        wanted = [f"refs/tags/{ref}", f"refs/tags/{ref}^{{}}", f"refs/heads/{ref}"] if ref else ["HEAD"]
        rows = [line.split("\t") for line in self._git(None, "ls-remote", "--", self._remote.url, *wanted).splitlines()]
        found = {row[1]: row[0] for row in rows if len(row) == 2}
        for name in wanted:
            if name in found and not name.endswith("^{}"):
                return found.get(f"{name}^{{}}", found[name]), name
        raise RemoteError(f"the remote has no {'branch or tag ' + ref if ref else 'commits'}", "see ref= in its line")

    def update(self, ref: str, *, whole: bool) -> str:
        """Fetch a ref and check it out; returns its commit. What a killed run left is repaired, or made anew."""
        for attempt in (0, 1):
            if not (self.tree / ".git" / "HEAD").exists():
                shutil.rmtree(self.tree, ignore_errors=True)
                self.tree.mkdir(parents=True)
                self._git(self.tree, "init", "-q", "--template=")
            for lock in (self.tree / ".git").rglob("*.lock"):  # whoever holds the lease is the only one here
                lock.unlink(missing_ok=True)
            self._fetch(ref, whole)
            try:
                self._git(self.tree, "checkout", "-q", "--force", "--detach", _TIP)
                return self._git(self.tree, "rev-parse", "--verify", "HEAD^{commit}").strip()
            except RemoteError:
                if attempt:
                    raise
                shutil.rmtree(self.tree, ignore_errors=True)
        raise AssertionError("unreachable")

    def _fetch(self, ref: str, whole: bool) -> None:
        shallow = (self.tree / ".git" / "shallow").exists()
        depth = (["--unshallow"] if shallow else []) if whole else ["--depth=1"]
        options = ["-q", "--force", "--no-tags", "--no-recurse-submodules", "--no-auto-gc", *depth]
        for attempt in (0, 1):
            try:
                self._git(self.tree, "fetch", *options, "--", self._remote.url, f"+{ref}:{_TIP}", seconds=FETCH_SECONDS)
                return
            except RemoteError:
                if attempt:
                    raise
                time.sleep(1.0)  # git of a run that was killed may still be at work here

    def _git(self, tree: Path | None, *arguments: str, seconds: float = ASK_SECONDS) -> str:
        own = {name: os.environ[name] for name in _KEPT if name in os.environ}
        env = git.environment() | {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes"} | own
        env |= {"GIT_ALLOW_PROTOCOL": _PROTOCOLS, "GIT_LFS_SKIP_SMUDGE": "1"}
        if tree is not None:
            env |= {"GIT_CEILING_DIRECTORIES": str(tree.parent)}
        options = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "http.lowSpeedLimit=1000",
                   "-c", "http.lowSpeedTime=60", "-c", "gc.auto=0")  # fmt: skip
        try:
            done = subprocess.run(
                ["git", *options, *arguments], cwd=tree or "/", env=env, stdin=subprocess.DEVNULL, capture_output=True,
                timeout=seconds, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise RemoteError(f"git {arguments[0]} did not end within {seconds:g} s", "try again later") from None
        except OSError as error:
            raise RemoteError(f"git cannot be started: {error.strerror}", "install git") from None
        if done.returncode:
            said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
            reason = redact_url(one_line(said[0] if said else f"status {done.returncode}"))[:300]
            raise RemoteError(f"git {arguments[0]} failed: {reason}", "check the remote, and who may read it")
        return done.stdout.decode("utf-8", "replace")
