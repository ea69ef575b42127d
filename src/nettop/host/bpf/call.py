"""The bpf(2) system call: a table shared with the kernel, a program loaded and attached.

include/uapi/linux/bpf.h. Each function returns a file descriptor; the kernel frees the object when
the last descriptor is closed. Errors are OSError with one sentence.
"""

import ctypes
import errno
import os
import resource
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from . import rights
from .assembler import CALL, READ, READ_ANY, READ_USER

_NUMBERS: Final = {
    "x86_64": 321, "aarch64": 280, "riscv64": 280, "loongarch64": 280, "s390x": 351,
    "ppc64le": 361, "ppc64": 361,
}  # fmt: skip
"""The system call's number, by machine."""

_MAP_CREATE, _MAP_LOOKUP, _MAP_UPDATE, _MAP_NEXT_KEY, _PROG_LOAD = 0, 1, 2, 4, 5
_PROG_RUN, _RAW_TRACEPOINT_OPEN, _MAP_LOOKUP_BATCH = 10, 17, 24
_PROG_BY_ID, _OBJECT_INFO, _PROG_QUERY = 13, 15, 16
_LINK_BY_ID, _NEXT_LINK = 30, 31
_RAW_TRACEPOINT, _TRACING = 17, 26
_TYPED: Final = 23  # BPF_TRACE_RAW_TP
_LINKS: Final = 1024  # links that are looked at
_CPUS: Final = 8192  # at most, of a kernel
HASH, EACH_CPU, LATEST = 1, 6, 9  # kinds of tables; LATEST forgets what was not used for longest
_LICENCE: Final = b"Dual MIT/GPL\0"
_ROOM: Final = 128  # bytes of an attribute block; the rest of the block must be zero
_LOG: Final = 1 << 16
_AGAIN: Final = 4  # loads that a signal cut off: EAGAIN of kernel/bpf/verifier.c, do_check()
REST: Final = b"\xff"  # the key of what has no room in a full table is made of these bytes


def table(key: int, entries: int, name: str, value: int = 8, kind: int = HASH) -> int:
    """Create a table of keys of so many bytes; its values are 8 bytes long unless said."""
    values = struct.pack("=IIIIIII16s", kind, key, value, entries, 0, 0, 0, name.encode()[:15])
    try:
        return _call(_MAP_CREATE, values)
    except PermissionError:  # before Linux 5.11 a table counts as locked memory
        with suppress(OSError, ValueError):
            most = resource.RLIM_INFINITY
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (most, most))
        return _call(_MAP_CREATE, values)


def put(handle: int, key: bytes, value: int) -> None:
    """Set one number of a table."""
    room = ctypes.create_string_buffer(key, len(key))
    number = ctypes.c_uint64(value)
    attributes = handle, ctypes.addressof(room), ctypes.addressof(number), 0
    _call(_MAP_UPDATE, struct.pack("=IxxxxQQQ", *attributes))


def contents(handle: int, key: int, entries: int) -> dict[bytes, int]:
    """All keys and numbers of a table of 8-byte values."""
    keys = ctypes.create_string_buffer(key * entries)
    numbers = (ctypes.c_uint64 * entries)()
    place = ctypes.create_string_buffer(max(8, key))
    block = ctypes.create_string_buffer(
        struct.pack(
            "=QQQQIIQQ", 0, ctypes.addressof(place), ctypes.addressof(keys),
            ctypes.addressof(numbers), entries, handle, 0, 0,
        ),
        _ROOM,
    )  # fmt: skip
    try:
        _ask(_MAP_LOOKUP_BATCH, block)
    except FileNotFoundError:  # there are no more
        pass
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return _one_by_one(handle, key, entries)  # before Linux 5.6
    found: int = struct.unpack_from("=I", block.raw, 32)[0]
    return {keys.raw[at * key : (at + 1) * key]: numbers[at] for at in range(found)}


def total(handle: int) -> int:
    """The sum over all CPUs of the only number of a table of the kind `EACH_CPU`."""
    place, numbers = ctypes.create_string_buffer(4), (ctypes.c_uint64 * _CPUS)()
    attributes = handle, ctypes.addressof(place), ctypes.addressof(numbers), 0
    _call(_MAP_LOOKUP, struct.pack("=IxxxxQQQ", *attributes))
    return sum(numbers)


def _one_by_one(handle: int, key: int, entries: int) -> dict[bytes, int]:
    """As `contents`, with two calls for each key."""
    last, following = ctypes.create_string_buffer(key), ctypes.create_string_buffer(key)
    number, found = ctypes.c_uint64(), dict[bytes, int]()
    first = 0
    with suppress(FileNotFoundError):  # there are no more
        while len(found) < entries:
            at = handle, first, ctypes.addressof(following), 0
            _call(_MAP_NEXT_KEY, struct.pack("=IxxxxQQQ", *at))
            last.raw, first = following.raw, ctypes.addressof(last)
            with suppress(FileNotFoundError):  # it is gone meanwhile
                at = handle, first, ctypes.addressof(number), 0
                _call(_MAP_LOOKUP, struct.pack("=IxxxxQQQ", *at))
                found[last.raw] = number.value
    return found


