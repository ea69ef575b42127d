"""The ports of a bridge that packets cross: net/bridge/br_forward.c, br_input.c."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ....collect.links import Row as LinkRow
from ...flow_words import owners
from ..flow import HIDDEN, PASSES, STOPS, SUSPECT, Step, address
from ..legs import BRIDGED, IN, OUT, Leg
from .device import elsewhere, raised
from .listener import listeners

PLACE: Final = 70
_OPEN: Final = "forwarding"
MOST: Final = 3  # ports that are named
_FORWARDER: Final = "docker-proxy"  # program that forwards what comes to published ports


def look(leg: Leg) -> Iterator[Step]:
    """The bridge of the way out, and that of the way in."""
    if leg.role == BRIDGED:
        port, bridge = leg.question.arrives or "", leg.hop.interface or ""
        yield from _within(leg, port) if port == bridge else _crossed(leg, port, bridge)
        return
    names = [leg.hop.interface] if leg.hop.goes and leg.hop.kind == "unicast" else []
    names += [leg.question.arrives] if leg.role != OUT else []
    for name in dict.fromkeys(names):
        link = leg.host.links.get(name or "")
        if link is None:
            continue
        if link.kind == "bridge" and link.up:
            yield from _bridge(leg, link.interface)
            yield from _published(leg, link.interface)
        if link.slave_kind == "bridge":
            yield Step(
                "bridge", STOPS, f"{link.interface} is a port of the bridge {link.master}: what it "
                "receives goes to the bridge, not to the addresses of the port",
                f"bridge link show dev {link.interface}",
                f"move the addresses and routes of {link.interface} to {link.master}",
            )  # fmt: skip


def _published(leg: Leg, bridge: str) -> Iterator[Step]:
    """A published port, whose client is on the bridge of the containers: a program forwards it too.

    What rules translate for such a client is answered within the bridge, unless br_netfilter hands
    its frames to them.
    """
    flow, host = leg.flow, leg.host
    calls = f"net.bridge.bridge-nf-call-ip{'6' * (':' in flow.to)}tables"
    off = any((one.name, one.value) == (calls, "0") for one in host.frame.rows("sysctls"))
    if leg.role != IN or leg.back or not off or leg.question.arrives != bridge:
        return
    who = owners(host.frame)
    named = (who.get(one.inode, "") for one in listeners(host, flow.protocol, flow.port))
    by = next((one for one in named if one.partition("[")[0] == _FORWARDER), "")
    if by:
        yield Step(
            "bridged", SUSPECT, f"{flow.name} is a published port ({by}), its client is on "
            f"{bridge}, and {calls} is 0: what a rule translates for it may be answered within "
            f"{bridge}, from another address, which the client ignores", f"sysctl {calls}",
            f"nettop set sysctl.{calls} 1",
        )  # fmt: skip


def _within(leg: Leg, bridge: str) -> Iterator[Step]:
    """A frame from a port that is not known to another one."""
    yield Step("bridge", PASSES, f"both are behind the bridge {bridge}: frames to "
               f"{leg.question.to} are bridged, not routed",
               f"bridge fdb show br {bridge}")  # fmt: skip
    yield from _bridge(leg, bridge)
    ports = [one for one in _ports(leg, bridge) if one.port_state in (_OPEN, None)]
    apart = [one.interface for one in ports if one.isolated]
    if len(apart) > 1:
        everyone = len(apart) == len(ports)
        yield _apart(apart, bridge, STOPS if everyone else SUSPECT)


def _apart(names: list[str], bridge: str, verdict: str) -> Step:
    """Isolated ports: br_forward.c, should_deliver()."""
    return Step(
        "bridge", verdict, f"the ports {names[0]} and {', '.join(names[1:])} of the bridge "
        f"{bridge} are isolated: no frame passes between them",
        f"bridge -d link show dev {names[0]}", f"bridge link set dev {names[0]} isolated off",
    )  # fmt: skip


def _crossed(leg: Leg, name: str, bridge: str) -> Iterator[Step]:
    """A frame from one port of a bridge to another."""
    show = f"bridge -d link show dev {name}"
    port = leg.host.links[name]
    yield Step("bridge", PASSES, f"{name} is a port of the bridge {bridge}: frames to "
               f"{leg.question.to} are bridged, not routed", show)  # fmt: skip
    if not port.up or port.carrier is False:
        state = "has no carrier" if port.up else "is down"
        yield Step("bridge", STOPS, f"the port {name} {state}", show, raised(port))
    if port.port_state not in (_OPEN, None):
        yield Step("bridge", STOPS, f"the port {name} of the bridge {bridge} is {port.port_state}",
                   show, _opened(port, bridge))  # fmt: skip
    yield from _locked(leg, bridge, [port])
    others = [
        one for one in _ports(leg, bridge) if one is not port and one.port_state in (_OPEN, None)
    ]
    entry = leg.host.neighbours.get((bridge, leg.question.to))
    known = leg.flow.hardware or (entry.hardware if entry is not None else None)
    there = leg.host.port(bridge, known) if known else ""
    others = [one for one in others if one.interface == there] or others
    apart = [one.interface for one in others if port.isolated and one.isolated]
    if not others:
        shut = [one for one in leg.host.links.values() if one.master == bridge and one is not port]
        change = f"ip link set PORT master {bridge} up, for the port to {leg.question.to}"
        if shut:
            change = _opened(shut[0], bridge) if shut[0].up else raised(shut[0])
        yield Step("bridge", STOPS, f"no other port of the bridge {bridge} forwards",
                   f"bridge link show master {bridge}", change)  # fmt: skip
    elif apart:
        verdict = STOPS if len(apart) == len(others) else SUSPECT
        yield _apart([name, *apart], bridge, verdict)
    yield from _left_out(leg, bridge, others)


def _left_out(leg: Leg, bridge: str, ports: list[LinkRow]) -> Iterator[Step]:
    """Ports that get nothing that is for all, or for a group: br_forward.c, br_flood()."""
    to = leg.question.to
    flag, shut = leg.host.left_out(ports, to)
    if not shut:
        return
    asks = "ARP" if flag.startswith("b") else "neighbour discovery"
    what = "frames" if address(to).is_multicast else f"questions ({asks})"
    yield Step(
        "bridge", STOPS if len(shut) == len(ports) else SUSPECT, f"the bridge {bridge} sends "
        f"{what} for {to} from other ports not to {' and '.join(shut[:MOST])} ({flag} off)",
        f"bridge -d link show dev {shut[0]}", f"bridge link set dev {shut[0]} {flag} on",
    )  # fmt: skip


def _locked(leg: Leg, bridge: str, ports: list[LinkRow]) -> Iterator[Step]:
    """Ports that take frames only from addresses with an entry there: BR_PORT_LOCKED, 802.1X.

    net/bridge/br_input.c, br_handle_frame_finish().
    """
    host, source = leg.host, leg.question.source
    shut = [one.interface for one in ports if one.locked]
    entry = host.neighbours.get((bridge, source))
    known = entry.hardware if entry is not None else None
    at = host.port(bridge, known) if known else ""
    if not shut or at in shut or (at and len(ports) > 1):
        return
    sure = known and len(shut) == len(ports) and not host.unread("fdb")
    names, address = " and ".join(shut[:MOST]), known or "ADDRESS"
    show = f"bridge -d link show dev {shut[0]}; bridge fdb show dev {shut[0]}"
    yield Step(
        "bridge", STOPS if sure else SUSPECT, f"{bridge} drops what comes by {names} from hardware "
        f"addresses without a forwarding entry there (locked, 802.1X), as from {source}"
        f"{f' ({known})' if known else ''}", show, f"bridge fdb add {address} dev {shut[0]} "
        f"master static; or bridge link set dev {shut[0]} locked off",
    )  # fmt: skip


def _opened(port: LinkRow, bridge: str) -> str:
    """What lets a port forward; one that waits does so for STP, with which it may not be set.

    net/bridge/br_netlink.c, br_set_port_state().
    """
    change = f"bridge link set dev {port.interface} state 3"
    waits = port.port_state in ("listening", "learning")
    return f"ip link set {bridge} type bridge stp_state 0; {change}" if waits else change


def _ports(leg: Leg, bridge: str) -> list[LinkRow]:
    """The ports of a bridge that are up and have a carrier."""
    links = leg.host.links.values()
    return [one for one in links if one.master == bridge and one.up and one.carrier is not False]


def _bridge(leg: Leg, name: str) -> Iterator[Step]:
    every = [one for one in leg.host.links.values() if one.master == name]
    ports = _ports(leg, name)
    shut = [one for one in ports if one.port_state not in (_OPEN, None)]
    show = f"bridge link show master {name}"
    if not ports:
        what = f"no port of the bridge {name} has a carrier" if every else (
            f"nothing is behind the bridge {name}: it has no port")  # fmt: skip
        change = raised(every[0]) if every else f"ip link set PORT master {name} up"
        yield Step("bridge", STOPS, what, show, change + elsewhere(leg), (leg.next_hop,))
    elif len(shut) == len(ports):
        one = shut[0]
        each = f"the port {one.interface}" if len(ports) == 1 else "each port"
        yield Step("bridge", STOPS, f"{each} of the bridge {name} is {one.port_state}", show,
                   _opened(one, name))  # fmt: skip
    elif shut:
        names = ", ".join(f"{one.interface} ({one.port_state})" for one in shut)
        yield Step("bridge", HIDDEN, f"whether the way leads by a port of {name} that does not "
                   f"forward: {names}", f"bridge fdb show br {name}")  # fmt: skip
    else:
        yield Step("bridge", PASSES, f"the ports of the bridge {name} forward", show)
    if leg.question.arrives == name:
        yield from _locked(leg, name, ports)
        yield from _changing(leg, name, every)


def _changing(leg: Leg, name: str, ports: list[LinkRow]) -> Iterator[Step]:
    """The hardware address of a bridge: the lowest of its ports (br_stp_recalculate_bridge_id()).

    It changes as ports come and go, and who knows the old one sends frames to nobody meanwhile.
    """
    bridge = leg.host.links[name]
    lent = next((one.interface for one in ports if one.address == bridge.address), "")
    if not lent or not all(one.kind == "veth" for one in ports):
        return
    past = next(one.past for one in leg.host.frame.tables["links"] if one.now is bridge)
    changed = past is not None and past.address != bridge.address
    saw = f"{name} has the hardware address of its port {lent}, and another one when ports change"
    if past is not None and changed:
        saw = f"the hardware address of {name} changed from {past.address} to {bridge.address}, "
        saw += f"that of its port {lent}: hosts behind it may send to the old one until they ask"
    yield Step(
        "bridge", SUSPECT if changed else HIDDEN, saw if changed else "whether the hosts behind "
        f"{name} know its hardware address: {saw}", f"ip -br link show {name}; bridge link",
        f"ip link set {name} address {bridge.address}, which keeps it",
    )  # fmt: skip
