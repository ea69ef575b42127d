"""Statistics as IEEE 802.3 and RMON define them, from drivers that provide them (Linux 5.13).

Documentation/networking/statistics.rst. Unlike those of `ethtool -S`, they have one meaning for
all drivers. mlx5, bnxt, ice and a few others provide them, most drivers do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..frame.fields import counter, label, light
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._standard_statistics import readings
from ._table import Memory, Table

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
