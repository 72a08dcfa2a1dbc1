"""From the findings of a corpus to one page of an answer within a token budget, and the cursor of the next page.

    Findings → rerank → pack → group by file → Answer

Results are places in one order. A page takes them in that order, and then shows those of one file together, as one hit: so
a further place of a file is on the page if it is better than the first place of the last file. Pages partition the places,
and none is cut to fit. A place that does not fit what is left of this page waits for the next one, so a page begins at a
position plus the places before it that still wait (`PackState`). Tokens are those of cl100k_base.

A cursor says where the next page begins; it is part of an answer and is sent back with the next query. It is base64url text
(no padding) of

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
from functools import lru_cache
from itertools import pairwise

from lurcher.config import Settings
from lurcher.errors import CursorError, QueryError, Template
from lurcher.runtime.stdlib import Protocol, blake2b, dumps
from lurcher.types import NONE, Answer, Confidence, Degraded, Hit, IndexState, Place, Record, Why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from lurcher.rerank.stage import Candidate, Factor, RerankedOrder
    from lurcher.runtime.process import Cache
    from lurcher.types import Filter


MAX_PLACES = 5
"""Places of one hit. Further ones of its file wait for the next page."""
MAX_WAITING = 64
"""How many places may wait at once. Bounds the length of a cursor, and how far a small place may overtake larger ones."""
CHARACTERS_PER_TOKEN = 4
_MAX_CACHED_CHARS = 8000
"""Counts of texts with more characters are not cached."""


class PackState(Record):
    """Where a page begins: all results before `position` were shown or reported, except those `waiting`."""

    __slots__ = ("position", "waiting")

    def __init__(self, position: int = 0, waiting: tuple[int, ...] = ()) -> None:
        self.position, self.waiting = position, waiting
        bounds = (-1, *self.waiting, self.position)
        if len(self.waiting) > MAX_WAITING or any(a >= b for a, b in pairwise(bounds)):
            raise ValueError(f"not a place in a result list: {self.position}, {self.waiting}")


START = PackState()


class Page(Record):
    __slots__ = ("indices", "costs", "oversized", "next")

    def __init__(
        self, indices: tuple[int, ...], costs: tuple[int, ...], oversized: tuple[int, ...], next: PackState | None,
    ) -> None:  # fmt: skip
        self.indices = indices
        """The results to show, best first."""
        self.costs = costs
        """The cost of each of `indices`."""
        self.oversized = oversized
        """Results larger than the whole budget; each is reported on one page only."""
        self.next = next
        """Where the next page begins; None when nothing is left. A next page always has something to show."""

    @property
    def tokens(self) -> int:
        return sum(self.costs)


def pack(
    cost: Callable[[int], int], total: int, *, budget: int | None, limit: int, start: PackState = START,
    patience: int = MAX_WAITING, group: Callable[[int], object] = int, add: Add | None = None,
) -> Page:  # fmt: skip
    """Fill one page from results 0 … total - 1, which are in score order; `cost(i)` is called at most once per result.

    Results of the same `group` make one hit, and a page has at most `limit` hits. `add(i, members)` returns the tokens that
    result i adds to a hit, and the number of its places then; None: all are places of their own. Stop after `patience`
    results that do not fit the budget.
    """
    if limit < 1:
        raise QueryError(f"the limit is {limit}; a page holds at least one hit", "use a limit of 1 or more")
    if budget is not None and budget < 1:
        raise QueryError(f"the budget is {budget} tokens; nothing fits", "use a budget of 1 or more, or none")
    if start.position > total:
        raise CursorError("the cursor points past the end of the results", "run the query again without the cursor")

    left = budget
    shown: list[int] = []
    costs: list[int] = []
    waiting: list[int] = []
    oversized: list[int] = []
    hits: dict[object, tuple[int, ...]] = {}
    position, too_large = start.position, 0

    def place(index: int) -> bool:
        """Shows a result, or lets it wait; False if the page is full, so that it ends before this one."""
        nonlocal left, too_large
        hit = group(index)
        members = hits.get(hit, ())
        if left == 0 or (not members and len(hits) == limit):
            return False
        price, places = cost(index), len(members) + 1
        if budget is not None and price > budget:
            oversized.append(index)
            return True
        if members and add is not None:
            price, places = add(index, members)
        if left is not None and price > left:
            waiting.append(index)
            too_large += 1
        elif places > MAX_PLACES:
            waiting.append(index)
        else:
            left = None if left is None else left - price
            hits[hit] = (*members, index)
            shown.append(index)
            costs.append(price)
        return True

    full = False
    for at, index in enumerate(start.waiting):
        full = not place(index)
        if full:
            waiting.extend(start.waiting[at:])
            break
    while position < total and not full and too_large < patience and len(waiting) < MAX_WAITING:
        full = not place(position)
        position += not full
    # Without looking ahead, results that end with oversized hits would lead to an empty next page.
    if budget is not None and not waiting:
        while position < total and cost(position) > budget:
            oversized.append(position)
            position += 1

    more = position < total or bool(waiting)
    return Page(tuple(shown), tuple(costs), tuple(oversized), PackState(position, tuple(waiting)) if more else None)


def estimate_tokens(text: str) -> int:
    """Roughly how many tokens the text has: a quarter of its characters, rounded up. Not a bound: see `count`."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def count_tokens(text: str) -> int:
    """Exactly how many cl100k_base tokens the text has; the spelling of a special token counts as ordinary text."""
    return _count_uncached(text) if len(text) > _MAX_CACHED_CHARS else _count_cached(text)


