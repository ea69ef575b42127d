"""The figures that modules declare: constants, and defaults of fields and of arguments.

The expected output has one line each. A changed figure is an error until `pytest
tests/project/test_declared_values.py --update` writes it anew; a new one is none, so that a new
module needs no other file.
"""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import pytest

SRC = Path(__file__).parents[2] / "src/nettop"
GOLDEN = Path(__file__).parents[1] / "golden/declared/values"
ALONE = ("__main__.py", "host/far/", "trials/far/")  # programs: they run where they are imported
LONGEST = 60  # characters of a value; of a longer one the checksum
FOLDERS = sorted(path.parent.name for path in SRC.glob("*/__init__.py"))


def modules(folder: str) -> Iterator[ModuleType]:
    for path in sorted((SRC / folder).rglob("*.py")):
        below = path.relative_to(SRC)
        if not str(below).startswith(ALONE):
            parts = below.with_suffix("").parts
            yield import_module(
                ".".join(("nettop", *parts[: -1 if path.stem == "__init__" else 9]))
            )


def plain(value: Any) -> bool:
    """Whether it is a figure, or has figures and text only."""
    if isinstance(value, bool | int | float | str | bytes | None):
        return True
    if isinstance(value, WeakKeyDictionary):
        return False  # kept while it runs
    if isinstance(value, Mapping):
        return all(map(plain, chain(value.keys(), value.values())))
    if isinstance(value, tuple | list | AbstractSet):
        return all(map(plain, value))
    return is_dataclass(value) and all(plain(getattr(value, one.name)) for one in fields(value))


def figures(value: Any) -> bool:
    """Whether any figure is in it."""
    if isinstance(value, Mapping):
        return any(map(figures, chain(value.keys(), value.values())))
    if isinstance(value, tuple | list | AbstractSet):
        return any(map(figures, value))
    return isinstance(value, bool | int | float) or is_dataclass(value)


def ordered(value: Any) -> Any:
    """The value with its sets in an order of their own."""
    if isinstance(value, Mapping):
        return {ordered(key): ordered(one) for key, one in value.items()}
    if isinstance(value, AbstractSet):
        return sorted((ordered(one) for one in value), key=repr)
    if isinstance(value, tuple | list):
        return tuple(map(ordered, value))
    if is_dataclass(value):
        return tuple(ordered(getattr(value, one.name)) for one in fields(value))
    return value


def text_of(value: Any) -> str:
    text = repr(ordered(value))
    return text if len(text) <= LONGEST else f"{text[:40]}… {zlib.crc32(text.encode()):08x}"


def defaults(name: str, function: FunctionType) -> Iterator[tuple[str, Any]]:
    for one in inspect.signature(function).parameters.values():
        if one.default is not one.empty:
            yield f"{name}({one.name})", one.default


def declared(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Names and values of what the module itself declares."""
    for name, value in list(vars(module).items()):
        if name.startswith("__") or name == "TYPE_CHECKING":
            continue
        if inspect.isclass(value) and value.__module__ == module.__name__:
            if is_dataclass(value):
                yield from (
                    (f"{name}.{one.name}", one.default)
                    for one in fields(value)
                    if one.default is not MISSING
                )
            for method, member in list(vars(value).items()):
                what = getattr(member, "__func__", member)
                if method == "__init__" and is_dataclass(value):
                    continue
                if isinstance(what, FunctionType) and what.__module__ == module.__name__:
                    yield from defaults(f"{name}.{method}", what)
        elif isinstance(value, FunctionType) and value.__module__ == module.__name__:
            yield from defaults(name, value)
        elif name in assigned(module):
            yield name, value


@cache
def assigned(module: ModuleType) -> frozenset[str]:
    """The names that it does not import from elsewhere."""
    return frozenset(getattr(module, "__annotations__", ())) | {
        name for name in vars(module) if name.isupper()
    }


@cache
def values(folder: str) -> dict[str, str]:
    """The figures of a folder, as text by module and name."""
    return {
        f"{module.__name__.removeprefix('nettop.')} {name}": text_of(value)
        for module in modules(folder)
        for name, value in declared(module)
        if plain(value) and figures(value)
    }


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_declared_figure_is_the_expected_one(folder: str, update: bool) -> None:
    path, now = GOLDEN / f"{folder}.txt", values(folder)
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{name} = {value}\n" for name, value in sorted(now.items())))
    lines = path.read_text().splitlines() if path.exists() else []
    expected = dict(line.split(" = ", 1) for line in lines)
    same = expected.keys() & now.keys()
    assert {name: now[name] for name in same} == {name: expected[name] for name in same}


def test_the_figures_are_found() -> None:
    every = set().union(*map(values, FOLDERS))
    assert {"collect.namespaces MOST", "facts.pair.model LEAST"} <= every
    known = {line.split(" = ")[0] for path in GOLDEN.glob("*.txt")
             for line in path.read_text().splitlines()}  # fmt: skip
    assert len(known & every) > 0.9 * len(every)
