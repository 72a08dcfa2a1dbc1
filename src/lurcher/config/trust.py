"""What a repository's own settings may decide, and what only the user may decide.

Who clones a repository has not read its `lurcher.toml`. Such a file may say how its code is chunked, ranked and shown. It
may not have text sent anywhere, start processes, run code of other packages or its own, write elsewhere, or take much more
time and memory than the defaults do. `TABLE` has a rule for every setting; a project cannot set what is not in it.
"""

from __future__ import annotations

import os

from lurcher.config.schema import PROJECT_FILE, PYPROJECT, SECRETS
from lurcher.errors import ConfigError, Template
from lurcher.types import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any
    from urllib.parse import SplitResult

    from lurcher.config.schema import Settings


class Rule(Record):
    """What a project may set."""

    __slots__ = ("why", "words", "above", "most")

    def __init__(
        self, why: str = "", words: tuple[str, ...] = (), above: float | None = None, most: float | None = None,
    ) -> None:  # fmt: skip
        self.why = why
        """Why it is limited; empty: the setting's own bounds are the only limit."""
        self.words = words
        """The words it may use."""
        self.above = above
        """A number has to be greater: a value that means "no limit" is not for a project."""
        self.most = most
        """The greatest number it may set."""

    def allows(self, value: Any) -> bool:
        if not self.why:
            return True
        if self.words:
            return isinstance(value, str) and set(value.split()) <= set(self.words)
        if self.most is None or isinstance(value, (str, bool)) or not isinstance(value, (int, float)):
            return False
        return value <= self.most and (self.above is None or value > self.above)

    @property
    def allowed(self) -> str:
        if self.words:
            return f"there it may be {' or '.join(self.words)}; "
        if self.most is not None:
            return f"there it may be {'more than ' + format(self.above, 'g') + ' and ' if self.above is not None else ''}" \
                   f"at most {self.most:,g}; "  # fmt: skip
        return ""


def refusal(key: str, value: Any, origin: str) -> ConfigError | None:
    """The error for a value that a project may not set; None if it may."""
    rule = TABLE.get(key, _UNKNOWN)
    if rule.allows(value):
        return None
    variable = key.upper().replace(".", "_")
    return ConfigError(
        f"{origin}: {key} {rule.why}, which a project cannot",
        Template("{*}set it yourself: in your own settings, as LURCHER_{*}, or with {set}", rule.allowed, variable),
    )


def read_secret(section: str, environ: Mapping[str, str] | None = None) -> str:
    """The key for the service of a section, never stored or shown; empty where it is not set."""
    environ = os.environ if environ is None else environ
    return environ.get(SECRETS[section], "").strip()


def user_setting(settings: Settings, key: str) -> str:
    """A setting that only the user may have made. Checked again where it is used, however the settings were put together."""
    value: str = getattr(getattr(settings, key.partition(".")[0]), key.partition(".")[2])
    origin = settings.origins.get(key, "")
    problem = refusal(key, value, origin) if origin in (PROJECT_FILE, PYPROJECT) else None
    if problem is not None:
        raise problem
    return value


def service_key(section: str, base: SplitResult, instead: str = "") -> str:
    """The key for the server of a section, if there is one; ConfigError rather than sending it unencrypted elsewhere.

    `instead` is what to write for a safe address, where that is not https in the section's url.
    """
    variable, key = SECRETS[section], read_secret(section)
    if key and not key.isprintable():
        raise ConfigError(f"the key in {variable} has characters that cannot be sent", "set it again")
    if key and base.scheme != "https" and not _is_loopback(base.hostname or ""):
        safe = instead or f"https in {section}.url"
        raise ConfigError(f"the key in {variable} would be sent in the clear", f"use {safe}, or unset it")
    return key


def authorization(key: str) -> dict[str, str]:
    """The HTTP header that carries a key, if there is one."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def _is_loopback(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


# -- the table ------------------------------------------------------------------------------------------------------------

_ANY = Rule()
_UNKNOWN = Rule("is the user's to decide")
_SENT = Rule("decides where text is sent")
_MODEL = Rule("decides which model is loaded or called, and how")
_SHARED = Rule("decides how a store that others share is used")
_SERVED = Rule("decides who may reach the server and what it does")
_LONG = "decides how much time and memory is taken"


def _most(most: float, above: float | None = None) -> Rule:
    return Rule(_LONG, most=most, above=above)


def _each(section: str, names: str, rule: Rule = _ANY) -> dict[str, Rule]:
    return {f"{section}.{name}": rule for name in names.split()}


TABLE: dict[str, Rule] = {
    # Where the index is: only inside the project, which is checked where its root is known.
    **_each("index", "dir chunk_chars follow_symlinks submodules"),
    "index.secrets": Rule("brings files back that look like secrets"),
    "index.broad": Rule("allows a whole disk to be indexed"),
    "index.max_file_bytes": _most(1_000_000),
    "index.refresh_limit": _most(5_000, above=-1),
    "index.first_answer_seconds": _most(20, above=0),
    "index.workers": Rule("decides how many processes are started"),
    "index.lock_seconds": _most(10),
    **_each("search", "mode context patience"),
    "search.limit": _most(100),
    # Plugins may do anything, such as call a server.
    "search.ranking": Rule("decides whose code is run", words=("default", "classic")),
    "search.lanes": Rule("decides whose code is run"),
    "search.rerank": Rule("decides whether text is sent, and to whom", words=("none", "outcome")),
    **_each("lexical", "k1 b"),
    "dense.model": _ANY,  # a file of the project, which is checked where its root is known
    "embedding.provider": Rule("decides where text is sent, or whose model is run", words=("builtin",)),
    "embedding.url": _SENT,
    **_each("embedding", "model query_prefix document_prefix pooling tokens seconds query_seconds refresh_units", _MODEL),
    "sparse.provider": Rule("decides where text is sent", words=("terms",)),
    "sparse.url": _SENT,
    "sparse.model": _MODEL,
    **_each("noise", "tests legacy examples barrel stub"),
    **_each(
        "classic",
        "rrf_k alpha_symbol alpha_language coherence definition_language definition_symbol stem stem_share saturation",
    ),
    "classic.candidates": _most(1_000),
    "linear.alpha": _ANY,
    **_each("history", "first_parent merges max_commits"),
    "history.refresh_seconds": _most(10),
    "history.background": Rule("decides whether a process is left behind"),
    "history.ranking": Rule("decides whose code is run", words=("default", "classic")),
    "history.candidates": _most(1_000),
    "outcomes.window": _most(100),
    **_each("outcomes", "overlap words strictness"),
    **_each("recency", "weight days"),
    "blame.ignore": _ANY,
    "reranker.url": _SENT,
    **_each("reranker", "model protocol seconds top", _MODEL),
    "judge.url": _SENT,
    **_each("judge", "model protocol seconds top chars", _MODEL),
    "savings.count": Rule("decides what is counted on this machine"),
    **_each("serve", "host port token hosts editor", _SERVED),
    "store.url": Rule("decides where code is sent"),
    "store.project": Rule("says whose index is read and written"),
    **_each("store", "fallback rrf seconds", _SHARED),
    **_each("postgres", "schema vectors", _SHARED),
    **_each("qdrant", "collection shards replicas", _SHARED),
}
"""Every setting with what a project may set of it."""
