"""The command `sync`: many git remotes into one store, with a report."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from lurcher.errors import UsageError
from lurcher.runtime.process import format_count, printable
from lurcher.server.store_sync import BUSY, FAILED, INDEXED, REFUSED, StoreSync, SyncEntry, count_statuses, refused_entry
from lurcher.surfaces.cli.search_cmd import ERROR, FOUND, print_json, settings_of

WORKERS = 2


def run_sync(parsed: Namespace) -> int:
    from lurcher import config
    from lurcher.config.trust import user_setting
    from lurcher.config.user_files import cache_folder
    from lurcher.net.http import redact_url
    from lurcher.server.remotes import read_remotes
    from lurcher.stores.base import store_at
    from lurcher.stores.shared import LOCAL

    if not parsed.repos:
        raise UsageError("no file of remotes is named", "name it: --repos FILE, with one git remote per line")
    overrides = settings_of(parsed)
    settings = config.load(None, overrides)
    url = user_setting(settings, "store.url")
    if not url or url == LOCAL:
        raise UsageError("no shared store is set", "name one: --store URL, or LURCHER_STORE")
    workers = WORKERS if parsed.workers is None else parsed.workers
    if not 1 <= workers <= 64:
        raise UsageError(f"--workers {workers} is not between 1 and 64", "use 2")
    remotes, refused = read_remotes(Path(parsed.repos))
    folder = Path(parsed.folder).absolute() if parsed.folder else cache_folder() / "sync"
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    entries = [refused_entry(one) for one in refused]
    store = store_at(url, settings)
    try:
        sync = StoreSync(store, folder, overrides, history=parsed.history, tell=_teller(parsed, len(remotes)))
        entries = sync.run(remotes, workers) + entries
    finally:
        store.close()
    counts = count_statuses(entries)
    report = {
        "store": redact_url(url), "seconds": round(time.monotonic() - began, 3), "counts": counts,
        "repositories": [entry.to_dict() for entry in entries],
    }  # fmt: skip
    if parsed.json:
        print_json(report)
    else:
        _print_table(entries)
        said = ", ".join(f"{count:,} {status}" for status, count in counts.items() if count) or "nothing to do"
        many = format_count(len(remotes), "repository", "repositories")
        print(f"{many} in {report['seconds']:,.1f} s: {said}", file=sys.stderr)
    return ERROR if counts[FAILED] or counts[REFUSED] or counts[BUSY] else FOUND


def _teller(parsed: Namespace, total: int) -> Callable[[SyncEntry], None]:
    done = 0

    def tell(entry: SyncEntry) -> None:
        nonlocal done
        done += 1
        if not parsed.quiet and sys.stderr.isatty():
            print(f"{done:,} of {total:,}  {entry.status}  {printable(entry.project)}", file=sys.stderr, flush=True)

    return tell


def _print_table(entries: list[SyncEntry]) -> None:
    width = max((len(entry.project) for entry in entries), default=0)
    for entry in entries:
        about = entry.commit[:10]
        if entry.status == INDEXED:
            about += f"  {format_count(entry.files, 'file')}, {entry.sent_files:,} sent, {entry.seconds:,.1f} s"
        elif entry.problem:
            about = entry.problem + (f" ({entry.hint})" if entry.hint else "")
        print(f"{entry.status:<8} {printable(entry.project):<{width}}  {printable(about)}".rstrip())
