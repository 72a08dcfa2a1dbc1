"""How well sections of real documentation are found: the set is made here, from repositories that lie on this machine.

    python benchmarks/notes.py rfcs=…/rfcs curl=…/curl fastapi=…/fastapi --work /tmp/notes --save result.json

From each repository's Markdown some sections are drawn, at most one per file. Of half of them the heading is hidden and asked
for, of the others the first sentence: what is asked for stands nowhere in the tree that is indexed. Headings and sentences
that occur twice are not drawn. Questions that people wrote (`questions/notes.jsonl`, with the sections that answer them) are
asked of the documents as they are. Two things are told: the reciprocal rank of the first hit that begins in the right section
or holds its first line, and of the first hit in the right note. Beside them stands BM25 over whole notes (SQLite's FTS5), which
can only be asked for the note. The documents stay where they are; of the three repositories above one commit each is used,
and a run writes its numbers with the commits they were made from.

The ranking's constants were chosen on other repositories (react.dev, vscode-docs, docker/docs, kubernetes/website in four
languages, obsidian-help): any repository can be named here, and only the written questions belong to these three.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import sqlite3
import statistics
import subprocess
import tarfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lurcher.engine import Engine

SEED = 7
FENCE = re.compile(r"\s*(```|~~~)")
HEADING = re.compile(r"(#{1,4}) +(\S.*?)\s*#*\s*$")
ANY_HEADING = re.compile(r"(#{1,6}) +(\S.*?)\s*#*\s*$")
SENTENCE = re.compile(r"(.+?[.!?。！？])(?:\s|$|(?<=[。！？]))")
CUT_OFF = re.compile(r"\b(?:i\.e|e\.g|vs|etc|cf)\.$")
HIDDEN = "Section"
KINDS = ("heading", "sentence", "written", "all")
QUESTIONS = Path(__file__).with_name("questions") / "notes.jsonl"
COMMITS = {
    "rfcs": "354518a8c9025f40be6f730452c1bfe71a12dc22",
    "curl": "5c61e168698a72b87437d58ed728bcdea6d5db42",
    "fastapi": "c3f316b7e814667e8ee81e03a7330d00ee61e45c",
}
"""Where the written questions have their answers."""


@dataclass(frozen=True, slots=True)
class Section:
    path: str
    line: int
    """Of its heading, 0-based."""
    end: int
    heading: str
    sentence: str
    sentence_line: int


@dataclass(frozen=True, slots=True)
class Question:
    kind: str
    text: str
    answers: tuple[tuple[str, int, int], ...]
    """Path, first and last line of each section that answers it."""

    @property
    def paths(self) -> set[str]:
        return {path for path, _, _ in self.answers}


def markdown_of(repository: Path, commit: str = "HEAD") -> tuple[str, dict[str, str]]:
    """A commit, and every Markdown file of it."""

    def git(*arguments: str) -> bytes:
        return subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True).stdout

    commit = git("rev-parse", commit).decode().strip()
    texts = {}
    with tarfile.open(fileobj=io.BytesIO(git("archive", commit, "--", "*.md"))) as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(".md") and member.size < 1_000_000:
                content = archive.extractfile(member)
                assert content is not None
                texts[member.name] = content.read().decode("utf-8", "replace")
    return commit, texts


def sections_of(path: str, text: str) -> Iterator[Section]:
    """The sections of a file but the first, which its title names."""
    lines = text.split("\n")
    fenced, heads = False, []
    for i, line in enumerate(lines):
        fenced ^= FENCE.match(line) is not None
        found = None if fenced else HEADING.match(line)
        if found:
            heads.append((i, found[2]))
    for (line, heading), (end, _) in zip(heads[1:], [*heads[2:], (len(lines), "")], strict=False):
        body = "\n".join(lines[line + 1 : end]).strip()
        place = next((i for i in range(line + 1, end) if lines[i].strip()), None)
        if place is None or len(body) < 300 or not lines[place][:1].isalnum():
            continue
        sentence = SENTENCE.match(lines[place])
        whole = sentence is not None and not CUT_OFF.search(sentence[1])
        yield Section(path, line, end, heading, sentence[1] if sentence and whole else "", place)


def words(text: str) -> int:
    return len(re.findall(r"\w+", text)) + len(re.findall(r"[\u3040-\u9fff\uac00-\ud7af]", text)) // 2


def draw(texts: dict[str, str], count: int) -> tuple[list[Question], dict[str, str]]:
    """Questions, and the texts with what they ask for hidden."""
    sections = [section for path in sorted(texts) for section in sections_of(path, texts[path])]
    headings = Counter(section.heading.casefold() for section in sections)
    sentences = Counter(section.sentence for section in sections)
    random.Random(SEED).shuffle(sections)
    questions: list[Question] = []
    hidden = dict(texts)
    taken: Counter[str] = Counter()
    used: set[str] = set()
    for section in sections:
        if section.path in used:
            continue
        if taken["heading"] < count and 3 <= words(section.heading) <= 15 and headings[section.heading.casefold()] == 1:
            kind, asked, line = "heading", section.heading, section.line
            marks = hidden[section.path].split("\n")[line].split(" ")[0]
            replaced = f"{marks} {HIDDEN}"
        elif taken["sentence"] < count and 6 <= words(section.sentence) <= 40 and sentences[section.sentence] == 1:
            kind, asked, line = "sentence", section.sentence, section.sentence_line
            replaced = texts[section.path].split("\n")[line].replace(asked, "", 1)
        else:
            continue
        lines = hidden[section.path].split("\n")
        lines[line] = replaced
        hidden[section.path] = "\n".join(lines)
        used.add(section.path)
        taken[kind] += 1
        plain = re.sub(r"\{[^{}]*\}|[`*\[\]]|\([^()]*\)", "", asked).replace('"', " ").strip()
        questions.append(Question(kind, plain, ((section.path, section.line + 1, section.end),)))
    return questions, hidden


def written(name: str, texts: dict[str, str]) -> list[Question]:
    """The questions about one repository that people wrote."""
    found = []
    for line in QUESTIONS.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["repo"].endswith(f"/{name}"):
            answers = tuple((item["path"], *place(texts[item["path"]], item["heading"])) for item in row["sections"])
            found.append(Question("written", row["query"], answers))
    return found


def place(text: str, heading: str) -> tuple[int, int]:
    """First and last line of the section below a heading."""
    lines = text.split("\n")
    heads = [(i, re.sub(r"\s*\{ ?#.*\}$", "", found[2])) for i, line in enumerate(lines) if (found := ANY_HEADING.match(line))]
    at = next(number for number, (_, said) in enumerate(heads) if said == heading)
    return heads[at][0] + 1, heads[at + 1][0] if at + 1 < len(heads) else len(lines)


def whole_notes(texts: dict[str, str]) -> sqlite3.Connection:
    base = sqlite3.connect(":memory:")
    base.execute("create virtual table notes using fts5(path unindexed, name, text)")
    base.executemany("insert into notes values (?, ?, ?)", ((path, path, text) for path, text in sorted(texts.items())))
    return base


def baseline(base: sqlite3.Connection, question: Question) -> float:
    terms = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question.text))
    rows = base.execute("select path from notes where notes match ? order by bm25(notes), path limit 10", (terms,))
    return next((1 / rank for rank, (path,) in enumerate(rows, 1) if path in question.paths), 0.0)


def ours(engine: Engine, question: Question) -> tuple[float, float, float]:
    """Reciprocal ranks of the section and of the note, and milliseconds."""
    started = time.perf_counter()
    hits = engine.notes(question.text, limit=10, context="none", check=False).hits
    spent = 1000 * (time.perf_counter() - started)
    section = note = 0.0
    for rank, hit in enumerate(hits, 1):
        note = note or (1 / rank if hit.path in question.paths else 0.0)
        for path, first, last in question.answers:
            inside = hit.start_line <= first <= hit.end_line or first <= hit.start_line <= last
            section = section or (1 / rank if inside and hit.path == path else 0.0)
    return section, note, spent


def asked(
    tree: Path, texts: dict[str, str], questions: list[Question], overrides: dict[str, str]
) -> tuple[list[tuple[str, float, float, float, float]], float]:
    """Kind, baseline, section, note and milliseconds of each question, and the seconds that indexing took."""
    for path, text in texts.items():
        file = tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_bytes() != text.encode("utf-8"):
            file.write_bytes(text.encode("utf-8"))
    # As in a work tree: what is tracked is searched, whatever its folder is called.
    for command in (["init", "-q"], ["add", "-A", "."]):
        subprocess.run(["git", "-C", str(tree), *command], check=True, capture_output=True)
    base = whole_notes(texts)
    began = time.perf_counter()
    with Engine.open(tree, root=tree, overrides=overrides) as engine:
        engine.index()
        took = time.perf_counter() - began
        return [(question.kind, baseline(base, question), *ours(engine, question)) for question in questions], took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--count", type=int, default=100, help="questions of each kind and repository")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    overrides = dict(pair.split("=", 1) for pair in options.set)
    result: dict[str, object] = {}
    everything: list[tuple[str, float, float, float]] = []
    for pair in options.repositories:
        name, _, folder = pair.partition("=")
        commit, texts = markdown_of(Path(folder), COMMITS.get(name, "HEAD"))
        drawn, hidden = draw(texts, options.count)
        rows, took = asked(options.work / name, hidden, drawn, overrides)
        by_hand = written(name, texts) if name in COMMITS else []
        if by_hand:
            rows += asked(options.work / f"{name}-whole", texts, by_hand, overrides)[0]
        part = {kind: means([row for row in rows if kind in ("all", row[0])]) for kind in KINDS}
        result[name] = {
            "commit": commit, "notes": len(texts), "questions": len(rows), "index_seconds": round(took, 1),
            "p50_ms": round(statistics.median(row[4] for row in rows), 1), **part,
        }  # fmt: skip
        everything += [row[:4] for row in rows]
        print(name, json.dumps(result[name]))
    result["all"] = {kind: means([row for row in everything if kind in ("all", row[0])]) for kind in KINDS}
    print("all", json.dumps(result["all"]))
    if options.save:
        options.save.write_text(json.dumps(result, indent=1) + "\n")


def means(rows: Sequence[tuple[object, ...]]) -> dict[str, float]:
    names = ("bm25_notes", "section", "note")
    found = {name: round(statistics.fmean(float(str(row[i])) for row in rows), 4) for i, name in enumerate(names, 1) if rows}
    return {"questions": len(rows), **found}


if __name__ == "__main__":
    main()
