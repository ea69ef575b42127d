"""Ethernet flow control and its frames: ETHTOOL_MSG_PAUSE_GET (net/ethtool/pause.c), `ethtool -a`.

With autoneg on, rx and tx are the offered values with some drivers, the negotiated with others.
"""

from collections.abc import Sequence
from typing import Final

from ..frame.fields import counter, label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Table
from ._turns import every, flag

TABLE: Final = Table(every=5.0)


@dataclass(frozen=True, slots=True)
class Row:
    """Flow control of one interface."""

    interface: str = label("interface name")
    autoneg: bool | None = maybe("pause autonegotiation")
    rx: bool | None = maybe("receive pause")
    tx: bool | None = maybe("transmit pause")
    rx_frames: int | None = counter("pause frames received", "frames", default=None)
    tx_frames: int | None = counter("pause frames sent", "frames", default=None)


def read(source: Source) -> Sequence[Row]:
    """Every interface whose driver supports flow control; OSError without ethtool."""
    rows = []
    for name, values in every(source, "pause").items():
        counted = values.get("stats", {})
        rows.append(
            Row(
                interface=name,
                autoneg=flag(values.get("autoneg")),
                rx=flag(values.get("rx")),
                tx=flag(values.get("tx")),
                rx_frames=counted.get("rx_frames"),
                tx_frames=counted.get("tx_frames"),
            )
        )
    return rows
