"""BLAKE2b and JSON straight from the C modules of the standard library.

`hashlib` loads OpenSSL and `json` loads `re`, which takes longer than a query needs them. Results are those of
`hashlib.blake2b`, `json.loads` and `json.dumps`, which are used where the C modules are not available.
"""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from hashlib import blake2b
    from typing import Any
else:
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b

__all__ = ["blake2b", "dumps", "loads"]

_CONSTANTS = {"-Infinity": float("-inf"), "Infinity": float("inf"), "NaN": float("nan")}
_BLANKS = " \t\n\r"


class _Options:
    """The options of `json.JSONDecoder` that the C scanner reads."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, _CONSTANTS.__getitem__
    memo: dict[str, str] = {}  # noqa: RUF012


def loads(data: str | bytes) -> Any:
    """Decode JSON text; ValueError if it is not valid."""
    scan = _scanner()
    text = data if isinstance(data, str) else data.decode("utf-8")
    if scan is None:
        import json

        return json.loads(text)
    try:
        value, end = scan(text, len(text) - len(text.lstrip(_BLANKS)))
    except StopIteration:
        raise ValueError("no JSON value") from None
    if text[end:].strip(_BLANKS):
        raise ValueError("more than one JSON value")
    return value


def dumps(
    value: Any, *, ensure_ascii: bool = True, separators: tuple[str, str] = (", ", ": "), sort_keys: bool = False
) -> str:
    """Encode a value as one line of JSON."""
    encoder = _encoder()
    if encoder is None:
        import json

        return json.dumps(value, ensure_ascii=ensure_ascii, separators=separators, sort_keys=sort_keys)
    between, behind = separators
    text: str = "".join(encoder(ensure_ascii, behind, between, sort_keys)(value, 0))
    return text


@cache
def _scanner() -> Callable[[str, int], tuple[Any, int]] | None:
    try:
        from _json import make_scanner

        scan: Callable[[str, int], tuple[Any, int]] = make_scanner(_Options)  # type: ignore[arg-type]
        return scan if scan('{"a": [1]}', 0) == ({"a": [1]}, 10) else None
    except (ImportError, AttributeError, TypeError):
        return None


@cache
def _encoder() -> Callable[..., Callable[[Any, int], tuple[str, ...]]] | None:
    try:
        from _json import encode_basestring, encode_basestring_ascii, make_encoder
    except ImportError:
        return None

    def make(ensure_ascii: bool, behind: str, between: str, sort_keys: bool) -> Callable[[Any, int], tuple[str, ...]]:
        escape = encode_basestring_ascii if ensure_ascii else encode_basestring
        found: Callable[[Any, int], tuple[str, ...]]
        found = make_encoder({}, _unknown, escape, None, behind, between, sort_keys, False, True)
        return found

    try:
        return make if "".join(make(True, ":", ",", True)({"a": [1]}, 0)) == '{"a":[1]}' else None
    except TypeError:
        return None


def _unknown(value: object) -> Any:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
