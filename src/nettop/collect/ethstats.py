"""Statistics as IEEE 802.3 and RMON define them, from drivers that provide them (Linux 5.13).

Documentation/networking/statistics.rst. Unlike those of `ethtool -S`, they have one meaning for
all drivers. mlx5, bnxt, ice and a few others provide them, most drivers do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

from ..frame.fields import counter, label, light
from ..host.netlink import statistics
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, Table, recall

TABLE: Final = Table(every=0.9, memory="statistics")


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One statistic, named as `ethtool -S DEVICE --all-groups` names it."""

    interface: str = label("interface name")
    name: str = label("group and name, e.g. eth-mac-FrameCheckSequenceErrors")
    value: int = counter("count of frames, octets or events")


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """Every standard statistic of every interface. OSError on a kernel without the request."""
    return [
        Row(interface, name, value)
        for interface, values in readings(source, memory).items()
        for name, value in values.items()
    ]


_MOMENT = 0.05  # seconds: collectors of one frame run one after the other
_LOOK = 10.0  # seconds between requests to all interfaces


@dataclass
class _Known:
    """What is kept from frame to frame; times are seconds of the source's clock."""

    looked: float = float("-inf")
    at: float = float("-inf")
    values: dict[str, dict[str, int]] = field(default_factory=dict)
    error: OSError | None = None


def readings(source: Source, memory: Memory) -> Mapping[str, Mapping[str, int]]:
    """The counts by interface and name; OSError on a kernel without the request."""
    known = recall(memory, _Known)
    now = source.now()
    if not 0 <= now - known.looked < _LOOK:
        known.looked, known.error = now, None
        try:
            known.values = statistics.every(source)
        except OSError as error:
            known.values, known.error = {}, error.with_traceback(None)
    elif not 0 <= now - known.at < _MOMENT and known.values:
        known.values = {
            interface: found for interface in known.values if (found := _one(source, interface))
        }
    known.at = now
    why = known.error
    if why is not None:  # a new exception: the traceback of the old one holds locals
        raise OSError(why.errno, why.strerror, why.filename)
    return known.values


def _one(source: Source, interface: str) -> dict[str, int]:
    try:
        return statistics.one(source, interface)
    except (OSError, ValueError):  # renamed or gone
        return {}
