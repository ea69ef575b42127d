"""TCP sockets with tcp_info, memory and congestion control, by sock_diag (net/ipv4/tcp_diag.c).

Ten thousand connections must cost less than with `ss`. So a row is a named tuple from one unpack
of tcp_info, and a socket without activity keeps its row: only the timers and the four ages in
tcp_info differ between its messages. With more connections, rows are packed (see `_tcp_row`).
"""

import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Final, NamedTuple, cast

from ..frame.fields import whole as unpack
from ..host.netlink import diag, route
from ..host.netlink.codec import attributes
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, recall
from ._tcp_row import (
    INFO_PIECES,
    MEMORY_PIECE,
    NO_INFO,
    NO_MEMORY,
    NO_OPTIONS,
    PIECES,
    Behind,
    Ends,
    PackedRow,
    Row,
    connected,
    make,
    new,
    state_name,
)  # fmt: skip

__all__ = ["Row"]

# `threads` looks at the processes whose sockets move data
TABLE: Final = Table(
    needed="what limits TCP flows", may_be_empty=True, may_rest=True, memory="sockets"
)

MANY: Final = 400_000  # bytes of an answer, about a thousand sockets: the rows of more are packed

_HEAD: Final = struct.Struct("=IH")
_NAMES: Final = struct.Struct("=B3x4s16s16sI")  # family, ports, addresses, interface; after 16
_COUNTS: Final = struct.Struct("=IIII")  # what waits to be read and sent, owner, inode
_NAMES_AT, _COOKIE_AT, _COUNTS_AT, _INODE_AT, _ATTRIBUTES_AT = 16, 60, 72, 84, 88
# struct tcp_info as of Linux 5.4 from `snd_mss` at byte 16, in the order of `Row`; older kernels
# send less, newer ones more
_INFO: Final = struct.Struct("=16xI4xI4xI8xI4xI4xIIIIII8xIIIQQQQIIIIIIQQQQIIQQIIII")
_AGES_AT: Final = 44  # tcpi_last_data_sent and the three after it, 16 bytes
_MEMORY: Final = struct.Struct("=9I")


# What is remembered of a socket: the hash of its bytes but for timers and ages; where in its
# message the ages begin; its row. A packed row has its bytes itself: then the first is None, the
# second the places of these bytes in the message. The hash is keyed (SipHash, PEP 456) and has 64
# bits: of 1,000 sockets that change each second, one change would be missed in 500 million years.
Seen = tuple[int, int, Row] | tuple[None, struct.Struct, PackedRow]


class _Layout(NamedTuple):
    """Start and end of each attribute's payload in messages of one length; 0: absent."""

    memory: int
    memory_end: int
    info: int
    info_end: int
    congestion: int
    congestion_end: int
    memory_header: bytes
    info_header: bytes
    congestion_header: bytes
    numbers: struct.Struct | None  # from `recv_q` on, when all three are there and whole
    pieces: struct.Struct | None  # those of a packed row, in the usual order of attributes


