"""Models on servers, and those that look at hits a second time."""

from __future__ import annotations

from lurcher.runtime.light import dataclass
from lurcher.settings import setting


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
