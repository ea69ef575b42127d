"""Cards and radios: ports that share one PCI Express link, and the radio of a Wi-Fi interface.

Such ports are those of one card, or of cards below one bridge. Radios are from the collector
`wireless`.
"""

from __future__ import annotations

from operator import attrgetter

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms import formulas
from ...terms.dataclass import dataclass
from .. import Facts
from ..flow_words import total
from ..kind import Kind
from .nic import Nic


@dataclass(frozen=True, slots=True)
class Radio:
    """One interface with a radio."""

    nic: str = label("interface name")
    level: int | None = maybe("signal", "dBm")
    undelivered: float | None = maybe("frames that no try delivered", "frames/s")


def radios(frame: Frame, facts: object) -> tuple[Radio, ...]:  # noqa: ARG001
    """One fact for each line of /proc/net/wireless."""
    return tuple(
        Radio(entry.now.interface, entry.now.level, entry.rate("undelivered"))
        for entry in frame.tables.get("wireless", ())
    )


RADIO = Kind(
    Radio, "radios", needs=("wireless",), build=radios, parents={"nic": attrgetter("nic")},
    example={"nic": "wlan0", "level": -60},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Card:
    """The functions of one PCI device that have a link, or the devices below one bridge."""

    bus: str = label("bus address without the function, e.g. 0000:41:00; of a bridge, with it")
    ports: tuple[str, ...] = gauge("its ports with a link", default=())
    speed: float | None = maybe("link speed of all its ports", "bit/s")
    usable: float | None = maybe("slot bandwidth after encoding", "bit/s")
    rx: float | None = maybe("received by all its ports", "bit/s")
    tx: float | None = maybe("sent by all its ports", "bit/s")


def build(frame: Frame, facts: Facts) -> tuple[Card, ...]:  # noqa: ARG001
    """The cards with two ports or more, and the bridges that several cards share.

    Functions of SR-IOV have numbers of their own.
    """
    cards: dict[str, list[Nic]] = {}
    bridges: dict[str, dict[str, list[Nic]]] = {}
    for nic in facts.nics:
        if nic.kind == "nic" and nic.pcie.usable and nic.carrier and nic.bus:
            bus = nic.bus.rpartition(".")[0]
            cards.setdefault(bus, []).append(nic)
            if nic.pcie.above:
                bridges.setdefault(nic.pcie.above, {}).setdefault(bus, []).append(nic)
    shared = [
        _card(above, ports, formulas.pcie_usable(first.above_speed, first.above_width))
        for above, below in bridges.items()
        if len(below) > 1
        for ports in [[port for found in below.values() for port in found]]
        for first in [ports[0].pcie]
        if first.above_speed and first.above_width
    ]
    return (
        *(_card(bus, ports, min(port.pcie.usable or 0.0 for port in ports))
          for bus, ports in cards.items() if len(ports) > 1),
        *shared,
    )  # fmt: skip


def _card(bus: str, ports: list[Nic], usable: float) -> Card:
    return Card(
        bus, tuple(port.name for port in ports), total(port.speed for port in ports), usable,
        _bits([port.per_s.rx_bytes for port in ports]),
        _bits([port.per_s.tx_bytes for port in ports]),
    )  # fmt: skip


def _bits(octets: list[float | None]) -> float | None:
    known = total(octets)
    return None if known is None else 8 * known


KIND = Kind(
    Card, "cards", needs=("pci",), build=build,
    example={"bus": "0000:41:00", "ports": ("eth0", "eth1")},
)  # fmt: skip