def _count_uncached(text: str) -> int:
    if not text:
        return 0
    from lurcher.answer.token_table import load_counter

    count = load_counter()
    try:
        return count(text)
    except UnicodeEncodeError:
        return count(_replace_lone_surrogates(text))


_count_cached = lru_cache(maxsize=1024)(_count_uncached)
"""A server shows the same units for one query after another."""


def _replace_lone_surrogates(text: str) -> str:
    """Joins surrogate pairs and replaces lone ones by U+FFFD, as tiktoken does, because UTF-8 cannot encode them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


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


class Fingerprint(Record):
    """Digests of what a result list depends on. A cursor is valid only while all of them are the same."""

    __slots__ = ("query", "root", "index", "generation")

    def __init__(self, query: bytes, root: bytes, index: bytes, generation: int) -> None:
        self.query, self.root, self.index, self.generation = query, root, index, generation


class CursorState(Record):
    __slots__ = ("place", "fingerprint", "rerank_scores")

    def __init__(
        self, place: PackState, fingerprint: Fingerprint, rerank_scores: tuple[tuple[int, ...], ...] | None = None,
    ) -> None:  # fmt: skip
        self.place, self.fingerprint = place, fingerprint
        self.rerank_scores = rerank_scores
        """The scores of each reranker for the first hits; None where nothing was reranked."""


def make_fingerprint(
    query: PageRequest, *, root: str, generation: int, checksum: str = "", options: str = ""
) -> Fingerprint:
    """Digest what the results depend on.

    Every field of the query counts except the cursor itself. `checksum` is the manifest's: an index that was deleted
    and rebuilt may reach the same generation. `options` is whatever else changes the list, such as ranking settings.
    """
    fields = {name: getattr(query, name) for name in query.__slots__ if name != "cursor"}
    fields["filter"] = {name: getattr(query.filter, name) for name in query.filter.__slots__}
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


def encode_cursor(state: CursorState) -> str:
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


def decode_cursor(text: str, *, expect: Fingerprint) -> CursorState:
    """Read a cursor, or raise CursorError: damaged, other version, other folder, other query, or changed index."""
    if len(text) > MAX_LENGTH:
        raise CursorError(f"the cursor is too long ({len(text)} characters)", f"pass it as it was given, or {_AGAIN}")
    sealed = _check_seal(text)
    if sealed[0] not in (VERSION, RERANKED):
        raise CursorError("the cursor was made by another version of lurcher", _AGAIN)
    state = _parse_body(sealed[1:], sealed[0] == RERANKED)
    if encode_cursor(state) != text:
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
    """The bytes before the seal; raises unless the text is exactly what some version of `encode_cursor` wrote."""
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


Lap: TypeAlias = "Callable[[str], None]"
Add: TypeAlias = "Callable[[int, Sequence[int]], tuple[int, int]]"


class Listing(Protocol):
    """Places in order, each made on access. Unless a listing says otherwise, each is a hit of its own."""

    def __len__(self) -> int: ...
    def score(self, i: int) -> float: ...
    def cost(self, i: int) -> int: ...
    def hit(self, i: int, joined: Sequence[int] = ()) -> Hit:
        """One place, together with those that are joined to it, as a hit."""

    def place(self, i: int, joined: Sequence[int] = ()) -> Place:
        """The same as a further place of a hit, which needs less."""
        return self.hit(i, joined).places[0]

    def group(self, i: int) -> object:
        """The same value for all that is shown as one hit."""
        return i

    def join(self, members: Sequence[int]) -> list[tuple[int, ...]]:
        """The places of a hit: those that touch are shown as one, best first; and so are the places themselves."""
        return [(i,) for i in members]

    def add(self, i: int, members: Sequence[int]) -> tuple[int, int]:
        """The tokens that a place adds to a hit with these members, and the number of the hit's places then."""
        return self.cost(i), len(members) + 1

    def widen(self, i: int, members: Sequence[int], left: int) -> int:
        """Show the whole function of a place of a hit, if that takes no more tokens than are left; returns how many it took."""
        return 0

    def prefetch(self, positions: Sequence[int]) -> None:
        """Announces the positions whose hits will be made."""
        return

    def candidate(self, i: int) -> Candidate:
        """The hit as a reranker reads it."""
    def location(self, i: int) -> str:
        """Path and lines, for messages."""
    def why(self, i: int) -> Why:
        """Rank and score in each lane, and the stages that make up its score."""


