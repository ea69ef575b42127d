"""One core in full: its load over time, its work, interrupts, queues, processes and threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ..terms import cpulist
from ..terms.text import Line, bar, fit, fit_line, line, stacked, wrap
from ..terms.units import UNKNOWN, brief, packets, percent
from ..views.scene import Scene
from . import loads
from .corelist import others
from .grid import beside
from .parts import KINDS, SHARES, Cell, Column, core_load, fitted, flow_words, section, telling

if TYPE_CHECKING:
    from ..facts.kinds.core import Core

WIDE: Final = 100  # columns from which two parts are side by side
GRAPH: Final = 10  # lines of the load over time at the most
FUNCTIONS: Final = 6  # of the kernel that are named
THREADS: Final = 5  # that are named
LEAST: Final = 0.5  # interrupts/s: fewer are rest
SOFT: Final = ("net_rx", "net_tx", "tasklet", "timer", "sched", "rcu")  # of /proc/softirqs
INTERRUPTS: Final = (
    Column("INTERRUPT", 20, grow=1), Column("IRQ", 5, ">"), Column("IRQ/s", 8, ">"),
)  # fmt: skip
QUEUES: Final = (
    Column("QUEUE", 18, grow=1), Column("IRQ", 5, ">"), Column("IRQ/s", 8, ">"),
    Column("PACKETS", 10, ">"), Column("RPS/XPS", 8),
)  # fmt: skip
PROCESSES: Final = (
    Column("PROCESS", 20, grow=1), Column("us", 4, ">"), Column("sy", 4, ">"),
    Column("WAITS", 5, ">"), Column("RECEIVES", 10, ">"), Column("SENDS", 10, ">"),
)  # fmt: skip


def lines(core: Core, scene: Scene, width: int, height: int, top: int) -> list[Line]:
    """The page in at most `height` lines, scrolled by `top`."""
    every = full(core, scene, width, height)
    top = max(0, min(top, len(every) - height))
    shown = every[top : top + height]
    if top + height < len(every) and shown:
        shown[-1] = line((f" {len(every) - top - height + 1} more lines: ↓ ", "dim"))
    return shown


def full(core: Core, scene: Scene, width: int, height: int) -> list[Line]:
    """All lines of the page; the graph is lower where there is little room."""
    out = [section(f"CORE {core.cpu} · {scene.last}", _place(core), width), *_figures(core, width)]
    out += loads.of_core(scene, core.cpu, width, min(GRAPH, height // 4))
    half = width // 2 if width >= WIDE else width
    inner = half - 2 * (half < width)
    left = [*_interrupts(core, scene, inner), *_queues(core, scene, inner)]
    right = [*_does(core, scene, half), *_processes(core, scene, half)]
    return out + (beside([left, right], half, width) if width >= WIDE else right + left)


def _title(text: str, remark: str, width: int) -> Line:
    """The heading of a part beside another one: it does not join the frame of the pane."""
    return tuple((one, "head" if role == "title" else role)
                 for one, role in section(text, remark, width))  # fmt: skip


def _place(core: Core) -> str:
    others = [one for one in core.l3 if one != core.cpu]
    clock = core.frequency and f"{core.frequency / 1e9:.2f} GHz"
    parts = (
        f"node {core.node}" if core.node is not None else "",
        f"SMT sibling of {cpulist.text(core.siblings)}" if core.siblings else "",
        f"L3 with {cpulist.text(others)}" if others else "",
        f"clock {clock}" if clock else "",
    )
    return " · ".join(filter(None, parts))


def _figures(core: Core, width: int) -> list[Line]:
    """The bar with all kinds of time; the counters of the core."""
    load = core_load(core)
    parts = [(getattr(core, name), glyph, role) for name, _, glyph, role in KINDS]
    head = line(" ", *stacked(parts, min(40, width // 4)), (f" {percent(load)} busy ", "strong"))
    for name, short, _, role in SHARES:
        value = getattr(core, name)
        head += line((f"  {short} ", "dim"), (UNKNOWN if value is None else f"{value:.0f}", role))
    rates = (
        ("NIC interrupts", core.nic_irqs), ("other devices' interrupts", others(core)),
        ("packets", core.processed), ("RPS wake-ups", core.received_rps),
        ("squeezed polls", core.squeezed), ("packets lost, backlog full", core.backlog_drops),
    )  # fmt: skip
    told = [
        line((f"{name} ", "dim"), _per_s(value), ("/s", "dim"))
        for name, value in rates
        if value is not None
    ]
    return [fit_line(head, width), *flow_words(told, width)]


def _does(core: Core, scene: Scene, width: int) -> Iterator[Line]:
    """What the core does by its samples; why there are none."""
    from ..facts import work  # not before a page is opened

    rows = scene.frame.rows("profiles") if scene.frame is not None else ()
    found = work.groups([row for row in rows if row.core == core.cpu], core.cpu)
    if not found or found[0].busy < work.LEAST:
        yield _title("WHAT IT DOES", "", width)
        for text in wrap(_unsampled(scene, sampled=bool(rows)), width - 2):
            yield line((f" {text}", "dim"))
        return
    one = found[0]
    yield _title("WHAT IT DOES", f"{one.busy} samples; D samples again", width)
    for share in work.shares(one.classes):
        if round(share.percent) < 1:
            continue
        filled, rest = bar(share.percent / 100, 8)
        yield line((fit(f" {share.name}", 14), ""), (filled, "accent"), (rest, "idle"),
                   (f" {share.percent:3.0f} %", "strong"))  # fmt: skip
    for (kind, function), count in one.functions.most_common(FUNCTIONS):
        part = f"{100 * count / one.busy:3.0f} %"
        yield fit_line(line((f"   {part}  ", "dim"), function, (f"  {kind}", "dim")), width)
    by = [f"{name} {100 * n / one.busy:.0f} %" for name, n in one.threads.most_common(THREADS)]
    texts = [("by " + ", ".join(by), "user")] + [(f"→ {core.relief}", "")] * bool(core.relief)
    for text, role in texts:
        for row in wrap(text, width - 2):
            yield line((f" {row}", role))


def _unsampled(scene: Scene, *, sampled: bool) -> str:
    """Why nothing is said about what the core does."""
    why = scene.facts.missing.get("profiles") if scene.facts is not None else None
    if sampled:
        return "It did too little while the cores were sampled. D samples again."
    if why:
        return f"The cores cannot be sampled: {why}"
    if scene.origin is not None:
        return f"This {scene.origin.kind} has no samples of its cores."
    return "The cores are being sampled, or will be in a moment."


def _interrupts(core: Core, scene: Scene, width: int) -> Iterator[Line]:
    """All sources of interrupts of the core with their rates, the busiest first."""
    entries = scene.frame.tables.get("interrupts", ()) if scene.frame is not None else ()
    known = [
        (entry.per_s.by_cpu.get(core.cpu, 0.0), entry.now.irq, entry.now.name)
        for entry in entries
        if entry.per_s is not None and entry.now.by_cpu.get(core.cpu)
    ]
    known.sort(key=lambda one: (-one[0], one[1].zfill(6)))
    served = {queue.irq for queue in scene.facts.queues} if scene.facts is not None else set()
    table = fitted(INTERRUPTS, width)
    quiet = sum(one[0] < LEAST for one in known)
    rest = f"{quiet} more at rest" if quiet else ""
    yield _title("INTERRUPTS", rest, width)
    if not entries:
        yield line((" not read", "dim"))
        return
    yield table.heading()
    for rate, irq, name in known[: len(known) - quiet]:
        nic = irq.isdigit() and int(irq) in served
        yield table.row(((name or irq, "accent" if nic else ""), (irq, "dim"), _per_s(rate)))
    for entry in scene.frame.tables.get("softirqs", ()) if scene.frame is not None else ():
        if entry.now.cpu == core.cpu and entry.per_s is not None:
            for name in SOFT:
                if (rate := entry.rate(name) or 0.0) >= LEAST:
                    yield table.row(((f"softirq {name.upper()}", "dim"), "", _per_s(rate)))


def _queues(core: Core, scene: Scene, width: int) -> Iterator[Line]:
    """The queues whose interrupt the core serves, and those that steer packets to it."""
    known = scene.facts.queues if scene.facts is not None else ()
    own = [one for one in known if one.cpu == core.cpu or core.cpu in one.rps_cpus]
    yield _title("QUEUES", f"{len(own)}" if own else "none", width)
    if not own:
        return
    rows: list[tuple[Cell, ...]] = [(
        (f"{one.nic}/{one.name}", "accent" if one.cpu == core.cpu else "dim"),
        ("" if one.irq is None else str(one.irq), "dim"),
        _per_s(one.irq_per_s) if one.cpu == core.cpu else ("elsewhere", "dim"),
        (packets(one.packets_per_s), ""),
        (cpulist.text(one.rps_cpus), "key"),
    ) for one in own]  # fmt: skip
    table = fitted(QUEUES, width, telling(QUEUES, rows))
    yield table.heading()
    yield from map(table.row, rows)


def _processes(core: Core, scene: Scene, width: int) -> Iterator[Line]:
    """The processes whose busiest thread runs on the core, and other threads that run on it."""
    facts, tables = scene.facts, scene.frame.tables if scene.frame is not None else {}
    own = [one for one in facts.processes if one.cpu == core.cpu] if facts is not None else []
    own.sort(key=lambda one: -((one.user or 0.0) + (one.system or 0.0)))
    listed = {f"{one.name}[{one.pid}]": one.pid for one in own}
    rest = [name for name in core.processes if name not in listed]
    used = {f"{e.now.name}[{e.now.pid}]": e for e in tables.get("processes", ())}
    pids = {*listed.values(), *(used[name].now.pid for name in rest if name in used)}
    threads = [e for e in tables.get("threads", ())
               if e.now.cpu == core.cpu and e.now.pid not in pids]  # fmt: skip
    threads.sort(key=lambda entry: -(entry.rate("ran") or 0.0))
    none = not (own or rest or threads)
    yield _title("PROCESSES", "none that is busy or has sockets" if none else "", width)
    if none:
        return
    table = fitted(PROCESSES, width)
    yield table.heading()
    for one in own:
        rates = [scene.units.rate(rate) for rate in (one.rx_per_s, one.tx_per_s)]
        rates = rates if one.networked else ["", ""]
        yield table.row(((f"{one.name}[{one.pid}]", "user"), _share(one.user),
                         _share(one.system), _share(one.wait), *rates))  # fmt: skip
    for name in rest:
        times = [used[name].rate(kind) if name in used else None for kind in ("user", "system")]
        yield table.row(((name, "user"), *(_share(100 * t if t is not None else None)
                                           for t in times), "", "", ""))  # fmt: skip
    for entry in threads:
        ran, waited = (None if rate is None else 100 * rate
                       for rate in (entry.rate("ran"), entry.rate("waited")))  # fmt: skip
        name = f"thread {entry.now.name}[{entry.now.tid}]"
        yield table.row(((name, "dim"), "", _share(ran), _share(waited), "", ""))


def _share(value: float | None) -> tuple[str, str]:
    return (UNKNOWN, "dim") if value is None else (f"{value:.0f}", "" if value >= 1 else "dim")


def _per_s(rate: float | None) -> tuple[str, str]:
    if rate is None:
        return UNKNOWN, "dim"
    return brief(round(rate)), "strong" if rate >= LEAST else "dim"
