"""Netlink requests, messages and attributes: bytes to dicts and back, by tables.

A table maps the number of an attribute to its name and form. The functions are pure, and their only
error is ValueError. Layout: include/uapi/linux/netlink.h; numbers are in host byte order.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ...files.bounds import BOUNDS, exceeded
from ...terms.dataclass import dataclass

NESTED: Final = 0x8000
_TYPE: Final = 0x3FFF  # without NLA_F_NESTED and NLA_F_NET_BYTEORDER
_ATTRIBUTE: Final = struct.Struct("=HH")
HEADER: Final = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence, port
_WIDTHS: Final = frozenset("BHIQi")


@dataclass(frozen=True, slots=True)
class Field:
    """One attribute: its name and its form.

    Forms: `B H I Q` unsigned of 8 to 64 bits, `i` signed of 32; `text`; `raw` bytes; `flag` (bool);
    `bits` (an ethtool bitset); `nest` (attributes of the `inner` table), `many` (a list of them).
    """

    name: str
    form: str = "I"
    inner: Mapping[int, Field] | None = None


Table = Mapping[int, Field]
Attributes = dict[str, Any]
"""Decoded attributes by name; the form of each field decides the type of its value.

Numbers are int, `text` is str, `raw` bytes, `flag` bool, `bits` Bits, `nest` Attributes and `many`
a list of Attributes. An absent attribute has no entry.
"""


@dataclass(frozen=True, slots=True)
class Bits:
    """An ethtool bitset: the bits that are set, the bits that are valid, and their number."""

    value: int
    mask: int
    size: int

    def numbers(self) -> tuple[int, ...]:
        """The numbers of the bits that are set."""
        return tuple(i for i in range(self.value.bit_length()) if self.value >> i & 1)


def numbered(first: int, names: str) -> dict[int, Field]:
    """A table with consecutive numbers from `first`: `"rx_max rx tx_push:B"` (name:form)."""
    words = (word.partition(":") for word in names.split())
    return dict(enumerate((Field(name, form or "I") for name, _, form in words), first))


def messages(reply: bytes) -> Iterator[tuple[int, int, int]]:
    """Type, and start and end of the payload, of each message; ValueError if it is cut off."""
    at, end = 0, len(reply)
    while at < end:
        if end - at < HEADER.size:
            raise ValueError("a netlink header is cut off")
        length, kind, _flags, _sequence, _port = HEADER.unpack_from(reply, at)
        if length < HEADER.size or length > end - at:
            raise ValueError("a netlink message has a wrong length")
        yield kind, at + HEADER.size, at + length
        at += (length + 3) & ~3


def of_kind(reply: bytes, wanted: int, head: int, what: str) -> Iterator[tuple[int, int]]:
    """Start and end of the payload of each message of that kind, which begins with a head.

    ValueError if one is shorter than these bytes: `what` is cut off.
    """
    for kind, start, end in messages(reply):
        if kind == wanted:
            if end - start < head:
                raise ValueError(f"{what} is cut off")
            yield start, end


def must_be_few(reply: bytes) -> None:
    """OSError for more messages than the bound; most replies are too short for so many."""
    most = BOUNDS["messages"].most
    at, end = 0, len(reply)
    if end <= most * HEADER.size:
        return
    for _ in range(most):
        if at >= end:
            return
        at += max(HEADER.size, int.from_bytes(reply[at : at + 4], sys.byteorder) + 3 & ~3)
    raise exceeded("messages")


def attributes(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Number, and start and end of the payload, of each attribute; ValueError if it is cut off."""
    if end > len(data):
        raise ValueError("attributes are cut off")
    while end - start >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data, start)
        if length < _ATTRIBUTE.size or length > end - start:
            raise ValueError("a netlink attribute has a wrong length")
        yield kind & _TYPE, start + 4, start + length
        start += (length + 3) & ~3


def decode(data: bytes, start: int, end: int, table: Table) -> Attributes:
    """The attributes of the table in `data[start:end]`, by name; ValueError for a damaged one."""
    out: Attributes = {}
    for kind, a, e in attributes(data, start, end):
        field = table.get(kind)
        if field is None:
            continue
        if field.form == "many":
            out.setdefault(field.name, []).append(decode(data, a, e, field.inner or {}))
        else:
            out[field.name] = _value(data, a, e, field)
    return out


