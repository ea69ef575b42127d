"""A filter of tc whose action drops packets: a policer, a drop, a redirect that nobody takes."""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from ...frame.fields import gauge, label
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from ...terms.units import scaled
from ..kind import Kind

ACTIONS: Final = {"gact": "drop"}  # the word of tc(8), where it is not the name of the module


@dataclass(frozen=True, slots=True)
class Filter:
    """One action of one filter."""

    id: str = label("interface, place and preference, e.g. eth0/1:/pref-5")
    nic: str = gauge("interface", default="")
    parent: str = gauge("ingress, egress, or the root qdisc that it sorts for", default="")
    kind: str = gauge("kind of filter: flower matchall u32 …", default="")
    action: str = gauge("action with its rate or target, e.g. police at 300 Mb/s", default="")
    rate: float | None = gauge("rate of a policer", "bit/s", default=None)
    taken: float | None = gauge("packets that reach the action", "packets/s", default=None)
    passed: float | None = gauge("packets that it lets pass", "packets/s", default=None)
    drops_per_s: float | None = gauge("packets dropped by the action", "packets/s", default=None)


def build(frame: Frame, facts: object) -> tuple[Filter, ...]:  # noqa: ARG001
    """Those that have dropped a packet since they exist."""
    found = []
    for entry in frame.tables.get("filters", ()):
        row, taken, drops = entry.now, entry.rate("packets"), entry.rate("drops")
        if not row.drops:
            continue
        known = f" at {scaled(row.rate, 'b/s')}" if row.rate else ""
        known += f" to {row.target}" if row.target else ""
        found.append(
            Filter(
                f"{row.interface}/{row.parent}/pref-{row.priority}", row.interface, row.parent,
                row.kind, ACTIONS.get(row.action, row.action) + known, row.rate, taken,
                max(0.0, taken - drops) if taken is not None and drops is not None else None,
                drops,
            )
        )  # fmt: skip
    return tuple(found)


KIND = Kind(
    Filter, "filters", needs=("filters",), build=build, parents={"nic": attrgetter("nic")},
    example={"id": "eth0/1:/pref-5", "nic": "eth0", "parent": "1:", "kind": "flower"},
)  # fmt: skip
