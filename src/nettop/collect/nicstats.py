"""What the NIC lost and why, from the driver's own statistics (`ethtool -S`, ETHTOOL_GSTATS).

Names are the driver's; `rules/drivers.toml` folds them into these few and says which may be summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..drivers import COUNTS
from ..frame import counter, gauge, label
from ..source import Source
from ._driver_statistics import Reading, readings

EVERY = 0.2


@dataclass(frozen=True, slots=True)
class Row:
    """One interface; None: its driver does not count that, or is not in the table."""

    interface: str = label("interface name")
    driver: str = gauge("kernel driver")
    ring_drops: int | None = counter(
        "lost because the receive ring was full", "packets", default=None
    )
    alloc_fails: int | None = counter("receive buffers not allocated", "buffers", default=None)
    phy_errors: int | None = counter("frames damaged on the wire", "frames", default=None)
    length_errors: int | None = counter("frames of a wrong length", "frames", default=None)
    phy_discards: int | None = counter(
        "dropped by the NIC's port before the ring", "packets", default=None
    )
    pause_rx: int | None = counter("pause frames received", "frames", default=None)
    pause_tx: int | None = counter("pause frames sent", "frames", default=None)
    tx_timeouts: int | None = counter("transmit watchdog firings", "events", default=None)
    allowance_bw_in: int | None = counter(
        "over the provider's inbound rate", "packets", default=None
    )
    allowance_bw_out: int | None = counter(
        "over the provider's outbound rate", "packets", default=None
    )
    allowance_pps: int | None = counter("over the provider's packet rate", "packets", default=None)
    allowance_conntrack: int | None = counter(
        "over the provider's flow table", "packets", default=None
    )


def read(source: Source) -> Sequence[Row]:
    """Every interface with statistics, known driver or not."""
    return [row(reading) for reading in readings(source)]


def row(reading: Reading) -> Row:
    """The sums of one interface."""
    values, sums = reading.values, reading.plan.counts
    counted = {
        what: sum(values[place] for place in sums[what]) if what in sums else None
        for what in COUNTS
    }
    return Row(reading.interface, reading.driver.name, **counted)
