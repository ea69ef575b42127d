"""Neighbours that packets of this host wait for and that do not answer, from `unresolved`."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ...frame.fields import gauge, label
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ..kind import Kind

if TYPE_CHECKING:
    from .. import Facts

MOST: Final = 16


@dataclass(frozen=True, slots=True)
class Absent:
    """One address in the network of an interface."""

    id: str = label("address@interface")
    nic: str = gauge("interface", default="")
    address: str = gauge("address", default="")
    gateway: bool = gauge("gateway of a route", default=False)
    count: int = gauge("neighbours that do not answer, on all interfaces", "neighbours", default=1)


def build(frame: Frame, facts: Facts) -> tuple[Absent, ...]:  # noqa: ARG001
    """The gateways first."""
    rows = frame.rows("unresolved")
    if not rows:
        return ()
    gateways = {(row.interface, row.gateway) for row in frame.rows("routes") if row.gateway}
    found = [
        Absent(
            f"{row.address}@{row.interface}",
            row.interface,
            row.address,
            (row.interface, row.address) in gateways,
            len(rows),
        )
        for row in rows
    ]
    return tuple(sorted(found, key=lambda one: (not one.gateway, one.id))[:MOST])


KIND = Kind(
    name="absent", type=Absent, plural="absent_neighbours", key=attrgetter("id"),
    target=attrgetter("id"), names={"absent": "absent.id"},
    example={"id": "192.0.2.1@eth0"}, tables={"": "unresolved"}, needs=("unresolved", "routes"),
    build=build,
)  # fmt: skip
