"""How files and units are kept in Qdrant: three collections, what is in their points, and the conditions they are found by.

    code_chunks           a point for each unit: vectors `dense` and `sparse`; its text, and where it is from
    code_chunks_files     a point for each file: its card as `dense`; its record
    code_chunks_projects  heads and pages, without vectors

Files have a collection of their own because in Qdrant a point takes the room of all vectors that its collection knows, whether
it has them or not. The number of a point begins with that of its file, so a unit that was found says which file it is of before
its payload is read.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from lurcher.stores.qdrant.points import Json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lurcher.config.schema import QdrantSettings
    from lurcher.stores.base import StoredFile, StoredUnit

NEVER = 1 << 52
"""In which generation dies what is alive; conditions are on numbers of double precision, which hold this one exactly."""
USUAL_DIMS = 256
"""Of the shipped model: for a collection whose first project has no vectors."""
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
NOTHING: Json = {"must": [{"key": "sort", "match": {"value": "nothing"}}]}
"""What no point fulfils."""


def shape(settings: QdrantSettings, dims: int, sparse: str = "") -> Json:
    """Of a collection to be made: vectors in memory, payload on disk; an operator can change both in Qdrant. Graphs lead from
    unit to unit of one project only: no query is about two."""
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


def file_number(project: str, key: str) -> bytes:
    return blake2b(f"{project}\0{key}".encode("utf-8", "surrogatepass"), digest_size=12, person=b"lurcher file").digest()


def identity(number: bytes, place: int = -1) -> str:
    """Of a unit's point, or of its file's."""
    text = (number + struct.pack(">I", place + 1)).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def file_of(point: str) -> str:
    """The file's point, by that of one of its units."""
    return point[:-8] + "00000000"


def named(kind: str, *parts: str) -> str:
    """Of a head or a page."""
    whole = "\0".join(parts).encode("utf-8", "surrogatepass")
    return identity(blake2b(whole, digest_size=12, person=f"lurcher {kind}".encode()).digest())


def unit_point(project: str, file: StoredFile, number: bytes, place: int, unit: StoredUnit, born: int) -> Json:
    vector: Json = {"sparse": {"indices": unit.sparse.numbers.tolist(), "values": numbers(unit.sparse.weights)}}
    if unit.dense is not None:
        vector["dense"] = numbers(unit.dense)
    payload = {
        "project_id": writable(project), "key": file.key, "place": place, "born": born, "died": NEVER,
        "path": writable(file.path), "folders": folders(file.path), "language": file.language,
        "start_line": unit.start_line, "end_line": unit.end_line, "symbol": writable(unit.symbol), "kind": unit.kind,
        "hash": writable(unit.digest), "text": writable(unit.text),
    }  # fmt: skip
    return {"id": identity(number, place), "vector": vector, "payload": payload}


def file_point(project: str, file: StoredFile, number: bytes, born: int) -> Json:
    payload = {
        "project_id": writable(project), "key": file.key, "born": born, "died": NEVER,
        "path": writable(file.path), "folders": folders(file.path), "language": file.language, "hash": writable(file.digest),
        "names": [writable(name) for name in file.names], "units": len(file.units), "record": packed(file.record),
    }  # fmt: skip
    return {"id": identity(number), "vector": {} if file.card is None else {"dense": numbers(file.card)}, "payload": payload}


def numbers(vector: NDArray[np.float32]) -> list[float]:
    """As short as single precision allows: what is sent is mostly this."""
    import numpy as np

    rounded: list[float] = np.round(vector.astype(np.float64), 7).tolist()
    return rounded


def folders(path: str) -> list[str]:
    """All folders that a file is in, outermost first."""
    parts = writable(path).split("/")[:-1]
    return ["/".join(parts[: end + 1]) for end in range(len(parts))]


def packed(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def unpacked(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def writable(text: str) -> str:
    """Text as JSON can carry it: bytes of a file's name that are no UTF-8 become a zero and their number, which no name has."""
    if text.isascii() and "\0" not in text:
        return text
    return "".join(f"\0{ord(one):04x}" if one == "\0" or "\ud800" <= one <= "\udfff" else one for one in text)


def read(text: Any) -> str:
    """The inverse of `writable`."""
    if not isinstance(text, str):
        raise TypeError("no text")
    first, *others = text.split("\0")
    return first + "".join([chr(int(part[:4], 16)) + part[4:] for part in others])


def match(key: str, value: str | int) -> Json:
    return {"key": key, "match": {"value": value}}


def among(key: str, values: Iterable[str]) -> Json:
    return {"key": key, "match": {"any": list(values)}}


def at_most(key: str, number: int) -> Json:
    return {"key": key, "range": {"lte": number}}


def above(key: str, number: int) -> Json:
    return {"key": key, "range": {"gt": number}}


def of(project: str, *conditions: Json) -> Json:
    return {"must": [match("project_id", writable(project)), *conditions]}


def seen(project: str, generation: int, *conditions: Json) -> Json:
    return of(project, at_most("born", generation), above("died", generation), *conditions)


def either(*conditions: Json) -> Json:
    return {"should": list(conditions)}


def both(*conditions: Json) -> Json:
    return {"must": list(conditions)}


def filtered(languages: Sequence[str], within: Sequence[str]) -> list[Json]:
    found = [among("language", languages)] if languages else []
    return [*found, among("folders", [writable(folder) for folder in within])] if within else found
