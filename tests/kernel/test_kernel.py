"""Which implementation is in use, and that it makes no difference to an index or an answer."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from lurcher.runtime import kernel as chosen
from tests.kernel import kernel

SOURCES = {
    "src/client.py": "class RetryClient:\n    # Sends again after a failure, größer.\n    def send_again(self, max2): ...\n",
    "src/pool.c": "/* closes idle sockets */\nint pool_close(struct pool *p) { return p->HTTPServer + 0x1F; }\n" * 40,
    "docs/notes.md": "# Wiederholung\n\n検索語の索引 and retry budgets; see `send_again`.\n",
    "data/long.txt": "x" * 500 + " retry\n",
}
QUESTIONS = ("retry after a failure", "pool_close", "how are idle sockets closed", "検索語")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in SOURCES.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path / "tree"


@kernel.needed
@kernel.limits_memory
def test_segments_and_answers_are_the_same(
    tree: Path, tmp_path: Path, clean_environment: Callable[..., dict[str, str]]
) -> None:
    told = {}
    for name in ("auto", "python"):
        environment = {**clean_environment(), "LURCHER_KERNEL": name, "LURCHER_INDEX_DIR": str(tmp_path / name)}

        def run(*arguments: str, environment: dict[str, str] = environment) -> str:
            command = [sys.executable, "-m", "lurcher", *arguments]
            return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=True).stdout

        answers = [json.loads(run("search", question, str(tree), "--json", "--explain")) for question in QUESTIONS]
        for answer in answers:
            del answer["timings_ms"], answer["next"]
        segments = {path.name: path.read_bytes() for path in (tmp_path / name).rglob("*.segment")}
        used = json.loads(run("status", str(tree), "--json"))["kernel"]["name"]
        told[name] = used, [answer["hits"] for answer in answers], segments
    assert (told["auto"][0], told["python"][0]) == ("native", "python")
    assert told["auto"][1:] == told["python"][1:]
    assert all(told["auto"][1]) and told["auto"][2]


ALL_AT_ONCE = """
import contextlib, io, json, sys
from lurcher.surfaces.cli import main
from lurcher.runtime.kernel import native

def ask(arguments):
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out):
        status = main([*arguments, "--json"])
    out.flush()
    return status, out.buffer.getvalue().decode()

