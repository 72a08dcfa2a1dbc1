"""A real `lurcher serve` under load while its tree is edited: how many descriptors and how much memory it has.

    python -m tests.surfaces.http.edits EDITS

Clients ask of code, notes, history and all of them without a pause. Every edit must be found by the query after it. Prints the
descriptors and the memory of the process on the way, and fails if it has more than 20 descriptors above those that the same
load took before the first edit.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

from tests import own_home

ASKED = (
    "/api/search?q=follow%20redirects", "/api/search?q=Client&mode=symbol", "/api/search?q=cookies&in=all",
    "/api/search?q=cookies&in=history", "/api/search?q=guide&in=notes", "/api/outline?path=src/client.py",
    "/api/explain?path=src/client.py", "/api/graph?path=src/client.py", "/api/status",
)  # fmt: skip
CLIENTS, MORE_DESCRIPTORS = 2, 20


def main(edits: int) -> int:
    own_home.settle()
    from tests.drills.trees import past
    from tests.surfaces.http.conftest import serving

    with tempfile.TemporaryDirectory() as folder:
        tree = past(Path(folder) / "tree")
        with serving(tree) as served:
            top, process = served.url.partition("?")[0].rstrip("/"), Path(f"/proc/{served.process.pid}")

            def ask(path: str) -> bytes:
                with urlopen(top + path, timeout=120) as answer:
                    return bytes(answer.read())

            def state() -> tuple[int, int]:
                pages = int((process / "statm").read_text().split()[1])
                return len(os.listdir(process / "fd")), pages * os.sysconf("SC_PAGE_SIZE") >> 20

            stop, failures, answered = threading.Event(), list[str](), [0] * CLIENTS

            def load(number: int) -> None:
                while not stop.is_set():
                    path = ASKED[answered[number] % len(ASKED)]
                    try:
                        ask(path)
                    except OSError as error:
                        failures.append(f"{path}: {error}")
                    answered[number] += 1

            for path in ASKED * 3:
                ask(path)
            clients = [threading.Thread(target=load, args=(number,)) for number in range(CLIENTS)]
            for client in clients:
                client.start()
            idle, memory = state()
            start = highest = 0
            while sum(answered) < 10 * len(ASKED):  # requests and git take descriptors too
                start = max(start, state()[0])
                time.sleep(0.01)
            for number in range(edits):
                word = f"zebra{number}"
                target = tree / (f"src/new{number % 7}.py" if number % 3 else f"docs/note{number % 5}.md")
                target.parent.mkdir(exist_ok=True)
                target.write_text(f"# {word}\n\ndef {word}():\n    return {number}\n" * (1 + number % 4))
                found = json.loads(ask(f"/api/search?q={quote(word)}"))
                if not any(word in hit["text"] for hit in found["hits"]):
                    failures.append(f"{word} is not found")
                highest = max(highest, state()[0])
                if number % max(1, edits // 10) == 0:
                    print(f"{number} edits, {sum(answered)} answers: {state()[0]} descriptors, {state()[1]} MB", flush=True)
            stop.set()
            for client in clients:
                client.join()
            now = f"at most {highest} descriptors ({start} before the first edit), {state()[1]} MB ({memory} at first)"
            now += f"; {state()[0]} descriptors at rest ({idle} at first)"
            print(f"{edits} edits, {sum(answered)} answers to {CLIENTS} clients: {now}, {len(failures)} failures")
            for failure in failures[:10]:
                print(failure)
    return 0 if not failures and highest <= start + MORE_DESCRIPTORS else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