def _value(data: bytes, start: int, end: int, field: Field) -> object:
    form = field.form
    if form in _WIDTHS:
        if not 1 <= end - start <= 8:
            raise ValueError(f"{field.name}: not a number of {end - start} bytes")
        return int.from_bytes(data[start:end], sys.byteorder, signed=form == "i")
    if form == "text":
        return text(data[start:end])
    if form == "nest":
        return decode(data, start, end, field.inner or {})
    if form == "bits":
        return _bits(data, start, end)
    if form == "flag":
        return True
    return data[start:end]


def text(raw: bytes) -> str:
    """A NUL-terminated string; bytes that are not UTF-8 become surrogates."""
    return raw.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")


def _bits(data: bytes, start: int, end: int) -> Bits:
    """A compact bitset (net/ethtool/bitset.c): words of 32 bits, lowest first."""
    size = value = 0
    mask: int | None = None
    for kind, a, e in attributes(data, start, end):
        if kind == 2:
            size = int.from_bytes(data[a:e], sys.byteorder)
        elif kind == 4:
            value = _words(data[a:e])
        elif kind == 5:
            mask = _words(data[a:e])
    return Bits(value, value if mask is None else mask, size)


def _words(raw: bytes) -> int:
    if sys.byteorder == "little":
        return int.from_bytes(raw, "little")
    words = [raw[i : i + 4][::-1] for i in range(0, len(raw), 4)]
    return int.from_bytes(b"".join(words), "little")


def attribute(number: int, payload: bytes) -> bytes:
    """One attribute, padded to four bytes."""
    length = 4 + len(payload)
    if length > 0xFFFF:
        raise ValueError("a netlink attribute is longer than 64 KiB")
    return _ATTRIBUTE.pack(length, number) + payload + bytes(-length & 3)


def encode(table: Table, values: Mapping[str, object]) -> bytes:
    """The bytes of these attributes; ValueError for a name or value that the table lacks."""
    numbers = {field.name: (number, field) for number, field in table.items()}
    parts = []
    for name, value in values.items():
        if name not in numbers:
            raise ValueError(f"{name}: not one of {', '.join(numbers)}")
        number, field = numbers[name]
        if field.form == "many":
            inner = field.inner or {}
            entries: Iterable[Attributes] = value  # type: ignore[assignment]
            parts += [attribute(number | NESTED, encode(inner, one)) for one in entries]
        else:
            nested = NESTED if field.form in {"nest", "bits"} else 0
            parts.append(attribute(number | nested, _payload(field, value)))
    return b"".join(parts)


def _payload(field: Field, value: Any) -> bytes:
    if field.form in _WIDTHS:
        try:
            return struct.pack("=" + field.form, value)
        except struct.error:
            raise ValueError(f"{field.name}: {value!r} does not fit") from None
    if field.form == "text":
        return str(value).encode("utf-8", "surrogateescape") + b"\0"
    if field.form == "nest":
        return encode(field.inner or {}, value)
    if field.form == "bits":
        return _named_bits(value)
    if field.form == "flag":
        return b""
    return bytes(value)


def _named_bits(changes: Mapping[str, bool]) -> bytes:
    """A bitset that changes only the named bits (`{"rx-gro": False}`)."""
    bits = b"".join(
        attribute(
            1 | NESTED, attribute(2, name.encode() + b"\0") + (attribute(3, b"") if on else b"")
        )
        for name, on in changes.items()
    )
    return attribute(3 | NESTED, bits)


@dataclass(frozen=True, slots=True)
class Space:
    """Another network namespace: the file that opens it (/proc/PID/ns/net), and its inode."""

    path: str
    inode: int


@dataclass(frozen=True, slots=True)
class Request:
    """One netlink question.

    `family` is `route`, `sock_diag`, `netfilter` or a generic-netlink family such as `ethtool`;
    `kind` the message type (or the generic command); `body` everything after the netlink header
    (for a generic family: after the generic header); `name` what a recording calls the answer, e.g.
    `ethtool/rings/eth0`. With `space` the question is asked in that namespace. The kernel announces
    changes of the answer if `announced`: see `netlink.kernel`.
    """

    family: str
    kind: int
    body: bytes
    name: str
    dump: bool = False
    space: Space | None = None
    announced: bool = False
