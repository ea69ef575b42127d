"""Dataclasses whose `__init__` is compiled by its first call.

The decorator of the standard library compiles up to six methods of each class while its module is
imported. `advise` imports 240 classes and makes objects of half of them: that was a third of its
CPU time. Fields, `replace`, equality, hashes and FrozenInstanceError are those of the standard
library. No class inherits from another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

_Methods: TypeAlias = "dict[str, Any]"
_GIVEN: Final = object()  # stands for the value of a field's factory


def _dataclass(
    cls: type[Any] | None = None, /, *,
    frozen: bool = False, slots: bool = False, eq: bool = True, weakref_slot: bool = False,
) -> Any:  # fmt: skip
    """As the decorator of the standard library, with these arguments only."""
    if cls is None:
        return lambda kind: _dataclass(
            kind, frozen=frozen, slots=slots, eq=eq, weakref_slot=weakref_slot
        )
    own = set(cls.__dict__)
    if cls.__dict__.get("__hash__") is None:  # a class that has __eq__ only
        own.discard("__hash__")
    kind = dataclasses.dataclass(
        init=False, repr=False, eq=False, slots=slots, weakref_slot=weakref_slot
    )(cls)
    kind.__dataclass_params__.frozen = frozen
    every: tuple[Field[Any], ...] = dataclasses.fields(kind)
    methods = {"__init__": _later(kind, every, frozen=frozen), "__repr__": _repr}
    if eq:
        methods |= _comparing(every, frozen=frozen)
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    if frozen and slots:
        methods |= {"__getstate__": _state, "__setstate__": _restore}
    for name, method in methods.items():
        if name not in own:
            setattr(kind, name, method)
    return kind


def _later(kind: Any, every: Iterable[Field[Any]], *, frozen: bool) -> Callable[..., None]:
    """An `__init__` that puts the compiled one in its place."""

    def __init__(self: object, *values: object, **named: object) -> None:  # noqa: N807
        kind.__init__ = _init(every, frozen=frozen, after=hasattr(kind, "__post_init__"))
        kind.__init__(self, *values, **named)

    return __init__


def _init(every: Iterable[Field[Any]], *, frozen: bool, after: bool) -> Callable[..., None]:
    """The compiled `__init__`; `after`: it ends with `__post_init__`."""
    space: _Methods = {"__set": object.__setattr__, "__given": _GIVEN}
    parameters, lines = ["self"], []
    for one in every:
        name = value = one.name
        factory = one.default_factory is not MISSING
        if factory or one.default is not MISSING:
            space[f"__{name}"] = one.default_factory if factory else one.default
        elif not one.init:
            continue
        if not one.init:
            value = f"__{name}()" if factory else f"__{name}"
        elif factory:
            parameters.append(f"{name}=__given")
            value = f"__{name}() if {name} is __given else {name}"
        else:
            parameters.append(name if one.default is MISSING else f"{name}=__{name}")
        lines.append(f"__set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    lines += ["self.__post_init__()"] if after else []
    body = "".join(f"\n {line}" for line in lines or ["pass"])
    exec(f"def __init__({', '.join(parameters)}):{body}", space)  # noqa: S102 - names of fields
    compiled: Callable[..., None] = space["__init__"]
    return compiled


def _comparing(every: Iterable[Field[Any]], *, frozen: bool) -> _Methods:
    """Equality and hash by the fields that are compared."""
    names = [one.name for one in every if one.compare]
    values: Callable[[object], object] = attrgetter(*names) if names else lambda _value: ()
    if len(names) == 1:  # then it gives no tuple; a tuple is equal to one of the same NaN
        values = lambda value: (getattr(value, names[0]),)  # noqa: E731

    def __eq__(self: object, other: object) -> bool:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return {"__eq__": __eq__, "__hash__": (lambda self: hash(values(self))) if frozen else None}


def _repr(self: Any) -> str:
    """The name of the class and its fields."""
    shown = [f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:  # noqa: ARG001
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:  # noqa: ARG001
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[object]:
    """For copies: the values of the slots, which cannot be set in the usual way."""
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _restore(self: Any, values: Iterable[object]) -> None:
    for one, value in zip(dataclasses.fields(self), values, strict=True):
        object.__setattr__(self, one.name, value)


if TYPE_CHECKING:  # a checker of types knows what the one of the standard library makes
    from dataclasses import dataclass as dataclass  # noqa: PLC0414
else:
    dataclass = _dataclass
