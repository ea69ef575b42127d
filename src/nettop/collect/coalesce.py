"""Interrupt coalescing: ETHTOOL_MSG_COALESCE_GET (net/ethtool/coalesce.c), `ethtool -c`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..frame.fields import gauge, label
from ..host.netlink.codec import Attributes
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._settings import every, flag
from ._table import Table

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
    adaptive_rx: bool | None = gauge("adaptive receive moderation", default=None)
    adaptive_tx: bool | None = gauge("adaptive transmit moderation", default=None)
    rx_usecs: int | None = gauge("receive interrupt delay", "us", default=None)
    rx_frames: int | None = gauge("receive frames before an interrupt", "frames", default=None)
    tx_usecs: int | None = gauge("transmit interrupt delay", "us", default=None)
    tx_frames: int | None = gauge("transmit frames before an interrupt", "frames", default=None)
    rx_usecs_irq: int | None = gauge(
        "receive interrupt delay while an interrupt is handled", "us", default=None
    )
    rx_frames_irq: int | None = gauge("frames while one is served", "frames", default=None)
    tx_usecs_irq: int | None = gauge(
        "transmit interrupt delay while an interrupt is handled", "us", default=None
    )
    tx_frames_irq: int | None = gauge("frames while one is served", "frames", default=None)
    rx_usecs_low: int | None = gauge("receive interrupt delay at a low rate", "us", default=None)
    rx_frames_low: int | None = gauge("receive frames at low rate", "frames", default=None)
    tx_usecs_low: int | None = gauge("transmit interrupt delay at a low rate", "us", default=None)
    tx_frames_low: int | None = gauge("transmit frames at low rate", "frames", default=None)
    rx_usecs_high: int | None = gauge("receive interrupt delay at a high rate", "us", default=None)
    rx_frames_high: int | None = gauge("receive frames at high rate", "frames", default=None)
    tx_usecs_high: int | None = gauge("transmit interrupt delay at a high rate", "us", default=None)
    tx_frames_high: int | None = gauge("transmit frames at high rate", "frames", default=None)
    pkt_rate_low: int | None = gauge(
        "packet rate below which the low values apply", "packets/s", default=None
    )
    pkt_rate_high: int | None = gauge(
        "packet rate above which the high values apply", "packets/s", default=None
    )
    rate_sample_interval: int | None = gauge("packet rate sampling interval", "s", default=None)
    stats_block_usecs: int | None = gauge("statistics update delay", "us", default=None)
    cqe_mode_rx: bool | None = gauge("timer restarts with each completion", default=None)
    cqe_mode_tx: bool | None = gauge("timer restarts with each completion", default=None)
    tx_aggr_max_bytes: int | None = gauge("largest transmit aggregate", "bytes", default=None)
    tx_aggr_max_frames: int | None = gauge("frames in an aggregate", "frames", default=None)
    tx_aggr_time_usecs: int | None = gauge("transmit aggregation timeout", "us", default=None)
    rx_profile: str | None = gauge("DIM receive steps: usec,packets,completions …", default=None)
    tx_profile: str | None = gauge("DIM transmit steps", default=None)


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
