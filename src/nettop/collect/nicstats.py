"""Losses of each NIC by cause, from the driver's statistics (`ethtool -S`, ETHTOOL_GSTATS).

Each driver has names of its own; `rules/drivers.toml` maps them to the fields here and says which
may be summed. Counts that the driver lacks are taken from the standard statistics, if present.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from ..frame.fields import counter, gauge, label, maybe
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import _drivers as drivers
from . import ethstats
from ._driver_statistics import DriverStatistics, readings, with_unread
from ._drivers import COUNTS, LEVELS
from ._table import Memory, Table

TABLE: Final = Table(every=0.2, prompt=True, memory="statistics")


_STANDARD: Final = {
    "phy_errors": ("eth-mac-FrameCheckSequenceErrors", "eth-mac-AlignmentErrors"),
    "length_errors": (
        "eth-mac-InRangeLengthErrors", "eth-mac-OutOfRangeLengthField",
        "eth-mac-FrameTooLongErrors",
    ),
    "phy_discards": ("eth-mac-FramesLostDueToIntMACRcvError",),
}  # fmt: skip
_NONE: Final[Mapping[str, int]] = {}


@dataclass(frozen=True, slots=True)
class Row:
    """One interface; None: its driver does not count that, or is not in the table."""

    interface: str = label("interface name")
    driver: str = gauge("kernel driver")
    ring_drops: int | None = counter("packets dropped, receive ring full", "packets", default=None)
    alloc_fails: int | None = counter("receive buffer allocation failures", "buffers", default=None)
    phy_errors: int | None = counter("frames with CRC or symbol errors", "frames", default=None)
    length_errors: int | None = counter("frames with length errors", "frames", default=None)
    phy_discards: int | None = counter(
        "packets discarded at the port, before the ring", "packets", default=None
    )
    pause_rx: int | None = counter("pause frames received", "frames", default=None)
    pause_tx: int | None = counter("pause frames sent", "frames", default=None)
    pfc_rx: int | None = counter("priority pause frames received (PFC)", "frames", default=None)
    pfc_tx: int | None = counter("priority pause frames sent (PFC)", "frames", default=None)
    tx_timeouts: int | None = counter("transmit queue timeouts", "events", default=None)
    tx_stops: int | None = counter("stops of transmit queues, ring full", "events", default=None)
    allowance_bw_in: int | None = counter(
        "packets above the provider's inbound bandwidth", "packets", default=None
    )
    allowance_bw_out: int | None = counter(
        "packets above the provider's outbound bandwidth", "packets", default=None
    )
    allowance_pps: int | None = counter(
        "packets above the provider's packet rate", "packets", default=None
    )
    allowance_conntrack: int | None = counter(
        "packets above the provider's connection limit", "packets", default=None
    )
    allowance_linklocal: int | None = counter(
        "packets above the provider's limit for DNS, metadata and time services",
        "packets",
        default=None,
    )
    xdp_drops: int | None = counter("packets dropped by the XDP program", "packets", default=None)
    xdp_fails: int | None = counter(
        "packets that XDP_TX or XDP_REDIRECT could not send", "packets", default=None
    )
    bus_overflows: int | None = counter(
        "packets dropped by the card, its buffer to PCI Express full", "packets", default=None
    )
    bus_stalls: int | None = counter(
        "times that PCI Express did not take what the card received", "events", default=None
    )
    port_rx_bytes: int | None = counter(
        "bytes received by the port, also those that pass the kernel by", "bytes", default=None
    )
    port_tx_bytes: int | None = counter(
        "bytes sent by the port, also those that pass the kernel by", "bytes", default=None
    )
    fifo_drops: int | None = counter(
        "packets that the receive FIFO could not take, for a full ring or a slow bus",
        "packets",
        default=None,
    )
    ring_waits: int | None = counter(
        "times that a packet in the receive FIFO waited for a descriptor", "events", default=None
    )
    connections_left: int | None = maybe("connections left in the provider's limit", "connections")


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every interface with statistics, also of unknown drivers. OSError without netlink."""
    try:
        standard = ethstats.readings(source, memory)
    except (OSError, ValueError):
        standard = {}
    own = {reading.interface: reading for reading in readings(source, memory)}
    rows = [
        row(own.get(name) or _bare(name), standard.get(name, _NONE)) for name in {**own, **standard}
    ]
    return with_unread(rows, memory)


def _bare(interface: str) -> DriverStatistics:
    """An interface whose driver has no statistics of its own."""
    return DriverStatistics(interface, drivers.Driver(""), drivers.Plan({}, {}), (), ())


def row(reading: DriverStatistics, standard: Mapping[str, int] = _NONE) -> Row:
    """The sums of one interface; `standard` are its statistics by IEEE 802.3, by name."""
    values, sums = reading.values, reading.plan.counts
    counted = {
        what: sum(values[place] for place in sums[what]) if what in sums else _sum(standard, what)
        for what in (*COUNTS, *LEVELS)
    }
    return Row(reading.interface, reading.driver.name, **counted)


def _sum(standard: Mapping[str, int], what: str) -> int | None:
    """The sum of the standard statistics for a field; None if they have none."""
    known = [standard[name] for name in _STANDARD.get(what, ()) if name in standard]
    return sum(known) if known else None
