"""A neighbour that answers from two hardware addresses in turn: collector `rivals`."""

from __future__ import annotations

from operator import attrgetter

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind


@dataclass(frozen=True, slots=True)
class Rival:
    """One IP address that two hardware addresses claim."""

    id: str = label("address@interface")
    address: str = gauge("address", default="")
    hardware: str = gauge("both hardware addresses", default="")
    nic: str | None = maybe("interface")


def build(frame: Frame, facts: Facts) -> tuple[Rival, ...]:  # noqa: ARG001
    """One fact for each of them."""
    return tuple(
        Rival(f"{row.address}@{row.interface}", row.address, row.hardware, row.interface)
        for row in frame.rows("rivals")
    )


KIND = Kind(
    Rival, "rivals", needs=("rivals",), build=build, lasts=True,
    parents={"nic": attrgetter("nic")}, example={"id": "192.0.2.1@eth0", "address": "192.0.2.1"},
)  # fmt: skip
