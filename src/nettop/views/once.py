"""Functions of a scene that several parts of one frame ask for: computed once for each scene."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from .scene import Scene

P = ParamSpec("P")
T = TypeVar("T")


def once(make: Callable[Concatenate[Scene, P], T]) -> Callable[Concatenate[Scene, P], T]:
    """The function, whose result is kept in the scene; further arguments must be hashable.

    The result is shared, so it must be immutable, as the scene is.
    """

    @wraps(make)
    def known(scene: Scene, /, *args: P.args, **kwargs: P.kwargs) -> T:
        values: dict[object, T] = scene.__dict__.setdefault("_once", {})
        key = (make, args, tuple(kwargs.items()))
        if key not in values:
            values[key] = make(scene, *args, **kwargs)
        return values[key]

    return known
