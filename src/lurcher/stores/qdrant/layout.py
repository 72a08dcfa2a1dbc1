"""What lurcher stores in Qdrant, and the operations that it needs there.

    code_chunks           one point per unit: vectors `dense` and `sparse`, its text and where it is from
    code_chunks_files     one point per file: its card as `dense`, its record
    code_chunks_projects  heads and pages, without vectors

Files have a collection of their own because in Qdrant a point takes room for every vector that its collection defines, whether
it has one or not. The id of a unit's point begins with that of its file's point, so a unit that was found names its file
before its payload is read.

`Points` are the operations. Queries, filters and shapes of collections are the JSON of Qdrant's REST interface, which `edge`
translates for the embedded engine. So there is one way to write a query, and what a test sends to the embedded engine is what
a server gets.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from lurcher.errors import LurcherError, StoreError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.config.schema import QdrantSettings
    from lurcher.stores.base import StoredFile, StoredUnit


DOCTOR = "`lurcher doctor` shows what is there and what is not"
Json = dict[str, Any]
Kind = TypeVar("Kind")


class NoCollection(StoreError):
    """The collection does not exist: nothing was ever written to it."""


class Points(Protocol):
    """Methods may be called from several threads. A missing collection raises `NoCollection`."""

    url: str
    """How messages name the store."""
    exclusive: bool
    """Whether no other process can have it open."""
    concurrency: int
    """How many batches are sent at a time."""

    def create(self, collection: str, shape: Json, indexes: Mapping[str, Json]) -> None:
        """Create a collection with its payload indexes; what exists already stays."""
        ...

    def dims(self, collection: str) -> int:
        """Dimensions of its vectors `dense`; 0 without."""
        ...

    def upsert(self, collection: str, points: Sequence[Json], *, only_new: bool = False) -> None: ...

    def change(self, collection: str, payload: Json, where: Json) -> None:
        """Set payload fields of all points that pass a filter, as one atomic operation."""
        ...

    def delete(self, collection: str, where: Json) -> None: ...

    def get(self, collection: str, ids: Sequence[str], fields: Sequence[str], *, majority: bool = False) -> dict[str, Json]:
        """Payloads by id; `majority`: as most replicas have them."""
        ...

    def scroll(self, collection: str, where: Json, fields: Sequence[str]) -> Iterator[Json]:
        """Payloads of all points that pass a filter."""
        ...

    def query(self, collection: str, queries: Sequence[Json]) -> list[list[tuple[str, float]]]:
        """Ids with scores, best first, for each query; one request for all."""
        ...

    def count(self, collection: str, where: Json) -> int: ...

    def flush(self, collections: Sequence[str]) -> None:
        """Return once everything written survives a power cut, as far as the client can ensure that."""
        ...

    def optimise(self, collections: Sequence[str]) -> None:
        """Build the search graphs over what was written, where the engine does not do so by itself."""
        ...

    def describe(self, collections: Sequence[str]) -> dict[str, str]:
        """Engine, version, latency and sizes, for `lurcher doctor`."""
        ...

    def close(self) -> None: ...


@contextmanager
def check_reply(url: str, what: str) -> Iterator[None]:
    """Around the code that reads a reply: a reply of the wrong form becomes a `StoreError` that names `what` was read."""
    try:
        yield
    except LurcherError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        message = f"the store at {url} sent a reply that cannot be understood ({what})"
        raise StoreError(message, f"check that it is a Qdrant server; {DOCTOR}") from error


NEVER = 1 << 52
"""`died` of what is alive. Qdrant compares numbers in double precision, which holds this one exactly."""
USUAL_DIMS = 256
"""Dimensions of a collection whose first project has no vectors: those of the built-in model."""
_LOOK_UP = {"type": "keyword", "enable_hnsw": False}
_RANGE = {"type": "integer", "lookup": False, "range": True, "enable_hnsw": False}
_TENANT = {"type": "keyword", "is_tenant": True}
UNIT_INDEXES: dict[str, Json] = {
    "project_id": _TENANT, "key": {**_LOOK_UP, "on_disk": True}, "language": _LOOK_UP, "folders": _LOOK_UP,
    "born": _RANGE, "died": _RANGE,
}  # fmt: skip
FILE_INDEXES: dict[str, Json] = {**UNIT_INDEXES, "names": _LOOK_UP}
_NUMBER = {"type": "integer", "lookup": True, "range": True, "enable_hnsw": False}
PROJECT_INDEXES: dict[str, Json] = {
    "project_id": _LOOK_UP, "sort": _LOOK_UP, "name": _LOOK_UP, "writer": _LOOK_UP,
    "born": _RANGE, "generation": _NUMBER, "beat": _NUMBER,
}  # fmt: skip
MATCH_NOTHING: Json = {"must": [{"key": "sort", "match": {"value": "nothing"}}]}
"""A filter that no point passes."""


def require(value: Any, kind: type[Kind]) -> Kind:
    """A value of a reply that has to be of this very type; call it within `check_reply`."""
    if type(value) is not kind:
        raise TypeError(f"{kind.__name__} expected")
    return value


def collection_shape(settings: QdrantSettings, dims: int, sparse: str = "") -> Json:
    """The parameters of a new collection: vectors in memory, payload on disk; an operator can change both in Qdrant. Its
    graphs connect only units of the same project: no query is about two."""
    made: Json = {
        "on_disk_payload": bool(dims),
        "shard_number": settings.shards if dims else 1,
        "replication_factor": settings.replicas,
        "write_consistency_factor": settings.replicas // 2 + 1,
    }
    if sparse:
        made["sparse_vectors"] = {sparse: {"index": {"on_disk": False}}}
    if not dims:
        return made
    made["vectors"] = {"dense": {"size": dims, "distance": "Dot", "on_disk": False}}
    made["hnsw_config"] = {"m": 0, "payload_m": 16, "ef_construct": 100, "on_disk": False}
    return made


def file_hash(project: str, key: str) -> bytes:
    return blake2b(f"{project}\0{key}".encode("utf-8", "surrogatepass"), digest_size=12, person=b"lurcher file").digest()


def point_id(number: bytes, place: int = -1) -> str:
    """The id of a unit's point; without `place` that of its file's point."""
    text = (number + struct.pack(">I", place + 1)).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def file_point_id(point: str) -> str:
    """The id of a file's point, from the id of one of its units."""
    return point[:-8] + "00000000"


