"""BPF programs of others that decide about calls and packets: bpf(2), BPF_PROG_QUERY.

A program that is attached to a control group decides about the calls of the groups below it as well
(kernel/bpf/cgroup.c, cgroup_bpf_query()). Others may drop a packet with a reason that several
share: a filter of a socket (`SOCKET_FILTER`) may be its own, or a program of its control group that
sees what arrives (__cgroup_bpf_run_filter_skb()); another one sees what it sends
(`BPF_CGROUP_EGRESS`). At a hook of netfilter (`NETFILTER_DROP`) a program may stand beside the
rules (net/netfilter/nf_bpf_link.c, Linux 6.4); the kernel does not say in which network namespace.
Programs of tcx (Linux 6.6) are attached to an interface (kernel/bpf/tcx.c, tcx_prog_query()), and
no filter of tc shows them; the one of XDP is told with the interface. A program that looks for a
socket before the kernel (`NO_SOCKET`) is of the network namespace (sk_lookup, Linux 5.9).
"""

import errno
import os
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from ..netlink import route
from ..netlink.codec import Request, decode, messages
from ..netlink.diag import BY_FAMILY
from ..netlink.kernel import Kernel
from . import asynchronous, call

_MOST: Final = 8  # programs of one kind of a group that are looked at
_INFO: Final = 128  # bytes of struct bpf_prog_info
_NAME: Final = 64  # bytes of it before the name
# kinds of attachment (enum bpf_attach_type) by call; ingress, egress: of what sockets take, send
_SENDS: Final = (1, 14, 15)  # BPF_CGROUP_INET_EGRESS, BPF_CGROUP_UDP4_SENDMSG, …6
_KINDS: Final[Mapping[str, Sequence[int]]] = {
    "connect": (10, 11, 1), "bind": (8, 9, 12, 13), "socket": (2,), "setsockopt": (22,),
    "ingress": (0,), "egress": (1,),
    "sendto": _SENDS, "sendmsg": _SENDS, "sendmmsg": _SENDS, "write": _SENDS, "writev": _SENDS,
}  # fmt: skip


_CONFINED: Final = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EAFNOSUPPORT)  # of a filter
_ROUTED: Final = (errno.ENETUNREACH, errno.EHOSTUNREACH)  # which a filter answers as well
_FILTER: Final = 2  # SECCOMP_MODE_FILTER
_BOXED: Final = (errno.EACCES, errno.EPERM)  # what a sandbox answers


