"""Failed network calls and connection attempts, by process, call, error and destination.

A destination is the address that the program gave, or the other end of its socket (`own_socket`);
its own end where another one listens there already. `arguments` tells what else it gave,
`interfaces` which interface could not be set up, `own_file` which file could not be written, and
`attached` which programs may have refused it. Once a datagram of a process fails, or a socket gives
one back (EAGAIN), those that it sends well are counted too.

The tracepoint raw_syscalls:sys_exit shows the calls that return an error. It makes every call of
the host slower while it is attached, so the program counts all calls as well, and is detached on a
host that makes more than `MOST` of them. `asynchronous` tells of operations of io_uring, and of
datagrams that ICMP answers while no call fails. A connection that is opened without waiting
(O_NONBLOCK, io_uring) fails later, when no call runs: the tracepoint sock:inet_sock_set_state shows
the attempt, in the process that begins it, and its end; `asynchronous` knows who began it before
nettop counted. Attempts that succeed are counted too, for the share. So is a connection on which
data was sent after the other end had closed it: no call fails then (tcp_reset() of
net/ipv4/tcp_input.c: EPIPE), and the process is not known.
"""

import errno
import socket
import struct
import time
from collections import Counter as Sums
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cache
from typing import Final, NamedTuple

from . import (
    arguments,
    asynchronous,
    attached,
    btf,
    call,
    counting,
    interfaces,
    names,
    own_file,
    own_socket,
)
from . import assembler as a
from .counting import read
from .names import (
    CALLS,
    GIVEN_UP,
    OPENED,
    SYSTEM_CALLS,
    Machine,
    address_shown,
    error_name,
    failure,
    once,
    suffix,
)

_STARTS: Final = ("clone", "fork", "vfork", "clone3")  # a process: EAGAIN says that it may not
_OF_FILES: Final = ("read", "write", "readv", "writev", "sendfile")
_SENDS: Final = ("sendto", "sendmsg", "sendmmsg", "write", "writev")
# of which some end is known
_ON_SOCKETS: Final = (*_SENDS, "sendfile", "recvfrom", "recvmsg", "recvmmsg", "read", "readv")
_WITH_FILES: Final = (*_OF_FILES, *own_file.CALLS)
_STREAM, _DATAGRAMS = 1, 2  # SOCK_STREAM, SOCK_DGRAM
_SENDERS: Final = 256  # processes of which datagrams failed
MOST: Final = 300_000  # calls a second, of all threads: they cost some percent of a core
APART: Final = 0.3  # seconds between two counts of a rate, at the least
_WAITING: Final = frozenset(
    {errno.EAGAIN, errno.EINTR, errno.EINPROGRESS, errno.EALREADY, 512, 513, 514, 516}
)  # 512 and more: interrupted by a signal (include/linux/errno.h)
_SYN_SENT, _CLOSE, _CLOSE_WAIT = 2, 7, 8

# process, namespace, call, error, family, port, address, name of the process, argument, seccomp,
# whether those that succeed are counted too
_KEY: Final = struct.Struct("=IIHHHH16s16sQII")
_SIZE: Final = _KEY.size
_REST: Final = call.REST * _SIZE
_AT: Final = -32 - _SIZE
_PID, _SPACE, _CALL, _ERROR, _FAMILY, _PORT, _ADDRESS, _NAME = 0, 4, 8, 10, 12, 14, 16, 32
_ARGUMENT, _MODE, _BOTH = 48, 56, 60
_END: Final = _AT + _FAMILY, _AT + _PORT, _AT + _ADDRESS  # of the stack: the other end
_PENDING: Final = _AT - 8  # of the stack: the address of a socket, or the process
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
    more: str = ""  # `;ARGUMENT;BY`, see `Counter.text`


