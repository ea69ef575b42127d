"""Interrupt coalescing: ETHTOOL_MSG_COALESCE_GET (net/ethtool/coalesce.c), `ethtool -c`."""

from collections.abc import Sequence
from typing import Final

from ..frame.fields import label, maybe
from ..host.netlink.codec import Attributes
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Table
from ._turns import every, flag

TABLE: Final = Table(every=10.0)

_DIRECT: Final = (
    "rx_usecs", "tx_usecs", "rx_usecs_irq", "tx_usecs_irq", "rx_usecs_low", "tx_usecs_low",
    "rx_usecs_high", "tx_usecs_high", "pkt_rate_low", "pkt_rate_high", "rate_sample_interval",
    "stats_block_usecs", "tx_aggr_max_bytes", "tx_aggr_max_frames", "tx_aggr_time_usecs",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """Coalescing of one interface; None: the driver does not have this parameter."""

    interface: str = label("interface name")
    adaptive_rx: bool | None = maybe("adaptive receive moderation")
    adaptive_tx: bool | None = maybe("adaptive transmit moderation")
    rx_usecs: int | None = maybe("receive interrupt delay", "us")
    rx_frames: int | None = maybe("receive frames before an interrupt", "frames")
    tx_usecs: int | None = maybe("transmit interrupt delay", "us")
    tx_frames: int | None = maybe("transmit frames before an interrupt", "frames")
    rx_usecs_irq: int | None = maybe("receive interrupt delay while an interrupt is handled", "us")
    rx_frames_irq: int | None = maybe("frames while one is served", "frames")
    tx_usecs_irq: int | None = maybe("transmit interrupt delay while an interrupt is handled", "us")
    tx_frames_irq: int | None = maybe("frames while one is served", "frames")
    rx_usecs_low: int | None = maybe("receive interrupt delay at a low rate", "us")
    rx_frames_low: int | None = maybe("receive frames at low rate", "frames")
    tx_usecs_low: int | None = maybe("transmit interrupt delay at a low rate", "us")
    tx_frames_low: int | None = maybe("transmit frames at low rate", "frames")
    rx_usecs_high: int | None = maybe("receive interrupt delay at a high rate", "us")
    rx_frames_high: int | None = maybe("receive frames at high rate", "frames")
    tx_usecs_high: int | None = maybe("transmit interrupt delay at a high rate", "us")
    tx_frames_high: int | None = maybe("transmit frames at high rate", "frames")
    pkt_rate_low: int | None = maybe("packet rate below which the low values apply", "packets/s")
    pkt_rate_high: int | None = maybe("packet rate above which the high values apply", "packets/s")
    rate_sample_interval: int | None = maybe("packet rate sampling interval", "s")
    stats_block_usecs: int | None = maybe("statistics update delay", "us")
    cqe_mode_rx: bool | None = maybe("timer restarts with each completion")
    cqe_mode_tx: bool | None = maybe("timer restarts with each completion")
    tx_aggr_max_bytes: int | None = maybe("largest transmit aggregate", "bytes")
    tx_aggr_max_frames: int | None = maybe("frames in an aggregate", "frames")
    tx_aggr_time_usecs: int | None = maybe("transmit aggregation timeout", "us")
    rx_profile: str | None = maybe("DIM receive steps: usec,packets,completions …")
    tx_profile: str | None = maybe("DIM transmit steps")


def read(source: Source) -> Sequence[Row]:
    """The coalescing of every interface whose driver supports it. OSError."""
    return [row(name, values) for name, values in every(source, "coalesce").items()]


def row(name: str, values: Attributes) -> Row:
    """The settings of one interface from the attributes of ETHTOOL_A_COALESCE_*; absent: None."""
    frames = {
        f"{way}_frames{when}": values.get(f"{way}_max_frames{when}")
        for way in ("rx", "tx")
        for when in ("", "_irq", "_low", "_high")
    }
    return Row(
        interface=name,
        adaptive_rx=flag(values.get("use_adaptive_rx")),
        adaptive_tx=flag(values.get("use_adaptive_tx")),
        cqe_mode_rx=flag(values.get("use_cqe_mode_rx")),
        cqe_mode_tx=flag(values.get("use_cqe_mode_tx")),
        rx_profile=_profile(values.get("rx_profile")),
        tx_profile=_profile(values.get("tx_profile")),
        **frames,
        **{field: values.get(field) for field in _DIRECT},
    )


def _profile(found: Attributes | None) -> str | None:
    """The steps of dynamic moderation (Linux 6.11) as in ethtool(8): `1,256,n/a 8,256,0`."""
    if not found or not found.get("steps"):
        return None
    return " ".join(
        ",".join(str(step.get(part, "n/a")) for part in ("usec", "packets", "completions"))
        for step in found["steps"]
    )
