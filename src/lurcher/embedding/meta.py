"""What a term table says of itself, checked."""

from __future__ import annotations

from math import isfinite

from lurcher.errors import LurcherError
from lurcher.light import TYPE_CHECKING, dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

VERSION = 1
COMPOSE = ("grams", "wordpiece", "none")
FIELDS = {"body": 1.0, "comments": 1.0, "symbols": 1.0, "name": 2.0, "folder": 1.0}
"""What each field counts in a unit's vector, where a table does not say."""
CARD = {"name": 2.0, "folder": 1.0, "comments": 1.0, "symbols": 1.0}
"""The same for the summary of a file."""
VIEWS = {"summary": 0.3, "name": 0.3, "folder": 0.05, "comments": 0.15, "units": 0.2}
"""What each view of a file counts in its card."""
MOST_DIMS = 4096
_MOST_WEIGHT = 1000.0


@dataclass(frozen=True, slots=True)
class Meta:
    version: int
    name: str
    dims: int
    bits: int
    compose: str
    """What an unseen term is composed of: hashed n-grams, pieces of the vocabulary, or nothing."""
    gram_lengths: tuple[int, ...]
    gram_weight_query: float
    gram_weight_document: float
    fields: dict[str, float]
    card: dict[str, float]
    views: dict[str, float]
    training: Any
    """How it was made: text or a table, only ever shown."""
    licence: str


def checked_meta(found: Mapping[str, Any], corrupt: Callable[[str], LurcherError]) -> Meta:
    """The meta entry of a table file; `corrupt` makes the error."""

    def value(name: str, kind: type, default: Any = None) -> Any:
        given = found.get(name, default)
        if type(given) is not kind:
            raise corrupt(f"its '{name}' is missing or of another kind")
        return given

    def number(name: str, given: Any) -> float:
        if type(given) not in (int, float) or not isfinite(given) or abs(given) > _MOST_WEIGHT:
            raise corrupt(f"its '{name}' is no usable number")
        return float(given)

    def weights(name: str, defaults: Mapping[str, float]) -> dict[str, float]:
        given = value(name, dict, {})
        unknown = sorted(set(given) - set(defaults))
        if unknown:
            raise corrupt(f"its '{name}' has an unknown entry '{unknown[0]}'")
        return {key: number(name, given.get(key, default)) for key, default in defaults.items()}

    version = value("version", int)
    if version != VERSION:
        raise corrupt(f"it is a table of version {version}, not {VERSION}")
    dims, bits, compose = value("dims", int), value("bits", int), value("compose", str)
    if not 1 <= dims <= MOST_DIMS:
        raise corrupt(f"it has {dims} dimensions, not 1 to {MOST_DIMS}")
    if bits not in (4, 8):
        raise corrupt(f"it has numbers of {bits} bits, not 4 or 8")
    if compose not in COMPOSE:
        raise corrupt(f"it composes unseen terms by '{compose[:40]}'")
    lengths = value("gram_lengths", list, [])
    if len(lengths) > 8 or any(type(length) is not int or not 1 <= length <= 16 for length in lengths):
        raise corrupt("its n-grams have no usable lengths")
    return Meta(
        version, value("name", str), dims, bits, compose, tuple(sorted(set(lengths))),
        number("gram_weight_query", found.get("gram_weight_query", 1.0)),
        number("gram_weight_document", found.get("gram_weight_document", 1.0)),
        weights("fields", FIELDS), weights("card", CARD), weights("views", VIEWS), found.get("training", ""),
        value("licence", str, ""),
    )  # fmt: skip


def row_bytes(dims: int, bits: int) -> int:
    """How many bytes a quantised row has."""
    return dims if bits == 8 else (dims + 1) // 2