class Counter:
    """The loaded programs and their counts; OSError if they cannot be loaded."""

    def __init__(self) -> None:
        """Load and attach the programs; an error closes everything opened so far."""
        attempts, failed, others = _programs()
        self._names = names.Names()
        self._refusers = attached.Refusers()
        self._counting = counting.Counting(_SIZE, "nettop_calls")
        try:
            keep, table = self._counting.keep, self._counting.table
            pending = keep(call.table(8, counting.ROOM, "nettop_attempts", _OWNER))
            moments = self._counting.keep_moments("nettop_moments")
            code = a.assemble(attempts, counts=table, pending=pending, moments=moments)
            keep(call.attach(keep(call.program(code, "nettop_attempts")), "inet_sock_set_state"))
            self._exits = keep(call.table(4, 1, "nettop_exits", kind=call.EACH_CPU))
            senders = keep(call.table(8, _SENDERS, "nettop_senders", kind=call.LATEST))
            tables = {"moments": moments, "exits": self._exits, "senders": senders}
            code = a.assemble(failed, counts=table, **tables)
            program = keep(call.program(code, "nettop_calls"))
            self._slows = (keep(call.attach(program, "sys_exit")), program)
            for tracepoint, parts in others.items():
                with suppress(OSError):  # a kernel without it
                    code = a.assemble(parts, counts=table, moments=moments)
                    keep(call.attach(keep(call.program(code, "nettop_others")), tracepoint))
            self._counting.begin()
            self._begun = asynchronous.attempts()
            self._seen, self._stopped = (time.monotonic(), 0), ""
        except BaseException:
            self.close()
            raise

    def text(self) -> str:
        """The seconds, then a line `CALL ERROR COUNT PROCESS WHERE ADDRESS PORT NAME` for each.

        ERROR is `0` for attempts and datagrams that succeeded, which may be 0. WHERE is `here` for
        the namespace of this thread. CALL is followed by `;ARGUMENT;BY` where either is known: what
        the program gave (`arguments.words`), and what may have refused it: `seccomp`, programs as
        `NAME@GROUP,NAME@GROUP`, or `confined`: a sandbox.
        Lines of moments follow, see `counting.told`, of what failed as `CALL/ERROR`. A line `! WHY`
        says that calls are counted no more; attempts to connect still are.
        """
        self._turn()
        own, rows = counting.here(), Sums[_Failed]()
        threads = dict(self._begun.values())
        counts = self._counting.counts()
        for key, n in ((_KEY.unpack(raw), n) for raw, n in counts.items() if raw != _REST):
            pid, space, number, code, family, port, where, name, given, mode, both = key
            here, more = space == own, ""
            if CALLS[number] == asynchronous.CALL or (not number and code == errno.EPIPE):
                name = name if pid else asynchronous.SENDER.encode()
            elif here and number:
                told = self._names.argument(CALLS[number], code, pid, family, given, where)
                if told is None:
                    continue
                by = self._names.abroad(told) if code == errno.ECONNREFUSED else ""
                more = suffix(told, by or self._refusers.of(CALLS[number], code, pid, mode))
            elif given:  # an attempt that had begun before
                pid, name = self._begun.get(given, (pid, name))
                if not pid and here:
                    continue
            address = address_shown(family, where)
            if number and code in (OPENED, errno.EAGAIN) and not address:
                continue  # of netlink and others: not of a network or a service
            rows[_Failed(number, code, pid, here, address, port, name, more)] += n
            if both:
                rows[_Failed(number, 0, pid, here, address, port, name)] += 0
        for one in [row for row in rows if row.call == 1]:  # what is counted as an attempt too
            waited = one._replace(call=0, more="")
            if not rows[waited]:  # begun before by a thread with a name of its own
                waited = waited._replace(name=threads.get(one.pid, one.name))
            rows[one] -= min(rows[one], rows[waited])
        _leave_out_answers(rows)
        lines = [
            f"{CALLS[one.call]}{one.more} {error_name(one.error)} {n} {one.pid} "
            f"{'here' if one.here else 'elsewhere'} {one.address or '-'} {one.port or '-'} "
            f"{counting.shown(one.name)}"
            for one, n in sorted(rows.items())
            if n > 0 or not one.error
        ]
        lines += counting.told(once(self._counting.moments()), failure)
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


def _leave_out_answers(rows: Sums[_Failed]) -> None:
    """Those to datagrams of which calls tell, with the program."""
    seen = {(one.error, one.address, one.port) for one in rows if CALLS[one.call] in _ON_SOCKETS}
    for one in [one for one in rows if CALLS[one.call] == asynchronous.CALL]:
        if (one.error, one.address, one.port) in seen:
            del rows[one]


