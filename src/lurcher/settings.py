"""Every setting, declared once with its default, its meaning and its bounds: what reads them, error messages and the reference
in docs/ come from these declarations."""

from __future__ import annotations

from lurcher.light import TYPE_CHECKING, dataclass, field, fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


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
class SparseSettings:
    """What the words of a shared store's units are compared by; a local index has its own words."""

    provider: str = setting(
        "terms", "`terms`: our own terms, weighed as BM25 does; `tei`: a server with `/embed_sparse`, such as SPLADE's.",
        choices=("terms", "tei"),
    )  # fmt: skip
    model: str = setting("", "The model that the server has: with another name, vectors are made anew.")
    url: str = setting("", "The server; empty: port 8080 of this machine.")
    key: str = setting("LURCHER_SPARSE_KEY", "The environment variable that holds the server's key, if it needs one.")
    query_prefix: str = setting("", "Put before a question, for models that want it.")
    document_prefix: str = setting("", "Put before a text that is indexed.")
    tokens: int = setting(256, "Tokens of a text that are read, at most.", low=16, high=32_768)
    top: int = setting(512, "Numbers of a vector that are kept, the greatest first.", low=1, high=65_536)
    batch: int = setting(32, "Texts in one request.", low=1, high=1024)
    seconds: float = setting(60.0, "How long one batch may take while indexing, all retries included.", low=0.05, high=3600)
    query_seconds: float = setting(5.0, "How long a question may wait for its vector.", low=0.05, high=3600)


@dataclass(frozen=True)
class ServicesSettings:
    """What holds for every server that models run on."""

    failures: int = setting(3, "Failures in a row after which a service is left alone; 0: it never is.", low=0, high=1000)
    pause: float = setting(30.0, "For so many seconds; then one question tries it again.", low=0, high=86_400)
    concurrency: int = setting(4, "Requests to one service at a time; further ones wait.", low=1, high=256)
    health_seconds: float = setting(3.0, "How long `lurcher doctor` waits for each service.", low=0.05, high=600)


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
class ClassicRankingSettings:
    """Reciprocal rank fusion, then one stage after the other."""

    rrf_k: float = setting(60.0, "RRF: 1/(k + rank).", low=0, high=10_000)
    phrase: float = setting(0.25, "Weight of the literal lane, for a query of a few words.", low=0, high=1)
    alpha_symbol: float = setting(0.3, "Weight of the dense lane for queries that look like a name.", low=0, high=1)
    alpha_language: float = setting(0.5, "Weight of the dense lane for questions.", low=0, high=1)
    candidates: int = setting(100, "Candidates per lane, at least; five times the limit if that is more.", low=1)
    coherence: float = setting(0.2, "Boost of a file's best unit by the file's sum.", low=0, high=10)
    definition_language: float = setting(4.0, "Factor for a unit that defines a queried name, in a question.", low=1)
    definition_symbol: float = setting(12.0, "The same, when the query is a name.", low=1)
    definition_stem: float = setting(1.5, "Further factor when the file is named like the symbol.", low=1)
    proximity: float = setting(0.05, "Boost of files near the best ones in the import graph.", low=0, high=10)
    proximity_decay: float = setting(0.5, "What a second hop counts of a first one.", low=0, high=1)
    stem: float = setting(1.5, "Boost when query words match the file's name or folder.", low=0, high=10)
    stem_share: float = setting(0.1, "Share of the query's words that must match for that boost.", low=0, high=1)
    saturation: float = setting(0.5, "Factor for each further unit of the same file.", low=0, high=1)


@dataclass(frozen=True)
class LinearRankingSettings:
    """`--fusion linear` over code: cosines and BM25 of units, added up."""

    alpha: float = setting(0.6, "Weight of cosines.", low=0, high=1)
    candidates: int = setting(100, "Nearest units beside all that match; five times the limit if that is more.", low=1)
    mmr_top: int = setting(50, "Units among which `--mmr` chooses.", low=1, high=1000)


