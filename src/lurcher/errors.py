"""Everything lurcher raises on purpose.

    LurcherError
    ├── UsageError            the question itself is wrong
    │   ├── QueryError        empty, too long, unknown mode
    │   ├── FilterError       unknown language, bad glob
    │   ├── CursorError       tampered, foreign or outdated cursor
    │   ├── ClosedEngine      the engine was closed before the question
    │   └── PathError         missing, not a folder, unreadable
    │       ├── BroadRoot     a home folder or a whole disk that has no index yet
    │       └── RootGone      the folder that questions are about has been removed
    ├── ConfigError           a setting is unknown or has a bad value
    ├── IndexError_           the index cannot be read or written
    │   ├── CorruptIndex      a checksum or a structure is wrong
    │   ├── OutdatedIndex     made by another version or configuration
    │   ├── IndexLocked       another process is writing it
    │   └── IndexBuilding     it is being made, and the question needs all of it
    ├── ModelError            a term table cannot be read or made
    ├── ServerError           a configured server does not do what it should
    │   └── StoreError        a shared store cannot be reached, or does not do what it should
    ├── DeadlineExceeded      a server gives no question more time than this one took
    ├── DatasetError          an evaluation set cannot be used
    └── MissingExtra          a feature needs a package that is not installed

Each has a stable `code`, a message of one line and a `hint` that says what to do; one that is about a service names it
(`service`) and the request (`tried`).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Wording(Protocol):
        """What one surface calls parameters and commands."""

        def parameter(self, name: str, value: str) -> str: ...
        def command(self, name: str, options: list[tuple[str, str]], argument: str, *, run: bool) -> str: ...


class Template(str):
    """A message or hint that names parameters or commands, which every surface calls by names of its own.

        {fixed}                         a parameter
        {mode=hybrid}                   a parameter and its value
        {index: history store=URL}      a command and its options; {run index: history} is an instruction to run it
        {index: yes *}                  a command, its options and its first argument
        {*}, {library=*}                the next one of `values`; one that is a template itself is rendered too

    The string itself has the words of the command line, so that it can be printed without rendering. `render` gives
    the text in the words of another surface. Text that others wrote belongs into `values`, where braces mean nothing.
    """

    __slots__ = ("template", "values")
    template: str
    values: tuple[str, ...]

    def __new__(cls, template: str, *values: object) -> Template:
        texts = tuple(value if isinstance(value, str) else str(value) for value in values)
        self = super().__new__(cls, _fill(template, texts, None))
        self.template, self.values = template, texts
        return self

    def __getnewargs__(self) -> Any:
        return self.template, *self.values

    def render(self, wording: Wording) -> str:
        return _fill(self.template, self.values, wording)

    def to_json(self) -> list[Any]:
        """For another process, which makes the same of it with `from_json`."""
        return [self.template, *(value.to_json() if isinstance(value, Template) else value for value in self.values)]

    @staticmethod
    def from_json(value: Any) -> str:
        if isinstance(value, list):
            return Template(value[0], *map(Template.from_json, value[1:]))
        return value if isinstance(value, str) else str(value)  # a template that never left this process stays one


def _fill(template: str, values: tuple[str, ...], wording: Wording | None) -> str:
    rest = iter(values)

    def next_value() -> str:
        value = next(rest)
        return value.render(wording) if wording is not None and isinstance(value, Template) else value

    first, *parts = template.split("{")
    texts = [first]
    for part in parts:
        marker, _, after = part.partition("}")
        name, colon, options = marker.partition(":")
        if marker == "*":
            texts.append(next_value())
        elif colon:
            run = name.startswith("run ")
            pairs, argument = [], ""
            for option in options.split():
                if option == "*":
                    argument = next_value()
                    continue
                key, _, value = option.partition("=")
                pairs.append((key, next_value() if value == "*" else value))
            texts.append((wording or _COMMAND_LINE).command(name.removeprefix("run "), pairs, argument, run=run))
        else:
            name, _, value = marker.partition("=")
            texts.append((wording or _COMMAND_LINE).parameter(name, next_value() if value == "*" else value))
        texts.append(after)
    return "".join(texts)


class _CommandLine:
    """The words of the command line: a parameter is the flag of the same name."""

    def parameter(self, name: str, value: str) -> str:
        return f"--{name.replace('_', '-')} {value}".rstrip(" ")

    def command(self, name: str, options: list[tuple[str, str]], argument: str, *, run: bool) -> str:
        words = ["run: lurcher" if run else "lurcher", name, *(self.parameter(*option) for option in options)]
        return " ".join(words + [argument] * bool(argument))


_COMMAND_LINE = _CommandLine()


class LurcherError(Exception):
    """Base of the tree; surfaces map this one class, once."""

    code = "error"
    service = ""
    """Which service it is about: embedding, sparse, reranker, judge or store."""
    tried = ""
    """The request, such as `POST http://127.0.0.1:8080/embed`."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def to_dict(self) -> dict[str, str]:
        about = {"service": self.service, "tried": self.tried}
        details = {name: text for name, text in about.items() if text}
        return {"code": self.code, "message": self.message, **details, "hint": self.hint}


class UsageError(LurcherError):
    code = "usage"


class QueryError(UsageError):
    code = "query"


class FilterError(UsageError):
    code = "filter"


class CursorError(UsageError):
    code = "cursor"


class ClosedEngine(UsageError):
    code = "closed"


class PathError(UsageError):
    code = "path"


class BroadRoot(PathError):
    code = "broad-root"


class RootGone(PathError):
    code = "gone"


class ConfigError(LurcherError):
    code = "config"


class IndexError_(LurcherError):
    code = "index"


class CorruptIndex(IndexError_):
    code = "index-corrupt"


class OutdatedIndex(IndexError_):
    code = "index-outdated"


class IndexLocked(IndexError_):
    code = "index-locked"


class IndexBuilding(IndexError_):
    code = "index-building"


class ModelError(LurcherError):
    code = "model"


class ServerError(LurcherError):
    code = "server"

    def __init__(
        self, message: str, hint: str = "", status: int = 0, *, passing: bool = False, after: float = 0.0
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        """What HTTP calls it; 0 where it did not come to that."""
        self.passing = passing
        """Whether the same question may be answered a little later."""
        self.after = after
        """How many seconds later the server would like that to be."""

    def in_words(self, message: str, hint: str) -> ServerError:
        """The same failure with another message."""
        other = ServerError(message, hint, self.status, passing=self.passing, after=self.after)
        other.service, other.tried = self.service, self.tried
        return other


class StoreError(ServerError):
    code = "store"
    service = "store"


class DeadlineExceeded(LurcherError):
    code = "deadline"


class DatasetError(LurcherError):
    code = "dataset"


class MissingExtra(LurcherError):
    code = "missing-extra"
