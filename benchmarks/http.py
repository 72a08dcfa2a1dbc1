"""How `lurcher serve` holds up: searches at a steady rate, or a long mix of everything while files are being edited.

    python benchmarks/http.py TREE [--rate 200] [--seconds 30] [--new 0.1]
    python benchmarks/http.py TREE --soak [--rate 20] [--seconds 600]

The tree is copied, served by a process of its own on this machine, and asked over connections that stay open. Requests leave at
their time whether or not earlier ones are answered, and a latency counts from that time, so that waiting is not left out.

The mix: questions of `queries.txt`, each also as its last letters are typed, the first ones far more often than the last
(Zipf), all of them asked once before; a share of `--new` has never been asked (one of them and a word of the tree).

With `--soak` every tenth request is for a file, an outline, a graph, facets, history or notes instead; five times a second a
file is written and the next request asks for the word that only it has. An answer without it is stale, unless it says so.
"""

from __future__ import annotations

import argparse
import asyncio
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
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

QUERIES = Path(__file__).resolve().parent / "queries.txt"
CONNECTIONS = 64
TYPED = 3
EDITS = 5


@dataclass
class Tally:
    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    edits: int = 0
    stale: int = 0
    flagged: int = 0
    memory: list[float] = field(default_factory=list)


class Connections:
    """Open connections, each with one request at a time."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._room = asyncio.Semaphore(CONNECTIONS)

    async def get(self, path: str) -> tuple[int, bytes]:
        async with self._room:
            for attempt in range(2):
                kept = self._idle and not attempt
                reader, writer = self._idle.pop() if kept else await asyncio.open_connection("127.0.0.1", self._port)
                try:
                    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n\r\n".encode())
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = int(re.search(rb"content-length: (\d+)", head)[1])  # type: ignore[index]
                    body = await reader.readexactly(length)
                except (asyncio.IncompleteReadError, ConnectionError):  # an idle connection that the server has closed
                    writer.close()
                    if attempt:
                        raise
                    continue
                self._idle.append((reader, writer))
                return int(head[9:12]), body
        raise AssertionError("the second attempt returns or raises")


class Mix:
    def __init__(self, tree: Path, new: float, seed: int = 7) -> None:
        self._random = random.Random(seed)
        questions = [line for line in QUERIES.read_text("utf-8").split("\n") if line.strip()]
        self._known = [question[: len(question) - cut] for question in questions for cut in range(TYPED, -1, -1)]
        self._weights = [1 / (1 + rank // (TYPED + 1)) for rank in range(len(self._known))]
        self._new = new
        self.files = [path.relative_to(tree).as_posix() for path in sorted(tree.rglob("*.py")) if ".lurcher" not in path.parts][
            :200
        ]
        words: Counter[str] = Counter()
        for name in self.files[:60]:
            words.update(re.findall(r"[a-z]{5,12}", (tree / name).read_text("utf-8", "replace")))
        self._words = sorted(word for word, count in words.items() if count > 1) or ["parser", "client"]

    def known(self) -> list[str]:
        return ["/api/search?" + urlencode({"q": text}) for text in self._known]

    def search(self) -> str:
        if self._random.random() < self._new:
            text = f"{self._random.choice(self._known)} {self._random.choice(self._words)}"
        else:
            text = self._random.choices(self._known, self._weights)[0]
        return "/api/search?" + urlencode({"q": text})

    def anything(self) -> str:
        if self._random.random() >= 0.1:
            return self.search()
        path = self._random.choice(self.files)
        kind = self._random.choice(["file", "outline", "graph", "impact", "facets", "history", "notes", "status"])
        if kind in ("history", "notes", "facets"):
            source = {} if kind == "facets" else {"in": kind}
            return f"/api/{'facets' if kind == 'facets' else 'search'}?" + urlencode(
                {"q": self._random.choice(self._words), **source}
            )
        return f"/api/{kind}" + ("" if kind == "status" else "?" + urlencode({"path": path}))


async def steadily(connections: Connections, pick: object, rate: float, seconds: float, tally: Tally) -> None:
    """So many requests a second, each at its time."""
    started = time.perf_counter()
    waiting = []

    async def one(number: int) -> None:
        due = started + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        address = pick()  # type: ignore[operator]
        try:
            status, body = await connections.get(address)
        except (OSError, asyncio.IncompleteReadError) as error:
            tally.errors.append(f"{address}: {error!r}")
            return
        tally.latencies.append(1000 * (time.perf_counter() - due))
        tally.statuses[status] += 1
        if status != 200:
            tally.errors.append(f"{address}: {status} {body[:200]!r}")

    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, started + number / rate - 0.01 - time.perf_counter()))
        waiting.append(asyncio.create_task(one(number)))
        if len(waiting) > 1000:
            await asyncio.gather(*waiting)
            waiting.clear()
    await asyncio.gather(*waiting)


async def edited(connections: Connections, tree: Path, seconds: float, tally: Tally) -> None:
    """Files come, change and go, and each time the next question must know."""
    end = time.perf_counter() + seconds
    number = 0
    while time.perf_counter() < end:
        number += 1
        file = tree / f"soak_{number % 40}.py"
        word = f"zebra{number}q"
        file.write_text(f"def {word}():\n    return {number}\n", "utf-8")
        tally.edits += 1
        status, body = await connections.get(f"/api/search?{urlencode({'q': word, 'limit': 3})}")
        answer = json.loads(body)
        if status != 200:
            tally.errors.append(f"{word}: {status} {body[:200]!r}")
        elif not any(hit["path"] == file.name for hit in answer["hits"]):
            tally.flagged += not answer["index"]["fresh"]
            tally.stale += bool(answer["index"]["fresh"])
        if number % 3 == 0:
            file.unlink()
            _, body = await connections.get(f"/api/search?{urlencode({'q': word, 'limit': 3})}")
            answer = json.loads(body)
            if any(hit["path"] == file.name for hit in answer.get("hits", ())):
                tally.flagged += not answer["index"]["fresh"]
                tally.stale += bool(answer["index"]["fresh"])
        await asyncio.sleep(1 / EDITS)


async def weighed(pid: int, seconds: float, tally: Tally) -> None:
    """Resident memory, once a second."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        with contextlib.suppress(OSError, AttributeError):
            status = Path(f"/proc/{pid}/status").read_text()
            tally.memory.append(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024)  # type: ignore[index]
        await asyncio.sleep(1)


