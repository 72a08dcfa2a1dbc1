"""Every setting, declared once with its default, its meaning and its bounds: what reads them, error messages and the reference
in docs/ come from these declarations.

Here are those that each question looks at; others are in files of their own, and are loaded when somebody asks for them."""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING, dataclass, field, fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from lurcher.settings.models import JudgeSettings, RerankerSettings, ServicesSettings, SparseSettings
    from lurcher.settings.notes import NoteSettings
    from lurcher.settings.past import (
        BlameSettings,
        CommitSettings,
        HistorySettings,
        OutcomeSettings,
        PastRankingSettings,
        RecencySettings,
    )
    from lurcher.settings.rankings import AcrossSettings, ClassicRankingSettings, GraphSettings, LinearRankingSettings
    from lurcher.settings.stores import PostgresSettings, QdrantSettings
    from lurcher.settings.surfaces import SavingsSettings, ServeSettings


def setting(
    default: Any,
    doc: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    stage: str = "",
) -> Any:
    """`stage` is the folder of stages whose names are allowed beside the choices, where others are installed."""
    return field(default=default, metadata={"doc": doc, "low": low, "high": high, "choices": choices, "stage": stage})


@dataclass(frozen=True)
class IndexSettings:
    dir: str = setting("", "Folder under which each root gets its index; empty: `.lurcher` at the root.")
    chunk_chars: int = setting(1500, "Characters a chunk aims at.", low=200, high=20_000)
    max_file_bytes: int = setting(1_000_000, "Larger files are left out and counted.", low=1, high=100_000_000)
    follow_symlinks: bool = setting(False, "Follow links that stay inside the root.")
    submodules: bool = setting(True, "Search submodules and other repositories inside of a work tree as part of it.")
    secrets: bool = setting(
        False, "Also files that look like secrets: `.env`, private keys, `.netrc` and others. A project's file cannot set it."
    )
    broad: bool = setting(
        False, "Index a home folder, a whole disk or a folder of the system without asking. A project's file cannot set it."
    )
    refresh_limit: int = setting(
        5_000,
        "Up to this many changed files are indexed before answering, more are reported as stale; -1: always index, 0: never.",
        low=-1,
    )
    first_answer_seconds: float = setting(
        20.0,
        "A question to a tree without an index waits about so long: then what is indexed so far answers, the answer says how "
        "much that is, and the next question goes on; 0: wait for all of it. `lurcher index` always does all.",
        low=0, high=86_400,
    )  # fmt: skip
    workers: int = setting(0, "Processes that parse; 0: one per core, one for small trees.", low=0, high=256)
    lock_seconds: float = setting(10.0, "How long to wait for another process that is indexing.", low=0, high=3600)


@dataclass(frozen=True)
class SearchSettings:
    limit: int = setting(10, "Hits in an answer.", low=1, high=1000)
    mode: str = setting("auto", "How a query is read.", choices=("auto", "hybrid", "lexical", "dense", "symbol"))
    ranking: str = setting(
        "default", "Which ranking orders the hits; others may be installed.", choices=("default", "classic"), stage="ranking"
    )
    context: str = setting(
        "block", "How much of the code around a match is shown.", choices=("none", "block", "function", "class")
    )
    patience: int = setting(
        64, "With a budget: so many hits may be too large for what is left of it before no smaller one is looked for.",
        low=1, high=64,
    )  # fmt: skip
    lanes: str = setting("", "Further lanes that are installed, each with what it counts, such as `freshness=0.3`.")
    rerank: str = setting("none", "Second looks unless others are asked for, such as `cross` or `outcome llm`.")


