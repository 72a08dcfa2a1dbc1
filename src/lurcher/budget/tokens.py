"""What a text costs a language model, in tokens of cl100k_base."""

from __future__ import annotations

from lurcher.errors import MissingExtra
from lurcher.light import TYPE_CHECKING, cache, lru_cache

if TYPE_CHECKING:
    from typing import Any

CHARACTERS_PER_TOKEN = 4
_LONG = 8000
"""Characters of a text whose count is not kept for the next time."""


def estimate(text: str) -> int:
    """Roughly how many tokens the text has: a quarter of its characters, rounded up. Not a bound: see `count`."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def count(text: str) -> int:
    """Exactly how many cl100k_base tokens the text has; the spelling of a special token counts as ordinary text."""
    return _counted(text) if len(text) > _LONG else _kept(text)


def _counted(text: str) -> int:
    if not text:
        return 0
    try:
        return int(_encoder().count(text))
    except UnicodeEncodeError:
        return int(_encoder().count(_without_lone_surrogates(text)))


_kept = lru_cache(maxsize=1024)(_counted)
"""A server shows the same units to one question after another."""


@cache
def _encoder() -> Any:
    # Two threads may both get here first: the library keeps one table of its own, so the second call is free.
    try:
        from rs_bpe.bpe import openai
    except ImportError as error:
        raise MissingExtra("token counts need the rs-bpe package", "pip install rs-bpe") from error
    return openai.cl100k_base()


def _without_lone_surrogates(text: str) -> str:
    """Joins surrogate pairs and puts U+FFFD for single ones, as tiktoken does, because UTF-8 cannot spell them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
