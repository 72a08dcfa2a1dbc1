"""Labelled questions in six shapes, recognised by their fields.

folder with repos.json                        code      a question → the files that answer it
JSONL with base_commit, problem_statement     issues    a report → the files that its fix changed
JSONL with title, query, commit               history   a report → the commit that fixed it
JSONL with repo, query, commits               history   a question about the past → the commits that answer it
JSONL with query and gold                     spans     a question → the lines that answer it
JSONL with query and relevant or pattern      own       your own question about one folder

Every field is checked: an error names the file, the line and what to write instead.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lurcher.errors import DatasetError
from lurcher.evaluation.spans import Gold, Range, merge_ranges
from lurcher.evaluation.trees import bare_directory, git, message_of

QUOTED, UNQUOTED = "quoted by the commit", "not quoted"
MAX_PATTERN = 1_000
MIN_TITLE_WORDS = 3
PLAIN_NAME = r"[\w.+-]+"
OWNER_AND_NAME = r"[\w.-]+/[\w.-]+"
SUB_FOLDER = r"[^/\\]+(?:/[^/\\]+)*"
_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")
_REFERENCE = re.compile(r"(?:#|\bgh-|/(?:issues|pull|discussions)/)(\d+)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Target:
    """A file that answers the question, or some of its lines."""

    path: str
    start_line: int | None = None
    end_line: int | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """One question with what answers it: targets, or a pattern, or a commit."""

    id: str
    text: str
    variant: str = "query"
    targets: tuple[Target, ...] = ()
    pattern: re.Pattern[str] | None = None
    commits: tuple[str, ...] = ()
    category: str = ""
    language: str = ""
    gold: Gold = field(default_factory=dict)
    """The lines that answer it; `targets` has the same, one for each range."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder to index and the questions about it."""

    name: str
    repository: str
    """The name under which scores are averaged; several places may share it."""
    tasks: tuple[Task, ...]
    folder: Path | None = None
    prefix: str = ""
    """Where the folder lies in the repository that labels are relative to."""
    git_directory: Path | None = None
    commit: str | None = None
    """The commit whose tree is written out from the git directory before indexing."""


