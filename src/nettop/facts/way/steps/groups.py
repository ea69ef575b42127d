"""BPF programs of control groups that reject what their processes send.

They decide behind the packet filter (net/ipv4/ip_output.c, ip_finish_output()), by process: those
of other groups pass. What one does is in no table, so what it dropped tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ....collect.drop_reasons import Row
from ...peers import program, setting
from ..flow import SUSPECT, Step, address
from ..legs import OUT, Leg

PLACE: Final = 95
REASON: Final = "BPF_CGROUP_EGRESS"


def look(leg: Leg) -> Iterator[Step]:
    """A program that rejected packets to this destination while nettop looked."""
    if leg.role != OUT or leg.back:
        return

    def meant(row: Row) -> bool:
        return bool(row.by and row.to) and (
            address(row.to) == address(leg.question.to) and leg.flow.port in (0, row.to_port)
        )

    if not (packets := leg.host.dropped(REASON, meant)):
        return
    rows = (row for row in leg.host.frame.rows("drop_reasons") if row.reason == REASON)
    first = next(row.by.split(",")[0] for row in rows if meant(row))
    name, _, group = first.partition("@")
    unit = group.rpartition("/")[2]
    known = setting(name)
    yield Step(
        "groups", SUSPECT, f"{program(first)} rejects what programs of control group {group} send "
        f"there: {packets} packets while nettop looked; those of other groups pass",
        f"systemctl show -p {known} {unit}" if known else f"bpftool prog show name {name}",
        f"take {leg.question.to} out of {known}= of {unit}" if known
        else f"ask who loads {name}; `bpftool cgroup tree` shows where it is attached",
    )  # fmt: skip