class PageRequest(Protocol):
    """The part of a query that decides which page to show."""

    __slots__: tuple[str, ...]

    @property
    def text(self) -> str: ...
    @property
    def limit(self) -> int: ...
    @property
    def budget(self) -> int | None: ...
    @property
    def cursor(self) -> str | None: ...
    @property
    def rerank(self) -> tuple[str, ...]: ...
    @property
    def filter(self) -> Filter: ...


class Findings(Record):
    """Everything that one corpus, or several, found, and how."""

    __slots__ = (
        "sources", "listing", "mode", "intent", "ranking", "index", "fingerprint", "notes", "languages", "factors", "reranked",
        "at_least", "named", "confidence",
    )  # fmt: skip

    def __init__(
        self, sources: tuple[str, ...], listing: Listing, mode: str, intent: str, ranking: str, index: IndexState,
        fingerprint: Fingerprint, notes: tuple[Degraded, ...] = (), languages: tuple[str, ...] = (),
        factors: Mapping[str, tuple[int, Factor]] | None = None, reranked: bool = True, at_least: bool = False,
        named: int | None = None, confidence: Confidence | None = None,
    ) -> None:  # fmt: skip
        self.sources, self.listing, self.mode, self.intent, self.ranking = sources, listing, mode, intent, ranking
        self.index = index
        self.fingerprint = fingerprint
        """What the order depends on; cursors are checked against it."""
        self.notes, self.languages = notes, languages
        self.factors: Mapping[str, tuple[int, Factor]] = {} if factors is None else factors
        """Rerankers of the corpus itself: name → (candidates, factor)."""
        self.reranked = reranked
        """Whether the hits may be reranked; exact matches are not."""
        self.at_least = at_least
        """Whether the search stopped early, so that there are more hits than these."""
        self.named = named
        """The number of places with the queried name as a whole word."""
        self.confidence = confidence
        """How sure it is that these are right; None where that is not known."""


class _Unchanged:
    """An order that is not reranked."""

    stored, notes = (), ()

    def before(self, position: int) -> int:
        return position

    def annotate(self, position: int, hit: Hit) -> Hit:
        return hit