@dataclass(frozen=True, slots=True)
class Dataset:
    name: str
    kind: str
    digest: str
    places: tuple[Place, ...]
    warnings: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Why questions cannot be run here, and how many."""


def load_dataset(path: Path, *, repos: Path | None = None, root: Path | None = None) -> Dataset:
    """Load the dataset at a path, in any of the six shapes."""
    if path.is_dir():
        if not (path / "repos.json").is_file():
            raise DatasetError(f"{path} holds no repos.json", hint="name a folder with repos.json, or a JSONL file")
        return _load_code(path, needed_folder(repos, "--repos", "one exported tree per repository"))
    if not path.is_file():
        raise DatasetError(f"there is no dataset at {path}", hint="name a folder with repos.json, or a JSONL file")
    content = read_text(path)
    rows = list(json_lines(path, content))
    if not rows:
        raise DatasetError(f"{path} holds no questions", hint='write {"query": …, "relevant": […]} on each line')
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    first = rows[0][1]
    if {"base_commit", "problem_statement"} <= first.keys():
        mirrors = needed_folder(repos, "--repos", "bare git directories named OWNER+NAME/repo")
        return _load_issues(path, rows, digest, mirrors)
    if {"title", "query", "commit"} <= first.keys():
        mirrors = needed_folder(repos, "--repos", "bare git directories named OWNER+NAME/repo")
        return _load_history(path, rows, digest, mirrors)
    if {"repo", "query", "commits"} <= first.keys():
        mirrors = needed_folder(repos, "--repos", "bare git directories named OWNER+NAME/repo")
        return _load_past(path, rows, digest, mirrors)
    if {"query", "gold"} <= first.keys():
        return _load_spans(path, rows, digest, repos, root)
    return _load_own(path, rows, digest, needed_folder(root, "--root", "the repository that the questions are about"))


# -- the shapes --------------------------------------------------------------------------------------------------------


def _load_code(path: Path, repos: Path) -> Dataset:
    hashed = hashlib.sha256()
    places: list[Place] = []
    missing: list[str] = []
    warnings: list[str] = []
    names: dict[str, int] = {}
    for number, spec in enumerate(json_list(path / "repos.json", hashed), 1):
        row = Row(path / "repos.json", number, spec, unit="entry")
        name = row.name("name", PLAIN_NAME)
        if row.repeats(name, names, warnings):
            continue
        prefix = row.name("benchmark_root", SUB_FOLDER) if row.optional_text("benchmark_root") else ""
        tasks: list[Task] = []
        seen: dict[str, int] = {}
        for ordinal, item in enumerate(json_list(path / f"{name}.json", hashed), 1):
            entry = Row(path / f"{name}.json", ordinal, item, unit="entry")
            if entry.repeats(entry.text("query"), seen, warnings):
                continue
            tasks.append(_label_task(entry, f"{name}#{ordinal}", row.optional_text("language")))
        folder = repos / name / prefix
        if not folder.is_dir():
            missing.append(name)
        elif tasks:
            places.append(Place(name, name, tuple(tasks), folder=folder, prefix=prefix))
    if missing and not places:
        raise DatasetError(
            f"{repos} holds none of the {len(missing)} trees that {path.name} asks about",
            hint="export each pinned revision to NAME below it: git archive REVISION BENCHMARK_ROOT | tar -x -C NAME",
        )
    if not places:
        raise DatasetError(f"{path} holds no questions", hint="add entries to repos.json and to NAME.json")
    if missing:
        warnings.insert(0, f"left out, no tree: {', '.join(missing)}")
    return Dataset(path.resolve().name, "code", hashed.hexdigest()[:16], tuple(places), tuple(warnings))


def _load_issues(path: Path, rows: list[tuple[int, Any]], digest: str, repos: Path) -> Dataset:
    places: dict[tuple[str, str], list[Task]] = {}
    seen: dict[str, int] = {}
    warnings: list[str] = []
    for number, item in rows:
        row = Row(path, number, item)
        instance, repository = row.text("instance_id"), row.name("repo", OWNER_AND_NAME)
        commit = row.commit("base_commit")
        text = row.text("problem_statement")
        targets = row.targets("gold_files")
        if not targets:
            raise row.error("gold_files is empty", "name the files that the fix changed")
        if not row.repeats(instance, seen, warnings):
            tasks = _two_ways(instance, text.strip().split("\n", 1)[0], text, targets=targets)
            places.setdefault((repository, commit), []).extend(tasks)
    found, missing = [], set()
    for (repository, commit), tasks in places.items():
        directory = bare_directory(repos, repository)
        if not directory.is_dir():
            missing.add(repository)
            continue
        name = f"{repository.replace('/', '+')}@{commit[:12]}"
        found.append(Place(name, repository, tuple(tasks), git_directory=directory, commit=commit))
    return _drop_missing(Dataset(path.stem, "issues", digest, tuple(found), tuple(warnings)), missing, repos)


def _load_history(path: Path, rows: list[tuple[int, Any]], digest: str, repos: Path) -> Dataset:
    places: dict[str, list[Task]] = {}
    seen: dict[str, int] = {}
    warnings: list[str] = []
    missing = set()
    for number, item in rows:
        row = Row(path, number, item)
        instance, repository = row.text("instance_id"), row.name("repo", OWNER_AND_NAME)
        title, text, commit = row.text("title"), row.text("query"), row.commit("commit")
        directory = bare_directory(repos, repository)
        if row.repeats(instance, seen, warnings):
            continue
        if not directory.is_dir():
            missing.add(repository)
            continue
        message = message_of(directory, commit)
        if message is None:
            warnings.append(f"{instance}: {repository} has no commit {commit[:12]}")
        category = QUOTED if quotes_report(message or "", title, text) else UNQUOTED
        places.setdefault(repository, []).extend(_two_ways(instance, title, text, commits=(commit,), category=category))
    found = [
        Place(repository.replace("/", "+"), repository, tuple(tasks), git_directory=bare_directory(repos, repository))
        for repository, tasks in places.items()
    ]
    return _drop_missing(Dataset(path.stem, "history", digest, tuple(found), tuple(warnings)), missing, repos)


def _load_past(path: Path, rows: list[tuple[int, Any]], digest: str, repos: Path) -> Dataset:
    places: dict[str, list[Task]] = {}
    seen: dict[str, int] = {}
    warnings: list[str] = []
    missing = set()
    for number, item in rows:
        row = Row(path, number, item)
        repository = row.name("repo", OWNER_AND_NAME)
        if row.repeats(f"{repository}: {row.text('query')}", seen, warnings):
            continue
        directory = bare_directory(repos, repository)
        if not directory.is_dir():
            missing.add(repository)
            continue
        commits = row.commits("commits")
        if not commits:
            raise row.error("commits is empty", "name at least one commit that answers the query")
        warnings += [
            f"line {number}: {repository} has no commit {sha[:12]}" for sha in commits if message_of(directory, sha) is None
        ]
        task = Task(f"line {number}", row.text("query"), commits=commits, category=row.optional_text("category"))
        places.setdefault(repository, []).append(task)
    found = [
        Place(repository.replace("/", "+"), repository, tuple(tasks), git_directory=bare_directory(repos, repository))
        for repository, tasks in places.items()
    ]
    return _drop_missing(Dataset(path.stem, "history", digest, tuple(found), tuple(warnings)), missing, repos)


def _load_own(path: Path, rows: list[tuple[int, Any]], digest: str, root: Path) -> Dataset:
    tasks: list[Task] = []
    seen: dict[str, int] = {}
    warnings: list[str] = []
    for number, item in rows:
        row = Row(path, number, item)
        if row.repeats(row.text("query"), seen, warnings):
            continue
        if "pattern" in row.item and "relevant" in row.item:
            raise row.error("both relevant and pattern are given", "keep one of them")
        if "pattern" in row.item:
            tasks.append(
                Task(
                    f"line {number}",
                    row.text("query"),
                    pattern=row.pattern("pattern"),
                    category=row.optional_text("category"),
                    language=row.optional_text("language"),
                )
            )
        else:
            tasks.append(_label_task(row, f"line {number}", row.optional_text("language")))
    place = Place(root.resolve().name, root.resolve().name, tuple(tasks), folder=root)
    return Dataset(path.stem, "own", digest, (place,), tuple(warnings))


def _load_spans(
    path: Path, rows: list[tuple[int, Any]], digest: str, repos: Path | None, root: Path | None
) -> Dataset:
    """Rows with a commit are about a tree of a git directory, those with only a repository about an exported tree,
    all others about the folder of --root."""
    places: dict[tuple[str, str], list[Task]] = {}
    seen: dict[str, int] = {}
    warnings: list[str] = []
    for number, item in rows:
        row = Row(path, number, item)
        name = row.optional_text("id") or f"line {number}"
        if row.repeats(name, seen, warnings):
            continue
        commit = row.commit("commit") if "commit" in row.item else ""
        repository = row.name("repo", f"{OWNER_AND_NAME}|{PLAIN_NAME}") if "repo" in row.item or commit else ""
        gold = row.gold("gold")
        places.setdefault((repository, commit), []).append(
            Task(
                name,
                row.text("query"),
                targets=span_targets(gold),
                category=row.optional_text("category"),
                language=row.optional_text("language"),
                gold=gold,
            )
        )
    left_out: Counter[str] = Counter()
    found = []
    for (repository, commit), tasks in places.items():
        if not repository:
            folder = needed_folder(root, "--root", "the repository that the questions are about").resolve()
            found.append(Place(folder.name, folder.name, tuple(tasks), folder=folder))
        elif not commit:
            folder = needed_folder(repos, "--repos", "one exported tree per repository") / repository.replace("/", "+")
            if folder.is_dir():
                found.append(Place(folder.name, repository, tuple(tasks), folder=folder))
            else:
                left_out["no tree of the repository"] += len(tasks)
        else:
            directory = bare_directory(needed_folder(repos, "--repos", "bare git directories OWNER+NAME/repo"), repository)
            if not directory.is_dir():
                left_out["no git directory of the repository"] += len(tasks)
            elif git(directory, "cat-file", "-e", f"{commit}^{{tree}}") is None:
                left_out["no such commit in the git directory"] += len(tasks)
            else:
                name = f"{repository.replace('/', '+')}@{commit[:12]}"
                found.append(Place(name, repository, tuple(tasks), git_directory=directory, commit=commit))
    if not found:
        reasons = ", ".join(f"{count} × {reason}" for reason, count in left_out.items())
        raise DatasetError(f"none of the questions can be asked: {reasons}", hint="check --repos")
    return Dataset(path.stem, "spans", digest, tuple(found), tuple(warnings), dict(left_out))


def span_targets(gold: Gold) -> tuple[Target, ...]:
    return tuple(Target(path, first, last) for path, ranges in gold.items() for first, last in ranges)


def _label_task(row: Row, name: str, language: str) -> Task:
    targets = tuple(dict.fromkeys((*row.targets("relevant"), *row.targets("secondary", optional=True))))
    if not targets:
        raise row.error("relevant is empty", "name at least one file that answers the query")
    return Task(name, row.text("query"), targets=targets, category=row.optional_text("category"), language=language)


def _two_ways(instance: str, title: str, text: str, **rest: Any) -> list[Task]:
    return [
        Task(f"{instance}/{variant}", query.strip(), variant=variant, **rest)
        for variant, query in (("title", title), ("text", text))
    ]


def _drop_missing(dataset: Dataset, missing: set[str], repos: Path) -> Dataset:
    if not dataset.places:
        raise DatasetError(
            f"{repos} holds no git directory of {', '.join(sorted(missing))}",
            hint="clone each with git clone --bare URL OWNER+NAME/repo",
        )
    if not missing:
        return dataset
    warnings = (f"left out, no git directory: {', '.join(sorted(missing))}", *dataset.warnings)
    return Dataset(dataset.name, dataset.kind, dataset.digest, dataset.places, warnings)


def quotes_report(message: str, title: str, text: str) -> bool:
    """Whether a commit message contains the title of the report, or a reference number that the report contains too."""
    if set(_REFERENCE.findall(message)) & set(_REFERENCE.findall(f"{title}\n{text}")):
        return True
    words = _words(title)
    return len(words) >= MIN_TITLE_WORDS and f" {' '.join(words)} " in f" {' '.join(_words(message))} "


def _words(text: str) -> Sequence[str]:
    return _WORD.findall(text.casefold())


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a dataset, with its position for error messages."""

    path: Path
    number: int
    item: Any
    unit: str = "line"

    def __post_init__(self) -> None:
        if not isinstance(self.item, dict):
            raise self.error("not an object", 'write {"query": …, "relevant": […]}')

    def error(self, message: str, hint: str) -> DatasetError:
        return DatasetError(f"{self.path}, {self.unit} {self.number}: {message}", hint=hint)

    def text(self, key: str) -> str:
        value = self.item.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"{key} must be a text that is not empty", f'add "{key}": "…"')
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            raise self.error(f"{key} holds half a character (a lone surrogate)", "write the character itself")
        return value

    def optional_text(self, key: str) -> str:
        value = self.item.get(key)
        if value is not None and not isinstance(value, str):
            raise self.error(f"{key} must be a text", f'write "{key}": "…" or leave it out')
        return value or ""

    def name(self, key: str, shape: str) -> str:
        """A text that becomes part of a path, so only of the given shape."""
        value = self.text(key)
        if not re.fullmatch(shape, value) or {".", ".."} & set(value.split("/")):
            raise self.error(f"{key} is not a name: {value!r}", "use letters, digits, dots, dashes and underscores")
        return value

    def commit(self, key: str) -> str:
        value = self.text(key)
        if not _COMMIT.fullmatch(value):
            raise self.error(f"{key} is not a commit: {value!r}", "write the hexadecimal name of a commit")
        return value.lower()

    def commits(self, key: str) -> tuple[str, ...]:
        value = self.item[key]
        if not isinstance(value, list) or not all(isinstance(sha, str) and _COMMIT.fullmatch(sha) for sha in value):
            raise self.error(f"{key} is no list of commits", "write the hexadecimal names of commits")
        return tuple(sha.lower() for sha in value)

    def pattern(self, key: str) -> re.Pattern[str]:
        value = self.text(key)
        if len(value) > MAX_PATTERN:
            raise self.error(f"{key} has more than {MAX_PATTERN} characters", "write a shorter regular expression")
        try:
            return re.compile(value, re.MULTILINE)
        except (re.error, RecursionError, OverflowError) as error:
            raise self.error(f"{key} is not a regular expression: {error}", "see Python's re for the syntax") from None

    def targets(self, key: str, *, optional: bool = False) -> tuple[Target, ...]:
        value = self.item.get(key)
        if value is None and optional:
            return ()
        if not isinstance(value, list):
            raise self.error(f"{key} must be a list", f'write "{key}": ["path", …], or "pattern": "…" in its place')
        return tuple(self._target(key, entry) for entry in value)

    def _target(self, key: str, entry: Any) -> Target:
        path = entry.get("path") if isinstance(entry, dict) else entry
        if not isinstance(path, str) or not path.strip():
            raise self.error(f"{key} holds {entry!r}", 'write "path" or {"path", "start_line", "end_line"}')
        parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
        if not parts or ".." in parts or path.startswith("/"):
            raise self.error(f"{key} holds {path!r}", "write paths relative to the repository")
        if isinstance(entry, str):
            return Target("/".join(parts))
        start, end = entry.get("start_line"), entry.get("end_line")
        for line in (start, end):
            if line is not None and (not isinstance(line, int) or isinstance(line, bool) or line < 1):
                raise self.error(f"{key} holds the line {line!r}", "lines are numbers from 1")
        if start is not None and end is not None and end < start:
            raise self.error(f"{key} ends at line {end}, before it starts ({start})", "swap the lines")
        return Target("/".join(parts), start, end)

    def gold(self, key: str) -> dict[str, tuple[Range, ...]]:
        """Path → ranges of lines, merged where they overlap or touch."""
        value = self.item[key]
        if not isinstance(value, dict) or not value:
            raise self.error(f"{key} names no lines", f'write "{key}": {{"path": [[first, last], …]}}')
        found: dict[str, tuple[Range, ...]] = {}
        for path, ranges in value.items():
            pairs = ranges if isinstance(ranges, list) else []
            if not pairs or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
                raise self.error(f"{key} holds {ranges!r:.60} for {path}", "write pairs of lines: [[first, last], …]")
            targets = [self._target(key, {"path": path, "start_line": one, "end_line": two}) for one, two in pairs]
            found[targets[0].path] = merge_ranges((target.start_line or 1, target.end_line or 1) for target in targets)
        return found

    def repeats(self, key: str, seen: dict[str, int], warnings: list[str]) -> bool:
        """Whether the question occurred before; a repeated one is skipped, with a warning, since it would count twice."""
        first = seen.setdefault(" ".join(key.split()), self.number)
        if first == self.number:
            return False
        warnings.append(f"{self.path.name}, {self.unit} {self.number} repeats {self.unit} {first}: left out")
        return True


