"""The stages in which a packet waits for the thread that reads it.

    socket    from the stamp that the kernel gave when its stack took the packet, to
              skb:skb_copy_datagram_iovec, which copies it to a program
    datagram  the same of UDP, whose packets that lie in one piece are copied without that point:
              the first packet of the queue is read when one arrives (sock:sk_data_ready) and after
              each call that takes one (sock:sock_recv_length; both Linux 6.3)
    woken     sched:sched_wakeup, sched:sched_switch, of threads that copied a packet

net/ipv4/udp.c, net/core/datagram.c, kernel/sched/core.c.
"""

from __future__ import annotations

from typing import Final

from . import assembler as a
from . import counting
from . import delays as d
from .counting import read
from .delays import AT, FREE, ID, member, place

_UDP: Final = 17
_PEEK: Final = 2  # MSG_PEEK: the packet stays
_WHO: Final = FREE - d.SIZE  # of the stack: what is kept of a reader: its time, then as the key
_KEPT: Final = _WHO - 8  # of the stack: the address of what is kept of a socket


def copied(clock: int, ephemeral: int, *, datagrams: bool) -> a.Parts:
    """A thread copies a packet, R6. `datagrams`: those are counted at another point."""
    return (
        *a.load(a.R6, a.R1, 0),
        *member(a.R8, a.R6, "sk_buff", "tstamp"), *a.when(a.R8, "==", 0, "out"),
        *d.key(d.SOCKET), *_stamped(clock),
        *member(a.R7, a.R6, "sk_buff", "skb_iif", 4), *a.store(a.R10, AT + d.NUMBER, a.R7, 4),
        *d.port(2, ephemeral, _UDP if datagrams else None),
        *_read(), *d.count(), *d.out(),
    )  # fmt: skip


def _stamped(clock: int) -> a.Parts:
    """Store the bucket of the time since the stamp R8."""
    return (*a.wide(a.R1, -clock & (1 << 64) - 1), *a.add(a.R8, a.R1), *d.since())


def _read() -> a.Parts:
    """The thread that runs becomes a reader; store who it is."""
    return (
        *a.call(a.PID), *a.low_half(a.R0), *a.store(a.R10, ID, a.R0),
        *d.found("readers", "new reader"), *a.go("reader"),
        "new reader",
        *a.put(a.R10, _WHO, 0), *counting.process(_WHO + d.PROCESS, AT + d.PROCESS),
        *a.stack(a.R1, _WHO + d.NAME), *a.number(a.R2, 16), *a.call(a.COMM),
        *counting.space(d.types(), _WHO + d.SPACE),
        *d.keep("readers", _WHO), *a.stack(a.R0, _WHO),
        "reader", *_reader(),
    )  # fmt: skip


def _reader() -> a.Parts:
    """Copy process, namespace and name from what R0 points to."""
    return tuple(
        part for at in range(d.PROCESS, d.SIZE, 8)
        for part in (*a.load(a.R1, a.R0, at), *a.store(a.R10, AT + at, a.R1))
    )  # fmt: skip


def _udp(label: str) -> a.Parts:
    """R6 = the socket, the first argument; go to the label if it is not one of UDP."""
    return (
        *a.load(a.R6, a.R1, 0), *a.when(a.R6, "==", 0, label),
        *member(a.R7, a.R6, "sock", "sk_protocol", 1), *a.when(a.R7, "!=", _UDP, label),
        *a.store(a.R10, ID, a.R6),
    )  # fmt: skip


def _first() -> a.Parts:
    """R8, R9 = the stamp and the interface of the first packet of the socket R6; 0 without one.

    What is read of a queue that changes meanwhile is zero, or of a packet just taken.
    """
    queue = place("sock", "sk_receive_queue")
    return (
        *a.number(a.R8, 0), *a.number(a.R9, 0),
        *a.load(a.R7, a.R6, queue), *a.move(a.R1, a.R6), *a.change(a.R1, "+", queue),
        *a.same(a.R7, a.R1, "empty"),  # it points to itself
        *member(a.R8, a.R7, "sk_buff", "tstamp"), *member(a.R9, a.R7, "sk_buff", "skb_iif", 4),
        "empty",
    )  # fmt: skip


