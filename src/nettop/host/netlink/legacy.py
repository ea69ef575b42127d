"""Rings, channels, coalescing, pause and EEE by ioctl, for kernels before 5.7.

They lack ethtool netlink; the answers carry the names of its tables (`ethtool.MESSAGES`). An ioctl
has no way to say that a driver lacks one field: an unsupported coalescing field reads 0 there, so
only those fields are given that a driver with any coalescing has.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from ..source import Source
from .codec import text
from .kernel import Kernel
from .route import names

# what: (get, set, the 32-bit words after the command)
CALLS: Final[Mapping[str, tuple[int, int, tuple[str, ...]]]] = {
    "coalesce": (
        0x0E,
        0x0F,
        tuple(
            "rx_usecs rx_max_frames rx_usecs_irq rx_max_frames_irq tx_usecs tx_max_frames "
            "tx_usecs_irq tx_max_frames_irq stats_block_usecs use_adaptive_rx use_adaptive_tx "
            "pkt_rate_low rx_usecs_low rx_max_frames_low tx_usecs_low tx_max_frames_low "
            "pkt_rate_high rx_usecs_high rx_max_frames_high tx_usecs_high tx_max_frames_high "
            "rate_sample_interval".split()
        ),
    ),
    "rings": (
        0x10,
        0x11,
        ("rx_max", "rx_mini_max", "rx_jumbo_max", "tx_max", "rx", "rx_mini", "rx_jumbo", "tx"),
    ),
    "pause": (0x12, 0x13, ("autoneg", "rx", "tx")),
    "eee": (  # struct ethtool_eee; the netlink names of what both have
        0x44,
        0x45,
        tuple(
            "supported advertised lp_advertised active enabled tx_lpi_enabled tx_lpi_timer "
            "reserved_0 reserved_1".split()
        ),
    ),
    "channels": (
        0x3C,
        0x3D,
        (
            "rx_max", "tx_max", "other_max", "combined_max",
            "rx_count", "tx_count", "other_count", "combined_count",
        ),
    ),
}  # fmt: skip
_ALWAYS: Final = frozenset(CALLS["coalesce"][2][:8]) | {"use_adaptive_rx", "use_adaptive_tx"}


def one(source: Source, what: str, device: str) -> dict[str, int]:
    """The values of one device; OSError (EOPNOTSUPP) when the driver has none."""
    get, _put, fields = CALLS[what]
    ask = struct.pack(f"=I{4 * len(fields)}x", get)
    raw = source.statistics(device, ask, f"{what}/{device}")
    return dict(zip(fields, _words(raw, len(fields)), strict=True))


def _words(raw: bytes, count: int) -> tuple[int, ...]:
    if len(raw) < 4 + 4 * count:
        raise ValueError("the driver's answer is cut off")
    return struct.unpack_from(f"={count}I", raw, 4)


def every(source: Source, what: str) -> dict[str, dict[str, int]]:
    """The values of every device that has any, by name, as `ethtool.every` gives them."""
    found = {}
    for device in names(source).values():
        try:
            values = one(source, what, device)
        except OSError:
            continue
        if what == "coalesce":
            values = {
                name: value
                for name, value in values.items()
                if name in _ALWAYS and (value or not name.startswith("use_adaptive"))
            }  # a driver without adaptive moderation answers 0 as well: off is unknown
        else:  # a maximum of 0 means that the driver has no such ring or channel
            values = {
                name: value
                for name, value in values.items()
                if values.get(f"{name.removesuffix('_count').removesuffix('_max')}_max", 1)
            }
        found[device] = values
    return found


def put(kernel: Kernel, what: str, device: str, values: Mapping[str, int]) -> None:
    """Set values of one device, keeping the others: read, change, write, as ethtool(8) did."""
    get, write, fields = CALLS[what]
    unknown = set(values) - set(fields)
    if unknown:
        raise ValueError(f"{', '.join(sorted(unknown))}: not known to this kernel's ethtool")
    now = kernel.ioctl(device, struct.pack(f"=I{4 * len(fields)}x", get))
    words = dict(zip(fields, _words(now, len(fields)), strict=True)) | dict(values)
    try:
        request = struct.pack(f"=I{len(fields)}I", write, *(words[name] for name in fields))
    except struct.error:
        raise ValueError(f"{text(device.encode())}: a value does not fit") from None
    kernel.ioctl(device, request)
