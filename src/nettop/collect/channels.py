"""Number of queues and its maximum: ETHTOOL_MSG_CHANNELS_GET (net/ethtool/channels.c)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink.codec import Attributes
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._settings import every
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=10.0)


@dataclass(frozen=True, slots=True)
class Row:
    """Channels of one interface (`ethtool -l`); None: the driver has no channels of this kind."""

    interface: str = label("interface name")
    rx: int | None = gauge("receive channels", "channels", default=None)
    tx: int | None = gauge("transmit channels", "channels", default=None)
    combined: int | None = gauge("combined channels", "channels", default=None)
    other: int | None = gauge(
        "channels for link events and other interrupts", "channels", default=None
    )
    rx_max: int | None = gauge("receive channels maximum", "channels", default=None)
    tx_max: int | None = gauge("transmit channels maximum", "channels", default=None)
    combined_max: int | None = gauge("combined channels maximum", "channels", default=None)
    other_max: int | None = gauge("other channels maximum", "channels", default=None)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every interface whose driver has channels; OSError without ethtool."""
    return parsed(memory, "channels", every(source, "channels"), parse)


def parse(found: Mapping[str, Attributes]) -> list[Row]:
    """The rows of these devices."""
    kinds = ("rx", "tx", "combined", "other")
    return [
        Row(
            name,
            *[values.get(f"{kind}_count") for kind in kinds],
            *[values.get(f"{kind}_max") for kind in kinds],
        )
        for name, values in found.items()
    ]
