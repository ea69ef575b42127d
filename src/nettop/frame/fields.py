"""Field declarations of row classes, what is derived from them, and rows held by column.

A row is a frozen dataclass. Each field is a *label* (part of the row's key), a *counter* (only
grows; shown per second), a *vector* (sparse counters by CPU) or a *gauge* (a present value). Rates,
JSON, the names that rules use, help texts and units all come from this one declaration.

A host of a thousand CPUs has thousands of rows about them, new in each second, and facts are made
from some of their columns: of such a table a row is made only where one is used.
"""

from collections import namedtuple
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields
from functools import cache, partial
from operator import attrgetter, eq
from typing import Any, Generic, Self, TypeVar, overload

from ..terms.dataclass import DataclassInstance

_Row = TypeVar("_Row", bound="DataclassInstance")


class Columns(Sequence[_Row]):
    """Rows of the light class `kind`, by column, in the order of its fields. Immutable."""

    __slots__ = ("columns", "kind")

    def __init__(self, kind: type[_Row], columns: Sequence[Sequence[Any]]) -> None:
        """Each column has a value for each row."""
        self.kind = kind
        self.columns = tuple(columns)

    def column(self, name: str) -> Sequence[Any]:
        """The values of one field."""
        return self.columns[places(self.kind)[name]]

    def like(self, before: Self | None) -> Self:
        """These rows, with the columns of `before` that are equal; `before` itself if all are.

        The rates of such a column are zero, without a comparison of its values.
        """
        if before is None:
            return self
        pairs = list(zip(self.columns, before.columns, strict=True))
        if all(new is old or new == old for new, old in pairs):
            return before
        return type(self)(self.kind, [old if new == old else new for new, old in pairs])

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.columns[0])

    def __iter__(self) -> Iterator[_Row]:
        """The rows."""
        make: partial[_Row] = partial(tuple.__new__, self.kind)  # type: ignore[type-var]
        return map(make, zip(*self.columns, strict=True))

    @overload
    def __getitem__(self, place: int) -> _Row: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[_Row]: ...
    def __getitem__(self, place: int | slice) -> _Row | Sequence[_Row]:
        """One row, or several."""
        if isinstance(place, slice):
            return Columns(self.kind, [column[place] for column in self.columns])
        row: _Row = tuple.__new__(self.kind, [column[place] for column in self.columns])  # type: ignore[type-var]
        return row

    def __eq__(self, other: object) -> bool:
        """Equal to a sequence of equal rows."""
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


@cache
def places(kind: type[DataclassInstance]) -> dict[str, int]:
    """The position of each field of a row class."""
    return {field.name: place for place, field in enumerate(fields(kind))}


def columns(kind: type[_Row], rows: Sequence[_Row]) -> Columns[_Row]:
    """These rows by column."""
    every: Sequence[Sequence[Any]] = list(zip(*rows, strict=True))
    return Columns(kind, every or [()] * len(fields(kind)))


_Value = TypeVar("_Value")
_REQUIRED: Any = MISSING  # the default of a field that has none, of any type


def label(help: str, *, default: _Value = _REQUIRED) -> _Value:  # noqa: A002
    """A field that is part of the row's key."""
    return field(default=default, metadata={"kind": "label", "help": help, "unit": ""})


def counter(help: str, unit: str = "", *, default: _Value = _REQUIRED) -> _Value:  # noqa: A002
    """A field that only grows; its rate is in `unit` per second. None if the host has no value."""
    return field(default=default, metadata={"kind": "counter", "help": help, "unit": unit})


def vector(help: str, unit: str = "", *, default: _Value = _REQUIRED) -> _Value:  # noqa: A002
    """Counters by CPU number: `{cpu: count}`; an absent CPU is zero. The rate has this form too."""
    return field(default=default, metadata={"kind": "vector", "help": help, "unit": unit})


def gauge(help: str, unit: str = "", *, default: _Value = _REQUIRED) -> _Value:  # noqa: A002
    """A field with a present value in `unit`, for which a rate has no meaning."""
    return field(default=default, metadata={"kind": "gauge", "help": help, "unit": unit})


def maybe(help: str, unit: str = "") -> Any:  # noqa: A002
    """A gauge that may be unknown: None, which is its default."""
    return gauge(help, unit, default=None)


