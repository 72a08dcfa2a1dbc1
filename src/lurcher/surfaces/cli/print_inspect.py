"""Prints the answers of inspection commands, such as impact: a tree on a terminal, or a graph as DOT or SVG.

Also the state of an index, the findings of `doctor`, and the model.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lurcher.errors import UsageError
from lurcher.runtime.process import format_count, printable
from lurcher.surfaces.cli.printer import Locate, Painter, from_here, print_notes, use_colour

if TYPE_CHECKING:
    from lurcher.inspect.brief import BriefAnswer
    from lurcher.inspect.context import ContextAnswer
    from lurcher.inspect.doctor.checks import Finding
    from lurcher.inspect.doctor.services import Health
    from lurcher.inspect.exists import ExistsAnswer
    from lurcher.inspect.explain import ExplainAnswer, Writer
    from lurcher.inspect.impact import Dependent, ImpactAnswer
    from lurcher.inspect.outline import OutlineAnswer, OutlineSymbol
    from lurcher.inspect.why import Place, WhyAnswer


_MOST_NAMES = 8
_SURE = 0.995


def print_impact(answer: ImpactAnswer, locate: Locate) -> None:
    painter, shown = Painter(use_colour()), from_here(locate)
    print_notes(answer.basis.degraded)
    if sys.stdout.isatty() and answer.dependents:
        print(painter.path(shown(answer.path)))
        for line in _tree(answer, painter, shown):
            print(line)
    else:
        for entry in answer.dependents:
            far = [f"hop {entry.hop}"] + ([f"via {printable(shown(entry.via))}"] if entry.hop > 1 else [])
            print("  ".join([f"{printable(shown(entry.path))}:{entry.line}", *far, *_traits(entry)]))
    print_impact_totals(answer)


def print_impact_totals(answer: ImpactAnswer) -> None:
    """Prints the totals to stderr, since they are not results."""
    target = f"{answer.path} ({answer.symbol})" if answer.symbol else answer.path
    if not answer.dependents:
        print(f"nothing imports {printable(target)}", file=sys.stderr)
    for hop in answer.by_hop:
        cut = f", {hop.shown:,} listed" if hop.shown < hop.total else ""
        files, tests = format_count(hop.total, "file"), format_count(hop.tests, "test")
        print(f"hop {hop.hop}: {files}, {tests} among them{cut}", file=sys.stderr)


def _traits(entry: Dependent) -> list[str]:
    """The imported names, how the symbol is used, whether it is a test, and the confidence if that is not full."""
    traits = []
    if entry.names:
        more = f", … {len(entry.names) - _MOST_NAMES} more" if len(entry.names) > _MOST_NAMES else ""
        traits.append(printable(", ".join(entry.names[:_MOST_NAMES])) + more)
    if entry.use is not None:
        traits.append(entry.use)
    if entry.test:
        traits.append("test")
    if entry.confidence < _SURE:
        traits.append(f"confidence {entry.confidence:.2f}")
    return traits


def _tree(answer: ImpactAnswer, painter: Painter, shown: Callable[[str], str]) -> Iterator[str]:
    """Each dependent under the file through which it depends; one whose own was cut off hangs at the top and says so."""
    listed = {answer.path, *(entry.path for entry in answer.dependents)}
    below: dict[str, list[Dependent]] = {}
    for entry in answer.dependents:
        below.setdefault(entry.via if entry.via in listed else answer.path, []).append(entry)

    def drawn(path: str, margin: str) -> Iterator[str]:
        entries = below.get(path, [])
        for number, entry in enumerate(entries):
            last = number == len(entries) - 1
            traits = _traits(entry) + ([] if entry.via in listed else [f"via {printable(shown(entry.via))}"])
            said = painter.dim("  ".join(["", *traits])) if traits else ""
            yield f"{painter.dim(margin + ('└── ' if last else '├── '))}{painter.path(shown(entry.path))}:{entry.line}{said}"
            yield from drawn(entry.path, margin + ("    " if last else "│   "))

    yield from drawn(answer.path, "")


def print_outline(answer: OutlineAnswer, locate: Locate) -> None:
    painter, shown = Painter(use_colour()), from_here(locate)
    print_notes(answer.basis.degraded)
    for number, file in enumerate(answer.files):
        if number:
            print()
        what = f"{file.language}, {format_count(file.lines, 'line')}"
        print(f"{painter.path(shown(file.path))}  {painter.dim(what)}")
        width = 2 * len(str(file.lines)) + 1
        for symbol in file.symbols:
            _symbol(symbol, painter, 1, width, bool(answer.kinds))
    if not answer.total:
        print("no symbols" + (f" of kind {' or '.join(answer.kinds)}" if answer.kinds else ""), file=sys.stderr)


def _symbol(symbol: OutlineSymbol, painter: Painter, depth: int, width: int, flat: bool) -> None:
    lines = f"{f'{symbol.start_line}-{symbol.end_line}':<{width}}"
    whole = f"  {painter.symbol(symbol.qualified)}" if flat and symbol.qualified != symbol.name else ""
    signature = painter.code(symbol.signature or symbol.name, set())
    print(f"{painter.dim(lines)}{'  ' * depth}{signature}{whole}  {painter.dim(symbol.kind)}")
    for child in symbol.children:
        _symbol(child, painter, depth + 1, width, flat)


def print_context(answer: ContextAnswer) -> None:
    print_notes(answer.basis.degraded)
    # Made for programs as much as for people: no colours, and tabs and newlines stay.
    for line in answer.text.splitlines():
        print(printable(line))
    left = [f"{section.left_out:,} of {section.name}" for section in answer.sections if section.left_out]
    said = f"{answer.tokens:,} tokens of {answer.budget:,}" + (f"; left out: {', '.join(left)}" if left else "")
    print(said, file=sys.stderr)


def print_exists(answer: ExistsAnswer, locate: Locate) -> None:
    print_notes(answer.basis.degraded)
    where = "" if answer.path is None else f"  {printable(from_here(locate)(answer.path))}:{answer.line}"
    print(answer.verdict + where)


# -- impact as a graph --------------------------------------------------------------------------------------------------

_SECONDS = 60.0
_MOST_LABELS = 3
_FILL = {"target": "#2b6cb0", "test": "#e2e8f0", "code": "#ebf8ff"}


def render_dot(answer: ImpactAnswer) -> str:
    """Files as nodes, the given one at the left; an arrow from each dependent's import to what it imports."""
    listed = {answer.path, *(entry.path for entry in answer.dependents)}
    lines = [
        "digraph impact {",
        "  rankdir=RL;",
        '  graph [fontname="sans-serif", nodesep=0.15, ranksep=0.9];',
        '  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=11, color="#a0aec0", margin="0.12,0.05"];',
        '  edge [fontname="sans-serif", fontsize=9, color="#718096", fontcolor="#4a5568", arrowsize=0.7];',
        f'  {_quote(answer.path)} [fillcolor="{_FILL["target"]}", fontcolor=white];',
    ]
    for entry in answer.dependents:
        traits = f'fillcolor="{_FILL["test"]}", style="rounded,filled,dashed"' if entry.test else f'fillcolor="{_FILL["code"]}"'
        lines.append(f"  {_quote(entry.path)} [{traits}];")
    lines += [
        f"  {_quote(entry.path)} -> {_quote(entry.via)}{_edge(entry)};"
        for entry in answer.dependents
        if entry.via in listed
    ]
    return "\n".join([*lines, "}", ""])


