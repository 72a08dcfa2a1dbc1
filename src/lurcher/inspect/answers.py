"""What surveys answer with: frozen, slotted; `to_dict` gives the JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lurcher.types import Degraded, IndexState

if TYPE_CHECKING:
    from lurcher.indexing.generation import View


@dataclass(frozen=True, slots=True)
class Basis:
    """What every answer says of the index behind it."""

    index: IndexState
    degraded: tuple[Degraded, ...] = ()
    views: tuple[View, ...] = ()
    """What it is of each root; no part of an answer."""

    def to_dict(self) -> dict[str, Any]:
        return {"index": self.index.to_dict(), "degraded": [entry.to_dict() for entry in self.degraded]}


def _fields(value: Any) -> dict[str, Any]:
    """The plain fields of an answer, tuples as lists."""
    found = {name: getattr(value, name) for name in value.__match_args__}
    return {name: list(item) if isinstance(item, tuple) else item for name, item in found.items()}


@dataclass(frozen=True, slots=True)
class Dependent:
    """A file that depends on another over one or more imports."""

    path: str
    hop: int
    via: str
    """The file one hop nearer to the one asked about."""
    names: tuple[str, ...]
    """What it takes from there; nothing if it imports it as a whole."""
    line: int
    confidence: float
    language: str
    test: bool
    use: str | None = None
    """How it uses the symbol, if one was asked for: imported by name, or mentioned."""

    def to_dict(self) -> dict[str, Any]:
        return {**_fields(self), "confidence": round(self.confidence, 4)}


@dataclass(frozen=True, slots=True)
class Hop:
    """One hop's totals; `shown` of them are listed."""

    hop: int
    total: int
    tests: int
    shown: int

    def to_dict(self) -> dict[str, Any]:
        return _fields(self)


@dataclass(frozen=True, slots=True)
class ImpactAnswer:
    """What depends on a file: nearest first, then most certain, then by path."""

    path: str
    language: str
    symbol: str | None
    hops: int
    dependents: tuple[Dependent, ...]
    by_hop: tuple[Hop, ...]
    standing: Basis

    @property
    def total(self) -> int:
        return sum(hop.total for hop in self.by_hop)

    @property
    def tests(self) -> int:
        return sum(hop.tests for hop in self.by_hop)

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "language": self.language,
            "symbol": self.symbol,
            "hops": self.hops,
            "dependents": [entry.to_dict() for entry in self.dependents],
            "total": self.total,
            "tests": self.tests,
            "by_hop": [hop.to_dict() for hop in self.by_hop],
            **self.standing.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class OutlineSymbol:
    """A definition with those inside of it."""

    name: str
    qualified: str
    kind: str
    signature: str
    start_line: int
    end_line: int
    exported: bool
    children: tuple[OutlineSymbol, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {**_fields(self), "children": [child.to_dict() for child in self.children]}

    def __len__(self) -> int:
        return 1 + sum(map(len, self.children))


@dataclass(frozen=True, slots=True)
class OutlineFile:
    path: str
    language: str
    lines: int
    symbols: tuple[OutlineSymbol, ...]

    def to_dict(self) -> dict[str, Any]:
        return {**_fields(self), "symbols": [symbol.to_dict() for symbol in self.symbols]}


@dataclass(frozen=True, slots=True)
class OutlineAnswer:
    """The symbols of a file, or of each file of a folder that has some, by path."""

    path: str
    kinds: tuple[str, ...]
    files: tuple[OutlineFile, ...]
    standing: Basis

    @property
    def total(self) -> int:
        return sum(len(symbol) for file in self.files for symbol in file.symbols)

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "kinds": list(self.kinds),
            "files": [file.to_dict() for file in self.files],
            "total": self.total,
            **self.standing.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a package: its entries as lines of text, and how many more there are."""

    name: str
    entries: tuple[str, ...]
    left_out: int

    def to_dict(self) -> dict[str, Any]:
        return _fields(self)


@dataclass(frozen=True, slots=True)
class ContextAnswer:
    """What is worth knowing of a file or folder before one works on it, within a budget of tokens."""

    path: str
    budget: int
    tokens: int
    files: int
    lines: int
    languages: dict[str, int]
    """Language to its number of files."""
    sections: tuple[Section, ...]
    text: str
    """The whole package, ready to be put into a prompt; `tokens` is what it costs."""
    standing: Basis

    def to_dict(self) -> dict[str, Any]:
        out = _fields(self)
        del out["standing"]
        return {**out, "sections": [section.to_dict() for section in self.sections], **self.standing.to_dict()}


@dataclass(frozen=True, slots=True)
class ExistsAnswer:
    """Whether a text occurs. Without `certain`, a yes is probable, and a no holds for the files that were read."""

    pattern: str
    exists: bool
    certain: bool
    path: str | None
    """Where it was found, if it was looked for."""
    line: int | None
    standing: Basis

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if self.exists:
            return "yes" if self.certain else "probably"
        return "no" if self.certain else "no, as far as files were read"

    def to_dict(self) -> dict[str, Any]:
        out = _fields(self)
        del out["standing"]
        return {**out, **self.standing.to_dict()}
