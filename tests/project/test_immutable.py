"""Rows, facts and scenes are passed between threads: none of them can be changed."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import pytest
from folded import folded

from nettop import collect
from nettop.facts.kinds import kinds
from nettop.views import scene, view

VALUES: dict[str, Any] = {
    **{f"collect.{name}": collect.collector(name).Row for name in collect.names()},
    **{f"facts.{name}": kind.type for name, kind in kinds().items()},
    **{
        f"views.{name}": value
        for module in (scene, view)
        for name, value in inspect.getmembers(module, dataclasses.is_dataclass)
        if value.__module__ == module.__name__
    },
}


@folded("name", VALUES)
def test_a_value_has_no_field_that_can_be_set(name: str) -> None:
    kind = VALUES[name]
    if issubclass(kind, tuple):  # a named tuple
        fields = kind._fields
        value = kind._make([None] * len(fields))
    else:
        fields = [field.name for field in dataclasses.fields(kind)]
        value = kind.__new__(kind)
    with pytest.raises(AttributeError):  # FrozenInstanceError is one
        setattr(value, fields[0], 1)
    assert not hasattr(value, "__dict__") or name == "views.Scene"  # which caches properties
