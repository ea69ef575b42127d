"""Measure the rate of an interface from its 64-bit counters and a monotonic clock.

nettop rate eth0                      measure for two seconds
nettop rate eth0 --seconds 60 --json  measure for a minute, for scripts

The counters exclude the preamble and the interframe gap, and most exclude the frame check sequence.
The wire rate and the largest possible TCP payload are computed. No wire rate is shown if counted
packets are not frames on a wire (veth, virtio, loopback, merged packets).
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..host.source import Source
from ..terms.errors import Refused, nearest
from . import duration_argument, emit, json_argument, open_source, print_lines, source_arguments
from ._argument import interface

if TYPE_CHECKING:
    from ..collect.link_stats import Row as LinkStatsRow
    from ..collect.netdev import Row as NetDevRow
    from ..facts.kinds.nic import Nic
    from ..frame.rates import Entry, Frame

GROUP = "look"
HELP = "measure the rate of an interface: counted, on the wire, payload"
STILL: Final = ("links", "netclass", "netdev", "drvinfo", "linkmodes", "kernel")
Document: TypeAlias = dict[str, Any]  # as schema.json describes it
LARGEST_HEAD: Final = 22  # bytes of the Ethernet header and two VLAN tags


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("interface", type=interface, metavar="IF", help="interface name")
    duration_argument(parser, "--seconds", "length of the measurement (2)", 2.0)
    json_argument(parser)
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, and print both directions."""
    source = open_source(args)
    document = measure(source, args.interface, args.seconds)
    if args.json:
        emit(document)
    else:
        print_lines(*text(document))
    return 0


def measure(source: Source, name: str, seconds: float) -> Document:
    """The --json document; Refused for an unknown name or unreadable counters."""
    from ..facts.joined import build
    from ..sampling.sampler import Sampler

    still = Sampler(source).take(STILL)
    nics = {nic.name: nic for nic in build(still).nics}
    if name not in nics:
        if not nics:
            raise Refused("cannot read the interfaces of this host", 3)
        raise Refused(f"no interface {name!r} on this host{nearest(name, nics)}", 2)
    counters = Sampler(source)
    first = counters.take(("link_stats", "netdev"))
    if _entry(first, name) is None:
        reasons = "; ".join(f"{what}: {why}" for what, why in first.missing.items())
        raise Refused(f"cannot read the counters of {name} ({reasons or 'it has none'})", 3)
    end = first.at + seconds
    while source.now() < end and source.wait(end - source.now()):
        pass
    last = counters.take(("link_stats", "netdev"))
    if last.at <= first.at:
        raise Refused("the recording has only one sample; a rate needs two", 3)
    entry = _entry(last, name)
    fcs = any(row.interface == name and row.fcs_counted for row in still.rows("drvinfo"))
    return document(nics[name], entry, last.at - first.at, fcs=fcs)


def _entry(frame: Frame, name: str) -> Entry[LinkStatsRow] | Entry[NetDevRow] | None:
    """The counters of an interface: 64-bit ones where they were read."""
    for entry in frame.tables.get("link_stats", ()):
        if entry.now.interface == name:
            return entry
    for entry in frame.tables.get("netdev", ()):
        if entry.now.name == name:
            return entry
    return None


def document(
    nic: Nic,
    entry: Entry[LinkStatsRow] | Entry[NetDevRow] | None,
    elapsed: float,
    *,
    fcs: bool = False,
) -> Document:
    """Both directions of an interface.

    `fcs`: the driver's byte counter includes the frame check sequence.
    """

    def one(way: str) -> Document:
        rates = entry.per_s if entry is not None else None
        size, count = (getattr(rates, f"{way}_{unit}", None) for unit in ("bytes", "packets"))
        found = direction(nic, size, count, fcs=fcs)
        return {**found, "bytes": _moved(found["counted"], elapsed)}

    rx, tx = one("rx"), one("tx")
    counted = _sum(rx["counted"], tx["counted"])
    return {
        "interface": nic.name,
        "kind": nic.kind,
        "driver": nic.driver or None,
        "speed": nic.speed,
        "mtu": nic.mtu,
        "seconds": elapsed,
        "fcs_counted": fcs,
        "rx": rx,
        "tx": tx,
        "total": {
            "counted": counted,
            "packets_per_s": _sum(rx["packets_per_s"], tx["packets_per_s"]),
            "bytes": _moved(counted, elapsed),
        },
    }


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _moved(bits_per_second: float | None, seconds: float) -> int | None:
    """The bytes that a rate moves in this time."""
    return None if bits_per_second is None else round(bits_per_second * seconds / 8)


def direction(nic: Nic, size: float | None, count: float | None, *, fcs: bool = False) -> Document:
    """One direction: the counted rate, and the computed wire and TCP payload rates."""
    from ..facts.counters import beyond
    from ..terms import formulas

    jumped = beyond(nic, size, count)
    if jumped:
        size = count = None
    counted = None if size is None else 8 * size
    mean = size / count if size is not None and count else None
    counters: Document = {
        "counted": counted, "bytes": None, "packets_per_s": count, "mean": mean, "wire": None,
        "payload": None,
    }  # fmt: skip
    why = superpackets(nic, mean)
    if why is not None:
        return {**counters, "because": why}
    if size is None or count is None:
        return {**counters, "because": "the counter jumped" if jumped else "the counter decreased"}
    wire = formulas.counted_to_wire(size, count, fcs=fcs)
    payload = formulas.counted_to_payload(size, count, fcs=fcs)
    share = wire / nic.speed if nic.speed else None
    return {**counters, "wire": wire, "payload": payload, "share": share}


def superpackets(nic: Nic, mean: float | None) -> str | None:
    """The reason why a counted packet may not be a frame on the wire; None if it is one."""
    if nic.kind != "nic":
        what = "an interface of unknown kind" if nic.kind == "other" else f"a {nic.kind} interface"
        return f"{what} counts packets, not frames on a wire"
    if nic.para:
        return f"{nic.driver} counts merged packets of the hypervisor as one"
    if mean is not None and nic.mtu and mean > nic.mtu + LARGEST_HEAD:
        return f"a mean of {mean:.0f} bytes at MTU {nic.mtu}: merged packets count as one"
    return None


def text(document: Document) -> list[str]:
    """The same document as text."""
    from ..terms import units

    out = [f"{document['interface']}: over {document['seconds']:.3f} s"]
    for one, name in ((document["rx"], "received"), (document["tx"], "sent")):
        mean = "" if one["mean"] is None else f", mean {one['mean']:.0f} bytes"
        out.append(
            f"  {name:<9} {units.link(one['counted'])} counted, {_count(one['bytes'])}"
            f"{units.per_second(one['packets_per_s'], 'packets')}{mean}"
        )
        if one["wire"] is None:
            out.append(f"  {'':<9} no wire rate: {one['because']}")
            continue
        share = one.get("share")
        of_link = "" if share is None else f" ({units.share(share)} of the link)"
        out.append(
            f"  {'':<9} {units.link(one['wire'])} on the wire{of_link}, "
            f"TCP payload at most {units.link(one['payload'])}"
        )
    both = document["total"]
    if both["counted"] is not None:
        out.append(
            f"  {'total':<9} {units.link(both['counted'])} counted, {_count(both['bytes'])}"
            f"{units.per_second(both['packets_per_s'], 'packets')}"
        )
    return out


def _count(size: int | None) -> str:
    return "" if size is None else f"{size:,} bytes, "
