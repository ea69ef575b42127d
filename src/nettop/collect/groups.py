"""Multicast groups that are joined on each interface: /proc/net/igmp and igmp6.

net/ipv4/igmp.c, igmp_mc_seq_show(): a line with the interface, and one for each group, a number in
the byte order of the host. net/ipv6/mcast.c, igmp6_mc_seq_show(): one line for each group. Groups
of one link alone (224.0.0.0/24, ff01::/16, ff02::/16) are left out: each interface has its own.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from ..frame.fields import label
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Table

TABLE: Final = Table(every=2.0, asked=True, optional=True)

_LINK4: Final = IPv4Address("224.0.0.255")  # the last group of one link
_LINK6: Final = (0xFF01, 0xFF02)  # first word of such groups


@dataclass(frozen=True, slots=True)
class Row:
    """One group on one interface."""

    interface: str = label("interface name")
    group: str = label("address of the group")


def read(source: Source) -> Sequence[Row]:
    """The groups of both families; OSError without IPv4 multicast, ValueError."""
    rows = [*parse(source.text("/proc/net/igmp"))]
    with suppress(OSError):  # a kernel without IPv6
        rows += parse6(source.text("/proc/net/igmp6"))
    return rows


def parse(text: str) -> Iterator[Row]:
    """The rows of /proc/net/igmp; ValueError."""
    interface = ""
    for line in text.splitlines()[1:]:
        words = line.split()
        if not words:
            continue
        if not line[0].isspace():
            interface = words[1].removesuffix(":")
            continue
        group = IPv4Address(bytes.fromhex(words[0])[:: -1 if sys.byteorder == "little" else 1])
        if group > _LINK4:
            yield Row(interface, str(group))


def parse6(text: str) -> Iterator[Row]:
    """The rows of /proc/net/igmp6; ValueError."""
    for line in text.splitlines():
        words = line.split()
        if len(words) < 3:
            raise ValueError(f"not a group: {line[:60]!r}")
        group = IPv6Address(bytes.fromhex(words[2]))
        if int(group) >> 112 not in _LINK6:
            yield Row(words[1], str(group))
