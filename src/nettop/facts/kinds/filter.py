"""A filter of tc whose action drops packets: a policer, a drop, a redirect that nobody takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from operator import attrgetter
from typing import Final

from ...collect.filters import Row
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Entry, Frame
from ...terms.dataclass import dataclass
from ...terms.units import scaled
from ..kind import Kind

HOOKS: Final = ("ingress", "egress")
ACTIONS: Final = {"gact": "drop"}  # the word of tc(8), where it is not the name of the module


@dataclass(frozen=True, slots=True)
class Filter:
    """One action of one filter."""

    id: str = label("interface, place and preference, e.g. eth0/1:/pref-5")
    nic: str = gauge("interface", default="")
    parent: str = gauge("ingress, egress, or the root qdisc that it sorts for", default="")
    kind: str = gauge("kind of filter: flower matchall u32 …", default="")
    action: str = gauge("action with its rate or target, e.g. police at 300 Mb/s", default="")
    rate: float | None = maybe("rate of a policer", "bit/s")
    taken: float | None = maybe("packets that reach the action", "packets/s")
    passed: float | None = maybe("packets that it lets pass", "packets/s")
    drops_per_s: float | None = maybe("packets dropped by the action", "packets/s")


def build(frame: Frame, facts: object) -> tuple[Filter, ...]:  # noqa: ARG001
    """Those that have dropped a packet since they exist."""
    found = []
    for entry in frame.tables.get("filters", ()):
        row, taken, drops = entry.now, entry.rate("packets"), entry.rate("drops")
        if not row.drops:
            continue
        found.append(
            Filter(
                f"{row.interface}/{row.parent}/pref-{row.priority}", row.interface, row.parent,
                row.kind, words(row), row.rate, taken,
                max(0.0, taken - drops) if taken is not None and drops is not None else None,
                drops,
            )
        )  # fmt: skip
    return tuple(found)


def words(row: Row) -> str:
    """The action with its rate or target."""
    known = f" at {scaled(row.rate, 'b/s')}" if row.rate else ""
    known += f" to {row.target}" if row.target else ""
    return ACTIONS.get(row.action, row.action) + known


def dropping(entries: Sequence[Entry[Row]], place: str, nics: Container[str]) -> Counter[str]:
    """The filters of these interfaces whose drops rise, at ingress, egress, or (empty) a root.

    Without any, the BPF programs at ingress or egress: they decide by themselves and count nothing.
    """
    at = (place,) if place else {one.now.parent for one in entries} - {*HOOKS}
    here = [one for one in entries if one.now.interface in nics and one.now.parent in at]
    counting = Counter(
        {f"{words(one.now)} ({one.now.kind}, pref {one.now.priority})": rate
         for one in here if (rate := one.rate("drops"))}
    )  # fmt: skip
    programs = Counter(f"program {one.now.program}" for one in here if one.now.program and place)
    return counting or programs


KIND = Kind(
    Filter, "filters", needs=("filters",), build=build, parents={"nic": attrgetter("nic")},
    example={"id": "eth0/1:/pref-5", "nic": "eth0", "parent": "1:", "kind": "flower"},
)  # fmt: skip
