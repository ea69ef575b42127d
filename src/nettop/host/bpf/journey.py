"""Where packets wait on their way through this host: the times of each stage, in buckets.

`delays` has the programs of CPUs and devices. A socket of this process asks for stamps
(SO_TIMESTAMPNS): from then on every packet of the host is stamped, until the socket is closed. The
programs run for a part of the time only, so that they need at most `SHARE` of a core; they and
their tables end with this process.

In these stages a packet waits for the thread that reads it; their programs are here:

    socket    from the stamp that the kernel gave when its stack took the packet, to
              skb:skb_copy_datagram_iovec, which copies it to a program
    datagram  the same of UDP, whose packets that lie in one piece are copied without that point:
              the first packet of the queue is read when one arrives (sock:sk_data_ready) and after
              each call that takes one (sock:sock_recv_length; both Linux 6.3)
    woken     sched:sched_wakeup, sched:sched_switch, of threads that copied a packet

net/ipv4/udp.c, net/core/datagram.c, kernel/sched/core.c.
"""

import errno
import os
import socket
import time
from collections import Counter as Sums
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from . import assembler as a
from . import call, counting, delays
from . import delays as d
from .counting import read
from .delays import AT, FREE, ID, member, place

SHARE: Final = 0.02  # of a core, at the most, on average
COST: Final = 300e-9  # seconds of a run of a program with its call, on a slow machine
ROOM: Final = 1 << 14  # keys
POINTS: Final[Mapping[str, tuple[str, ...]]] = {
    "softirq": ("softirq_raise", "softirq_entry"),
    "datagram": ("sk_data_ready", "sock_recv_length"),
    "socket": ("skb_copy_datagram_iovec",),
    "woken": ("sched_wakeup", "sched_switch"),
    "queue": ("net_dev_queue", "net_dev_start_xmit"),
    "again": ("tcp_retransmit_skb",),
}  # the tracepoints of a stage, which has all or none
_STAMPS: Final = 35  # SO_TIMESTAMPNS (include/uapi/asm-generic/socket.h)
_PORTS: Final = "/proc/sys/net/ipv4/ip_local_port_range"
_GIVEN: Final = 32768  # the first of them, where the file is missing
_BRACES: Final = str.maketrans("{}", "??")  # the count has them
_JUMP: Final = 1_000_000  # nanoseconds by which the clock of the stamps may move unseen