@dataclass(frozen=True)
class GraphSettings:
    """What `impact` and `context` show."""

    hops: int = setting(2, "How many imports away `impact` looks.", low=1, high=100)
    fan_in: int = setting(100, "Dependents listed for each hop; all are counted.", low=1, high=100_000)
    context_budget: int = setting(4000, "Tokens that `context` may take.", low=1, high=10_000_000)


@dataclass(frozen=True)
class HistorySettings:
    """Which commits are indexed, and when."""

    first_parent: bool = setting(False, "Follow first parents only; a merge then stands for all that it brought.")
    merges: bool = setting(False, "Index merges too, each with its change against its first parent.")
    max_commits: int = setting(0, "Index no more than so many of the newest commits; 0: all.", low=0)
    diff_bytes: int = setting(
        20_000, "Bytes of changed lines kept of a commit, code before tests before the rest.", low=0, high=1_000_000
    )
    batch: int = setting(1_000, "Commits written together, after the newest 500.", low=1, high=100_000)
    brief_budget: int = setting(1500, "Tokens that `brief` may take.", low=1, high=10_000_000)
    refresh_seconds: float = setting(
        10.0, "For how long a question may wait while new commits are read; the newest 500 always are.", low=0, high=3600
    )


@dataclass(frozen=True)
class PastRankingSettings:
    """How commits are ranked."""

    ranking: str = setting("default", "Which ranking to use.")
    subject: float = setting(3.0, "A word in the subject.", low=0, high=100)
    body: float = setting(1.0, "A word in the rest of the message.", low=0, high=100)
    paths: float = setting(0.75, "A word in the path of a changed file.", low=0, high=100)
    headings: float = setting(0.5, "A word in the name of a changed function.", low=0, high=100)
    tests: float = setting(0.5, "A word in the added lines of tests.", low=0, high=100)
    code: float = setting(0.05, "A word in the added lines of code.", low=0, high=100)
    k1: float = setting(1.6, "BM25: how soon more of the same word counts for nothing.", low=0, high=100)
    variant: float = setting(0.4, "What another form of a word counts.", low=0, high=1)
    title: float = setting(2.5, "A word of the first line, where there are more lines.", low=0, high=100)
    keep_terms: int = setting(60, "Words of a question kept, by weight times rarity.", low=1, high=1000)
    meaning: float = setting(0.6, "A commit is near a question in meaning, against all its words together.", low=0, high=10)
    meaning_hunk: float = setting(0.2, "One of its hunks is near.", low=0, high=10)
    rrf_k: float = setting(60.0, "`classic`: 1/(k + rank).", low=0, high=10_000)
    lane: int = setting(100, "`classic`: candidates per lane.", low=1, high=100_000)
    fused: int = setting(50, "Candidates that go on to rerankers and to `--mmr`.", low=1, high=10_000)
    bm25_k1: float = setting(1.5, "BM25 of `classic` and of `--fusion linear`.", low=0, high=100)
    alpha: float = setting(0.6, "`--fusion linear`: weight of cosines.", low=0, high=1)


@dataclass(frozen=True)
class OutcomeSettings:
    """When a commit counts as mended by a later one."""

    window: int = setting(20, "How many later commits may mend a commit.", low=1, high=1000)
    overlap: float = setting(0.5, "Share of the smaller set of files that both must touch.", low=0, high=1)
    words: str = setting("fix hotfix patch bugfix", "Words of a subject that say that something is mended.")
    strictness: str = setting(
        "strict",
        "`strict`: the later commit must rewrite lines that the earlier one added; `loose`: words and files are enough.",
        choices=("strict", "loose"),
    )


