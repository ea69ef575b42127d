"""How failed calls are told: names of calls and errors, addresses, and moments.

System calls of the network and of processes: their numbers, and where their arguments lie.

arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections import Counter as Sums
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import quote

from . import answered, btf, counting

# call → its number on x86-64 and on arm64 (-1: it has none)
SYSTEM_CALLS: Final[Mapping[str, tuple[int, int]]] = {
    "connect": (42, 203), "bind": (49, 200), "sendto": (44, 206), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242), "socket": (41, 198), "setsockopt": (54, 208),
    "sendmsg": (46, 211), "sendmmsg": (307, 269), "recvfrom": (45, 207), "recvmsg": (47, 212),
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66),
    "clone": (56, 220), "fork": (57, -1), "vfork": (58, -1), "clone3": (435, 435),
}  # fmt: skip
_REGISTERS: Final = "di", "si", "dx", "r10", "r8", "r9"  # arguments on x86-64


class Machine(NamedTuple):
    """Where the registers of a call lie: its number, and an argument by its place."""

    column: int  # of `SYSTEM_CALLS`
    number: int
    arguments: Mapping[int, int]


def machine(types: btf.Types) -> Machine:
    """Of x86-64 or arm64; OSError on another machine."""
    name = os.uname().machine
    if name == "x86_64":
        places = {at: types.offset("pt_regs", name) for at, name in enumerate(_REGISTERS)}
        return Machine(0, types.offset("pt_regs", "orig_ax"), places)
    if name == "aarch64":
        first = types.offset("pt_regs", "regs")
        places = {at: first + 8 * at for at in range(1, 6)}
        places[0] = types.offset("pt_regs", "orig_x0")  # the result lies in the first
        return Machine(1, types.offset("pt_regs", "syscallno"), places)
    raise OSError(errno.ENOSYS, f"the calls of programs cannot be seen on {name}")


ATTEMPT: Final = "connection"
CALLS: Final = (ATTEMPT, *SYSTEM_CALLS, answered.CALL)
GIVEN_UP: Final = 4096  # the program closed the socket before the answer
OPENED: Final = 0
ERRORS: Final = {
    **errno.errorcode, errno.EOPNOTSUPP: "EOPNOTSUPP", OPENED: "0", GIVEN_UP: "GIVEN_UP",
}  # fmt: skip
_PLAIN: Final = "/=@,."  # in the end of a call's name, where spaces and semicolons are quoted
_WHAT: Final = struct.Struct("=HH")  # of a moment: call and error


def error_name(code: int) -> str:
    """As in errno(3); the number where it has none."""
    return ERRORS.get(code) or str(code)


def suffix(argument: str, by: str) -> str:
    """The end of a call's name, without spaces."""
    return f";{quote(argument, safe=_PLAIN)};{quote(by, safe=_PLAIN)}" if argument or by else ""


def once(moments: Sums[counting.Moment]) -> Sums[counting.Moment]:
    """Without attempts that are calls of connect(2) too, which fail in the same part of time."""
    attempts = dict[tuple[int, int], list[counting.Moment]]()
    for one in moments:
        number, error = _WHAT.unpack(one.what)
        if number == 0:
            attempts.setdefault((one.part, error), []).append(one)
    for one, events in [*moments.items()]:
        number, error = _WHAT.unpack(one.what)
        ended = attempts.get((one.part, error), [])
        left = events if number == 1 else 0
        for twice in ended:
            same = min(left, moments[twice])
            moments[twice] -= same
            left -= same
    return moments


def failure(what: bytes) -> str:
    """`CALL/ERROR` of a moment."""
    number, error = _WHAT.unpack(what)
    return f"{CALLS[number]}/{error_name(error)}"


def address_shown(family: int, raw: bytes) -> str:
    """Of IP, or `unix`; empty for other families."""
    if family == socket.AF_INET:
        return socket.inet_ntop(socket.AF_INET, raw[:4])
    if family == socket.AF_INET6:
        return socket.inet_ntop(socket.AF_INET6, raw)
    return "unix" if family == socket.AF_UNIX else ""
