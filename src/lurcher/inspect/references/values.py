"""What resolution finds: the definitions that an occurrence means, and what an expression is."""

from __future__ import annotations

from lurcher.inspect.references.rules import is_same
from lurcher.runtime.stdlib import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lurcher.inspect.references.program import SourceFile, Symbol


class Resolution(NamedTuple):
    """What an occurrence means: the definitions, how that was found, and whether it is certain."""

    symbols: tuple[Symbol, ...]
    how: str
    certain: bool = True


class Value(NamedTuple):
    """What an expression is: an object of a class, a class or function itself, or a module."""

    kind: str
    """`object`, `symbol`, `module` or `external`"""
    symbol: Symbol | None = None
    files: tuple[SourceFile, ...] = ()
    module: str = ""
    how: str = ""


EXTERNAL = Value("external")


def choose(symbols: list[Symbol], how: str) -> list[Value]:
    """Definitions of one thing, such as overloads, are certain; of several things they are not."""
    return [Value("symbol", symbol, how=how if is_same(symbols) else "several") for symbol in symbols]


def is_module_called(file: SourceFile, name: str) -> bool:
    stem = file.path.rpartition("/")[2].rpartition(".")[0]
    return stem == name or file.path.endswith(f"/{name}/__init__.py") or file.path == f"{name}/__init__.py"


def joined(module: str, name: str) -> str:
    return module + name if module.endswith(".") else f"{module}.{name}"
