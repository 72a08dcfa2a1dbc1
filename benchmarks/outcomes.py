"""Reverts against a count that is not ours, and how many commits count as mended at each confidence.

    python benchmarks/outcomes.py REPOSITORIES --out results/YYYY-MM-DD-outcomes.json [--show 20]

REPOSITORIES is a folder of clones, bare or not, by the names below; those that are missing are left out. The check of reverts
reads messages with `git log` and two regular expressions of its own: every full hash behind `This reverts commit`, and every
subject that is `Revert "…"` around the whole subject of an earlier commit. `--show` prints verdicts to be read by eye, chosen
by a fixed seed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import re
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

from lurcher.config.schema import OutcomeSettings
from lurcher.corpora.history.fixes import find_fixes
from lurcher.corpora.history.outcomes import decide_verdicts
from lurcher.corpora.history.reverts import find_reverts
from lurcher.sources.git.log import LogSettings, list_commits, read_commits, read_messages

NAMES = ("express", "flask", "click", "datasette", "tantivy", "requests", "rack", "axum")
_BY_HASH = re.compile(r"[Tt]his reverts commit\s+([0-9a-f]{40})")
_BY_SUBJECT = re.compile(r'^Revert "(.*)"$')
_STEPS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", type=int, default=0)
    options = parser.parse_args()
    found = {}
    for name in NAMES:
        place = _place(options.repositories, name)
        if place is not None:
            found[name] = _measure(place, options.show)
            print(name, json.dumps(found[name]))
    if options.out:
        report = {"date": datetime.date.today().isoformat(), "settings": _settings(), "repositories": found}
        options.out.write_text(json.dumps(report, indent=1) + "\n")


def _settings() -> dict[str, Any]:
    return OutcomeSettings().values()


def _place(folder: Path, name: str) -> Path | None:
    for place in (*sorted(folder.glob(f"*+{name}/repo")), folder / name):
        if place.is_dir():
            return place
    return None


def _measure(top: Path, show: int) -> dict[str, Any]:
    told = read_messages(top)
    shas = list_commits(top, "HEAD", LogSettings())
    assert told is not None and shas is not None
    started = time.process_time()
    back = find_reverts(told)
    reverts_seconds = time.process_time() - started
    commits = list(read_commits(top, shas, LogSettings()))
    started = time.process_time()
    evidence = find_fixes(commits, OutcomeSettings())
    fixes_seconds = time.process_time() - started
    verdicts = decide_verdicts(told, evidence, OutcomeSettings())
    loose_mix = decide_verdicts(told, evidence, OutcomeSettings(strictness="loose"))
    expected = _expected(top)
    # A title that a merge and the commit in it share means the merge to us: the commit is then found as what it brought.
    pairs = {(entry.sha, entry.by) for entries in back.values() for entry in entries}
    named = {(entry.sha, entry.by) for entries in back.values() for entry in entries if entry.how != "merge"}
    strict: dict[str, float] = {}
    for fix in evidence:
        if fix.strict:
            strict[fix.earlier] = max(fix.confidence, strict.get(fix.earlier, 0.0))
    total = len(commits)
    if show:
        _show(told, strict, [fix for fix in evidence if fix.strict], show)
    return {
        "commits": total,
        "merges": len(told) - total,
        "reverts_named": len(expected),
        "reverts_found": len(expected & pairs),
        "reverts_missed": sorted(f"{by[:10]} reverts {sha[:10]}" for sha, by in expected - pairs),
        "reverts_only_ours": len(named - expected),
        "by": dict(sorted(Counter(entry.how for entries in back.values() for entry in entries).items())),
        "undone": sum(not entry.stands for entries in back.values() for entry in entries),
        "verdicts": verdicts.counts(),
        "verdicts_by_the_loose_rule": loose_mix.counts(),
        "loose_rate": round(len({fix.earlier for fix in evidence}) / total, 4),
        "strict_rate": round(len(strict) / total, 4),
        "strict_rate_from_confidence": {
            str(step): round(sum(sure >= step for sure in strict.values()) / total, 4) for step in _STEPS
        },
        "seconds": {"reverts": round(reverts_seconds, 3), "fixes": round(fixes_seconds, 3)},
    }


def _expected(top: Path) -> set[tuple[str, str]]:
    """(reverted, reverting) as plain patterns over `git log` have it, of commits that HEAD leads to."""
    output = subprocess.run(
        ["git", "-C", str(top), "log", "--date-order", "-z", "--format=%H%x1f%s%x1f%b"], capture_output=True, check=True
    ).stdout.decode("utf-8", "replace")
    rows = [record.split("\x1f", 2) for record in output.split("\0") if record]
    known = {row[0] for row in rows}
    found = set()
    for i, (sha, subject, body) in enumerate(rows):
        hashed = {name for name in _BY_HASH.findall(body) if name in known}
        found |= {(name, sha) for name in hashed}
        inner = _BY_SUBJECT.match(subject)
        if not hashed and inner:
            earlier = next((row[0] for row in rows[i + 1 :] if row[1] == inner[1]), None)
            if earlier is not None:
                found.add((earlier, sha))
    return found


def _show(told: Any, strict: dict[str, float], evidence: Any, count: int) -> None:
    subjects = {entry.sha: entry.subject for entry in told}
    chosen = sorted(evidence, key=lambda fix: (fix.earlier, fix.later))
    random.Random(20261116).shuffle(chosen)
    for fix in chosen[:count]:
        print(f"  {fix.confidence:.2f} {fix.earlier[:10]} {subjects[fix.earlier]!r}")
        print(f"       {fix.later[:10]} {subjects[fix.later]!r}")
        print(f"       {fix.distance} later, {fix.rewritten} lines, share {fix.share}")


if __name__ == "__main__":
    main()