def arrived() -> a.Parts:
    """A datagram arrives: it is the first if none was left."""
    return (
        *_udp("out"), *_first(),
        *d.found("heads", "new"), *a.load(a.R7, a.R0), *a.when(a.R7, "!=", 0, "out"),
        *a.store(a.R0, 0, a.R8), *a.store(a.R0, 8, a.R9), *a.go("out"),
        "new", *a.store(a.R10, AT, a.R8), *a.store(a.R10, AT + 8, a.R9), *d.keep("heads", AT),
        *d.out(),
    )  # fmt: skip


def received(clock: int, ephemeral: int) -> a.Parts:
    """A call has taken a datagram: the first. `clock` and `ephemeral` as in `copied`."""
    own, other = ("__sk_common.skc_num", "__sk_common.skc_dport")
    queue = place("udp_sock", "reader_queue")
    stamp, interface = place("sk_buff", "tstamp"), place("sk_buff", "skb_iif")
    return (
        *a.load(a.R7, a.R1, 8), *a.signed_half(a.R7), *a.when(a.R7, ">", -4096, "leave"),  # failed
        *a.load(a.R7, a.R1, 16), *a.when(a.R7, "&", _PEEK, "leave"),
        *_udp("leave"), *d.found("heads", "new"), *a.store(a.R10, _KEPT, a.R0),
        *a.load(a.R8, a.R0), *a.when(a.R8, "==", 0, "out"), *a.load(a.R7, a.R0, 8),
        *d.key(d.SOCKET), *a.store(a.R10, AT + d.NUMBER, a.R7, 4), *_stamped(clock),
        *member(a.R8, a.R6, "sock", other, 2), *a.swapped(a.R8),
        *member(a.R7, a.R6, "sock", own, 2), *d.service(ephemeral),
        *_read(), *d.count(),
        "out", *_first(),
        # what a reader has taken over from that queue comes before it
        *read(a.R7, a.R6, queue), *a.move(a.R1, a.R6), *a.change(a.R1, "+", queue),
        *a.same(a.R7, a.R1, "next"),
        *read(a.R8, a.R7, stamp), *read(a.R9, a.R7, interface, 4),
        "next", *a.load(a.R0, a.R10, _KEPT),
        *a.store(a.R0, 0, a.R8), *a.store(a.R0, 8, a.R9), *a.go("leave"),
        "new", *a.put(a.R10, AT, 0), *a.put(a.R10, AT + 8, 0), *d.keep("heads", AT),
        "leave", *a.end(),
    )  # fmt: skip


def _thread(task: int, label: str) -> a.Parts:
    """R0 = what is kept of that thread, whose task is in a register; to the label without it."""
    return (
        *member(a.R7, task, "task_struct", "pid", 4),
        *a.store(a.R10, ID, a.R7), *d.found("readers", label),
    )  # fmt: skip


def woken() -> a.Parts:
    """A thread is woken."""
    return (
        *a.load(a.R6, a.R1, 0), *_thread(a.R6, "out"), *a.move(a.R6, a.R0),
        *a.call(a.CLOCK), *a.store(a.R6, 0, a.R0), *d.out(),
    )  # fmt: skip


def switched() -> a.Parts:
    """Another thread runs; of the one that did, the time is forgotten: it ran since."""
    return (
        *a.move(a.R6, a.R1),
        *a.load(a.R8, a.R6, 8), *_thread(a.R8, "next"), *a.put(a.R0, 0, 0),
        "next", *a.load(a.R8, a.R6, 16), *_thread(a.R8, "out"),
        *a.load(a.R8, a.R0), *a.when(a.R8, "==", 0, "out"), *a.put(a.R0, 0, 0),
        *d.key(d.WOKEN), *_reader(), *d.since(),
        *d.count(), *d.out(),
    )  # fmt: skip
