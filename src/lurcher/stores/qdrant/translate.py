"""What is asked in the words of Qdrant's REST interface, as objects of qdrant-edge-py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lurcher.errors import MissingExtra
from lurcher.stores.qdrant.points import Json

OWN_K = 2
"""Qdrant's constant: 1/(2 + place), where the best is at 0."""


def needed() -> None:
    try:
        engine()
    except ImportError:
        raise MissingExtra("qdrant+edge needs a package more, qdrant-edge-py", "pip install 'lurcher[qdrant]'") from None


def engine() -> Any:
    import qdrant_edge

    return qdrant_edge


def configuration(shape: Json) -> Any:
    edge = engine()
    smaller = shape.get("quantization_config", {})
    quantisation = None
    if "scalar" in smaller:
        quantisation = edge.ScalarQuantizationConfig(edge.ScalarType.Int8, memory=edge.Memory.Pinned)
    elif "binary" in smaller:
        quantisation = edge.BinaryQuantizationConfig(memory=edge.Memory.Pinned)
    # Text is read for a few hits; what is known of files is read for a hundred candidates of every question.
    cold = shape["on_disk_payload"] and "sparse" in shape.get("sparse_vectors", {})
    made: Json = {"payload_memory": edge.Memory.Cold if cold else edge.Memory.Cached, "quantization_config": quantisation}
    if "sparse_vectors" in shape:
        sparse = shape["sparse_vectors"].items()
        made["sparse_vectors"] = {name: edge.EdgeSparseVectorParams(on_disk=one["index"]["on_disk"]) for name, one in sparse}
    if "vectors" in shape:
        dense, graph = shape["vectors"]["dense"], shape["hnsw_config"]
        where = edge.Memory.Cold if dense["on_disk"] else edge.Memory.Cached
        made["vectors"] = {"dense": edge.EdgeVectorParams(dense["size"], edge.Distance.Dot, memory=where)}
        made["hnsw_config"] = edge.HnswIndexConfig(graph["m"], graph["ef_construct"], 10_000, payload_m=graph["payload_m"])
    return edge.EdgeConfig(**made)


def index(name: str, schema: Json) -> Any:
    edge = engine()
    options = {key: value for key, value in schema.items() if key != "type"}
    made = {"keyword": edge.KeywordIndexParams, "integer": edge.IntegerIndexParams}[schema["type"]](**options)
    return edge.UpdateOperation.create_field_index(name, made)


def upsert(points: Sequence[Json], condition: Json | None) -> Any:
    edge = engine()
    made = [
        edge.Point(one["id"], {name: vector(value) for name, value in one["vector"].items()}, one["payload"]) for one in points
    ]
    return edge.UpdateOperation.upsert_points(made, condition=None if condition is None else where(condition))


def change(payload: Json, condition: Json) -> Any:
    return engine().UpdateOperation.set_payload_by_filter(where(condition), payload)


def delete(condition: Json) -> Any:
    return engine().UpdateOperation.delete_points_by_filter(where(condition))


def scroll(condition: Json, fields: Sequence[str], limit: int, offset: Any) -> Any:
    found = where(condition)
    return engine().ScrollRequest(limit=limit, offset=offset, filter=found, with_payload=list(fields), with_vector=False)


def count(condition: Json) -> Any:
    return engine().CountRequest(exact=True, filter=where(condition))


def batch(queries: Sequence[Json]) -> Any:
    edge = engine()
    return edge.QueryBatchRequest([edge.QueryRequest(with_payload=False, with_vector=False, **_asked(one)) for one in queries])


def _asked(one: Json) -> Json:
    """A query, or one of those that come first."""
    edge, made = engine(), {"limit": one["limit"]}
    query = one.get("query")
    if query is not None and "nearest" in query:
        made["query"] = edge.Query.Nearest(vector(query["nearest"]), using=one["using"])
    elif query is not None:
        made["query"] = edge.Fusion.Rrf(k=query["rrf"]["k"] if "rrf" in query else OWN_K)
    if "prefetch" in one:
        made["prefetches"] = [edge.Prefetch(**_asked(first)) for first in one["prefetch"]]
    if "filter" in one:
        made["filter"] = where(one["filter"])
    if "params" in one:
        smaller = one["params"].get("quantization")
        more = None if smaller is None else edge.QuantizationSearchParams(**smaller)
        made["params"] = edge.SearchParams(exact=one["params"].get("exact", False), quantization=more)
    return made


def vector(value: Any) -> Any:
    return engine().SparseVector(value["indices"], value["values"]) if isinstance(value, dict) else value


def where(condition: Json) -> Any:
    return engine().Filter(**{part: [_condition(one) for one in several] for part, several in condition.items()})


def _condition(one: Json) -> Any:
    edge = engine()
    if "has_id" in one:
        return edge.HasIdCondition(set(one["has_id"]))
    if "key" not in one:
        return where(one)
    if "range" in one:
        return edge.FieldCondition(one["key"], range=edge.RangeFloat(**one["range"]))
    wanted = one["match"]
    matched = edge.MatchAny(wanted["any"]) if "any" in wanted else edge.MatchValue(wanted["value"])
    return edge.FieldCondition(one["key"], match=matched)
