"""Frozen records: dataclasses whose classes are made without compiling code.

A ``dataclass(frozen=True)`` compiles five methods for every class, half a millisecond each time; a hundred of them are
a sixth of what importing SymPy takes. A record is a dataclass to everyone who asks (``fields``, ``replace``,
``is_dataclass``), and its methods are closures.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: object) -> Callable[[Any], Any]:
        """What a type checker reads; nothing when run."""
        return lambda decorated: decorated


T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def record(cls: type[T]) -> type[T]:
    """Make a frozen record of a class with annotated fields; fields with ``compare=False`` take no part in equality."""
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    key, names = _key([f.name for f in fields if f.compare]), {f.name for f in fields}
    methods = {
        "__init__": _initialiser([f for f in fields if f.init], hasattr(cls, "__post_init__")),
        "__eq__": _equality(cls, key),
        "__hash__": _hashing(cls, key),
        "__getstate__": lambda self: {n: v for n, v in self.__dict__.items() if n in names},
        "__repr__": _representation([f.name for f in fields if f.repr]),
        "__setattr__": _refuse,
        "__delattr__": _refuse,
    }
    for name, method in methods.items():
        if name not in cls.__dict__ or name == "__init__":
            setattr(cls, name, method)
    return cls


def _key(names: list[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda self: ()


def _equality(cls: type, key: Callable[[Any], Any]) -> Callable[[Any, object], Any]:
    def __eq__(self: Any, other: object) -> Any:
        if self is other:
            return True
        return key(self) == key(other) if other.__class__ is cls else NotImplemented

    return __eq__


def _hashing(cls: type, key: Callable[[Any], Any]) -> Callable[[Any], int]:
    """Worked out once for each record: trees are hashed often. Another process hashes otherwise, so it is not kept."""

    def __hash__(self: Any) -> int:
        found: int | None = self.__dict__.get("hash")
        if found is None:
            found = self.__dict__["hash"] = hash((cls, key(self)))
        return found

    return __hash__


def _initialiser(fields: list[dataclasses.Field[Any]], post_init: bool) -> Callable[..., None]:
    positional = tuple(f.name for f in fields if not f.kw_only)
    known = {f.name for f in fields}
    defaults = {f.name: f.default for f in fields if f.default is not dataclasses.MISSING}
    factories = {f.name: f.default_factory for f in fields if f.default_factory is not dataclasses.MISSING}
    required = [f.name for f in fields if f.name not in defaults and f.name not in factories]
    plain = not factories and not post_init
    whole = plain and set(required) <= set(positional)

    def __init__(self: Any, *args: Any, **given: Any) -> None:
        values = self.__dict__
        if whole and len(args) == len(positional) and not given:  # as most are made
            values.update(defaults)
            values.update(zip(positional, args, strict=True))
            return
        if plain and not args and given.keys() == known:  # as ``replace`` makes them
            values.update(given)
            return
        values.update(defaults)
        values.update(zip(positional, args, strict=False))
        for name, make in factories.items():
            if name not in given and name not in positional[: len(args)]:
                values[name] = make()
        values.update(given)
        if len(args) > len(positional) or not given.keys() <= known or any(n not in values for n in required):
            raise TypeError(f"{type(self).__name__} takes {', '.join(f.name for f in fields)}")
        if post_init:
            self.__post_init__()

    return __init__


def _representation(names: list[str]) -> Callable[[Any], str]:
    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"

    return __repr__


def _refuse(self: object, name: str, *_: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change {name!r} of a {type(self).__name__}")
