"""Which implementation is in use, and that it makes no difference to an index or an answer."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from lurcher import kernel as chosen
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


def test_a_kernel_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LURCHER_KERNEL", raising=False)
    monkeypatch.setattr(chosen, "_loaded", lambda: SimpleNamespace(VERSION=chosen.VERSION + 1))
    assert chosen.description() == {"name": "python", "reason": "it was built for another version of lurcher"}


def test_without_a_kernel_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ImportError("lurcher._kernel")

    monkeypatch.delenv("LURCHER_KERNEL", raising=False)
    monkeypatch.setattr(chosen, "_loaded", missing)
    assert chosen.description() == {"name": "python", "reason": "it was not built when lurcher was installed"}
    monkeypatch.setenv("LURCHER_KERNEL", "python")
    assert chosen.description()["reason"] == "LURCHER_KERNEL=python"
    monkeypatch.delenv("LURCHER_KERNEL")
    monkeypatch.setattr(chosen.sys, "byteorder", "big")
    assert "byte order" in chosen.description()["reason"]