@cache  # the types of a kernel are long
def _programs() -> tuple[a.Parts, a.Parts, Mapping[str, a.Parts]]:
    """Those for the running kernel: of attempts to connect, of calls that fail, and others."""
    types = btf.Types(counting.types())
    return _attempts(types), _exit(types, names.machine(types)), _others(types)


def _others(types: btf.Types) -> Mapping[str, a.Parts]:
    """Programs by tracepoint: of io_uring and of datagrams, on a kernel that tells of them."""
    begin = (*_empty(), *a.store(a.R10, _AT + _CALL, a.R9, 2),
             *a.store(a.R10, _AT + _ERROR, a.R8, 2))  # fmt: skip
    add = (*a.number(a.R7, 1), *_moment(), *counting.add(_AT, _SIZE, a.R7))
    given = own_socket.given(*_END, _GIVEN, by=a.READ_ANY)
    socket_ = (*arguments.of_socket(types, _AT + _ARGUMENT, _AT + _ERROR), *_other_end(types))
    key = asynchronous.Key(
        (*begin, *_owner(types)), given, socket_, add, _AT + _ARGUMENT, _GIVEN)  # fmt: skip
    found = dict[str, a.Parts]()
    with suppress(KeyError):
        found[asynchronous.TRACEPOINT] = asynchronous.program(types, CALLS.index, _WAITING, key)
    with suppress(KeyError):
        begin = (*a.number(a.R9, CALLS.index(asynchronous.CALL)), *begin)
        found[asynchronous.ANSWERS] = asynchronous.answers_program(
            types, begin, _owner(types), _AT + _SPACE, _END, add
        )
    return found


def _empty() -> a.Parts:
    return tuple(part for at in range(0, _SIZE, 8) for part in a.put(a.R10, _AT + at, 0))


def _owner(types: btf.Types) -> a.Parts:
    """Store the process that runs, its name and its namespace in the key."""
    return (
        *counting.process(_AT + _PID, _GIVEN),
        *a.stack(a.R1, _AT + _NAME), *a.number(a.R2, 16), *a.call(a.COMM),
        *counting.space(types, _AT + _SPACE),
    )  # fmt: skip


