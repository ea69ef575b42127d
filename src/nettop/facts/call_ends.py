"""What an error means for what the program gave: an address, a port, a size, a kind of socket.

One errno has several reasons, and the arguments of the call rule out most of them.
rules/call-cases.toml has the words.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface
from typing import TYPE_CHECKING, Final, NamedTuple

from ..collect._counted import Words
from ..collect.failed_calls import case, words
from ..frame.rates import Frame
from .flow_words import owners
from .used_ports import NO_ADDRESS, SENDS, no_source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


READS: Final = ("recvfrom", "recvmsg", "read", "readv")
CONNECTS: Final = ("connect", "connection")
RESERVED: Final = "net.ipv4.ip_unprivileged_port_start"
# what begins the reasons of drops below a socket that sends, of which it may be told by ENOBUFS
QUEUED: Final = ("QDISC", "FQ_", "CAKE", "DUALPI2", "TC_EGRESS", "NETFILTER", "BPF_CGROUP", "NEIGH")
ZERO_COPY: Final = "msg_zerocopy_realloc"  # where a notification that found no room is freed
WHOLE: Final = 31  # a prefix this long or longer has no address for all its hosts
LOW: Final = 1024  # below this ports are reserved unless the setting says else
_THERE: Final = re.compile(r"\b([Oo])n the other end\b")
_PLAIN: Final = ("SOCK_STREAM", "SOCK_DGRAM")  # kinds of socket for which no privilege is needed
_PING: Final = ("IPPROTO_ICMP", "IPPROTO_ICMPV6")


class Given(NamedTuple):
    """A call that failed, with what the program gave."""

    said: Words
    call: str
    address: IPv4Address | IPv6Address
    port: str
    frame: Frame


def by_argument(said: Words, call: str, error: str, argument: str) -> Words:
    """The words for a socket of this kind: only raw sockets and those of ping need a privilege."""
    family, _, rest = argument.partition(",")
    kind, _, protocol = rest.partition(",")
    internet = call == "socket" and family in ("AF_INET", "AF_INET6")
    if not internet or error not in ("EACCES", "EPERM") or kind not in _PLAIN:
        return said
    return case(said, "ping" if protocol in _PING else "unopened")


def by_end(
    said: Words, call: str, error: str, end: tuple[str, str], frame: Frame
) -> Words:  # fmt: skip
    """The words for this end; the same where it rules nothing out."""
    try:
        address = ip_address(end[0].partition("%")[0].removeprefix("::ffff:"))
    except ValueError:
        return said  # a Unix socket, or no address
    given = Given(said, call, address, end[1], frame)
    kind = "send" if call in SENDS else "connect" if call in CONNECTS else call
    find = _BY.get((kind, error))
    return (find(given) if find else None) or _own(given) or said


def _own(one: Given) -> Words | None:
    """The other end is this host itself."""
    own = {row.address for row in one.frame.rows("addresses")}
    here = one.address.is_loopback or one.address.is_unspecified or str(one.address) in own
    if one.call not in (*CONNECTS, *SENDS) or not here:
        return None
    name = "on this host, at the address of the call"
    return one.said._replace(
        means=one.said.means.replace("The other end", "This host itself"),
        advice=_THERE.sub(lambda found: name if found[1] == "o" else name.capitalize(),
                          one.said.advice),
    )  # fmt: skip


def _absent(one: Given) -> Words | None:
    """bind() to an address: it is not here, or IPv6 does not let it be used."""
    rows = [row for row in one.frame.rows("addresses") if row.address == str(one.address)]
    if not rows:
        return _missing(one)
    row = rows[0]
    name = "duplicate" if row.duplicate else "tentative" if row.tentative else "present"
    return case(one.said, name, row=row)


def _missing(one: Given) -> Words | None:
    """An address of a network in which this host has another one: who can add it, and how."""
    for row in one.frame.rows("addresses"):
        net = ip_interface(f"{row.address}/{row.prefix}").network
        if one.address in net and net.prefixlen < net.max_prefixlen and not net.is_loopback:
            return case(one.said, "missing", to=one.address, row=row, net=net)
    return None


def _forbidden(one: Given) -> Words | None:
    """bind() to a port that is not reserved: something else denies it."""
    low = next((row.value for row in one.frame.rows("sysctls") if row.name == RESERVED), "")
    if not one.port.isdecimal():
        return None
    if 0 < int(one.port) < int(low or LOW):
        return case(one.said, "reserved", port=one.port, low=low) if low else None
    return case(one.said, "denied", port=one.port)


def _without_interface(one: Given) -> Words | None:
    """An address of one link without the interface, or a port that no datagram can go to."""
    if one.address.version == 6 and one.address.is_link_local:
        return case(one.said, "of-one-link", to=one.address)
    portless = one.port in ("", "0") and one.call in SENDS
    return case(one.said, "portless", to=one.address) if portless else None


def _broadcast(one: Given) -> Words | None:
    """To a broadcast address, which a socket must ask for."""
    if one.address.version != 4:
        return None
    ends = {
        ip_interface(f"{row.address}/{row.prefix}").network.broadcast_address
        for row in one.frame.rows("addresses")
        if row.family == 4 and row.prefix < WHOLE
    }
    if one.address not in ends and str(one.address) != "255.255.255.255":
        return None
    return case(one.said, "broadcast", to=one.address)


def _group(one: Given) -> Words | None:
    """To a multicast group, which needs a route or an interface as well."""
    if not one.address.is_multicast:
        return None
    net, six = ("224.0.0.0/4", "") if one.address.version == 4 else ("ff00::/8", "-6 ")
    return case(one.said, "group", to=one.address, net=net, six=six)


def _cut(one: Given) -> Words | None:
    """A program of this host has ended the connection, and is known by its port."""
    if not any(entry.rate("tcp_cut") for entry in one.frame.tables.get("snmp", ())):
        return None
    names = owners(one.frame)
    own = {row.address for row in one.frame.rows("addresses")}
    for row in one.frame.rows("sockets_tcp"):
        found = row.state == "listen" and str(row.local_port) == one.port and names.get(row.inode)
        if found and (one.address.is_loopback or str(one.address) in own):
            return case(one.said, "cut", who=found, port=one.port)
    return None


def _unanswered(one: Given) -> Words | None:
    """The other end closed all connections that are open there before it sent a byte but the FIN.

    tcp_fin() counts it (net/ipv4/tcp_input.c, tcp_rcv_nxt_update()).
    """
    ended = [row.bytes_received for row in one.frame.rows("sockets_tcp")
             if row.state == "close-wait" and str(row.remote_port) == one.port
             and row.remote.removeprefix("::ffff:") == str(one.address)]  # fmt: skip
    told = bool(ended) and all(count is not None and count <= 1 for count in ended)
    return case(one.said, "unanswered", to=one.address, port=one.port) if told else None


def _table_full(one: Given) -> Words | None:
    """A rule of the filter may refuse it, or connection tracking has no room."""
    rows = one.frame.rows("conntrack")
    row = next((row for row in rows if row.most and row.count >= row.most), None)
    return row and case(one.said, "table-full", row=row)


def _no_room(one: Given) -> Words | None:
    """ENOBUFS where nothing below the socket drops: its own memory is what is short."""
    rows = [row for row in one.frame.rows("drop_reasons") if row.where == "here"]
    if any(row.place == ZERO_COPY for row in rows):
        return case(one.said, "locked-memory")
    full = any(row.reason.startswith(QUEUED) for row in rows)
    full = full or any(entry.rate("drops") for entry in one.frame.tables.get("qdiscs", ()))
    if full or "drop_reasons" not in one.frame.tables or one.call not in ("sendmsg", "sendmmsg"):
        return None
    return case(one.said, "control-data")


def _no_address(one: Given) -> Words | None:
    """To an address of IPv6 from a host that has none."""
    if not no_source(str(one.address), one.frame):
        return None
    return words("connect", NO_ADDRESS, str(one.address))


_BY: Final[Mapping[tuple[str, str], Callable[[Given], Words | None]]] = {
    ("bind", NO_ADDRESS): _absent, ("bind", "EACCES"): _forbidden,
    ("bind", "EINVAL"): _without_interface, ("connect", "EINVAL"): _without_interface,
    ("send", "EINVAL"): _without_interface, ("connect", "EACCES"): _broadcast,
    ("send", "EACCES"): _broadcast,
    ("send", "ENETUNREACH"): _group, ("connect", "ENETUNREACH"): _group,
    ("connect", "EPIPE"): _unanswered,
    ("send", "ECONNRESET"): _cut, **{(one, "ECONNRESET"): _cut for one in READS},
    ("send", "ENOBUFS"): _no_room, ("send", "EPERM"): _table_full,
    ("send", NO_ADDRESS): _no_address,
}  # fmt: skip