@dataclass(frozen=True)
class CommitSettings:
    """Factors for commits that are rarely the answer; they multiply."""

    release: float = setting(0.7, "Version bumps and releases.", low=0, high=1)
    dependencies: float = setting(0.7, "Lock files and versions of dependencies.", low=0, high=1)
    reformat: float = setting(0.7, "Mass reformatting and changes of white space only.", low=0, high=1)
    merge: float = setting(0.7, "Merges.", low=0, high=1)
    docs: float = setting(0.8, "Commits that touch documentation only.", low=0, high=1)
    tests: float = setting(0.85, "Commits that touch tests only.", low=0, high=1)
    generated: float = setting(0.7, "Commits that touch generated or vendored files only.", low=0, high=1)
    fix: float = setting(1.1, "A commit whose subject reads as a fix, when the query reports a fault.", low=0, high=10)


@dataclass(frozen=True)
class RecencySettings:
    """A nudge for what is young: score · (1 + weight · exp(−age / days))."""

    weight: float = setting(0.05, "How much a commit of today gains.", low=0, high=10)
    days: float = setting(90.0, "Age at which a third of that is left.", low=0.001, high=100_000)


@dataclass(frozen=True)
class BlameSettings:
    """How `explain` finds the commits that wrote a line."""

    whitespace: bool = setting(True, "Look through changes of white space only.")
    moves: bool = setting(True, "Follow lines that were moved within a file.")
    copies: bool = setting(False, "Follow lines that came from other files changed in the same commit; slower.")
    ignore: str = setting(".git-blame-ignore-revs", "File with commits to look through, if it is there; empty: none.")
    seconds: float = setting(60.0, "How long git may take.", low=0.1, high=3600)
    excerpt_lines: int = setting(12, "Lines of a change that are shown.", low=1, high=1000)


@dataclass(frozen=True)
class AcrossSettings:
    """`--in all`: what speaks for a source against code, in logarithms of odds."""

    notes: float = setting(0.4, "For notes, before their words and the code's are weighed.", low=-100, high=100)
    advice: float = setting(2.0, "For notes, where the question asks for advice.", low=-100, high=100)
    report: float = setting(-1.5, "For notes at most, where the question is a report of many lines.", low=-100, high=100)
    history: float = setting(-1.5, "For history, before words are weighed.", low=-100, high=100)
    past: float = setting(5.0, "For history, where the question asks about the past.", low=-100, high=100)
    complaint: float = setting(2.0, "For history, where the question complains of a fault.", low=-100, high=100)
    steep: float = setting(0.7, "How much odds count.", low=0, high=10)
    floor: float = setting(0.6, "Share of the question that a source must say to be on the first page.", low=0, high=2)


@dataclass(frozen=True)
class RerankerSettings:
    """`--rerank cross`: a model that scores question and text as a pair, here or on a server."""

    model: str = setting("BAAI/bge-reranker-base", "A folder with an ONNX cross-encoder, or its name in the local hub cache.")
    url: str = setting("", "A server to ask instead; empty: the model runs here, and nothing leaves the machine.")
    protocol: str = setting("tei", "What the server speaks.", choices=("tei", "infinity"))
    key: str = setting("LURCHER_RERANKER_KEY", "The environment variable that holds the server's key, if it needs one.")
    seconds: float = setting(30.0, "How long it may take; if that is too short, the order stays.", low=0.05, high=3600)
    top: int = setting(50, "How many of the first hits it looks at.", low=1, high=200)
    tokens: int = setting(512, "Tokens of a pair, at most; the text is cut, not the question.", low=64, high=32_768)
    batch: int = setting(8, "Pairs that are scored together.", low=1, high=1024)


@dataclass(frozen=True)
class JudgeSettings:
    """`--rerank llm`: a chat model on a server gives each hit 0 to 10."""

    model: str = setting("", "The chat model; empty: `llama3.2:1b` of Ollama, the first chat model of another server.")
    url: str = setting("http://127.0.0.1:11434", "The server; as it comes, Ollama on this machine.")
    protocol: str = setting("ollama", "What the server speaks.", choices=("ollama", "openai"))
    key: str = setting("LURCHER_JUDGE_KEY", "The environment variable that holds the server's key, if it needs one.")
    seconds: float = setting(10.0, "How long it may take; if that is too short, the order stays.", low=0.05, high=3600)
    top: int = setting(30, "How many of the first hits it looks at.", low=1, high=200)
    chars: int = setting(500, "Characters that it sees of each.", low=50, high=20_000)


