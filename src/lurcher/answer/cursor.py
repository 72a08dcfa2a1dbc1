"""Cursors: where the next page begins, as a short string that is part of an answer and is sent back with the next query.

A cursor is base64url text (no padding) of

    version (1 byte) | body | seal (8 bytes: keyed BLAKE2b over version and body)

and the body of version 1 is: query digest (8), root digest (6), index digest (6), then as variable-length numbers the
index generation, the position and the waiting results, each as its distance from the one before. Version 2 is for
reranked answers: before the waiting results it has the number of rerankers, and for each the number of its scores and the
scores. So a later page is computed from the same scores, without running a model again.

Later versions must keep the version and the seal where they are, so that a cursor of another version can be told from a
damaged one. The key is no secret: the seal catches accidents and edits by hand, and a cursor grants nothing that a query
does not.
"""

from __future__ import annotations

from _operator import _compare_digest as compare_digest

from lurcher.answer.budget import PackState
from lurcher.errors import CursorError
from lurcher.runtime.fastjson import blake2b, dumps
from lurcher.runtime.light import TYPE_CHECKING, asdict, dataclass, lru_cache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _typeshed import DataclassInstance

VERSION, RERANKED = 1, 2
MAX_LENGTH = 4096

_KEY = b"lurcher cursor"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_SEAL_BYTES = 8
_QUERY_BYTES = 8
_ROOT_BYTES = 6
_INDEX_BYTES = 6
_LARGEST_NUMBER = 2**63 - 1
_AGAIN = "run the query again without the cursor"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Digests of what a result list depends on. A cursor is valid only while all of them are the same."""

    query: bytes
    root: bytes
    index: bytes
    generation: int


@dataclass(frozen=True, slots=True)
class CursorState:
    place: PackState
    fingerprint: Fingerprint
    rerank_scores: tuple[tuple[int, ...], ...] | None = None
    """The scores of each reranker for the first hits; None where nothing was reranked."""


def make_fingerprint(
    query: DataclassInstance, *, root: str, generation: int, checksum: str = "", options: str = ""
) -> Fingerprint:
    """Digest what the results depend on.

    Every field of the query counts except the cursor itself. `checksum` is the manifest's: an index that was deleted
    and rebuilt may reach the same generation. `options` is whatever else changes the list, such as ranking settings.
    """
    fields = {name: value for name, value in asdict(query).items() if name != "cursor"}
    canonical = f'["query",[{_canonical(fields)},{_cached_canonical(options)}]]'
    return Fingerprint(
        query=blake2b(canonical.encode("ascii"), digest_size=_QUERY_BYTES).digest(),
        root=_cached_digest("root", root, _ROOT_BYTES),
        index=_cached_digest("index", (generation, checksum), _INDEX_BYTES),
        generation=generation,
    )


def combine_fingerprints(prints: Sequence[Fingerprint]) -> Fingerprint:
    """The fingerprint of a list that was merged from several."""

    def digest(kind: str, size: int) -> bytes:
        return _digest(kind, [getattr(item, kind).hex() for item in prints], size)

    return Fingerprint(
        digest("query", _QUERY_BYTES), digest("root", _ROOT_BYTES), digest("index", _INDEX_BYTES),
        sum(item.generation for item in prints),
    )  # fmt: skip


def encode(state: CursorState) -> str:
    """The same state always gives the same string."""
    fingerprint = state.fingerprint
    numbers = [fingerprint.generation, state.place.position]
    if state.rerank_scores is not None:
        numbers.append(len(state.rerank_scores))
        for scores in state.rerank_scores:
            numbers += [len(scores), *scores]
    before = 0
    for index in state.place.waiting:
        numbers.append(index - before)
        before = index
    version = VERSION if state.rerank_scores is None else RERANKED
    head = bytes([version]) + fingerprint.query + fingerprint.root + fingerprint.index
    sealed = head + b"".join(_encode_number(value) for value in numbers)
    return _encode_base64(sealed + _make_seal(sealed))


def decode(text: str, *, expect: Fingerprint) -> CursorState:
    """Read a cursor, or raise CursorError: damaged, other version, other folder, other query, or changed index."""
    if len(text) > MAX_LENGTH:
        raise CursorError(f"the cursor is too long ({len(text)} characters)", f"pass it as it was given, or {_AGAIN}")
    sealed = _check_seal(text)
    if sealed[0] not in (VERSION, RERANKED):
        raise CursorError("the cursor was made by another version of lurcher", _AGAIN)
    state = _parse_body(sealed[1:], sealed[0] == RERANKED)
    if encode(state) != text:
        raise _make_damage_error()
    made = state.fingerprint
    if made.root != expect.root:
        raise CursorError("the cursor belongs to another folder", f"search the folder it came from, or {_AGAIN}")
    if made.query != expect.query:
        raise CursorError(
            "the cursor belongs to another query or other options",
            f"repeat the query with the same options, or {_AGAIN}",
        )
    if (made.generation, made.index) != (expect.generation, expect.index):
        raise CursorError("the index has changed since; run the query again", _AGAIN)
    return state


def _check_seal(text: str) -> bytes:
    """The bytes before the seal; raises unless the text is exactly what some version of `encode` wrote."""
    try:
        import base64

        raw = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except ValueError as error:
        raise _make_damage_error() from error
    # The decoder skips foreign characters and ignores spare bits at the end; only the one true spelling is accepted.
    if len(raw) <= _SEAL_BYTES or _encode_base64(raw) != text:
        raise _make_damage_error()
    sealed, seal = raw[:-_SEAL_BYTES], raw[-_SEAL_BYTES:]
    if not compare_digest(seal, _make_seal(sealed)):
        raise _make_damage_error()
    return sealed


def _parse_body(body: bytes, reranked: bool) -> CursorState:
    cuts = (_QUERY_BYTES, _QUERY_BYTES + _ROOT_BYTES, _QUERY_BYTES + _ROOT_BYTES + _INDEX_BYTES)
    query, root, index = body[: cuts[0]], body[cuts[0] : cuts[1]], body[cuts[1] : cuts[2]]
    numbers = _decode_numbers(body[cuts[2] :])
    if len(numbers) < 2:
        raise _make_damage_error()
    generation, position, *gaps = numbers
    scores = None
    if reranked:
        scores, gaps = _parse_scores(gaps)
    waiting: list[int] = []
    for gap in gaps:
        waiting.append(gap + (waiting[-1] if waiting else 0))
    try:
        place = PackState(position, tuple(waiting))
    except ValueError as error:
        raise _make_damage_error() from error
    return CursorState(place, Fingerprint(query, root, index, generation), scores)


def _parse_scores(numbers: list[int]) -> tuple[tuple[tuple[int, ...], ...], list[int]]:
    """The scores of each reranker, and the numbers after them."""
    if not numbers:
        raise _make_damage_error()
    found, place = [], 1
    for _ in range(numbers[0]):
        if place >= len(numbers) or place + 1 + numbers[place] > len(numbers):
            raise _make_damage_error()
        found.append(tuple(numbers[place + 1 : place + 1 + numbers[place]]))
        place += 1 + numbers[place]
    return tuple(found), numbers[place:]


def _make_damage_error() -> CursorError:
    return CursorError("the cursor is damaged", f"pass it exactly as it was given, or {_AGAIN}")


def _encode_base64(raw: bytes) -> str:
    """base64url without padding. Importing the standard module would take longer than this loop."""
    spare = -len(raw) * 8 % 6
    number = int.from_bytes(raw, "big") << spare
    return "".join(_LETTERS[number >> shift & 63] for shift in range(len(raw) * 8 + spare - 6, -1, -6))


def _make_seal(sealed: bytes) -> bytes:
    return blake2b(sealed, digest_size=_SEAL_BYTES, key=_KEY).digest()


def _digest(kind: str, value: object, size: int) -> bytes:
    return blake2b(_canonical([kind, value]).encode("ascii"), digest_size=size).digest()


def _canonical(value: object) -> str:
    return dumps(value, sort_keys=True, separators=(",", ":"))


# Digests that are the same for one query after another.
_cached_digest = lru_cache(maxsize=64)(_digest)
_cached_canonical = lru_cache(maxsize=8)(_canonical)


def _encode_number(value: int) -> bytes:
    """Seven bits a byte, lowest first, the high bit set on all but the last."""
    if not 0 <= value <= _LARGEST_NUMBER:
        raise ValueError(f"a cursor cannot carry {value}")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _decode_numbers(raw: bytes) -> list[int]:
    out: list[int] = []
    value = shift = 0
    for byte in raw:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            out.append(value)
            value = shift = 0
    if any(number > _LARGEST_NUMBER for number in out):
        raise _make_damage_error()
    return out
