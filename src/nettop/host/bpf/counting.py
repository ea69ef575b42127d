"""What the counting programs share: parts of their code, and the object that holds a program.

A program builds a key on its stack and adds to the number of that key. A table that is full counts
what has no room under a key of its own, `call.REST`. Some parts read a packet: struct sk_buff
(include/linux/skbuff.h), by the offsets of the running kernel, and its headers.
"""

import errno
import os
import struct
import time
from collections import Counter as Sums
from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

from . import assembler as a
from . import btf, call

ROOM: Final = 4096  # keys of a table
_FIRST: Final = 0xEFFFFFFC  # the PID namespace of the host (include/linux/proc_ns.h)
_MOMENT: Final = struct.Struct("=IIII16s")  # part of time, what, namespace, name of the thread
MOMENT: Final = _MOMENT.size
PART: Final = 23  # bits: a part of time is 2 ** 23 ns, 8.4 ms
_TOLD: Final = 512  # moments that are told: the last ones
_TYPES: Final = "/sys/kernel/btf/vmlinux"
_SCRATCH: Final = -16  # of the stack: what is read from kernel memory, and a new number


def types() -> bytes:
    """The type information of the running kernel; OSError with a sentence without it."""
    try:
        with open(_TYPES, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise FileNotFoundError(
            errno.ENOENT, "this kernel does not describe its types (CONFIG_DEBUG_INFO_BTF)", _TYPES
        ) from None


def here() -> int:
    """The number of this thread's network namespace."""
    return os.stat("/proc/thread-self/ns/net").st_ino


def read(to: int, base: int, offset: int, size: int = 8) -> a.Parts:
    """`to` = the number of `size` bytes at `base` + `offset` of kernel memory; 0 if it has none.

    `to` and `base` are R6 to R9.
    """
    return (
        *a.put(a.R10, _SCRATCH, 0), *copied(_SCRATCH, base, offset, size),
        *a.load(to, a.R10, _SCRATCH, size),
    )  # fmt: skip


def copied(to: int, base: int, offset: int, size: int, by: int = a.READ) -> a.Parts:
    """Copy `size` bytes at `base` (R6 to R9) + `offset` to the stack; zeros if they are not there.

    A call costs as much for 200 bytes as for 8. By READ_USER they are of the program's memory.
    """
    return (
        *a.stack(a.R1, to), *a.number(a.R2, size), *a.move(a.R3, base),
        *a.change(a.R3, "+", offset), *a.call(by),
    )  # fmt: skip


def process(to: int, scratch: int) -> a.Parts:
    """Store the number of the running process as this one sees it; 0: of another PID namespace.

    `to` and `scratch` are stack offsets, of 4 and 8 bytes. It uses R7.
    """
    space = os.stat("/proc/self/ns/pid")
    if space.st_ino == _FIRST:
        return (*a.call(a.PID), *a.change(a.R0, ">>", 32), *a.store(a.R10, to, a.R0, 4))
    device = os.major(space.st_dev) << 20 | os.minor(space.st_dev)
    return (
        *a.wide(a.R1, device), *a.wide(a.R2, space.st_ino), *a.put(a.R10, scratch, 0),
        *a.stack(a.R3, scratch), *a.number(a.R4, 8), *a.call(a.PID_INSIDE),
        *a.load(a.R7, a.R10, scratch + 4, 4), *a.store(a.R10, to, a.R7, 4),
    )  # fmt: skip


def space(types: btf.Types, to: int) -> a.Parts:
    """Store the number of the running task's network namespace; it uses R7."""
    return (
        *a.call(a.TASK), *a.move(a.R7, a.R0),
        *read(a.R7, a.R7, types.offset("task_struct", "nsproxy")),
        *read(a.R7, a.R7, types.offset("nsproxy", "net_ns")),
        *read(a.R7, a.R7, types.offset("net", "ns.inum"), 4),
        *a.store(a.R10, to, a.R7, 4),
    )  # fmt: skip


def add(key: int, size: int, amount: int) -> a.Parts:
    """Add a register (R6 to R9) to the number of the key of `size` bytes at that stack offset.

    The map is `counts`. It is the end of the program.
    """
    return (*added(key, size, amount), *a.end())


def added(key: int, size: int, amount: int, first: a.Parts = ()) -> a.Parts:
    """As `add`; the program goes on. `first` is done before a new key."""
    found = (*a.map_of(a.R1, "counts"), *a.stack(a.R2, key), *a.call(a.LOOKUP))
    return (
        *found, *a.when(a.R0, "!=", 0, "known"), *first,
        *a.store(a.R10, _SCRATCH, amount),
        *a.map_of(a.R1, "counts"), *a.stack(a.R2, key), *a.stack(a.R3, _SCRATCH),
        *a.number(a.R4, 1), *a.call(a.UPDATE),  # 1: it must be new
        *a.when(a.R0, "==", 0, "done"),
        *found, *a.when(a.R0, "!=", 0, "known"),  # another core was faster
        *(part for at in range(0, size, 8) for part in a.put(a.R10, key + at, -1)),
        *found, *a.when(a.R0, "==", 0, "done"),
        "known", *a.add_to(a.R0, amount),
        "done",
    )  # fmt: skip


def latest(
    table: str, at: int, amount: int, first: a.Parts = (), label: str = ""
) -> a.Parts:  # fmt: skip
    """As `added`, of a table that forgets, under any name; `label` tells two uses of it apart."""
    new, done = f"new of {table} {label}", f"done of {table} {label}"
    return (
        *a.map_of(a.R1, table), *a.stack(a.R2, at), *a.call(a.LOOKUP),
        *a.when(a.R0, "==", 0, new), *a.add_to(a.R0, amount), *a.go(done),
        new, *first, *a.store(a.R10, _SCRATCH, amount),
        *a.map_of(a.R1, table), *a.stack(a.R2, at), *a.stack(a.R3, _SCRATCH),
        *a.number(a.R4, 0), *a.call(a.UPDATE),
        done,
    )  # fmt: skip


def moment(
    at: int, what: int, space: int, amount: int, first: a.Parts = (), now: int = 0
) -> a.Parts:  # fmt: skip
    """Add a register (R6 to R9) to the moment that is now, under a key at the stack offset `at`.

    `what` and `space` are stack offsets of four bytes each. The map is `moments`. `first` is done
    once in a moment. `now`: the stack offset of four bytes that have the part of time, if it is
    known.
    """
    clock = (*a.call(a.CLOCK), *a.change(a.R0, ">>", PART))
    return (
        *(a.load(a.R0, a.R10, now, 4) if now else clock), *a.store(a.R10, at, a.R0, 4),
        *a.load(a.R1, a.R10, what, 4), *a.store(a.R10, at + 4, a.R1, 4),
        *a.load(a.R1, a.R10, space, 4), *a.store(a.R10, at + 8, a.R1, 4),
        *a.put(a.R10, at + 12, 0, 4),
        *a.stack(a.R1, at + 16), *a.number(a.R2, 16), *a.call(a.COMM),
        *latest("moments", at, amount, first),
    )  # fmt: skip


def shown(name: bytes) -> str:
    """The name of a thread, without what a terminal may not show."""
    text = name.split(b"\0", 1)[0].decode("utf-8", "replace")
    return "".join(one if one.isprintable() else "?" for one in text) or "?"


class Moment(NamedTuple):
    """A part of time, the four bytes of the key that say what it was, and the thread that ran."""

    part: int
    what: bytes
    thread: str


def told(moments: Mapping[Moment, int], words: Callable[[bytes], str]) -> list[str]:
    """A line `@PART COUNT WHAT THREAD` of each of the last moments; WHAT are the words for it."""
    lines = [
        f"@{one.part} {count} {words(one.what)} {one.thread}"
        for one, count in sorted(moments.items())
        if count > 0
    ]
    return lines[-_TOLD:]


class Counting:
    """A table in the kernel with the programs that count into it, until `close`."""

    def __init__(self, key: int, name: str, room: int = ROOM) -> None:
        """Create the table of so many keys; they have `key` bytes, a multiple of 8."""
        self._key, self._room = key, room
        self._handles: list[int] = []
        self.begun = time.monotonic()
        self._at = 0.0  # when the counts were read; 0: they were not
        self.table = self.keep(call.table(key, room, name))
        call.put(self.table, call.REST * key, 0)

    def begin(self) -> None:
        """Its programs are attached, and count from now on."""
        self.begun = time.monotonic()

    def keep(self, handle: int) -> int:
        """Close this descriptor at the end."""
        self._handles.append(handle)
        return handle

    def drop(self, *handles: int) -> None:
        """Close these now; a program that is attached ends."""
        for handle in handles:
            self._handles.remove(handle)
            os.close(handle)

    def counts(self) -> Mapping[bytes, int]:
        """The number of each key; OSError after `close`."""
        if not self._handles:
            raise OSError(errno.EBADF, "the counting has ended")
        self._at = time.monotonic()
        return call.contents(self.table, self._key, self._room)

    def keep_moments(self, name: str) -> int:
        """Create the table of moments, which forgets the earliest."""
        self._moments = self.keep(call.table(MOMENT, ROOM, name, kind=call.LATEST))
        return self._moments

    def moments(self) -> Sums[Moment]:
        """The events of the moments in this namespace."""
        own, found = here(), Sums[Moment]()
        for raw, count in call.contents(self._moments, MOMENT, ROOM).items():
            part, what, space, _, name = _MOMENT.unpack(raw)
            if space == own:
                found[Moment(part, struct.pack("=I", what), shown(name))] += count
        return found

    def age(self) -> float:
        """How long it counts by now."""
        return time.monotonic() - self.begun

    def seconds(self) -> float:
        """How long it had counted when its counts were read, or has by now."""
        return (self._at or time.monotonic()) - self.begun

    def close(self) -> None:
        """Detach the programs; the kernel frees its memory."""
        while self._handles:
            os.close(self._handles.pop())

    def __del__(self) -> None:
        """Detach the programs if the object is dropped without `close`."""
        self.close()


IP, IP6 = 0x0800, 0x86DD
PORTED: Final = (6, 17, 132)  # TCP, UDP and SCTP: their headers begin with both ports
_LATER: Final = 0x1FFF  # of a header of IPv4: the place of a fragment in its packet
HEADER: Final = 48  # bytes: 40 of a header, and the ports; options of IPv4 up to 20 bytes
_ETHERS: Final = {0x0800: "ip", 0x86DD: "ip6", 0x0806: "arp", 0x88CC: "lldp", 0x8100: "vlan"}
_TRANSPORTS: Final = {
    1: "icmp",
    2: "igmp",
    6: "tcp",
    17: "udp",
    50: "esp",
    58: "icmp6",
    132: "sctp",
}
_FIELDS: Final = {  # of struct sk_buff, with their bytes
    "dev": 8, "sk": 8, "skb_iif": 4, "protocol": 2, "network_header": 2, "mac_header": 2,
    "end": 4, "head": 8,
}  # fmt: skip


class Packet:
    """The structure of the packet in R6; what is read of it is copied to the stack before.

    `direct`: the program may read it without a call, where it is.
    """

    def __init__(
        self, types: btf.Types, fields: Collection[str], above: int, *, direct: bool = False
    ) -> None:
        """The copy of these fields lies below the stack offset `above`; KeyError without one."""
        self._places = {name: types.offset("sk_buff", name) for name in fields}
        self._first, size = min(self._places.values()), max(self._places.values()) + 8
        self._size = 0 if direct else size - self._first
        self.at = (above - self._size) & -8
        self._base, self._less = (a.R6, 0) if direct else (a.R10, self.at - self._first)

    def copied(self) -> a.Parts:
        """Copy it."""
        return copied(self.at, a.R6, self._first, self._size) if self._size else ()

    def field(self, to: int, name: str) -> a.Parts:
        """`to` = the field."""
        return a.load(to, self._base, self._less + self._places[name], _FIELDS[name])

    def transport(self, header: int, before: int) -> a.Parts:
        """Copy the headers to the stack at `header`, and so many bytes of what comes before them.

        R7 has the protocol of the network. R8 = the number of the transport protocol, R9 = bytes
        from there to its header.
        """
        return (
            *self.field(a.R8, "network_header"), *self.field(a.R9, "head"), *a.add(a.R8, a.R9),
            *transport(header, before),
        )  # fmt: skip


def transport(header: int, before: int = 0) -> a.Parts:
    """As `Packet.transport`, of the header of the network at R8.

    A later fragment of IPv4 has no such header: R9 = 0 (include/net/ip.h, IP_OFFSET).
    """
    return (
        *copied(header - before, a.R8, -before, HEADER + before),
        *a.number(a.R9, 40), *a.load(a.R8, a.R10, header + 6, 1),
        *a.when(a.R7, "==", IP6, "transport"),
        *a.load(a.R8, a.R10, header + 9, 1),
        *a.load(a.R9, a.R10, header + 6, 2), *a.swapped(a.R9), *a.change(a.R9, "&", _LATER),
        *a.when(a.R9, "!=", 0, "later"),
        *a.load(a.R9, a.R10, header, 1), *a.change(a.R9, "&", 15), *a.change(a.R9, "<<", 2),
        *a.go("transport"),
        "later", *a.number(a.R9, 0),
        "transport",
    )  # fmt: skip


def protocol(transport: int, ether: int) -> str:
    """The word for a packet of that transport protocol; without one, of that EtherType."""
    return _TRANSPORTS.get(transport) or _ETHERS.get(ether) or f"{ether:#06x}"
