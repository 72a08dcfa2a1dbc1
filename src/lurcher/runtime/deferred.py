"""Parts of `re` and `typing` for modules that every search loads; importing these takes 7 and 12 ms, a search about 40.

A regular expression is compiled when it is first used, which in most searches it is not. What only type checkers look at is
next to nothing at run time.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import AnyStr
    from typing import Generic as Generic
    from typing import Protocol as Protocol
    from typing import TypeVar as TypeVar
else:
    Protocol = object

    class Generic:
        def __class_getitem__(cls, kinds):
            return cls

    def TypeVar(name, **options):
        return name


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