@dataclass(frozen=True)
class LexicalSettings:
    k1: float = setting(1.5, "BM25: how fast repeated terms saturate.", low=0, high=10)
    b: float = setting(0.75, "BM25: how much long units are held back.", low=0, high=1)
    body: float = setting(1.0, "Weight of terms in code.", low=0, high=100)
    comments: float = setting(1.0, "Weight of terms in comments and documentation.", low=0, high=100)
    symbols: float = setting(1.0, "Weight of terms in the names a unit defines, on top of the code.", low=0, high=100)
    name: float = setting(2.0, "Weight of terms in the file's name.", low=0, high=100)
    folder: float = setting(1.0, "Weight of terms in the last three folders.", low=0, high=100)
    variant: float = setting(0.3, "Weight of a word's other forms (same stem, known abbreviation).", low=0, high=1)


@dataclass(frozen=True)
class DenseSettings:
    """The model behind the dense lane."""

    model: str = setting("builtin", "`builtin`, `none` (no vectors, no dense lane), or the path of a term table.")


@dataclass(frozen=True)
class EmbeddingSettings:
    """Models that embed text as it stands, in place of the term table: here (`onnx`) or on a server."""

    provider: str = setting(
        "builtin",
        "`builtin`: the term table of `dense.model`; `onnx`: a model here; `tei`, `openai`, `infinity`, `ollama`: a server.",
    )
    model: str = setting("", "`onnx`: a folder, or a name in the local hub cache. Of a server: the model to ask for.")
    url: str = setting("", "The server; empty: what the provider has on this machine, if anything.")
    key: str = setting("LURCHER_EMBEDDING_KEY", "The environment variable that holds the key for `openai`, if it needs one.")
    query_prefix: str = setting("", "Put before a question, for models that want it, such as `query: `.")
    document_prefix: str = setting("", "Put before a text that is indexed, such as `passage: `.")
    pooling: str = setting(
        "auto", "`onnx`: how tokens become one vector; `auto`: as the model's own files say, else `mean`.",
        choices=("auto", "mean", "cls", "last"),
    )  # fmt: skip
    tokens: int = setting(256, "Tokens of a text that are read, at most.", low=16, high=32_768)
    batch: int = setting(32, "Texts that are embedded together.", low=1, high=1024)
    seconds: float = setting(60.0, "How long one batch may take while indexing, all retries included.", low=0.05, high=3600)
    query_seconds: float = setting(5.0, "How long a question may wait for its vector.", low=0.05, high=3600)
    refresh_units: int = setting(
        200, "Up to so many new units are embedded before answering, more are left to `lurcher index`; -1: always all.", low=-1
    )


@dataclass(frozen=True)
class DefaultRankingSettings:
    """The file-first ranking of short questions."""

    harmonic_power: float = setting(1.4, "A file's chunks count 1/rank^power.", low=0, high=10)
    name: float = setting(0.3, "How much of the file's name the query explains.", low=0, high=10)
    name_change: float = setting(0.2, "The same, when the query reports a fault or asks for a change.", low=0, high=10)
    name_whole: float = setting(0.1, "Bonus when every word of the file's name is explained.", low=0, high=10)
    folder: float = setting(0.2, "Share of the query found in the last three folders.", low=0, high=10)
    types: float = setting(0.4, "The file defines a type whose name the query explains.", low=0, high=10)
    definition: float = setting(0.3, "The file defines a name that the question uses.", low=0, high=10)
    definition_symbol: float = setting(0.7, "The same, when the query is a name.", low=0, high=10)
    stem_symbol: float = setting(0.5, "The file is named like the queried symbol.", low=0, high=10)
    phrase: float = setting(0.1, "The file has a query of a few words as it stands.", low=0, high=10)
    proximity: float = setting(0.0, "The file is near one of the best ones in the import graph.", low=0, high=10)
    dense_card: float = setting(0.25, "The file's card is near: name, folders, comments, units, definitions.", low=0, high=10)
    dense_chunk: float = setting(0.15, "The three units of the file that are nearest are near.", low=0, high=10)
    dense_alone: float = setting(0.4, "Least cosine of a card that finds a file without any word of the query.", low=0, high=1)


