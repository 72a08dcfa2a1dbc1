"""What a repository's own settings may decide, and what is the user's decision alone.

Whoever clones a repository has not read its `lurcher.toml`. Such a file may say how its code is cut, ranked and shown. It may
not have text sent anywhere, name a secret, start processes, run code of other packages or of its own, write elsewhere, or take
much more time and memory than the defaults do. `TABLE` says so of every setting; what is not in it a project cannot set.
"""

from __future__ import annotations

from lurcher import config
from lurcher.errors import ConfigError
from lurcher.runtime.light import TYPE_CHECKING, dataclass

if TYPE_CHECKING:
    from typing import Any
    from urllib.parse import SplitResult

    from lurcher.config import Settings


@dataclass(frozen=True, slots=True)
class Rule:
    """What a project may set."""

    why: str = ""
    """Why it may set no more; empty: it may set all that the setting's own bounds allow."""
    words: tuple[str, ...] = ()
    """The words it may use."""
    above: float | None = None
    """A number has to be greater: what stands for no limit is not for a project."""
    most: float | None = None
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


def own_setting(settings: Settings, key: str) -> bool:
    """Whether a setting is the project's own."""
    return settings.origins.get(key) in (config.PROJECT_FILE, config.PYPROJECT)


def refusal(key: str, value: Any, origin: str) -> ConfigError | None:
    """Why a project may not set this, if so."""
    rule = TABLE.get(key, _UNKNOWN)
    if rule.allows(value):
        return None
    # The variable of that name holds the secret itself.
    variable = "" if key.endswith(".key") else f"as LURCHER_{key.upper().replace('.', '_')}, "
    return ConfigError(
        f"{origin}: {key} {rule.why}, which a project cannot",
        f"{rule.allowed}set it yourself: in your own settings, {variable}or with --set",
    )


def users_own(settings: Settings, key: str) -> str:
    """A setting that only the user may have made; looked at again where it counts, whoever put the settings together."""
    value: str = getattr(getattr(settings, key.partition(".")[0]), key.partition(".")[2])
    problem = refusal(key, value, settings.origins[key]) if own_setting(settings, key) else None
    if problem is not None:
        raise problem
    return value


def users_key(settings: Settings, section: str, base: SplitResult, instead: str = "") -> str:
    """The key that goes along to a server of a section; it is not sent in the clear to another machine.

    `instead` is what to write for a safe address, where that is not https in the section's url.
    """
    variable = users_own(settings, f"{section}.key")
    key = config.secret(variable)
    if key and not key.isprintable():
        raise ConfigError(f"the key in {variable} has letters that no key has", "set it again")
    if key and base.scheme != "https" and not _here(base.hostname or ""):
        safe = instead or f"https in {section}.url"
        raise ConfigError(f"the key in {variable} would be sent in the clear", f"use {safe}, or unset it")
    return key


