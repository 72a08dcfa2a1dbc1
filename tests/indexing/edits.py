"""Random histories of a tree, with an index that follows them, compared with one that is made of the result.

    python -m tests.indexing.edits --sequences 500 --seed 1

Segments merge often, limits that only large trees reach are lowered, and the questions are partly the tree's own words.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lurcher import query
from lurcher.corpora.history import update
from lurcher.corpora.history.index import HistoryIndex
from lurcher.engine import Engine
from lurcher.errors import PathError
from lurcher.indexing import writer
from lurcher.lanes import symbol
from lurcher.ranking import evidence
from tests.indexing.conftest import TREE, write
from tests.indexing.faults import ended, forked

NAMES = (
    "client", "cookies", "router", "pool", "session", "index", "parse_cookie", "getUserById", "ä", "v1/api", "v2/api", "v3/api",
    "tests/test_pool", "legacy/pool", "a b", "__init__",
)  # fmt: skip
FOLDERS = ("", "src/", "web/", "a/b/c/d/", "redirects/")
ENDINGS = (".py", ".py", ".ts", ".go", ".md", ".txt", ".rs", ".java", "")
WORDS = (
    "redirect", "redirects", "redirected", "redirecting", "redirection", "redirector", "cookie", "cookies", "cookiejar", "pool",
    "pooled", "poolsize", "session", "sessions", "acquire", "register", "limit", "λόγος", "検索語", "größe",
)  # fmt: skip
LINES = (
    "def follow_{0}(response):\n    return response.{1}\n", "class Client:\n    def parse_{0}(self): return {1}()\n",
    "# keeps {0} and {1}\n", "type Pool struct {{}}\nfunc (p *Pool) Acquire() {{}}\n", "register({0}, router)\n",
    "export class Router {{ register({0}: string) {{ return {1} }} }}\n", "pub fn acquire() -> Pool {{ {0}() }}\n",
    "{0} {1} {0}\n", "\n", "x = {0}\r\n", "class {0}Error(Exception):\n    pass\n", "Client().parse_{0}(Pool)\n",
)  # fmt: skip
ASKED = (
    "how are redirects followed", "parse_cookie", "Pool.Acquire", "keeps connections cookies", "redirect",
    "Redirects loop forever\n\nTraceback:\n  File \"src/client.py\", line 3, in follow\n  File \"web/v1/api.py\", line 1\n"
    "`Client.parse_cookie` in tests/test_pool.py, see https://example.invalid/x/blob/main/src/pool.py and a.b.c.d.client\n",
)  # fmt: skip
NOTE_LINES = (
    "# {0}\n", "## More about {0}\n", "See [[{0}]] and [{1}]({0}.md#more-about-{1}).\n", "#{0} and {1}, kept for a day.\n",
    "- [ ] {0}\n- {1}\n", "> {0} of a {1}\n", "```py\n{0} = {1}\n```\n",
)  # fmt: skip
NOTES_ASKED = ("how are redirects kept", "cookies", '"kept for a day"')
HISTORY_ASKED = ("redirects", "fix cookies of a session", "revert", "pool limit")
SUBJECTS = ("Fix {0}", "Add {0} to {1}", "Make {0} faster\n\nThe {1} was slow.", "{0}: rename {1}", "Fixes #12: {0} loses {1}")
WAYS: tuple[dict[str, Any], ...] = (
    {"context": "function", "limit": 30}, {"ranking": "classic"}, {"mode": "dense", "limit": 5}, {"mode": "lexical"},
    {"mode": "symbol", "limit": 100}, {"budget": 300}, {"paths": ["src/**", "web/**"]},
)  # fmt: skip
OUTSIDE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def text(chance: random.Random) -> bytes:
    """Some lines of no language in particular."""
    lines = (chance.choice(LINES).format(chance.choice(WORDS), chance.choice(WORDS)) for _ in range(chance.randint(0, 20)))
    return "".join(line * chance.choice((1, 1, 1, 8)) for line in lines).encode()


def note(chance: random.Random) -> bytes:
    """A note of a vault, with tags and aliases at times."""
    front = "---\ntags: [{0}, {1}]\naliases: [{0}]\ndate: 2024-05-0{2}\n---\n" if chance.random() < 0.4 else ""
    front = front.format(chance.choice(WORDS), chance.choice(WORDS), chance.randint(1, 9))
    lines = (chance.choice(NOTE_LINES).format(chance.choice(WORDS), chance.choice(WORDS)) for _ in range(chance.randint(0, 12)))
    return (front + "\n".join(lines)).encode()


class Tree:
    """A tree, and what people do to it. Some of it cannot be done at times: then nothing happens."""

    def __init__(self, root: Path, chance: random.Random, *, repository: bool) -> None:
        self.root, self._chance = root, chance
        write(root, TREE)
        self._actions: list[Callable[[], object]] = [
            self.add, self.add, self.add, self.append, self.append, self.same_size, self.rename, self.rename_folder,
            self.delete, self.delete_folder, self.mode, self.touch, self.empty, self.binary, self.large, self.not_utf8,
            self.line_ends, self.file_to_folder, self.folder_to_file, self.link, self.ignore, self.ignore, self.many, self.copy,
            self.add_note, self.add_note, self.add_note, self.rename_note, self.delete_note,
        ]  # fmt: skip
        self._minute = 0
        if repository:
            self.git("init", "-q")
            self._actions += [self.commit] * 4 + [
                self.switch, self.switch, self.stash, self.reset, self.git_move, self.amend, self.amend, self.rebase,
                self.merge, self.pick, self.revert, self.revert, self.branch_off, self.collect,
            ]  # fmt: skip
            for _ in range(3):
                self.add()
                self.commit()

    def edit(self) -> str:
        """Do one of these things; its name."""
        action = self._chance.choice(self._actions)
        with contextlib.suppress(OSError):
            action()
        return action.__name__  # type: ignore[attr-defined]

    def git(self, *arguments: str) -> None:
        names = ("-c", "user.name=T", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main", "-c", "gc.auto=0")
        self._minute += self._chance.choice((0, 1, 1, 60))  # at times two commits have one date
        date = f"{1_700_000_000 + 60 * self._minute} +0000"
        environment = {**os.environ, **OUTSIDE, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "GIT_EDITOR": "true"}
        subprocess.run(
            ["git", *names, *arguments], cwd=self.root, env=environment, capture_output=True, timeout=120, check=False
        )

    def _all(self, *, folders: bool = False) -> list[Path]:
        own = {".git", ".lurcher"}
        return sorted(
            path for path in self.root.rglob("*")
            if not own & set(path.relative_to(self.root).parts) and path.is_dir() == folders
        )  # fmt: skip

    def _some(self, *, folders: bool = False) -> Path:
        return self._chance.choice(self._all(folders=folders) or [self._new()])

    def _new(self) -> Path:
        chance = self._chance
        return self.root / (chance.choice(FOLDERS) + chance.choice(NAMES) + chance.choice(ENDINGS))

    def _put(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def add(self) -> None:
        self._put(self._new(), text(self._chance))

    def many(self) -> None:
        for _ in range(12):
            self.add()

    def append(self) -> None:
        path = self._some()
        self._put(path, path.read_bytes()[:4000] + text(self._chance))

    def same_size(self) -> None:
        """Other words of the same length, at times with the old time stamp put back."""
        path = self._some()
        status = path.stat()
        data = path.read_bytes().replace(b"cookie", b"biscui").replace(b"Pool", b"Tank")
        path.write_bytes(data.replace(b"redirect", b"detoured"))
        if self._chance.random() < 0.5:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def rename(self) -> None:
        target = self._new()
        target.parent.mkdir(parents=True, exist_ok=True)
        self._some().rename(target)

    def copy(self) -> None:
        target = self._new()
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self._some(), target)

    def rename_folder(self) -> None:
        self._some(folders=True).rename(self.root / self._chance.choice(("moved", "src", "web", "lib", "v1", "v2")))

    def delete(self) -> None:
        self._some().unlink()

    def delete_folder(self) -> None:
        if self._chance.random() < 0.5:
            shutil.rmtree(self._some(folders=True), ignore_errors=True)

    def mode(self) -> None:
        self._some().chmod(self._chance.choice((0o644, 0o755, 0o600)))

    def touch(self) -> None:
        os.utime(self._some(), (self._chance.randint(1, 10**9), self._chance.randint(1, 10**9)))

    def empty(self) -> None:
        self._put(self._some(), b"")

    def binary(self) -> None:
        self._put(self._some(), b"\0" + self._chance.randbytes(20))

    def large(self) -> None:
        self._put(self._new(), b"redirects = cookies\n" * 1200)

    def not_utf8(self) -> None:
        self._put(self._some(), "größe = session_limit\n".encode("latin-1") * 3)

    def line_ends(self) -> None:
        path = self._some()
        path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))

    def file_to_folder(self) -> None:
        path = self._some()
        path.unlink()
        self._put(path / "inner.py", text(self._chance))

    def folder_to_file(self) -> None:
        path = self._some(folders=True)
        shutil.rmtree(path)
        self._put(path, text(self._chance))

    def link(self) -> None:
        target = self._chance.choice((self._some(), self._some(folders=True), Path("nowhere"), Path("/etc")))
        path = self._new()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def ignore(self) -> None:
        place = self._chance.choice(("", "", "src/", "web/"))
        rule = self._chance.choice(("*.md\n", "web/\n", "pool*\n", "*.py\n!client.py\n", "", "a/\n", "!*.txt\n"))
        self._put(self.root / place / self._chance.choice((".gitignore", ".lurcherignore")), rule.encode())

    def _note(self) -> Path:
        found = [path for path in self._all() if path.suffix == ".md"]
        return self._chance.choice(found or [self.root / "docs/guide.md"])

    def add_note(self) -> None:
        folder = self.root / self._chance.choice(("", "docs/", "a/b/"))
        self._put(folder / f"{self._chance.choice(WORDS)}.md", note(self._chance))

    def rename_note(self) -> None:
        path = self._note()
        path.rename(path.with_name(f"{self._chance.choice(WORDS)}.md"))

    def delete_note(self) -> None:
        self._note().unlink()

    def _subject(self) -> str:
        return self._chance.choice(SUBJECTS).format(self._chance.choice(WORDS), self._chance.choice(WORDS))

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", self._subject())

    def amend(self) -> None:
        self.git("commit", "-q", "-a", "--amend", "-m", self._subject())

    def rebase(self) -> None:
        """All but the first commits anew, on top of one that is new."""
        self.git("stash", "push", "-q")
        self.git("checkout", "-q", "-B", "base", f"HEAD~{self._chance.randint(1, 3)}")
        self.git("commit", "-q", "--allow-empty", "-m", self._subject())
        self.git("checkout", "-q", "-f", "main")
        self.git("rebase", "-q", "-X", "theirs", "base")
        self.git("rebase", "--abort")

    def merge(self) -> None:
        branch = self._chance.choice(("other", "base"))
        self.git("merge", "-q", "--no-ff", "-s", "ours", "-m", f"Merge {self._subject()}", branch)

    def pick(self) -> None:
        self.git("cherry-pick", "-x", "-X", "theirs", self._chance.choice(("other", "base", "main~1")))
        self.git("cherry-pick", "--abort")

    def revert(self) -> None:
        self.git("revert", "--no-edit", "-X", "theirs", self._chance.choice(("HEAD", "HEAD~1")))
        self.git("revert", "--abort")

    def branch_off(self) -> None:
        self.git("checkout", "-q", "--orphan", self._chance.choice(("lone", "other")))
        self.commit()

    def collect(self) -> None:
        """What no branch leads to is gone."""
        self.git("reflog", "expire", "--expire=now", "--all")
        self.git("gc", "-q", "--prune=now")

    def switch(self) -> None:
        self.git("checkout", "-q", "-b", "other")
        self.git("checkout", "-q", "-f", self._chance.choice(("main", "other", "HEAD~1")))

    def stash(self) -> None:
        self.git("stash", self._chance.choice(("push", "pop")), "-q")

    def reset(self) -> None:
        self.git("reset", "-q", "--hard", self._chance.choice(("HEAD", "HEAD~1")))

    def git_move(self) -> None:
        self.git("mv", "-k", str(self._some()), str(self._new()))


@contextlib.contextmanager
def low_limits(chance: random.Random) -> Iterator[None]:
    """Merge often, cut work into small pieces, and reach limits that take a large tree otherwise."""
    wanted: list[tuple[Any, str, Any]] = [
        (writer, "MAX_SEGMENTS", chance.choice((1, 2, 3, 8))), (writer, "MAX_DEAD_SHARE", chance.choice((0.1, 0.5, 50.0))),
        (writer, "SHARD_BYTES", chance.choice((200, 1500, 10**7))), (query, "_MAX_SCANNED", chance.choice((3, 8, 1500))),
        (symbol, "_MAX_DEFINITIONS", chance.choice((2, 5, 2000))), (symbol, "_MAX_CONTAINERS", chance.choice((1, 3, 100))),
        (update, "FIRST_BATCH", chance.choice((1, 3, 500))), (update, "_MAX_SEGMENTS", chance.choice((1, 3, 8))),
        (update, "_MERGED_AT_ONCE", chance.choice((2, 4))), (HistoryIndex, "batch", chance.choice((1, 2, 1000))),
        (symbol, "_MAX_SCANNED_UNITS", chance.choice((2, 6, 3000))), (evidence, "DENSE_FILES", chance.choice((2, 60))),
    ]  # fmt: skip
    kept = [(module, name, getattr(module, name)) for module, name, _ in wanted]
    try:
        for module, name, value in wanted:
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)


def own_words(root: Path, chance: random.Random) -> list[str]:
    """Questions from what the tree itself says."""
    found: set[str] = set()
    for path in sorted(root.rglob("*.*"))[:40]:
        if path.is_file() and ".git" not in path.parts:
            found.update(re.findall(r"[^\W\d]\w{3,}", path.read_bytes()[:2000].decode("utf-8", "replace")))
            found.update(re.findall(r"\w{4,}", path.stem))
    words = sorted(found) or ["nothing"]
    return [" ".join(chance.choice(words) for _ in range(count)) for count in (1, 2, 4)]


def everything(engine: Engine, questions: list[tuple[str, dict[str, Any]]], *, history: bool) -> str:
    """All that an engine says, but for the number of its generation, the time that it took and what is known of its files."""
    heard: list[Any] = [_plain(engine.search(questions[0][0]).to_dict())]
    heard += [_plain(engine.search(question, check=False, **options).to_dict()) for question, options in questions]
    for name in ("Client", "Pool.Acquire", "register", "Client.parse_cookie", "follow_redirects"):
        heard.append([name, *(hit.to_dict() for hit in engine.symbol(name).definitions)])
    words = [question for question, _ in questions if "\n" not in question][-3:]
    heard += [_plain(engine.notes(question, check=False, limit=30).to_dict()) for question in (*NOTES_ASKED, *words)]
    heard.append(_plain(engine.notes("cookies", check=False, tags=["session"], mode="dense").to_dict()))
    if history:
        heard += [_plain(engine.history(question, limit=40).to_dict()) for question in (*HISTORY_ASKED, *words)]
        heard.append(_plain(engine.history("redirects", mode="dense", ranking="classic").to_dict()))
        heard.append(_plain(engine.search(words[0], sources=["all"], check=False).to_dict()))
        told = engine.status()["history"]
        heard.append({name: told.get(name) for name in ("fresh", "complete", "commits", "total", "hunks", "outcomes")})
    status = engine.status()
    heard.append({name: status.get(name) for name in ("files", "units", "definitions", "languages", "skipped", "stale_paths")})
    return json.dumps(heard, indent=1, ensure_ascii=False)


def _plain(answer: dict[str, Any]) -> dict[str, Any]:
    del answer["timings_ms"], answer["index"]["generation"]
    answer["next"] = answer["next"] is not None
    return answer


class Sequence:
    """One history."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._chance = random.Random(seed)
        self._folder = folder
        repository = self._chance.random() < 0.6
        self._tree = Tree(folder / "tree", self._chance, repository=repository)
        self._history = self.with_history = repository
        self._index = folder / "index" if self._chance.random() < 0.5 else None
        self._settings = {
            "index.max_file_bytes": 20_000, "index.workers": 1, "dense.model": self._chance.choice((None, None, "none")),
            "index.follow_symlinks": self._chance.random() < 0.3, "index.refresh_limit": self._chance.choice((200, 200, 3)),
            "index.chunk_chars": self._chance.choice((1500, 300)),
        }  # fmt: skip
        self.history: list[str] = []
        self.comparisons = 0
        self.difference = ""
        """Where what was heard differs, if it does."""

    def _opened(self, index: Path | None) -> Engine:
        root = self._tree.root
        overrides = {name: value for name, value in self._settings.items() if value is not None}
        return Engine.open(root, root=root, index_dir=index, overrides=overrides)

    def run(self) -> bool:
        """Whether both indexes said the same at all times."""
        chance = self._chance
        with low_limits(chance):
            engine = self._opened(self._index)
            engine.index(history=self._history)
            steps = chance.randint(3, 9)
            for step in range(steps):
                self.history += [self._tree.edit() for _ in range(chance.choice((1, 1, 1, 2, 4)))]
                engine = self._follow(engine)
                if (chance.random() < 0.15 or step == steps - 1) and not self._same(engine, step):
                    return False
        return True

    def _follow(self, engine: Engine) -> Engine:
        """Have the index notice, or not yet."""
        ways = ("search", "search", "index", "none", "limited", "another", "reopened", "notes")
        way = self._chance.choice((*ways, "history", "history") if self._history else ways)
        self.history.append(f"({way})")
        if way == "search":
            engine.search("cookies")
        elif way == "notes":
            engine.notes("cookies")
        elif way == "history":
            with contextlib.suppress(PathError):  # a branch without a commit has none
                engine.history("cookies")
        elif way == "index":
            engine.index(history=self._history)
        elif way == "limited":
            engine.search("cookies", refresh=False)
        elif way == "another":
            assert ended(forked(lambda: self._opened(self._index).index(history=self._history))) == 0
        elif way == "reopened":
            engine = self._opened(self._index)
        return engine

    def _same(self, engine: Engine, step: int) -> bool:
        self.comparisons += 1
        questions = [*ASKED, *own_words(self._tree.root, self._chance)]
        asked = [(question, self._chance.choice(WAYS)) for question in questions]
        asked += [(self._chance.choice(questions), way) for way in WAYS]
        engine.refresh()
        fresh = self._opened(self._folder / f"fresh-{step}")
        fresh.index()
        if self._history:
            engine.index(history=True)
            fresh.index(history=True)
        heard, wanted = (everything(one, asked, history=self._history) for one in (engine, fresh))
        if heard != wanted:
            lines = zip(heard.splitlines(), wanted.splitlines(), strict=False)
            where = next((i for i, (a, b) in enumerate(lines) if a != b), 0)
            context = "\n".join(heard.splitlines()[max(0, where - 12) : where])
            self.difference = f"{context}\n< {heard.splitlines()[where]}\n> {wanted.splitlines()[where]}"
        return heard == wanted


