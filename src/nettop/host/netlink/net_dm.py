"""Messages of the drop monitor: dropped packets as lines of the table of drops.

net/core/drop_monitor.c, include/uapi/linux/net_dropmon.h. `ALERT` is a sum of places, of any
kernel; `PACKET` (Linux 5.4) one packet, since 5.18 with its reason. No message names the network
namespace. Functions are pure; ValueError for a damaged message.
"""

from __future__ import annotations

import re
import struct
import sys
from collections import Counter as Sums
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ..bpf.packet import IP, IP6, PORTED, protocol
from .codec import Attributes, Field, attributes, decode, messages, numbered

FAMILY: Final = "NET_DM"
ALERT, CONFIG, START, STOP, PACKET, CONFIG_GET, STATS_GET = 1, 2, 3, 4, 5, 6, 8
SUMMARY, EACH = 0, 1  # NET_DM_ALERT_MODE_SUMMARY, NET_DM_ALERT_MODE_PACKET
GROUP: Final = 1  # NET_DM_GRP_ALERT: net/netlink/genetlink.c keeps this number for it
REASON: Final = 23  # a kernel whose last attribute is lower gives no reasons
LENGTH: Final = 96  # bytes of a packet: the headers of link and network, and the ports
SETUP: Final = {1: Field("alert_mode", "B"), 9: Field("trunc_len"), 11: Field("queue_len")}
REPORT: Final = {
    2: Field("pc", "Q"), 3: Field("symbol", "text"), 4: Field("in_port", "nest", numbered(0, "at")),
    6: Field("proto", "H"), 7: Field("payload", "raw"), REASON: Field("reason", "text"),
}  # fmt: skip
STATS: Final = {12: Field("stats", "nest", {0: Field("dropped", "Q")})}
_POINT: Final = struct.Struct("=QI")  # struct net_dm_drop_point
_ETHERNET: Final = 14  # bytes of its header: to, from, protocol
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_OF: Final = re.compile(r"_*(tcp|udp)")  # functions that see no other protocol


def lines(
    datagram: bytes, place: Callable[[int], str], hosts: Mapping[int, bytes], *, alone: bool
) -> Sums[str]:
    """The lines of a message, with `{}` for the count, and their counts.

    `place` names a function by address. `hosts`: the hardware addresses of this network namespace
    by number of the interface. A packet that came to one of them, or is sent from one, is here;
    every packet is if there is no other namespace (`alone`).
    """
    found = Sums[str]()
    for _, start, end in messages(datagram):
        command = datagram[start] if end - start >= 4 else 0
        if command == ALERT:
            for address, count in _points(datagram, start + 4, end):
                name = place(address)
                of = match[1] if (match := _OF.match(name)) else "-"
                found[_line("NO_REASON", name, f"- {of} -", here=alone)] += count
        elif command == PACKET:
            found[_packet(decode(datagram, start + 4, end, REPORT), place, hosts, alone)] += 1
    return found


def _line(reason: str, place: str, rest: str, *, here: bool) -> str:
    return f"{reason} {{}} {place or '-'} {'here ' + rest if here else 'unknown - - -'}"


def _points(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Places and counts (struct net_dm_alert_msg); place 0 is a device's own count, no packet."""
    for number, first, last in attributes(data, start, end):
        if number == 0 and last - first >= 4:
            entries = int.from_bytes(data[first : first + 4], sys.byteorder)
            for at in range(min(entries, (last - first - 4) // _POINT.size)):
                address, count = _POINT.unpack_from(data, first + 4 + at * _POINT.size)
                if address:
                    yield address, count


def _packet(
    report: Attributes, place: Callable[[int], str], hosts: Mapping[int, bytes], alone: bool
) -> str:
    raw, ether = report.get("payload", b""), report.get("proto", 0)
    came_by = report.get("in_port", {}).get("at", 0)
    to, sender, link = raw[:6], raw[6:12], raw[12:_ETHERNET] == ether.to_bytes(2, "big")
    leaves = next((at for at, own in hosts.items() if link and own == sender), 0)
    here = alone or bool(leaves if not came_by else link and hosts.get(came_by) == to)
    transport, ports = _transport(raw[_ETHERNET:] if link else raw, ether)
    port = ports[2:4] if came_by else ports[:2]
    rest = f"{came_by or leaves or '-'} {protocol(transport, ether)} "
    rest += str(int.from_bytes(port, "big") or "-")
    # the kernel names the place whatever kptr_restrict is; a long name is cut off
    name = re.split(r"[.+]", symbol := report.get("symbol", ""))[0]
    name = name if "+" in symbol and _NAME.fullmatch(name) else place(report.get("pc", 0))
    reason = report.get("reason", "")
    return _line(reason if _NAME.fullmatch(reason) else "NO_REASON", name, rest, here=here)


def _transport(packet: bytes, ether: int) -> tuple[int, bytes]:
    """Number of the transport protocol, and the ports as they are sent; 0 and none without them."""
    if ether == IP and len(packet) >= 20:
        number, header = packet[9], (packet[0] & 0xF) * 4
        first = not int.from_bytes(packet[6:8], "big") & 0x1FFF
    elif ether == IP6 and len(packet) >= 40:
        number, header, first = packet[6], 40, True
    else:
        return 0, b""
    return number, packet[header : header + 4] if first and number in PORTED else b""
