"""A queue from the kernel to a program that loses packets: collector `program_queues`."""

from __future__ import annotations

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind


@dataclass(frozen=True, slots=True)
class Handover:
    """One queue of NFQUEUE, or one netlink socket."""

    id: str = label("NFQUEUE and its number, or the netlink protocol and its reader")
    type: str = gauge("nfqueue, or the protocol of the netlink socket", default="")
    program: str | None = maybe("the program that reads it, as name[pid]")
    load: float | None = maybe("CPU time of the program", "%")
    waiting: int | None = maybe("packets that wait for the program", "packets")
    drops: float | None = maybe("packets or messages dropped, queue full", "packets/s")
    queued: float | None = maybe("packets given to the program", "packets/s")


def build(frame: Frame, facts: Facts) -> tuple[Handover, ...]:
    """Those that lose packets now; the reader is found by socket, else by the port's number."""
    losing = [
        (entry.now, rate, entry.rate("queued"))
        for entry in frame.tables.get("program_queues", ())
        if (rate := entry.rate("drops"))
    ]
    if not losing:
        return ()
    holders = {row.inode: row.pid for row in frame.rows("socket_owners") if row.inode}
    programs = {row.pid: row.name for row in frame.rows("processes") if not row.thread}
    loads = {one.pid: (one.user or 0.0) + (one.system or 0.0) for one in facts.processes}
    found = []
    for row, drops, queued in losing:
        mail = row.type == "nfqueue"
        pid = row.port if mail else holders.get(row.number, row.port)
        program = f"{programs[pid]}[{pid}]" if pid in programs else None
        name = (
            f"NFQUEUE {row.number}"
            if mail
            else (f"netlink {row.type} of {program or f'socket:[{row.number}]'}")
        )
        found.append(Handover(name, row.type, program, loads.get(pid), row.waiting, drops, queued))
    return tuple(found)


KIND = Kind(
    Handover, "handovers", needs=("program_queues", "socket_owners", "processes"), build=build,
    example={"id": "NFQUEUE 0", "type": "nfqueue"},
)  # fmt: skip
