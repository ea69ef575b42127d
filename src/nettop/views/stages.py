"""What limits an interface, and the stages that its data passes, with how full each one is.

The verdict is that of `facts.limits`, the model of `nettop why`; rates and losses at a stage are
those of `facts.kinds.path` where the interface has such a path.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ..facts import Facts
from ..facts.flow_words import MOST, QUIET, name, total
from ..facts.limits import SECONDS, Limit, Reading, words
from ..facts.limits.following import BINDS
from ..facts.limits.stages import declared, way
from ..terms.dataclass import dataclass
from .past import History
from .scene import Scene, nic_of, once
from .view import View

if TYPE_CHECKING:
    from ..facts.kinds.core import Core
    from ..facts.kinds.path import PathStage
    from ..facts.limits.stage import Stage

IDLE: Final = 1000.0  # bit/s below which a direction carries nothing
SMALL: Final = 0.1  # of the other direction's rate: less is only acknowledgments
CORE: Final = "core"
SOCKET: Final = "rcvbuf"  # the first stage of the socket, of data that is received
SOFTIRQ: Final = "softirq"
PROGRAM: Final = "PROCESS"  # the bar of stages that are a program of this host
HYPERVISOR: Final = "the hypervisor"
SELDOM: Final = 0.25  # utilisation from which a bar that is not always shown is shown
SPENT: Final = 5.0  # percent of a core, or of all, that nothing uses: with less it is full


_NONE: Final = History()


@dataclass(frozen=True, slots=True)
class Bar:
    """One stage. `full` is its utilisation from 0 to 1, `lost` packets/s; None: unknown."""

    stage: str
    limits: bool
    reading: Reading | None = None
    passed: PathStage | None = None  # of the interface's path
    full: float | None = None
    lost: float | None = None
    owner: str = ""  # the process of the flow that stands for the interface
    moved: float | None = None  # bytes/s of payload of its process
    core: Core | None = None  # of the stage of the core, where it has no time left


def foremost(scene: Scene, view: View) -> Limit | None:
    """The limit that the screen names: that of the direction of the interface which carries most.

    A direction that this host limits comes before a larger one that it does not. Datagrams lost at
    a socket come before an interface on which nothing of this host is full. Of an interface that
    carries nothing it is what it receives.
    """
    return _foremost(scene, view.nic, other=view.spot.invert)


@once
def _foremost(scene: Scene, chosen: str, *, other: bool) -> Limit | None:
    """The same of the chosen interface; `other`: of its other direction."""
    facts, nic = scene.facts, nic_of(scene, View(nic=chosen))
    if facts is None or nic is None:
        return None
    known = [one for one in facts.limits if nic.name in (one.nic, one.target) or _nowhere(one)]
    ways = [one for one in known if one.over == "nic"]
    if other:
        shown = _first(ways, known)
        return next((one for one in ways if shown and one.direction != shown.direction), shown)
    return _first(ways, known)


def _nowhere(limit: Limit) -> bool:
    """Whether it is of a datagram socket whose interface is not known."""
    return limit.over == "socket" and limit.nic is None


def _first(ways: list[Limit], known: list[Limit]) -> Limit | None:
    most = max((one.rate or 0.0 for one in ways), default=0.0)
    moving = [one for one in ways if moves(one) and (one.rate or 0.0) >= max(IDLE, SMALL * most)]
    here = [one for one in moving if at_fault(one)]
    sockets = [one for one in known if drops(one)]
    rate = lambda one: one.rate or 0.0  # noqa: E731
    for some in (here, sockets, moving):
        if some:
            return max(some, key=rate)
    # a host at rest: which of a few packets were more changes each second
    return min(ways, key=lambda one: one.direction, default=None)


def at_fault(limit: Limit) -> bool:
    """Whether this host is at fault: a stage that is no link or program limits, or a socket drops.

    A program that reads too slowly loses datagrams; with TCP its peer only waits.
    """
    here = limit.stage.end == "here" and declared()[limit.stage.stage].fault
    return here or drops(limit)


def drops(limit: Limit) -> bool:
    """Whether it is of a UDP socket that loses datagrams, and not of one that sends."""
    return limit.over == "socket" and limit.direction == "rx"


def moves(limit: Limit) -> bool:
    """Whether the target loses data, or carries enough that something may limit it."""
    least = QUIET if limit.stage.kind == "inferred" else IDLE
    return limit.over == "socket" or (limit.rate or 0.0) >= least or at_fault(limit)


def bars(facts: Facts, limit: Limit, past: History = _NONE) -> list[Bar]:
    """The stages of the limit's direction in the order in which data passes them.

    Whether a core is full is judged by the `past` of the time of the verdict.
    """
    nic = next((one for one in facts.nics if one.name == limit.nic), None)
    card = nic is not None and nic.kind == "nic"
    path = next((one for one in facts.paths
                 if one.nic == limit.nic and one.direction == limit.direction), None)  # fmt: skip
    passed = {stage.name: stage for stage in path.stages} if path is not None else {}
    flow = flow_of(facts, limit)
    alone = flow is limit or (flow.rate or 0.0) >= MOST * (limit.rate or 0.0)
    readings: dict[str, Reading] = {}
    for reading in (*limit.ladder, *flow.ladder) if alone else limit.ladder:
        if not words.away(reading):
            readings.setdefault(reading.stage, reading)
    owner = flow.process or ""
    if owner and flow.pid is not None:
        owner = f"{owner}[{flow.pid}]"
    if not alone and 8 * (_moved(facts, limit, owner) or 0.0) < MOST * (limit.rate or 0.0):
        owner = ""  # other programs move the rest
    out = []
    limiting = _limiting(limit)
    for place in places(limit.direction):
        stage = next((one for one in place if one.name == limiting), None)
        stage = stage or next((one for one in place if one.name in readings), place[0])
        known, first = readings.get(stage.name), place[0].name
        passing = passed.get(first)
        limits = stage.name == limiting
        if limits and words.away(limit.stage):  # it stands for a stage of the other end
            known = limit.stage
        bar = Bar(stage.name, limits, known, passing, _full(stage.name, known, passing),
                  _lost(facts, limit, first, passing), owner)  # fmt: skip
        if _follows(stage, limit, bar.full or 0.0):
            bar = replace(bar, reading=None, full=None)
        if stage.bar == PROGRAM:
            bar = replace(bar, moved=_moved(facts, limit, process_of(bar)))
        if stage.name == CORE:
            bar = _on_full_core(bar, facts, flow, past)
            if bar.core is not None and starved(limit):  # it does not wait for itself
                others = [one for one in bar.core.processes if not one.endswith(f"[{limit.pid}]")]
                core = replace(bar.core, processes=tuple(others) or bar.core.processes)
                bar = replace(bar, core=core)
        always = any(limit.direction in one.always for one in place)
        seldom = bar.limits or bar.lost or (bar.full or 0.0) >= SELDOM
        if (seldom or always) and (card or not place[0].card or known is not None):
            out.append(bar)
    return out


def starved(limit: Limit) -> bool:
    """Whether a thread limits that waits for a core more than it runs."""
    why = limit.stage.because
    first = why.startswith("waited") or ": waited" in why  # that of its flow
    return limit.stage.stage == "thread" and first


def _follows(stage: Stage, limit: Limit, full: float) -> bool:
    """Whether its share tells nothing: it fills by the queue that limits, or exceeds its model."""
    if not stage.fed or stage.name in (limit.stage.stage, *limit.joint):
        return False
    queued = declared()[limit.stage.stage].queue and not words.away(limit.stage)
    return full >= (BINDS if queued else 1.0 if stage.between else math.inf)


def _on_full_core(bar: Bar, facts: Facts, flow: Limit, past: History) -> Bar:
    """The bar of the core, of one without time left where the data needs such a core.

    That which takes the interrupts, that of the program, then, where no core of the host has time
    left, the one with most soft interrupts. Where a core limits, it is that one.
    """
    known = {core.cpu: core for core in facts.cores}
    own = bar.reading.number if bar.reading is not None else None
    wanted = [own]
    if not bar.limits:
        ends = [one for one in facts.flows if name(one) == flow.target]
        wanted += [cpu for one in ends for cpu in (one.irq_cpu, one.app_cpu)]
        if not ends:
            wanted += [nic.irq_top_cpu for nic in facts.nics if nic.name == flow.nic]
        if facts.host.idle is not None and facts.host.idle < SPENT:
            wanted += [max(known, key=lambda cpu: known[cpu].softirq or 0.0, default=None)]
    for core in (known[cpu] for cpu in wanted if cpu in known):
        if (used := _used(core, past)) < 100 - SPENT:
            continue
        if core.cpu == own:
            return replace(bar, core=core)
        return replace(bar, core=core, reading=None, full=used / 100)
    return bar


def _used(core: Core, past: History) -> float:
    """The mean load of a core over the time of the verdict, percent; waiting for disks is none."""
    seen = [one for one in past.moments(SECONDS) if core.cpu in one.cpus]
    every = [sum(kind[one.cpus.index(core.cpu)] for kind in one.kinds) for one in seen]
    if every:
        return sum(every) / len(every)
    return 0.0 if core.idle is None else 100 - core.idle - (core.iowait or 0.0)


def taker(core: Core) -> str:
    """What takes most of the time of a core: a process NAME[PID], softirq, or the hypervisor.

    Empty for a process that is not known.
    """
    soft, steal = (core.softirq or 0.0) + (core.irq or 0.0), core.steal or 0.0
    work = (core.user or 0.0) + (core.system or 0.0)
    if max(soft, steal) <= work:
        return core.processes[0] if core.processes else ""
    return SOFTIRQ if soft >= steal else HYPERVISOR


def process_of(bar: Bar) -> str:
    """The process at the end of the way, NAME[PID]; empty where it is not known."""
    if bar.owner:
        return bar.owner
    word = bar.passed.detail.partition(" ")[0] if bar.passed is not None else ""
    return word if "[" in word else ""


def _moved(facts: Facts, limit: Limit, process: str) -> float | None:
    """What the flows of a process move over the interface in the limit's direction, bytes/s."""
    return total(
        one.rx_per_s if limit.direction == "rx" else one.tx_per_s for one in facts.flows
        if process and limit.nic in (None, one.nic)
        and process in (f"{one.process}[{one.pid}]", one.process)
    )  # fmt: skip


