"""What the standard library has too, at next to no cost: most of it is made when it is first used, or not at all.

The standard decorator of dataclasses writes and compiles half a dozen functions for each class as it is declared, and what it
stands on is slow to import, as are `typing`, `re` and `functools`: together they took half of the time of a command. These
look and behave the same, `dataclasses.fields`, `replace`, `asdict`, `copy` and `pickle` included; the type checker takes them
for the standard ones.
Dataclasses have no parents with fields, no keyword-only fields and no fields that are not arguments, which nothing here has a
use for. Frozen ones have no slots either, whatever they ask for: a class with slots has to be made a second time, which for
those of a question took a millisecond, and that nothing else can be set is seen to already.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""As `typing` has it: type checkers go by the name."""

if TYPE_CHECKING:
    import re
    from bisect import bisect_left, bisect_right
    from contextlib import suppress
    from dataclasses import Field, asdict, dataclass, field, fields, replace
    from functools import cache, cached_property, lru_cache, partial
    from struct import Struct
    from typing import AnyStr, Generic, NamedTuple, Protocol, TypeVar
else:
    from _operator import attrgetter

    try:
        from _bisect import bisect_left, bisect_right
        from _struct import Struct
    except ImportError:  # another Python than the usual one
        from bisect import bisect_left, bisect_right
        from struct import Struct

    Protocol = object
    """Says what others must have, which only the type checker looks at."""

    class Generic:
        def __class_getitem__(cls, _item):
            return cls

    def TypeVar(name, *_, **__):
        return name

    try:
        from _functools import _lru_cache_wrapper, partial
    except ImportError:  # another Python than the usual one
        from functools import cache, lru_cache, partial
    else:

        def lru_cache(maxsize):
            def kept(function):
                wrapper = _lru_cache_wrapper(function, maxsize, False, lambda *found: found)
                wrapper.__wrapped__, wrapper.__doc__ = function, function.__doc__
                wrapper.__name__ = wrapper.__qualname__ = function.__name__
                return wrapper

            return kept

        def cache(function):
            return lru_cache(None)(function)

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
        return Field(default, default_factory, metadata or _NO_METADATA, repr, compare)

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

    _SIMPLE = frozenset((str, int, bool, float, type(None)))

    def asdict(one):
        """The fields by name, and those of what they hold."""
        return {each.name: _plain(getattr(one, each.name)) for each in fields(one)}

    def _plain(value):
        if type(value) in _SIMPLE:
            return value
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
        slots = slots and not frozen
        for base in cls.__mro__[1:-1]:
            if getattr(base, "__light_fields__", ()):
                raise TypeError(f"{cls.__name__} has a parent with fields")
        own, found = cls.__dict__, _fields_of(cls)
        content = dict(own) if slots else {}
        for each in found:
            if slots:
                content.pop(each.name, None)
            elif each.default is not _NONE:
                content[each.name] = each.default
            elif each.name in own:
                delattr(cls, each.name)
        content["__light_fields__"] = found
        content["__dataclass_fields__"] = _STANDARD
        if "__init__" not in own:
            content["__init__"], content["__light_made__"] = _init, [0, frozen]
        if "__match_args__" not in own:
            content["__match_args__"] = tuple([each.name for each in found])
        if "__repr__" not in own:
            content["__repr__"] = _repr
        own_hash = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
        if eq:
            content["__light_values__"] = _VALUES
            if "__eq__" not in own:
                content["__eq__"] = _eq
            if not own_hash:
                content["__hash__"] = _hash if frozen else None
        if frozen:
            content["__setattr__"] = content["__delattr__"] = _no_change
        if not slots:
            for name, value in content.items():
                setattr(cls, name, value)
            return cls
        content.pop("__dict__", None)
        content.pop("__weakref__", None)
        content["__slots__"] = tuple([each.name for each in found])
        qualname = cls.__qualname__
        cls = type(cls)(cls.__name__, cls.__bases__, content)
        cls.__qualname__ = qualname
        return cls

    def _fields_of(cls):
        found, defaults, own = [], False, cls.__dict__
        for name, annotation in cls.__annotations__.items():
            if type(annotation) is not str:
                raise TypeError(f"{cls.__name__}: annotations are not strings")
            if annotation.startswith(("ClassVar", "typing.ClassVar")):
                continue
            each = own.get(name, _NONE)
            if type(each) is not Field:
                each = Field(each, _NONE, _NO_METADATA, True, True)
            each.name, each.type = name, annotation
            if each.default is not _NONE:
                defaults = True
                if each.default.__class__.__hash__ is None:
                    raise ValueError(f"{cls.__name__}: '{name}' has a default that can change")
            elif each.default_factory is not _NONE:
                defaults = True
            elif defaults:
                raise TypeError(f"{cls.__name__}: '{name}' without a default follows one that has one")
            found.append(each)
        return tuple(found)

    _NO_METADATA = {}
    _FEW = 50
    """Compiling what fills the fields of a class takes as long as filling them so many times without."""

    def _init(self, /, *args, **kwargs):
        made = self.__light_made__
        made[0] += 1
        if made[0] <= _FEW and _filled(self, args, kwargs):
            return
        owner = next(parent for parent in type(self).__mro__ if parent.__dict__.get("__light_made__") is made)
        real = _init_of(owner, made[1])
        if owner.__init__ is _init:
            owner.__init__ = real
        real(self, *args, **kwargs)

    def _filled(one, args, kwargs, _set=object.__setattr__):
        """Whether the arguments fit, and all fields are set; if not, whoever can say what is wrong is asked."""
        found = one.__light_fields__
        count, left = len(args), len(kwargs)
        if count + left > len(found):
            return False
        at = 0
        for each in found:
            name = each.name
            if at < count:
                if left and name in kwargs:
                    return False
                _set(one, name, args[at])
                at += 1
            elif left and name in kwargs:
                left -= 1
                _set(one, name, kwargs[name])
            elif each.default is not _NONE:
                _set(one, name, each.default)
            elif each.default_factory is not _NONE:
                _set(one, name, each.default_factory())
            else:
                return False
        if left:
            return False
        if hasattr(one, "__post_init__"):
            one.__post_init__()
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

    class _Values:
        """Gets what objects of a class are compared by, made when two are compared."""

        def __get__(self, one, cls):
            names = [each.name for each in cls.__light_fields__ if each.compare]
            if len(names) > 1:
                get = attrgetter(*names)
            else:
                get = _nothing if not names else _alone(attrgetter(names[0]))
            get = staticmethod(get)
            for owner in cls.__mro__:  # where another thread was first, none has it any more
                if owner.__dict__.get("__light_values__") is self:
                    owner.__light_values__ = get
            return get.__func__

    _VALUES = _Values()

    def _nothing(one):
        return ()

    def _alone(get):
        return lambda one: (get(one),)

    def _repr(self):
        shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in self.__light_fields__ if each.repr)
        return f"{type(self).__qualname__}({shown})"

    def _eq(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        values = self.__light_values__
        return values(self) == values(other)

    def _hash(self):
        return hash(self.__light_values__(self))

    def _no_change(self, name, *_):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot change field {name!r}")

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

    _STANDARD = _StandardFields()

    class suppress:
        """Passes over some errors."""

        __slots__ = ("kinds",)

        def __init__(self, *kinds):
            self.kinds = kinds

        def __enter__(self):
            pass

        def __exit__(self, kind, error, trace):
            return kind is not None and issubclass(kind, self.kinds)

    class cached_property:
        """What a method gives, worked out once for each object."""

        def __init__(self, function):
            self.function, self.name, self.__doc__ = function, None, function.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, one, owner=None):
            if one is None:
                return self
            kept = one.__dict__
            value = kept.get(self.name, _NONE)
            if value is _NONE:
                # Of several threads the first one's value is everybody's: some of them are rooms that others fill.
                value = kept.setdefault(self.name, self.function(one))
            return value

    class _Named(type):
        """Makes tuples whose items have names."""

        def __new__(cls, name, bases, content):
            if not bases:
                return super().__new__(cls, name, bases, content)
            names = tuple(content.pop("__annotations__", ()))
            defaults = {each: content.pop(each) for each in names if each in content}
            if names[len(names) - len(defaults) :] != tuple(defaults):
                raise TypeError(f"{name}: an item without a default follows one that has one")
            items = {each: _item(number, f"item {number}") for number, each in enumerate(names)}
            content = {
                **items, "__slots__": (), "_fields": names, "__match_args__": names, "_field_defaults": defaults,
                "__new__": _new_tuple, "__repr__": _repr_tuple, "__getnewargs__": _items, "_make": classmethod(_make_tuple),
                "_replace": _replace_tuple, "_asdict": _asdict_tuple, **content,
            }  # fmt: skip
            return type(name, (tuple,), content)

    class NamedTuple(metaclass=_Named):
        pass

    def _item(number, doc):
        try:
            from _collections import _tuplegetter
        except ImportError:
            from _operator import itemgetter

            return property(itemgetter(number), doc=doc)
        return _tuplegetter(number, doc)

    def _new_tuple(cls, /, *args, **kwargs):
        names = cls._fields
        if len(args) != len(names) or kwargs:
            given = dict(zip(names, args, strict=False))
            wrong = [each for each in kwargs if each in given or each not in names]
            given = {**cls._field_defaults, **given, **kwargs}
            if len(args) > len(names) or wrong or len(given) != len(names):
                raise TypeError(f"{cls.__name__} takes {', '.join(names)}")
            args = [given[each] for each in names]
        return tuple.__new__(cls, args)

    def _items(self):
        return tuple(self)

    def _make_tuple(cls, items):
        made = tuple.__new__(cls, items)
        if len(made) != len(cls._fields):
            raise TypeError(f"{cls.__name__} has {len(cls._fields)} items, not {len(made)}")
        return made

    def _repr_tuple(self):
        shown = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({shown})"

    def _replace_tuple(self, /, **changes):
        made = self._make([changes.pop(name, value) for name, value in zip(self._fields, self, strict=True)])
        if changes:
            raise ValueError(f"{type(self).__name__} has no {', '.join(changes)}")
        return made

    def _asdict_tuple(self):
        return dict(zip(self._fields, self, strict=True))


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A regular expression that is compiled when it is first used, for those that most commands have no use for."""
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


__all__ = [
    "TYPE_CHECKING", "Field", "Generic", "NamedTuple", "Protocol", "Struct", "TypeVar", "asdict", "bisect_left", "bisect_right",
    "cache", "cached_property", "dataclass", "field", "fields", "lru_cache", "partial", "pattern", "replace", "suppress",
]  # fmt: skip
