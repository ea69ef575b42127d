"""The socket that takes the packets of this host: net/ipv4/inet_hashtables.c, net/ipv4/udp.c."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ...flow_words import EVERYWHERE, end
from ...flows import Full
from ...single import full, room
from ...used_ports import holder
from ..flow import HIDDEN, PASSES, STOPS, SUSPECT, Host, Step, address, network
from ..legs import IN, Leg, unbound
from ..lookup import LOCAL, routed

PLACE: Final = 110
COOKIES: Final = "net.ipv4.tcp_syncookies"
V6ONLY: Final = "net.ipv6.bindv6only"
_STOPPED: Final = "Tt"  # state of a process in /proc/PID/stat


def look(leg: Leg) -> Iterator[Step]:
    """Who listens at the port."""
    flow, host = leg.flow, leg.host
    if leg.role != IN or leg.back or not leg.hop.goes:
        return
    if not flow.port:
        yield from _kept(leg, SUSPECT, "")
        return
    table = f"sockets_{flow.protocol}"
    show = f"ss -ln{flow.protocol[0]}p sport = :{flow.port}"
    if why := host.unread(table):
        yield Step("listener", HIDDEN, f"the sockets: {why}", show)
        return
    rows = listeners(host, flow.protocol, flow.port)
    on = leg.question.arrives or _owner(leg)
    mine = [one for one in rows if misses(host, one, flow.to, on) is None]
    name = end(flow.to, flow.port)
    if not mine:
        if rows and (missed := misses(host, rows[0], flow.to, on)) is not None:
            only, change = missed
            yield Step(
                "listener", STOPS, f"nothing listens at {name}: {_who(host, rows[0].inode)} "
                f"listens at {end(rows[0].local, flow.port)} {only}", show, change,
            )  # fmt: skip
        else:
            saw = f"nothing listens at {flow.protocol} port {flow.port}"
            saw += f", to which {leg.by.who} sends these packets" if leg.by is not None else ""
            held = holder(host.frame, flow.protocol, flow.port)
            if kept := _kept(leg, STOPS, f", where {saw}"):
                yield from kept
            elif held is None:
                yield Step(
                    "listener",
                    STOPS,
                    saw,
                    show,
                    "start the service"
                    + (f", or correct the rule ({leg.by.show})" if leg.by is not None else ""),
                )
            else:
                yield Step("listener", STOPS, f"{saw}: {held.saw}",
                           f"ss -an{flow.protocol[0]}p sport = :{flow.port}",
                           held.change)  # fmt: skip
        return
    yield from _kept(leg, PASSES, "")
    yield from _state(host, mine[0], name, show, flow.protocol)
    if flow.protocol == "udp" and leg.question.arrives and mine[0].local in EVERYWHERE:
        leaves = routed(host, unbound(leg.question.source)).address
        if leaves is not None and address(leaves) != address(flow.to):
            yield Step(
                "listener", SUSPECT, f"the answers of {_who(host, mine[0].inode)} leave from "
                f"{leaves}, not from {flow.to}: it is bound to no address", show,
                f"let the service bind to {flow.to}, or answer from the address that was asked "
                "(IP_PKTINFO)",
            )  # fmt: skip


def _kept(leg: Leg, outcome: str, more: str) -> list[Step]:
    """A local route to what is no address of this host; empty: it is one.

    A whole network is local by an address on lo (net/ipv4/fib_frontend.c, fib_add_ifaddr()).
    """
    host, to = leg.host, leg.flow.to
    row = next((one for one in leg.hop.found.routes if one.kind == "local"), None)
    if leg.hop.kind != "local" or row is None or host.local(to) or host.unread("addresses"):
        return []
    table = f" table {row.table}" if row.table != LOCAL else ""
    by = next((f"{one.address}/{one.prefix} dev {one.interface}" for one in host.addresses
               if network(f"{one.address}/{one.prefix}") == network(row.to)), "")  # fmt: skip
    made = f", of the address {by}," if by else ""
    change = f"ip addr del {by}" if by else f"ip route del local {row.to} dev {_owner(leg)}{table}"
    six = "-6 " if ":" in to else ""
    return [
        Step(
            "local", outcome, f"{to} is no address of this host, and local route {row.to}"
            f"{table and f' of{table}'} dev {_owner(leg)}{made} keeps its packets here{more}",
            f"ip {six}route show table {row.table} type local", f"{change}, if {to} is another "
            f"host; an address for this host alone has the prefix length {128 if six else 32}",
        )
    ]  # fmt: skip


def _owner(leg: Leg) -> str:
    """The interface of an address of this host: what it sends to itself counts as from there."""
    local = (one.interface for one in leg.hop.found.routes if one.kind == "local")
    return next(filter(None, local), "lo")


def listeners(host: Host, protocol: str, port: int) -> list[Any]:
    """The sockets at a port that take packets from anyone."""
    return [
        one for one in host.frame.rows(f"sockets_{protocol}")
        if one.local_port == port
        and (one.state == "listen" if protocol == "tcp" else not one.remote_port)
    ]  # fmt: skip


def misses(host: Host, row: Any, to: str, on: str) -> tuple[str, str] | None:
    """Why a socket does not take what arrives for `to` on an interface, and what cures it.

    None: it takes it. net/ipv4/inet_hashtables.c, compute_score(). Of a UDP socket whose table
    was not read, device and IPV6_V6ONLY are not known.
    """
    more = row if hasattr(row, "v6only") else host.bound.get(row.inode)
    bound, link = getattr(more, "interface", None), host.links.get(on)
    if bound and bound != on and not (link is not None and link.master == bound):
        return f"on {bound} only", f"let the service bind to {on} or to no interface"
    if row.local not in EVERYWHERE:
        if address(row.local) == address(to):
            return None
        return "only", f"let the service listen at {to} or at every address"
    if row.local == "::" and address(to).version == 4 and getattr(more, "v6only", None):
        every = any(one.name == V6ONLY and one.value == "1" for one in host.frame.rows("sysctls"))
        by, cure = ("", "") if not every else (
            f", the default by {V6ONLY} 1", f": nettop set sysctl.{V6ONLY} 0, then restart it"
        )  # fmt: skip
        return (
            f"for IPv6 only (IPV6_V6ONLY{by})",
            f"let the service listen at 0.0.0.0:{row.local_port} too, or without IPV6_V6ONLY{cure}",
        )
    if row.local != "::" and address(to).version == 6:
        return "for IPv4 only", f"let the service listen at [::]:{row.local_port} too"
    return None


def _state(host: Host, row: Any, name: str, show: str, protocol: str) -> Iterator[Step]:
    """The queue of the socket, and its process."""
    who, pid = _who(host, row.inode), _pid(host, row.inode)
    state = next((one.state for one in host.frame.rows("processes") if one.pid == pid), "")
    if state and state in _STOPPED:
        yield Step("listener", STOPS, f"{who}, which listens at {name}, is stopped by a signal",
                   f"ps -o pid,stat,cmd -p {pid}", f"kill -CONT {pid}")  # fmt: skip
    elif protocol == "tcp" and row.recv_q > row.send_q:
        yield Step("listener", STOPS, f"the accept queue of {who} at {name} is full "
                   f"({row.recv_q} of {row.send_q})", show,
                   f"{who} must accept its connections")  # fmt: skip
    elif protocol == "tcp" and (queue := _handshakes(host, row)) is not None:
        by = "net.ipv4.tcp_max_syn_backlog" if queue.bound else f"the backlog of {who}"
        yield Step(
            "listener", STOPS, f"the SYN queue of {who} at {name} is full ({queue.drops:g} "
            f"handshakes wait, {by} has room for {queue.backlog}), and {COOKIES} is 0: new ones "
            "are dropped", f"ss -Htn state syn-recv sport = :{row.local_port}",
            f"sysctl -w {COOKIES}=1 keeps the service reachable, without it raise {by}; limit "
            "clients that are not wanted before this host",
        )  # fmt: skip
    else:
        yield Step("listener", PASSES, f"{who} listens at {end(row.local, row.local_port)}", show)


def _handshakes(host: Host, row: Any) -> Full | None:
    """Those that fill the SYN queue of a listener; None: there is room, or cookies stand in."""
    sysctls = {one.name: one.value for one in host.frame.rows("sysctls")}
    own = [one for one in host.frame.tables["sockets_tcp"] if one.now is row]
    waiting = host.frame.tables.get("half_open", ())
    return full(waiting, own, {}, room(sysctls)) if sysctls.get(COOKIES) == "0" else None


def _pid(host: Host, inode: int) -> int | None:
    rows = host.frame.rows("socket_owners")
    return next((one.pid for one in rows if one.inode == inode), None)


def _who(host: Host, inode: int) -> str:
    rows = host.frame.rows("socket_owners")
    return next((f"{one.name}[{one.pid}]" for one in rows if one.inode == inode), "a process")
