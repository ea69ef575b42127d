"""Interrupt coalescing: `coalesce.rx-usecs@eth0`, ETHTOOL_MSG_COALESCE_SET (ethtool -C).

Names are ethtool's. With adaptive moderation on, the driver moves the delays by itself, by the
steps of `coalesce.rx-profile@eth0` where they can be set (Linux 6.11).
"""

from __future__ import annotations

from ..host.source import Source
from . import Address, Command, Host, Keep, Limits, _dim
from ._ethtool import field, put, values
from ._text import number, switch

RISK = "none"
NIC = True
ROUNDS = True
# ethtool's word, the message's field, systemd.link's key
_TABLE = {
    "adaptive-rx": ("use_adaptive_rx", "UseAdaptiveRxCoalesce"),
    "adaptive-tx": ("use_adaptive_tx", "UseAdaptiveTxCoalesce"),
    "rx-usecs": ("rx_usecs", "RxCoalesceSec"),
    "rx-frames": ("rx_max_frames", "RxMaxCoalescedFrames"),
    "rx-usecs-irq": ("rx_usecs_irq", "RxCoalesceIrqSec"),
    "rx-frames-irq": ("rx_max_frames_irq", "RxMaxCoalescedIrqFrames"),
    "tx-usecs": ("tx_usecs", "TxCoalesceSec"),
    "tx-frames": ("tx_max_frames", "TxMaxCoalescedFrames"),
    "tx-usecs-irq": ("tx_usecs_irq", "TxCoalesceIrqSec"),
    "tx-frames-irq": ("tx_max_frames_irq", "TxMaxCoalescedIrqFrames"),
    "stats-block-usecs": ("stats_block_usecs", "StatisticsBlockCoalesceSec"),
    "pkt-rate-low": ("pkt_rate_low", "CoalescePacketRateLow"),
    "rx-usecs-low": ("rx_usecs_low", "RxCoalesceLowSec"),
    "rx-frames-low": ("rx_max_frames_low", "RxMaxCoalescedLowFrames"),
    "tx-usecs-low": ("tx_usecs_low", "TxCoalesceLowSec"),
    "tx-frames-low": ("tx_max_frames_low", "TxMaxCoalescedLowFrames"),
    "pkt-rate-high": ("pkt_rate_high", "CoalescePacketRateHigh"),
    "rx-usecs-high": ("rx_usecs_high", "RxCoalesceHighSec"),
    "rx-frames-high": ("rx_max_frames_high", "RxMaxCoalescedHighFrames"),
    "tx-usecs-high": ("tx_usecs_high", "TxCoalesceHighSec"),
    "tx-frames-high": ("tx_max_frames_high", "TxMaxCoalescedHighFrames"),
    "sample-interval": ("rate_sample_interval", "CoalescePacketRateSampleIntervalSec"),
    "cqe-mode-rx": ("use_cqe_mode_rx", ""),
    "cqe-mode-tx": ("use_cqe_mode_tx", ""),
    "tx-aggr-max-bytes": ("tx_aggr_max_bytes", ""),
    "tx-aggr-max-frames": ("tx_aggr_max_frames", ""),
    "tx-aggr-time-usecs": ("tx_aggr_time_usecs", ""),
    "rx-profile": ("rx_profile", ""),
    "tx-profile": ("tx_profile", ""),
}
NAMES = tuple(_TABLE)
_SWITCHES = frozenset({"adaptive-rx", "adaptive-tx", "cqe-mode-rx", "cqe-mode-tx"})


def read(source: Source, address: Address) -> str:
    """The number, on/off, or the steps of a profile; OSError if the driver does not report it."""
    if address.name in _dim.PROFILES:
        return _dim.shown(_dim.steps(source, address))
    number = field(source, "coalesce", address.nic, _TABLE[address.name][0], address.name)
    return normal(address, str(number))


def write(host: Host, address: Address, value: str) -> None:
    """Set one value; the kernel keeps the others."""
    if address.name in _dim.PROFILES:
        steps = {"steps": _dim.parsed(value)}
        put(host, "coalesce", address.nic, {_TABLE[address.name][0]: steps})
        return
    raw = int(value == "on") if address.name in _SWITCHES else int(value)
    put(host, "coalesce", address.nic, {_TABLE[address.name][0]: raw})


def commands(source: Source, address: Address, value: str) -> tuple[Command, ...]:  # noqa: ARG001
    """`ethtool -C`."""
    return (Command(("ethtool", "-C", address.nic, address.name, value)),)


def shows(source: Source, address: Address) -> tuple[str, ...]:  # noqa: ARG001
    """`ethtool -c`."""
    return ("ethtool", "-c", address.nic)


def normal(address: Address, value: str) -> str:
    """The canonical number, on/off, or steps of a profile; ValueError for anything else."""
    if address.name in _dim.PROFILES:
        return _dim.normal(address, value)
    return switch(value) if address.name in _SWITCHES else number(value)


def validate(source: Source, address: Address, value: str) -> None:
    """ValueError where a profile has not the steps and fields of the driver."""
    if address.name in _dim.PROFILES:
        _dim.validate(source, address, value)


def keep(address: Address, value: str) -> Keep:
    """A key of a .link file (systemd 250); times have a unit."""
    key = _TABLE[address.name][1]
    if not key:
        return Keep("unit")
    if key.endswith("Sec") and not key.endswith("IntervalSec"):
        return Keep("link", key, value + "us")
    if address.name in _SWITCHES:
        return Keep("link", key, "yes" if value == "on" else "no")
    return Keep("link", key, value + ("s" if key.endswith("Sec") else ""))


def side_effects(source: Source, address: Address) -> tuple[str, ...]:
    """All other values of the driver: adaptive moderation changes them."""
    fields = values(source, "coalesce", address.nic)
    others = (n for n in NAMES if n != address.name and _TABLE[n][0] in fields)
    return tuple(f"coalesce.{name}@{address.nic}" for name in others)


def rank(address: Address, value: str) -> int:
    """Adaptive off first, because the driver overwrites other values while it is on; on last."""
    if address.name not in _SWITCHES:
        return 1
    return 0 if value == "off" else 2


def limits(source: Source, address: Address) -> Limits:
    """Drivers report no bounds of times: they round a value or refuse it."""
    if address.name in _dim.PROFILES:
        _dim.steps(source, address)
        return Limits()
    if _TABLE[address.name][0] not in values(source, "coalesce", address.nic):
        return Limits(settable=False, because=f"the driver has no {address.name}")
    if address.name in _SWITCHES:
        return Limits(choices=("on", "off"))
    return Limits(min=0, max=(1 << 32) - 1)