def _exit(types: btf.Types, machine: Machine) -> a.Parts:
    """The program at the exit of a call: R6 has its registers, R7 its number, R8 the error."""
    column, places = machine.column, machine.arguments
    every = enumerate(SYSTEM_CALLS.items(), start=1)
    calls = [(at, name, one[column]) for at, (name, one) in every if one[column] >= 0]

    def each(names: Collection[str]) -> a.Parts:
        return tuple(part for _, name, number in calls if name in names
                     for part in a.when(a.R7, "==", number, name))  # fmt: skip

    def to(label: str, names: Collection[str]) -> a.Parts:
        return tuple(part for at, name, _ in calls if name in names
                     for part in a.when(a.R9, "==", at, label))  # fmt: skip

    end = (*a.when(a.R9, "!=", CALLS.index("connect"), "no address"),
           *arguments.path_end(places, _AT + _ARGUMENT))  # fmt: skip
    long = arguments.address_long(places, _GIVEN, to)
    wanted = interfaces.wanted(places, _GIVEN)
    return (
        *a.load(a.R6, a.R1, 0), *a.load(a.R8, a.R1, 8), *_counted(),
        *a.when(a.R8, ">=", -4095, "failed"), *_sender(*a.call(a.LOOKUP)),
        *a.when(a.R0, "==", 0, "out"), *a.number(a.R8, 0), *a.go("number"),  # it sends well
        "failed", *a.negate(a.R8),
        *(part for one in sorted(_WAITING - {errno.EAGAIN})
          for part in a.when(a.R8, "==", one, "out")),
        "number", *read(a.R7, a.R6, machine.number, 4),
        *a.when(a.R8, "==", 0, "given back"), *each(_STARTS),
        *a.when(a.R8, "==", errno.EAGAIN, "given back"),
        *each(SYSTEM_CALLS.keys() - {*_STARTS}), *a.go("out"),
        "given back", *each(_SENDS), *a.when(a.R8, "==", 0, "out"), *each(("connect",)),
        *a.go("out"),
        *(part for at, name, _ in calls
          for part in (name, *a.number(a.R9, at), *wanted.get(name, a.go("key")))),
        "key", *_empty(), *a.store(a.R10, _AT + _CALL, a.R9, 2),
        *a.store(a.R10, _AT + _ERROR, a.R8, 2), *_owner(types),
        *own_socket.confined(types, _AT + _MODE), *to("first", ("connect", "bind")),
        *to("datagram", ("sendto",)), *to("message", arguments.MESSAGES), *to("kind", ("socket",)),
        *to("option", ("setsockopt",)), *to("polled", arguments.POLLS),
        *to("no address", _ON_SOCKETS), *to("set up", interfaces.CALLS),
        *to("second", own_file.SECOND), *to("first file", (*own_file.CALLS, "listen")),
        *a.go("count"),
        "set up", *interfaces.given(places, _AT + _ARGUMENT, _AT + _ADDRESS, to), *a.go("count"),
        "kind", *arguments.kind(places, _AT + _ARGUMENT), *a.go("count"),
        "option", *arguments.option(places, _AT + _ARGUMENT, _AT + _ADDRESS),
        "polled", *arguments.descriptors(places, _AT + _ARGUMENT), *a.go("count"),
        "message", *arguments.message(places, _AT + _ARGUMENT, _GIVEN), *a.go("address"),
        "datagram", *arguments.flags(places, _AT + _ARGUMENT),
        *read(a.R7, a.R6, places[4]), *a.go("address"),
        "first", *read(a.R7, a.R6, places[1]),
        "address", *own_socket.given(*_END, _GIVEN, long, end),
        *to("sized", ("bind",)), *to("of a socket", _ON_SOCKETS),
        *a.load(a.R7, a.R10, _AT + _ERROR, 2), *a.when(a.R7, "!=", errno.EADDRNOTAVAIL, "count"),
        *to("sized", ("connect",)), *a.go("count"),
        "of a socket", *arguments.size(places, _AT + _ARGUMENT, _AT + _ERROR, _GIVEN, to),
        "first file", *read(a.R7, a.R6, places[0]), *a.go("file"),
        "second", *read(a.R7, a.R6, places[2]), "file", *a.store(a.R10, _PENDING, a.R7),
        *own_socket.found(types, "no socket"),
        *to("out", own_file.CALLS.keys() - {"splice"}),
        *arguments.of_socket(types, _AT + _ARGUMENT, _AT + _ERROR), *to("own end", ("listen",)),
        *_other_end(types), *a.go("judged"),
        "own end", *a.load(a.R7, a.R10, _AT + _ERROR, 2),
        *a.when(a.R7, "!=", errno.EADDRINUSE, "count"), *own_socket.own(types, *_END),
        *a.go("count"), "no socket", *to("of files", _WITH_FILES), *a.go("judged"),
        "of files", *own_file.found(types, _AT + _ERROR, _PENDING, _AT + _ARGUMENT, _END[0]),
        *a.go("count"),
        "judged", *a.load(a.R7, a.R10, _AT + _ERROR, 2),
        *a.when(a.R8, "==", _DATAGRAMS, "datagrams"), *a.when(a.R7, "==", 0, "out"),
        *a.when(a.R7, "==", errno.EAGAIN, "out"), *a.go("count"),
        "datagrams", *a.when(a.R7, "==", 0, "no moment"), *to("sent", _SENDS), *a.go("count"),
        "sent", *a.put(a.R10, _GIVEN, 0), *a.put(a.R10, _AT + _BOTH, 1, 4),
        *_sender(*a.stack(a.R3, _GIVEN), *a.number(a.R4, 0), *a.call(a.UPDATE)),
        "count", *a.number(a.R7, 1), *_moment(),
        "no moment", *a.number(a.R7, 1), *counting.add(_AT, _SIZE, a.R7),
        "out", *a.end(),
    )  # fmt: skip


