"""Where packets wait on their way through this host: the times of each stage, in buckets.

`delays` and `readers` have the programs. A socket of this process asks for stamps (SO_TIMESTAMPNS):
from then on every packet of the host is stamped, until the socket is closed. The programs run for a
part of the time only, so that they need at most `SHARE` of a core; they and their tables end with
this process.
"""

from __future__ import annotations

import errno
import os
import socket
import time
from collections import Counter as Sums
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from . import assembler as a
from . import call, counting, delays, readers

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
            return readers.copied(*given, datagrams="datagram" not in self.absent)
        return {
            "softirq_raise": delays.raised, "softirq_entry": delays.entered,
            "sk_data_ready": readers.arrived,
            "sock_recv_length": lambda: readers.received(*given),
            "sched_wakeup": readers.woken, "sched_switch": readers.switched,
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
                self._begin()
            runs = _events()
            self._spent += COST * (runs - self._runs)
            self._runs = runs
        over = self._spent > SHARE * self._counting.age()
        if over and self._open:
            self._rest(now)
        elif not over and not self._open:
            self._begin()

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
