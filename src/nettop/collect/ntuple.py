"""Flow-steering rules: ETHTOOL_GRXCLSRLALL and GRXCLSRULE (net/ethtool/ioctl.c), `ethtool -n`."""

from collections.abc import Sequence
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..frame.rates import Partly
from ..host.netlink import driver, route
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Table

TABLE: Final = Table(every=30.0)


@dataclass(frozen=True, slots=True)
class Row:
    """One rule. None matches anything."""

    interface: str = label("interface name")
    location: int = label("location of the rule in the table of the device")
    flow: str = gauge("flow type: tcp4 udp4 ip6 ether …")
    source: str | None = maybe("source address")
    destination: str | None = maybe("destination address")
    source_port: int | None = maybe("source port")
    destination_port: int | None = maybe("destination port")
    queue: int | None = maybe("receive queue of the rule; None: the packet is dropped")


def read(source: Source) -> Sequence[Row]:
    """Every rule of every interface; OSError without ethtool, ValueError for a damaged answer."""
    rows: list[Row] = []
    why = []
    for interface in route.names(source).values():
        try:
            rules = driver.rules(source, interface)
        except OSError:
            continue  # its driver has no such rules, or it is gone
        except ValueError as error:
            why.append(f"{interface}: {error}")
            continue
        rows += [row(interface, rule) for rule in rules]
    return Partly(rows, "; ".join(why)) if why else rows


def row(interface: str, rule: driver.SteeringRule) -> Row:
    """The row of struct ethtool_rx_flow_spec; addresses as text, a field without a mask is None."""
    return Row(
        interface,
        rule.location,
        rule.flow,
        route.ip(rule.source) if rule.source else None,
        route.ip(rule.destination) if rule.destination else None,
        rule.source_port,
        rule.destination_port,
        rule.queue,
    )