def build_answer(found: Findings, query: PageRequest, settings: Settings, root: str, cache: Cache, lap: Lap) -> Answer:
    """One page of the findings; `root` is the folder inside which the project's own settings may name files."""
    listing, notes = found.listing, found.notes
    names = query.rerank if found.reranked else ()
    cursor = decode_cursor(query.cursor, expect=found.fingerprint) if query.cursor is not None else None
    second: RerankedOrder | _Unchanged = _Unchanged()
    if names:
        from lurcher.rerank.stage import TopHits, run_rerankers

        second = run_rerankers(
            names, query.text, TopHits(len(listing), listing.score, listing.candidate), settings, root, cache,
            stored=cursor.rerank_scores if cursor else None, factors=found.factors,
        )  # fmt: skip
        lap("rerank")
    elif query.rerank:
        notes += (Degraded(query.rerank[0], f"{found.mode} hits are not reranked", Template("use {mode=hybrid}")),)
    page = pack(
        (lambda i: listing.cost(second.before(i))) if query.budget is not None else (lambda i: 0),
        len(listing), budget=query.budget, limit=query.limit, start=cursor.place if cursor else START,
        patience=settings.search.patience, group=(lambda i: listing.group(second.before(i))) if names else listing.group,
        add=(lambda i, members: listing.add(second.before(i), list(map(second.before, members)))) if names else listing.add,
    )  # fmt: skip
    shown = {second.before(i): i for i in page.indices}
    grouped: dict[object, list[int]] = {}
    for position in shown:
        grouped.setdefault(listing.group(position), []).append(position)
    if query.budget is not None and (page.next is None or not page.next.waiting):
        left = query.budget - page.tokens
        for position in shown:
            left -= listing.widen(position, grouped[listing.group(position)], left) if left > 0 else 0
    listing.prefetch(list(shown))
    hits = tuple([
        _make_hit(listing, listing.join(members)) if not names
        else _join_hits([second.annotate(shown[i], listing.hit(i, joined)) for i, *joined in listing.join(members)])
        for members in grouped.values()
    ])  # fmt: skip
    notes += second.notes + _note_oversized(listing, [second.before(i) for i in page.oversized])
    scores = second.stored if names else None
    following = encode_cursor(CursorState(page.next, found.fingerprint, scores)) if page.next else None
    sure = found.confidence
    if sure is None:
        sure = Confidence(None if len(listing) else NONE)
    lap("pack")
    return Answer(
        query.text, found.mode, found.intent, found.ranking, found.sources, hits, len(listing),
        sum([hit.tokens for hit in hits]), following,
        found.index, notes, {}, found.languages, found.at_least, found.named, len(page.indices), sure.level,
        sure.likelihood, sure.unknown_words,
    )  # fmt: skip


def _make_hit(listing: Listing, runs: Sequence[tuple[int, ...]]) -> Hit:
    """One hit with a place for each run of positions."""
    (i, *joined), *others = runs
    return _add_places(listing.hit(i, joined), [listing.place(i, joined) for i, *joined in others])


def _join_hits(hits: Sequence[Hit]) -> Hit:
    """One hit with the places of all."""
    first, *others = hits
    return _add_places(first, [place for hit in others for place in hit.places])


def _add_places(hit: Hit, further: Sequence[Place]) -> Hit:
    if not further:
        return hit
    return hit.replace(tokens=hit.tokens + sum([place.tokens for place in further]), further=(*hit.further, *further))


def _note_oversized(listing: Listing, positions: Sequence[int]) -> tuple[Degraded, ...]:
    """A note about the hits that are larger than the whole budget."""
    if not positions:
        return ()
    smallest = min(map(listing.cost, positions))
    places = ", ".join(map(listing.location, positions[:3])) + (", …" if len(positions) > 3 else "")
    many = "1 hit is" if len(positions) == 1 else f"{len(positions)} hits are"
    return (
        Degraded(
            "budget", f"{many} larger than the whole budget: {places}",
            Template("raise the budget to {*}, or use {snippet_lines}", smallest),
        ),  # fmt: skip
    )


def add_notes(answer: Answer, before: tuple[Degraded, ...]) -> Answer:
    return answer.replace(degraded=before + answer.degraded) if before else answer
