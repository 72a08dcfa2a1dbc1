"""How well sections of real documentation are found: the set is made here, from repositories that lie on this machine.

    python benchmarks/notes.py rfcs=…/rfcs curl=…/curl fastapi=…/fastapi --work /tmp/notes

From each repository's Markdown some sections are drawn, at most one per file. Of half of them the heading is hidden and asked
for, of the others the first sentence: what is asked for stands nowhere in the tree that is indexed. Headings and sentences
that occur twice are not drawn. Two things are told: the reciprocal rank of the first hit that begins in the right section or
holds its first line, and of the first hit in the right note. Beside them stands BM25 over whole notes (SQLite's FTS5), which
can only be asked for the note. The documents stay where they are; a run writes its numbers with the commits they were made
from.
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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lurcher.engine import Engine

SEED = 7
FENCE = re.compile(r"\s*(```|~~~)")
HEADING = re.compile(r"(#{1,4}) +(\S.*?)\s*#*\s*$")
SENTENCE = re.compile(r"(.+?[.!?。！？])(?:\s|$|(?<=[。！？]))")
CUT_OFF = re.compile(r"\b(?:i\.e|e\.g|vs|etc|cf)\.$")
HIDDEN = "Section"
KINDS = ("heading", "sentence", "all")


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
    path: str
    first: int
    last: int


def markdown_of(repository: Path) -> tuple[str, dict[str, str]]:
    """The commit at HEAD, and every Markdown file of it."""

    def git(*arguments: str) -> bytes:
        return subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True).stdout

    commit = git("rev-parse", "HEAD").decode().strip()
    texts = {}
    with tarfile.open(fileobj=io.BytesIO(git("archive", "HEAD", "--", "*.md"))) as archive:
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
        questions.append(Question(kind, plain, section.path, section.line + 1, section.end))
    return questions, hidden


def whole_notes(texts: dict[str, str]) -> sqlite3.Connection:
    base = sqlite3.connect(":memory:")
    base.execute("create virtual table notes using fts5(path unindexed, name, text)")
    base.executemany("insert into notes values (?, ?, ?)", ((path, path, text) for path, text in sorted(texts.items())))
    return base


def baseline(base: sqlite3.Connection, question: Question) -> float:
    terms = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question.text))
    rows = base.execute("select path from notes where notes match ? order by bm25(notes), path limit 10", (terms,))
    return next((1 / rank for rank, (path,) in enumerate(rows, 1) if path == question.path), 0.0)


def ours(engine: Engine, question: Question) -> tuple[float, float, float]:
    """Reciprocal ranks of the section and of the note, and milliseconds."""
    started = time.perf_counter()
    hits = engine.notes(question.text, limit=10, context="none", check=False).hits
    spent = 1000 * (time.perf_counter() - started)
    section = note = 0.0
    for rank, hit in enumerate(hits, 1):
        if hit.path == question.path:
            note = note or 1 / rank
            inside = hit.start_line <= question.first <= hit.end_line or question.first <= hit.start_line <= question.last
            section = section or (1 / rank if inside else 0.0)
    return section, note, spent


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
        name, _, place = pair.partition("=")
        commit, texts = markdown_of(Path(place))
        questions, hidden = draw(texts, options.count)
        tree = options.work / name
        for path, text in hidden.items():
            file = tree / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if not file.exists() or file.read_bytes() != text.encode("utf-8"):
                file.write_bytes(text.encode("utf-8"))
        base = whole_notes(hidden)
        began = time.perf_counter()
        with Engine.open(tree, root=tree, overrides=overrides) as engine:
            engine.index()
            took = time.perf_counter() - began
            rows = [(question.kind, baseline(base, question), *ours(engine, question)) for question in questions]
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


def means(rows: list[tuple[object, ...]]) -> dict[str, float]:
    names = ("bm25_notes", "section", "note")
    return {name: round(statistics.fmean(float(str(row[i])) for row in rows), 4) for i, name in enumerate(names, 1) if rows}


if __name__ == "__main__":
    main()
