"""An index that followed a tree through its edits answers as one that was made of the result.

INCREMENTAL_SEQUENCES sets how many random histories are tried.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from lurcher.engine import Engine
from tests.indexing.conftest import QUESTIONS, TREE, answers, opened, write

SEQUENCES = int(os.environ.get("INCREMENTAL_SEQUENCES", "10"))

NAMES = ("client", "cookies", "router", "pool", "session", "index", "parse_cookie", "ä", "v1/api", "v2/api", "tests/test_pool")
FOLDERS = ("", "src/", "web/", "legacy/", "a/b/c/d/")
ENDINGS = (".py", ".ts", ".go", ".md", ".txt", ".rs")
LINES = (
    "def follow_redirects(response):\n    return response.next\n", "class Client:\n    def parse_cookie(self): pass\n",
    "# keeps connections and cookies\n", "type Pool struct {}\nfunc (p *Pool) Acquire() {}\n", "register(path, router)\n",
    "export class Router { register(path: string) { return path } }\n", "redirected redirects redirecting\n",
    "pub fn acquire() -> Pool { Pool {} }\n", "session limit = 20\n", "größe λόγος 検索語\n", "\n", "x = 1\r\n",
)  # fmt: skip


def text(chance: random.Random) -> str:
    return "".join(chance.choice(LINES) * chance.choice((1, 1, 3)) for _ in range(chance.randint(0, 25)))


def edit(root: Path, chance: random.Random) -> None:
    """One thing that people do to a tree."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and ".lurcher" not in path.parts)
    name = chance.choice(FOLDERS) + chance.choice(NAMES) + chance.choice(ENDINGS)
    action = chance.choice(("write", "write", "append", "delete", "rename", "touch", "binary", "mode", "same size", "many"))
    path = chance.choice(files) if files else root / name
    if action == "write" or not files:
        write(root, {name: text(chance)})
    elif action == "append":
        path.write_bytes(path.read_bytes() + text(chance).encode())
    elif action == "delete":
        path.unlink()
    elif action == "rename":
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
    elif action == "touch":
        os.utime(path, (chance.randint(1, 10**9), chance.randint(1, 10**9)))
    elif action == "binary":
        path.write_bytes(b"\0" + chance.randbytes(20))
    elif action == "mode":
        path.chmod(chance.choice((0o644, 0o755)))
    elif action == "same size":
        path.write_bytes(path.read_bytes().replace(b"cookie", b"biscui").replace(b"Pool", b"Tank"))
    else:
        write(root, {chance.choice(FOLDERS) + f"{other}{i}.py": text(chance) for i, other in enumerate(NAMES)})


def fresh(root: Path, folder: Path) -> Engine:
    return opened(root, folder)


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_incremental_equals_fresh(root: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    engine = opened(root)
    engine.refresh()
    for step in range(chance.randint(2, 14)):
        for _ in range(chance.choice((1, 1, 2, 5))):
            edit(root, chance)
        if chance.random() < 0.2:
            engine = opened(root)
        if chance.random() < 0.7:
            engine.search(chance.choice(QUESTIONS))
        if chance.random() < 0.15:
            assert answers(engine) == answers(fresh(root, tmp_path / f"fresh-{step}"))
    assert answers(engine) == answers(opened(root)) == answers(fresh(root, tmp_path / "fresh"))


def test_equal_units_are_ranked_by_path_whichever_segment_holds_them(root: Path, tmp_path: Path) -> None:
    """Units are numbered segment by segment; no order that an answer shows may follow from that."""
    source = "def follow_redirects(response):\n    return response\n"
    write(root, {"pkg/m.py": source, "pkg/z.py": source})
    engine = opened(root)
    engine.refresh()
    write(root, {"pkg/a.py": source, "pkg/p.py": source})
    engine.refresh()
    assert len(engine.status()["segments"]) == 2
    assert answers(engine) == answers(fresh(root, tmp_path / "fresh"))
    ranks = {hit.path: hit.why.lanes["lexical"].rank for hit in engine.search("follow_redirects").hits}
    equal = sorted(path for path in ranks if path.startswith("pkg/"))
    assert [ranks[path] for path in equal] == sorted(ranks[path] for path in equal)


def test_the_comparison_can_fail(root: Path, tmp_path: Path) -> None:
    before = answers(opened(root))
    write(root, {"src/client.py": TREE["src/client.py"].replace("redirects", "redirections")})
    assert answers(opened(root)) != before
    assert "redirections" in answers(fresh(root, tmp_path / "fresh"))
