"""Names of the members of kernel enumerations, from /sys/kernel/btf/vmlinux.

Documentation/bpf/btf.rst. The file has a hundred thousand types in 5 MB, so a type is found by the
offset of its name and not by a walk over all types.
"""

from __future__ import annotations

import struct
from typing import Final

_HEADER: Final = struct.Struct("=HBBIIIII")  # magic, version, flags, and lengths and offsets
_TYPE: Final = struct.Struct("=III")  # name, kind with count, size
_MEMBER: Final = struct.Struct("=Ii")  # name, value
_MAGIC: Final = 0xEB9F
_ENUM: Final = 6


def enumeration(data: bytes, name: str, prefix: str = "") -> dict[int, str]:
    """The names of an enumeration's members by value; the first name begins with `prefix`.

    KeyError if the kernel has no such enumeration; ValueError for bytes that are not BTF.
    """
    if len(data) < _HEADER.size:
        raise ValueError("the kernel's type information is cut off")
    magic, _version, _flags, size, types, types_size, texts, texts_size = _HEADER.unpack_from(data)
    begin, end = size + types, size + types + types_size
    text, text_end = size + texts, size + texts + texts_size
    if magic != _MAGIC or max(end, text_end) > len(data):
        raise ValueError("this is not the kernel's type information")
    word = b"\0" + name.encode() + b"\0"
    at = data.find(word, text, text_end)
    while at >= 0:
        key = struct.pack("=I", at + 1 - text)
        place = data.find(key, begin, end)
        while place >= 0:
            found = _members(data, place, end, (text, text_end))
            if (place - begin) % 4 == 0 and found and next(iter(found.values())).startswith(prefix):
                return found
            place = data.find(key, place + 1, end)
        at = data.find(word, at + 1, text_end)
    raise KeyError(name)


def _members(data: bytes, place: int, end: int, texts: tuple[int, int]) -> dict[int, str]:
    """The members of the type at `place`, by value; empty if it is not an enumeration."""
    if place + _TYPE.size > end:
        return {}
    _name, info, _size = _TYPE.unpack_from(data, place)
    count = info & 0xFFFF
    first = place + _TYPE.size
    if info >> 24 & 0x1F != _ENUM or first + _MEMBER.size * count > end:
        return {}
    found = {}
    for where, number in _MEMBER.iter_unpack(data[first : first + _MEMBER.size * count]):
        begin = texts[0] + where
        stop = data.find(b"\0", begin, texts[1])
        if stop < 0:
            return {}
        found[number] = data[begin:stop].decode("ascii", "replace")
    return found
