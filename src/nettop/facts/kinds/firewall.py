"""A rule or policy of nf_tables that drops packets now, from the collector `nftables`."""

from __future__ import annotations

from typing import Final

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind

LEAVING: Final = ("output", "postrouting")  # passed before the interface


@dataclass(frozen=True, slots=True)
class Firewall:
    """One of them."""

    id: str = label("family, table, chain and handle, e.g. inet/filter/input/7")
    hook: str = gauge("hook of its chain; empty: another chain jumps to it", default="")
    limited: bool = gauge("drops what exceeds a rate limit", default=False)
    drops: float | None = maybe("packets dropped", "packets/s")
    share: float | None = maybe(
        "packets dropped / packets of the busiest interface and those dropped before one", "ratio"
    )
    rejects: bool = gauge("it answers by ICMP or a reset", default=False)
    tests: str = gauge("what it tests of connections, of sets and of its quota", default="")


def build(frame: Frame, facts: Facts) -> tuple[Firewall, ...]:
    """One fact for each rule and policy whose counter moved."""
    moved = [
        (nic.per_s.rx_packets or 0.0) + (nic.per_s.tx_packets or 0.0)
        for nic in facts.nics
        if nic.kind != "loopback"
    ]
    busiest = max(moved, default=0.0)
    found = []
    for entry in frame.tables.get("nftables", ()):
        row, drops = entry.now, entry.rate("packets")
        if drops:
            # the interface counts what is dropped behind it, and not what it never was given
            whole = busiest + drops if row.hook in LEAVING else max(busiest, drops)
            share = drops / whole if busiest else None
            found.append(
                Firewall(row.name, row.hook, row.limited, drops, share, row.rejects, row.tests)
            )
    return tuple(found)


KIND = Kind(
    Firewall, "firewalls", needs=("nftables",), build=build,
    example={"id": "inet/filter/input/7", "hook": "input"},
)  # fmt: skip