@dataclass
class Known:
    """The sockets of the last reading and the names of interfaces."""

    seen: dict[bytes, Seen] = field(default_factory=dict)  # by cookie
    names: dict[int, str] = field(default_factory=dict)  # interfaces by index
    subflows: bool = False  # whether one belongs to an MPTCP socket
    reading: int = 0  # its number
    listening: frozenset[int] = frozenset()  # inodes of sockets that listen
    queued: frozenset[int] = frozenset()  # of these, those with connections not yet accepted
    opened: int = 0  # sockets that appeared after the first reading
    left: Mapping[bytes, bytes] = field(default_factory=dict)  # as of `parse`


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every TCP socket that moves data or listens; an unchanged one keeps its row. OSError.

    The rows of a long answer are packed.
    """
    last = recall(memory, Known)
    seen: dict[bytes, Seen] = {}

    def name_of(index: int) -> str:
        if index not in last.names:
            last.names = dict(route.names(source))
        return last.names.setdefault(index, str(index))

    reply = diag.tcp(source)
    left: dict[bytes, bytes] = {}
    rows = parse(reply, last.seen, seen, name_of, left=left)
    opened = sum([cookie not in last.seen for cookie in seen])
    if opened or last.subflows:  # no other socket becomes one; the search takes a while
        last.subflows = diag.SUBFLOW in reply
    if last.reading:
        last.opened += opened
    last.seen, last.left = seen, left
    last.reading += 1
    doors = [row for row in rows if type(row) is Row and row.state == "listen"]  # none is packed
    last.listening = frozenset([row.inode for row in doors])
    last.queued = frozenset([row.inode for row in doors if row.recv_q])
    return rows


def parse(
    reply: bytes,
    before: dict[bytes, Seen],
    seen: dict[bytes, Seen],
    name_of: Callable[[int], str] = str,
    namespace: int = 0,
    left: dict[bytes, bytes] | None = None,
) -> list[Row]:
    """The rows of one answer; `seen` is filled with what the next call needs as `before`.

    `left` is filled with the other ends (`other_end`) of what no program has any more and the peer
    has not closed, by cookie: the kernel keeps them for a minute (tcp_fin_timeout). `name_of` gives
    the name of an interface by its index, for sockets bound to one. ValueError if the answer is cut
    off.
    """
    rows: list[Row] = []
    layouts: dict[int, _Layout] = {}
    packs = len(reply) > MANY
    shared: dict[bytes, Ends] = {}
    gone = {} if left is None else left
    behind = Behind(before if packs else {})
    at, whole = 0, len(reply)
    while at < whole:
        at = behind.same(reply, at, rows, seen)
        if at >= whole:
            break
        if whole - at < _HEAD.size:
            raise ValueError("a socket is cut off")
        length, kind = _HEAD.unpack_from(reply, at)
        end, follows = at + length, at + ((length + 3) & ~3)
        if length < 16 or end > whole:
            raise ValueError("a netlink message has a wrong length")
        if kind in (diag.BY_FAMILY, diag.EVERY_FAMILY):
            if length < _ATTRIBUTES_AT:
                raise ValueError("a socket is cut off")
            cookie = reply[at + _COOKIE_AT : at + _COUNTS_AT - 4]
            old = before.get(cookie)
            if old is not None and old[0] is not None and _digest(reply, at, old[1], end) == old[0]:
                seen[cookie] = old
                rows.append(old[2])
            elif _left(reply, at):
                gone[cookie] = _end(reply, at)
            else:
                layout = layouts.get(length)
                if layout is None or not _fits(reply, at, layout):
                    layout = layouts[length] = _layout(reply, at, end)
                past = old[2] if old is not None else None
                if packs and layout.pieces is not None and reply[at + 17] != diag.LISTEN:
                    life = cookie if past is None else getattr(past, "life", cookie)
                    packed = _packed(
                        reply, at, layout.pieces, past, life, shared, name_of, namespace
                    )
                    seen[cookie] = None, layout.pieces, packed
                    rows.append(cast("Row", packed))
                    if old is None:
                        follows = new(reply, follows, layout.pieces, before, rows, seen, shared)
                else:
                    names = _identity(reply, at, name_of, namespace)
                    row = _row(reply, at, layout, names if past is None else unpack(past)[:8])
                    ages = layout.info + _AGES_AT if layout.info else length
                    seen[cookie] = _digest(reply, at, ages, end), ages, row
                    rows.append(row)
            behind.passed(cookie, known=old is not None)
        at = follows
    return rows


def _left(reply: bytes, at: int) -> bool:
    """Whether no program has it any more, and it only waits for the end that the peer sends.

    One in FIN_WAIT2 that a program still has received no end: it may receive much.
    """
    return reply[at + 17] == diag.FIN_WAIT_2 and not any(reply[at + _INODE_AT : at + _INODE_AT + 4])


def _end(reply: bytes, at: int) -> bytes:
    """Family, port and address of the other end."""
    return reply[at + 16 : at + 17] + reply[at + 22 : at + 24] + reply[at + 40 : at + 56]


def other_end(raw: bytes) -> tuple[str, int]:
    """Address and port of an end as `parse` keeps it (`_end`)."""
    size = 4 if raw[0] == diag.IPV4 else 16
    return route.ip(raw[3 : 3 + size]), int.from_bytes(raw[1:3], "big")


def _packed(
    reply: bytes, at: int, pieces: struct.Struct, old: Row | PackedRow | None, life: bytes,
    shared: dict[bytes, Ends], name_of: Callable[[int], str], namespace: int,
) -> PackedRow:  # fmt: skip
    """The packed row of a socket that was `old`; `life` is its cookie, `shared` the ends known."""
    data = b"".join(pieces.unpack_from(reply, at))
    if isinstance(old, PackedRow):
        return old if old.data == data else PackedRow(data, old.ends, life)
    common = reply[at + _NAMES_AT : at + _NAMES_AT + 1] + reply[at + 24 : at + _COOKIE_AT]
    ends = shared.get(common)
    if ends is None:
        names = _identity(reply, at, name_of, namespace)
        ends = shared[common] = Ends(namespace, names[3], names[5], names[7])
    return PackedRow(data, ends, life)


def _digest(reply: bytes, at: int, ages: int, end: int) -> int:
    """The hash of a message but for its timers and the four ages, which begin at `ages`."""
    return hash((reply[at + _COUNTS_AT : at + ages], reply[at + ages + 16 : end]))


def _layout(reply: bytes, at: int, end: int) -> _Layout:
    found = {
        number: (a - at, e - at) for number, a, e in attributes(reply, at + _ATTRIBUTES_AT, end)
    }
    none = (0, 0)
    memory, info, name = (found.get(what, none) for what in (diag.SKMEMINFO, diag.INFO, diag.CONG))
    places = (memory, info, name)
    first, second, third = (reply[at + start - 4 : at + start] for start, _end in places)
    numbers = _numbers(memory, info) if all(start for start, _end in places) else None
    size = (end - at + 3) & ~3
    pieces = _pieces(memory[0], info[0], name, size) if numbers is not None else None
    if pieces is not None and at + size > len(reply):
        pieces = None
    return _Layout(*memory, *info, *name, first, second, third, numbers, pieces)


@cache
def _pieces(memory: int, info: int, name: tuple[int, int], size: int) -> struct.Struct | None:
    """The bytes of a packed row in a message of `size`; None if the kernel has another order."""
    begin, end = name
    gap, between, after, rest = (
        memory - 4 - _ATTRIBUTES_AT, info - 4 - memory - _MEMORY.size,
        begin - 4 - info - _INFO.size, size - end,
    )  # fmt: skip
    if between < 0 or after < 0:
        return None
    return struct.Struct(
        f"={PIECES}{gap}x{MEMORY_PIECE}{between}x{INFO_PIECES}{after}x{4 + end - begin}s{rest}x"
    )


@cache
def _numbers(memory: tuple[int, int], info: tuple[int, int]) -> struct.Struct | None:
    """The format of all numbers of a row; None if the kernel has fewer or in another order."""
    between = info[0] - memory[0] - _MEMORY.size
    ahead = memory[0] - _ATTRIBUTES_AT
    if between < 0 or ahead < 0 or memory[1] - memory[0] < _MEMORY.size:
        return None
    if info[1] - info[0] < _INFO.size:
        return None
    return struct.Struct(f"=4I{ahead}x9I{between}x{_INFO.format.removeprefix('=')}")


def _fits(reply: bytes, at: int, layout: _Layout) -> bool:
    """Whether a message of the same length has its attributes at the same places."""
    info, memory, name = at + layout.info, at + layout.memory, at + layout.congestion
    return (
        layout.numbers is not None
        and reply[info - 4 : info] == layout.info_header
        and reply[memory - 4 : memory] == layout.memory_header
        and reply[name - 4 : name] == layout.congestion_header
    )


def _row(reply: bytes, at: int, layout: _Layout, names: tuple[object, ...]) -> Row:
    """A socket's row; `names` are its first fields, which never change."""
    state = reply[at + 17]
    name = state_name(state)
    if state == diag.LISTEN or not layout.info:
        waits = _COUNTS.unpack_from(reply, at + _COUNTS_AT)
        memory = _memory(reply, at, layout)
        only = _v6only(reply, at) if state == diag.LISTEN else None
        return make((*names, name, None, *NO_OPTIONS, *waits, *memory, *NO_INFO, only))
    begin = at + layout.info
    if layout.numbers is not None:
        numbers: list[int | None] = list(layout.numbers.unpack_from(reply, at + _COUNTS_AT))
    else:
        numbers = [
            *_COUNTS.unpack_from(reply, at + _COUNTS_AT),
            *_memory(reply, at, layout),
            *_short(reply[begin : at + layout.info_end]),
        ]
    congestion = reply[at + layout.congestion : at + layout.congestion_end]
    return connected(names, name, congestion, reply[begin + 3 : begin + 8], numbers)


