"""Values are immutable and small: which dataclasses are not frozen, or have no slots."""

import ast
import dataclasses
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from folded import folded

from nettop import collect
from nettop.facts.kinds import kinds
from nettop.views import scene, view

SRC = Path(__file__).parents[2] / "src/nettop"
# what a collector, a model or a running test remembers from one moment to the next
REMEMBER = ("advice/judge", "box", "collect", "facts", "host", "sampling", "trials", "tui")
WITHOUT_SLOTS = {  # each caches what it computes
    "advice/rules/rule.py:Rule", "views/scene.py:Scene", "settings/_host.py:Host",
}  # fmt: skip


@cache
def declared() -> list[tuple[str, str, dict[str, bool]]]:
    """Module, name and arguments of each dataclass."""
    found = []
    for path in sorted(SRC.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "@dataclass" in text else ():
            for decorator in getattr(node, "decorator_list", ()):
                if ast.unparse(decorator).startswith("dataclass"):
                    assert isinstance(node, ast.ClassDef)
                    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
                    values = {str(one.arg): bool(ast.literal_eval(one.value)) for one in keywords}
                    found.append((path.relative_to(SRC).as_posix(), node.name, values))
    return found


def test_values_are_frozen_and_have_slots() -> None:
    for module, name, values in declared():
        if f"{module}:{name}" in WITHOUT_SLOTS:
            assert values == {"frozen": True}
        elif values.get("frozen", False):
            assert values.get("slots", False), f"{module}: {name} has no slots"
        else:
            assert "frozen" not in values
            assert module.startswith(REMEMBER), f"{module}: {name} is not frozen"


def test_values_are_made_by_our_own_decorator() -> None:
    """That of the standard library compiles the methods of each class while it is imported."""
    for path in SRC.rglob("*.py"):
        if path != SRC / "terms/dataclass.py":
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"^from dataclasses import .*\bdataclass\b", text, re.MULTILINE), (
                path
            )
            assert "import dataclasses\n" not in text, path


# Rows, facts and scenes are passed between threads: none of them can be changed.


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
