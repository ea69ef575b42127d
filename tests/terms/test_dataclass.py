"""Dataclasses that compile `__init__` at first use, beside those of the standard library."""

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, asdict, astuple, field, fields, replace
from typing import Any, ClassVar, Final

import pytest

from nettop.terms import dataclass as module
from nettop.terms.dataclass import dataclass

NAN: Final = float("nan")


@dataclass(frozen=True, slots=True)
class Point:
    """A value."""

    KIND: ClassVar[str] = "point"
    x: int
    y: float = 1.5
    names: tuple[str, ...] = ()
    more: list[int] = field(default_factory=list)
    at: float = field(default=0.0, compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    """The same value."""

    KIND: ClassVar[str] = "point"
    x: int
    y: float = 1.5
    names: tuple[str, ...] = ()
    more: list[int] = field(default_factory=list)
    at: float = field(default=0.0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class One:
    """One field."""

    value: float


@dataclass(frozen=True, slots=True)
class Nothing:
    """No field."""


@dataclass
class Kept:
    """What a collector remembers."""

    count: int = 0


@dataclass(frozen=True, slots=True)
class Own:
    """Methods of its own."""

    name: str
    other: int = 0

    def __eq__(self, other: object) -> bool:
        """By the name."""
        return isinstance(other, Own) and other.name == self.name

    def __hash__(self) -> int:
        """By the name."""
        return hash(self.name)

    def __repr__(self) -> str:
        """The name."""
        return self.name


def test_a_value_is_as_one_of_the_standard_library() -> None:
    ours, theirs = Point(1, names=("a",), at=2.0), Standard(1, names=("a",), at=2.0)
    assert asdict(ours) == asdict(theirs)
    assert astuple(ours) == astuple(theirs)
    assert repr(ours) == repr(theirs).replace("Standard", "Point")
    assert [f.name for f in fields(Point)] == [f.name for f in fields(Standard)]
    assert Point.__match_args__ == Standard.__match_args__
    assert Point.__slots__ == Standard.__slots__
    assert replace(ours, y=3.0) == Point(1, 3.0, ("a",))
    assert ours != theirs  # type: ignore[comparison-overlap]
    assert Point(1) == Point(1, at=5.0) != Point(2)
    assert Point(1).more is not Point(1).more


def test_equal_values_have_equal_hashes_and_the_same_nan_is_equal() -> None:
    assert hash(One(2.0)) == hash(One(2.0))
    assert One(NAN) == One(NAN)
    assert Nothing() == Nothing()
    assert {Nothing(), Nothing()} == {Nothing()}
    assert Kept.__hash__ is None
    with pytest.raises(TypeError):
        hash(Point(1))  # its list has none


def test_a_frozen_value_cannot_be_changed_but_copied() -> None:
    value = Point(1, more=[1])
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        value.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del value.x
    for again in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert again == value
    assert copy.deepcopy(value).more is not value.more


@pytest.mark.parametrize("words", [((), {}), ((1, 2.0, (), [], 0.0, 6), {}), ((1,), {"z": 2})])
def test_wrong_arguments_are_refused_each_time(words: Any) -> None:
    values, named = words
    for kind in (Point, Standard):
        for _ in range(2):
            with pytest.raises(TypeError, match="__init__"):
                kind(*values, **named)


def test_methods_of_the_class_are_kept() -> None:
    assert Own("a", 1) == Own("a", 2)
    assert {Own("a", 1), Own("a", 2)} == {Own("a")}
    assert repr(Own("a")) == "a"


def test_init_is_compiled_by_the_first_call_only(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    compiled = module._init

    def counted(*values: Any, **named: Any) -> Any:
        made.append(values)
        return compiled(*values, **named)

    monkeypatch.setattr(module, "_init", counted)

    @dataclass(frozen=True, slots=True)
    class Fresh:
        """A class of this test."""

        x: int = 0

    assert made == []
    assert [Fresh(), Fresh(1), Fresh(x=1)][1:] == [Fresh(1), Fresh(1)]
    assert len(made) == 1


COUNT: Final = """
import dataclasses, json, sys
standard, ours, made = dataclasses._create_fn, [], []
def counted(name, args, body, *more, **named):
    callers = {sys._getframe(depth).f_globals["__name__"] for depth in range(1, 6)}
    if any(one.startswith("nettop.") for one in callers):
        made.append(name)
    return standard(name, args, body, *more, **named)
dataclasses._create_fn = counted
from nettop.terms import dataclass
init = dataclass._init
dataclass._init = lambda *a, **n: ours.append(1) or init(*a, **n)
from nettop import collect
from nettop.views import observer
from nettop.facts.kinds import kinds
kinds()
collect.resting()
kinds = sum(
    bool(getattr(value, "__dataclass_fields__", None)) and value.__module__ == name
    for name, module in sys.modules.items() if name.startswith("nettop.")
    for value in vars(module).values() if isinstance(value, type)
)
print(json.dumps([kinds, len(made), len(ours)]))
"""


def test_importing_what_samples_compiles_almost_no_method() -> None:
    """Each compiled method takes a third of a millisecond, and there were a thousand."""
    done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    classes, standard, compiled = json.loads(done.stdout)
    assert classes > 180
    assert standard == 0
    assert compiled <= 30  # of constants
