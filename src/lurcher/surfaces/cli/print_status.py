"""Prints the state of an index, the findings of `doctor`, and the model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lurcher.runtime.terminal import format_count, printable
from lurcher.surfaces.cli.printer import Painter, use_colour

if TYPE_CHECKING:
    from lurcher.inspect.doctor.checks import Finding
    from lurcher.inspect.doctor.services import Health

_FEW = 5
"""Paths that are named where there may be many."""
_SENT = (("sent_files", "file"), ("sent_units", "unit"), ("removed_files", "file"))


def print_status(status: dict[str, Any]) -> None:
    for number, entry in enumerate(status.get("roots", [status])):
        if number:
            print()
        _print_root(entry)
    print_libraries(status.get("libraries", ()))
    if "shared" in status:
        _print_store(status["shared"], status.get("sent", ()))


def print_libraries(entries: Iterable[dict[str, Any]]) -> None:
    """One line for each library that has an index."""
    painter = Painter(use_colour())
    for entry in entries:
        name = f"{entry['ecosystem']}:{entry['library']} {entry['version'] or 'of unknown version'}"
        holds = f"{format_count(entry['files'], 'file')}, {format_count(entry['units'], 'unit')}"
        print(f"{painter.dim('library    ')} {printable(name)}, {holds}, {printable(entry['root'])}")
        if "problem" in entry:
            print(f"{'':<11} {painter.state(printable(entry['problem']), 'note')}{_hint(entry['hint'])}")


def _print_store(entry: dict[str, Any], sent: Sequence[dict[str, Any]]) -> None:
    """What a shared store holds of each project, and what was sent to it just now."""
    painter = Painter(use_colour())

    def row(name: str, text: str) -> None:
        print(f"{painter.dim(f'{name:<11}')} {printable(text)}")

    print()
    row("store", entry["store"])
    if "problem" in entry:
        print(f"{painter.dim('problem    ')} {painter.state(printable(entry['problem']), 'problem')}{_hint(entry.get('hint'))}")
    sent_by_project = {item["project"]: item for item in sent}
    for item in entry["projects"]:
        row("project", item["project"])
        if not item["exists"]:
            row("state", "none yet (lurcher index --store URL)")
            continue
        commit = f", commit {item['commit'][:10]}" if item["commit"] else ""
        row("state", f"generation {item['generation']}, written {item['written']}{commit}")
        row("holds", f"{format_count(item['files'], 'file')}, {format_count(item['units'], 'unit')}")
        if item["project"] in sent_by_project:
            done = sent_by_project[item["project"]]
            files, units, gone = (format_count(done[key], what) for key, what in _SENT)
            row("sent", f"{files}, {units}; {gone} removed")


def _print_unparsed(entry: dict[str, Any], row: Callable[[str, str], None]) -> None:
    """Files that were cut by lines because they have no parse, and why."""
    if entry["gave_up"]:
        many = "1 file, whose grammar" if entry["gave_up"] == 1 else f"{entry['gave_up']:,} files, whose grammars"
        more = ", …" if entry["gave_up"] > _FEW else ""
        row("by lines", f"{many} gave up: {', '.join(entry['paths'][:_FEW])}{more}")
    if entry["no_grammar"]:
        from lurcher.indexing.coverage import grammar_package

        counts = ", ".join(f"{count:,} {language}" for language, count in entry["no_grammar"].items())
        packages = " ".join(dict.fromkeys(grammar_package(language) for language in entry["no_grammar"]))
        row("by lines", f"{counts}, without a grammar (run: pip install {packages})")


def _print_implementation(entry: dict[str, Any], row: Callable[[str, str], None]) -> None:
    """What reads files and answers: the kernel or Python, and which grammars."""
    kernel, grammars = entry["kernel"], entry.get("grammars", {})
    row("kernel", kernel["name"] + _hint(kernel.get("reason")))
    if kernel.get("hint"):
        row("", f"everything falls back to Python and takes longer; {kernel['hint']}")
    versions = [f"{language} {grammar['version']}" for language, grammar in grammars.items() if grammar["reader"] != "lines"]
    if versions:
        row("grammars", ", ".join(versions))
    for language, grammar in grammars.items():
        if grammar.get("reason"):
            row("", f"{language} is read by tree-sitter, which takes longer: {grammar['reason']}")


def _print_root(entry: dict[str, Any]) -> None:
    painter = Painter(use_colour())

    def row(name: str, text: str) -> None:
        print(f"{painter.dim(f'{name:<11}')} {printable(text)}")

    row("root", entry["root"])
    row("index", entry["index"])
    lock = entry["lock"]
    if lock["held"]:
        row("writing", f"process {lock['pid']} holds the lock" if lock["pid"] else "another process holds the lock")
    if "problem" in entry:
        print(f"{painter.dim('problem    ')} {painter.state(printable(entry['problem']), 'problem')}{_hint(entry.get('hint'))}")
        return
    if not entry["exists"]:
        row("state", f"none yet; {format_count(entry['files_found'], 'file')} would be indexed")
    else:
        fresh = painter.state("fresh", "ok")
        if not entry["fresh"]:
            fresh = painter.state(f"{format_count(entry['stale_paths'], 'file')} changed since", "note")
        ago = _ago(entry["age_seconds"])
        print(f"{painter.dim('state      ')} generation {entry['generation']}, {fresh}, checked {ago} ago")
        row("files", f"{entry['files']:,}, {_size(entry['text_bytes'])} of text, listed by {_LISTED[entry['listed_by']]}")
        row("units", f"{entry['units']:,}")
        row("definitions", f"{entry['definitions']:,}")
        _print_unparsed(entry["by_lines"], row)
        ratio = f", {entry['ratio']:.2f} times the text" if entry["ratio"] is not None else ""
        row("size", f"{_size(entry['disk_bytes'])}{ratio}")
        for segment in entry["segments"]:
            dead = f", {segment['dead']:,} dead" if segment["dead"] else ""
            live = format_count(segment["live"], "file")
            row("segment", f"{segment['name'][:12]}…  {_size(segment['bytes']):>9}  {live} live{dead}")
        row("model", _model_line(entry["model"]))
        row("vectors", _size(entry["vector_bytes"]))
        row("languages", ", ".join(f"{name} {count:,}" for name, count in entry["languages"].items()) or "none")
    if "history" in entry:
        row("history", _history_line(entry["history"]))
        if entry["history"].get("outcomes"):
            row("outcomes", ", ".join(f"{count:,} {verdict}" for verdict, count in entry["history"]["outcomes"].items()))
    _print_implementation(entry, row)
    row("skipped", ", ".join(f"{reason} {count:,}" for reason, count in entry["skipped"].items()) or "nothing")
    for reason, paths in entry.get("skipped_paths", {}).items():
        for path in paths:
            row("", f"{reason}  {path}")


def _history_line(entry: dict[str, Any]) -> str:
    if "problem" in entry:
        return f"{entry['problem']} ({entry['hint']})" if entry["hint"] else str(entry["problem"])
    if not entry["exists"]:
        return "none yet (lurcher index --history)"
    moved = "" if entry["fresh"] else ", HEAD has moved since"
    shallow = " of a shallow clone" if entry["shallow"] else ""
    commits = f"{entry['commits']:,} of {format_count(entry['total'], 'commit')}{shallow}"
    hunks = format_count(entry["hunks"], "hunk")
    return f"{commits}, {hunks}, {_size(entry['bytes'])} in {format_count(len(entry['segments']), 'segment')}{moved}"


_LISTED = {"git": "git", "walk": "a walk"}


def _hint(hint: str | None) -> str:
    return f" ({printable(hint)})" if hint else ""


def print_finding(finding: Finding) -> None:
    painter = Painter(use_colour())
    state = painter.state(f"{finding.state:<8}", finding.state)
    print(f"{state} {finding.check:<9} {printable(finding.message)}{_hint(finding.hint)}", flush=True)


def print_services(stack: Sequence[Health]) -> None:
    """Every configured service as a table."""
    if not stack:
        return
    painter = Painter(use_colour())
    rows: list[tuple[str, ...]] = [("service", "protocol", "address", "reachable", "version", "model", "dims", "ms", "state")]
    for health in stack:
        answered = ("yes", health.version, health.model, str(health.dims or ""), f"{health.latency_ms:.0f}", health.state)
        reached, *rest = answered if health.reachable else ("no", "", "", "", "", health.problem)
        rows.append((health.service, health.protocol, health.address, reached, *rest))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        line = "  ".join(f"{printable(cell) or '-':<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        print(painter.dim(line) if not number else line)


def print_verdict(problems: int) -> None:
    text = format_count(problems, "problem") if problems else "all is well"
    print(text, file=sys.stderr)


def print_model(entry: dict[str, Any]) -> None:
    if "digest" not in entry:
        print("no model is in use: there are no vectors and no dense lane")
        return
    if "provider" in entry:
        for name in ("provider", "model", "served", "dims", "digest", "query_prefix", "document_prefix"):
            if entry.get(name):
                print(f"{name.replace('_', ' '):<15} {printable(str(entry[name]))}")
        print(f"{'first answer':<15} {entry['load_ms']:.1f} ms")
        return
    composed = {"grams": f"{entry['buckets']:,} n-gram buckets", "wordpiece": "pieces of words", "none": "nothing"}
    rows = (
        ("name", entry["name"]),
        ("file", entry["path"]),
        ("version", entry["version"]),
        ("vectors", f"{entry['dims']} numbers of {entry['bits']} bits"),
        ("terms", f"{entry['terms']:,}; unseen ones are composed of {composed[entry['compose']]}"),
        ("size", _size(entry["bytes"])),
        ("digest", entry["digest"]),
        ("licence", entry["licence"]),
        ("opened in", f"{entry['load_ms']:.1f} ms"),
    )
    for name, value in rows:
        print(f"{name:<11} {printable(str(value))}")
    training = entry["training"]
    for name, value in training.items() if isinstance(training, dict) else (("", training),) if training else ():
        print(f"{'training':<11} {printable(f'{name}: {value}' if name else str(value))}")


def _model_line(entry: dict[str, Any]) -> str:
    if "problem" in entry:
        return f"{printable(entry['name'])}: {printable(entry['problem'])} ({printable(entry['hint'])})"
    if "digest" not in entry:
        return "none"
    if "missing" in entry:
        size = f", {entry['dims']} numbers per vector" if "dims" in entry else ""
        lack = f", {entry['missing']:,} of {entry['texts']:,} texts have no vectors yet" if entry["missing"] else ""
        return f"{printable(entry['name'])}{size}, {entry['digest'][:12]}{lack}"
    return f"{printable(entry['name'])}, {entry['dims']} numbers per vector, {entry['digest'][:12]}"


def _ago(seconds: int) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _size(count: int) -> str:
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