class Repeated:
    """The fields of a row as those of a fact: its attribute of a name is that field, as a gauge.

    So help and unit are said once, by the table; `of` in the metadata is the field of `row`.
    """

    def __init__(self, row: type[DataclassInstance], *, rates: bool = False) -> None:
        """With `rates` a counter is repeated per second."""
        self._row, self._fields = row, {one.name: one for one in fields(row)}
        self._rates = rates

    def __getattr__(self, name: str) -> Any:
        """The field; AttributeError if the row has none of that name."""
        if name not in self._fields:
            raise AttributeError(name)
        of = self._fields[name]
        unit = of.metadata["unit"]
        if self._rates and of.metadata["kind"] == "counter":
            unit += "/s"
        metadata = {
            "kind": "gauge", "help": of.metadata["help"], "unit": unit, "of": of, "row": self._row
        }  # fmt: skip
        return field(default=None, metadata=metadata)


def repeated(fact: type[DataclassInstance], row: type[DataclassInstance]) -> tuple[str, ...]:
    """The fields of a fact that are those of the row."""
    return tuple(one.name for one in fields(fact) if one.metadata.get("row") is row)


def light(kind: type[_Row]) -> type[_Row]:
    """Turn a row class declared as a dataclass into a named tuple, for tables of thousands of rows.

    `fields`, `replace`, labels and rates work as for any row. Creating one takes a quarter of the
    time of a frozen dataclass.
    """
    every = fields(kind)
    make: Callable[..., type[_Row]] = namedtuple  # type: ignore[assignment]  # noqa: PYI024
    row = make(
        kind.__name__,
        [f.name for f in every],
        defaults=[f.default for f in every if f.default is not MISSING],
        module=kind.__module__,
    )
    row.__doc__ = kind.__doc__
    row.__dataclass_fields__ = {f.name: f for f in every}
    return row


def altered(row: _Row, **values: object) -> _Row:
    """A light row with other values; takes a fraction of the time of `replace`. ValueError."""
    light_row: Any = row
    changed: _Row = light_row._replace(**values)
    return changed


class Packed(Generic[_Row]):
    """A row kept as bytes, with the attributes of the row. It is equal to the row.

    An attribute may cost as much as unpacking the row, so whoever needs many takes `whole`.
    """

    __slots__ = ()
    idle: bool = False  # True: no data waits in it
    ends: Any = None  # what many rows have in common: one object for all of them
    life: Any = None  # one object in all readings of what the row is about; hashable

    def little(self, before: Any, most: float) -> tuple[int, int] | None:
        """The bytes received and acknowledged since the row `before`.

        None if they are more than `most`, or if more than these has to be looked at.
        """
        raise NotImplementedError

    def whole(self) -> _Row:
        """The row."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        """Equal rows, packed or not."""
        return bool(self.whole() == whole(other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """The row."""
        return repr(self.whole())


def whole(row: Any) -> Any:
    """The row itself, or that of a packed one."""
    return row.whole() if isinstance(row, Packed) else row


def type_of(field: Field[Any]) -> tuple[str, bool]:
    """The declared type of a field but None, deferred or not; and whether it may be None."""
    text = field.type.__name__ if isinstance(field.type, type) else str(field.type)
    name = text.removesuffix(" | None")
    return name, name != text


@cache
def key_of(kind: type[DataclassInstance]) -> Callable[[object], Hashable]:
    """The function that returns a row's key: its label, a tuple of its labels, or () if none."""
    names = [f.name for f in fields(kind) if f.metadata.get("kind") == "label"]
    if not names:
        return lambda _row: ()
    return attrgetter(*names)


def describe(kind: type[DataclassInstance]) -> list[dict[str, str]]:
    """Name, kind, help, unit and `required` (true or false) of each field of a row or fact."""
    return [
        {
            "name": f.name,
            "kind": f.metadata.get("kind", "gauge"),
            "help": f.metadata.get("help", ""),
            "unit": f.metadata.get("unit", ""),
            "required": str(f.default is MISSING and f.default_factory is MISSING).lower(),
        }
        for f in fields(kind)
    ]


def values(row: DataclassInstance, only: Sequence[str] = ()) -> dict[str, object]:
    """A row as a dict for JSON; `only` restricts it to fields of these kinds.

    The keys of vectors become text.
    """
    found = {}
    row = whole(row)
    for f in fields(row):
        if only and f.metadata.get("kind") not in only:
            continue
        value = getattr(row, f.name)
        if isinstance(value, Mapping):
            value = {str(k): v for k, v in value.items()}
        found[f.name] = value
    return found
