"""The other end of what fails, in words that facts of several kinds share.

By these a finding about packets, a listener or an interface explains the calls that fail for it
(`advice.judge.causes`): `tcp 192.0.2.7:443` is an end at another host, `tcp :443` a service of this
host, `through tun0` the interface by which packets leave.
BPF programs of control groups are told as `NAME@GROUP`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from ..collect.drop_reasons import Row as DropRow
from ..frame.rates import Frame
from .flow_words import end
from .kinds.metric import prefixes, route
from .way.flow import SILENT, Host, address

_UNITS: Final = {"sd_fw_": "IPAddressDeny", "sd_bind": "SocketBindDeny"}  # programs of systemd


def program(one: str) -> str:
    """The program in words."""
    name, _, group = one.partition("@")
    known = setting(name)
    if known:
        return f"{known}= of {group.rpartition('/')[2]} ({name})"
    return f"BPF program {name} of control group {group}"


def setting(name: str) -> str:
    """The setting of systemd that loads a program of that name; empty for others."""
    return next((words for begin, words in _UNITS.items() if name.startswith(begin)), "")


LEAST: Final = 3  # packets to or from one end: fewer decide nothing
MAIN: Final = 254  # RT_TABLE_MAIN
# reasons that follow from the end of a connection, such as an answer that comes too late
LATE: Final = ("NO_SOCKET", "NOT_SPECIFIED", "QUEUE_PURGE", "SOCKET_", "TCP_")
# errors that the way of packets can give; all others are of the socket and its arguments alone
LED: Final = frozenset((
    *SILENT, "ECONNREFUSED", "ECONNRESET", "ENETUNREACH", "EHOSTDOWN", "ENETDOWN", "EACCES",
    "EPERM", "EINVAL", "EADDRNOTAVAIL", "EMSGSIZE", "ENOBUFS", "ENODEV", "EIO", "ENONET",
    "ENOPROTOOPT", "EPROTO",
))  # fmt: skip
_BOTH: Final = ("tcp", "udp")
PROTOCOLS: Final = {  # of calls; those on an open connection have the end of its socket
    "connection": ("tcp",),
    "connect": _BOTH,
    "sendto": _BOTH,
    "sendmsg": _BOTH,
    "sendmmsg": ("udp",),
    **dict.fromkeys(("recvfrom", "recvmsg", "read", "readv", "write", "writev"), _BOTH),
}


def service(protocol: str, port: int) -> str:
    """A port of this host at which a program listens."""
    return f"{protocol} :{port}"


def far(host: Host, protocol: str, to: str, port: int) -> str:
    """An end at another host, or a service of this one."""
    if host.local(to):
        return service(protocol, port)
    return f"{protocol} {end(str(address(to)), port)}"


def called(host: Host, call: str, error: str, ends: Collection[tuple[str, str]]) -> Iterator[str]:
    """The ends for which a call is, and the ways out if no answer comes at all.

    None of a call whose error is of the socket and its arguments alone.
    """
    known = [(to, port) for to, port in ends if port.isdecimal() and (":" in to or "." in to)]
    if error not in LED:
        return
    for to, port in known:
        for protocol in PROTOCOLS.get(call, ()):
            yield far(host, protocol, to, int(port))
    if call in PROTOCOLS and error in SILENT:
        yield from through(host.frame, (to for to, _ in known))


def dropped(host: Host, rows: Iterable[DropRow]) -> tuple[str, ...]:
    """The ends whose packets are dropped: those to them; and of what arrives, those from them.

    What arrives and is dropped because its connection is gone already tells nothing of why; what a
    BPF program drops does.
    """
    found: dict[str, int] = {}
    for row in rows:
        if row.protocol not in ("tcp", "udp") or not row.source or not row.to:
            continue
        sent = host.local(row.source)
        if not sent and row.reason.startswith(LATE) and not row.by:
            continue
        to, port = (row.to, row.to_port) if sent else (row.source, row.source_port)
        for one in {
            far(host, row.protocol, to, port),
            far(host, row.protocol, row.to, row.to_port),
        }:
            found[one] = found.get(one, 0) + row.packets
    return tuple(one for one, packets in found.items() if packets >= LEAST)


def writer(pid: int) -> str:
    """A program that writes to a file, for which its file system has no room."""
    return f"writer {pid}"


def leaving(nic: str) -> str:
    """An interface by which packets leave."""
    return f"through {nic}"


def through(frame: Frame, addresses: Iterable[str]) -> tuple[str, ...]:
    """The interfaces by which packets to these addresses leave, by the routes of the main table."""
    wanted = [one for one in addresses if one]
    if not wanted:
        return ()
    networks = prefixes([row for row in frame.rows("routes") if row.table == MAIN])
    ways = (route(one, networks) for one in wanted)
    return tuple(dict.fromkeys(leaving(way.interface) for way in ways if way and way.interface))
