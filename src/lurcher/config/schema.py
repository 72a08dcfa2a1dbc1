"""Every setting, declared once with default, meaning and bounds.

Error messages, `lurcher config show` and docs/reference.md are made from these declarations. A setting is what a user has a
reason to change, or a constant of a published pipeline that `--ranking classic`, `--fusion linear` and the rerankers follow.
All other numbers are constants beside the formula that uses them.
"""

from __future__ import annotations

from lurcher.types import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TypeVar

    S = TypeVar("S", bound="Section")


class Setting:
    """A declaration. Objects of its section have the default as an attribute of its name, unless they hold another value."""

    __slots__ = ("choices", "default", "doc", "high", "low", "name", "stage")

    def __init__(
        self, default: Any, doc: str, low: float | None, high: float | None, choices: tuple[str, ...], stage: str
    ) -> None:
        self.name = ""
        self.default, self.doc, self.low, self.high, self.choices, self.stage = default, doc, low, high, choices, stage

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, section: Section | None, owner: type) -> Any:
        return self if section is None else self.default


def setting(
    default: Any,
    doc: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    stage: str = "",
) -> Any:
    """One setting. With `stage`, the names of installed plugins of that stage are allowed beside the choices."""
    return Setting(default, doc, low, high, choices, stage)


class Section:
    """Some settings: those that differ from their defaults are held, and cannot be changed."""

    def __init__(self, **values: Any) -> None:
        unknown = values.keys() - self.declared()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(unknown))}")
        self.__dict__.update(values)

    @classmethod
    def declared(cls) -> dict[str, Setting]:
        return {name: item for name, item in vars(cls).items() if isinstance(item, Setting)}

    def values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.declared()}

    def replace(self: S, **changes: Any) -> S:
        """A copy with some settings changed."""
        return type(self)(**{**vars(self), **changes})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Section) and type(self) is type(other) and self.values() == other.values()

    def __hash__(self) -> int:
        return hash(tuple(self.values().values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.values().items())})"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot change '{name}': use replace")


PROJECT_FILE = "lurcher.toml"
PYPROJECT = "pyproject.toml"
SECRETS = {section: f"LURCHER_{section.upper()}_KEY" for section in ("embedding", "sparse", "reranker", "judge", "store")}
"""The environment variable that holds the key of each service. Fixed, so that no file can name another secret."""


class IndexSettings(Section):
    dir: str = setting("", "Folder under which each root gets its index; empty: `.lurcher` at the root.")
    chunk_chars: int = setting(1500, "Characters a chunk aims at.", low=200, high=20_000)
    max_file_bytes: int = setting(1_000_000, "Larger files are left out and counted.", low=1, high=100_000_000)
    follow_symlinks: bool = setting(False, "Follow links that stay inside the root.")
    submodules: bool = setting(True, "Search submodules and other repositories inside a work tree as part of it.")
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
        "A query to a tree without an index waits about this long, then answers from what is indexed so far and says how much "
        "that is; the next query continues. 0: wait for all of it. `lurcher index` always does all.",
        low=0, high=86_400,
    )  # fmt: skip
    workers: int = setting(0, "Processes that parse; 0: one per core, one for small trees.", low=0, high=256)
    lock_seconds: float = setting(10.0, "How long to wait for another process that is indexing.", low=0, high=3600)


class SearchSettings(Section):
    limit: int = setting(10, "Hits in an answer.", low=1, high=1000)
    mode: str = setting("auto", "How a query is read.", choices=("auto", "hybrid", "lexical", "dense", "symbol"))
    ranking: str = setting(
        "default", "Which ranking orders the hits; plugins may add others.", choices=("default", "classic"), stage="ranking"
    )
    context: str = setting(
        "block", "How much of the code around a match is shown.", choices=("none", "block", "function", "class")
    )
    patience: int = setting(
        64, "With a budget: stop after this many hits that do not fit; in servers 4.", low=1, high=64
    )
    lanes: str = setting("", "Installed plugin lanes to use, each with its weight, such as `todo=0.3`.")
    rerank: str = setting("none", "Rerankers to use when the query names none, such as `cross` or `outcome llm`.")


class LexicalSettings(Section):
    """BM25 over code; `k1` also in the classic and linear rankings of history."""

    k1: float = setting(1.5, "How fast repeated terms saturate.", low=0, high=10)
    b: float = setting(0.75, "How much long units are penalised.", low=0, high=1)


