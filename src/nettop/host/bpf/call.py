"""The bpf(2) system call: a map shared with the kernel, a program loaded, a tracepoint attached.

include/uapi/linux/bpf.h. Each function returns a file descriptor; the kernel frees the object when
the last descriptor is closed. Errors are OSError with one sentence.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from typing import Final

_NUMBERS: Final = {
    "x86_64": 321, "aarch64": 280, "riscv64": 280, "loongarch64": 280, "s390x": 351,
    "ppc64le": 361, "ppc64": 361,
}  # fmt: skip
"""The system call's number, by machine."""

_MAP_CREATE, _PROG_LOAD, _RAW_TRACEPOINT_OPEN = 0, 5, 17
_ARRAY, _RAW_TRACEPOINT, _MMAPABLE = 2, 17, 1 << 10
_LICENCE: Final = b"Dual MIT/GPL\0"
_ROOM: Final = 128  # bytes of an attribute block; the rest of the block must be zero
_LOG: Final = 1 << 16


def instruction(
    code: int, to: int = 0, of: int = 0, offset: int = 0, value: int = 0
) -> bytes:  # fmt: skip
    """The 8 bytes of one instruction (Documentation/bpf/standardization/instruction-set.rst)."""
    registers = to | of << 4 if sys.byteorder == "little" else to << 4 | of
    return struct.pack("=BBhi", code, registers, offset, value)


def shared_map(slots: int, name: str) -> int:
    """Create an array of `slots` 64-bit counters that can be mapped into memory (Linux 5.5)."""
    values = struct.pack("=IIIIIII16s", _ARRAY, 4, 8, slots, _MMAPABLE, 0, 0, name.encode()[:15])
    return _call(_MAP_CREATE, values)


def program(code: bytes, name: str) -> int:
    """Load a tracing program; the error has the last line of the verifier's log."""
    body = ctypes.create_string_buffer(code, len(code))
    licence = ctypes.create_string_buffer(_LICENCE)
    log = ctypes.create_string_buffer(_LOG)
    values = struct.pack(
        "=IIQQIIQII16s", _RAW_TRACEPOINT, len(code) // 8, ctypes.addressof(body),
        ctypes.addressof(licence), 1, _LOG, ctypes.addressof(log), 0, 0, name.encode()[:15],
    )  # fmt: skip
    try:
        return _call(_PROG_LOAD, values)
    except OSError as error:
        said = log.value.decode("ascii", "replace").strip().splitlines()
        if said and error.errno != errno.EPERM:
            raise OSError(error.errno, f"the kernel refuses the program: {said[-1]}") from None
        raise


def attach(tracepoint: str, handle: int) -> int:
    """Attach a program to a tracepoint (Linux 4.17) until the descriptor is closed."""
    name = ctypes.create_string_buffer(tracepoint.encode())
    return _call(_RAW_TRACEPOINT_OPEN, struct.pack("=QI", ctypes.addressof(name), handle))


def _call(command: int, values: bytes) -> int:
    machine = os.uname().machine
    if machine not in _NUMBERS:
        raise OSError(errno.ENOSYS, f"counting in the kernel is not known on {machine}")
    block = ctypes.create_string_buffer(values, _ROOM)
    kernel = ctypes.CDLL(None, use_errno=True)
    handle: int = kernel.syscall(_NUMBERS[machine], command, block, _ROOM)
    if handle < 0:
        number = ctypes.get_errno()
        raise OSError(number, _WHY.get(number) or os.strerror(number))
    return handle


_WHY: Final = {
    errno.EPERM: "counting in the kernel needs root (or CAP_BPF and CAP_PERFMON)",
    errno.EACCES: "counting in the kernel needs root (or CAP_BPF and CAP_PERFMON)",
    errno.ENOSYS: "this kernel cannot run BPF programs",
}
