"""Compute the limits of a link: packet rate and payload by frame size, windows, interrupts, rings.

nettop limits --speed 25G                       packet rates and goodput of 25 Gbit/s
nettop limits --speed 10G --mtu 9000 --rtt 20ms     and the windows for a round trip of 20 ms
nettop limits --speed 40G --transfer 420TB --slot 3x8    how long it takes; what a slot carries
nettop limits --bus 64x133                      and a PCI-X bus

This command measures nothing. `--rtt` adds the bandwidth-delay product and the rate of common
window sizes.
"""

import argparse
from collections.abc import Mapping
from typing import Any, Final

from ..terms import formulas as f
from ..terms import units
from . import duration_argument, emit, json_argument
from ._argument import amount

GROUP = "look"
HELP = "compute the theoretical limits of a link: packet rates, goodput, windows, interrupts"
FRAMES: Final = (64, 128, 256, 512, 1024, 1280, 1518, 9018)  # RFC 2544 section 9.1, and one jumbo
DELAYS: Final = (8, 30, 62, 84, 125)
RINGS: Final = (256, 512, 1024, 4096, 8192)
WINDOWS: Final = (212_992, 6 << 20, 16 << 20, 128 << 20)
LARGEST_MTU: Final = 65536
GENERATIONS: Final = {"1": 2.5, "2": 5.0, "3": 8.0, "4": 16.0, "5": 32.0, "6": 64.0}  # GT/s a lane
CLOCKS: Final = ("33", "66", "100", "133", "266", "533")  # MHz of a PCI or PCI-X bus
MIB: Final = 1 << 20
DAY: Final = 86400.0  # seconds


def speed(text: str) -> float:
    """Bit/s of `10G`, `2.5G`, `100M`, `40Gb/s` or `1e10`; for argparse."""
    value = amount(text, units=("bit/s", "b/s", "bps", "bit"))
    if not 1 <= value <= 1e15:
        raise argparse.ArgumentTypeError(f"{text!r} is not a speed such as 10G or 100M")
    return value


def mtu(text: str) -> int:
    """An MTU that leaves room for IPv6 and TCP headers; for argparse."""
    if not text.isascii() or not text.isdigit() or not 128 <= int(text[:9]) <= LARGEST_MTU:
        raise argparse.ArgumentTypeError(f"{text!r} is not an MTU from 128 to {LARGEST_MTU}")
    return int(text)


def volume(text: str) -> int:
    """Bytes of `420TB`, `50G` or `1.5 TiB`; for argparse."""
    value = amount(text, units=("b",))
    if not 1 <= value < 1e21:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of bytes such as 420TB or 50GiB"
        )
    return int(value)