def _sender(*then: a.Part) -> a.Parts:
    """The process in the table of those whose datagrams failed, and a call for it."""
    return (
        *a.call(a.PID), *a.change(a.R0, ">>", 32), *a.store(a.R10, _PENDING, a.R0),
        *a.map_of(a.R1, "senders"), *a.stack(a.R2, _PENDING), *then,
    )  # fmt: skip


def _other_end(types: btf.Types) -> a.Parts:
    """Store the other end of the socket R6, unless the program gave an address."""
    family, port = _AT + _FAMILY, types.offset("sock", "__sk_common.skc_dport")
    return (
        *read(a.R7, a.R6, types.offset("sock", "__sk_common.skc_family"), 2),
        *a.when(a.R7, "!=", socket.AF_UNIX, "internet"), *a.store(a.R10, family, a.R7, 2),
        *a.put(a.R10, _AT + _ARGUMENT, 0), *own_socket.other_inode(types, _AT + _ARGUMENT),
        *a.go("judged"),
        "internet", *a.load(a.R7, a.R10, _AT + _ERROR, 2),
        *a.when(a.R7, "!=", errno.ETIMEDOUT, "in time"), *a.when(a.R8, "!=", _STREAM, "in time"),
        *read(a.R7, a.R6, types.offset("inet_connection_sock", "icsk_user_timeout"), 4),
        *a.store(a.R10, _AT + _ARGUMENT, a.R7),
        "in time", *a.load(a.R7, a.R10, family, 2), *a.when(a.R7, "!=", 0, "judged"),
        *read(a.R7, a.R6, port, 2), *a.when(a.R7, "==", 0, "judged"),
        *own_socket.destination(types, *_END),
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


def _attempts(types: btf.Types) -> a.Parts:
    """The program at each change of a TCP socket's state: R6 the socket, R8 and R9 old and new."""
    error = types.offset("sock", "sk_err")
    return (
        *a.load(a.R6, a.R1, 0), *a.load(a.R8, a.R1, 8), *a.load(a.R9, a.R1, 16),
        *a.low_half(a.R8), *a.low_half(a.R9),
        *a.store(a.R10, _PENDING, a.R6), *_empty(),
        *a.when(a.R9, "==", _SYN_SENT, "begins"), *a.when(a.R8, "==", _SYN_SENT, "ends"),
        *a.when(a.R8, "!=", _CLOSE_WAIT, "out"), *read(a.R7, a.R6, error, 4),
        *a.when(a.R7, "!=", errno.EPIPE, "out"), *own_socket.space(types, _AT + _SPACE),
        *a.go("ended"),
        "ends",  # take the key that was kept
        *a.map_of(a.R1, "pending"), *a.stack(a.R2, _PENDING), *a.call(a.LOOKUP),
        *a.when(a.R0, "==", 0, "begun before"),
        *(part for at in range(0, _OWNER, 8)
          for part in (*a.load(a.R7, a.R0, at), *a.store(a.R10, _AT + at, a.R7))),
        *a.map_of(a.R1, "pending"), *a.stack(a.R2, _PENDING), *a.call(a.DELETE),
        *a.go("ended"),
        "begun before", *own_socket.inode(types, _AT + _ARGUMENT),
        *own_socket.space(types, _AT + _SPACE),
        "ended", *own_socket.destination(types, *_END),
        *a.when(a.R9, "!=", _CLOSE, "count"),
        *read(a.R7, a.R6, error, 4),
        *a.when(a.R7, "!=", 0, "failed"),
        # without a timer no SYN was sent: the call fails that began it, and is counted itself
        *read(a.R7, a.R6, types.offset("inet_connection_sock", "icsk_pending"), 1),
        *a.when(a.R7, "==", 0, "out"), *a.number(a.R7, GIVEN_UP),
        "failed", *a.store(a.R10, _AT + _ERROR, a.R7, 2),
        *a.number(a.R7, 1), *_moment(),
        "count", *a.number(a.R7, 1), *counting.add(_AT, _SIZE, a.R7),
        "begins", *_owner(types),
        *a.map_of(a.R1, "pending"), *a.stack(a.R2, _PENDING), *a.stack(a.R3, _AT),
        *a.number(a.R4, 0), *a.call(a.UPDATE),
        "out", *a.end(),
    )  # fmt: skip
