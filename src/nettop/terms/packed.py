"""Rows of numbers by name, packed into bytes, for the history of thousands of moments.

A Python object takes about 25 bytes for a number and 50 for a name. Here a number takes 4 or 8
bytes, and successive moments share equal names.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import isnan, nan
from typing import Any, Final, Generic, TypeVar

_T = TypeVar("_T")
_UNKNOWN: Final = (1 << 64) - 1  # stands for an unknown count
_LARGEST: Final = 3e38  # larger values do not fit into a 32-bit float


class Layout(Generic[_T]):
    """How rows of one class are packed: one letter of `struct` for each field.

    `f`: a float of about seven digits. `Q`: an exact 64-bit count. Both may be None.
    """

    def __init__(self, kind: type[_T], letters: str) -> None:
        """`kind` takes one argument for each of `letters`."""
        self.kind = kind
        self.letters = letters
        self.struct = struct.Struct(f"={letters}")

    def pack(self, values: Sequence[float | None]) -> bytes:
        """One row as bytes."""
        fields = zip(self.letters, values, strict=True)
        return self.struct.pack(*[_packed(letter, value) for letter, value in fields])

    def unpack(self, data: bytes, place: int) -> _T:
        """The row at this index."""
        values: tuple[float, ...] = self.struct.unpack_from(data, place * self.struct.size)
        return self.kind(*[None if v == _UNKNOWN or isnan(v) else v for v in values])


def _packed(letter: str, value: float | None) -> float:
    if letter == "Q":
        return _UNKNOWN if value is None else max(0, min(int(value), _UNKNOWN - 1))
    return nan if value is None else max(-_LARGEST, min(value, _LARGEST))


class Packed(Mapping[str, _T]):
    """Rows by name; a row is unpacked at each access."""

    __slots__ = ("_data", "_layout", "_names")

    def __init__(self, layout: Layout[_T], names: tuple[str, ...] = (), data: bytes = b"") -> None:
        """`data` has a row for each of `names`."""
        self._layout = layout
        self._names = names
        self._data = data

    def then(self, rows: Mapping[str, Sequence[float | None]]) -> Packed[_T]:
        """The rows of the next moment, which share equal names with these."""
        known = {name: name for name in self._names}
        names = tuple([known.get(name, name) for name in rows])
        data = b"".join(map(self._layout.pack, rows.values()))
        return Packed(self._layout, self._names if names == self._names else names, data)

    def only(self, names: Collection[str]) -> Packed[_T]:
        """The rows of `names`; the same object if there are no others."""
        places = [place for place, name in enumerate(self._names) if name in names]
        if len(places) == len(self._names):
            return self
        size = self._layout.struct.size
        rows = (self._data[place * size : (place + 1) * size] for place in places)
        return Packed(self._layout, tuple(self._names[p] for p in places), b"".join(rows))

    def __getitem__(self, name: str) -> _T:
        """The row of this name; KeyError without one."""
        try:
            place = self._names.index(name)
        except ValueError:
            raise KeyError(name) from None
        return self._layout.unpack(self._data, place)

    def get(self, name: str, default: Any = None) -> Any:
        """The row of this name, else `default`; a graph calls it for thousands of moments."""
        names = self._names
        return self._layout.unpack(self._data, names.index(name)) if name in names else default

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._names)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._names)