async def run(port: int, pid: int, tree: Path, options: argparse.Namespace) -> Tally:
    connections, mix, tally = Connections(port), Mix(tree, options.new), Tally()
    for address in mix.known():
        await connections.get(address)
    if not options.soak:
        await steadily(connections, mix.search, options.rate, options.seconds, tally)
        return tally
    await asyncio.gather(
        steadily(connections, mix.anything, options.rate, options.seconds, tally),
        edited(connections, tree, options.seconds, tally),
        weighed(pid, options.seconds, tally),
    )
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--new", type=float, default=0.1, help="share of questions that were never asked before")
    parser.add_argument("--soak", action="store_true")
    options = parser.parse_args()
    options.rate = options.rate or (20 if options.soak else 200)
    options.seconds = options.seconds or (600 if options.soak else 30)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(options.tree, tree, symlinks=True, ignore=shutil.ignore_patterns(".lurcher"))
        environment = {key: value for key, value in os.environ.items() if not key.startswith("LURCHER_")}
        command = [sys.executable, "-m", "lurcher"]
        index = [*command, "index", "-q", str(tree), *(["--history"] if options.soak and (tree / ".git").exists() else [])]
        subprocess.run(index, env=environment, check=True, stdout=subprocess.DEVNULL)
        server = subprocess.Popen(
            [*command, "serve", str(tree), "--port", "0"], env=environment, stderr=subprocess.PIPE, text=True
        )
        try:
            line = server.stderr.readline()  # type: ignore[union-attr]
            port = int(re.search(r":(\d+)/", line)[1])  # type: ignore[index]
            time.sleep(1)
            before = _cpu(server.pid)
            tally = asyncio.run(run(port, server.pid, tree, options))
            cpu = _cpu(server.pid) - before
        finally:
            server.terminate()
            server.wait(10)
    print(json.dumps(told(tally, options, cpu), indent=2))


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def told(tally: Tally, options: argparse.Namespace, cpu: float) -> dict[str, object]:
    order = sorted(tally.latencies)
    at = {f"p{share}": round(order[min(len(order) - 1, int(len(order) * share / 100))], 1) for share in (50, 90, 95, 99)}
    found: dict[str, object] = {
        "rate": options.rate,
        "seconds": options.seconds,
        "new": options.new,
        "answered": len(order),
        "latency_ms": {**at, "max": round(order[-1], 1)},
        "statuses": dict(tally.statuses),
        "errors": len(tally.errors),
        "first_errors": tally.errors[:5],
        "server_cpu_seconds": round(cpu, 1),
        "load_average": round(os.getloadavg()[0], 1),
        "cores": os.cpu_count(),
    }
    if options.soak:
        found["edits"] = tally.edits
        found["stale"] = tally.stale
        found["stale_and_said_so"] = tally.flagged
        tenth = max(1, len(tally.memory) // 10)
        found["memory_mb_by_tenth"] = [_mean(tally.memory[i : i + tenth]) for i in range(0, tenth * 10, tenth)]
    return found


def _mean(values: list[float]) -> float:
    return round(sum(values) / max(1, len(values)), 1)


if __name__ == "__main__":
    main()
