"""The command: `python -m tests.drills`."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from tests import own_home


def main(arguments: list[str] | None = None) -> int:
    own_home.settle()
    from tests.drills import NAMES, drill_named
    from tests.drills.drill import run

    parser = argparse.ArgumentParser(prog="python -m tests.drills", description="hold drills: see docs/reliability.md")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which ones: {', '.join(NAMES)}; all unless told")
    parser.add_argument("--long", action="store_true", help="as many tries as a release takes")
    parser.add_argument("--tries", type=int, help="so many of each")
    parser.add_argument("--seed", type=int, help="repeats a run; another one each time unless told")
    parser.add_argument("--only", type=int, metavar="N", help="only the try with this number")
    parser.add_argument("--minutes", type=float, default=30.0, help="no drill takes longer (default: 30)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default: 1)")
    parser.add_argument("--sources", type=Path, nargs="*", default=[], help="trees to take source files from")
    parsed = parser.parse_args(arguments)
    unknown = [name for name in parsed.names if name not in NAMES]
    if unknown:
        parser.error(f"no drill is called {unknown[0]}")
    if parsed.only is not None and (len(parsed.names) != 1 or parsed.seed is None):
        parser.error("--only takes one drill and its --seed")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    seed = int(time.time()) if parsed.seed is None else parsed.seed
    failed = False
    for name in parsed.names or NAMES:
        kind = drill_named(name)
        if (reason := kind.missing()) is not None:
            print(f"{name}: not held: {reason}", flush=True)
            continue
        tries = parsed.tries or (kind.long if parsed.long else kind.short)
        first, tries = (0, tries) if parsed.only is None else (parsed.only, 1)
        tally = run(
            kind, tries, seed, first=first, jobs=parsed.jobs, minutes=parsed.minutes, sources=parsed.sources,
            tell=lambda text: print(text, flush=True),
        )  # fmt: skip
        print(tally.line(), flush=True)
        failed = failed or bool(tally.failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
