"""How failed calls are told: names of calls, errors and Unix sockets (unix(7)), addresses, moments.

System calls of the network and of processes, with their numbers and where their arguments lie:
arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h.
"""

import errno
import os
import socket
import struct
import sys
from collections import Counter as Sums
from collections.abc import Mapping
from contextlib import suppress
from glob import escape, glob
from typing import Final, NamedTuple
from urllib.parse import quote

from . import ABROAD, PEER, arguments, asynchronous, btf, counting, interfaces, own_file
from .arguments import POLLS

_NAMES: Final = "/proc/thread-self/net/unix"
_LISTENS: Final = "00010000"  # __SO_ACCEPTCON
_DATAGRAM: Final = "0002"  # SOCK_DGRAM
_SPACES: Final = 256  # namespaces that are looked at for a name
_NAMING: Final = ("connect", "sendto", "sendmsg", "sendmmsg")  # that give the name of a socket


class Names:
    """What was found, kept: each socket, path and name is looked for once."""

    def __init__(self) -> None:
        """Nothing was looked for."""
        self._of, self._abroad = dict[int, str](), dict[str, str]()
        self._given = dict[tuple[str, bytes, int], str]()
        self._files = dict[tuple[int, int], str]()

    def file(self, pid: int, argument: int) -> str:
        """The file of a call of that process, as `own_file.words`."""
        if (pid, argument) not in self._files:
            self._files[pid, argument] = own_file.words(pid, argument)
        return self._files[pid, argument]

    def argument(
        self, call: str, error: int, pid: int, family: int, given: int, where: bytes
    ) -> str | None:
        """What the program gave; None of a file of the kernel itself."""
        if family == own_file.FAMILY:
            return self.file(pid, given) or None
        if call in interfaces.CALLS:
            return interfaces.words(given, where)
        local = family == socket.AF_UNIX
        told = arguments.words(call, error, given, where, local=local)
        told += self.of(given) if local and told else ""
        return told or (self.given(call, where, given) if local else "")

    def of(self, inode: int) -> str:
        """`,PATH` of the Unix socket with that inode; empty without a name."""
        if inode not in self._of:
            self._of |= dict.fromkeys([inode], "") | paths()
        name = self._of[inode]
        return f",{name}" if name else ""

    def given(self, call: str, begin: bytes, end: int) -> str:
        """`peer=INODE,NAME` of the socket that a call names, as `path`; empty without a name."""
        if call not in _NAMING or not any(begin):
            return ""
        if (call, begin, end) not in self._given:
            connects = call == "connect"
            names = paths(listening=connects, datagrams=not connects)
            inode, name = path(begin, end.to_bytes(8, sys.byteorder), names)
            self._given[call, begin, end] = f"{PEER}{inode},{name}"
        return self._given[call, begin, end]

    def abroad(self, told: str) -> str:
        """`abroad=NAME[PID]`: who in another namespace has what `given` did not find here."""
        _, found, name = told.partition(f"{PEER}0,@")
        if not found:
            return ""
        if name not in self._abroad:
            who = abroad(f"@{name}")
            self._abroad[name] = f"{ABROAD}{who}" if who else ""
        return self._abroad[name]


def paths(
    file_name: str = _NAMES, *, listening: bool = False, datagrams: bool = False
) -> dict[int, str]:  # fmt: skip
    """The names of the Unix sockets of this namespace by inode: /proc/net/unix."""
    found = {}
    with suppress(OSError), open(file_name, encoding="utf-8", errors="replace") as file:
        for line in file:
            *_, flags, kind, _, last = line.rstrip("\n").split(None, 6)
            number, _, name = last.partition(" ")
            fit = (flags == _LISTENS or not listening) and (kind == _DATAGRAM or not datagrams)
            if number.isdecimal() and name and fit:
                found[int(number)] = name
    return found


def abroad(name: str) -> str:
    """Who has an abstract name in another network namespace, as `name[pid]`; empty without one.

    Such names belong to a namespace (unix(7)), of which the first process is asked.
    """
    seen = set[str]()
    with suppress(OSError):
        seen.add(os.readlink("/proc/thread-self/ns/net"))
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):
            space = os.readlink(f"/proc/{pid}/ns/net")
            if space in seen or len(seen) > _SPACES:
                continue
            seen.add(space)
            found = [inode for inode, one in paths(f"/proc/{pid}/net/unix").items() if one == name]
            if found:
                return _holder(found[0], space)
    return ""


def _holder(inode: int, space: str) -> str:
    """The process of that namespace with the socket; as a part of it where none is readable."""
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):
            folder = f"/proc/{pid}/fd"
            if os.readlink(f"/proc/{pid}/ns/net") == space and any(
                os.readlink(f"{folder}/{one}") == f"socket:[{inode}]" for one in os.listdir(folder)
            ):
                with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                    return f"{file.read().strip()}[{pid}]"
    return "a process"


def path(raw: bytes, tail: bytes, names: Mapping[int, str]) -> tuple[int, str]:
    """The inode and name of the socket at a path of which the begin and the end were kept.

    Where none or several of the `names` fit: 0 and the file that fits both parts (that of a program
    that has ended), or these. A name without a file has an `@`.
    """
    name = raw.removeprefix(b"\0").split(b"\0", 1)[0].decode("utf-8", "replace")
    shown = "".join(one if one.isprintable() else "?" for one in name)
    begin = "@" if shown and not raw[0] else ""
    end = tail.rstrip(b"\0").rpartition(b"\0")[2].decode("utf-8", "replace")
    whole = f"{begin}{shown}"
    fit = {
        at: inode for inode, at in names.items()
        if at == whole or (raw[-1] and at.startswith(whole) and at.endswith(end))
    }  # fmt: skip
    if len(fit) == 1:
        ((at, inode),) = fit.items()
        return inode, at
    below = () if begin or not raw[-1] else ("*", "*/*")
    same = [one for it in below for one in glob(f"{escape(whole)}{it}") if one.endswith(end)]
    return 0, same[0] if len(same) == 1 else f"{whole}…{end}" if raw[-1] else whole


# call → its number on x86-64 and on arm64 (-1: it has none)
SYSTEM_CALLS: Final[Mapping[str, tuple[int, int]]] = {
    "connect": (42, 203), "bind": (49, 200), "sendto": (44, 206), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242), "socket": (41, 198), "setsockopt": (54, 208),
    "sendmsg": (46, 211), "sendmmsg": (307, 269), "recvfrom": (45, 207), "recvmsg": (47, 212),
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66),
    "recvmmsg": (299, 243), "sendfile": (40, 71), "socketpair": (53, 199), **POLLS,
    "select": (23, -1), "pselect6": (270, 72), "epoll_wait": (232, -1), "epoll_pwait": (281, 22),
    "epoll_pwait2": (441, 441), "epoll_create1": (291, 20),
    "clone": (56, 220), "fork": (57, -1), "vfork": (58, -1), "clone3": (435, 435),
    **own_file.CALLS, **interfaces.CALLS,
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
CALLS: Final = (ATTEMPT, *SYSTEM_CALLS, asynchronous.CALL)
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
