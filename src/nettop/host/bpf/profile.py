"""What each core does: samples of all online CPUs over the last ten seconds.

perf_event_open(2) makes an event that samples a CPU, with a ring of records
(include/uapi/linux/perf_event.h). A record has the address, the thread, and the addresses of the
kernel functions that were active, the innermost first. Of the part in user space it has one
address, whose mapped file (/proc/PID/maps) is told; nothing is unwound there. Nothing is loaded
into the kernel, and the events end with this process. CPUs that come online later are not sampled.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct
import time
from bisect import bisect_right
from collections import Counter as Sums
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Final, NamedTuple

from ...terms.cpulist import parse
from . import counting, rights
from .symbols import Symbols

SPAN: Final = 10.0  # seconds that an answer covers, at the most
RATE: Final = 99  # samples/s of a CPU: not a divisor of what happens 100 times a second
_LEAST: Final = 19  # samples/s of a CPU, however many there are
_ALL: Final = 64 * RATE  # samples/s of all CPUs: more CPUs are sampled less often
_NONE: Final = "-"
_ONLINE: Final = "/sys/devices/system/cpu/online"


class _Stack(NamedTuple):
    """What one thread did on one core."""

    cpu: int
    tid: int
    pid: int
    file: str  # mapped file of a program; `-` in the kernel
    functions: str  # of the kernel, the outermost first, with `;` between; `-` in a program


class _Batch(NamedTuple):
    """The samples of one reading."""

    end: float
    stacks: Sums[_Stack]
    lost: int


class Counter:
    """An event on each CPU and its samples; OSError if this kernel refuses them."""

    def __init__(self) -> None:
        """Begin to sample."""
        self._rings: list[Ring] = []
        self._batches: deque[_Batch] = deque()
        self._names: dict[int, str] = {}
        self._files: dict[int, _Files] = {}
        with open(_ONLINE, encoding="ascii") as file:
            cpus = sorted(parse(file.read()))
        self.rate = max(_LEAST, min(RATE, _ALL // len(cpus)))
        self.event, self._rings = rings(cpus, self.rate)
        self._begun = time.monotonic()
        try:
            self._symbols = Symbols()
            if self._symbols.hidden:
                raise PermissionError(1, rights.hidden())
        except BaseException:
            self.close()
            raise

    def text(self) -> str:
        """The seconds; `EVENT RATE LOST OMITTED`; then a line for each stack.

        The line is `CPU TID PID COUNT FILE FUNCTIONS NAME`. LOST samples had no room in a ring,
        OMITTED ones are of rare stacks that have no room here.
        """
        self._read()
        sums, lost = Sums[_Stack](), 0
        for batch in self._batches:
            sums.update(batch.stacks)
            lost += batch.lost
        common = sums.most_common(counting.ROOM)
        omitted = sums.total() - sum(count for _, count in common)
        lines = [
            f"{one.cpu} {one.tid} {one.pid} {count} {one.file} {one.functions} "
            f"{self._names.get(one.tid) or '?'}"
            for one, count in sorted(common)
        ]
        seconds = time.monotonic() - self._begun
        return "\n".join(
            [f"{seconds:.3f}", f"{self.event} {self.rate} {lost} {omitted}", *lines, ""]
        )

    def _read(self) -> None:
        """Take the samples out of the rings; forget what is too old."""
        taken = [(ring.cpu, *ring.take()) for ring in self._rings]
        now = time.monotonic()
        self._symbols.learn(
            place for _, samples, _ in taken for one in samples for place in _places(one.kernel)
        )
        found = Sums(
            _Stack(cpu, one.tid, one.pid, self._file(one), self._functions(one.kernel))
            for cpu, samples, _ in taken
            for one in samples
        )
        self._batches.append(_Batch(now, found, sum(lost for *_, lost in taken)))
        while self._batches[0].end <= now - SPAN:
            self._begun = self._batches.popleft().end
        pids = {one.tid: one.pid for one in found}
        for tid, pid in pids.items():
            if name := _name(pid, tid):
                self._names[tid] = name
        seen = {one for batch in self._batches for one in batch.stacks}
        self._names = {one.tid: self._names.get(one.tid, "") for one in seen}
        self._files = {one.pid: self._files[one.pid] for one in seen if one.pid in self._files}

    def _file(self, one: Sample) -> str:
        if not one.user:
            return _NONE
        files = self._files.get(one.pid)
        if files is None or not files.at(one.user):
            files = self._files[one.pid] = _Files.of(one.pid)
        return files.at(one.user) or "unknown"

    def _functions(self, kernel: tuple[int, ...]) -> str:
        names = (self._symbols.name(place).partition(".")[0] for place in _places(kernel))
        return ";".join(name or "unknown" for name in reversed([*names])) or _NONE

    def close(self) -> None:
        """End the events."""
        while self._rings:
            self._rings.pop().close()

    def __del__(self) -> None:
        """End the events if the object is dropped without `close`."""
        self.close()


def _places(kernel: tuple[int, ...]) -> Iterable[int]:
    """The addresses; of a caller the call, and not what follows: it may be another function."""
    return (place - (at > 0) for at, place in enumerate(kernel))


def _name(pid: int, tid: int) -> str:
    """The name of the thread, without what a terminal may not show; empty if it has ended."""
    if tid == 0:
        return "swapper"
    try:
        with open(f"/proc/{pid}/task/{tid}/comm", "rb") as file:
            text = file.read(64).rstrip(b"\n").decode("utf-8", "replace")
    except OSError:
        return ""
    return "".join(one if one.isprintable() else "?" for one in text)


class _Files(NamedTuple):
    """The mapped files of a process, by their first address."""

    begins: list[int]
    ends: list[int]
    names: list[str]

    @classmethod
    def of(cls, pid: int) -> _Files:
        """Of a process that runs; none of one that has ended."""
        rows: list[tuple[int, int, str]] = []
        with suppress(OSError), open(f"/proc/{pid}/maps", "rb") as file:
            for line in file:
                place, rights, _, _, _, *path = line.split(None, 5)
                if b"x" in rights:
                    begin, _, end = place.partition(b"-")
                    rows.append((int(begin, 16), int(end, 16), _base(b"".join(path))))
        rows.sort()
        return cls([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])

    def at(self, address: int) -> str:
        """The base name of the file; empty for an address of no file."""
        at = bisect_right(self.begins, address) - 1
        return self.names[at] if at >= 0 and address < self.ends[at] else ""


@lru_cache(maxsize=1024)  # programs map the same libraries
def _base(path: bytes) -> str:
    """`libcrypto.so.3`; code that no file has, as a compiler at run time makes it, is `anonymous`.

    Without spaces and `;`, which separate.
    """
    text = path.rstrip(b"\n").decode("utf-8", "replace")
    name = os.path.basename(text.removesuffix(" (deleted)"))
    shown = "".join(one if one.isprintable() and one not in " ;" else "_" for one in name)
    return shown or "anonymous"


CYCLES: Final = "cycles"  # of the counters of the CPU; its interrupt comes at any time
CLOCK: Final = "clock"  # a timer: it cannot fire while interrupts are off
_EVENTS: Final = {CYCLES: (0, 0), CLOCK: (1, 0)}  # type and number
_NUMBERS: Final = {
    "x86_64": 298, "aarch64": 241, "riscv64": 241, "loongarch64": 241, "s390x": 331,
    "ppc64le": 319, "ppc64": 319,
}  # fmt: skip
"""The system call's number, by machine."""

