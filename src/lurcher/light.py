"""Dataclasses and regular expressions that cost next to nothing to declare: what they need is made when it is first used.

The standard decorator writes and compiles half a dozen functions for each class as it is declared, and what it stands on is
slow to import: together a third of the time that a command took to start. These look and behave the same, `dataclasses.fields`,
`replace`, `asdict`, `copy` and `pickle` included; the type checker takes them for the standard ones.
They have no parents with fields, no keyword-only fields and no fields that are not arguments, which nothing here has a use for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, AnyStr

if TYPE_CHECKING:
    from dataclasses import Field, asdict, dataclass, field, fields, replace
else:
    from operator import attrgetter

    _NONE = object()

    class Field:
        """What is known of one field."""

        __slots__ = ("compare", "default", "default_factory", "metadata", "name", "repr", "type")

        def __init__(self, default, default_factory, metadata, repr, compare):
            self.default, self.default_factory, self.metadata = default, default_factory, metadata
            self.repr, self.compare = repr, compare
            self.name = self.type = None

        @classmethod
        def __class_getitem__(cls, _item):
            return cls

    def field(*, default=_NONE, default_factory=_NONE, metadata=None, repr=True, compare=True):
        return Field(default, default_factory, metadata or {}, repr, compare)

    def fields(one):
        """The fields of a class or of its instance, in order."""
        found = getattr(one, "__light_fields__", None)
        if found is None:
            import dataclasses

            return dataclasses.fields(one)
        return found

    def replace(one, /, **changes):
        """A copy with some fields changed."""
        found = getattr(type(one), "__light_fields__", None)
        if found is None:
            import dataclasses

            return dataclasses.replace(one, **changes)
        for each in found:
            if each.name not in changes:
                changes[each.name] = getattr(one, each.name)
        return type(one)(**changes)

    def asdict(one):
        """The fields by name, and those of what they hold."""
        return {each.name: _plain(getattr(one, each.name)) for each in fields(one)}

    def _plain(value):
        if hasattr(value, "__light_fields__"):
            return asdict(value)
        if isinstance(value, (list, tuple)):
            items = map(_plain, value)
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, dict):
            return {_plain(key): _plain(item) for key, item in value.items()}
        return value

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True):
        """As the standard one, for what is used here."""
        if cls is None:
            return lambda wrapped: _made(wrapped, frozen, slots, eq)
        return _made(cls, frozen, slots, eq)

    def _made(cls, frozen, slots, eq):
        if any(getattr(base, "__light_fields__", ()) for base in cls.__mro__[1:]):
            raise TypeError(f"{cls.__name__} has a parent with fields")
        found = _fields_of(cls)
        names = tuple(each.name for each in found)
        content = dict(cls.__dict__)
        for each in found:
            content.pop(each.name, None)
            if each.default is not _NONE and not slots:
                content[each.name] = each.default
        values = _values([each.name for each in found if each.compare])
        content.update(__light_fields__=found, __dataclass_fields__=_StandardFields())
        content.setdefault("__init__", _first_init(frozen))
        content.setdefault("__match_args__", names)
        content.setdefault("__repr__", _repr)
        own_eq = "__eq__" in cls.__dict__
        own_hash = "__hash__" in cls.__dict__ and not (cls.__dict__["__hash__"] is None and own_eq)
        if eq:
            content.setdefault("__eq__", _eq(values))
        if frozen:
            content.update(__setattr__=_no_change, __delattr__=_no_change)
            if slots:
                content.setdefault("__getstate__", _getstate)
                content.setdefault("__setstate__", _setstate)
        if eq and not own_hash:
            content["__hash__"] = _hash(values) if frozen else None
        content.pop("__dict__", None)
        content.pop("__weakref__", None)
        if slots:
            content["__slots__"] = names
        qualname = cls.__qualname__
        cls = type(cls)(cls.__name__, cls.__bases__, content)
        cls.__qualname__ = qualname
        return cls

    def _fields_of(cls):
        found, defaults = [], False
        for name, annotation in cls.__annotations__.items():
            if not isinstance(annotation, str):
                raise TypeError(f"{cls.__name__}: annotations are not strings")
            if annotation.startswith(("ClassVar", "typing.ClassVar")):
                continue
            given = cls.__dict__.get(name, _NONE)
            each = given if isinstance(given, Field) else field(default=given)
            each.name, each.type = name, annotation
            if defaults and each.default is _NONE and each.default_factory is _NONE:
                raise TypeError(f"{cls.__name__}: '{name}' without a default follows one that has one")
            if each.default.__class__.__hash__ is None:
                raise ValueError(f"{cls.__name__}: '{name}' has a default that can change")
            defaults = defaults or each.default is not _NONE or each.default_factory is not _NONE
            found.append(each)
        return tuple(found)

    def _first_init(frozen):
        calls = 0

        def __init__(self, /, *args, **kwargs):
            # Many classes have one instance, such as settings: who comes second has the real one compiled, for all after that.
            nonlocal calls
            calls += 1
            if calls == 1 and _filled(self, args, kwargs):
                return
            made = next(parent for parent in type(self).__mro__ if parent.__dict__.get("__init__") is __init__)
            real = _init_of(made, frozen)
            made.__init__ = real
            real(self, *args, **kwargs)

        return __init__

    def _filled(one, args, kwargs):
        """Whether the arguments fit, and all fields are set; if not, whoever can say what is wrong is asked."""
        found = one.__light_fields__
        given = dict(zip((each.name for each in found), args, strict=False))
        if len(args) > len(found) or given.keys() & kwargs or hasattr(one, "__post_init__"):
            return False
        given.update(kwargs)
        for each in found:
            if each.name not in given:
                made = each.default if each.default_factory is _NONE else each.default_factory()
                if made is _NONE:
                    return False
                given[each.name] = made
        if len(given) > len(found):
            return False
        for name, value in given.items():
            object.__setattr__(one, name, value)
        return True

    def _init_of(cls, frozen):
        given, lines, around = ["self"], [], {"_set": object.__setattr__, "_NONE": _NONE}
        for each in cls.__light_fields__:
            name = value = each.name
            if each.default_factory is not _NONE:
                around[f"_new_{name}"] = each.default_factory
                given.append(f"{name}=_NONE")
                value = f"_new_{name}() if {name} is _NONE else {name}"
            elif each.default is not _NONE:
                around[f"_default_{name}"] = each.default
                given.append(f"{name}=_default_{name}")
            else:
                given.append(name)
            lines.append(f"_set(self, '{name}', {value})" if frozen else f"self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            lines.append("self.__post_init__()")
        body = "\n ".join(lines or ["pass"])
        exec(f"def __init__({', '.join(given)}):\n {body}", around)
        real = around["__init__"]
        real.__qualname__ = f"{cls.__qualname__}.__init__"
        real.__module__ = cls.__module__
        return real

    def _values(names):
        if not names:
            return lambda one: ()
        if len(names) == 1:
            get = attrgetter(names[0])
            return lambda one: (get(one),)
        return attrgetter(*names)

    def _repr(self):
        shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in self.__light_fields__ if each.repr)
        return f"{type(self).__qualname__}({shown})"

    def _eq(values):
        def __eq__(self, other):
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        return __eq__

    def _hash(values):
        def __hash__(self):
            return hash(values(self))

        return __hash__

    def _no_change(self, name, *_):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot change field {name!r}")

    def _getstate(self):
        return [getattr(self, each.name) for each in self.__light_fields__]

    def _setstate(self, state):
        for each, value in zip(self.__light_fields__, state, strict=True):
            object.__setattr__(self, each.name, value)

    class _StandardFields:
        """What the standard library's functions ask a dataclass for, made when one does."""

        def __get__(self, one, cls):
            import dataclasses

            found = {}
            for each in cls.__light_fields__:
                options = {"repr": each.repr, "compare": each.compare, "metadata": each.metadata}
                if each.default is not _NONE:
                    options["default"] = each.default
                if each.default_factory is not _NONE:
                    options["default_factory"] = each.default_factory
                found[each.name] = dataclasses.field(**options)
            annotations = {each.name: each.type for each in cls.__light_fields__}
            content = {"__annotations__": annotations, "__doc__": cls.__name__, "__module__": cls.__module__, **found}
            shadow = dataclasses.dataclass(init=False, repr=False, eq=False)(type(cls.__name__, (), content))
            cls.__dataclass_fields__ = shadow.__dataclass_fields__
            return cls.__dataclass_fields__


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A regular expression that is compiled when it is first used, for those that most commands have no use for."""
    return _Pattern(text, flags)  # type: ignore[return-value]


class _Pattern:
    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        for method in ("match", "search", "fullmatch", "findall", "finditer", "split", "sub", "subn", "pattern", "flags"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


__all__ = ["Field", "asdict", "dataclass", "field", "fields", "pattern", "replace"]