def slot(text: str) -> dict[str, float]:
    """What a PCI Express slot such as `3x8` (generation, lanes) has and carries; for argparse."""
    generation, _, lanes = text.lower().removeprefix("gen").partition("x")
    if generation not in GENERATIONS or lanes not in ("1", "2", "4", "8", "16"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a slot such as 3x8: generation x lanes")
    speed, wide = GENERATIONS[generation], int(lanes)
    usable = f.pcie_usable(speed, wide)
    return {"gigatransfers": speed, "lanes": wide, "usable": usable,
            "carries": f.SLOT_SHARE * usable}  # fmt: skip


def bus(text: str) -> dict[str, float]:
    """What a PCI or PCI-X bus such as `64x133` (bits, MHz) has and carries; for argparse."""
    bits, _, clock = text.lower().partition("x")
    if bits not in ("32", "64") or clock not in CLOCKS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a bus such as 64x133: bits x MHz")
    usable = f.bus_usable(int(bits), int(clock))
    return {"bits": int(bits), "megahertz": int(clock), "usable": usable,
            "carries": f.BUS_SHARE * usable}  # fmt: skip


def tags(text: str) -> int:
    """The number of VLAN tags; for argparse."""
    if text not in ("0", "1", "2"):
        raise argparse.ArgumentTypeError(f"{text!r}: a frame has 0, 1 or 2 VLAN tags")
    return int(text)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "--speed", type=speed, default=10e9, help="speed of the link: 10G, 100M … (10G)"
    )
    parser.add_argument("--mtu", type=mtu, default=1500, help="largest IP packet in bytes (1500)")
    parser.add_argument("--protocol", choices=("tcp", "udp"), default="tcp", help="(tcp)")
    parser.add_argument("--ipv6", action="store_true", help="IPv6 headers")
    parser.add_argument("--no-timestamps", action="store_true", help="TCP without timestamps")
    parser.add_argument(
        "--vlan", type=tags, default=0, metavar="N", help="number of VLAN tags in a frame (0)"
    )
    duration_argument(parser, "--rtt", "round trip time: 20ms, 0.5")
    parser.add_argument(
        "--transfer", type=volume, metavar="BYTES", help="how long so much takes: 420TB, 50GiB"
    )
    parser.add_argument(
        "--slot", type=slot, metavar="GENxLANES", help="what a PCI Express slot carries: 3x8"
    )
    parser.add_argument(
        "--bus", type=bus, metavar="BITSxMHZ", help="what a PCI or PCI-X bus carries: 64x133"
    )
    json_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print the limits."""
    document = limits(args)
    if args.json:
        emit(document)
    else:
        print("\n".join(text(document)))
    return 0


def limits(args: argparse.Namespace) -> dict[str, Any]:
    """The limits that the arguments describe."""
    rate, vlans = args.speed, args.vlan
    largest = f.frame_bytes(args.mtu, vlans)
    sizes = sorted({*(size + f.TAG * vlans for size in FRAMES), largest})
    smallest = f.max_packets(rate, sizes[0])
    document: dict[str, Any] = {
        "speed": rate,
        "mtu": args.mtu,
        "protocol": args.protocol,
        "ipv6": args.ipv6,
        "timestamps": args.protocol == "tcp" and not args.no_timestamps,
        "vlan_tags": vlans,
        "frame": largest,
        "packets_per_s": f.max_packets(rate, largest),
        "goodput": _goodput(args, largest),
        "frames": [
            {
                "frame": size,
                "packets_per_s": f.max_packets(rate, size),
                "spacing": f.wire_seconds(size + f.ON_WIRE, rate),
                "counted": f.max_packets(rate, size) * (size - f.FCS),
                "with_fcs": f.max_packets(rate, size) * size,
                "goodput": _goodput(args, size),
            }
            for size in sizes
            if size <= largest
        ],
        "coalescing": [
            {
                "usecs": delay,
                "interrupts_per_s": f.interrupt_cap(delay),
                "packets_each": f.packets_per_interrupt(smallest, delay),
            }
            for delay in DELAYS
        ],
        "rings": [{"descriptors": n, "seconds": f.ring_seconds(n, smallest)} for n in RINGS],
        "pause": f.pause_seconds(0xFFFF, rate),
        "sequence_wrap": f.sequence_wrap(rate),
    }
    if args.rtt:
        document["rtt"] = args.rtt
        document["bdp"] = f.bdp(rate, args.rtt)
        document["windows"] = [
            {"bytes": size, "rate": f.window_cap(size, args.rtt)} for size in WINDOWS
        ]
    if args.transfer:
        goodput = document["goodput"]
        document["transfer"] = {
            "bytes": args.transfer,
            "seconds": 8 * args.transfer / goodput if goodput else None,
            "one_day": 8 * args.transfer / DAY,
        }
    for name in ("slot", "bus"):
        if place := getattr(args, name):
            document[name] = {**place, "taken": rate / place["usable"]}
    return document


def _goodput(args: argparse.Namespace, frame: int) -> float | None:
    """Payload in bit/s at that frame size; None if headers leave no room for payload."""
    packet = frame - f.HEADER - f.FCS - f.TAG * args.vlan
    if args.protocol == "udp":
        payload = f.udp_payload(packet, ipv6=args.ipv6)
    else:
        payload = f.mss(packet, ipv6=args.ipv6, timestamps=not args.no_timestamps)
    if payload <= 0:
        return None
    return f.max_packets(args.speed, frame) * 8 * payload


_HEAD: Final = "   frame      packets/s     spacing       MiB/s       MiB/s           goodput"


def text(document: Mapping[str, Any]) -> list[str]:
    """The same document as text."""
    name = f"{document['protocol'].upper()} over IPv{6 if document['ipv6'] else 4}"
    tagged = f", {document['vlan_tags']} VLAN tag(s)" if document["vlan_tags"] else ""
    stamps = " with timestamps" if document["timestamps"] else ""
    out = [
        f"{units.link(document['speed'])}, MTU {document['mtu']}: {name}{stamps}{tagged}",
        f"  goodput at most   {_exact(document['goodput'])}{_bytes(document['goodput'])}",
        "",
        f"  {'':>33}  {'counted':>10}  {'with FCS':>10}",
        _HEAD,
    ]
    out += [
        f"  {row['frame']:>6}  {row['packets_per_s']:>13,.0f}  {_time(row['spacing']):>10}"
        f"  {row['counted'] / MIB:>10,.3f}  {row['with_fcs'] / MIB:>10,.3f}"
        f"  {_exact(row['goodput']):>16}"
        for row in document["frames"]
    ]
    out += ["", "  rx-usecs  interrupts/s a queue  64-byte frames per interrupt"]
    out += [
        f"  {row['usecs']:>8}  {row['interrupts_per_s']:>20,.0f}  {row['packets_each']:>28,.0f}"
        for row in document["coalescing"]
    ]
    filled = ", ".join(
        f"{row['descriptors']} in {_time(row['seconds'])}" for row in document["rings"]
    )
    out += [
        "",
        f"  time to fill a ring with 64-byte frames: {filled}",
        f"  longest stop by one pause frame: {_time(document['pause'])}",
        f"  TCP sequence numbers wrap after {units.seconds(document['sequence_wrap'])}",
    ]
    if "rtt" in document:
        trip, flying = units.seconds(document["rtt"]), document["bdp"] / 1e6
        out += ["", f"  at {trip} round trip the bandwidth-delay product is {flying:,.3f} MB"]
        out += [
            f"  a window of {units.size(row['bytes']):>8} allows {_exact(row['rate'])}"
            for row in document["windows"]
        ]
    if "transfer" in document:
        out += ["", _transfer(document["transfer"])]
    for place in (document[name] for name in ("slot", "bus") if name in document):
        out += ["", *_carried(place)]
    return out


def _transfer(one: Mapping[str, float]) -> str:
    took = "unknown" if one["seconds"] is None else units.seconds(one["seconds"])
    return (
        f"  {units.scaled(one['bytes'], 'B')} take {took} at this goodput; in one day they need "
        f"{units.scaled(one['one_day'], 'b/s')}"
    )


def _carried(one: Mapping[str, float]) -> tuple[str, str]:
    """A slot or bus, and which share of it the link takes."""
    usable = units.scaled(one["usable"], "b/s")
    if "lanes" in one:
        what = f"a slot of {one['lanes']} lanes at {one['gigatransfers']:g} GT/s"
        first = f"{what} has {usable} one way after line coding"
    else:
        what = f"a bus of {one['bits']} bits at {one['megahertz']} MHz"
        first = f"{what} has {usable} for both ways and all its cards"
    share = one["carries"] / one["usable"]
    holds = "enough" if one["taken"] <= share else "too little"
    return f"  {first}", (
        f"  this link takes {one['taken']:.0%} of it; about {share:.0%} carry data: {holds}"
    )


def _bytes(rate: float | None) -> str:
    return "" if rate is None else f", {rate / 8:,.0f} B/s, {rate / 8 / MIB:,.3f} MiB/s"


def _exact(rate: float | None) -> str:
    return units.UNKNOWN if rate is None else f"{rate / 1e6:,.3f} Mb/s"


def _time(value: float) -> str:
    return f"{value * 1e6:,.3f} µs" if value < 1e-3 else f"{value * 1e3:,.3f} ms"