class Counter:
    """The programs and their histograms; OSError if none can be loaded."""

    def __init__(self) -> None:
        """Begin to look."""
        self._open: list[int] = []
        self._stamps: socket.socket | None = None
        self.absent: dict[str, str] = {}  # stages that this kernel lacks, and why
        self._looked, self._since, self._spent, self._runs = 0.0, 0.0, 0.0, 0
        self._counting = counting.Counting(delays.SIZE, "nettop_journey", ROOM)
        try:
            self._ephemeral = _ephemeral()
            self._begin()
            self._counting.begun = self._since
        except BaseException:
            self.close()
            raise

    def text(self) -> str:
        """The seconds; `LOOKED OMITTED`; then a line for each bucket and for each stage without.

        The line is `STAGE BUCKET COUNT WHERE PORT NUMBER PID NAME`, with `-` for what is unknown:
        NUMBER is a CPU for softirqs, else an interface; WHERE is here, elsewhere or host. LOOKED
        are the seconds in which the programs ran. A stage that cannot be seen is `!STAGE WHY`.
        """
        counts, own = self._counting.counts(), counting.here()
        self._turn()
        rest = call.REST * delays.SIZE
        sums = Sums[str]()
        for raw, count in counts.items():
            if raw != rest:
                sums[_line(raw, own)] += count
        lines = [line.format(count) for line, count in sorted(sums.items())]
        lines += [f"!{stage} {why}" for stage, why in self.absent.items()]
        now = self._looked + (time.monotonic() - self._since if self._open else 0.0)
        head = f"{self._counting.age():.3f}\n{now:.3f} {counts.get(rest, 0)}"
        return "\n".join([head, *lines, ""])

    def _begin(self) -> None:
        """Attach the programs with tables that have no times: what is from before has no end."""
        self._clock = _clock()
        with suppress(OSError):  # where it is refused, nothing is stamped
            self._stamps = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._stamps.setsockopt(socket.SOL_SOCKET, _STAMPS, 1)
        tables = delays.tables(self._counting.table)
        self._open += tables[1:]
        self.absent, refused = {}, None
        for stage, points in POINTS.items():
            try:
                for point in reversed(points):  # else a time is kept whose end is not seen
                    self._attach(point, a.assemble(self._program(point), **tables._asdict()))
            except KeyError as error:  # of `btf`: a tracepoint or a member of a structure
                self.absent[stage] = (
                    f"this kernel has no {error.args[0].removeprefix('btf_trace_')}"
                )
            except OSError as error:
                refused, self.absent[stage] = error, error.strerror or str(error)
        if len(self.absent) == len(POINTS):
            raise refused or OSError(errno.ENOENT, self.absent["queue"])
        self._since, self._runs = time.monotonic(), _events()

    def _program(self, point: str) -> a.Parts:
        given = self._clock, self._ephemeral
        if point == "skb_copy_datagram_iovec":
            return copied(*given, datagrams="datagram" not in self.absent)
        return {
            "softirq_raise": delays.raised, "softirq_entry": delays.entered,
            "sk_data_ready": arrived,
            "sock_recv_length": lambda: received(*given),
            "sched_wakeup": woken, "sched_switch": switched,
            "net_dev_queue": delays.queued,
            "net_dev_start_xmit": lambda: delays.started(self._ephemeral),
            "tcp_retransmit_skb": delays.again,
        }[point]()  # fmt: skip

    def _attach(self, point: str, binary: bytes) -> None:
        self._open.append(
            call.program(binary, f"nettop_{point[-8:]}", delays.types().tracepoint(point))
        )
        self._open.append(call.attach(self._open[-1]))

    def _turn(self) -> None:
        """Rest while the programs have spent more than their share, then look again."""
        now = time.monotonic()
        if self._open:
            if abs(_clock() - self._clock) > _JUMP:  # somebody set it
                self._rest(now)
                self._begin_again()
            runs = _events()
            self._spent += COST * (runs - self._runs)
            self._runs = runs
        over = self._spent > SHARE * self._counting.age()
        if over and self._open:
            self._rest(now)
        elif not over and not self._open:
            self._begin_again()

    def _begin_again(self) -> None:
        """To load the programs takes time as well: some 15 ms."""
        begun = time.thread_time()
        self._begin()
        self._spent += time.thread_time() - begun

    def _rest(self, now: float) -> None:
        self._looked += now - self._since
        while self._open:
            os.close(self._open.pop())
        if self._stamps is not None:
            self._stamps.close()
            self._stamps = None

    def close(self) -> None:
        """Detach the programs; the kernel frees its memory and stamps no more."""
        self._rest(self._since)
        self._counting.close()

    def __del__(self) -> None:
        """Detach the programs if the object is dropped without `close`, or was never whole."""
        self._rest(self._since)


def _line(raw: bytes, own: int) -> str:
    stage, bucket, port, number, pid, space, name = delays.KEY.unpack(raw)
    told, where = delays.STAGES[stage], "here" if space == own else "elsewhere"
    if told.startswith("softirq"):
        return f"{told} {bucket} {{}} host - {number} - -"
    if where == "elsewhere":
        return f"{told} {bucket} {{}} {where} - - - -"
    shown = counting.shown(name).translate(_BRACES) if name.strip(b"\0") else "-"
    return f"{told} {bucket} {{}} {where} {port or '-'} {number or '-'} {pid or '-'} {shown}"


def _clock() -> int:
    """Nanoseconds from the monotonic clock to that of the stamps; only setting it changes it."""
    return min(
        time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        for _ in range(5)
    )


def _ephemeral() -> int:
    try:
        with open(_PORTS, encoding="ascii") as file:
            return int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return _GIVEN


def _events() -> int:
    """What the host did since it started that runs a program, by /proc/stat and /proc/net/dev.

    Switches with a wakeup, softirqs raised and entered, packets queued and copied.
    """
    runs = 0
    with open("/proc/stat", "rb") as file:
        for line in file:
            if line.startswith((b"ctxt ", b"softirq ")):
                runs += 2 * int(line.split(None, 2)[1])
    with open("/proc/net/dev", "rb") as file:
        for line in file.readlines()[2:]:
            words = line.rpartition(b":")[2].split()
            runs += int(words[1]) + 2 * int(words[9])
    return runs


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
