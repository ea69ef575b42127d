"""What an error means for what the program gave: an address, a port, a size, a kind of socket.

One errno has several reasons, and the arguments of the call rule out most of them.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface
from typing import TYPE_CHECKING, Final, NamedTuple

from ..collect import failed_calls
from ..collect._counted import Words
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
CONTROL: Final = "net.core.optmem_max"
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
    if protocol in _PING:
        return said._replace(
            means="The program may not ping: its group is not in net.ipv4.ping_group_range",
            advice='`sysctl -w net.ipv4.ping_group_range="0 2147483647"` lets every group ping; '
            f"else give the program the capability: `setcap cap_net_raw=+ep FILE`. {said.advice}",
        )
    return said._replace(
        means="A filter or a security module forbids the program to open a socket",
        cause="The socket needs no privilege: seccomp, a BPF program of the control group, SELinux "
        "or AppArmor denies it.",
        advice="`grep Seccomp /proc/PID/status` shows 2: a filter of calls; `ausearch -m avc -ts "
        "recent` and `dmesg` show a denial; `bpftool cgroup tree` the programs.",
    )


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
    if row.duplicate:
        return one.said._replace(
            means=f"Another host has the address {row.address} too: IPv6 does not let it be used",
            advice=f"`ip addr show {row.interface}` shows `dadfailed`. Give one of both hosts "
            "another address.",
        )
    if row.tentative:
        return one.said._replace(
            means=f"IPv6 still checks {row.address} for duplicates: the service starts too soon",
            advice=f"`ip addr show {row.interface}` shows `tentative`. Start the service later, or "
            "let it try again; IPV6_FREEBIND, or net.ipv6.conf.IF.optimistic_dad, does not wait.",
        )
    return one.said._replace(
        means=f"The address {row.address} is on {row.interface}, and yet the socket cannot have it",
        cause="It came just now; or the socket belongs to a VRF or an interface (SO_BINDTODEVICE) "
        "that does not have it.",
        advice=f"`ip addr show {row.interface}` shows the address and its VRF (master), `strace -f "
        "-e trace=setsockopt,bind -p PID` the interface of the socket.",
    )


def _missing(one: Given) -> Words | None:
    """An address of a network in which this host has another one: who can add it, and how."""
    for row in one.frame.rows("addresses"):
        net = ip_interface(f"{row.address}/{row.prefix}").network
        if one.address in net and net.prefixlen < net.max_prefixlen and not net.is_loopback:
            added = f"{one.address}/{row.prefix} dev {row.interface}"
            return one.said._replace(
                means=f"The address {one.address} to bind is not on this host, though "
                f"{row.interface} has its network {net}",
                advice=f"If this host should have it, and no other host has: `ip addr add {added}` "
                f"(`arping -D -c 2 -I {row.interface} {one.address}` shows another owner). Else "
                "correct the address in the configuration of the program. "
                "net.ipv4.ip_nonlocal_bind=1 only lets a program listen there before a failover "
                "address comes: nothing is sent from an address that is not here.",
            )
    return None


def _forbidden(one: Given) -> Words | None:
    """bind() to a port that is not reserved: something else denies it."""
    low = next((row.value for row in one.frame.rows("sysctls") if row.name == RESERVED), "")
    if not one.port.isdecimal():
        return None
    if 0 < int(one.port) < int(low or LOW):
        return one.said._replace(
            means=f"Port {one.port} is reserved: those below {low} ({RESERVED}) need "
            "CAP_NET_BIND_SERVICE",
            advice=f"{one.said.advice} Or lower the limit: `sysctl -w {RESERVED}={one.port}`.",
        ) if low else None  # fmt: skip
    return one.said._replace(
        means=f"A security module or a filter forbids to bind port {one.port}",
        cause=f"The port is not reserved ({RESERVED}): SELinux (port types), AppArmor, seccomp or "
        "a sandbox denies it.",
        advice="`ausearch -m avc -ts recent` shows a denial; `semanage port -l | grep "
        f"{one.port}` the type of the port, and `semanage port -a -t TYPE -p PROTOCOL {one.port}` "
        "gives it the type of the service.",
    )


def _without_interface(one: Given) -> Words | None:
    """An address of one link without the interface, or a port that no datagram can go to."""
    if one.address.version == 6 and one.address.is_link_local:
        return one.said._replace(
            means=f"{one.address} is of one link, and the program may name no interface",
            cause="Each interface has a network fe80::/64: the kernel needs the one that is meant, "
            "and it must be that of the socket, if that has one.",
            advice=f"Write it behind the address: {one.address}%IF; `ip -6 neigh` shows where it "
            "is.",
        )
    if one.port in ("", "0") and one.call in SENDS:
        return one.said._replace(
            means=f"The datagram to {one.address} has no port, or an argument is not valid",
            cause="The program gives port 0, which only raw sockets may. Or: " + one.said.cause,
            advice=f"Look for the port in the configuration of the program. {one.said.advice}",
        )
    return None


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
    return one.said._replace(
        means=f"{one.address} is a broadcast address, and the socket does not allow that",
        cause="Only a socket with SO_BROADCAST sends to all hosts of a network.",
        advice="If that is meant, let the program set SO_BROADCAST (ping -b). Else "
        "correct the address or the prefix length of the interface: `ip addr`.",
    )


def _group(one: Given) -> Words | None:
    """To a multicast group, which needs a route or an interface as well."""
    if not one.address.is_multicast:
        return None
    net, six = ("224.0.0.0/4", "") if one.address.version == 4 else ("ff00::/8", "-6 ")
    return one.said._replace(
        means=f"No interface is chosen for the group {one.address}, and no route leads there",
        cause="Without IP_MULTICAST_IF the interface of a group is that of the route; without a "
        "default route there is none.",
        advice=f"`ip {six}route add {net} dev IF`, or let the program choose its interface "
        "(IP_MULTICAST_IF).",
    )


def _cut(one: Given) -> Words | None:
    """A program of this host has ended the connection, and is known by its port."""
    if not any(entry.rate("tcp_cut") for entry in one.frame.tables.get("snmp", ())):
        return None
    names = owners(one.frame)
    own = {row.address for row in one.frame.rows("addresses")}
    for row in one.frame.rows("sockets_tcp"):
        found = row.state == "listen" and str(row.local_port) == one.port and names.get(row.inode)
        if found and (one.address.is_loopback or str(one.address) in own):
            return one.said._replace(
                means=f"{found}, which listens at port {one.port} here, ends connections by a "
                "reset",
                cause="It closes a connection whose data it has not read to the end "
                "(TCPAbortOnClose), or with SO_LINGER and a time of zero (TCPAbortOnData); or it "
                "ended.",
                advice=f"Let {found} read the whole request before it closes; or shutdown(SHUT_WR),"
                " read until the client closes, then close.",
            )
    return None


def _table_full(one: Given) -> Words | None:
    """A rule of the filter may refuse it, or connection tracking has no room."""
    rows = one.frame.rows("conntrack")
    row = next((row for row in rows if row.most and row.count >= row.most), None)
    return row and one.said._replace(
        means=f"The table of connection tracking is full ({row.count:,} of {row.most:,})",
        cause="The first packet of a connection finds no room, and is refused.",
        advice="`conntrack -S` shows the drops. Raise `sysctl net.netfilter.nf_conntrack_max`, or "
        "shorten the timeouts of connections that are gone.",
    )


def _no_room(one: Given) -> Words | None:
    """ENOBUFS where nothing below the socket drops: its own memory is what is short."""
    rows = [row for row in one.frame.rows("drop_reasons") if row.where == "here"]
    if any(row.place == ZERO_COPY for row in rows):
        return one.said._replace(
            means="Sending without a copy needs more locked memory than the program may have",
            cause="The pages of MSG_ZEROCOPY are locked, and RLIMIT_MEMLOCK of the program bounds "
            f"them; their notifications count towards {CONTROL}. No packet was made.",
            advice="`grep locked /proc/PID/limits` shows the limit: raise it (LimitMEMLOCK= of "
            "systemd, ulimit -l), or let the program send without MSG_ZEROCOPY when it fails.",
            rests="net/core/skbuff.c, mm_account_pinned_pages(), msg_zerocopy_realloc()",
        )
    full = any(row.reason.startswith(QUEUED) for row in rows)
    full = full or any(entry.rate("drops") for entry in one.frame.tables.get("qdiscs", ()))
    if full or "drop_reasons" not in one.frame.tables or one.call not in ("sendmsg", "sendmmsg"):
        return None
    return one.said._replace(
        means=f"The control data of a message may exceed {CONTROL}",
        cause="No queue of this host dropped anything meanwhile. The kernel copies the control "
        f"data of a message (cmsg) to memory of the socket, which {CONTROL} bounds.",
        advice=f"`sysctl {CONTROL}` shows the limit: raise it, or let the program give less "
        "control data. `strace -f -e trace=sendmsg -p PID` shows msg_controllen.",
        rests="net/socket.c, ____sys_sendmsg(); net/core/sock.c, sock_kmalloc()",
    )


def _no_address(one: Given) -> Words | None:
    """To an address of IPv6 from a host that has none."""
    if not no_source(str(one.address), one.frame):
        return None
    return failed_calls.words("connect", NO_ADDRESS, str(one.address))


_BY: Final[Mapping[tuple[str, str], Callable[[Given], Words | None]]] = {
    ("bind", NO_ADDRESS): _absent, ("bind", "EACCES"): _forbidden,
    ("bind", "EINVAL"): _without_interface, ("connect", "EINVAL"): _without_interface,
    ("send", "EINVAL"): _without_interface, ("connect", "EACCES"): _broadcast,
    ("send", "EACCES"): _broadcast,
    ("send", "ENETUNREACH"): _group, ("connect", "ENETUNREACH"): _group,
    ("send", "ECONNRESET"): _cut, **{(one, "ECONNRESET"): _cut for one in READS},
    ("send", "ENOBUFS"): _no_room, ("send", "EPERM"): _table_full,
    ("send", NO_ADDRESS): _no_address,
}  # fmt: skip
