"""Measures the MCP server: a real process over standard input and output, warm, on one tree.

    python benchmarks/mcp.py --tree TREE
    python benchmarks/mcp.py --tree TREE --cold --queries FILE    # first answers only, each of a new server without an index

The tree is copied (not with `--cold`), indexed, and searched with each query in turn, unmeasured once, then `--calls` times.
`server` is the time from when the server has a call until its answer is made, as the answer itself says; `seen` is what the
client waits, which adds the protocol, two pipes and JSON on both sides. Memory is the server's resident set after the warm-up
and at the end.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


class Server:
    def __init__(self, root: Path, index: Path) -> None:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("LURCHER_")}
        settings = {"LURCHER_INDEX_DIR": str(index), "LURCHER_CONFIG": os.devnull, "XDG_STATE_HOME": str(index.parent)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lurcher", "mcp", "--root", str(root)], env={**environment, **settings},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._number = 0
        about = {"name": "benchmark", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdout is not None
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        while True:
            message: dict[str, Any] = json.loads(self.process.stdout.readline())
            if message.get("id") == self._number:
                return message

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.ask("tools/call", {"name": name, "arguments": arguments})["result"]
        assert not result["isError"], result["content"][0]["text"]
        return result

    def data(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The answer as data, which a client has to ask for."""
        params = {"name": name, "arguments": arguments, "_meta": {"lurcher/structured": True}}
        found: dict[str, Any] = self.ask("tools/call", params)["result"]["structuredContent"]
        return found

    def memory(self) -> int:
        """Resident kilobytes."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        return 0

    def processor(self) -> float:
        """Seconds of processor time."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(30)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--queries", type=Path, default=HERE / "queries.txt")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    queries = [line for line in options.queries.read_text("utf-8").split("\n") if line.strip()]
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="mcp-") as scratch:
        base = Path(scratch).resolve()
        tree = base / "tree"
        if options.cold:
            places = [base / f"index{number}" for number in range(len(queries))]
            result = {"first": [measure_first(options.tree.resolve(), *one) for one in zip(places, queries, strict=True)]}
        else:
            shutil.copytree(options.tree, tree, symlinks=True, ignore=shutil.ignore_patterns(".lurcher"))
            result = measure(tree, base / "index", queries, options.calls)
    result["about"] = {
        "date": datetime.date.today().isoformat(), "python": platform.python_version(), "machine": platform.machine(),
        "cores": os.cpu_count(), "load_before": round(load, 2), "load_after": round(os.getloadavg()[0], 2),
    }  # fmt: skip
    text = json.dumps(result, indent=1)
    if options.out:
        options.out.write_text(text + "\n", "utf-8")
    print(text)
    return 0


def measure_first(tree: Path, index: Path, query: str) -> dict[str, Any]:
    began = time.perf_counter()
    server = Server(tree, index)
    started = time.perf_counter() - began
    began = time.perf_counter()
    found = server.data("search", query=query)
    seconds = time.perf_counter() - began
    server.close()
    notes = [note["reason"] for note in found["degraded"] if note["stage"] == "index"]
    paths = [hit["path"] for hit in found["hits"]]
    return {"query": query, "start_s": round(started, 2), "answer_s": round(seconds, 2), "hits": paths, "notes": notes}


def measure(tree: Path, index: Path, queries: Sequence[str], calls: int) -> dict[str, Any]:
    began = time.perf_counter()
    server = Server(tree, index)
    started = time.perf_counter() - began
    began = time.perf_counter()
    cold = server.data("search", query=queries[0])
    first = time.perf_counter() - began
    server.call("index")
    time.sleep(3)  # the stamps of a tree that was just copied are too young to be believed
    for query in queries * 2:
        server.call("search", query=query)
    before, spent = server.memory(), server.processor()
    inside, seen, stale, tokens = [], [], 0, []
    for number in range(calls):
        began = time.perf_counter()
        answer = server.call("search", query=queries[number % len(queries)])
        seen.append(1000 * (time.perf_counter() - began))
        inside.append(answer["_meta"]["lurcher/ms"])
        text = answer["content"][0]["text"]
        stale += "note:" in text.partition("\n")[0]
        tokens.append(len(text) // 4)
    after, spent = server.memory(), server.processor() - spent
    status = server.data("status")["roots"][0]
    server.close()
    return {
        "tree": {"files": status["files"], "units": status["units"]},
        "calls": calls, "stale": stale, "tokens_about": sum(tokens) // len(tokens),
        "server_ms": percentiles(inside), "seen_ms": percentiles(seen),
        "cpu_ms": round(1000 * spent / calls, 2),
        "memory_mb": {"before": round(before / 1024, 1), "after": round(after / 1024, 1)},
        "memory_growth": round(after / before - 1, 4),
        "start_s": round(started, 2),
        "cold_first_answer_s": round(first, 2), "cold_hits": len(cold["hits"]),
    }  # fmt: skip


def percentiles(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        name: round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2)
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
    }


if __name__ == "__main__":
    sys.exit(main())