def _edge(entry: Dependent) -> str:
    traits = []
    if entry.names:
        more = ", …" if len(entry.names) > _MOST_LABELS else ""
        traits.append(f"label={_quote(', '.join(entry.names[:_MOST_LABELS]) + more)}")
    if entry.confidence < 0.995:
        traits.append("style=dashed")
    return f" [{', '.join(traits)}]" if traits else ""


def _quote(text: str) -> str:
    """A string of the dot language: a quote ends it, a backslash begins an escape, and what cannot be printed has no place."""
    return '"' + printable(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def render_svg(answer: ImpactAnswer) -> str:
    program = shutil.which("dot")
    if program is None:
        raise UsageError(
            "an svg is drawn by Graphviz, which is not installed",
            "install it (apt install graphviz, brew install graphviz), or use --format dot",
        )
    try:
        graph = render_dot(answer).encode()
        done = subprocess.run([program, "-Tsvg"], input=graph, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise UsageError("Graphviz takes too long for so many files", "use --hops 1") from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        raise UsageError(f"Graphviz could not draw it: {reason}", "use --format dot to see what it was given")
    return done.stdout.decode("utf-8", "replace")


# -- why ----------------------------------------------------------------------------------------------------------------

_SMALL = 0.0005


def print_why(answer: WhyAnswer, locate: Locate) -> None:
    painter, shown = Painter(use_colour()), from_here(locate)
    print_notes(answer.basis.degraded)
    here = answer.here
    place = shown(answer.path) if here is None else f"{shown(here.path)}:{here.start_line}-{here.end_line}"
    print(f"{painter.path(place)}  {painter.state(answer.verdict, 'ok' if answer.shown else 'note')}")
    for part in (_why_stages(answer, painter), _why_lanes(answer, painter), _why_words(answer, painter)):
        rows = list(part)
        if rows:
            print()
            print("\n".join(rows))


def _why_stages(answer: WhyAnswer, painter: Painter) -> Iterator[str]:
    here, there = answer.here, answer.there
    if here is None or (here.rank is None and there is None):
        return
    second = "" if there is None else f"hit {there.rank}"
    yield painter.dim(f"{'stage':<12}{'here':>9}{second:>9}")
    for effect in answer.effects:
        if max(abs(effect.here), abs(effect.there)) < _SMALL:
            continue
        other = "" if there is None else f"{effect.there:>+9.3f}"
        note = f"  {painter.dim(printable(effect.note))}" if effect.note else ""
        yield f"{effect.stage:<12}{effect.here:>+9.3f}{other}{note}"
    other = "" if there is None else f"{there.score:>9.3f}  {_place_name(there)}"
    yield f"{'score':<12}{here.score:>9.3f}{other}"


def _place_name(place: Place) -> str:
    return printable(f"{place.path}:{place.start_line}-{place.end_line}")


def _why_lanes(answer: WhyAnswer, painter: Painter) -> Iterator[str]:
    if not answer.lanes:
        return
    yield painter.dim(f"{'lane':<12}{'rank':>9}{'score':>9}{'best':>9}")
    for name, lane in answer.lanes.items():
        rank, score, best = (lane[key] for key in ("rank", "score", "best"))
        yield (
            f"{name:<12}{'-' if rank is None else format(rank, ','):>9}"
            f"{'-' if score is None else format(score, '.3f'):>9}{format(best, '.3f') if best else '-':>9}"
        )


def _why_words(answer: WhyAnswer, painter: Painter) -> Iterator[str]:
    if not answer.words:
        return
    width = max(12, *(len(word.word) + 2 for word in answer.words))
    yield painter.dim(f"{'word':<{width}}{'rarity':>9}  {'here':<6}elsewhere")
    for word in answer.words:
        where = "nowhere in the index" if not word.units else f"in {format_count(word.units, 'unit')}"
        if word.in_file and not word.here:
            where += ", in other parts of this file too"
        said = painter.state("yes", "ok") + "   " if word.here else painter.state("no", "note") + "    "
        yield f"{printable(word.word):<{width}}{word.idf:>9.2f}  {said}{where}"


def print_explain(answer: ExplainAnswer, locate: Locate) -> None:
    """Each commit with its lines, its message and the change it made."""
    from lurcher.inspect.explain import WORK_TREE

    painter, shown = Painter(use_colour()), from_here(locate)
    path = answer.path if answer.revision != WORK_TREE else shown(answer.path)
    print_notes(answer.degraded)
    for number, entry in enumerate(answer.writers):
        if number:
            print()
        for line in _writer(entry, answer.path, path, painter):
            print(line)
    if not answer.writers:
        print(f"{printable(path)} has no lines", file=sys.stderr)
    left = answer.total - len(answer.writers)
    if left > 0:
        print(f"{len(answer.writers)} of {format_count(answer.total, 'commit')}; more: -k {answer.total}", file=sys.stderr)


def _writer(entry: Writer, path: str, shown: str, painter: Painter) -> list[str]:
    from lurcher.surfaces.cli.printer import MAX_BODY_LINES, SHORT, outcome_lines

    lines = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in entry.lines)
    where = f"{painter.path(shown)}:{lines}"
    if entry.sha is None:
        return [f"{where}  {painter.state('not committed yet', 'note')}"]
    day = (entry.date or "")[:10]
    out = [f"{where}  {painter.symbol(entry.sha[:SHORT])}  {day}  {printable(entry.author)}"]
    out.append(f"    {printable(entry.subject)}")
    if entry.path != path:
        out.append(painter.dim(f"    then called {printable(entry.path)}"))
    body = [line for line in entry.body.splitlines() if line.strip()]
    out += [painter.dim(f"    {printable(line)}") for line in body[:MAX_BODY_LINES]]
    if len(body) > MAX_BODY_LINES:
        out.append(painter.dim(f"    … {len(body) - MAX_BODY_LINES} more lines"))
    if entry.outcome is not None:
        out += [f"    {line}" for line in outcome_lines(entry.outcome, painter)]
    if entry.excerpt is not None:
        for line in entry.excerpt.text.split("\n"):
            mark = painter.state(line[:1], "problem" if line[:1] == "-" else "ok")
            out.append(f"    {mark} {painter.code(line[1:], set())}")
        if entry.excerpt.left_out:
            out.append(painter.dim(f"    … {entry.excerpt.left_out} more lines"))
    for near in entry.related:
        said = f"    perhaps related: {near.sha[:SHORT]}  {near.date[:10]}  {printable(near.subject)} ({near.reason})"
        out.append(painter.dim(said))
    return out


def print_brief(answer: BriefAnswer) -> None:
    print_notes(answer.basis.degraded)
    print(answer.text, end="")
    left = [f"{section.left_out:,} of {section.name}" for section in answer.sections if section.left_out]
    said = f"{answer.tokens:,} tokens of {answer.budget:,}" + (f"; left out: {', '.join(left)}" if left else "")
    print(said, file=sys.stderr)


_FEW = 5
"""Paths that are named where there may be many."""
_SENT = (("sent_files", "file"), ("sent_units", "unit"), ("removed_files", "file"))


def print_status(status: dict[str, Any]) -> None:
    roots = [entry for entry in status.get("roots", [status]) if entry["exists"] or "shared" not in status]
    for number, entry in enumerate(roots):
        if number:
            print()
        _print_root(entry)
    print_libraries(status.get("libraries", ()))
    if "shared" in status:
        if roots:
            print()
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
        row("holds", _holdings(item))
        if item["project"] in sent_by_project:
            done = sent_by_project[item["project"]]
            files, units, gone = (format_count(done[key], what) for key, what in _SENT)
            row("sent", f"{files}, {units}; {gone} removed")


def _holdings(item: dict[str, Any]) -> str:
    commits = f", {format_count(item['commits'], 'commit')}" if item["commits"] else ""
    limits = "" if item["whole"] else "; for searches only, until lurcher index --store URL"
    return f"{format_count(item['files'], 'file')}, {format_count(item['units'], 'unit')}{commits}{limits}"


def print_projects(found: dict[str, Any]) -> None:
    """The projects of a shared store, one line each."""
    painter = Painter(use_colour())
    width = max((len(item["project"]) for item in found["projects"]), default=0)
    for item in found["projects"]:
        commit = f" at {item['commit'][:10]}" if item["commit"] else ""
        about = printable(f"{_holdings(item)}, written {item['written']}{commit}")
        print(f"{printable(item['project']):<{width}}  {painter.dim(about)}")
    count = format_count(len(found["projects"]), "project")
    print(f"{count} in {printable(found['store'])}", file=sys.stderr)


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
        if entry["linked"]["bytes"]:
            row("shared", _linked_line(entry["linked"]))
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
    if "scip" in entry:
        row("scip", _scip_line(entry["scip"]))
    _print_implementation(entry, row)
    row("skipped", ", ".join(f"{reason} {count:,}" for reason, count in entry["skipped"].items()) or "nothing")
    for reason, paths in entry.get("skipped_paths", {}).items():
        for path in paths:
            row("", f"{reason}  {path}")
        more = entry["skipped"].get(reason, 0) - len(paths)
        if more > 0:
            row("", f"{reason}  … {more:,} more")


def _linked_line(entry: dict[str, Any]) -> str:
    others = entry["with"]
    more = f" and {len(others) - _FEW:,} more" if len(others) > _FEW else ""
    return f"{_size(entry['bytes'])} of it, with {', '.join(others[:_FEW]) or 'another index'}{more}: it takes room once"


def _scip_line(entry: dict[str, Any]) -> str:
    if "problem" in entry:
        return f"{entry['problem']}{_hint(entry['hint'])}"
    changed = f", {entry['changed']:,} of them changed since" if entry["changed"] else ""
    left_out = "".join(f", {count:,} {reason}" for reason, count in entry["left_out"].items())
    return f"{format_count(entry['files'], 'file')}{changed}{left_out}, by {', '.join(entry['tools'])}"


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