def _v6only(reply: bytes, at: int) -> bool | None:
    """Whether a socket takes no IPv4; None for one of IPv4."""
    end = at + _HEAD.unpack_from(reply, at)[0]
    found = attributes(reply, at + _ATTRIBUTES_AT, end)
    return next((reply[a] == 1 for number, a, _end in found if number == diag.SKV6ONLY), None)


def _identity(
    reply: bytes, at: int, name_of: Callable[[int], str], namespace: int
) -> tuple[int, int, int, str, int, str, int, str | None]:
    family, ports, source, destination, interface = _NAMES.unpack_from(reply, at + _NAMES_AT)
    local_port, remote_port = struct.unpack(">HH", ports)
    size = 4 if family == diag.IPV4 else 16
    return (
        struct.unpack_from("=Q", reply, at + _COOKIE_AT)[0],
        namespace,
        4 if family == diag.IPV4 else 6,
        sys.intern(route.ip(source[:size])),  # many sockets have the same addresses
        local_port,
        sys.intern(route.ip(destination[:size])),
        remote_port,
        name_of(interface) if interface else None,
    )


def _memory(reply: bytes, at: int, layout: _Layout) -> tuple[int | None, ...]:
    """The memory of the socket (SK_MEMINFO); `drops` since Linux 4.10."""
    size = layout.memory_end - layout.memory
    if size >= _MEMORY.size:
        return _MEMORY.unpack_from(reply, at + layout.memory)
    if not size:
        return NO_MEMORY
    known = struct.unpack_from(f"={size // 4}I", reply, at + layout.memory)
    return (*known, *NO_MEMORY[len(known) :])


@cache
def _ends() -> tuple[int, ...]:
    """The end of each field of `_INFO` in tcp_info, in bytes."""
    whole = _INFO.format.removeprefix("=")
    ends, at, count = [], 0, ""
    for letter in whole:
        if letter.isdigit():
            count += letter
            continue
        at += struct.calcsize(f"={count}{letter}")
        count = ""
        if letter != "x":
            ends.append(at)
    return tuple(ends)


def _short(raw: bytes) -> list[int | None]:
    """The fields of a shorter tcp_info of an older kernel; None for fields that it lacks."""
    values = _INFO.unpack_from(raw.ljust(_INFO.size, b"\0"))
    return [value if end <= len(raw) else None for value, end in zip(values, _ends(), strict=True)]
