"""Switches of each interface: /proc/sys/net/ipv{4,6}/conf (networking/ip-sysctl).

Those of `all` are a row as well: the kernel combines both (include/linux/inetdevice.h).
"""

from typing import Final

from ..frame.fields import label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Table

TABLE: Final = Table(every=2.0, asked=True, optional=True)

MOST: Final = 256  # interfaces
_IPV4, _IPV6 = "/proc/sys/net/ipv4/conf", "/proc/sys/net/ipv6/conf"
_NEIGHBOURS: Final = "/proc/sys/net/ipv4/neigh"


@dataclass(frozen=True, slots=True)
class Row:
    """One interface, `all` or `default`. None: not there."""

    interface: str = label("interface name; all: the switches of the host")
    forwarding: int | None = maybe("IPv4 packets are forwarded")
    rp_filter: int | None = maybe("reverse path filter: 0 off, 1 strict, 2 loose")
    forwarding6: int | None = maybe("IPv6 packets are forwarded")
    arp_ignore: int | None = maybe(
        "ARP requests that get no answer: 0 none, 1 for addresses of other interfaces …"
    )
    accept_ra: int | None = maybe(
        "router advertisements: 0 ignored, 1 taken unless it forwards, 2 taken"
    )
    disabled6: int | None = maybe("IPv6 is off")
    hop_limit: int | None = maybe("hop limit of what this host sends by IPv6")
    reachable_ms: int | None = maybe(
        "base time for which a neighbour is believed before it is asked again (IPv4)", "ms"
    )


def read(source: Source) -> list[Row]:
    """One row each; OSError without the directory."""
    return [
        Row(
            name,
            _sysfs.number(source, f"{_IPV4}/{name}/forwarding"),
            _sysfs.number(source, f"{_IPV4}/{name}/rp_filter"),
            _sysfs.number(source, f"{_IPV6}/{name}/forwarding"),
            _sysfs.number(source, f"{_IPV4}/{name}/arp_ignore"),
            _sysfs.number(source, f"{_IPV6}/{name}/accept_ra"),
            _sysfs.number(source, f"{_IPV6}/{name}/disable_ipv6"),
            _sysfs.number(source, f"{_IPV6}/{name}/hop_limit"),
            _sysfs.number(source, f"{_NEIGHBOURS}/{name}/base_reachable_time_ms"),
        )
        for name in source.listing(_IPV4)[:MOST]
    ]
