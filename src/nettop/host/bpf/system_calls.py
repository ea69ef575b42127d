"""System calls of the network and of processes: their numbers, and where their arguments lie.

arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import Final, NamedTuple

from . import btf

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
