"""Answers for agents: compact text within a budget of tokens, or for clients that ask the same entries as data, with schemas.

Entries that do not fit are counted and the answer says so; nothing is cut off silently.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from lurcher import answer as tokens
from lurcher import surfaces as p
from lurcher.query import split_qualified_name
from lurcher.runtime.process import format_count
from lurcher.sources.roles import ASIDE, roles
from lurcher.surfaces.mcp.requests import WORDING
from lurcher.types import FAIR, NONE, STRONG, WEAK, headers_data, with_headers

if TYPE_CHECKING:
    from lurcher.inspect.brief import BriefAnswer
    from lurcher.inspect.context import ContextAnswer
    from lurcher.inspect.exists import ExistsAnswer
    from lurcher.inspect.explain import ExplainAnswer, Writer
    from lurcher.inspect.impact import Dependent, ImpactAnswer
    from lurcher.inspect.outline import FileAnswer, OutlineAnswer, OutlineFile, OutlineSymbol
    from lurcher.inspect.references.calls import AnyReferences
    from lurcher.lanes.symbol import SymbolAnswer, SymbolHit
    from lurcher.types import Answer, Degraded, Hit, IndexState, Outcome, Place


BUDGET: int = p.BUDGET.on(p.MCP).default
"""Tokens of a text, unless the caller gives a number."""
_MOST_NOTES = 4
_LONGEST_NOTE = 400
_SHORT = 10
_SIGILS = "$@#?!="


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool."""

    text: str
    made: dict[str, Any] | Callable[[], dict[str, Any]]
    """The data, or what makes it: few clients ask for it."""
    paths: tuple[str, ...] = field(default=())
    """The files it comes from, for the count of tokens saved."""

    @property
    def data(self) -> dict[str, Any]:
        return self.made() if callable(self.made) else self.made

    @property
    def tokens(self) -> int:
        """The estimated size of the text."""
        return tokens.estimate_tokens(self.text)


