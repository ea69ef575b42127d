"""What the programs of the journey share: a key with the bucket of a time, tables of times.

Two points make a stage: at the first a time is kept, at the second the time since then is counted
under a key that has its bucket. Here are the stages of CPUs and devices; `journey` has the others.
Each program is loaded for its tracepoint, so it reads what the arguments point to without a call.

    softirq   irq:softirq_raise, irq:softirq_entry, on the same CPU
    queue     net:net_dev_queue, net:net_dev_start_xmit, of the same struct sk_buff
    again     tcp:tcp_retransmit_skb: counted, it is no time
"""

import struct
from functools import cache
from typing import Final, NamedTuple

from ...terms.buckets import FINE
from . import assembler as a
from . import btf, call, counting
from .counting import HEADER, IP, IP6, PORTED, transport

STAGES: Final = ("softirq-tx", "softirq-rx", "socket", "woken", "queue", "again")  # by number
TX, SOCKET, WOKEN, QUEUE, AGAIN = 0, 2, 3, 4, 5
_VECTORS: Final = (2, 3)  # NET_TX_SOFTIRQ, NET_RX_SOFTIRQ (include/linux/interrupt.h)

KEY: Final = struct.Struct("=BBHIII16s")  # stage, bucket, port, interface or CPU, process,
SIZE: Final = KEY.size  # namespace, name of the thread
AT: Final = -16 - SIZE  # of the key on the stack
BUCKET, PORT, NUMBER, PROCESS, SPACE, NAME = 1, 2, 4, 8, 12, 16
ID: Final = AT - 8  # of the stack: a key of another table
_HEADER: Final = ID - HEADER  # of the stack: headers of a packet
FREE: Final = _HEADER  # of the stack: what is below is free


class Tables(NamedTuple):
    """The tables that the programs share, file descriptors."""

    counts: int
    raised: int  # of each CPU: when a softirq was raised
    readers: int  # by thread: when it was woken, and who it is
    queued: int  # by packet: when it was queued
    heads: int  # by socket of datagrams: its first packet


def tables(counts: int) -> Tables:
    """Tables of times that are all new; `counts` is kept."""
    return Tables(
        counts,
        call.table(4, len(_VECTORS), "nettop_raised", kind=call.EACH_CPU),
        call.table(8, counting.ROOM, "nettop_readers", SIZE, kind=call.LATEST),
        call.table(8, 4 * counting.ROOM, "nettop_queued", kind=call.LATEST),
        call.table(8, counting.ROOM, "nettop_heads", 16, kind=call.LATEST),
    )


@cache  # they are long
def types() -> btf.Types:
    """The types of the running kernel."""
    return btf.Types(counting.types())


def place(structure: str, path: str) -> int:
    """The offset of a member; KeyError without it."""
    return types().offset(structure, path)


def member(to: int, base: int, structure: str, path: str, size: int = 8) -> a.Parts:
    """`to` = a member of the structure to which an argument points."""
    return a.load(to, base, place(structure, path), size)


def key(stage: int) -> a.Parts:
    """An empty key of a stage."""
    parts = (part for at in range(0, SIZE, 8) for part in a.put(a.R10, AT + at, 0))
    return (*parts, *a.put(a.R10, AT, stage, 1))


def since() -> a.Parts:
    """Store the bucket of the time from R8, nanoseconds, to now; out if it lies ahead. Uses R9.

    See `terms.buckets`.
    """
    steps = (
        part for shift in (32, 16, 8, 4, 2, 1) for part in (
            *a.move(a.R1, a.R8), *a.change(a.R1, ">>", shift),
            *a.when(a.R1, "<", FINE, f"below {shift}"),
            *a.move(a.R8, a.R1), *a.change(a.R9, "+", FINE * shift),
            f"below {shift}")
    )  # fmt: skip
    return (
        *a.call(a.CLOCK), *a.negate(a.R8), *a.add(a.R8, a.R0),
        *a.when(a.R8, ">", -(1 << 31), "out"),
        *a.number(a.R9, 0), *steps, *a.add(a.R9, a.R8),
        *a.store(a.R10, AT + BUCKET, a.R9, 1),
    )  # fmt: skip


def count() -> a.Parts:
    """Count the key."""
    return (*a.number(a.R7, 1), *counting.added(AT, SIZE, a.R7))


def out() -> a.Parts:
    """The end of a program."""
    return ("out", *a.end())


def found(name: str, label: str) -> a.Parts:
    """R0 = what a table has of the key at `ID`; go to the label if it has nothing."""
    return (
        *a.map_of(a.R1, name), *a.stack(a.R2, ID), *a.call(a.LOOKUP),
        *a.when(a.R0, "==", 0, label),
    )  # fmt: skip


def keep(name: str, value: int) -> a.Parts:
    """Keep the value at that stack offset under the key at `ID`."""
    return (
        *a.map_of(a.R1, name), *a.stack(a.R2, ID), *a.stack(a.R3, value),
        *a.number(a.R4, 0), *a.call(a.UPDATE),
    )  # fmt: skip


