"""Statistics as IEEE 802.3 and RMON define them, of the drivers that give them (Linux 5.13).

Documentation/networking/statistics.rst. They mean the same whoever gives them, other than those of
`ethtool -S`; mlx5, bnxt, ice and a few more have them, most do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..frame.fields import counter, label, light
from ..host.source import Source
from ._standard_statistics import readings

EVERY = 0.9
MEMORY = "statistics"


@light
@dataclass(frozen=True, slots=True)
class Row:
    """One statistic, named as `ethtool -S DEVICE --all-groups` names it."""

    interface: str = label("interface name")
    name: str = label("group and name, e.g. eth-mac-FrameCheckSequenceErrors")
    value: int = counter("count of frames, octets or events")


def update(source: Source, memory: dict[str, Any]) -> Sequence[Row]:
    """Every standard statistic of every interface that has any."""
    return [
        Row(interface, name, value)
        for interface, values in readings(source, memory).items()
        for name, value in values.items()
    ]
