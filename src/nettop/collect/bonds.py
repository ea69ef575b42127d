"""Bonds and their link aggregation: /proc/net/bonding/NAME (drivers/net/bonding/bond_procfs.c).

Lines `name: value`; those from `Slave Interface:` on are of one port. The active aggregator and the
partner's address are shown to CAP_NET_ADMIN only, the aggregator of each port to everybody.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from ..frame.fields import gauge, label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _sysfs
from ._table import Table

TABLE: Final = Table(every=5.0, optional=True)

_FOLDER: Final = "/proc/net/bonding"
_MODES: Final = {
    "load balancing (round-robin)": "balance-rr", "fault-tolerance (active-backup)":
    "active-backup", "load balancing (xor)": "balance-xor",
    "fault-tolerance (broadcast)": "broadcast",
    "IEEE 802.3ad Dynamic link aggregation": "802.3ad",
    "transmit load balancing": "balance-tlb", "adaptive load balancing": "balance-alb",
}  # fmt: skip
_NOBODY: Final = "00:00:00:00:00:00"


@dataclass(frozen=True, slots=True)
class Row:
    """One bond."""

    interface: str = label("bond")
    mode: str = gauge("802.3ad active-backup balance-xor …")
    policy: str | None = maybe("transmit hash policy, e.g. layer2 or layer3+4")
    partner: bool | None = maybe("802.3ad: an LACP partner answers")
    ports: int = gauge("ports with a link", "ports", default=0)
    outside: int | None = maybe(
        "802.3ad: ports with a link that are not in the active aggregator", "ports"
    )


def read(source: Source) -> list[Row]:
    """Every bond of this network namespace; OSError without the bonding driver."""
    return [
        parse(name, text)
        for name in source.listing(_FOLDER)
        if (text := _sysfs.word(source, f"{_FOLDER}/{name}"))
    ]


def parse(interface: str, text: str) -> Row:
    """The row of one bond from the text of its file; without a line its field is None."""
    head, *parts = (_pairs(part) for part in text.split("Slave Interface:"))
    up = [part for part in parts if part.get("MII Status") == "up"]
    mode = head.get("Bonding Mode", "")
    mode = next((name for words, name in _MODES.items() if mode.startswith(words)), mode)
    partner = head.get("Partner Mac Address")
    return Row(
        interface,
        mode,
        head.get("Transmit Hash Policy", "").partition(" ")[0] or None,
        partner != _NOBODY if partner is not None else None,
        len(up),
        _outside(head.get("Aggregator ID"), [part.get("Aggregator ID") for part in up])
        if mode == "802.3ad"
        else None,
    )


def _outside(active: str | None, ports: list[str | None]) -> int | None:
    """Ports of another aggregator than the active one, or, if unknown, than that of most ports."""
    counts = Counter(ports)
    if None in counts or not counts:
        return None
    chosen = active if active in counts else counts.most_common(1)[0][0]
    return len(ports) - counts[chosen]


def _pairs(text: str) -> Mapping[str, str]:
    """The first value of each name."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), value.strip())
    return found