def port(own: int, ephemeral: int, but: int | None = None) -> a.Parts:
    """Store the port of the service, of the packet R6; out for the protocol `but`.

    It is that of this host, unless only the other end's is a fixed one. `own` is the offset of this
    host's port in the header of the transport, `ephemeral` the first port that is given to sockets
    that ask for none.
    """
    return (
        *member(a.R7, a.R6, "sk_buff", "protocol", 2), *a.swapped(a.R7),
        *a.when(a.R7, "==", IP6, "internet"), *a.when(a.R7, "!=", IP, "no port"),
        "internet", *member(a.R8, a.R6, "sk_buff", "network_header", 2),
        *member(a.R9, a.R6, "sk_buff", "head"), *a.add(a.R8, a.R9), *transport(_HEADER),
        *(a.when(a.R8, "==", but, "out") if but is not None else ()),
        *(part for one in PORTED for part in a.when(a.R8, "==", one, "ported")),
        *a.go("no port"),
        "ported", *a.when(a.R9, "<", 20, "no port"), *a.when(a.R9, ">", 40, "no port"),
        *a.stack(a.R8, _HEADER), *a.add(a.R8, a.R9),
        *a.load(a.R7, a.R8, own, 2), *a.swapped(a.R7),
        *a.load(a.R8, a.R8, 2 - own, 2), *a.swapped(a.R8),
        *service(ephemeral),
        "no port",
    )  # fmt: skip


def service(ephemeral: int) -> a.Parts:
    """Store R7, the port of this host, or R8, that of the other end."""
    return (
        *a.when(a.R7, "<", ephemeral, "port"), *a.when(a.R8, ">=", ephemeral, "port"),
        *a.when(a.R8, "==", 0, "port"), *a.move(a.R7, a.R8),
        "port", *a.store(a.R10, AT + PORT, a.R7, 2),
    )  # fmt: skip


def space(base: int, structure: str, path: str) -> a.Parts:
    """Store the number of the namespace to which a member of R6 to R9 points."""
    return (
        *member(a.R7, base, structure, path), *member(a.R7, a.R7, "net", "ns.inum", 4),
        *a.store(a.R10, AT + SPACE, a.R7, 4),
    )  # fmt: skip


def _vector() -> a.Parts:
    """R6 = the address of the time at which the softirq of this CPU was raised."""
    return (
        *a.load(a.R7, a.R1, 0), *a.low_half(a.R7),
        *a.when(a.R7, "<", _VECTORS[0], "out"), *a.when(a.R7, ">", _VECTORS[-1], "out"),
        *a.change(a.R7, "+", -_VECTORS[0]), *a.store(a.R10, ID, a.R7, 4),
        *found("raised", "out"), *a.move(a.R6, a.R0),
    )  # fmt: skip


def raised() -> a.Parts:
    """A softirq is raised, again and again until it runs: the first time is kept."""
    return (
        *_vector(),
        *a.load(a.R8, a.R6), *a.when(a.R8, "!=", 0, "out"),
        *a.call(a.CLOCK), *a.store(a.R6, 0, a.R0), *out(),
    )  # fmt: skip


def entered() -> a.Parts:
    """A softirq runs."""
    return (
        *_vector(),
        *a.load(a.R8, a.R6), *a.when(a.R8, "==", 0, "out"), *a.put(a.R6, 0, 0),
        *key(TX), *a.store(a.R10, AT, a.R7, 1), *since(),
        *a.call(a.CPU), *a.store(a.R10, AT + NUMBER, a.R0, 4),
        *count(), *out(),
    )  # fmt: skip


def queued() -> a.Parts:
    """A packet is given to the queue of a device, which may be none."""
    return (
        *a.load(a.R6, a.R1, 0), *a.store(a.R10, ID, a.R6),
        *a.call(a.CLOCK), *a.move(a.R8, a.R0),
        *found("queued", "new"), *a.store(a.R0, 0, a.R8), *a.go("out"),
        "new", *a.store(a.R10, AT, a.R8), *keep("queued", AT), *out(),
    )  # fmt: skip


def started(ephemeral: int) -> a.Parts:
    """The driver of a device gets a packet, R6."""
    return (
        *a.load(a.R6, a.R1, 0), *a.load(a.R7, a.R1, 8), *a.store(a.R10, ID, a.R6),
        *a.store(a.R10, FREE - 8, a.R7), *found("queued", "out"),
        *a.load(a.R8, a.R0), *a.when(a.R8, "==", 0, "out"), *a.put(a.R0, 0, 0),
        *key(QUEUE), *since(), *port(0, ephemeral),
        *a.load(a.R8, a.R10, FREE - 8),
        *member(a.R7, a.R8, "net_device", "ifindex", 4), *a.store(a.R10, AT + NUMBER, a.R7, 4),
        *space(a.R8, "net_device", "nd_net.net"),
        *count(), *out(),
    )  # fmt: skip


def again() -> a.Parts:
    """TCP sends a segment again: the port is that of this host, R6 the socket."""
    return (
        *a.load(a.R6, a.R1, 0), *key(AGAIN),
        *member(a.R7, a.R6, "sock", "__sk_common.skc_num", 2),
        *a.store(a.R10, AT + PORT, a.R7, 2), *space(a.R6, "sock", "__sk_common.skc_net.net"),
        *count(), *out(),
    )  # fmt: skip