@dataclass(frozen=True)
class ReportRankingSettings:
    """The same ranking for long queries: issue reports, stack traces."""

    b: float = setting(0.9, "BM25: how much long units are held back.", low=0, high=1)
    harmonic_power: float = setting(1.4, "A file's chunks count 1/rank^power.", low=0, high=10)
    keep_terms: int = setting(60, "Terms kept, by weight times rarity.", low=1, high=1000)
    name: float = setting(0.2, "How much of the file's name the query explains.", low=0, high=10)
    definition: float = setting(0.25, "The file defines a name of the report; shared names count less.", low=0, high=10)
    dotted: float = setting(0.05, "A dotted name resolves to the file.", low=0, high=10)
    url: float = setting(0.5, "A URL names the file.", low=0, high=10)
    trace: float = setting(0.5, "The file is in the stack trace, deepest frame first.", low=0, high=10)
    mentioned: float = setting(0.1, "The report names the file's path.", low=0, high=10)
    proximity: float = setting(0.0, "The file is near one of the best ones in the import graph.", low=0, high=10)
    dense: float = setting(0.0, "The file is near the report's title in meaning.", low=0, high=10)


@dataclass(frozen=True)
class NoiseSettings:
    """Factors that push a file down; they multiply."""

    tests: float = setting(0.3, "Test files.", low=0, high=1)
    legacy: float = setting(0.3, "Compat, legacy, deprecated and superseded versions.", low=0, high=1)
    examples: float = setting(0.3, "Examples and documentation.", low=0, high=1)
    barrel: float = setting(0.5, "Files that only re-export.", low=0, high=1)
    stub: float = setting(0.7, "Declaration stubs such as `.d.ts`.", low=0, high=1)
    setup: float = setting(0.5, "Build, CI and set-up files.", low=0, high=1)
    vendored: float = setting(0.3, "Copies of other projects.", low=0, high=1)
    data: float = setting(0.5, "Data, markup and style files.", low=0, high=1)
    barrel_definitions: int = setting(3, "A barrel defines fewer things than this.", low=0, high=1000)


@dataclass(frozen=True)
class StoreSettings:
    """A store that a team shares, in place of the index of one machine. A project's own files cannot set these."""

    url: str = setting("", "Where it is, such as `qdrant://host:6333` or `postgres://host/name`; empty: the local index.")
    project: str = setting(
        "", "The project in it, or several, by commas; empty: owner and name of the git remote, else the folder's name."
    )
    fallback: str = setting(
        "none", "What answers when the store does not: nothing, or the local index.", choices=("none", "local")
    )
    key: str = setting("LURCHER_STORE_KEY", "The environment variable that holds its key or password, if it needs one.")
    candidates: int = setting(100, "Files that are fetched for a question and ranked.", low=10, high=2000)
    depth: int = setting(300, "Units that each way of finding candidates looks at.", low=10, high=10_000)
    rrf: str = setting(
        "60", "How the ways are fused by rank: the constant of 1/(constant + rank), or as the store's engine has it.",
        choices=("engine", "60"),
    )  # fmt: skip
    seconds: float = setting(10.0, "How long one question to it may take, all retries included.", low=0.05, high=3600)
    lock_seconds: float = setting(30.0, "How long to wait for another machine that is writing the project.", low=0, high=3600)


