"""Digests and JSON by the C code of the standard library, without the modules around it.

They take longer to load than a query takes to use them: `hashlib` brings all of OpenSSL, `json` regular expressions. The
results are those of `hashlib.blake2b`, `json.loads` and `json.dumps`, which are used where that code is not to be had.
"""

from __future__ import annotations

from lurcher.runtime.light import TYPE_CHECKING, cache

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
    """How JSON is read, as `json.JSONDecoder` has it."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, _CONSTANTS.__getitem__
    memo: dict[str, str] = {}  # noqa: RUF012


def loads(data: str | bytes) -> Any:
    """What a JSON text in UTF-8 says; ValueError where it is none."""
    scan = _scanner()
    text = data if isinstance(data, str) else data.decode("utf-8")
    if scan is None:
        import json

        return json.loads(text)
    try:
        value, end = scan(text, len(text) - len(text.lstrip(_BLANKS)))
    except StopIteration:
        raise ValueError("there is nothing to read") from None
    if text[end:].strip(_BLANKS):
        raise ValueError("there is more than one value")
    return value


def dumps(
    value: Any, *, ensure_ascii: bool = True, separators: tuple[str, str] = (", ", ": "), sort_keys: bool = False
) -> str:
    """A value as one line of JSON."""
    make = _encoder()
    if make is None:
        import json

        return json.dumps(value, ensure_ascii=ensure_ascii, separators=separators, sort_keys=sort_keys)
    between, behind = separators
    text: str = "".join(make(ensure_ascii, behind, between, sort_keys)(value, 0))
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

    def made(ensure_ascii: bool, behind: str, between: str, sort_keys: bool) -> Callable[[Any, int], tuple[str, ...]]:
        escape = encode_basestring_ascii if ensure_ascii else encode_basestring
        found: Callable[[Any, int], tuple[str, ...]]
        found = make_encoder({}, _unknown, escape, None, behind, between, sort_keys, False, True)
        return found

    try:
        return made if "".join(made(True, ":", ",", True)({"a": [1]}, 0)) == '{"a":[1]}' else None
    except TypeError:
        return None


def _unknown(value: object) -> Any:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
