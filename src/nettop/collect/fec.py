"""Forward error correction: ETHTOOL_MSG_FEC_GET (net/ethtool/fec.c), Linux 5.13.

Corrected blocks cost nothing; an uncorrectable block is a loss of one or more frames.
"""

import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

from ..frame.fields import counter, gauge, label, maybe
from ..host.netlink import ethtool
from ..host.netlink.codec import Attributes, Bits
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, parsed

TABLE: Final = Table(every=10.0)


@dataclass(frozen=True, slots=True)
class Row:
    """FEC of one interface; the kernel names its modes among the link modes: RS BASER LLRS None."""

    interface: str = label("interface name")
    active: str | None = maybe("mode in use")
    auto: bool | None = maybe("selected by the device")
    modes: tuple[str, ...] = gauge("modes configured", default=())
    corrected: int | None = counter("corrected blocks", "blocks", default=None)
    uncorrectable: int | None = counter("uncorrectable blocks", "blocks", default=None)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every interface whose driver reports FEC; the names of modes are read once. OSError."""
    found = ethtool.every(source, "fec")
    if not found:
        return []
    names = parsed(memory, "names", "linkmodes", partial(ethtool.strings, source))
    return [row(name, values, names) for name, values in found.items()]


def row(name: str, values: Attributes, names: Sequence[str]) -> Row:
    """The FEC of one interface from ETHTOOL_A_FEC_*; `names` are those of the link modes by bit."""

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


def _total(values: Attributes, which: str) -> int | None:
    """The total of a counter, which precedes those of the lanes; None if not counted."""
    raw = values.get("stats", {}).get(which, b"")
    return int.from_bytes(raw[:8], sys.byteorder) if len(raw) >= 8 else None