def program(code: bytes, name: str, tracepoint: int = 0) -> int:
    """Load a tracing program; the error has the last line of the verifier's log.

    `tracepoint`: the number of its type (`btf.Types.tracepoint`, Linux 5.5); then the program may
    read what its arguments point to without a call. 0: a program for any tracepoint.
    """
    body = ctypes.create_string_buffer(code, len(code))
    licence = ctypes.create_string_buffer(_LICENCE)
    log = ctypes.create_string_buffer(_LOG)

    def load(level: int, *room: int) -> int:
        values = struct.pack(
            "=IIQQIIQII16sII36xI", _TRACING if tracepoint else _RAW_TRACEPOINT, len(code) // 8,
            ctypes.addressof(body), ctypes.addressof(licence), level, *room, 0, 0,
            name.encode()[:15], 0, _TYPED if tracepoint else 0, tracepoint,
        )  # fmt: skip
        for _ in range(_AGAIN):
            with suppress(BlockingIOError):
                return _call(_PROG_LOAD, values)
        return _call(_PROG_LOAD, values)

    try:
        return load(0, 0, 0)  # the log of a long program has no room, which would be an error
    except OSError as error:
        if error.errno == errno.EPERM:  # EACCES is the verifier's
            raise
        number = error.errno
    with suppress(OSError):
        return load(1, _LOG, ctypes.addressof(log))
    said = log.value.decode("ascii", "replace").strip().splitlines()
    last = next((line for line in reversed(said) if not line.startswith("processed")), "")
    if "invalid func" in last and last.endswith((f"#{READ}", f"#{READ_USER}")):
        return program(_reading_any(code), name, tracepoint)
    why = last or os.strerror(number or 0)
    why += f"; {rights.locked()} forbids to read its memory" if rights.locked() else ""
    raise OSError(number, f"the kernel refuses the program: {why}")


def _reading_any(code: bytes) -> bytes:
    """The program with the helper that reads any memory: before Linux 5.5 there is no other."""
    step = struct.Struct("=4sI")
    return b"".join(
        step.pack(what, READ_ANY if what[0] == CALL and number in {READ, READ_USER} else number)
        for what, number in step.iter_unpack(code)
    )


def attach(handle: int, tracepoint: str = "") -> int:
    """Attach a program to a tracepoint (Linux 4.17) until the descriptor is closed.

    A program that was loaded for one tracepoint needs no name.
    """
    name = ctypes.create_string_buffer(tracepoint.encode())
    place = ctypes.addressof(name) if tracepoint else 0
    return _call(_RAW_TRACEPOINT_OPEN, struct.pack("=QI", place, handle))


def run(handle: int, argument: int) -> int:
    """What a program for any tracepoint returns, run once with this argument (Linux 5.10).

    The task that it asks for is this thread.
    """
    context = ctypes.c_uint64(argument)
    values = struct.pack("=I36xIIQ", handle, ctypes.sizeof(context), 0, ctypes.addressof(context))
    block = ctypes.create_string_buffer(values, _ROOM)
    _ask(_PROG_RUN, block)
    found: int = struct.unpack_from("=I", block.raw, 4)[0]
    return found


def attached_to(handle: int, kind: int, most: int) -> list[int]:
    """The numbers of the programs attached to a control group itself, or to an interface.

    At most so many. `handle`: of the group, or the number of the interface.
    `kind`: of enum bpf_attach_type; one that this kernel does not have has none.
    """
    numbers = (ctypes.c_uint32 * most)()
    values = struct.pack("=IIIIQI", handle, kind, 0, 0, ctypes.addressof(numbers), most)
    block = ctypes.create_string_buffer(values, _ROOM)
    try:
        _ask(_PROG_QUERY, block)
    except OSError as error:
        if error.errno in {errno.EINVAL, errno.ENOSPC}:
            return [one for one in numbers if one]
        raise
    return list(numbers)[: struct.unpack_from("=I", block.raw, 24)[0]]


def information(number: int, size: int) -> bytes:
    """The first bytes of struct bpf_prog_info of a loaded program; OSError if it is gone."""
    return _information(_call(_PROG_BY_ID, struct.pack("=I", number)), size)


def links(size: int) -> Iterator[bytes]:
    """The first bytes of struct bpf_link_info of each link (Linux 5.8); OSError without rights."""
    number = ctypes.create_string_buffer(struct.pack("=I", 0), _ROOM)
    with suppress(FileNotFoundError):  # there are no more
        for _ in range(_LINKS):
            _ask(_NEXT_LINK, number)
            (found,) = struct.unpack_from("=I", number.raw, 4)
            struct.pack_into("=II", number, 0, found, 0)
            with suppress(FileNotFoundError):  # it is gone meanwhile
                yield _information(_call(_LINK_BY_ID, struct.pack("=I", found)), size)


def _information(handle: int, size: int) -> bytes:
    room = ctypes.create_string_buffer(size)
    try:
        _call(_OBJECT_INFO, struct.pack("=IIQ", handle, size, ctypes.addressof(room)))
    finally:
        os.close(handle)
    return room.raw


def _call(command: int, values: bytes) -> int:
    return _ask(command, ctypes.create_string_buffer(values, _ROOM))


def _ask(command: int, block: ctypes.Array[ctypes.c_char]) -> int:
    machine = os.uname().machine
    if machine not in _NUMBERS:
        raise OSError(errno.ENOSYS, f"counting in the kernel is not known on {machine}")
    kernel = ctypes.CDLL(None, use_errno=True)
    handle: int = kernel.syscall(_NUMBERS[machine], command, block, _ROOM)
    if handle < 0:
        raise _error(ctypes.get_errno())
    return handle


def _error(number: int) -> OSError:
    if number in {errno.EPERM, errno.EACCES}:
        return OSError(number, rights.refused("counting in the kernel", "CAP_BPF", "CAP_PERFMON"))
    none = "this kernel cannot run BPF programs"
    return OSError(number, none if number == errno.ENOSYS else os.strerror(number))
