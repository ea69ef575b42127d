"""Dataclasses whose methods are compiled by their first calls.

The decorator of the standard library compiles up to six methods of each class while its module is
imported. `advise` imports 240 classes and makes objects of half of them: that was a third of its
CPU time. Fields, `replace`, equality, hashes and FrozenInstanceError are those of the standard
library. No class inherits from another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError
from functools import cache
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
    methods: _Methods = {
        "__init__": _later(kind, "__init__", lambda: _init(kind, every, frozen=frozen)),
        "__repr__": _repr,
    }
    if eq:
        methods["__eq__"] = _later(kind, "__eq__", lambda: _compiled(_equality(every)))
        methods["__hash__"] = (
            _later(kind, "__hash__", lambda: _compiled(_hash(every))) if frozen else None
        )
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    if frozen and slots:
        methods |= {"__getstate__": _state, "__setstate__": _restore}
    for name, method in methods.items():
        if name not in own:
            setattr(kind, name, method)
    return kind


def _later(kind: Any, name: str, make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """A method that puts the one of `make` in its place."""

    def method(self: object, *values: object, **named: object) -> Any:
        made = make()
        setattr(kind, name, made)
        return made(self, *values, **named)

    return method


def _init(kind: Any, every: Iterable[Field[Any]], *, frozen: bool) -> Callable[..., None]:
    """The compiled `__init__`."""
    space: _Methods = {"__set": object.__setattr__, "__given": _GIVEN}
    slots = kind.__dict__ if "__slots__" in kind.__dict__ else {}
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
        if not frozen:
            lines.append(f"self.{name} = {value}")
        elif name in slots:  # 1.6 times as fast as by its name
            space[f"__set_{name}"] = slots[name].__set__
            lines.append(f"__set_{name}(self, {value})")
        else:
            lines.append(f"__set(self, {name!r}, {value})")
    lines += ["self.__post_init__()"] if hasattr(kind, "__post_init__") else []
    body = "".join(f"\n {line}" for line in lines or ["pass"])
    return _compiled(f"def __init__({', '.join(parameters)}):{body}", space)


def _compiled(source: str, space: _Methods | None = None) -> Callable[..., Any]:
    """The function that the source defines; of what users write, nothing reaches it."""
    found: _Methods = {}
    # compiled first: an interrupt of exec(text) makes Python end by SIGINT even if it was caught
    # (run_eval_code_obj of Python/pythonrun.c sets _Py_UnhandledKeyboardInterrupt)
    exec(compile(source, "<dataclass>", "exec"), {} if space is None else space, found)  # noqa: S102
    (function,) = found.values()
    return function  # type: ignore[no-any-return]


def _equality(every: Iterable[Field[Any]]) -> str:
    mine, others = (_values(every, of) for of in ("self", "other"))
    return (
        "def __eq__(self, other):\n if other.__class__ is not self.__class__:"
        f" return NotImplemented\n return {mine} == {others}"
    )


def _hash(every: Iterable[Field[Any]]) -> str:
    return f"def __hash__(self): return hash({_values(every, 'self')})"


def _values(every: Iterable[Field[Any]], of: str) -> str:
    """The code of a tuple of the fields that are compared."""
    return f"({''.join(f'{of}.{one.name}, ' for one in every if one.compare)})"


def _repr(self: Any) -> str:
    """The name of the class and its fields."""
    shown = [f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:  # noqa: ARG001
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:  # noqa: ARG001
    raise FrozenInstanceError(f"cannot delete field {name!r}")


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(one.name for one in dataclasses.fields(kind))


def _state(self: Any) -> list[object]:
    """For copies: the values of the slots, which cannot be set in the usual way."""
    return [getattr(self, name) for name in _names(self.__class__)]


def _restore(self: Any, values: Iterable[object]) -> None:
    for name, value in zip(_names(self.__class__), values, strict=True):
        object.__setattr__(self, name, value)


def picked(one: object, names: str) -> dict[str, Any]:
    """The attributes of these names for JSON, in this order; a tuple is a list there."""
    values = ((name, getattr(one, name)) for name in names.split())
    return {name: list(now) if isinstance(now, tuple) else now for name, now in values}


if TYPE_CHECKING:  # a checker of types knows what the one of the standard library makes
    from dataclasses import dataclass as dataclass  # noqa: PLC0414

    from _typeshed import DataclassInstance as DataclassInstance  # noqa: PLC0414
else:
    dataclass = _dataclass
    DataclassInstance = object