@dataclass(frozen=True)
class NoteSettings:
    """How sections of notes are ranked."""

    k1: float = setting(1.5, "BM25: how fast repeated terms saturate.", low=0.01, high=10)
    b: float = setting(0.5, "BM25: how much long sections are held back.", low=0, high=1)
    b_above: float = setting(0.25, "The same, for long titles and headings.", low=0, high=1)
    rarity: float = setting(0.8, "How much rare words count for more: the power of their IDF.", low=0, high=4)
    body: float = setting(1.0, "Weight of terms in the text.", low=0, high=100)
    above: float = setting(2.0, "Weight of terms in title, headings, tags and other names.", low=0, high=100)
    comments: float = setting(0.1, "Weight of terms in comments, which readers do not see.", low=0, high=100)
    name: float = setting(1.0, "Weight of terms in the file's name.", low=0, high=100)
    folder: float = setting(0.0, "Weight of terms in the last three folders.", low=0, high=100)
    variant: float = setting(0.3, "Weight of a word's other forms (same stem, known abbreviation).", low=0, high=1)
    title: float = setting(0.03, "How much of its title the query explains.", low=0, high=10)
    whole: float = setting(0.5, "Weight of the words of the whole note.", low=0, high=10)
    b_whole: float = setting(0.6, "BM25: how much long notes are held back as a whole.", low=0, high=1)
    small: float = setting(0.5, "Words such as 'the' in the whole note: they tell its language.", low=0, high=10)
    pairs: float = setting(0.25, "Words next to each other in the query and anywhere in the note.", low=0, high=10)
    pair: float = setting(0.03, "The same, in the section itself.", low=0, high=10)
    looked_at: int = setting(20, "Notes whose text is looked at for such pairs.", low=1, high=10_000)
    card: float = setting(0.08, "Nearness of the whole note in meaning.", low=0, high=10)
    meaning: float = setting(0.05, "Nearness of the section: the shipped model knows code better than prose.", low=0, high=10)
    links: float = setting(0.02, "What the best notes lend to those that are linked with them.", low=0, high=10)
    compared: int = setting(40, "Notes whose sections are compared in meaning.", low=1, high=100_000)


@dataclass(frozen=True)
class SavingsSettings:
    """What `lurcher stats` shows."""

    count: bool = setting(True, "Servers count, on this machine only, how many tokens their answers saved agents.")


@dataclass(frozen=True)
class PostgresSettings:
    """A shared store in PostgreSQL."""

    schema: str = setting("lurcher", "The schema that holds the tables.")
    vectors: str = setting(
        "cells", "How near vectors are found: those in the nearest cells, all (`exact`), or by an index of pgvector (`hnsw`).",
        choices=("cells", "exact", "hnsw"),
    )  # fmt: skip
    probes: float = setting(0.035, "`cells`: the share of them that a question looks into, at least 16.", low=0.001, high=1)
    postings: int = setting(
        20_000, "Entries of words that a question reads, those that weigh most first.", low=1_000, high=100_000_000
    )
    connections: int = setting(4, "Connections that one process has at a time.", low=1, high=100)
    write_seconds: float = setting(900.0, "How long it may take for one step of writing.", low=1, high=86_400)


@dataclass(frozen=True)
class ServeSettings:
    """`lurcher serve`. A project's own file cannot set these."""

    host: str = setting("127.0.0.1", "The address to listen on; any but this machine's own needs a token.")
    port: int = setting(7433, "The port to listen on; 0: any that is free.", low=0, high=65_535)
    token: str = setting("", "What a client has to send; at least 16 characters.")
    hosts: str = setting("", "Further names by which the server may be called, separated by spaces.")
    editor: str = setting("vscode://file/{path}:{line}", "The address that opens a line in your editor; empty: none.")


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


