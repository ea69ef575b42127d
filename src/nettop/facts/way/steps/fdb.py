"""The forwarding entry of the next hop: net/bridge/br_fdb.c, drivers/net/vxlan/vxlan_core.c."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ....collect.fdb import Row as FdbRow
from ....collect.links import Row as LinkRow
from ....collect.ways import Question
from ..flow import HIDDEN, PASSES, STOPS, SUSPECT, UNKNOWN_HOSTS, Step
from ..legs import BRIDGED, Leg
from ..lookup import lookup
from .neighbour import ABSENT

PLACE: Final = 75
MOST: Final = 3  # ports that are named


def look(leg: Leg) -> Iterator[Step]:
    """Where frames to the hardware address of the next hop leave."""
    hop, host = leg.hop, leg.host
    if leg.role == BRIDGED:
        yield from _returned(leg)
        yield from _unknown(leg, hop.interface or "", leg.flow.hardware)
        near = host.neighbours.get((hop.interface or "", leg.question.to))
        if near is not None and not leg.flow.hardware:  # else the bridge itself drops that frame
            for row in host.frame.rows("fdb"):
                if (row.hardware, row.master) == (near.hardware, hop.interface):
                    yield from _bridged(leg, row)
        return
    link = host.links.get(hop.interface or "")
    if hop.kind != "unicast" or link is None:
        return
    if link.kind not in ("bridge", "vxlan") or not link.up:
        return
    entry = host.neighbours.get((link.interface, hop.gateway or leg.question.to))
    if entry is None or entry.hardware is None:
        return
    if why := host.unread("fdb"):
        yield Step("fdb", HIDDEN, f"the forwarding entries: {why}", "bridge fdb show")
        return
    if link.kind == "vxlan":
        yield from _tunnelled(leg, link, entry.hardware)
        return
    yield from _unknown(leg, link.interface, entry.hardware)
    for row in host.frame.rows("fdb"):
        if row.hardware == entry.hardware and row.master == link.interface and not row.remote:
            yield from _bridged(leg, row)


def _unknown(leg: Leg, bridge: str, hardware: str) -> Iterator[Step]:
    """A bridge without an entry for the address: its ports that flood get the frame (br_flood()).

    One that learns has an entry while the host sends.
    """
    host = leg.host
    rows = [row for row in host.frame.rows("fdb") if row.master == bridge]
    if host.unread("fdb") or any(row.hardware == hardware for row in rows):
        return
    links = host.links.values()
    ports = [one for one in links if one.master == bridge and one.interface != leg.question.arrives]
    shut = [one.interface for one in ports if one.floods is False]
    if not hardware:  # whichever it is: a port without an entry gets no frame for one host
        own = {one.address for one in links}
        full = {row.interface for row in rows if row.hardware not in own}
        empty = [name for name in shut if name not in full]
        if empty:
            yield Step(
                "fdb", SUSPECT, f"the bridge {bridge} has no entry for a host behind "
                f"{' and '.join(empty[:MOST])}, which does not flood: frames for one host never "
                "get there", f"bridge -d link show dev {empty[0]}; bridge fdb show br {bridge}",
                f"bridge link set dev {empty[0]} learning on flood on",
            )  # fmt: skip
    elif shut:
        to = leg.hop.gateway or leg.question.to
        yield Step(
            "fdb", STOPS if len(shut) == len(ports) else SUSPECT, f"the bridge {bridge} has no "
            f"entry for {hardware}, with which {to} answers, and sends frames to unknown addresses "
            f"not to {' and '.join(shut[:MOST])} (flood off)", f"bridge -d link show dev {shut[0]}",
            f"bridge link set dev {shut[0]} learning on flood on; or bridge fdb add {hardware} dev "
            f"{shut[0]} master static",
        )  # fmt: skip


def _returned(leg: Leg) -> Iterator[Step]:
    """A frame whose destination is behind the port by which it comes: should_deliver()."""
    arrives, to = leg.question.arrives or "", leg.flow.hardware
    port = leg.host.links.get(arrives)
    if port is not None and port.hairpin:
        return
    for row in leg.host.frame.rows("fdb"):
        if to and (row.hardware, row.interface, row.master) == (to, arrives, leg.hop.interface):
            yield Step(
                "fdb", STOPS, f"frames to {leg.question.to} ({to}) arrive on {arrives}, where by "
                f"the bridge {row.master} that address is (an entry that is {row.state}): it sends "
                "none back", f"bridge fdb show br {row.master}",
                f"bridge fdb del {to} dev {arrives} master, if the host is behind another port; "
                f"else bridge link set dev {arrives} hairpin on",
            )  # fmt: skip


def _bridged(leg: Leg, row: FdbRow) -> Iterator[Step]:
    """The port behind which the bridge takes the address to be."""
    to, show = leg.hop.gateway or leg.question.to, f"bridge fdb show br {row.master}"
    port = leg.host.links.get(row.interface)
    vlan = f" vlan {row.vlan}" if row.vlan else ""
    change = f"bridge fdb del {row.hardware} dev {row.interface}{vlan} master"
    saw = f"frames to {to} ({row.hardware}) leave by {row.interface}, a port of {row.master}"
    if row.interface == row.master:
        yield Step("fdb", SUSPECT, f"{row.hardware}, with which {to} answers, is an address of "
                   f"{row.master} itself", show, f"give {to} another hardware address")  # fmt: skip
    elif port is not None and (not port.up or port.carrier is False):
        yield Step("fdb", SUSPECT, f"{saw}, which {'has no carrier' if port.up else 'is down'}",
                   show, change)  # fmt: skip
    elif row.state != "learned" and not row.told:
        kept = f"{row.state} and sticky" if row.sticky else row.state
        yield Step("fdb", SUSPECT, f"{saw}, by an entry that is {kept}: the bridge does not learn "
                   "where the host is", show, change)  # fmt: skip
    else:
        yield Step("fdb", PASSES, saw, show)
    if port is not None and port.kind == "vxlan":
        yield from _tunnelled(leg, port, row.hardware)


def _tunnelled(leg: Leg, link: LinkRow, hardware: str) -> Iterator[Step]:
    """The remote end of a VXLAN, and whether it is there."""
    name, to = link.interface, leg.hop.gateway or leg.question.to
    rows = [one for one in leg.host.frame.rows("fdb") if one.interface == name and one.remote]
    own = [one for one in rows if one.hardware == hardware]
    show = f"bridge fdb show dev {name}"
    every = {one.hardware for one in leg.host.frame.rows("fdb") if one.interface == name}
    if link.tunnel_id and every.isdisjoint((hardware, UNKNOWN_HOSTS)):  # 0: routes name the remote
        yield Step(
            "fdb", STOPS, f"the VXLAN {name} has no remote end for {hardware}, the address of "
            f"{to}: no forwarding entry, and none for unknown addresses ({UNKNOWN_HOSTS})", show,
            f"name the other end: `bridge fdb append {hardware} dev {name} dst REMOTE`, or "
            f"{UNKNOWN_HOSTS} in the place of {hardware} for all",
        )  # fmt: skip
    for row in own or [one for one in rows if one.hardware == UNKNOWN_HOSTS]:
        saw = f"frames to {to} ({hardware}) go through {name} to {row.remote}"
        change = f"bridge fdb replace {hardware} dev {name} dst REMOTE, with the right remote end"
        if absent := _absent(leg, row.remote):
            address, interface = absent
            yield Step(
                "fdb", STOPS if len(own) == 1 else SUSPECT,
                f"{saw}, and no neighbour answers for {address} on {interface}", show,
                f"{change}, or {row.remote} must answer", (f"{address}@{interface}",),
            )  # fmt: skip
        elif own and row.state != "learned" and not row.told and not leg.host.told(name):
            yield Step("fdb", SUSPECT, f"{saw}, by an entry that is {row.state}: {name} does not "
                       "learn where the host is", show, change)  # fmt: skip
        else:
            yield Step("fdb", PASSES, saw, show)


def _absent(leg: Leg, remote: str) -> tuple[str, str] | None:
    """The next hop on the way to a remote end and its interface, if it does not answer."""
    for row in lookup(leg.host, Question(remote, protocol="udp")).routes[:1]:
        hop = row.gateway or remote
        entry = leg.host.neighbours.get((row.interface or "", hop))
        if entry is not None and entry.state in ABSENT:
            return hop, row.interface or ""
    return None
