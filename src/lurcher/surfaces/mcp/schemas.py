"""What each tool's data looks like. Fields are added over time, never renamed; who reads them ignores what is new."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
YES: Schema = {"type": "boolean"}
MAYBE: Schema = {"type": ["string", "null"]}
MAYBE_WHOLE: Schema = {"type": ["integer", "null"]}


def many(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def thing(*optional: str, **properties: Schema) -> Schema:
    """An object that has all of `properties` but the `optional` ones."""
    return {"type": "object", "properties": properties, "required": [name for name in properties if name not in optional]}


DEGRADED = many(thing(stage=TEXT, reason=TEXT, hint=TEXT))
INDEX = thing(
    "shared", generation=WHOLE, fresh=YES, stale_paths=WHOLE, coverage={"type": "object"}, shared={"type": "object"}
)
COMMIT = thing(
    "files", "file_count", sha=TEXT, subject=TEXT, author=TEXT, date=TEXT, outcome={"type": "object"}, files=many(TEXT),
    file_count=WHOLE,
)  # fmt: skip
CELL = thing(number=WHOLE, type=TEXT, start_line=WHOLE, end_line=WHOLE)
HIT = thing(
    "commit", "note", "cell", "library", "version", source=TEXT, path=TEXT, start_line=WHOLE, end_line=WHOLE, line=WHOLE,
    language=TEXT, symbol=MAYBE, kind=MAYBE, score=NUMBER, text=TEXT, commit=COMMIT, note={"type": "object"}, cell=CELL,
    library=TEXT, version=TEXT,
)  # fmt: skip
SEARCH = thing("at_least", hits=many(HIT), total=WHOLE, at_least=YES, next=MAYBE, mode=TEXT, index=INDEX, degraded=DEGRADED)
EXPLAIN = thing(path=TEXT, commits=many({"type": "object"}), total=WHOLE, degraded=DEGRADED)
SYMBOL = thing(
    name=TEXT, qualified=TEXT, kind=TEXT, signature=TEXT, start_line=WHOLE, end_line=WHOLE, depth=WHOLE,
)  # fmt: skip
OUTLINE = thing(
    path=TEXT, files=many(thing(path=TEXT, language=TEXT, lines=WHOLE, symbols=many(SYMBOL))), total=WHOLE, shown=WHOLE,
    index=INDEX, degraded=DEGRADED,
)  # fmt: skip
CONTEXT = thing(
    path=TEXT, files=WHOLE, lines=WHOLE, languages={"type": "object"},
    sections=many(thing(name=TEXT, entries=many(TEXT), left_out=WHOLE)), tokens=WHOLE, index=INDEX, degraded=DEGRADED,
)  # fmt: skip
DEPENDENT = thing(
    "use", path=TEXT, hop=WHOLE, via=TEXT, names=many(TEXT), line=WHOLE, confidence=NUMBER, test=YES, use=MAYBE,
)  # fmt: skip
HOP = thing(hop=WHOLE, total=WHOLE, tests=WHOLE, shown=WHOLE)
IMPACT = thing(
    path=TEXT, symbol=MAYBE, dependents=many(DEPENDENT), total=WHOLE, by_hop=many(HOP), index=INDEX, degraded=DEGRADED,
)  # fmt: skip
EXISTS = thing(exists=YES, certain=YES, path=MAYBE, line=MAYBE_WHOLE, index=INDEX, degraded=DEGRADED)
ROOT = thing(
    "generation", "files", "units", "fresh", "stale_paths", "problem", "hint", "history", "languages", "files_found",
    root=TEXT, exists=YES, generation=WHOLE, files=WHOLE, units=WHOLE, fresh=YES, stale_paths=WHOLE, problem=TEXT, hint=TEXT,
    history={"type": "object"}, languages={"type": "object"}, files_found=WHOLE,
)  # fmt: skip
STATUS = thing(
    "building", "shared", roots=many(ROOT), building=thing(what=TEXT, done=WHOLE, total=WHOLE), shared={"type": "object"}
)
INDEXED = thing("degraded", "shared", roots=many(ROOT), seconds=NUMBER, degraded=DEGRADED, shared={"type": "object"})
