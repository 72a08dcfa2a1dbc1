"""The matching lines are ripgrep's, on the same files, for hundreds of random patterns."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from bisect import bisect_left
from pathlib import Path

import numpy as np
import pytest

from lurcher.engine import Engine
from lurcher.lanes.literal import search
from lurcher.query.text_pattern import TextPattern, compile_pattern

RG = shutil.which("rg", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))
HERE = Path(__file__).resolve().parents[2]
SEED = 20261116
PATTERNS = 200
pytestmark = pytest.mark.skipif(RG is None, reason="there is no ripgrep to compare with")

EXTRA = {
    "odd/unicode.py": "größe = 'straße'  # ΣΊΣΥΦΟΣ σίσυφος\nKELVIN = 'K k'\ncafe\u0301 = 1\nlong_s = 'ſ'\n",
    "odd/crlf.py": "first = 1\r\nsecond = 2\r\n\r\nthird\r\n",
    "odd/no_end.py": "alpha\nomega",
    "odd/empty.py": "",
    "odd/blank.py": "\n\n\n",
    "odd/long.py": "x = '" + "a" * 300 + "needle" + "b" * 300 + "'\n" + "1" * 40 + "\n",
    "odd/one_line.txt": "alphabet" * 190 + "needleInTheMiddle" + "alphabet" * 190 + "\n",
    "odd/under__scores.py": "__init__ = _a__b_ = under__score = 1\n_ = 2\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("literal") / "tree"
    for source in sorted((HERE / "src" / "lurcher").rglob("*.py")):
        target = root / source.relative_to(HERE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    for name, text in EXTRA.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    return root


@pytest.fixture(scope="module")
def engine(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    engine = Engine.open(tree, root=tree, index_dir=tmp_path_factory.mktemp("index"), overrides={"dense.model": "none"})
    engine.index()
    return engine


def ours(engine: Engine, pattern: TextPattern) -> set[tuple[str, int]]:
    """(path, line) of every line that a match touches."""
    view = engine.projects[0].view(lambda *_: None, check=False)
    snapshot = view.snapshot
    found = search(snapshot, pattern, snapshot.live_files)
    lines = set()
    for file in sorted({snapshot.unit(unit)[0] for unit in found.units.tolist()}):
        text, path = snapshot.file_text(file), snapshot.path(file)
        newlines = [match.start() for match in re.finditer(b"\n", text)]
        for start, end in pattern.lines(text):
            first, last = bisect_left(newlines, start), bisect_left(newlines, max(end - 1, start))
            lines |= {(path, line) for line in range(first + 1, last + 2)}
    return lines


def theirs(tree: Path, pattern: TextPattern) -> set[tuple[str, int]]:
    flags = ["-F"] if pattern.fixed else []
    flags += {"smart": ["-S"], "ignore": ["-i"], "exact": ["-s"]}[pattern.case]
    flags += ["-w"] if pattern.word else []
    flags += ["-U"] if pattern.multiline else []
    done = subprocess.run(
        [RG or "", "--no-config", "--null", "-n", "--no-heading", "--no-ignore", "-a", *flags, "-e", pattern.text, "."],
        cwd=tree, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), (pattern, done.stderr)
    found = set()
    for row in done.stdout.split(b"\n"):
        path, zero, rest = row.partition(b"\0")
        if zero:
            found.add((path.decode().removeprefix("./"), int(rest.partition(b":")[0])))
    return found


def pieces(tree: Path) -> list[str]:
    text = "".join(path.read_text("utf-8") for path in sorted(tree.rglob("*.py")))
    return [line for line in text.split("\n") if line.strip()]


def made(chance: random.Random, lines: list[str]) -> TextPattern:
    """A pattern that has to do with the tree, more often than not."""
    line = chance.choice(lines)
    start = chance.randrange(len(line))
    piece = line[start : start + chance.choice((1, 2, 3, 4, 6, 9, 14))]
    words = re.findall(r"[A-Za-z_0-9]+", line) or ["a"]
    kind = chance.randrange(8)
    case, word = chance.choice(("smart", "smart", "ignore", "exact")), chance.random() < 0.25
    if kind < 3 or not piece.isascii():
        return TextPattern(piece if kind else chance.choice(words), True, case, word, False)
    quoted = re.escape(piece)
    one, two = (re.escape(chance.choice(words)) for _ in range(2))
    text = chance.choice((
        quoted, f"^{quoted}", f"{quoted}$", f"{one}.*{two}", f"{one}|{two}", f"({one}|{two})\\(", f"{one}[a-z_]*",
        f"[A-Z]{one}", f"{one}?{two}", f"(?i){one}", f"{one}{{1,2}}", f"[^{re.escape(one[:1])}]{two}", f"{one}(_|\\.)[a-z]+",
        f"^[ ]*{one}", f"{one}+=", f"{two}[ ]*=[ ]*",
    ))  # fmt: skip
    return TextPattern(text, False, case, word, False)


def test_the_same_lines_match(tree: Path, engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    chance, lines = random.Random(SEED), pieces(tree)
    matched = 0
    for number in range(PATTERNS):
        pattern = made(chance, lines)
        pattern.check()
        mine, reference = ours(engine, pattern), theirs(tree, pattern)
        matched += bool(reference)
        assert mine == reference, (number, pattern, sorted(mine ^ reference)[:5])
    with capsys.disabled():
        print(f"\npatterns {PATTERNS}, seed {SEED}: {matched} found something, 0 differ")
    assert matched > PATTERNS / 2


ODD = ("a*", "^", "$", "^$", "x*$", "needle", "NEEDLE", "betalph", "σίσυφος", "STRASSE", "k", "cafe", "__", "_b")


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("case", ["smart", "ignore", "exact"])
def test_odd_patterns_on_odd_files(tree: Path, engine: Engine, text: str, fixed: bool, case: str) -> None:
    pattern = compile_pattern(text, fixed=fixed, case=case)
    assert ours(engine, pattern) == theirs(tree, pattern)


@pytest.mark.parametrize(
    "text", ["first = 1\\r\\nsecond", "alpha\\nomega", r"import re\n(.*\n)*?import", "(?s)class .{0,80}def"]
)
def test_patterns_over_several_lines(tree: Path, engine: Engine, text: str) -> None:
    pattern = compile_pattern(text, multiline=True)
    assert ours(engine, pattern) == theirs(tree, pattern)


def test_no_file_is_passed_over_for_its_terms(engine: Engine, tree: Path) -> None:
    """With the terms as a guide and without, the same files match."""
    view = engine.projects[0].view(lambda *_: None, check=False)
    snapshot = view.snapshot
    chance, lines = random.Random(SEED + 1), pieces(tree)
    for _ in range(300):
        pattern = made(chance, lines)
        pattern.check()
        every = {snapshot.path(f) for f in range(snapshot.file_total) if next(pattern.lines(snapshot.file_text(f)), None)}
        found = search(snapshot, pattern, np.ones(snapshot.file_total, bool))
        assert {snapshot.path(snapshot.unit(unit)[0]) for unit in found.units.tolist()} == every