_SECTIONS = {
    "index": "IndexSettings",
    "search": "SearchSettings",
    "lexical": "LexicalSettings",
    "dense": "DenseSettings",
    "embedding": "EmbeddingSettings",
    "sparse": "models.SparseSettings",
    "services": "models.ServicesSettings",
    "default": "DefaultRankingSettings",
    "report": "ReportRankingSettings",
    "noise": "NoiseSettings",
    "classic": "rankings.ClassicRankingSettings",
    "linear": "rankings.LinearRankingSettings",
    "graph": "rankings.GraphSettings",
    "history": "past.HistorySettings",
    "past": "past.PastRankingSettings",
    "outcomes": "past.OutcomeSettings",
    "commits": "past.CommitSettings",
    "recency": "past.RecencySettings",
    "blame": "past.BlameSettings",
    "across": "rankings.AcrossSettings",
    "reranker": "models.RerankerSettings",
    "judge": "models.JudgeSettings",
    "notes": "notes.NoteSettings",
    "savings": "surfaces.SavingsSettings",
    "postgres": "stores.PostgresSettings",
    "serve": "surfaces.ServeSettings",
    "store": "StoreSettings",
    "qdrant": "stores.QdrantSettings",
}
"""Each section with the class that declares it, and the file of that class where it is not this one."""


class Settings:
    """All sections, with defaults unless they were given; `origins` says where each value that is no default came from."""

    if TYPE_CHECKING:
        index: IndexSettings
        search: SearchSettings
        lexical: LexicalSettings
        dense: DenseSettings
        embedding: EmbeddingSettings
        sparse: SparseSettings
        services: ServicesSettings
        default: DefaultRankingSettings
        report: ReportRankingSettings
        noise: NoiseSettings
        classic: ClassicRankingSettings
        linear: LinearRankingSettings
        graph: GraphSettings
        history: HistorySettings
        past: PastRankingSettings
        outcomes: OutcomeSettings
        commits: CommitSettings
        recency: RecencySettings
        blame: BlameSettings
        across: AcrossSettings
        reranker: RerankerSettings
        judge: JudgeSettings
        notes: NoteSettings
        savings: SavingsSettings
        postgres: PostgresSettings
        serve: ServeSettings
        store: StoreSettings
        qdrant: QdrantSettings

    def __init__(self, origins: Mapping[str, str] | None = None, **parts: Any) -> None:
        unknown = parts.keys() - _SECTIONS.keys()
        if unknown:
            raise TypeError(f"there are no settings {', '.join(sorted(unknown))}")
        self.origins: Mapping[str, str] = dict(origins or ())
        self._given = parts
        self.__dict__.update(parts)

    def __getattr__(self, name: str) -> Any:
        # Asked once for each section that was not given.
        if name not in _SECTIONS:
            raise AttributeError(f"there are no settings {name!r}")
        part = self.__dict__[name] = section_of(name)()
        return part

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Settings):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._given.keys() | other._given.keys())

    def __hash__(self) -> int:
        return hash(tuple(self.changed()))

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{key}={value!r}' for key, value in self.changed())})"

    def put(self, origins: Mapping[str, str] | None = None, **parts: Any) -> Settings:
        """A copy with other sections, and with other origins if these are given."""
        return Settings(self.origins if origins is None else origins, **{**self._given, **parts})

    def changed(self) -> list[tuple[str, Any]]:
        """Every value that is not its default, by key."""
        found = []
        for name in sorted(self._given):
            for item in fields(self._given[name]):
                value = getattr(self._given[name], item.name)
                if value != item.default:
                    found.append((f"{name}.{item.name}", value))
        return found

    def to_dict(self) -> dict[str, Any]:
        return {key: value for key, value, _, _ in self.rows()}

    def rows(self) -> Iterator[tuple[str, Any, str, str]]:
        """(key, value, origin, meaning) of every setting, in order of declaration."""
        for name in sections():
            part = getattr(self, name)
            for item in fields(part):
                key = f"{name}.{item.name}"
                yield key, getattr(part, item.name), self.origins.get(key, "default"), item.metadata["doc"]


def sections() -> tuple[str, ...]:
    return tuple(_SECTIONS)


def section_of(name: str) -> Any:
    """The class that declares a section."""
    file, _, kind = _SECTIONS[name].rpartition(".")
    if not file:
        return globals()[kind]
    from importlib import import_module

    return getattr(import_module(f"lurcher.settings.{file}"), kind)
