"""Interrupt coalescing: `coalesce.rx-usecs@eth0`, ETHTOOL_MSG_COALESCE_SET (ethtool -C).

Names are ethtool's. With adaptive moderation on, the driver moves the delays by itself, by the
steps of `coalesce.rx-profile@eth0` where they can be set (Linux 6.11): dynamic interrupt moderation
(DIM, Documentation/networking/net_dim.rst). `1,256,n_8,256,n_64,256,n_128,256,n_256,256,n` are five
steps of microseconds, packets and completions; `n` where the driver has no such field.
"""

import re
from collections.abc import Mapping, Sequence

from ..host.source import Source
from . import Address, Host, Keep, Limits
from ._ethtool import Message, put, values
from ._text import number, switch

RISK = "none"
NIC = True
ROUNDS = True
COMMAND = "ethtool -C {nic} {name} {value}"
SHOWS = "ethtool -c {nic}"
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
LINKS = {name: key for name, (_, key) in _TABLE.items() if key}
_SWITCHES = frozenset({"adaptive-rx", "adaptive-tx", "cqe-mode-rx", "cqe-mode-tx"})
PROFILES = ("rx-profile", "tx-profile")
_PARTS = ("usec", "packets", "completions")
_MOST = (1 << 16) - 1  # struct dim_cq_moder of include/linux/dim.h
_STEP = re.compile(r"(\d{1,9}|n),(\d{1,9}|n),(\d{1,9}|n)")
_MESSAGE = Message("coalesce", {name: _TABLE[name][0] for name in NAMES}, "{}", switches=_SWITCHES)
# adaptive moderation changes all other values of the driver
side_effects = _MESSAGE.side_effects


def read(source: Source, address: Address) -> str:
    """The number, on/off, or the steps of a profile; OSError if the driver does not report it."""
    if address.name in PROFILES:
        return shown(steps(source, address))
    return _MESSAGE.read(source, address)


def write(host: Host, address: Address, value: str) -> None:
    """Set one value; the kernel keeps the others."""
    if address.name in PROFILES:
        profile = {"steps": parsed(value)}
        put(host, "coalesce", address.nic, {_TABLE[address.name][0]: profile})
    else:
        _MESSAGE.write(host, address, value)


def normal(address: Address, value: str) -> str:
    """The canonical number, on/off, or steps of a profile; ValueError for anything else."""
    if address.name in PROFILES:
        return normal_steps(address, value)
    return switch(value) if address.name in _SWITCHES else number(value)


def validate(source: Source, address: Address, value: str) -> None:
    """ValueError where a profile has not the steps and fields of the driver."""
    if address.name in PROFILES:
        validate_steps(source, address, value)


def keep(address: Address, value: str) -> Keep:
    """A key of a .link file (systemd 250); times have a unit."""
    key = LINKS.get(address.name)
    if key is None:
        return Keep("unit")
    if key.endswith("Sec") and not key.endswith("IntervalSec"):
        return Keep("link", key, value + "us")
    if address.name in _SWITCHES:
        return Keep("link", key, "yes" if value == "on" else "no")
    return Keep("link", key, value + ("s" if key.endswith("Sec") else ""))


def rank(address: Address, value: str) -> int:
    """Adaptive off first, because the driver overwrites other values while it is on; on last."""
    if address.name not in _SWITCHES:
        return 1
    return 0 if value == "off" else 2


def limits(source: Source, address: Address) -> Limits:
    """Drivers report no bounds of times: they round a value or refuse it."""
    if address.name in PROFILES:
        steps(source, address)
        return Limits()
    if _TABLE[address.name][0] not in values(source, "coalesce", address.nic):
        return Limits(settable=False, because=f"the driver has no {address.name}")
    if address.name in _SWITCHES:
        return Limits(choices=("on", "off"))
    return Limits(min=0, max=(1 << 32) - 1)


def steps(source: Source, address: Address) -> Sequence[Mapping[str, int]]:
    """The steps in force; FileNotFoundError with one sentence where there are none."""
    fields = values(source, "coalesce", address.nic).get(address.name.replace("-", "_")) or {}
    if not fields.get("steps"):
        why = (
            f"{address.nic} reports no {address.name}: it needs Linux 6.11 and a driver that has it"
        )
        raise FileNotFoundError(2, why)
    profile: Sequence[Mapping[str, int]] = fields["steps"]
    return profile


def shown(profile: Sequence[Mapping[str, int]]) -> str:
    """The steps as canonical text: `,` joins fields, `_` joins steps, `n` is an absent field."""
    return "_".join(",".join(str(step.get(part, "n")) for part in _PARTS) for step in profile)


def normal_steps(address: Address, value: str) -> str:
    """The text without blanks or leading zeros; ValueError for anything else."""
    words = value.strip().lower().replace("n/a", "n").split("_")
    matches = [_STEP.fullmatch(word.replace(" ", "")) for word in words]
    if not all(matches):
        raise ValueError(
            f"{address} is five steps such as 1,256,n_8,256,n_…: usec,packets,completions"
        )
    return "_".join(
        ",".join(part if part == "n" else str(int(part)) for part in one.groups())
        for one in matches
        if one
    )


def validate_steps(source: Source, address: Address, value: str) -> None:
    """ValueError unless the count of steps and their fields are those of the driver, in 16 bits."""
    now, new = steps(source, address), parsed(value)
    if len(new) != len(now):
        raise ValueError(f"{address} has {len(now)} steps, not {len(new)}")
    for at, (had, has) in enumerate(zip(now, new, strict=True), 1):
        for part in _PARTS:
            if part in had and part not in has:
                raise ValueError(f"step {at} of {address} needs a number of {part}")
            if part in has and part not in had:
                raise ValueError(f"the driver of {address.nic} has no {part} in {address.name}")
            if has.get(part, 0) > _MOST:
                raise ValueError(f"step {at} of {address}: {part} cannot exceed {_MOST}")


def parsed(value: str) -> list[dict[str, int]]:
    """The steps of a canonical text."""
    rows = (word.split(",") for word in value.split("_"))
    return [
        {part: int(one) for part, one in zip(_PARTS, row, strict=True) if one != "n"}
        for row in rows
    ]