class DenseSettings(Section):
    """The model behind the dense lane."""

    model: str = setting("builtin", "`builtin`, `none` (no vectors, no dense lane), or the path of a term table.")


class EmbeddingSettings(Section):
    """Models that embed text, instead of the term table: here (`onnx`) or on a server. A server's key is read
    from the environment variable `LURCHER_EMBEDDING_KEY`."""

    provider: str = setting(
        "builtin",
        "`builtin`: the term table of `dense.model`; `onnx`: a model here; `tei`, `openai`, `infinity`, `ollama`: a server.",
    )
    model: str = setting("", "`onnx`: a folder, or a name in the local hub cache. Of a server: the model to ask for.")
    url: str = setting("", "The server; empty: what the provider has on this machine, if anything.")
    query_prefix: str = setting("", "Put before a query, for models that want it, such as `query: `.")
    document_prefix: str = setting("", "Put before a text that is indexed, such as `passage: `.")
    pooling: str = setting(
        "auto", "`onnx`: how tokens become one vector; `auto`: as the model's own files say, else `mean`.",
        choices=("auto", "mean", "cls", "last"),
    )  # fmt: skip
    tokens: int = setting(256, "Tokens of a text that are read at most; also for a sparse model.", low=16, high=32_768)
    seconds: float = setting(
        60.0, "How long one batch may take while indexing, with all retries; also for a sparse model.", low=0.05, high=3600
    )
    query_seconds: float = setting(
        5.0, "How long a query may wait for its vector; also for a sparse model.", low=0.05, high=3600
    )
    refresh_units: int = setting(
        200, "Up to this many new units are embedded before answering, more are left to `lurcher index`; -1: always all.",
        low=-1,
    )  # fmt: skip


class SparseSettings(Section):
    """The sparse vectors of a shared store; a local index uses its own terms. The server's key is read from the environment
    variable `LURCHER_SPARSE_KEY`."""

    provider: str = setting(
        "terms", "`terms`: our own terms with BM25 weights; `tei`: a server with `/embed_sparse`, such as one with SPLADE.",
        choices=("terms", "tei"),
    )  # fmt: skip
    model: str = setting("", "The name of the server's model: when it changes, all vectors are computed again.")
    url: str = setting("", "The server; empty: port 8080 of this machine.")


class NoiseSettings(Section):
    """Factors on the score of files that are rarely the answer; they multiply."""

    tests: float = setting(0.3, "Test files.", low=0, high=1)
    legacy: float = setting(0.3, "Compat, legacy, deprecated and superseded versions.", low=0, high=1)
    examples: float = setting(0.3, "Examples and documentation.", low=0, high=1)
    barrel: float = setting(0.5, "Files that only re-export.", low=0, high=1)
    stub: float = setting(0.7, "Declaration stubs such as `.d.ts`.", low=0, high=1)


class ClassicRankingSettings(Section):
    """`--ranking classic`: reciprocal rank fusion, then one stage after the other."""

    rrf_k: float = setting(60.0, "RRF: 1/(k + rank), in code and history.", low=0, high=10_000)
    alpha_symbol: float = setting(0.3, "Weight of the dense lane for queries that look like a name.", low=0, high=1)
    alpha_language: float = setting(0.5, "Weight of the dense lane for other queries.", low=0, high=1)
    candidates: int = setting(
        100, "Candidates per lane, in code and history; in code five times the limit if that is more.", low=1
    )
    coherence: float = setting(0.2, "Boost of a file's best unit by the file's sum.", low=0, high=10)
    definition_language: float = setting(4.0, "Factor for a unit that defines a name in the query.", low=1)
    definition_symbol: float = setting(12.0, "The same, when the query is a name.", low=1)
    stem: float = setting(1.5, "Boost when query words match the file's name or folder.", low=0, high=10)
    stem_share: float = setting(0.1, "Share of the query's words that must match for that boost.", low=0, high=1)
    saturation: float = setting(0.5, "Factor for each further unit of the same file.", low=0, high=1)


class LinearRankingSettings(Section):
    """`--fusion linear`: cosines and BM25, each scaled from 0 to 1, added up."""

    alpha: float = setting(0.6, "Weight of cosines; BM25 has the rest.", low=0, high=1)