def named_point_id(kind: str, *parts: str) -> str:
    """The id of a head or a page."""
    whole = "\0".join(parts).encode("utf-8", "surrogatepass")
    return point_id(blake2b(whole, digest_size=12, person=f"lurcher {kind}".encode()).digest())


def unit_point(project: str, file: StoredFile, number: bytes, place: int, unit: StoredUnit, born: int) -> Json:
    vector: Json = {"sparse": {"indices": unit.sparse.numbers.tolist(), "values": round_numbers(unit.sparse.weights)}}
    if unit.dense is not None:
        vector["dense"] = round_numbers(unit.dense)
    payload = {
        "project_id": escape_text(project), "key": file.key, "place": place, "born": born, "died": NEVER,
        "path": escape_text(file.path), "folders": parent_folders(file.path), "language": file.language,
        "start_line": unit.start_line, "end_line": unit.end_line, "symbol": escape_text(unit.symbol), "kind": unit.kind,
        "hash": escape_text(unit.digest), "text": escape_text(unit.text),
    }  # fmt: skip
    return {"id": point_id(number, place), "vector": vector, "payload": payload}


def file_point(project: str, file: StoredFile, number: bytes, born: int) -> Json:
    payload = {
        "project_id": escape_text(project), "key": file.key, "born": born, "died": NEVER,
        "path": escape_text(file.path), "folders": parent_folders(file.path), "language": file.language,
        "hash": escape_text(file.digest), "names": [escape_text(name) for name in file.names], "units": len(file.units),
        "record": encode_bytes(file.record),
    }  # fmt: skip
    vector = {} if file.card is None else {"dense": round_numbers(file.card)}
    return {"id": point_id(number), "vector": vector, "payload": payload}


def round_numbers(vector: NDArray[np.float32]) -> list[float]:
    """Rounded to what single precision holds, which makes requests shorter: they are mostly numbers."""
    import numpy as np

    rounded: list[float] = np.round(vector.astype(np.float64), 7).tolist()
    return rounded


def parent_folders(path: str) -> list[str]:
    """All folders above a file, outermost first."""
    parts = escape_text(path).split("/")[:-1]
    return ["/".join(parts[: end + 1]) for end in range(len(parts))]


def encode_bytes(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def decode_bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def escape_text(text: str) -> str:
    """Text as JSON can carry it.

    A zero, and a byte of a file name that is not UTF-8 (a lone surrogate), becomes a zero and four hexadecimal digits.
    """
    if text.isascii() and "\0" not in text:
        return text
    return "".join(f"\0{ord(one):04x}" if one == "\0" or "\ud800" <= one <= "\udfff" else one for one in text)


def unescape_text(text: Any) -> str:
    """The inverse of `escape_text`."""
    first, *others = require(text, str).split("\0")
    return first + "".join([chr(int(part[:4], 16)) + part[4:] for part in others])


def match(key: str, value: str | int) -> Json:
    return {"key": key, "match": {"value": value}}


def match_any(key: str, values: Iterable[str]) -> Json:
    return {"key": key, "match": {"any": list(values)}}


def at_most(key: str, number: int) -> Json:
    return {"key": key, "range": {"lte": number}}


def above(key: str, number: int) -> Json:
    return {"key": key, "range": {"gt": number}}


def in_project(project: str, *conditions: Json) -> Json:
    return {"must": [match("project_id", escape_text(project)), *conditions]}


def visible(project: str, generation: int, *conditions: Json) -> Json:
    return in_project(project, at_most("born", generation), above("died", generation), *conditions)


def any_of(*conditions: Json) -> Json:
    return {"should": list(conditions)}


def all_of(*conditions: Json) -> Json:
    return {"must": list(conditions)}


def filter_conditions(languages: Sequence[str], within: Sequence[str]) -> list[Json]:
    found = [match_any("language", languages)] if languages else []
    return [*found, match_any("folders", [escape_text(folder) for folder in within])] if within else found
