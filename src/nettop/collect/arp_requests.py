"""Questions for a hardware address that arrive: ARP requests to all hosts of a network.

What a filter, a bridge or `arp_ignore` keeps from being answered raises no counter, but is asked
again each second (net/ipv4/arp.c; net.ipv4.neigh.*.retrans_time_ms). The first reading opens a
socket (`host.bpf.arp`), so the table is read on request only, and needs root.
"""

from collections.abc import Sequence
from ipaddress import IPv4Address
from typing import Final

from ..frame.fields import counter, gauge, label
from ..terms.dataclass import dataclass
from . import _counted
from ._table import Table

TABLE: Final = Table(every=0.9, counted="arp", absent=True, optional=True)


@dataclass(frozen=True, slots=True)
class Row:
    """One host that asks for the hardware address of another."""

    interface: str = label("interface by which they come; of a port of a bridge the bridge")
    source: str = label("address of the host that asks")
    hardware: str = label("its hardware address")
    target: str = label("address that it asks for; its own: it announces itself")
    requests: int = counter("requests since nettop started to listen", "packets")
    seconds: float = gauge("listened for", "s", default=0.0)

    @property
    def asks(self) -> bool:
        """Whether it asks for another one."""
        return self.source != self.target


def parse(text: str) -> Sequence[Row]:
    """The rows of a text; ValueError for any other."""
    return _counted.rows(text, _row, "ARP requests")


def _row(line: str, seconds: float) -> Row:
    words = line.split(" ")
    if len(words) != 5:
        raise ValueError(f"not an ARP request with its count: {line[:60]!r}")
    count, interface, source, hardware, target = words
    ends = (str(IPv4Address(one)) for one in (source, target))
    return Row(interface, next(ends), hardware, next(ends), _counted.number(count), seconds)