class Refusers:
    """What may have refused calls, looked for once for a process and call."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._found = dict[tuple[str, int], list[str]]()

    def of(self, name: str, error: int, pid: int, mode: int) -> str:
        """The words for a call that failed so; `mode`: of seccomp."""
        found = ["seccomp"] if mode == _FILTER and error in (*_CONFINED, *_ROUTED) else []
        if error == errno.EPERM and pid:
            if (name, pid) not in self._found:
                self._found[name, pid] = of_group(name, pid)
            found += self._found[name, pid]
        if not found and error in _BOXED and name in ("connect", "bind") and pid:
            found += confined(pid)
        return ",".join(found)


def of_group(name: str, pid: int) -> list[str]:
    """`PROGRAM@GROUP` of those that may refuse this call of the process; empty if not readable."""
    with suppress(OSError, ValueError):
        path = _group(pid)
        mount = _mount(pid, path)
        return list(dict.fromkeys(_found(name, path, mount))) if path and mount else []
    return []


def confined(pid: int) -> list[str]:
    """`confined` if the process may not gain rights, without which no sandbox is begun.

    security/landlock/syscalls.c, landlock_restrict_self().
    """
    with suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return ["confined"] if any(line == "NoNewPrivs:\t1\n" for line in file) else []
    return []


def _group(pid: int) -> str:
    """The control group of the process, of version 2, as this process names it."""
    with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
        return next((line[3:].rstrip("\n") for line in file if line.startswith("0::")), "")


def _mount(pid: int, path: str) -> str:
    """Where the control groups of version 2 are mounted as a whole; empty where they are not seen.

    As another process has them where this one does not: `ip netns exec` mounts another /sys. Who
    started this one may have them, and can be looked at where process 1 cannot.
    """
    others = ((one, f"/proc/{one}/root") for one in (pid, *_parents(), 1))
    for process, root in (("self", ""), *others):
        with suppress(OSError), open(f"/proc/{process}/mountinfo", encoding="utf-8") as file:
            for line in file:
                first, _, last = line.partition(" - ")
                where = first.split()[3:5]
                found = last.startswith("cgroup2 ") and where[:1] == ["/"]
                if found and os.path.isdir(root + where[1] + path):
                    return root + where[1]
    return ""


def _parents() -> Iterator[int]:
    """The process that started this one, and those above it, process 1 left out."""
    number = os.getppid()
    while number > 1:
        yield number
        with open(f"/proc/{number}/stat", encoding="utf-8") as file:
            number = int(file.read().rpartition(")")[2].split()[1])


def _found(name: str, path: str, mount: str) -> Iterator[str]:
    """From the group of the process upwards."""
    while True:
        handle = os.open(mount + path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for kind in _KINDS.get(name, ()):
                for number in call.attached_to(handle, kind, _MOST):
                    yield f"{name_of(number)}@{path or '/'}"
        finally:
            os.close(handle)
        if path in ("", "/"):
            return
        path = path.rpartition("/")[0]


def name_of(number: int) -> str:
    """The name of a loaded program; OSError if it is gone."""
    raw = call.information(number, _INFO)[_NAME : _NAME + 16]
    return raw.split(b"\0", 1)[0].decode("ascii", "replace") or f"program {number}"


FILTERED, HOOKED, SENT = "SOCKET_FILTER", "NETFILTER_DROP", "BPF_CGROUP_EGRESS"
SOUGHT, XDP = "NO_SOCKET", "XDP"
_LOOKUP: Final = 36  # BPF_SK_LOOKUP
TCX: Final = {"TC_INGRESS": (46, "ingress"), "TC_EGRESS": (47, "egress")}  # enum bpf_attach_type
# instead of a call: a packet that a socket receives, or sends
SIDES: Final = {FILTERED: "ingress", SENT: "egress"}
_STATES: Final = {"udp": 1 << 1 | 1 << 7, "tcp": 1 << 1 | 1 << 10}  # open; not connected, listens
_NUMBERS: Final = {"udp": socket.IPPROTO_UDP, "tcp": socket.IPPROTO_TCP}
_INODE: Final = 68  # bytes from the begin of struct inet_diag_msg
_ANY: Final = (1 << 12) - 1  # states: a socket that sends may have any
_NEAREST: Final = 4  # sockets of a port whose programs are looked for
_ATTACHED: Final = 8  # programs of an interface that are looked at
_LINK: Final = struct.Struct("=III4xIIi")  # struct bpf_link_info: kind, …, family, hook, priority
_NETFILTER: Final = 10  # BPF_LINK_TYPE_NETFILTER
_HOOKS: Final = ("prerouting", "input", "forward", "output", "postrouting")
_FAMILIES: Final = {socket.AF_INET: "ip", socket.AF_INET6: "ip6"}


class Dropping:
    """What is looked for once: the programs by reason, protocol, and port or interface."""

    def __init__(self) -> None:
        """Nothing is looked for before packets are dropped so."""
        self._known = dict[tuple[str, str, int], str]()

    def programs(self, reason: str, at: str, protocol: str, port: int, interface: int) -> str:
        """`NAME@PLACE` of each, with commas; empty: none is known. `at`: function that drops.

        PLACE is a control group, `FAMILY/HOOK`, `tcx/ingress` or `tcx/egress`, `sk_lookup`, or
        `xdp/NUMBER` with the number of the program.
        """
        reason = XDP if "_xdp" in at else reason
        key = (reason, "", interface) if reason in (*TCX, XDP) else (reason, protocol, port)
        key = (reason, "", 0) if reason in (HOOKED, SOUGHT) else key
        if key not in self._known and not self._enough(reason):
            found = _programs(*key)
            with suppress(OSError, ValueError):
                self._known[key] = ",".join(dict.fromkeys(found))
        return self._known.get(key, "")

    def _enough(self, reason: str) -> bool:
        """Whether the programs of enough ports are known: each connection has one of its own."""
        return reason == SENT and sum(bool(found) for key, found in self._known.items()
                                      if key[0] == SENT) >= _NEAREST  # fmt: skip


def _programs(reason: str, protocol: str, number: int) -> Iterator[str]:
    """The programs of one key."""
    if reason == HOOKED:
        yield from _hooked()
    elif reason == SOUGHT:
        with open("/proc/self/ns/net", "rb") as file:
            for one in call.attached_to(file.fileno(), _LOOKUP, _ATTACHED):
                yield f"{name_of(one)}@sk_lookup"
    elif reason == XDP and number:
        ask = Request("route", route.GETLINK, route.IFINFO.pack(0, 0, number, 0, 0), "route/link")
        answer = Kernel().ask(ask)
        for _, start, end in messages(answer):
            link = decode(answer, start + route.IFINFO.size, end, route.LINK)
            if one := link.get("xdp", {}).get("program"):
                yield f"{name_of(one)}@xdp/{one}"
    elif reason in TCX and number:
        kind, place = TCX[reason]
        for one in call.attached_to(number, kind, _ATTACHED):
            yield f"{name_of(one)}@tcx/{place}"
    elif reason in SIDES and protocol in _NUMBERS and number:
        states = _ANY if reason == SENT else _STATES[protocol]
        inodes = set(_sockets(protocol, number, states)[:_NEAREST])
        for pid, _ in asynchronous.owners(inodes).values():
            yield from of_group(SIDES[reason], pid)


def _sockets(protocol: str, port: int, states: int) -> list[int]:
    """The inodes of the sockets of this network namespace at a port."""
    kernel, found = Kernel(), []
    for family in (socket.AF_INET, socket.AF_INET6):
        body = struct.pack("=BBBxIH46x", family, _NUMBERS[protocol], 0, states, socket.htons(port))
        answer = kernel.ask(Request("sock_diag", BY_FAMILY, body, "sock_diag/port", dump=True))
        for kind, start, end in messages(answer):
            if kind == BY_FAMILY and end - start >= _INODE + 4:
                (own,) = struct.unpack_from(">H", answer, start + 4)
                if own == port:
                    found.append(struct.unpack_from("=I", answer, start + _INODE)[0])
    return [one for one in found if one]


def _hooked() -> Iterator[str]:
    """The programs at hooks of netfilter."""
    for info in call.links(_LINK.size):
        kind, _, program, family, hook, _ = _LINK.unpack(info)
        if kind == _NETFILTER and hook < len(_HOOKS):
            place = f"{_FAMILIES.get(family, family)}/{_HOOKS[hook]}"
            yield f"{name_of(program)}@{place}"