_SIZE: Final = 128  # bytes of struct perf_event_attr
_WHAT: Final = 1 << 0 | 1 << 1 | 1 << 5  # PERF_SAMPLE_IP, _TID, _CALLCHAIN
_HOW: Final = 1 << 6 | 1 << 10 | 1 << 22  # exclude_hv, freq, exclude_callchain_user
_HEADER: Final = struct.Struct("=IHH")  # type, misc, bytes with this header
_FIXED: Final = struct.Struct("=QIIQ")  # address, process, thread, number of addresses that follow
_LOST, _SAMPLE = 2, 9
_MODE, _KERNEL = 7, 1  # of misc
_MARK: Final = 2**64 - 4095  # from here on a number is no address: PERF_CONTEXT_KERNEL and others
_HEAD, _TAIL = 1024, 1032  # of data, in the first page
PIECE: Final = 1 << 17  # bytes of a ring: four seconds at 99 samples/s with 40 addresses each


class Sample(NamedTuple):
    """What a CPU did at one moment; `user` is 0 in the kernel, `kernel` is empty in a program."""

    pid: int
    tid: int
    user: int
    kernel: tuple[int, ...]


class Ring:
    """One event on one CPU, until `close`; OSError with a sentence if the kernel refuses it."""

    def __init__(self, event: str, cpu: int, rate: int) -> None:
        """Begin to sample, `rate` times a second."""
        self.cpu = cpu
        handle = _open(event, cpu, rate)
        try:
            self._memory = mmap.mmap(handle, mmap.PAGESIZE + PIECE)  # with a handle of its own
        finally:
            os.close(handle)

    def take(self) -> tuple[list[Sample], int]:
        """The samples since the last call, and how many the ring had no room for."""
        memory = self._memory
        (head,) = struct.unpack_from("=Q", memory, _HEAD)
        (tail,) = struct.unpack_from("=Q", memory, _TAIL)
        first, end = tail % PIECE, head % PIECE
        area = memory[mmap.PAGESIZE :] if head - tail else b""
        data = area[first:end] if first < end else area[first:] + area[:end]
        struct.pack_into("=Q", memory, _TAIL, head)
        return records(data)

    def close(self) -> None:
        """End the event."""
        self._memory.close()