def _limiting(limit: Limit) -> str:
    """The stage on this way that stands for the limit: the peer for a stage of the other end.

    None where no stage is seen to limit, as of what is forwarded.
    """
    if words.unjudged(limit):
        return ""
    stage = declared()[limit.stage.stage]
    own = stage.place(limit.direction) and not words.away(limit.stage)
    return stage.name if own else "peer"


@cache
def places(direction: str) -> tuple[tuple[Stage, ...], ...]:
    """The stages that share a bar, in the order in which data passes them.

    In each, what is shown if several are known comes first.
    """
    found: dict[str, list[Stage]] = {}
    for stage in way(direction):
        found.setdefault(stage.bar, []).append(stage)
    by = attrgetter("precedence")
    return tuple(
        tuple(sorted(each, key=lambda one: (direction not in one.always, by(one))))
        for each in found.values()
    )


def _full(stage: str, known: Reading | None, way: PathStage | None) -> float | None:
    if known is not None and known.utilisation is not None:
        return max(0.0, min(1.0, known.utilisation))
    if stage == "core" and way is not None and way.unit == "% softirq" and way.rate is not None:
        return way.rate / 100
    if known is not None and known.held > 0:
        return known.held
    return None


def _lost(facts: Facts, limit: Limit, place: str, way: PathStage | None) -> float | None:
    if place == "backlog" and way is None:
        return facts.host.cpu_backlog_drops
    if place == SOCKET and drops(limit):  # of no interface
        own = (one for one in facts.flows if name(one).partition(">")[0] == limit.target)
        return sum(one.drops_per_s or 0.0 for one in own) or None
    return way.lost if way is not None else None


def flow_of(facts: Facts, limit: Limit) -> Limit:
    """The limit of the flow that stands for an interface's direction; itself without one."""
    if limit.over != "nic":
        return limit
    sends = limit.direction == "tx"  # a UDP socket that sends too
    flows = [
        one for one in facts.limits
        if (one.over == "flow" or (sends and one.over == "socket")) and one.nic == limit.nic
        and one.direction == limit.direction and limit.flow in (None, one.target)
    ]  # fmt: skip
    return max(flows, key=lambda one: one.rate or 0.0, default=limit)
