"""Number of queues and its maximum: ETHTOOL_MSG_CHANNELS_GET (net/ethtool/channels.c)."""

from collections.abc import Mapping, Sequence
from typing import Final

from ..frame.fields import label, maybe
from ..host.netlink.codec import Attributes
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, parsed
from ._turns import every

TABLE: Final = Table(every=10.0)


@dataclass(frozen=True, slots=True)
class Row:
    """Channels of one interface (`ethtool -l`); None: the driver has no channels of this kind."""

    interface: str = label("interface name")
    rx: int | None = maybe("receive channels", "channels")
    tx: int | None = maybe("transmit channels", "channels")
    combined: int | None = maybe("combined channels", "channels")
    other: int | None = maybe("channels for link events and other interrupts", "channels")
    rx_max: int | None = maybe("receive channels maximum", "channels")
    tx_max: int | None = maybe("transmit channels maximum", "channels")
    combined_max: int | None = maybe("combined channels maximum", "channels")
    other_max: int | None = maybe("other channels maximum", "channels")


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
