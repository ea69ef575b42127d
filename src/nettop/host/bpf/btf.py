"""The types of the running kernel.

/sys/kernel/btf/vmlinux (Documentation/bpf/btf.rst) has a hundred thousand types in 5 MB: names,
offsets, arguments. The names of an enumeration are found by the offset of its name, without a walk
over all types; a member of a structure needs that walk, because its type is a number (0.14 s).
"""

import struct
from array import array
from bisect import bisect_left
from typing import Final

_HEADER: Final = struct.Struct("=HBBIIIII")  # magic, version, flags, and lengths and offsets
_TYPE: Final = struct.Struct("=III")  # name, kind with count, size
_MEMBER: Final = struct.Struct("=Ii")  # name, value
_MAGIC: Final = 0xEB9F
_ENUM: Final = 6


def _sections(data: bytes) -> tuple[int, int, int, int]:
    """Begin and end of the types, then of the texts; ValueError for bytes that are not BTF."""
    if len(data) < _HEADER.size:
        raise ValueError("the kernel's type information is cut off")
    magic, _version, _flags, size, types, types_size, texts, texts_size = _HEADER.unpack_from(data)
    end, text_end = size + types + types_size, size + texts + texts_size
    if magic != _MAGIC or max(end, text_end) > len(data):
        raise ValueError("this is not the kernel's type information")
    return size + types, end, size + texts, text_end


def enumeration(data: bytes, name: str, prefix: str = "") -> dict[int, str]:
    """The names of an enumeration's members by value; the first name begins with `prefix`.

    KeyError if the kernel has no such enumeration; ValueError for bytes that are not BTF.
    """
    begin, end, text, text_end = _sections(data)
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


_INT, _STRUCT, _UNION, _TYPEDEF, _PROTOTYPE = 1, 4, 5, 8, 13
_THROUGH: Final = (_TYPEDEF, 9, 10, 11, 18)  # with volatile, const, restrict and type tag
_FIXED: Final = {_INT: 1, 3: 3, 14: 1, 17: 1}  # words after the three of every type, by kind
_EACH: Final = {_STRUCT: 3, _UNION: 3, _ENUM: 2, _PROTOTYPE: 2, 15: 3, 19: 3}  # and for each member
_NESTED: Final = 8  # anonymous structures in one another


class Types:
    """All types of a kernel; ValueError for bytes that are not BTF."""

    def __init__(self, data: bytes) -> None:
        """Find where each type begins."""
        begin, end, text, text_end = _sections(data)
        self._texts, body = data[text:text_end], data[begin:end]
        if len(body) % 4:
            raise ValueError("this is not the kernel's type information")
        self._words = words = array("I", body)
        fixed = [3 + _FIXED.get(kind, 0) for kind in range(32)]
        each = [_EACH.get(kind, 0) for kind in range(32)]
        self._found: dict[tuple[str, int], int] = {}
        self._places = places = array("I", [0])  # of the type with that number; 0 is void
        at, end = 0, len(words)
        try:
            while at < end:
                places.append(at)
                info = words[at + 1]
                kind = info >> 24 & 31
                at += fixed[kind] + each[kind] * (info & 0xFFFF)
        except IndexError:
            raise ValueError("the kernel's type information is cut off") from None

    def offset(self, structure: str, path: str) -> int:
        """Bytes from the begin of a structure to a member, as `ns.inum`; KeyError without it."""
        place = self._find(structure, _STRUCT)
        whole = 0
        for name in path.split("."):
            found = self._member(place, name, _NESTED)
            if found is None:
                raise KeyError(f"{structure}.{path}")
            bits, kind = found
            whole += bits
            place = self._structure(kind)
        return whole // 8

    def arguments(self, name: str) -> int:
        """How many arguments a tracepoint has; KeyError without it."""
        place = self._find(f"btf_trace_{name}", _TYPEDEF)
        pointer = self._places[self._words[place + 2]]
        prototype = self._places[self._words[pointer + 2]]
        return (self._words[prototype + 1] & 0xFFFF) - 1

    def tracepoint(self, name: str) -> int:
        """The number of the tracepoint's type, for `call.program`; KeyError without it."""
        return bisect_left(self._places, self._find(f"btf_trace_{name}", _TYPEDEF), 1)

    def _find(self, name: str, kind: int) -> int:
        """Where the type of that name and kind begins; the search takes 10 ms, once."""
        if (name, kind) not in self._found:
            self._found[name, kind] = self._search(name, kind)
        return self._found[name, kind]

    def _search(self, name: str, kind: int) -> int:
        text = self._texts.find(b"\0" + name.encode() + b"\0") + 1
        words = self._words
        if text:
            for place in self._places[1:]:
                if words[place] == text and words[place + 1] >> 24 & 31 == kind:
                    return place
        raise KeyError(name)

    def _structure(self, kind: int) -> int:
        """Where the structure behind typedefs and qualifiers begins."""
        place = self._places[kind]
        while self._words[place + 1] >> 24 & 31 in _THROUGH:
            place = self._places[self._words[place + 2]]
        return place

    def _member(self, place: int, name: str, depth: int) -> tuple[int, int] | None:
        """Bits to a member, and its type; those of structures without a name are members too."""
        info = self._words[place + 1]
        if info >> 24 & 31 not in (_STRUCT, _UNION) or not depth:
            return None
        for at in range(place + 3, place + 3 + 3 * (info & 0xFFFF), 3):
            text, kind, bits = self._words[at : at + 3]
            bits = bits & 0xFFFFFF if info >> 31 else bits
            if text and self._text(text) == name:
                return bits, kind
            if not text:
                inner = self._member(self._structure(kind), name, depth - 1)
                if inner is not None:
                    return bits + inner[0], inner[1]
        return None

    def _text(self, at: int) -> str:
        return self._texts[at : self._texts.find(b"\0", at)].decode("ascii", "replace")
