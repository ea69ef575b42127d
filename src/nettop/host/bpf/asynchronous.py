"""Failures that no system call returns: operations of io_uring, and datagrams that ICMP answers.

An operation that fails is told by the tracepoint io_uring:io_uring_complete, since Linux 6.0
(include/trace/events/io_uring.h, io_uring/net.c), and has its own name.

A program that only waits for its socket sees that something is wrong and closes it, as a resolver
does: no call fails. The tracepoint sock:inet_sk_error_report (Linux 5.15) says to whom it sent, and
not which program it is; where the answer comes while the sender still runs, as from an address of
this host, the running process is known to be it: it has the credentials that opened the socket,
which each process has of its own (kernel/cred.c, copy_creds()). net/ipv4/udp.c, __udp4_lib_err().

The attempts to connect that had begun before they were counted, and who makes them.

The kernel does not say which program a socket in SYN-SENT belongs to: the links of /proc/PID/fd do.
Where no attempt is under way, none of them is read. net/ipv4/inet_diag.c, sock_diag(7).
"""

import errno
import os
import socket
import struct
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from ..netlink.codec import Request, messages
from ..netlink.diag import BY_FAMILY
from ..netlink.kernel import Kernel
from . import assembler as a
from . import btf, own_socket
from .counting import copied, read

_SYN_SENT: Final = 1 << 2
_INODE: Final = 68  # bytes from the begin of struct inet_diag_msg
_MOST: Final = 20_000  # links that are read

Owners = dict[int, tuple[int, bytes]]  # inode → process and its name


def attempts() -> Owners:
    """Who makes the attempts of this network namespace; those whose program is not found miss."""
    inodes = set[int]()
    with suppress(OSError, ValueError):
        kernel = Kernel()
        for family in (socket.AF_INET, socket.AF_INET6):
            body = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, 0, _SYN_SENT)
            answer = kernel.ask(Request("sock_diag", BY_FAMILY, body, "sock_diag/begun", dump=True))
            for kind, start, end in messages(answer):
                if kind == BY_FAMILY and end - start >= _INODE + 4:
                    inodes.add(struct.unpack_from("=I", answer, start + _INODE)[0])
    return owners(inodes - {0})


def owners(inodes: set[int]) -> Owners:
    """The process that holds each of these sockets, as far as it is found."""
    found, left = Owners(), _MOST
    names = {f"socket:[{inode}]": inode for inode in inodes}
    for pid in filter(str.isdecimal, os.listdir("/proc") if inodes else ()):
        with suppress(OSError):  # it is gone, or of another user
            for one in os.listdir(f"/proc/{pid}/fd")[:left]:
                left -= 1
                inode = names.get(os.readlink(f"/proc/{pid}/fd/{one}"))
                if inode is not None:
                    with open(f"/proc/{pid}/comm", "rb") as file:
                        found[inode] = int(pid), file.read(16).rstrip(b"\n").ljust(16, b"\0")
        if not left or len(found) == len(inodes):
            break
    return found


TRACEPOINT: Final = "io_uring_complete"
# enum io_uring_op with its call; those of files may be of sockets
_OPERATIONS: Final[Mapping[int, str]] = {
    1: "readv", 2: "writev", 9: "sendmsg", 10: "recvmsg", 13: "accept4", 16: "connect", 22: "read",
    23: "write", 26: "sendto", 27: "recvfrom", 45: "socket", 47: "sendto", 48: "sendmsg",
    56: "bind", 57: "listen", 58: "recvfrom",
}  # fmt: skip
_OF_FILES: Final = ("readv", "writev", "read", "write")
_RESULT_IN_ARGUMENT: Final = 7  # arguments of the tracepoint; since Linux 6.16 it has three
_LEAST: Final = 6  # of the kernel: before, the request was no argument


class Key(NamedTuple):
    """Code that makes the key of a failure; R6 and R9 are kept."""

    begin: a.Parts  # stores the call, R9, and the error, R8
    given: a.Parts  # stores the address at R7, of the program or of the kernel
    socket: a.Parts  # stores what the socket R6, of type R8, says, and its other end
    add: a.Parts
    argument: int  # of the stack: what the program gave beside an address
    scratch: int  # 8 bytes


def program(
    types: btf.Types, number: Callable[[str], int], waits: Collection[int], key: Key
) -> a.Parts:
    """The program at the end of an operation; KeyError on a kernel that does not tell enough."""
    place, names = types.offset, dict.fromkeys(_OPERATIONS.values())
    return (
        *a.load(a.R6, a.R1, 8), *_result(types), *a.when(a.R6, "==", 0, "out"),
        *a.when(a.R8, "<", -4095, "out"), *a.negate(a.R8),
        *(part for one in sorted({*waits, errno.ECANCELED})
          for part in a.when(a.R8, "==", one, "out")),
        *read(a.R7, a.R6, place("io_kiocb", "opcode"), 1),
        *(part for one, name in _OPERATIONS.items() for part in a.when(a.R7, "==", one, name)),
        *a.go("out"),
        *(part for name in names for part in (name, *a.number(a.R9, number(name)), *a.go("key"))),
        "key", *key.begin,
        *(part for name, label in _LABELS.items() if label in _given(types, key)
          for part in a.when(a.R9, "==", number(name), label)),
        *a.go("file"),
        *(part for label, code in _given(types, key).items() for part in (label, *code)),
        "address", *key.given, *a.when(a.R9, "==", number("connect"), "judged"),
        "file", *read(a.R7, a.R6, place("io_kiocb", "file")), *own_socket.of_file(types, "other"),
        *key.socket, *a.go("judged"),
        "other", *(part for name in _OF_FILES for part in a.when(a.R9, "==", number(name), "out")),
        "judged", *key.add,
        "out", *a.end(),
    )  # fmt: skip