def entry_budget(budget: int) -> int:
    """The part of a budget for entries; the rest is for totals and notes."""
    return max(1, budget - min(250, max(40, budget // 8)))


def fit_data(data: dict[str, Any], budget: int) -> dict[str, Any]:
    """The data within a budget: the last hits lose their text first, then the longest list its last entries.

    `left_out` counts what is missing.
    """
    if _size(data) <= budget:
        return data
    data, dropped = dict(data), 0
    left = budget - _size(data) - _LEFT_OUT_TOKENS
    if "hits" in data:
        hits = data["hits"] = [{**hit, "places": [dict(place) for place in hit["places"]]} for hit in data["hits"]]
        for holder in (item for hit in reversed(hits) for item in (*reversed(hit["places"]), hit)):
            if left < 0 and holder.get("text"):
                left += _size(holder["text"]) - 1
                holder["text"], dropped = "", dropped + 1
    while left < 0:
        lists = [name for name, value in data.items() if isinstance(value, list) and value]
        if not lists:
            break
        longest = max(lists, key=lambda name: _size(data[name]))
        entries = data[longest]
        many = max(1, -left * len(entries) // (2 * _size(entries)))  # entries differ in size: half of it, and look again
        data[longest], dropped = entries[:-many], dropped + many
        left = budget - _size(data) - _LEFT_OUT_TOKENS
    return {**data, "left_out": dropped}


_LEFT_OUT_TOKENS = 8


def _size(value: Any) -> int:
    return tokens.count_tokens(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def render_search(answer: Answer, budget: int) -> ToolResult:
    shown = [_hit_text(hit) for hit in answer.hits]
    places = [place for hit in answer.hits for place in hit.places]
    total = answer.counted if answer.total > answer.places_shown else ""
    more = f"{total}; more: cursor={answer.next}" if answer.next else total
    usage = answer.usage
    if usage is not None:
        shown.insert(0, usage.text)
    above, below = _join_lines(answer.caveat, _render_notes(answer.degraded)), _join_lines(answer.nothing, more)
    # A token has at least one byte, so uncounted text costs at most its bytes.
    around = sum(len(text.encode()) for text in shown) - sum(len(place.full_text.rstrip("\n").encode()) for place in places)
    sure = answer.tokens + around + len(above.encode()) + len(below.encode()) + len(shown) + 1 <= budget
    text = _pack(shown, budget, below, answer.degraded, sure, answer.caveat)
    paths = tuple(dict.fromkeys(hit.path for hit in answer.hits if hit.source != "history"))
    return ToolResult(text, lambda: _search_data(answer), paths)


def _search_data(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    return {
        **answer.assessment,
        **({} if usage is None else {"intent": answer.intent, "references": usage.to_dict()}),
        "hits": [_hit_data(hit) for hit in answer.hits],
        "total": answer.total,
        **({"at_least": True} if answer.at_least else {}),
        "next": answer.next,
        "mode": answer.mode,
        **_index_data(answer.index, answer.degraded),
    }


def _hit_text(hit: Hit) -> str:
    """A commit, or the places of a file: the first has the path in its heading, further ones only their lines."""
    commit = hit.commit
    if commit is None:
        version = f" ({hit.library} {hit.version})" if hit.library and hit.version else ""
        first, *further = hit.places
        return "".join([_place_text(first, hit.path, version), *(_place_text(place) for place in further)])
    verdict = commit.outcome.verdict
    became = "" if verdict == "success" else f" {verdict.upper()}{_by(commit.outcome)}"
    head = f"{commit.sha[:_SHORT]} {commit.date[:10]} {commit.author}{became}"
    body = hit.text.rstrip("\n") or commit.subject
    return f"{head}\n{body}\n"


def _place_text(place: Place, path: str = "", version: str = "") -> str:
    head = f"{path}:{place.start_line}-{place.end_line}" + (f" cell {place.cell['number']}" if place.cell is not None else "")
    head += (f" {place.symbol}" if place.symbol else "") + version
    body = place.full_text.rstrip("\n")
    return f"{head}\n{body}\n" if body else f"{head}\n"


def _by(outcome: Outcome) -> str:
    shas = [entry.sha[:_SHORT] for entry in outcome.evidence]
    return f" by {', '.join(shas[:2])}" if shas else ""


def _hit_data(hit: Hit) -> dict[str, Any]:
    data: dict[str, Any] = {
        "source": hit.source, "path": hit.path, "start_line": hit.start_line, "end_line": hit.end_line,
        "line": hit.best_line, "language": hit.language, "symbol": hit.symbol, "kind": hit.kind, "score": round(hit.score, 4),
        "text": hit.text,
    }  # fmt: skip
    if hit.commit is not None:
        names = ("sha", "subject", "author", "date", "outcome", "files", "file_count")
        commit = hit.commit.to_dict()
        data["commit"] = {name: commit[name] for name in names}
    if hit.note is not None:
        data["note"] = hit.note
    if hit.cell is not None:
        data["cell"] = hit.cell
    if hit.library is not None:
        data |= {"library": hit.library, "version": hit.version}
    if hit.headers:
        data["headers"] = headers_data(hit.headers)
    first, *further = hit.places
    data["places"] = [_place_data(first), *map(_further_data, further)]
    return data


def _further_data(place: Place) -> dict[str, Any]:
    headers = {"headers": headers_data(place.headers)} if place.headers else {}
    return {**_place_data(place), "text": place.text, **headers}


def _place_data(place: Place) -> dict[str, Any]:
    """All but what a hit has for its first place."""
    return {
        "start_line": place.start_line, "end_line": place.end_line, "line": place.best_line, "symbol": place.symbol,
        "kind": place.kind, "score": round(place.score, 4), **({"cell": place.cell} if place.cell is not None else {}),
    }  # fmt: skip


def render_explain(answer: ExplainAnswer, budget: int) -> ToolResult:
    def data_of(entry: Writer) -> dict[str, Any]:
        whole = entry.to_dict()
        return {name: value for name, value in whole.items() if name not in ("email", "related")}

    kept, _ = _take_fitting(answer.writers, _writer_text, entry_budget(budget))
    more = f"{len(kept)} of {format_count(answer.total, 'commit')}" if len(kept) < answer.total else ""
    text = _pack([_writer_text(entry) for entry in kept], budget, more, answer.degraded)
    data = {
        "path": answer.path, "commits": [data_of(entry) for entry in kept], "total": answer.total,
        "degraded": [note.to_dict() for note in WORDING.render_notes(answer.degraded)],
    }  # fmt: skip
    return ToolResult(text, data)


def _writer_text(entry: Writer) -> str:
    lines = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in entry.lines)
    lines = f"{'line' if lines.isdigit() else 'lines'} {lines}"
    if entry.sha is None:
        return f"{lines}: not committed yet\n"
    became = ""
    if entry.outcome is not None and entry.outcome.verdict != "success":
        became = f" {entry.outcome.verdict.upper()}{_by(entry.outcome)}"
    out = [f"{lines}: {entry.sha[:_SHORT]} {(entry.date or '')[:10]} {entry.author}{became}", entry.subject]
    out += [line for line in entry.body.splitlines() if line.strip()][:6]
    if entry.excerpt is not None:
        out += entry.excerpt.text.split("\n")[:12]
    return "\n".join(out) + "\n"


def render_outline(answer: OutlineAnswer, budget: int) -> ToolResult:
    """As many symbols as fit; the last file may show only its first ones."""
    left = entry_budget(budget)
    files: list[dict[str, Any]] = []
    texts: list[str] = []
    shown = 0
    for file in answer.files:
        lines = list(_outline_lines(file))
        kept, _ = _take_fitting(lines, lambda item: item[0], left)
        if not kept:
            break
        texts.append("\n".join(text for text, _ in kept) + "\n")
        symbols = [data for _, data in kept if data is not None]
        files.append({"path": file.path, "language": file.language, "lines": file.lines, "symbols": symbols})
        shown += len(symbols)
        left -= tokens.count_tokens(texts[-1])
        if len(kept) < len(lines):
            break
    missing = answer.total - shown
    all_of_them = format_count(answer.total, "symbol")
    more = f"{shown:,} of {all_of_them}; name a file, a kind or a larger budget for the rest" if missing else ""
    first = "" if answer.total else "no symbols"
    text = _pack(texts, budget, _join_lines(first, more), answer.basis.degraded)
    data = {
        "path": answer.path, "files": files, "total": answer.total, "shown": shown,
        **_index_data(answer.basis.index, answer.basis.degraded),
    }  # fmt: skip
    return ToolResult(text, data, tuple(file["path"] for file in files))


def _outline_lines(file: OutlineFile) -> Iterator[tuple[str, dict[str, Any] | None]]:
    yield f"{file.path} ({file.language}, {format_count(file.lines, 'line')})", None

    def walk(symbol: OutlineSymbol, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
        said = symbol.signature or symbol.name
        text = f"{'  ' * depth}{symbol.start_line}-{symbol.end_line} {said}"
        data = {
            "name": symbol.name, "qualified": symbol.qualified, "kind": symbol.kind, "signature": symbol.signature,
            "start_line": symbol.start_line, "end_line": symbol.end_line, "depth": depth - 1,
        }  # fmt: skip
        yield text, data
        for child in symbol.children:
            yield from walk(child, depth + 1)

    for symbol in file.symbols:
        yield from walk(symbol, 1)


def render_context(answer: ContextAnswer, budget: int) -> ToolResult:
    left = [f"{section.left_out:,} of {section.name}" for section in answer.sections if section.left_out]
    more = f"left out: {', '.join(left)}" if left else ""
    text = _pack([answer.text], budget, more, answer.basis.degraded)
    data = {
        "path": answer.path, "files": answer.files, "lines": answer.lines, "languages": answer.languages,
        "sections": [section.to_dict() for section in answer.sections], "tokens": answer.tokens,
        **_index_data(answer.basis.index, answer.basis.degraded),
    }  # fmt: skip
    return ToolResult(text, data, (answer.path,))


def render_brief(answer: BriefAnswer, budget: int) -> ToolResult:
    text = _pack([answer.text], budget, "", answer.basis.degraded)
    data = {
        "path": answer.path, "symbol": answer.symbol, "commits": answer.commits, "reverted": answer.reverted,
        "hotfixed": answer.hotfixed, "dependents": answer.dependents,
        "sections": [section.to_dict() for section in answer.sections],
        **_index_data(answer.basis.index, answer.basis.degraded),
    }  # fmt: skip
    return ToolResult(text, data, (answer.path,))


def render_symbol(answer: SymbolAnswer, read: Callable[[str, int, int], str], budget: int) -> ToolResult:
    """Definitions in order, whole while they fit, else their signatures. `read` gives the lines of a file.

    Names that are spelled otherwise, such as `from_request` for `FromRequest`, are not whole beside those that are spelled so.
    """
    left = entry_budget(budget)
    wanted = (split_qualified_name(answer.name) or [""])[-1].strip(_SIGILS)
    near = {number for number, hit in enumerate(answer.definitions) if hit.name.strip(_SIGILS) != wanted}
    near = near if len(near) < len(answer.definitions) else set()
    parts: list[str] = []
    shown: list[dict[str, Any]] = []
    for number, hit in enumerate(answer.definitions):
        head = f"{hit.path}:{hit.start_line}-{hit.end_line} {hit.qualified}\n"
        rest = sum(tokens.count_tokens(_signature(other)) for other in answer.definitions[number + 1 :])
        body = "" if number in near else read(hit.path, hit.start_line, hit.end_line).rstrip("\n")
        whole = f"{head}{body}\n" if body else ""
        fits = bool(whole) and tokens.count_tokens(whole) <= left - min(rest, left // 2)
        part = whole if fits else _signature(hit)
        left -= tokens.count_tokens(part) + 1
        if left < 0 and parts:
            break
        parts.append(part)
        shown.append({**hit.to_dict(), **({"text": body} if fits else {})})
    total = len(answer.definitions)
    more = f"{len(parts)} of {format_count(total, 'definition')}" if len(parts) < total else ""
    first = "" if total else f"nothing defines {answer.name[:200]}; search finds what is like it"
    text = _pack(parts, budget, _join_lines(first, more), answer.degraded)
    data = {"name": answer.name, "definitions": shown, "total": total, **_index_data(answer.index, answer.degraded)}
    return ToolResult(text, data, tuple(dict.fromkeys(entry["path"] for entry in shown)))


def _signature(hit: SymbolHit) -> str:
    return f"{hit.path}:{hit.start_line}-{hit.end_line} {hit.qualified}\n{hit.signature} …\n"


def render_lines(answer: FileAnswer, budget: int) -> ToolResult:
    """Whole lines, as many as fit; the rest is named, so that it can be read next."""
    rows = answer.text.removesuffix("\n").split("\n")
    above = with_headers("", answer.headers)
    left = entry_budget(budget) - tokens.count_tokens(above)
    kept, cut = _take_fitting(rows, lambda row: row, left)
    last = answer.start_line + len(kept) - 1
    more = f"{format_count(answer.lines, 'line')} in all; go on with start_line={last + 1}" if cut else ""
    shown = "\n".join(kept)
    text = _pack([f"{answer.path}:{answer.start_line}-{last}\n{above}{shown}\n"], budget, more, answer.basis.degraded)
    data = {
        "path": answer.path, "language": answer.language, "lines": answer.lines, "start_line": answer.start_line,
        "end_line": last, "text": shown, "headers": headers_data(answer.headers),
        **_index_data(answer.basis.index, answer.basis.degraded),
    }  # fmt: skip
    return ToolResult(text, data, (answer.path,))


def render_projects(projects: Sequence[dict[str, Any]]) -> ToolResult:
    def line(entry: dict[str, Any]) -> str:
        return f"{entry['name']}  {PurePath(entry['folder'])}" + ("" if entry["indexed"] else "  no index yet") + "\n"

    kept, cut = _take_fitting(projects, line, entry_budget(BUDGET))
    more = f"{len(kept)} of {format_count(len(projects), 'project')}" if cut else ""
    text = _pack(["".join(map(line, kept))], BUDGET, more, ())
    return ToolResult(text, {"projects": list(kept), "total": len(projects)})


def render_impact(answer: ImpactAnswer, dependents: Sequence[Dependent], budget: int) -> ToolResult:
    """`dependents` are those that may be shown."""
    kept, _ = _take_fitting(dependents, _dependent_text, entry_budget(budget))
    totals = ", ".join(
        f"hop {hop.hop}: {format_count(hop.total, 'file')}, {format_count(hop.tests, 'test')}" for hop in answer.by_hop
    )
    listed = f"; {len(kept)} of {len(dependents)} listed" if len(kept) < len(dependents) else ""
    target = f"{answer.path} ({answer.symbol})" if answer.symbol else answer.path
    first = "" if dependents else f"nothing imports {target}"
    more = f"{totals}{listed}" if dependents else ""
    text = _pack(["".join(map(_dependent_text, kept))], budget, _join_lines(first, more), answer.basis.degraded)
    data = {
        "path": answer.path, "symbol": answer.symbol, "dependents": [entry.to_dict() for entry in kept],
        "total": len(dependents), "by_hop": [hop.to_dict() for hop in answer.by_hop],
        **_index_data(answer.basis.index, answer.basis.degraded),
    }  # fmt: skip
    return ToolResult(text, data, tuple(dict.fromkeys(entry.path for entry in kept)))


def _dependent_text(entry: Dependent) -> str:
    said = [f"{entry.path}:{entry.line}", f"hop {entry.hop}"]
    said += [f"via {entry.via}"] if entry.hop > 1 else []
    said += [", ".join(entry.names[:8])] if entry.names else []
    said += [entry.use] if entry.use else []
    said += ["test"] if entry.test else []
    return "  ".join(said) + "\n"


def render_references(answer: AnyReferences, show: str, budget: int) -> ToolResult:
    from lurcher.inspect.references.calls import entries_of, use_line

    # What does not fit is left out from the end: tests, examples, and what tools wrote.
    entries = sorted(entries_of(answer), key=lambda entry: _is_aside(entry.path))
    definitions = sorted(answer.definitions, key=lambda place: _is_aside(place.path))
    kept, _ = _take_fitting(entries, use_line, entry_budget(budget))
    defined = ", ".join(f"{place.path}:{place.line}" for place in definitions[:3])
    first = f"{answer.name} is defined at {defined}" if defined else f"nothing in the tree defines {answer.name}"
    listed = f"; {len(kept)} listed" if len(kept) < len(entries) else ""
    more = f"{first}; {format_count(len(entries), show.removesuffix('s'))}{listed}"
    text = _pack(["".join(map(use_line, kept))], budget, more, answer.basis.degraded)
    data = {
        "name": answer.name, "show": show, "definitions": [place.to_dict() for place in definitions],
        "entries": [entry.to_dict() for entry in kept], "total": len(entries),
        **_index_data(answer.basis.index, answer.basis.degraded),
    }  # fmt: skip
    return ToolResult(text, data, tuple(dict.fromkeys(entry.path for entry in kept)))


def _is_aside(path: str) -> bool:
    return bool(roles(path) & ASIDE)


def render_exists(answer: ExistsAnswer) -> ToolResult:
    where = f" {answer.path}:{answer.line}" if answer.path is not None else ""
    text = _pack([f"{answer.verdict}{where}\n"], BUDGET, "", answer.basis.degraded)
    data = {
        "exists": answer.exists, "certain": answer.certain, "path": answer.path, "line": answer.line,
        **_index_data(answer.basis.index, answer.basis.degraded),
    }  # fmt: skip
    return ToolResult(text, data)


def _index_data(index: IndexState, degraded: Sequence[Degraded]) -> dict[str, Any]:
    return {"index": index.to_dict(), "degraded": [note.to_dict() for note in WORDING.render_notes(degraded)]}


def _join_lines(*said: str) -> str:
    return "\n".join(line for line in said if line)


def _render_notes(degraded: Sequence[Degraded]) -> str:
    """The notes, which come before the entries because they limit what those say."""
    said = []
    for note in WORDING.render_notes(degraded[:_MOST_NOTES]):
        text = f"note: {note.reason}" + (f" ({note.hint})" if note.hint else "")
        said.append(text if len(text) <= _LONGEST_NOTE else text[: _LONGEST_NOTE - 1] + "…")
    if len(degraded) > _MOST_NOTES:
        left = len(degraded) - _MOST_NOTES
        said.append(f"and {left} more {'note' if left == 1 else 'notes'}")
    return "\n".join(said)


def _take_fitting(items: Sequence[Any], text_of: Callable[[Any], str], left: int) -> tuple[list[Any], int]:
    """The first items that fit, at least one, and how many do not."""
    kept: list[Any] = []
    for item in items:
        left -= tokens.count_tokens(text_of(item)) + 1
        if left < 0 and kept:
            break
        kept.append(item)
    return kept, len(items) - len(kept)


def _pack(
    parts: Sequence[str], budget: int, below: str, degraded: Sequence[Degraded], sure: bool = False, caveat: str = ""
) -> str:
    """Join notes, parts and the line below them within the budget; the longest part is shortened, marked by `…`, until it fits.

    If it is `sure` that they fit, tokens are not counted. The `caveat` comes before all else.
    """
    texts = list(parts)
    above = _join_lines(caveat, _render_notes(degraded))

    def whole() -> str:
        said = "\n".join([*texts, below] if below else texts).strip("\n")
        return f"{above}\n\n{said}" if above and said else above or said

    text = whole()
    while not sure and texts and tokens.count_tokens(text) > budget:
        longest = max(range(len(texts)), key=lambda i: len(texts[i]))
        lines = texts[longest].rstrip("\n").split("\n")
        if len(lines) < 4:
            if len(texts[longest]) < 200:
                break
            texts[longest] = texts[longest][: len(texts[longest]) // 2].rstrip("\n…") + "…\n"
        else:
            texts[longest] = "\n".join(lines[: max(2, len(lines) * 3 // 4)]).rstrip("\n…") + "\n…\n"
        text = whole()
    return text


# -- the JSON schemas of the data; fields are added over time, never renamed --------------------------------------------

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_INT: Schema = {"type": "integer"}
_FLOAT: Schema = {"type": "number"}
_BOOL: Schema = {"type": "boolean"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_INT_OR_NULL: Schema = {"type": ["integer", "null"]}


def _list_of(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def _object(*optional: str, **properties: Schema) -> Schema:
    """An object that has all of `properties` but the `optional` ones."""
    return {"type": "object", "properties": properties, "required": [name for name in properties if name not in optional]}


_DEGRADED = _list_of(_object(stage=_TEXT, reason=_TEXT, hint=_TEXT))
_INDEX = _object(
    "shared", generation=_INT, fresh=_BOOL, stale_paths=_INT, coverage={"type": "object"}, shared={"type": "object"}
)
_COMMIT = _object(
    "files", "file_count", sha=_TEXT, subject=_TEXT, author=_TEXT, date=_TEXT, outcome={"type": "object"},
    files=_list_of(_TEXT),
    file_count=_INT,
)  # fmt: skip
_CELL = _object(number=_INT, type=_TEXT, start_line=_INT, end_line=_INT)
_HEADERS = _list_of(_object(line=_INT, text=_TEXT))
_PLACE = _object(
    "text", "cell", "headers", start_line=_INT, end_line=_INT, line=_INT, symbol=_TEXT_OR_NULL, kind=_TEXT_OR_NULL,
    score=_FLOAT, text=_TEXT, cell=_CELL, headers=_HEADERS,
)  # fmt: skip
_HIT = _object(
    "commit", "note", "cell", "library", "version", "headers", source=_TEXT, path=_TEXT, start_line=_INT, end_line=_INT,
    line=_INT, language=_TEXT, symbol=_TEXT_OR_NULL, kind=_TEXT_OR_NULL, score=_FLOAT, text=_TEXT, commit=_COMMIT,
    note={"type": "object"}, cell=_CELL,
    library=_TEXT, version=_TEXT, headers=_HEADERS, places=_list_of(_PLACE),
)  # fmt: skip
SEARCH_SCHEMA = _object(
    "at_least", "confidence", "likelihood", "unknown_words", "caveat", "intent", "references", intent=_TEXT,
    references=_object(
        show=_TEXT, name=_TEXT, definitions=_list_of({"type": "object"}), entries=_list_of({"type": "object"}), total=_INT,
    ),
    confidence={"enum": [STRONG, FAIR, WEAK, NONE]},
    likelihood=_object("here", "first", here=_FLOAT, first=_FLOAT), unknown_words=_list_of(_TEXT), caveat=_TEXT,
    hits=_list_of(_HIT), total=_INT, at_least=_BOOL, next=_TEXT_OR_NULL, mode=_TEXT, index=_INDEX, degraded=_DEGRADED,
)  # fmt: skip
EXPLAIN_SCHEMA = _object(path=_TEXT, commits=_list_of({"type": "object"}), total=_INT, degraded=_DEGRADED)
_SYMBOL = _object(
    name=_TEXT, qualified=_TEXT, kind=_TEXT, signature=_TEXT, start_line=_INT, end_line=_INT, depth=_INT,
)  # fmt: skip
OUTLINE_SCHEMA = _object(
    path=_TEXT, files=_list_of(_object(path=_TEXT, language=_TEXT, lines=_INT, symbols=_list_of(_SYMBOL))), total=_INT,
    shown=_INT,
    index=_INDEX, degraded=_DEGRADED,
)  # fmt: skip
CONTEXT_SCHEMA = _object(
    path=_TEXT, files=_INT, lines=_INT, languages={"type": "object"},
    sections=_list_of(_object(name=_TEXT, entries=_list_of(_TEXT), left_out=_INT)), tokens=_INT, index=_INDEX,
    degraded=_DEGRADED,
)  # fmt: skip
BRIEF_SCHEMA = _object(
    "symbol", "commits", "reverted", "hotfixed", "dependents", "files", "lines", "languages", "tokens", path=_TEXT,
    symbol=_TEXT_OR_NULL, commits=_INT, reverted=_INT, hotfixed=_INT, dependents=_INT, files=_INT, lines=_INT,
    languages={"type": "object"}, sections=_list_of(_object(name=_TEXT, entries=_list_of(_TEXT), left_out=_INT)), tokens=_INT,
    index=_INDEX, degraded=_DEGRADED,
)  # fmt: skip
SYMBOL_SCHEMA = _object(
    name=_TEXT, definitions=_list_of({"type": "object"}), total=_INT, index=_INDEX, degraded=_DEGRADED,
)  # fmt: skip
READ_SCHEMA = _object(
    path=_TEXT, language=_TEXT, lines=_INT, start_line=_INT, end_line=_INT, text=_TEXT, headers=_HEADERS, index=_INDEX,
    degraded=_DEGRADED,
)  # fmt: skip
PROJECTS_SCHEMA = _object(projects=_list_of(_object(name=_TEXT, folder=_TEXT, indexed=_BOOL)), total=_INT)
_DEPENDENT = _object(
    "use", path=_TEXT, hop=_INT, via=_TEXT, names=_list_of(_TEXT), line=_INT, confidence=_FLOAT, test=_BOOL, use=_TEXT_OR_NULL,
)  # fmt: skip
_HOP = _object(hop=_INT, total=_INT, tests=_INT, shown=_INT)
IMPACT_SCHEMA = _object(
    path=_TEXT, symbol=_TEXT_OR_NULL, dependents=_list_of(_DEPENDENT), total=_INT, by_hop=_list_of(_HOP), index=_INDEX,
    degraded=_DEGRADED,
)  # fmt: skip
REFERENCES_SCHEMA = _object(
    name=_TEXT, show=_TEXT, definitions=_list_of({"type": "object"}), entries=_list_of({"type": "object"}), total=_INT,
    index=_INDEX, degraded=_DEGRADED,
)  # fmt: skip
EXISTS_SCHEMA = _object(exists=_BOOL, certain=_BOOL, path=_TEXT_OR_NULL, line=_INT_OR_NULL, index=_INDEX, degraded=_DEGRADED)
_ROOT = _object(
    "generation", "files", "units", "fresh", "stale_paths", "problem", "hint", "history", "languages", "files_found",
    root=_TEXT, exists=_BOOL, generation=_INT, files=_INT, units=_INT, fresh=_BOOL, stale_paths=_INT, problem=_TEXT, hint=_TEXT,
    history={"type": "object"}, languages={"type": "object"}, files_found=_INT,
)  # fmt: skip
STATUS_SCHEMA = _object(
    "building", "shared", roots=_list_of(_ROOT), building=_object(what=_TEXT, done=_INT, total=_INT), shared={"type": "object"}
)
INDEX_SCHEMA = _object(
    "degraded", "shared", roots=_list_of(_ROOT), seconds=_FLOAT, degraded=_DEGRADED, shared={"type": "object"},
)  # fmt: skip
