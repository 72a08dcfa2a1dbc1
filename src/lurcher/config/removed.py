"""Settings of earlier versions, each with what replaces it: the hint of the error that using it gives.

docs/reference.md lists this table under "Removed settings".
"""

from __future__ import annotations

_SEE = "docs/reference.md, 'Removed settings', says why"


def _point_to(new: str) -> str:
    return f"it is '{new}' now"


def _key_of(section: str) -> str:
    return f"put the key into the environment variable LURCHER_{section.upper()}_KEY; its name is fixed now"


def _constants(section: str, names: str, what: str) -> dict[str, str]:
    hint = f"remove it: {what} are constants now; {_SEE}"
    return {f"{section}.{name}": hint for name in names.split()}


REMOVED: dict[str, str] = {
    **_constants("lexical", "body comments symbols name folder variant", "the field weights of BM25"),
    "embedding.key": _key_of("embedding"),
    "embedding.batch": "remove it: 32 texts per request is a constant now, the batch size that servers accept by default",
    "sparse.key": _key_of("sparse"),
    "sparse.tokens": _point_to("embedding.tokens"),
    "sparse.seconds": _point_to("embedding.seconds"),
    "sparse.query_seconds": _point_to("embedding.query_seconds"),
    **_constants("sparse", "query_prefix document_prefix top batch", "prefixes, size and batches of sparse vectors"),
    **_constants("services", "failures pause concurrency health_seconds", "the limits of requests to services"),
    **_constants(
        "default",
        "harmonic_power name name_change name_whole folder types definition definition_symbol stem_symbol phrase dense_card "
        "dense_chunk dense_alone",
        "the weights of the default ranking",
    ),
    "default.proximity": "remove it: import neighbours do not help the default ranking; `--ranking classic` uses them",
    **_constants(
        "report", "b harmonic_power keep_terms name definition dotted url trace mentioned", "the weights for long reports"
    ),
    "report.proximity": "remove it: import neighbours do not help the default ranking; `--ranking classic` uses them",
    "report.dense": "remove it: the dense lane does not help long reports",
    **_constants("noise", "setup vendored data barrel_definitions", "the other penalties of files"),
    **_constants(
        "classic", "phrase definition_stem proximity proximity_decay", "the numbers that no published pipeline gives"
    ),
    "linear.candidates": _point_to("classic.candidates"),
    "linear.mmr_top": "remove it: `--mmr` chooses among 50 units of code, which is a constant now",
    "graph.hops": "use the flag `--hops` of `lurcher impact`; the default, 2, is a constant now",
    "graph.fan_in": "remove it: `lurcher impact` lists 100 dependents per hop and counts all",
    "graph.context_budget": "use the flag `--budget` of `lurcher context`; the default, 4000, is a constant now",
    "history.diff_bytes": "remove it: 20,000 bytes of changed lines are kept of a commit, which is a constant now",
    "history.batch": "remove it: 1,000 commits are written together, which is a constant now",
    "history.brief_budget": "use the flag `--budget` of `lurcher brief`; the default, 1500, is a constant now",
    "past.ranking": _point_to("history.ranking"),
    "past.fused": _point_to("history.candidates"),
    "past.lane": _point_to("classic.candidates"),
    "past.rrf_k": _point_to("classic.rrf_k"),
    "past.bm25_k1": _point_to("lexical.k1"),
    "past.alpha": _point_to("linear.alpha"),
    **_constants(
        "past",
        "subject body paths headings tests code k1 variant title keep_terms meaning meaning_hunk",
        "the weights of the default ranking of history",
    ),
    **_constants("commits", "release dependencies reformat merge docs tests generated fix", "the factors of commits"),
    **_constants("blame", "whitespace moves copies seconds excerpt_lines", "the other options of `git blame`"),
    **_constants("across", "notes advice report history past complaint steep floor", "the weights of `--in all`"),
    "reranker.key": _key_of("reranker"),
    **_constants("reranker", "tokens batch", "the sizes of pairs and batches"),
    "judge.key": _key_of("judge"),
    **_constants(
        "notes",
        "k1 b b_above rarity body above comments name folder variant title whole b_whole small pairs pair looked_at card "
        "meaning alone links compared",
        "the weights of the ranking of notes",
    ),
    "store.key": _key_of("store"),
    **_constants("store", "candidates depth lock_seconds", "the numbers of candidates and the wait for other writers"),
    **_constants("postgres", "probes postings connections write_seconds", "the limits of a PostgreSQL store"),
    **_constants(
        "qdrant", "write_seconds patience lease_seconds batch concurrency", "the sizes and times of writing to Qdrant"
    ),
    "qdrant.ca": "name the file in the environment variable SSL_CERT_FILE",
    "qdrant.fusion": "remove it: a Qdrant server fuses the lists itself, the embedded engines leave it to lurcher",
    "qdrant.exact": "remove it: Qdrant goes by its graph, which finds 99.6 % of the candidates that comparing all finds",
    **{
        f"qdrant.{name}": "set it in Qdrant, which can change it for an existing collection: PATCH /collections/NAME"
        for name in ("quantisation", "vectors_on_disk", "payload_on_disk")
    },
}
