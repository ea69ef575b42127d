"""A cgroup that limits the memory of its TCP sockets, from the collector `socket_memory`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Final

from ...frame.fields import gauge, label, maybe
from ...frame.rates import Frame
from ...terms.dataclass import dataclass
from .. import Facts
from ..kind import Kind
from .flow import Flow
from .quota import below, numbers, programs

SMALL: Final = 0.5  # of the largest send buffer: autotuning stops above it, a shortage below
FULL: Final = 0.98  # of the limit: it is reached
WAITS: Final = 0.5  # of busy time: the send buffer limits the flow


@dataclass(frozen=True, slots=True)
class Memcg:
    """One cgroup; `processes` are those that move data in it or below it."""

    cgroup: str = label("cgroup")
    refused: float | None = maybe("times that TCP sockets were refused memory (v2)", "events/s")
    peak: int | None = maybe("most memory that its TCP sockets had (v1)", "bytes")
    limit: int | None = maybe("limit of the memory of its TCP sockets (v1)", "bytes")
    processes: tuple[str, ...] = gauge(
        "processes with network traffic in it, as nginx[812]", default=()
    )
    squeezed: bool = gauge(
        "one of its processes sends from a full buffer that is far below the maximum of tcp_wmem",
        default=False,
    )
    short: bool = gauge(
        "its TCP sockets are refused memory, or have all of its limit while segments that arrive "
        "find none", default=False,
    )  # fmt: skip
    ports: tuple[int, ...] = gauge("local ports of the flows of its processes", default=())

    @property
    def pids(self) -> tuple[int, ...]:
        """The numbers of the processes."""
        return numbers(self.processes)


def build(frame: Frame, facts: Facts) -> tuple[Memcg, ...]:
    """One fact for each cgroup in `socket_memory`."""
    entries = frame.tables.get("socket_memory", ())
    names = programs(frame, attrgetter("memory_cgroup")) if entries else {}
    made = (
        Memcg(
            entry.now.cgroup.rpartition(":")[2],
            entry.rate("refused"),
            entry.now.peak,
            entry.now.limit,
            below(entry.now.cgroup, names),
        )
        for entry in entries
    )
    small = {flow.pid for flow in facts.flows if _small(flow, facts.sysctls)} if entries else set()
    return tuple(_joined(one, small, facts) for one in made)


def _joined(cgroup: Memcg, small: Collection[int | None], facts: Facts) -> Memcg:
    """The cgroup with what its flows tell."""
    ports = {one.local_port for one in facts.flows if one.pid in cgroup.pids}
    full = cgroup.limit is not None and (cgroup.peak or 0) > FULL * cgroup.limit
    lost = full and bool(facts.host.rcvq_drops)
    return replace(
        cgroup, squeezed=any(one in small for one in cgroup.pids),
        short=bool(cgroup.refused) or lost, ports=tuple(sorted(ports)),
    )  # fmt: skip


def _small(flow: Flow, sysctls: Mapping[str, str]) -> bool:
    """Whether it waits for room in a send buffer that could grow (sk_stream_moderate_sndbuf())."""
    triple = sysctls.get("net.ipv4.tcp_wmem", "").split()
    if len(triple) != 3 or not flow.sndbuf or flow.sndbuf >= SMALL * int(triple[2]):
        return False
    return bool(flow.sndbuf_full) or (flow.sndbuf_limited or 0.0) >= WAITS


KIND = Kind(
    Memcg, "memcgs", needs=("socket_memory", "threads"), build=build,
    example={"cgroup": "/system.slice/app.service"},
)  # fmt: skip
