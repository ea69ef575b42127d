"""Failed network calls and connection attempts, by process, call, error and destination.

The tracepoint raw_syscalls:sys_exit shows the calls that return an error. It makes every call of
the host slower while it is attached, so the program counts all calls as well, and is detached on a
host that makes more than `MOST` of them. A connection that is opened without waiting (O_NONBLOCK,
io_uring) fails later, when no call runs: the tracepoint sock:inet_sock_set_state shows the attempt,
in the process that begins it, and its end. Attempts that succeed are counted too, for the share.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections import Counter as Sums
from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from . import assembler as a
from . import btf, call, counting
from .counting import read

# call → its number on x86-64 and on arm64 (-1: it has none), and its argument that is an address
SYSTEM_CALLS: Final[Mapping[str, tuple[int, int, int | None]]] = {
    "connect": (42, 203, 1), "bind": (49, 200, 1), "sendto": (44, 206, 4),
    "listen": (50, 201, None), "accept": (43, 202, None), "accept4": (288, 242, None),
    "socket": (41, 198, None), "setsockopt": (54, 208, None), "sendmsg": (46, 211, None),
    "sendmmsg": (307, 269, None), "recvfrom": (45, 207, None), "recvmsg": (47, 212, None),
    "read": (0, 63, None), "write": (1, 64, None), "readv": (19, 65, None),
    "writev": (20, 66, None), "clone": (56, 220, None), "fork": (57, -1, None),
    "vfork": (58, -1, None), "clone3": (435, 435, None),
}  # fmt: skip
_STARTS: Final = ("clone", "fork", "vfork", "clone3")  # a process: EAGAIN says that it may not
_OF_FILES: Final = ("read", "write", "readv", "writev")
_NETWORK: Final = errno.ENOTSOCK  # the first error that only sockets have
ATTEMPT: Final = "connection"
CALLS: Final = (ATTEMPT, *SYSTEM_CALLS)
GIVEN_UP: Final = 4096  # the program closed the socket before the answer
_OPENED: Final = 0
ERRORS: Final = {
    **errno.errorcode, errno.EOPNOTSUPP: "EOPNOTSUPP", _OPENED: "0", GIVEN_UP: "GIVEN_UP",
}  # fmt: skip
MOST: Final = 300_000  # calls a second, of all threads: they cost some percent of a core
APART: Final = 0.3  # seconds between two counts of a rate, at the least
_WAITING: Final = frozenset(
    {errno.EAGAIN, errno.EINTR, errno.EINPROGRESS, errno.EALREADY, 512}  # 512: begun again
)
_SYN_SENT, _CLOSE = 2, 7

_KEY: Final = struct.Struct("=IIHHHH16s16s")  # process, namespace, call, error, family, port,
_WHAT: Final = struct.Struct("=HH")  # of a moment: call and error
_SIZE: Final = _KEY.size  # address, name of the process
_REST: Final = call.REST * _SIZE
_AT: Final = -32 - _SIZE
_PID, _SPACE, _CALL, _ERROR, _FAMILY, _PORT, _ADDRESS, _NAME = 0, 4, 8, 10, 12, 14, 16, 32
_PENDING: Final = _AT - 8  # of the stack: the address of a socket
_GIVEN: Final = _AT - 40  # of the stack: an address of user space, 28 bytes
_OWNER: Final = _SIZE  # bytes kept of an attempt: its key


class _Failed(NamedTuple):
    """A key, with what is told of its namespace and address."""

    call: int  # of `CALLS`
    error: int
    pid: int
    here: bool
    address: str
    port: int
    name: bytes


class Counter:
    """The loaded programs and their counts; OSError if they cannot be loaded."""

    def __init__(self) -> None:
        """Load and attach the programs; an error closes everything opened so far."""
        attempts, failed = _programs()
        self._counting = counting.Counting(_SIZE, "nettop_calls")
        try:
            keep, table = self._counting.keep, self._counting.table
            pending = keep(call.table(8, counting.ROOM, "nettop_attempts", _OWNER))
            moments = self._counting.keep_moments("nettop_moments")
            code = a.assemble(attempts, counts=table, pending=pending, moments=moments)
            keep(call.attach(keep(call.program(code, "nettop_attempts")), "inet_sock_set_state"))
            self._exits = keep(call.table(4, 1, "nettop_exits", kind=call.EACH_CPU))
            code = a.assemble(failed, counts=table, moments=moments, exits=self._exits)
            program = keep(call.program(code, "nettop_calls"))
            self._slows = (keep(call.attach(program, "sys_exit")), program)
            self._seen, self._stopped = (time.monotonic(), 0), ""
        except BaseException:
            self.close()
            raise

    def text(self) -> str:
        """The seconds, then a line `CALL ERROR COUNT PROCESS WHERE ADDRESS PORT NAME` for each.

        ERROR is `0` for attempts that succeeded; WHERE is `here` for the namespace of this thread.
        Lines of moments follow, see `counting.told`, of what failed as `CALL/ERROR`. A line `! WHY`
        says that calls are counted no more; attempts to connect still are.
        """
        self._turn()
        own, rows = counting.here(), Sums[_Failed]()
        counts = self._counting.counts()
        for key, n in ((_KEY.unpack(raw), n) for raw, n in counts.items() if raw != _REST):
            pid, space, number, code, family, port, where, name = key
            one = _Failed(number, code, pid, space == own, _address(family, where), port, name)
            rows[one] += n
        for one in [row for row in rows if row.call == 1]:  # what is counted as an attempt too
            waited = one._replace(call=0)
            twice = one if rows[waited] else waited._replace(error=GIVEN_UP)
            rows[twice] -= min(rows[one], rows[waited] or rows[twice])
        lines = [
            f"{CALLS[one.call]} {_error(one.error)} {n} {one.pid} "
            f"{'here' if one.here else 'elsewhere'} {one.address or '-'} {one.port or '-'} "
            f"{counting.shown(one.name)}"
            for one, n in sorted(rows.items())
            if n > 0
        ]
        lines += counting.told(_once(self._counting.moments()), _failure)
        lines += [f"! {self._stopped}"] if self._stopped else []
        return "\n".join([f"{self._counting.seconds():.3f}", *lines, ""])

    def _turn(self) -> None:
        """Detach the program that sees each call if the host makes too many."""
        (since, before), now = self._seen, time.monotonic()
        if self._stopped or now - since < APART:
            return
        self._seen = now, call.total(self._exits)
        rate = (self._seen[1] - before) / (now - since)
        if rate > MOST:
            self._counting.drop(*self._slows)
            self._stopped = (
                f"the programs of this machine, in all its namespaces, make {rate:,.0f} calls a "
                "second, and counting those that fail slows each: nettop stopped it"
            )

    def close(self) -> None:
        """Detach the programs; the kernel frees their memory."""
        self._counting.close()


def _error(code: int) -> str:
    return ERRORS.get(code) or str(code)


def _once(moments: Sums[counting.Moment]) -> Sums[counting.Moment]:
    """Without attempts that are calls of connect(2) too, which fail in the same part of time."""
    attempts = dict[tuple[int, int], list[counting.Moment]]()
    for one in moments:
        number, error = _WHAT.unpack(one.what)
        if number == 0:
            attempts.setdefault((one.part, error), []).append(one)
    for one, events in [*moments.items()]:
        number, error = _WHAT.unpack(one.what)
        ended = attempts.get((one.part, error)) or attempts.get((one.part, GIVEN_UP), [])
        left = events if number == 1 else 0
        for twice in ended:
            same = min(left, moments[twice])
            moments[twice] -= same
            left -= same
    return moments


def _failure(what: bytes) -> str:
    number, error = _WHAT.unpack(what)
    return f"{CALLS[number]}/{_error(error)}"


def _address(family: int, raw: bytes) -> str:
    if family == socket.AF_INET:
        return socket.inet_ntop(socket.AF_INET, raw[:4])
    if family == socket.AF_INET6:
        return socket.inet_ntop(socket.AF_INET6, raw)
    return "unix" if family == socket.AF_UNIX else ""


@cache  # the types of a kernel are long
def _programs() -> tuple[a.Parts, a.Parts]:
    """The programs for the running kernel: of attempts to connect, and of calls that fail."""
    types = btf.Types(counting.types())
    return _attempts(types), _exit(types, _machine(types))


def _empty() -> a.Parts:
    return tuple(part for at in range(0, _SIZE, 8) for part in a.put(a.R10, _AT + at, 0))


def _owner(types: btf.Types) -> a.Parts:
    """Store the process that runs, its name and its namespace in the key."""
    return (
        *counting.process(_AT + _PID, _GIVEN),
        *a.stack(a.R1, _AT + _NAME), *a.number(a.R2, 16), *a.call(a.COMM),
        *counting.space(types, _AT + _SPACE),
    )  # fmt: skip


class _Machine(NamedTuple):
    """Where the registers of a call lie: its number, and an argument by its place."""

    column: int  # of `SYSTEM_CALLS`
    number: int
    arguments: Mapping[int, int]


def _machine(types: btf.Types) -> _Machine:
    """Of x86-64, arm64 or riscv; OSError on another machine."""
    machine = os.uname().machine
    if machine == "x86_64":
        places = {1: types.offset("pt_regs", "si"), 4: types.offset("pt_regs", "r8")}
        return _Machine(0, types.offset("pt_regs", "orig_ax"), places)
    if machine == "aarch64":
        first = types.offset("pt_regs", "regs")
        places = {1: first + 8, 4: first + 32}
        return _Machine(1, types.offset("pt_regs", "syscallno"), places)
    raise OSError(errno.ENOSYS, f"the calls of programs cannot be seen on {machine}")


def _exit(types: btf.Types, machine: _Machine) -> a.Parts:
    """The program at the exit of a call: R6 has its registers, R7 its number, R8 the error."""
    column = machine.column
    every = enumerate(SYSTEM_CALLS.items(), start=1)
    calls = [(at, one) for at, one in every if one[1][:2][column] >= 0]
    given: dict[int, list[str]] = {}
    for _, (name, (*_, argument)) in calls:
        if argument is not None:
            given.setdefault(argument, []).append(name)
    return (
        *a.load(a.R6, a.R1, 0), *a.load(a.R8, a.R1, 8), *_counted(),
        *a.when(a.R8, "<", -4095, "out"), *a.negate(a.R8),
        *(part for one in sorted(_WAITING - {errno.EAGAIN})
          for part in a.when(a.R8, "==", one, "out")),
        *read(a.R7, a.R6, machine.number, 4),
        *(part for _, (name, numbers) in calls if name in _STARTS
          for part in a.when(a.R7, "==", numbers[:2][column], name)),
        *a.when(a.R8, "==", errno.EAGAIN, "out"),
        *(part for _, (name, numbers) in calls if name not in _STARTS
          for part in a.when(a.R7, "==", numbers[:2][column], name)),
        *a.go("out"),
        *(part for at, (name, _) in calls for part in (
            name, *(a.when(a.R8, "<", _NETWORK, "out") if name in _OF_FILES else ()),
            *a.number(a.R9, at), *a.go("key"))),
        "key", *_empty(), *a.store(a.R10, _AT + _CALL, a.R9, 2),
        *a.store(a.R10, _AT + _ERROR, a.R8, 2), *_owner(types),
        *(part for argument, names in given.items() for name in names
          for part in a.when(a.R9, "==", CALLS.index(name), f"argument {argument}")),
        *a.go("no address"),
        *(part for argument in given for part in (
            f"argument {argument}", *read(a.R7, a.R6, machine.arguments[argument]),
            *a.go("address"))),
        "address", *_given(),
        *a.number(a.R7, 1), *_moment(), *counting.add(_AT, _SIZE, a.R7),
        "out", *a.end(),
    )  # fmt: skip


def _counted() -> a.Parts:
    """Count the call, on its CPU; it uses R7."""
    return (
        *a.put(a.R10, _AT, 0), *a.map_of(a.R1, "exits"), *a.stack(a.R2, _AT), *a.call(a.LOOKUP),
        *a.when(a.R0, "==", 0, "counted"), *a.load(a.R7, a.R0, 0), *a.change(a.R7, "+", 1),
        *a.store(a.R0, 0, a.R7), "counted",
    )  # fmt: skip


def _moment() -> a.Parts:
    return counting.moment(_GIVEN - counting.MOMENT, _AT + _CALL, _AT + _SPACE, a.R7)


def _given() -> a.Parts:
    """Store family, port and address of the sockaddr that the program gave, at R7."""
    return (
        *(part for at in range(0, 32, 8) for part in a.put(a.R10, _GIVEN + at, 0)),
        *a.when(a.R7, "==", 0, "no address"),
        *a.stack(a.R1, _GIVEN), *a.number(a.R2, 8), *a.move(a.R3, a.R7), *a.call(a.READ_USER),
        *a.load(a.R8, a.R10, _GIVEN, 2), *a.store(a.R10, _AT + _FAMILY, a.R8, 2),
        *a.when(a.R8, "==", socket.AF_INET, "inet"),
        *a.when(a.R8, "!=", socket.AF_INET6, "no address"),
        *a.stack(a.R1, _AT + _ADDRESS), *a.number(a.R2, 16), *a.move(a.R3, a.R7),
        *a.change(a.R3, "+", 8), *a.call(a.READ_USER), *a.go("port"),
        "inet", *a.load(a.R8, a.R10, _GIVEN + 4, 4), *a.store(a.R10, _AT + _ADDRESS, a.R8, 4),
        "port", *a.load(a.R8, a.R10, _GIVEN + 2, 2), *a.swapped(a.R8),
        *a.store(a.R10, _AT + _PORT, a.R8, 2),
        "no address",
    )  # fmt: skip


def _attempts(types: btf.Types) -> a.Parts:
    """The program at each change of a TCP socket's state: R6 the socket, R8 and R9 old and new."""
    return (
        *a.load(a.R6, a.R1, 0), *a.load(a.R8, a.R1, 8), *a.load(a.R9, a.R1, 16),
        *a.low_half(a.R8), *a.low_half(a.R9),
        *a.store(a.R10, _PENDING, a.R6), *_empty(),
        *a.when(a.R9, "==", _SYN_SENT, "begins"), *a.when(a.R8, "!=", _SYN_SENT, "out"),
        # it ends: take the key that was kept
        *a.map_of(a.R1, "pending"), *a.stack(a.R2, _PENDING), *a.call(a.LOOKUP),
        *a.when(a.R0, "==", 0, "out"),
        *(part for at in range(0, _OWNER, 8)
          for part in (*a.load(a.R7, a.R0, at), *a.store(a.R10, _AT + at, a.R7))),
        *a.map_of(a.R1, "pending"), *a.stack(a.R2, _PENDING), *a.call(a.DELETE),
        *_destination(types),
        *a.when(a.R9, "!=", _CLOSE, "count"),
        *read(a.R7, a.R6, types.offset("sock", "sk_err"), 4),
        *a.when(a.R7, "!=", 0, "failed"), *a.number(a.R7, GIVEN_UP),
        "failed", *a.store(a.R10, _AT + _ERROR, a.R7, 2),
        *a.number(a.R7, 1), *_moment(),
        "count", *a.number(a.R7, 1), *counting.add(_AT, _SIZE, a.R7),
        "begins", *_owner(types),
        *a.map_of(a.R1, "pending"), *a.stack(a.R2, _PENDING), *a.stack(a.R3, _AT),
        *a.number(a.R4, 0), *a.call(a.UPDATE),
        "out", *a.end(),
    )  # fmt: skip


def _destination(types: btf.Types) -> a.Parts:
    """Store family, port and address of the other end of the socket in R6."""
    address = types.offset("sock", "__sk_common.skc_v6_daddr")
    return (
        *read(a.R7, a.R6, types.offset("sock", "__sk_common.skc_dport"), 2), *a.swapped(a.R7),
        *a.store(a.R10, _AT + _PORT, a.R7, 2),
        *read(a.R7, a.R6, types.offset("sock", "__sk_common.skc_family"), 2),
        *a.store(a.R10, _AT + _FAMILY, a.R7, 2),
        *a.when(a.R7, "==", socket.AF_INET, "inet"),
        *read(a.R7, a.R6, address), *a.store(a.R10, _AT + _ADDRESS, a.R7),
        *read(a.R7, a.R6, address + 8), *a.store(a.R10, _AT + _ADDRESS + 8, a.R7),
        *a.go("there"),
        "inet", *read(a.R7, a.R6, types.offset("sock", "__sk_common.skc_daddr"), 4),
        *a.store(a.R10, _AT + _ADDRESS, a.R7, 4),
        "there",
    )  # fmt: skip
