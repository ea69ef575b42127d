"""Facts from frames: all joins, in the order of their dependencies.

A `Joiner` keeps results between frames: of tables that rarely change, the CPUs of each interface,
the profile. It does not read the host and raises no exception for any frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import field, replace
from functools import cache, partial
from typing import Any, Final, TypeVar

from ..collect.interrupts import Row as InterruptRow
from ..frame.rates import Entry, Frame
from ..terms.dataclass import dataclass
from . import Facts, elsewhere, flows, profile, single, sums, traffic, work
from .changed import NicInputs
from .flow_words import total
from .kind import Kind
from .kinds import built, capture, core, kinds, path, process, queue
from .kinds.core import Core, Duty, Load
from .kinds.flow import Flow
from .kinds.nic import Nic
from .kinds.process import Process, Tasks
from .landing import Landing, Verdict, Witness, suspected
from .limits.ladder import Ladder, labelled
from .limits.means import means
from .limits.stages import way
from .lines import Lines, aliases, assign, number, owners, queues
from .means import Means
from .memo import Memo, rows
from .place import OnlineCpus
from .port import STILL, Port, ports
from .profile import guess
from .wiring import Ends, Routes, far_ends

_Result = TypeVar("_Result")

NEEDS: Final = (
    "addresses", "bql", "channels", "classes", "coalesce", "conntrack", "cpu", "cpufreq", "cpuidle",
    "disks", "drvinfo", "eee", "features", "fec", "half_open", "interrupts", "iommu", "ipvs",
    "irqs", "kernel", "link_stats", "linkmodes", "links", "meself", "module", "namespaces",
    "netclass", "netns_links", "netns_qdiscs", "netns_tcp", "netns_udp", "nicqueues", "nicstats",
    "ntuple", "packet_sockets", "pause", "pci", "privflags", "processes", "qdiscs", "queues",
    "rdma", "rings", "routes", "rss", "services", "snmp", "socket_owners", "sockets_tcp",
    "sockets_tcp_multipath", "sockets_udp", "softirqs", "softnet", "sysctl_files", "sysctls",
    "threads", "throttling", "topology", "waits", "xdp_sockets",
)  # fmt: skip
"""The tables that facts are built from (and `netdev` if `link_stats` cannot be read)."""


@cache
def needs() -> tuple[str, ...]:
    """All tables that facts are built from, those of kinds with `build` included; each once."""
    return tuple(dict.fromkeys([*NEEDS, *(t for kind in kinds().values() for t in kind.needs)]))


@dataclass(slots=True)
class Joiner:
    """Builds the facts of successive frames. `ssh_peer` is the remote address of this session."""

    ssh_peer: str | None = None
    memo: Memo = field(default_factory=Memo)
    memory: traffic.Memory = field(default_factory=traffic.Memory)
    chooser: profile.Chooser = field(default_factory=profile.Chooser)
    lines: Lines = field(default_factory=Lines)
    ladder: Ladder = field(default_factory=Ladder)
    witness: Witness = field(default_factory=Witness)
    heard: object = None  # the sockets that the witness checked last, and its verdicts
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    kept: flows.Kept = field(default_factory=dict)
    kept_elsewhere: flows.Kept = field(default_factory=dict)
    shape: object = None  # another object when interrupt lines change
    named: list[InterruptRow] = field(default_factory=list)
    ends: Ends = field(default_factory=dict)  # of veth pairs, in other namespaces

    def build(
        self, frame: Frame, profile: str | None = None, interface: str | None = None
    ) -> Facts:
        """The facts of a frame; `interface` restricts them to that one and the ports below it."""
        tables = frame.tables
        place = self._place(frame)
        here = self._ports(frame, place)
        lines = self._lines(frame, here)
        landing = self._landing(frame, here)
        still = self._still(frame, place)
        load = core.loads(frame)
        holders = self.memo.get(
            "owners",
            (tables.get("socket_owners"),),
            lambda: single.socket_owners(frame.rows("socket_owners")),
        )
        inputs = (tables.get("sockets_tcp"), tables.get("sockets_udp", ()), landing, holders,
                  tables.get("drop_reasons", ()))  # fmt: skip
        sockets = self.memo.get("sockets", inputs, lambda: flows.Sockets.of(*inputs), rates=True)
        captured = capture.of(tables.get("packet_sockets", ()), holders)
        moment = traffic.build(
            frame, here, lines, self._slots(frame, here, lines), place, load,
            NicInputs(
                sockets.by_nic,
                single.captured(captured, here),
                self._ssh(landing),
                self._of_frame("nicstats", _by_interface, frame),
                self._of_frame("nicqueues", single.by_queue, frame),
                self._of_frame("nicqueues", single.queue_drops, frame),
                still.host.irqbalance,
                flows_known=sockets.known,
                af_xdp=frozenset(row.index for row in frame.rows("xdp_sockets"))
                if "xdp_sockets" in tables
                else None,
                rdma=single.rdma(tables.get("rdma", ())),
            ),
            self.memory,
        )  # fmt: skip
        doubts = self._doubts(landing, sockets, moment, still.host.kernel)
        tasks = self._of_frame("processes", Tasks.of, frame)
        taken = self.ladder.window.take(frame.at, tasks.taken)
        cores = core.build(frame, place.spots, load, self._duty(frame, moment, tasks))
        if still.host.container:
            dropped = total(nic.per_s.rx_dropped for nic in moment.nics)
            cores = core.of_namespace(cores, dropped)
        by_cpu = {one.cpu: one for one in cores}
        nics = {nic.name: nic for nic in moment.nics}
        found = flows.build(
            sockets,
            flows.FlowInputs(
                landing, nics, moment.by_nic, by_cpu, tasks,
                {(one.nic, one.name): one.cpu for one in moment.queues},
                single.triple(still.sysctls.get("net.ipv4.tcp_rmem")),
                single.triple(still.sysctls.get("net.ipv4.tcp_wmem")),
                doubts, self.kept,
            ),
        )  # fmt: skip
        scene = capture.CaptureInputs(
            single.indices(here), holders, tasks, nics, by_cpu, moment.by_nic
        )
        captures = capture.build(captured, scene)
        processes = _processes(tasks, sockets.uses, found, captures, by_cpu, nics)
        host = sums.build(
            frame, still, load,
            sums.Sums(
                cores, moment.nics, found, len(captures), sockets.connections, sockets.full,
                single.full(
                    tables.get("half_open", ()), tables.get("sockets_tcp", ()), holders,
                    single.room(still.sysctls),
                ),
            ),
        )  # fmt: skip
        chosen = self.chooser.choose(profile, guess(moment.nics, found, captures), frame.at)
        around = elsewhere.build(frame, holders, tasks, by_cpu, self.kept_elsewhere, self.memo)
        facts = Facts(
            host, chosen, frame.at, moment.nics, moment.queues, cores, found, processes, captures,
            path.build(
                moment.nics, by_cpu, processes, host,
                sums.whole(still.sysctls.get("net.core.netdev_max_backlog")),
                {direction: way(direction) for direction in ("rx", "tx")},
                single.drop_reasons(tables.get("drop_reasons")),
            ), still.sysctls,
            frame.missing, means=Means(taken=taken), elsewhere=around,
        )  # fmt: skip
        own = built(facts, lambda kind, known: self._own(kind, frame, known))
        facts = replace(facts, more=own, flows=facts.flows + around)
        limits = self.ladder.build(frame, facts, load)
        known = means(self.ladder.window, facts)
        facts = labelled(replace(facts, limits=limits, means=known))
        return facts if interface is None else only(facts, interface)

    def _of_frame(
        self, table: str, make: Callable[[Sequence[Any]], _Result], frame: Frame
    ) -> _Result:
        """The value of `make` for a table, kept while the table is the same object."""
        rows = frame.tables.get(table, ())
        return self.memo.get(f"{table} {make.__name__}", (rows,), lambda: make(rows), rates=True)

    def _own(self, kind: Kind, frame: Frame, facts: Facts) -> tuple[object, ...]:
        """The facts of a kind that builds them itself."""
        make = partial(kind.build, frame, facts) if kind.build is not None else tuple
        if not kind.lasts:
            return make()
        inputs = tuple(map(frame.tables.get, kind.needs))
        return self.memo.get(f"kind {kind.name}", inputs, make, rates=True)

    def _place(self, frame: Frame) -> OnlineCpus:
        topology = frame.tables.get("topology", ())
        if topology:
            return self.memo.get("place", (topology,), lambda: OnlineCpus.of(rows(topology)))
        bare = tuple(row.cpu for row in frame.rows("cpu"))
        return self.memo.get("place", (bare,), lambda: OnlineCpus.of((), bare))

    def _ports(self, frame: Frame, place: OnlineCpus) -> Mapping[str, Port]:
        tables = frame.tables
        if not tables.get("links") and not tables.get("netclass"):
            bare = frame.rows("netdev")
            return self.memo.get(
                "ports",
                (place, tuple(row.name for row in bare)),
                lambda: ports({"netdev": bare}, place),
            )
        kept = {name: tables.get(name, ()) for name in STILL}
        ends = self.ends = far_ends(self.ends, frame.rows("netns_links"), frame.rows("links"))
        return self.memo.get(
            "ports",
            (place, ends, *kept.values()),
            lambda: ports({name: rows(entries) for name, entries in kept.items()}, place, ends),
        )

    def _lines(self, frame: Frame, here: Mapping[str, Port]) -> Lines:
        """The interrupt lines by interface; computed again if a line, port or owner changed."""
        entries = frame.tables.get("interrupts", ())
        before, self.named = self.named, rows(entries)
        moved = [(old, new) for old, new in zip(before, self.named, strict=False) if old is not new]
        if len(before) != len(self.named) or any(
            old.name != new.name or old.irq != new.irq for old, new in moved
        ):
            self.shape = object()
        self.lines = self.memo.get(
            "lines",
            (self.shape, here, frame.tables.get("irqs"), frame.tables.get("netclass")),
            lambda: self._assigned(frame, here),
        )
        return self.lines

    def _assigned(self, frame: Frame, here: Mapping[str, Port]) -> Lines:
        lines = assign(
            self.named,
            owners(frame.rows("irqs"), frame.rows("netclass")),
            aliases(frame.rows("netclass"), here),
            {name: port.driver for name, port in here.items()},
            queues(frame.rows("irqs")),
        )
        if lines == self.lines:
            return self.lines
        self.memory.served.clear()  # its keys are the places of lines
        return lines

    def _slots(
        self, frame: Frame, here: Mapping[str, Port], lines: Lines
    ) -> tuple[queue.Slot, ...]:
        tables = frame.tables
        return self.memo.get(
            "slots",
            (here, lines, tables.get("queues"), tables.get("irqs"), tables.get("ntuple")),
            lambda: queue.slots(
                frame.rows("queues"),
                {name: port.kind for name, port in here.items()},
                {name: port.node for name, port in here.items()},
                lines,
                {irq: row for row in frame.rows("irqs") if (irq := number(row.irq)) is not None},
                {(row.interface, row.queue) for row in frame.rows("ntuple")},
            ),
        )

    def _landing(self, frame: Frame, here: Mapping[str, Port]) -> Landing:
        tables = frame.tables
        routes = self.memo.get(
            "routes",
            (tables.get("routes"), tables.get("addresses")),
            lambda: Routes.of(frame.rows("routes"), frame.rows("addresses")),
        )
        return self.memo.get(
            "landing",
            (routes, here, tables.get("rss")),
            lambda: Landing(here, routes, {row.interface: row for row in frame.rows("rss")}),
        )

    def _still(self, frame: Frame, place: OnlineCpus) -> sums.Fixed:
        tables = {name: frame.tables.get(name, ()) for name in sums.STILL}
        return self.memo.get(
            "host",
            (place, *tables.values()),
            lambda: sums.fixed(
                {name: rows(entries) for name, entries in tables.items()},
                place,
                single.harmful(rows(tables["sysctl_files"])),
            ),
        )

    def _ssh(self, landing: Landing) -> frozenset[str]:
        """The interface that carries this SSH session, and the ports below it."""
        if self.ssh_peer is None:
            return frozenset()
        name = landing.routes.interface(self.ssh_peer)
        port = landing.ports.get(name) if name is not None else None
        return frozenset({port.name, *port.lower}) if port is not None else frozenset()

    def _doubts(
        self, landing: Landing, sockets: flows.Sockets, moment: traffic.Interfaces,
        kernel: tuple[int, int] | None,
    ) -> Mapping[str, str]:  # fmt: skip
        """Why the RSS table of an interface is doubtful; sets `rss_obeyed` of its Nic."""
        self.witness.forget(landing.ports)
        if sockets is not self.heard:  # the same sockets give the same verdict
            self.heard = sockets
            self.verdicts = {
                nic: self.witness.hear(
                    nic, landing.rss[nic], placed, moment.by_nic.get(nic, ()),
                    suspected(landing.ports[nic].driver, kernel),
                )
                for nic, placed in sockets.placed.items()
            }  # fmt: skip
        heard = self.verdicts
        if any(verdict.obeyed is not None for verdict in heard.values()):
            moment.nics = tuple(
                replace(nic, rss_obeyed=heard[nic.name].obeyed) if nic.name in heard else nic
                for nic in moment.nics
            )
        return {nic: verdict.why for nic, verdict in heard.items() if verdict.why}

    def _duty(self, frame: Frame, moment: traffic.Interfaces, tasks: Tasks) -> Duty:
        clocks = self.memo.get("clocks", (frame.tables.get("cpufreq"),), lambda: _clocks(frame))
        doing = self._of_frame("profiles", work.cores, frame)
        deep = {
            e.now.cpu: min(100.0, 100.0 * e.per_s.deep)
            for e in frame.tables.get("cpuidle", ())
            if e.per_s is not None and e.per_s.deep is not None
        }
        names: dict[int, list[str]] = {}
        nics: dict[int, list[str]] = {}
        for one in moment.queues:
            if one.cpu is not None:
                names.setdefault(one.cpu, []).append(f"{one.nic}/{one.name}")
                served = nics.setdefault(one.cpu, [])
                if one.nic not in served:
                    served.append(one.nic)
        return Duty(
            moment.net_irqs, moment.all_irqs,
            {cpu: tuple(found) for cpu, found in nics.items()},
            {cpu: tuple(found) for cpu, found in names.items()},
            tasks.on_cpu(self.ladder.window.taken), tasks.ksoftirqd, clocks, deep, doing,
            moment.counted,
        )  # fmt: skip


def build(
    frame: Frame, profile: str | None = None, interface: str | None = None,
    ssh_peer: str | None = None,
) -> Facts:  # fmt: skip
    """The facts of a single frame, without results of earlier ones."""
    return Joiner(ssh_peer=ssh_peer).build(frame, profile, interface)


def only(facts: Facts, interface: str) -> Facts:
    """The facts of one interface and the ports below it, with host, cores and all processes."""
    nic = next((nic for nic in facts.nics if nic.name == interface), None)
    names = {interface, *(nic.lower if nic is not None else ())}
    return Facts(
        facts.host, facts.profile, facts.at,
        tuple(nic for nic in facts.nics if nic.name in names),
        tuple(one for one in facts.queues if one.nic in names),
        facts.cores,
        tuple(one for one in facts.flows if one.nic in names),
        facts.processes,
        tuple(one for one in facts.captures if one.nic is None or one.nic in names),
        tuple(one for one in facts.paths if one.nic in names),
        facts.sysctls, facts.missing,
        tuple(one for one in facts.limits if one.nic is None or one.nic in names), facts.means,
    )  # fmt: skip


def _processes(
    tasks: Tasks, known: Mapping[int, process.Use], found: Sequence[Flow],
    captures: Sequence[capture.Capture], cores: Mapping[int, Core], nics: Mapping[str, Nic],
) -> tuple[Process, ...]:  # fmt: skip
    """The processes, with the interrupt CPUs of their flows and captures."""
    uses = {pid: copy(use) for pid, use in known.items()}  # copies: the loop below changes them
    placed: set[int] = set()
    for flow in found:  # the busiest first
        if flow.pid in uses and flow.pid not in placed and flow.irq_cpu is not None:
            uses[flow.pid].irq_cpu = flow.irq_cpu
            placed.add(flow.pid)
    for one in captures:
        if one.pid is None:
            continue
        use = uses.setdefault(one.pid, process.Use())
        use.captures += 1
        use.unread_captures += bool(one.unread)
        nic = nics.get(one.nic) if one.nic is not None else None
        if nic is not None and use.nic is None:
            use.nic, use.irq_cpu = nic.name, nic.irq_top_cpu
    return process.build(tasks, uses, cores, {name: nic.node for name, nic in nics.items()})


__all__ = ["NEEDS", "Joiner", "Load", "build", "only"]


def _by_interface(rows: Sequence[Entry[Any]]) -> dict[str, Entry[Any]]:
    return {entry.now.interface: entry for entry in rows}


def _clocks(frame: Frame) -> dict[int, core.Clock]:
    """The clock of each CPU that has a frequency policy."""
    return {
        row.cpu: core.Clock(row.frequency, row.governor, row.epp, row.driver, row.least, row.most)
        for row in frame.rows("cpufreq")
    }