def bearing(key: str) -> dict[str, str]:
    """The header that carries a key, if there is one."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def _here(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


# -- the table ------------------------------------------------------------------------------------------------------------

_ANY = Rule()
_UNKNOWN = Rule("is the user's to decide")
_SENT = Rule("decides where text is sent")
_SECRET = Rule("names a secret that is sent along")
_MODEL = Rule("decides which model is loaded or asked, and how")
_SHARED = Rule("decides how a store that others share is used")
_SERVED = Rule("decides who may reach the server and what it does")
_LONG = "decides how much time and memory is taken"


def _most(most: float, above: float | None = None) -> Rule:
    return Rule(_LONG, most=most, above=above)


def _each(section: str, names: str, rule: Rule = _ANY) -> dict[str, Rule]:
    return {f"{section}.{name}": rule for name in names.split()}


TABLE: dict[str, Rule] = {
    # Where the index is: only inside of the project, which is looked at where its root is known.
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
    # What other packages bring may do anything, such as ask a server.
    "search.ranking": Rule("decides whose code is run", words=("default", "classic")),
    "search.lanes": Rule("decides whose code is run"),
    "search.rerank": Rule("decides whether text is sent, and to whom", words=("none", "outcome")),
    **_each("lexical", "k1 b body comments symbols name folder variant"),
    "dense.model": _ANY,  # a file of the project, which is looked at where its root is known
    "embedding.provider": Rule("decides where text is sent, or whose model is run", words=("builtin",)),
    "embedding.url": _SENT,
    "embedding.key": _SECRET,
    **_each(
        "embedding", "model query_prefix document_prefix pooling tokens batch seconds query_seconds refresh_units", _MODEL
    ),
    "sparse.provider": Rule("decides where text is sent", words=("terms",)),
    "sparse.url": _SENT,
    "sparse.key": _SECRET,
    **_each("sparse", "model query_prefix document_prefix tokens top batch seconds query_seconds", _MODEL),
    **_each("services", "failures pause concurrency health_seconds", Rule("decides how services are asked")),
    **_each(
        "default",
        "harmonic_power name name_change name_whole folder types definition definition_symbol stem_symbol phrase proximity "
        "dense_card dense_chunk dense_alone",
    ),
    **_each("report", "b harmonic_power keep_terms name definition dotted url trace mentioned proximity dense"),
    **_each("noise", "tests legacy examples barrel stub setup vendored data barrel_definitions"),
    **_each(
        "classic",
        "rrf_k phrase alpha_symbol alpha_language coherence definition_language definition_symbol definition_stem proximity "
        "proximity_decay stem stem_share saturation",
    ),
    "classic.candidates": _most(1_000),
    "linear.alpha": _ANY,
    "linear.candidates": _most(1_000),
    "linear.mmr_top": _most(200),
    "graph.hops": _most(10),
    "graph.fan_in": _most(1_000),
    "graph.context_budget": _most(20_000),
    **_each("history", "first_parent merges max_commits"),
    "history.diff_bytes": _most(20_000),
    "history.batch": _most(1_000),
    "history.brief_budget": _most(20_000),
    "history.refresh_seconds": _most(10),
    "past.ranking": Rule("decides whose code is run", words=("default", "classic")),
    **_each(
        "past",
        "subject body paths headings tests code k1 variant title keep_terms meaning meaning_hunk rrf_k bm25_k1 alpha",
    ),
    "past.lane": _most(1_000),
    "past.fused": _most(1_000),
    "outcomes.window": _most(100),
    **_each("outcomes", "overlap words strictness"),
    **_each("commits", "release dependencies reformat merge docs tests generated fix"),
    **_each("recency", "weight days"),
    **_each("blame", "whitespace moves copies ignore"),
    "blame.seconds": _most(60),
    "blame.excerpt_lines": _most(100),
    **_each("across", "notes advice report history past complaint steep floor"),
    "reranker.url": _SENT,
    "reranker.key": _SECRET,
    **_each("reranker", "model protocol seconds top tokens batch", _MODEL),
    "judge.url": _SENT,
    "judge.key": _SECRET,
    **_each("judge", "model protocol seconds top chars", _MODEL),
    **_each(
        "notes",
        "k1 b b_above rarity body above comments name folder variant title whole b_whole small pairs pair card meaning "
        "alone links",
    ),
    "notes.looked_at": _most(200),
    "notes.compared": _most(1_000),
    "savings.count": Rule("decides what is counted on this machine"),
    **_each("postgres", "schema vectors probes postings connections write_seconds", _SHARED),
    **_each("serve", "host port token hosts editor", _SERVED),
    "store.url": Rule("decides where code is sent"),
    "store.project": Rule("says whose index is read and written"),
    "store.key": _SECRET,
    **_each("store", "fallback candidates depth rrf seconds lock_seconds", _SHARED),
    **_each(
        "qdrant",
        "collection ca write_seconds patience lease_seconds batch concurrency fusion exact quantisation vectors_on_disk "
        "payload_on_disk shards replicas",
        _SHARED,
    ),
}
"""Every setting with what a project may set of it."""