def needed_folder(path: Path | None, flag: str, meaning: str) -> Path:
    if path is None:
        raise DatasetError(f"this dataset needs a folder: {meaning}", hint=f"add {flag} FOLDER")
    if not path.is_dir():
        raise DatasetError(f"{path} is not a folder", hint=f"{flag} names a folder: {meaning}")
    return path


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} cannot be read: {error}", hint="it must be a readable UTF-8 file") from None


def json_lines(path: Path, content: str) -> Iterator[tuple[int, Any]]:
    # Only a newline ends a row: a JSON string may hold other characters that splitlines() takes for line ends.
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DatasetError(
                f"{path}, line {number}: not JSON ({error})", hint="write one JSON object per line"
            ) from None
        Row(path, number, item)
        yield number, item


def json_list(path: Path, hashed: Any) -> list[Any]:
    content = read_text(path)
    hashed.update(f"{path.name}\0{content}\0".encode())
    try:
        value = json.loads(content)
    except json.JSONDecodeError as error:
        raise DatasetError(
            f"{path}, line {error.lineno}: not JSON ({error.msg})", hint="it must be a JSON list"
        ) from None
    except RecursionError:
        raise DatasetError(f"{path}, line 1: nested too deeply", hint="it must be a JSON list") from None
    if not isinstance(value, list):
        raise DatasetError(f"{path}, line 1: not a list", hint="it must be a JSON list of objects")
    return value
