"""Datagrams that ICMP answers: the tracepoint sock:inet_sk_error_report, since Linux 5.15.

A program that only waits for its socket sees that something is wrong and closes it, as a resolver
does: no call fails. The kernel says to whom it sent, and not which program it is; where the answer
comes while the sender still runs, as from an address of this host, the running process is known to
be it: it has the credentials that opened the socket, which each process has of its own
(kernel/cred.c, copy_creds()). net/ipv4/udp.c, __udp4_lib_err().
"""

from __future__ import annotations

from typing import Final

from . import assembler as a
from . import btf, own_socket
from .counting import read

TRACEPOINT: Final = "inet_sk_error_report"
CALL: Final = "datagram"
SENDER: Final = "a program"
_UDP: Final = 17


def program(
    types: btf.Types, begin: a.Parts, owner: a.Parts, space: int, end: tuple[int, int, int],
    add: a.Parts,
) -> a.Parts:  # fmt: skip
    """The program at each report of an error; KeyError on a kernel without it.

    `begin` stores the call R9 and the error R8, `owner` the process that runs, `add` counts; the
    others are stack offsets, of the namespace, and of family, port and address of the other end.
    """
    types.arguments(TRACEPOINT)
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