def records(data: bytes) -> tuple[list[Sample], int]:
    """The samples of complete records, and how many were lost; ends at one that is not sound."""
    found, lost, at = [], 0, 0
    while at + _HEADER.size <= len(data):
        kind, misc, size = _HEADER.unpack_from(data, at)
        if size < _HEADER.size or at + size > len(data):
            break
        if kind == _SAMPLE and size >= _HEADER.size + _FIXED.size:
            address, pid, tid, count = _FIXED.unpack_from(data, at + _HEADER.size)
            begin = at + _HEADER.size + _FIXED.size
            if begin + 8 * count > at + size:
                break
            chain = struct.unpack_from(f"={count}Q", data, begin)
            kernel = tuple(one for one in chain if one < _MARK)
            if misc & _MODE == _KERNEL:
                found.append(Sample(pid, tid, 0, kernel or (address,)))
            else:
                found.append(Sample(pid, tid, address, ()))
        elif kind == _LOST and size >= _HEADER.size + 16:
            lost += struct.unpack_from("=Q", data, at + _HEADER.size + 8)[0]
        at += size
    return found, lost


def rings(cpus: list[int], rate: int) -> tuple[str, list[Ring]]:
    """The event that all these CPUs have, and a ring of each; OSError without any."""
    try:
        return CYCLES, _rings(CYCLES, cpus, rate)
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.EINVAL}:
            raise
    return CLOCK, _rings(CLOCK, cpus, rate)


def _rings(event: str, cpus: list[int], rate: int) -> list[Ring]:
    found: list[Ring] = []
    try:
        found.extend(Ring(event, cpu, rate) for cpu in cpus)
    except BaseException:
        for ring in found:
            ring.close()
        raise
    return found


def _open(event: str, cpu: int, rate: int) -> int:
    machine = os.uname().machine
    if machine not in _NUMBERS:
        raise OSError(errno.ENOSYS, f"sampling is not known on {machine}")
    kind, number = _EVENTS[event]
    values = struct.pack("=IIQQQQQ", kind, _SIZE, number, rate, _WHAT, 0, _HOW)
    block = ctypes.create_string_buffer(values, _SIZE)
    kernel = ctypes.CDLL(None, use_errno=True)
    arguments = (ctypes.byref(block), -1, cpu, -1, 8)  # of every process; 8: PERF_FLAG_FD_CLOEXEC
    handle: int = kernel.syscall(_NUMBERS[machine], *arguments)
    if handle < 0:
        raise _error(ctypes.get_errno())
    return handle


def _error(number: int) -> OSError:
    if number in {errno.EPERM, errno.EACCES}:
        paranoid = "; kernel.perf_event_paranoid below 1 allows it too"
        return OSError(number, rights.refused("sampling", "CAP_PERFMON", otherwise=paranoid))
    none = "this kernel cannot sample (CONFIG_PERF_EVENTS)"
    return OSError(number, none if number == errno.ENOSYS else os.strerror(number))