def run(folder: Path, seed: int, count: int, report: Callable[[str], None], first: int = 0) -> Counter[str]:
    """Try `count` histories, from the one with number `first` on; what was done how often."""
    done: Counter[str] = Counter()
    for number in range(first, first + count):
        place = folder / f"s{number}"
        sequence = Sequence(place, seed * 1_000_003 + number)
        try:
            same = sequence.run()
        except Exception:
            same, sequence.difference = False, traceback.format_exc()
        done["sequences"] += 1
        done["edits"] += sum(not name.startswith("(") for name in sequence.history)
        done["comparisons"] += sequence.comparisons
        done["with history"] += sequence.with_history
        if not same:
            done["differ"] += 1
            report(f"sequence {number} differs after {', '.join(sequence.history)}:\n{sequence.difference}")
        shutil.rmtree(place, ignore_errors=True)
    return done


def line(done: Counter[str], seed: int) -> str:
    what = f"{done['edits']} edits, {done['comparisons']} comparisons with a fresh index, {done['differ']} differ"
    return f"edit sequences {done['sequences']}, {done['with history']} of them with history, seed {seed}: {what}"


def main(arguments: list[str] | None = None) -> int:
    from tests.tables import write_tiny

    parser = argparse.ArgumentParser(description="compare an index that followed a tree's edits with a fresh one")
    parser.add_argument("--sequences", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="N", help="only the sequence with this number")
    parsed = parser.parse_args(arguments)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LURCHER_CONFIG"] = os.devnull
        os.environ["LURCHER_DENSE_MODEL"] = str(write_tiny(Path(folder) / "tiny.table"))
        first, count = (0, parsed.sequences) if parsed.only is None else (parsed.only, 1)
        done = run(Path(folder), parsed.seed, count, lambda text: print(text, flush=True), first)
    print(line(done, parsed.seed))
    print(f"{time.monotonic() - began:.0f} seconds")
    return 1 if done["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
