"""Energy Efficient Ethernet: ETHTOOL_MSG_EEE_GET (net/ethtool/eee.c), `ethtool --show-eee`.

Between packets the transmitter of an idle link sleeps (low power idle, IEEE 802.3az). A kernel
before 5.7 answers ETHTOOL_GEEE.
"""

from collections.abc import Sequence
from typing import Final

from ..frame.fields import label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Table
from ._turns import every, flag

TABLE: Final = Table(every=10.0, optional=True)


@dataclass(frozen=True, slots=True)
class Row:
    """EEE of one interface."""

    interface: str = label("interface name")
    active: bool | None = maybe("agreed with the link partner")
    enabled: bool | None = maybe("advertised to the link partner")
    tx_lpi: bool | None = maybe("low power idle of the transmitter")
    tx_lpi_usecs: int | None = maybe("idle time before low power", "us")


def read(source: Source) -> Sequence[Row]:
    """Every interface whose driver supports EEE; OSError without ethtool."""
    return [
        Row(
            interface=name,
            active=flag(values.get("active")),
            enabled=flag(values.get("enabled")),
            tx_lpi=flag(values.get("tx_lpi_enabled")),
            tx_lpi_usecs=values.get("tx_lpi_timer"),
        )
        for name, values in every(source, "eee").items()
    ]