class HistorySettings(Section):
    """Which commits are indexed, and how they are ranked."""

    first_parent: bool = setting(False, "Follow first parents only; a merge then stands for all that it brought.")
    merges: bool = setting(False, "Index merges too, each with its change against its first parent.")
    max_commits: int = setting(0, "Index at most this many of the newest commits; 0: all.", low=0)
    refresh_seconds: float = setting(
        1.0, "How long a query may wait while new commits are read; the newest 100 always are.", low=0, high=3600
    )
    background: bool = setting(
        True, "Read the rest of a long history in the background after a query: by a process that the command leaves behind, "
        "but not where the environment variable `CI` is set, or by the server."
    )
    ranking: str = setting("default", "Which ranking orders commits: `default`, `classic`, or one that is installed.")
    candidates: int = setting(50, "Commits that rerankers and `--mmr` get.", low=1, high=10_000)


class OutcomeSettings(Section):
    """When a commit counts as fixed by a later one."""

    window: int = setting(20, "How many later commits may fix a commit.", low=1, high=1000)
    overlap: float = setting(0.5, "Share of the smaller set of files that both must touch.", low=0, high=1)
    words: str = setting("fix hotfix patch bugfix", "Words of a subject that say that something is fixed.")
    strictness: str = setting(
        "strict",
        "`strict`: the later commit must rewrite lines that the earlier one added; `loose`: words and files are enough.",
        choices=("strict", "loose"),
    )


class RecencySettings(Section):
    """A small boost for young commits: score · (1 + weight · exp(−age / days))."""

    weight: float = setting(0.05, "How much a commit of today gains.", low=0, high=10)
    days: float = setting(90.0, "Age at which a third of that is left.", low=0.001, high=100_000)


class BlameSettings(Section):
    """How `explain` finds the commits that wrote a line."""

    ignore: str = setting(".git-blame-ignore-revs", "File that lists commits to skip, if it is there; empty: none.")


class RerankerSettings(Section):
    """`--rerank cross`: a model that scores query and text as a pair, here or on a server. The server's key is read from the
    environment variable `LURCHER_RERANKER_KEY`."""

    model: str = setting(
        "BAAI/bge-reranker-base",
        "A folder with an ONNX cross-encoder, or its name in the local hub cache. With infinity: the model to ask for.",
    )
    url: str = setting("", "A server to use instead; empty: the model runs here, and nothing leaves the machine.")
    protocol: str = setting("tei", "What the server speaks.", choices=("tei", "infinity"))
    seconds: float = setting(30.0, "How long it may take; if that is too short, the order stays.", low=0.05, high=3600)
    top: int = setting(50, "How many of the first hits it scores.", low=1, high=200)


class JudgeSettings(Section):
    """`--rerank llm`: a chat model on a server gives each hit 0 to 10. Its key is read from the environment variable
    `LURCHER_JUDGE_KEY`."""

    model: str = setting("", "The chat model; empty: `llama3.2:1b` of Ollama, the first chat model of another server.")
    url: str = setting("http://127.0.0.1:11434", "The server; by default Ollama on this machine.")
    protocol: str = setting("ollama", "What the server speaks.", choices=("ollama", "openai"))
    seconds: float = setting(10.0, "How long it may take; if that is too short, the order stays.", low=0.05, high=3600)
    top: int = setting(30, "How many of the first hits it scores.", low=1, high=200)
    chars: int = setting(500, "Characters of each hit that it gets.", low=50, high=20_000)


class SavingsSettings(Section):
    """What `lurcher stats` shows."""

    count: bool = setting(True, "Servers count, on this machine only, how many tokens their answers saved agents.")


class ServeSettings(Section):
    """`lurcher serve`. A project's own file cannot set these."""

    host: str = setting("127.0.0.1", "The address to listen on; any but this machine's own needs a token.")
    port: int = setting(7433, "The port to listen on; 0: any that is free.", low=0, high=65_535)
    token: str = setting("", "What a client has to send; at least 16 characters.")
    hosts: str = setting("", "Further names by which the server may be called, separated by spaces.")
    editor: str = setting("vscode://file/{path}:{line}", "The address that opens a line in your editor; empty: none.")


class StoreSettings(Section):
    """A store that a team shares, in place of the index of one machine. Its key or password is read from the environment
    variable `LURCHER_STORE_KEY`. A project's own files cannot set these."""

    url: str = setting("", "Where it is, such as `qdrant://host:6333` or `postgres://host/name`; empty: the local index.")
    project: str = setting(
        "", "The project in it, or several, separated by commas; empty: as the git remote, else the folder."
    )
    fallback: str = setting(
        "none", "What answers when the store does not: nothing, or the local index.", choices=("none", "local")
    )
    rrf: str = setting(
        "60", "How candidate lists are fused: the constant of 1/(constant + rank), or `engine`: as the store does.",
        choices=("engine", "60"),
    )  # fmt: skip
    seconds: float = setting(10.0, "How long one request to it may take, with all retries.", low=0.05, high=3600)


