"""Small real repositories whose commits have fixed dates, and their history indexes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from lurcher import config
from lurcher.corpora.history.index import HistoryIndex
from lurcher.corpora.history.schema import COMMIT_FIELDS, HUNK_FIELDS
from lurcher.corpora.history.snapshot import HistorySnapshot
from lurcher.corpora.history.update import FIRST_BATCH
from lurcher.indexing.root_index import select_model
from lurcher.sources.git.commit import Commit
from lurcher.sources.git.log import LogSettings, Losses, list_commits, read_commits
from lurcher.sources.git.refs import resolve_commit

BEGIN = 1_700_000_000
assert FIRST_BATCH == 500


class Repo:
    def __init__(self, top: Path, *options: str) -> None:
        self.top = top
        self.now = BEGIN
        top.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", *options)

    @classmethod
    def at(cls, top: Path) -> Repo:
        """One that is there already."""
        repo = cls.__new__(cls)
        repo.top, repo.now = top, BEGIN + 1_000_000
        return repo

    def git(self, *arguments: str, feed: bytes | None = None) -> str:
        return self.raw(*arguments, feed=feed).decode("utf-8", "replace")

    def raw(self, *arguments: str, feed: bytes | None = None, env: dict[str, str] | None = None) -> bytes:
        stamp = f"{self.now} +0000"
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
            "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_AUTHOR_DATE": stamp,
            "GIT_COMMITTER_DATE": stamp, **(env or {}),
        }  # fmt: skip
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.invalid", "-c", "init.defaultBranch=main")
        more = ("-c", "protocol.file.allow=always", "-c", "gc.auto=0")
        done = subprocess.run(
            ["git", *who, *more, *arguments], cwd=self.top, env=environment, input=feed, capture_output=True, timeout=60,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
        return done.stdout

    def put(self, files: dict[str, str | bytes | None]) -> None:
        for name, content in files.items():
            path = self.top / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def commit(self, message: str | bytes, files: dict[str, str | bytes | None] | None = None, *options: str) -> str:
        """A commit a minute after the last; its hash."""
        self.put(files or {})
        self.now += 60
        self.git("add", "-A")
        data = message.encode() if isinstance(message, str) else message
        self.git("commit", "-q", "--allow-empty", "--allow-empty-message", "--cleanup=verbatim", "-F", "-", *options, feed=data)
        return self.head

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    def read(self, *names: str, losses: Losses | None = None, **settings: Any) -> list[Commit]:
        """What we read: of the named commits, or of all that HEAD leads to."""
        options = replace(LogSettings(), **settings)
        tip = resolve_commit(self.top, "HEAD")
        shas = list(names) or (list_commits(self.top, tip, options) if tip else [])
        assert shas is not None
        return list(read_commits(self.top, shas, options, losses))

    def one(self, **settings: Any) -> Commit:
        """The commit at HEAD."""
        (found,) = self.read(self.head, **settings)
        return found


def silent(what: str, done: int, total: int) -> None:
    pass


def open_history(top: Path, folder: Path | None = None, batch: int = HistoryIndex.batch, **settings: Any) -> HistoryIndex:
    """The history of a repository, with its index inside or in a folder elsewhere."""
    loaded = config.load(None, {f"history.{name}": value for name, value in settings.items()})
    place = None if folder is None else "elsewhere"
    made = HistoryIndex(top, loaded, (folder or top / ".lurcher") / "history", select_model(loaded, top), place)
    made.batch = batch
    return made


WORDS = ("fix", "add", "alpha", "beta", "gamma", "value", "limit", "test", "py", "src", "number", "return", "line", "one")


def dump_snapshot(history: HistorySnapshot, words: Iterable[str] = WORDS) -> dict[str, Any]:
    """All that a history index can be asked, told by hashes, so that it does not matter how the index grew."""
    names = [history.sha(number) for number in range(history.commit_total)]
    order = history.newest_first.tolist()
    hunk_names = {}
    for commit in order:
        first = int(history.first_hunk[commit])
        for place in range(int(history.commit_hunks[commit])):
            hunk_names[first + place] = names[commit], place
    found: dict[str, Any] = {
        "order": [names[i] for i in order],
        "total": history.total,
        "commits": {names[i]: history.commit(i) for i in order},
        "same": {names[i]: names[int(history.same_change[i])] for i in order},
        "hunks": {name: (history.hunk(hunk)[1:], history.hunk_text(hunk)) for hunk, name in hunk_names.items()},
    }
    for family in (*COMMIT_FIELDS, *HUNK_FIELDS):
        lengths, mean = history.lengths(family)
        owner = hunk_names if family in ("hunk", "symbols") else {i: names[i] for i in order}
        found[f"lengths {family}"] = {name: float(lengths[i]) for i, name in owner.items()}, round(mean, 9)
        for word in words:
            owners, counts = history.postings(family, word)
            found[f"{family} {word}"] = {owner[i]: n for i, n in zip(owners.tolist(), counts.tolist(), strict=True)}
    return found
