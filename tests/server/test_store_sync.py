"""`lurcher sync` against a real PostgreSQL: incremental, one failure among others, leases, and machines that are killed."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lurcher.config import Settings
from lurcher.server.remotes import Clone, Remote
from lurcher.server.store_sync import LEASE, StoreSync
from lurcher.stores.base import store_at
from tests.conftest import environment, git
from tests.drills.sync import examine, make_repositories
from tests.stores.postgres_server import postgres


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with postgres(tmp_path / "pg") as found:
        yield found


def sync(url: str, tmp_path: Path, lines: list[str], *arguments: str, status: int = 0) -> Any:
    (tmp_path / "repos.txt").write_text("\n".join(lines))
    command = [
        sys.executable, "-m", "lurcher", "sync", "--repos", str(tmp_path / "repos.txt"), "--folder", str(tmp_path / "clones"),
        *arguments,
    ]  # fmt: skip
    done = subprocess.run(command, env=environment(LURCHER_STORE=url), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout) if "--json" in arguments else done.stdout


def statuses(report: dict[str, Any]) -> dict[str, str]:
    return {entry["project"]: entry["status"] for entry in report["repositories"]}


def test_only_what_changed_is_indexed_and_a_failure_stops_nothing(url: str, tmp_path: Path) -> None:
    origins = make_repositories(tmp_path / "origins", 3, random.Random(1))
    first, second, third = origins.values()
    git(first, "tag", "v1")
    lines = [
        f"{first} name=acme/r000", f"{first} name=acme/r000@v1 ref=v1", f"{second} name=acme/r001", "ext::sh -c true",
        f"{tmp_path}/nowhere name=acme/gone", f"{third} name=acme/r002", "https://user:hunter2@127.0.0.1:1/x name=acme/away",
    ]  # fmt: skip
    report = sync(url, tmp_path, lines, "--json", "--workers", "3", status=2)
    good = {"acme/r000", "acme/r000@v1", "acme/r001", "acme/r002"}
    assert statuses(report) == {
        **dict.fromkeys(good, "indexed"), "acme/gone": "failed", "acme/away": "failed", "line 4": "refused",
    }  # fmt: skip
    assert report["counts"] == {"indexed": 4, "current": 0, "failed": 2, "refused": 1, "busy": 0}
    assert "hunter2" not in json.dumps(report)

    git(first, "rm", "-q", "README.md")
    git(first, "commit", "-qm", "No readme")
    lines = [line for line in lines if "ext" not in line and "gone" not in line and "away" not in line]
    report = sync(url, tmp_path, lines, "--json")
    assert statuses(report) == {**dict.fromkeys(good, "current"), "acme/r000": "indexed"}
    changed = next(entry for entry in report["repositories"] if entry["project"] == "acme/r000")
    files = len(git(first, "ls-files").splitlines())
    assert (changed["files"], changed["sent_files"], changed["commit"]) == (files, 0, git(first, "rev-parse", "HEAD").strip())
    store = store_at(url, Settings())
    assert examine(store, url, origins, {}, tmp_path / "local") == []
    store.close()

    table = sync(url, tmp_path, lines)
    assert [line.split()[0] for line in table.splitlines()] == ["current"] * 4

    report = sync(url, tmp_path, lines[:1], "--json", "--history")  # its commits are not in the store yet
    assert statuses(report) == {"acme/r000": "indexed"}
    store = store_at(url, Settings())
    head = store.head("acme/r000")
    assert head is not None
    assert head.more["commits"] == "2"
    assert statuses(sync(url, tmp_path, lines[:1], "--json", "--history")) == {"acme/r000": "current"}
    store.close()


def test_what_another_machine_works_on_is_left_to_it(url: str, tmp_path: Path) -> None:
    origins = make_repositories(tmp_path / "origins", 2, random.Random(1))
    remotes = [Remote(str(place), project) for project, place in origins.items()]
    store, other = store_at(url, Settings()), store_at(url, Settings())
    with other.writing(LEASE + "acme/r000", 0):
        sync = StoreSync(store, tmp_path / "clones", {"store.url": url}, wait=1.0)
        assert [entry.status for entry in sync.run(remotes, 2)] == ["busy", "indexed"]
    sync = StoreSync(store, tmp_path / "clones", {"store.url": url}, wait=1.0)
    assert [entry.status for entry in sync.run(remotes, 2)] == ["indexed", "current"]
    assert store.projects() == ["acme/r000", "acme/r001"]  # leases are not projects
    store.close()
    other.close()


def test_a_later_commit_that_another_machine_has_sent_is_not_sent_again(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (origin,) = make_repositories(tmp_path / "origins", 1, random.Random(1)).values()
    remotes = [Remote(str(origin), "acme/r000")]
    asked = [Clone(remotes[0], tmp_path / "clones").find_tip()]
    git(origin, "rm", "-q", "README.md")
    git(origin, "commit", "-qm", "No readme")
    store = store_at(url, Settings())
    assert [entry.status for entry in StoreSync(store, tmp_path / "other", {"store.url": url}).run(remotes, 1)] == ["indexed"]
    real = Clone.find_tip
    monkeypatch.setattr(Clone, "find_tip", lambda self: asked.pop() if asked else real(self))
    (entry,) = StoreSync(store, tmp_path / "clones", {"store.url": url}).run(remotes, 1)
    assert (entry.status, entry.commit) == ("current", git(origin, "rev-parse", "HEAD").strip())
    store.close()


def test_a_mistake_of_ours_stops_one_repository_only(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    origins = make_repositories(tmp_path / "origins", 3, random.Random(1))
    remotes = [Remote(str(place), project) for project, place in origins.items()]
    real = StoreSync._index

    def fail(self: StoreSync, item: Any) -> Any:
        if item.remote.project == "acme/r001":
            raise ZeroDivisionError("oh")
        return real(self, item)

    monkeypatch.setattr(StoreSync, "_index", fail)
    store = store_at(url, Settings())
    entries = StoreSync(store, tmp_path / "clones", {"store.url": url}).run(remotes, 2)
    assert [entry.status for entry in entries] == ["indexed", "failed", "indexed"]
    assert entries[1].problem == "ZeroDivisionError: oh"
    store.close()
