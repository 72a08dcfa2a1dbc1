"""Parts of the standard library for modules that every search loads, without what importing them costs.

Of the 45 ms of processor time that a warm search takes, these save, measured by importing the standard modules instead:
`json` 5, `hashlib` 3 (it loads OpenSSL), `re` 7, `typing` 12. `loads`, `dumps` and `blake2b` come straight from the C modules,
and from `json` and `hashlib` where there are none. A regular expression is compiled when it is first used, which in most
searches it is not. `Generic`, `Protocol` and `TypeVar` are for type checkers only; `NamedTuple` makes
a `collections.namedtuple` of the same fields.
"""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False

__all__ = ["Generic", "NamedTuple", "Protocol", "TypeVar", "blake2b", "dumps", "loads", "pattern"]


if TYPE_CHECKING:
    from collections.abc import Callable
    from hashlib import blake2b
    from typing import Any
else:
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b

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


def dumps(value: Any, *, ensure_ascii: bool = True, separators: tuple[str, str] = (", ", ": "), sort_keys: bool = False) -> str:
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


if TYPE_CHECKING:
    import re
    from typing import AnyStr
    from typing import Generic as Generic
    from typing import NamedTuple as NamedTuple
    from typing import Protocol as Protocol
    from typing import TypeVar as TypeVar
else:
    Protocol = object

    class Generic:
        def __class_getitem__(cls, kinds):
            return cls

    def TypeVar(name, **options):
        return name

    class _NamedTuples(type):
        def __new__(meta, name, bases, namespace):
            if not bases:
                return super().__new__(meta, name, bases, namespace)
            from collections import namedtuple

            fields = namespace.get("__annotations__", {})
            defaults = [namespace[field] for field in fields if field in namespace]
            made = namedtuple(name, fields, defaults=defaults, module=namespace["__module__"])
            for key, value in namespace.items():
                if key not in fields and key not in ("__module__", "__slots__"):
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_NamedTuples):
        """Its subclasses are tuples with named fields, as those of `typing.NamedTuple` are."""


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile`, when it is first used."""
    return _Pattern(text, flags)  # type: ignore[return-value]


class _Pattern:
    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        import re

        compiled = re.compile(self._text, self._flags)
        for method in ("match", "search", "fullmatch", "findall", "finditer", "split", "sub", "subn", "pattern", "flags"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)
