"""A searcher that answers what it is told, and small datasets on disk."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from lurcher.types import SUCCESS, Answer, CommitInfo, Degraded, Hit, IndexState, Outcome, Why


def hit(path: str, start: int = 1, end: int = 10, *, tokens: int = 100, **rest: Any) -> Hit:
    fields = {"source": "code", "language": "python", "symbol": None, "kind": None, "score": 1.0, "text": "", **rest}
    return Hit(id=f"{path}:{start}", path=path, start_line=start, end_line=end, tokens=tokens, why=Why(), **fields)


def commit_hit(sha: str, subject: str = "", **rest: Any) -> Hit:
    return hit("", source="history", commit=commit(sha, subject), **rest)


def commit(sha: str, subject: str = "") -> CommitInfo:
    return CommitInfo(sha, subject, "", "", Outcome(SUCCESS, 0.9), (), 0)


def answer(hits: Sequence[Hit], *, degraded: tuple[Degraded, ...] = ()) -> Answer:
    return Answer(
        query="",
        mode="hybrid",
        intent="",
        ranking="default",
        sources=("code",),
        hits=tuple(hits),
        total=len(hits),
        tokens=0,
        next=None,
        index=IndexState(1, True, 0),
        degraded=degraded,
    )


class FakeSearcher:
    def __init__(self, answers: Mapping[str, Sequence[Hit] | Exception]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def search(self, text: str, *, limit: int, **options: Any) -> Answer:
        self.asked.append((text, {"limit": limit, **options}))
        found = self.answers.get(text, ())
        if isinstance(found, Exception):
            raise found
        return answer(found[:limit])


def opening(searcher: Any, folders: list[Path] | None = None) -> Callable[[Path], AbstractContextManager[Any]]:
    @contextmanager
    def open_engine(folder: Path) -> Iterator[Any]:
        if folders is not None:
            folders.append(folder)
        yield searcher

    return open_engine


def write_lines(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def code_set(folder: Path, repositories: Mapping[str, tuple[Mapping[str, Any], Sequence[Any]]]) -> Path:
    """NAME → (the entry in repos.json without its name, the questions)."""
    folder.mkdir()
    specs = [{"name": name, "language": "python", **spec} for name, (spec, _) in repositories.items()]
    (folder / "repos.json").write_text(json.dumps(specs), encoding="utf-8")
    for name, (_, questions) in repositories.items():
        (folder / f"{name}.json").write_text(json.dumps(questions), encoding="utf-8")
    return folder


class Mirror:
    """A git repository as the folder of mirrors holds it: OWNER+NAME/repo."""

    def __init__(self, repos: Path, name: str = "own/project") -> None:
        self.directory = repos / name.replace("/", "+") / "repo"
        self.directory.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ["git", "-C", str(self.directory), *identity, *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, message: str, files: Mapping[str, str]) -> str:
        write_tree(self.directory, files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")