_LABELS: Final = {"socket": "kind", "bind": "kept", "sendmsg": "message", "connect": "asked"}


def _given(types: btf.Types, key: Key) -> Mapping[str, a.Parts]:
    """What the request R6 has of the arguments, by label: R7 = where an address is.

    bind() is there since Linux 6.11, and keeps a copy of the address (io_uring/net.c); what
    sendto() was given is gone when it ends.
    """
    place = types.offset
    code = {
        "asked": (*read(a.R7, a.R6, place("io_connect", "addr")), *a.go("address")),
        "message": (
            *read(a.R7, a.R6, place("io_sr_msg", "umsg")),
            *a.put(a.R10, key.scratch, 0), *copied(key.scratch, a.R7, 0, 8, a.READ_USER),
            *a.load(a.R7, a.R10, key.scratch), *a.go("address"),
        ),
    }  # fmt: skip
    with suppress(KeyError):
        code["kind"] = tuple(
            part for name, to, size in (("domain", 0, 2), ("type", 2, 2), ("protocol", 4, 4))
            for part in (*read(a.R7, a.R6, place("io_socket", name), 4),
                         *a.store(a.R10, key.argument + to, a.R7, size))
        ) + a.go("judged")  # fmt: skip
    with suppress(KeyError):
        code["kept"] = (
            *read(a.R7, a.R6, place("io_kiocb", "async_data")), *a.when(a.R7, "==", 0, "file"),
            # it begins with the address, or with a pointer, of which the lowest bits are 0
            *read(a.R8, a.R7, 0, 1), *a.change(a.R8, "&", 7), *a.when(a.R8, "!=", 0, "address"),
            *a.change(a.R7, "+", place("io_async_msghdr", "addr")), *a.go("address"),
        )  # fmt: skip
    return code


def _result(types: btf.Types) -> a.Parts:
    """R8 = the result."""
    arguments = types.arguments(TRACEPOINT)
    if int(os.uname().release.partition(".")[0]) < _LEAST:
        raise KeyError(TRACEPOINT)
    if arguments == _RESULT_IN_ARGUMENT:
        return (*a.load(a.R8, a.R1, 24), *a.signed_half(a.R8))
    return (
        *a.load(a.R7, a.R1, 16), *read(a.R8, a.R7, types.offset("io_uring_cqe", "res"), 4),
        *a.signed_half(a.R8),
    )  # fmt: skip


ANSWERS: Final = "inet_sk_error_report"
CALL: Final = "datagram"
SENDER: Final = "a program"
_UDP: Final = 17


def answers_program(
    types: btf.Types, begin: a.Parts, owner: a.Parts, space: int, end: tuple[int, int, int],
    add: a.Parts,
) -> a.Parts:  # fmt: skip
    """The program at each report of an error; KeyError on a kernel without it.

    `begin` stores the call R9 and the error R8, `owner` the process that runs, `add` counts; the
    others are stack offsets, of the namespace, and of family, port and address of the other end.
    """
    types.arguments(ANSWERS)
    return (
        *a.load(a.R6, a.R1, 0),
        *read(a.R7, a.R6, types.offset("sock", "sk_protocol"), 1),
        *a.when(a.R7, "!=", _UDP, "out"),
        *read(a.R7, a.R6, types.offset("sock", "__sk_common.skc_dport"), 2),
        *a.when(a.R7, "==", 0, "out"),  # it is not connected
        *read(a.R8, a.R6, types.offset("sock", "sk_err"), 4), *a.when(a.R8, "==", 0, "out"),
        *begin,
        *read(a.R7, a.R6, types.offset("sock", "sk_socket")), *a.when(a.R7, "==", 0, "another"),
        *read(a.R7, a.R7, types.offset("socket", "file")), *a.when(a.R7, "==", 0, "another"),
        *read(a.R8, a.R7, types.offset("file", "f_cred")), *a.when(a.R8, "==", 0, "another"),
        *a.call(a.TASK), *a.move(a.R7, a.R0),
        *read(a.R7, a.R7, types.offset("task_struct", "cred")),
        *a.same(a.R7, a.R8, "sender"), *a.go("another"),
        "sender", *owner,
        "another", *own_socket.space(types, space),
        *own_socket.destination(types, *end), *add,
        "out", *a.end(),
    )  # fmt: skip
