"""Forward error correction: ETHTOOL_MSG_FEC_GET (net/ethtool/fec.c), Linux 5.13.

Blocks that were corrected cost nothing; one that could not be is a frame or more lost on the wire.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..frame.fields import counter, gauge, label
from ..host.netlink import ethtool
from ..host.netlink.codec import Bits
from ..host.source import Source

EVERY = 10.0


@dataclass(frozen=True, slots=True)
class Row:
    """FEC of one interface; the kernel names its modes among the link modes: RS BASER LLRS None."""

    interface: str = label("interface name")
    active: str | None = gauge("mode in use", default=None)
    auto: bool | None = gauge("selected by the device", default=None)
    modes: tuple[str, ...] = gauge("modes configured", default=())
    corrected: int | None = counter("corrected blocks", "blocks", default=None)
    uncorrectable: int | None = counter("uncorrectable blocks", "blocks", default=None)


def update(source: Source, memory: dict[str, Any]) -> Sequence[Row]:
    """Every interface whose driver knows FEC; the names of modes are read once."""
    found = ethtool.every(source, "fec")
    if found and "names" not in memory:
        memory["names"] = ethtool.strings(source, "linkmodes")
    return [row(name, values, memory["names"]) for name, values in found.items()]


def row(name: str, values: Mapping[str, Any], names: Sequence[str]) -> Row:
    """One interface's FEC; `active` is the number of a link mode."""

    def mode(bit: int) -> str:
        return names[bit] if bit < len(names) else f"mode {bit}"

    active = values.get("active")
    return Row(
        interface=name,
        active=None if active is None else mode(active),
        auto=bool(values["auto"]) if "auto" in values else None,
        modes=tuple(mode(bit) for bit in values.get("modes", Bits(0, 0, 0)).numbers()),
        corrected=_total(values, "corrected"),
        uncorrectable=_total(values, "uncorrectable"),
    )


def _total(values: Mapping[str, Any], which: str) -> int | None:
    """A counter's total, which stands before those of the lanes; None where it is not counted."""
    raw = values.get("stats", {}).get(which, b"")
    return int.from_bytes(raw[:8], sys.byteorder) if len(raw) >= 8 else None
