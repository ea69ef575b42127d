"""BPF programs that may drop a packet with a reason that others share.

A filter of a socket (`SOCKET_FILTER`) may be its own, or a program of its control group that sees
what arrives (kernel/bpf/cgroup.c, __cgroup_bpf_run_filter_skb()); another one sees what it sends
(`BPF_CGROUP_EGRESS`). At a hook of netfilter (`NETFILTER_DROP`) a program may stand beside the
rules (net/netfilter/nf_bpf_link.c, Linux 6.4); the kernel does not say in which network namespace.
Programs of tcx (Linux 6.6) are attached to an interface (kernel/bpf/tcx.c, tcx_prog_query()), and
no filter of tc shows them; the one of XDP is told with the interface. A program that looks for a
socket before the kernel (`NO_SOCKET`) is of the network namespace (sk_lookup, Linux 5.9).
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from ..netlink import route
from ..netlink.codec import Request, decode, messages
from ..netlink.diag import BY_FAMILY
from ..netlink.kernel import Kernel
from . import attached, begun, call

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
_MOST: Final = 4  # sockets of a port whose programs are looked for
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
            found = _found(*key)
            with suppress(OSError, ValueError):
                self._known[key] = ",".join(dict.fromkeys(found))
        return self._known.get(key, "")

    def _enough(self, reason: str) -> bool:
        """Whether the programs of enough ports are known: each connection has one of its own."""
        return reason == SENT and sum(bool(found) for key, found in self._known.items()
                                      if key[0] == SENT) >= _MOST  # fmt: skip


def _found(reason: str, protocol: str, number: int) -> Iterator[str]:
    """The programs of one key."""
    if reason == HOOKED:
        yield from _hooked()
    elif reason == SOUGHT:
        with open("/proc/self/ns/net", "rb") as file:
            for one in call.attached_to(file.fileno(), _LOOKUP, _ATTACHED):
                yield f"{attached.name_of(one)}@sk_lookup"
    elif reason == XDP and number:
        ask = Request("route", route.GETLINK, route.IFINFO.pack(0, 0, number, 0, 0), "route/link")
        answer = Kernel().ask(ask)
        for _, start, end in messages(answer):
            link = decode(answer, start + route.IFINFO.size, end, route.LINK)
            if one := link.get("xdp", {}).get("program"):
                yield f"{attached.name_of(one)}@xdp/{one}"
    elif reason in TCX and number:
        kind, place = TCX[reason]
        for one in call.attached_to(number, kind, _ATTACHED):
            yield f"{attached.name_of(one)}@tcx/{place}"
    elif reason in SIDES and protocol in _NUMBERS and number:
        states = _ANY if reason == SENT else _STATES[protocol]
        inodes = set(_sockets(protocol, number, states)[:_MOST])
        for pid, _ in begun.owners(inodes).values():
            yield from attached.attached(SIDES[reason], pid)


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
            yield f"{attached.name_of(program)}@{place}"