class PostgresSettings(Section):
    """A shared store in PostgreSQL ([postgres.md](postgres.md))."""

    schema: str = setting("lurcher", "The schema that holds the tables.")
    vectors: str = setting(
        "cells", "How near vectors are found: those in the nearest cells, all (`exact`), or by an index of pgvector (`hnsw`).",
        choices=("cells", "exact", "hnsw"),
    )  # fmt: skip


class QdrantSettings(Section):
    """A shared store in Qdrant ([qdrant.md](qdrant.md)). A project's own file cannot set these."""

    collection: str = setting("code_chunks", "The collection of units; files and projects are in two more beside it.")
    shards: int = setting(1, "For a new collection: into how many shards it is split.", low=1, high=1000)
    replicas: int = setting(1, "For a new collection: copies of each shard.", low=1, high=100)


_DEFAULTS: dict[str, Section] = {
    "index": IndexSettings(),
    "search": SearchSettings(),
    "lexical": LexicalSettings(),
    "dense": DenseSettings(),
    "embedding": EmbeddingSettings(),
    "sparse": SparseSettings(),
    "noise": NoiseSettings(),
    "classic": ClassicRankingSettings(),
    "linear": LinearRankingSettings(),
    "history": HistorySettings(),
    "outcomes": OutcomeSettings(),
    "recency": RecencySettings(),
    "blame": BlameSettings(),
    "reranker": RerankerSettings(),
    "judge": JudgeSettings(),
    "savings": SavingsSettings(),
    "serve": ServeSettings(),
    "store": StoreSettings(),
    "postgres": PostgresSettings(),
    "qdrant": QdrantSettings(),
}


class Settings(Record):
    """All sections; `origins` says where each value came from that is not a default."""

    __slots__ = ("origins", *_DEFAULTS)
    uncompared = ("origins",)

    origins: Mapping[str, str]
    index: IndexSettings
    search: SearchSettings
    lexical: LexicalSettings
    dense: DenseSettings
    embedding: EmbeddingSettings
    sparse: SparseSettings
    noise: NoiseSettings
    classic: ClassicRankingSettings
    linear: LinearRankingSettings
    history: HistorySettings
    outcomes: OutcomeSettings
    recency: RecencySettings
    blame: BlameSettings
    reranker: RerankerSettings
    judge: JudgeSettings
    savings: SavingsSettings
    serve: ServeSettings
    store: StoreSettings
    postgres: PostgresSettings
    qdrant: QdrantSettings

    def __init__(self, origins: Mapping[str, str] | None = None, **sections: Section) -> None:
        unknown = sections.keys() - _DEFAULTS.keys()
        if unknown:
            raise TypeError(f"Settings has no {', '.join(sorted(unknown))}")
        self.origins = {} if origins is None else origins
        for name, default in _DEFAULTS.items():
            setattr(self, name, sections.get(name, default))

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{key}={value!r}' for key, value in self.changed())})"

    def changed(self) -> list[tuple[str, Any]]:
        """Every value that is not its default, by key."""
        found = []
        for name in _DEFAULTS:
            section = getattr(self, name)
            held, declared = vars(section), section.declared() if vars(section) else {}
            found += [(f"{name}.{key}", value) for key, value in held.items() if value != declared[key].default]
        return sorted(found)

    def to_dict(self) -> dict[str, Any]:
        return {key: value for key, value, _, _ in self.rows()}

    def rows(self) -> Iterator[tuple[str, Any, str, str]]:
        """(key, value, origin, meaning) of every setting, in order of declaration."""
        for key, item in settings_by_key().items():
            section = getattr(self, key.partition(".")[0])
            yield key, getattr(section, item.name), self.origins.get(key, "default"), item.doc


def sections() -> tuple[str, ...]:
    """The names of all sections, in order of declaration."""
    return tuple(_DEFAULTS)


def settings_by_key() -> dict[str, Setting]:
    """Every declaration by its dotted key, in order."""
    return {f"{name}.{item.name}": item for name, section in _DEFAULTS.items() for item in section.declared().values()}
