"""The perf_event_open(2) system call: an event that samples a CPU, and the ring of its records.

include/uapi/linux/perf_event.h. A record has the address, the thread, and the addresses of the
kernel functions that were active, the innermost first. The part in user space is one address.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct
from typing import Final, NamedTuple

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
        failed = ctypes.get_errno()
        raise OSError(failed, _WHY.get(failed) or os.strerror(failed))
    return handle


_REFUSED: Final = (
    "sampling needs root (or CAP_PERFMON, or kernel.perf_event_paranoid below 1); "
    "a container or kernel lockdown may forbid it"
)
_WHY: Final = {
    errno.EPERM: _REFUSED,
    errno.EACCES: _REFUSED,
    errno.ENOSYS: "this kernel cannot sample (CONFIG_PERF_EVENTS)",
}