@dataclass(frozen=True)
class QdrantSettings:
    """A store in Qdrant ([qdrant.md](qdrant.md)). A project's own file cannot set these."""

    collection: str = setting("code_chunks", "The collection of units; files and projects are in two more beside it.")
    ca: str = setting("", "A file with the certificates to believe, for a server whose certificate your system does not know.")
    write_seconds: float = setting(60.0, "How long one batch may take.", low=0.05, high=3600)
    patience: float = setting(120.0, "How long a batch is tried again while the server cannot take it.", low=0, high=86_400)
    lease_seconds: float = setting(30.0, "A writer that is not heard of for so long is out of the way.", low=1, high=3600)
    batch: int = setting(500, "Units that are sent together.", low=1, high=10_000)
    concurrency: int = setting(4, "Batches that are under way at once.", low=1, high=64)
    fusion: str = setting(
        "auto", "Who fuses the legs: Qdrant, or lurcher `here`, which is half the work for it; `auto`: Qdrant, if on a server.",
        choices=("auto", "server", "here"),
    )  # fmt: skip
    exact: bool = setting(False, "Compare a question with every vector instead of going by the graph.")
    quantisation: str = setting(
        "none", "For a new collection: smaller copies of vectors, which are searched first.",
        choices=("none", "scalar", "binary"),
    )  # fmt: skip
    vectors_on_disk: bool = setting(False, "For a new collection: vectors are read from disk, not kept in memory.")
    payload_on_disk: bool = setting(True, "For a new collection: text and the like are read from disk, not kept in memory.")
    shards: int = setting(1, "For a new collection: parts it is cut into.", low=1, high=1000)
    replicas: int = setting(1, "For a new collection: copies of each part.", low=1, high=100)


@dataclass(frozen=True)
class Settings:
    index: IndexSettings = IndexSettings()
    search: SearchSettings = SearchSettings()
    lexical: LexicalSettings = LexicalSettings()
    dense: DenseSettings = DenseSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    sparse: SparseSettings = SparseSettings()
    services: ServicesSettings = ServicesSettings()
    default: DefaultRankingSettings = DefaultRankingSettings()
    report: ReportRankingSettings = ReportRankingSettings()
    noise: NoiseSettings = NoiseSettings()
    classic: ClassicRankingSettings = ClassicRankingSettings()
    linear: LinearRankingSettings = LinearRankingSettings()
    graph: GraphSettings = GraphSettings()
    history: HistorySettings = HistorySettings()
    past: PastRankingSettings = PastRankingSettings()
    outcomes: OutcomeSettings = OutcomeSettings()
    commits: CommitSettings = CommitSettings()
    recency: RecencySettings = RecencySettings()
    blame: BlameSettings = BlameSettings()
    across: AcrossSettings = AcrossSettings()
    reranker: RerankerSettings = RerankerSettings()
    judge: JudgeSettings = JudgeSettings()
    notes: NoteSettings = NoteSettings()
    savings: SavingsSettings = SavingsSettings()
    postgres: PostgresSettings = PostgresSettings()
    serve: ServeSettings = ServeSettings()
    store: StoreSettings = StoreSettings()
    qdrant: QdrantSettings = QdrantSettings()
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Where each value that is not a default came from."""

    def to_dict(self) -> dict[str, Any]:
        return {key: value for key, value, _, _ in self.rows()}

    def rows(self) -> Iterator[tuple[str, Any, str, str]]:
        """(key, value, origin, meaning) of every setting, in order of declaration."""
        for section in sections():
            part = getattr(self, section)
            for item in fields(part):
                key = f"{section}.{item.name}"
                yield key, getattr(part, item.name), self.origins.get(key, "default"), item.metadata["doc"]


def sections() -> tuple[str, ...]:
    return tuple(item.name for item in fields(Settings) if item.name != "origins")
