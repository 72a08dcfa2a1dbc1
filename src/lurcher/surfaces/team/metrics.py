"""What a team's server says about itself: JSON lines for a log, and counts in the text format of Prometheus."""

from __future__ import annotations

import json
import sys
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from lurcher.runtime import VERSION

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Log:
    """One JSON object per line on standard error. Thread-safe."""

    def __init__(self, write: Callable[[str], Any] | None = None) -> None:
        self._write = write
        self._lock = threading.Lock()

    def __call__(self, event: str, **fields: Any) -> None:
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": now, "event": event, **fields}) + "\n"
        with self._lock:
            if self._write is not None:
                self._write(line)
            else:
                sys.stderr.write(line)
                sys.stderr.flush()


class Metrics:
    """Labels are endpoints and statuses alone: names of projects and tokens are not for whoever may read this."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._counts: dict[str, list[int]] = {}
        self._sums: Counter[str] = Counter()
        self.limited = self.store_errors = self.running = 0
        self.started = time.time()

    def observe(self, endpoint: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[endpoint, status] += 1
            counts = self._counts.setdefault(endpoint, [0] * (len(BUCKETS) + 1))
            counts[bisect_left(BUCKETS, seconds)] += 1
            self._sums[endpoint] += seconds  # type: ignore[assignment]

    def render(self, tokens: int, projects: int) -> str:
        lines: list[str] = []

        def add(name: str, kind: str, about: str, values: list[tuple[str, float]]) -> None:
            lines.append(f"# HELP lurcher_{name} {about}")
            lines.append(f"# TYPE lurcher_{name} {kind}")
            lines.extend(f"lurcher_{name}{labels} {value:.10g}" for labels, value in values)

        with self._lock:
            add("build_info", "gauge", "The version of the server.", [(f'{{version="{VERSION}"}}', 1)])
            add("start_time_seconds", "gauge", "When the server was started.", [("", self.started)])
            add("tokens", "gauge", "Tokens in the file.", [("", tokens)])
            add("projects", "gauge", "Projects in the store when it was last asked.", [("", projects)])
            add("requests_in_flight", "gauge", "Requests that are being answered.", [("", self.running)])
            add("rate_limited_total", "counter", "Requests refused because a token sent too many.", [("", self.limited)])
            add("store_errors_total", "counter", "Requests that the store failed.", [("", self.store_errors)])
            answered = sorted(self._requests.items())
            add("requests_total", "counter", "Requests by endpoint and status.",
                [(f'{{endpoint="{name}",status="{status}"}}', count) for (name, status), count in answered])  # fmt: skip
            lines.append("# HELP lurcher_request_seconds How long requests took.")
            lines.append("# TYPE lurcher_request_seconds histogram")
            for name, counts in sorted(self._counts.items()):
                total = 0
                for bound, count in zip((*BUCKETS, float("inf")), counts, strict=True):
                    total += count
                    shown = "+Inf" if bound == float("inf") else f"{bound:g}"
                    lines.append(f'lurcher_request_seconds_bucket{{endpoint="{name}",le="{shown}"}} {total}')
                lines.append(f'lurcher_request_seconds_sum{{endpoint="{name}"}} {self._sums[name]:.10g}')
                lines.append(f'lurcher_request_seconds_count{{endpoint="{name}"}} {total}')
        return "\n".join(lines) + "\n"