told, tree = [], sys.argv[1]
for step in json.load(sys.stdin):
    for name, text in step["write"].items():
        with open(f"{tree}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    told.append([ask(arguments) for arguments in step["ask"]])
json.dump([native() is not None, "numpy" in sys.modules, told], sys.stdout)
"""
MODULE = """import os


class {0}Cache(Base):
    \"\"\"Keeps what {1} found, and evicts what has expired.\"\"\"

    def evict_expired(self, limit):
        # The oldest first: see `send_again` and docs/notes.md.
        for key in sorted(self.entries):
            if self.entries[key].expired(limit):
                del self.entries[key]

    def {1}(self, key, default=None):
        return self.entries.get(key, default)
"""
STEPS: list[dict[str, str]] = [
    {},
    {f"src/cache{number}.py": MODULE.format(name, verb) for number, (name, verb) in enumerate(
        (("File", "look_up"), ("Memory", "fetch_value"), ("Shared", "look_up"), ("Session", "open_session")))},
    {"src/client.py": "class RetryClient:\n    def send_once(self): ...  # no more retries after a failure\n",
    "docs/notes.md": "# Cache\n\nEviction, 検索語.\n"},
]  # fmt: skip
EVERY_WAY: list[list[str]] = [
    ["retry after a failure", "--explain"], ["evict_expired", "--explain"],
    ["which cache evicts expired entries", "--mode", "hybrid", "--explain"],
    ["evict expired cache", "--mode", "lexical", "--explain"], ["idle sockets are closed", "--mode", "dense", "--explain"],
    ["SessionCache", "--mode", "symbol", "--explain"], ["src/cache1.py", "--explain"],
    ["retr(y|ies)", "--literal", "--explain"],
    ["self.entries", "--literal", "-F", "-w"], ["class $NAME(Base): $$$", "--structural", "-l", "python"],
    ["cache eviction", "--path", "src/**", "--exclude", "*cache2*", "-k", "2", "--explain"],
    ["pool", "-l", "c", "--budget", "4000"],
    ["expired entries", "--fusion", "linear", "--mmr", "0.5", "--explain"],
    ["expired entries", "--ranking", "classic", "--explain"],
    ["File \"src/cache0.py\", line 9, in evict_expired\nKeyError: retry", "--explain"], ["検索語", "--context", "function"],
    ["no such thing anywhere zzzqqq"], ["cache", "--lang", "rust"],
]  # fmt: skip


@kernel.needed
@kernel.limits_memory
def test_kernel_and_reference_answer_every_mode_alike_after_edits(
    tree: Path, tmp_path: Path, clean_environment: Callable[..., dict[str, str]]
) -> None:
    asked = [["search", *question, str(tree)] for question in EVERY_WAY]
    asked.append(["related", f"{tree}/src/client.py:2"])
    steps = [{"write": written, "ask": asked} for written in STEPS]
    told, segments = {}, {}
    for name in ("auto", "python"):
        for relative, text in SOURCES.items():
            (tree / relative).write_text(text, "utf-8")
        for path in tree.glob("src/cache*.py"):
            path.unlink()
        environment = {**clean_environment(), "LURCHER_KERNEL": name, "LURCHER_INDEX_DIR": str(tmp_path / name)}
        done = subprocess.run(
            [sys.executable, "-c", ALL_AT_ONCE, str(tree)], input=json.dumps(steps), capture_output=True, text=True,
            timeout=120,
            env=environment, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        told[name] = json.loads(done.stdout)
        segments[name] = len(list((tmp_path / name).rglob("*.segment")))
    assert (told["auto"][0], told["python"][0]) == (True, False)
    assert segments["auto"] == segments["python"] > 1
    for ours, theirs in zip(told["auto"][2], told["python"][2], strict=True):
        for question, (status, answer), (other_status, other) in zip(asked, ours, theirs, strict=True):
            assert status == other_status, question
            assert comparable(answer) == comparable(other), question
    answered = [len(json.loads(answer)["hits"]) for _, answer in told["auto"][2][-1][: len(EVERY_WAY)]]
    assert [bool(hits) for hits in answered] == [True] * (len(EVERY_WAY) - 2) + [False] * 2, answered


def comparable(answer: str) -> object:
    """An answer without what depends on when and where it was given."""
    found = json.loads(answer)
    for name in ("timings_ms", "next"):
        found.pop(name, None)
    return found


def test_a_kernel_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LURCHER_KERNEL", raising=False)
    monkeypatch.setitem(sys.modules, "lurcher._kernel", SimpleNamespace(VERSION=chosen.KERNEL_VERSION + 1))  # type: ignore[misc]
    found = chosen.describe_kernel()
    assert (found["name"], found["reason"]) == ("python", "it was built for another version of lurcher")
    assert "pip install --force-reinstall" in found["hint"]


def test_without_a_kernel_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LURCHER_KERNEL", raising=False)
    monkeypatch.setitem(sys.modules, "lurcher._kernel", None)  # type: ignore[arg-type]
    found = chosen.describe_kernel()
    assert (found["name"], found["reason"]) == ("python", "it was not built when lurcher was installed")
    assert "C compiler" in found["hint"]
    monkeypatch.setenv("LURCHER_KERNEL", "python")
    assert chosen.describe_kernel()["reason"] == "LURCHER_KERNEL=python"
    assert "unset LURCHER_KERNEL" in chosen.describe_kernel()["hint"]
    monkeypatch.delenv("LURCHER_KERNEL")
    monkeypatch.setattr(chosen.sys, "byteorder", "big")
    assert "byte order" in chosen.describe_kernel()["reason"]
