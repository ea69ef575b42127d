"""The radio of a Wi-Fi interface, from the collector `wireless`."""

from __future__ import annotations

from operator import attrgetter

from ...frame.fields import label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ..kind import Kind


@dataclass(frozen=True, slots=True)
class Radio:
    """One interface with a radio."""

    nic: str = label("interface name")
    level: int | None = maybe("signal", "dBm")
    undelivered: float | None = maybe("frames that no try delivered", "frames/s")


def build(frame: Frame, facts: object) -> tuple[Radio, ...]:  # noqa: ARG001
    """One fact for each line of /proc/net/wireless."""
    return tuple(
        Radio(entry.now.interface, entry.now.level, entry.rate("undelivered"))
        for entry in frame.tables.get("wireless", ())
    )


KIND = Kind(
    Radio, "radios", needs=("wireless",), build=build, parents={"nic": attrgetter("nic")},
    example={"nic": "wlan0", "level": -60},
)  # fmt: skip
