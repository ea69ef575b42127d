"""Overview: problems, the packet path with its drops, the load of the cores, findings."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ..facts.limits import words
from ..terms.text import Line, bar, crop, ends, fit, fit_line, line
from ..terms.units import UNKNOWN, brief, count, per_second, percent
from ..views.ask import Next
from ..views.enough import unjudged
from ..views.past import lost
from ..views.scene import Scene, View, nic_of, under
from . import grid, history, listed, path, trend
from .parts import (
    Column,
    heading,
    listing,
    row,
    section,
    severity,
    waiting,
    widths,
)

TITLE = "Overview"
KEY = "1"
LEGEND: Final = (
    "lost ?: no drop counter at this stage. A core's bar: █ softirq ▓ irq ▒ system ░ user; at its "
    "right the queues that interrupt it and its processes."
)
NEEDS: tuple[str, ...] = ()
BOUND = True
GRAPH: Final = 4  # rows of the graphs of the last minutes
EMPTY: Final = 20  # free rows from which these graphs have twice as many
SHORT: Final = 4  # free rows above which the load of cores over time is shown
BUSY: Final = 5.0  # percent idle below which the CPUs are full
ROOMY: Final = 48  # rows from which room is reserved for the graphs


def items(scene: Scene, view: View) -> tuple[str, ...]:  # noqa: ARG001
    """The findings: those that hold, then those that are done, then those that ended."""
    return tuple(one.id for one in listed.listed(scene, muted=False))


def enter(view: View, scene: Scene, here: str) -> Next:  # noqa: ARG001
    """Show the finding in the advisor."""
    if not here:
        return view, None
    return replace(view, pane="advisor").at(on=here, open="", top=0), None


undoes = listed.undoes


def verdict(scene: Scene, width: int) -> Line:
    """One line: the number of problems and the first of them."""
    serious = [f for f in scene.findings if f.severity in ("critical", "warning")]
    if serious:
        first = serious[0]
        mark, role = severity(first)
        text = f" {mark} {len(serious)} problem{'s' * (len(serious) > 1)}: "
        if width < 50:
            return fit_line(
                line((f" {mark} ", role), (crop(first.title, width - 3), "strong")), width
            )
        hint = line(("Enter why ", "dim")) if width >= 60 else ()
        room = width - len(text) - 12  # the hint and its margins
        return ends(line((text, role), (crop(first.title, room), "strong")), hint, width)
    facts = scene.facts
    if facts is not None and not facts.cores:
        text = f" ? no verdict: {len(facts.missing)} kernel interfaces cannot be read here"
        return fit_line(line((text, "warn")), width)
    no_rates = facts is not None and facts.cores and facts.cores[0].idle is None
    if no_rates and not (scene.origin and scene.shortfall):
        return fit_line(line((" … measuring the first interval", "dim")), width)
    advice = len(scene.findings)
    more = f"; {advice} piece{'s' * (advice > 1)} of advice" if advice else ""
    losing = max(
        facts.paths if facts is not None else (), key=lambda one: one.lost or 0.0, default=None
    )
    if losing is not None and losing.lost:
        text = f" · {per_second(losing.lost, 'lost')} on the path, most at the {losing.worst} of"
        return fit_line(line((f"{text} {losing.nic}; no finding yet", "warn"), (more, "")), width)
    if scene.shortfall:
        return fit_line(line((f" ? {unjudged(scene.shortfall)}", "warn"), (more, "")), width)
    return fit_line(line(*without_loss(scene), (more, "")), width)


def without_loss(scene: Scene) -> tuple[tuple[str, str], ...]:
    """The verdict if nothing is lost: the limit that the busiest flow or the CPUs reach, if any."""
    facts = scene.facts
    if facts is None:
        return ()
    wired = [nic for nic in facts.nics if nic.kind != "loopback"]
    if not wired:
        return ((" · no interface but loopback in this network namespace", ""),)
    if all(nic.per_s.rx_bytes is None and nic.per_s.tx_bytes is None for nic in wired):
        return ((" ? no interface has counters: packet loss is unknown", "warn"),)
    limit = words.busiest(facts.limits)
    if limit is not None:
        here = limit.stage.end == "here" and limit.stage.stage != "application"
        return ((" no loss; ", "dim"), (words.line(limit), "warn" if here else ""))
    idle = facts.host.idle
    if idle is not None and idle < BUSY:
        return ((" ✓ no loss;", "good"), (" the CPUs are full", "warn"))
    return ((" ✓ no loss; nothing waits to be sent or read", "good"),)


def keys_of(scene: Scene, one: listed.Listed) -> str:
    """The keys for a finding."""
    return "a apply  p prove " if scene.plans.get(one.id) else "Enter why "


def ports(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The interfaces: rates, share of the link, drops, link."""
    facts = scene.facts
    if facts is None or height < 3:
        return []
    shown = nic_of(scene, view)
    every = sorted(
        (n for n in facts.nics if n.kind != "loopback" or (n.per_s.rx_bytes or 0) > 10_000),
        key=lambda n: (-((n.per_s.rx_bytes or 0) + (n.per_s.tx_bytes or 0)), n.name),
    )
    columns = (
        Column(" INTERFACE", 16, grow=1),
        Column("rx", 11, ">"),
        Column("", 8),
        Column("tx", 11, ">"),
        Column("", 8),
        Column("lost", 10, ">"),
        Column("rx / tx pps", 19, ">"),
        Column("LINK", 26, grow=2),
    )
    sizes = widths(columns, width)
    out = [heading(columns, sizes)]
    for nic in every[: height - 1]:
        drops = lost(nic.per_s)
        mark = "▸ " if shown is not None and nic.name == shown.name else "  "
        pps = f"{_brief(nic.per_s.rx_packets)} / {_brief(nic.per_s.tx_packets)}"
        out.append(
            row(
                (
                    (mark + nic.name, "head" if nic.carrier is not False else "dim"),
                    scene.units.rate(nic.per_s.rx_bytes),
                    _load(path.load_of(nic, "rx")),
                    scene.units.rate(nic.per_s.tx_bytes),
                    _load(path.load_of(nic, "tx")),
                    (
                        per_second(drops) if drops else "0" if drops == 0 else UNKNOWN,
                        "bad" if drops else "dim",
                    ),
                    (pps, "dim"),
                    (path.title(nic), "dim"),
                ),
                columns,
                sizes,
            )
        )
    if len(every) > height - 1:
        out[-1] = fit_line(line((f"   {len(every) - height + 2} more interfaces", "dim")), width)
    return out


def _brief(per_s: float | None) -> str:
    return brief(None if per_s is None else round(per_s))


def _load(load: float | None) -> tuple[str, str]:
    if load is None:
        return "", ""
    filled, rest = bar(load, 3)
    percent_text = f"{min(999, load * 100):>3.0f}%"
    return f"{filled}{rest} {percent_text}"[:8], "good" if (load or 0) < 0.98 else "accent"


def processes(scene: Scene, width: int, height: int) -> list[Line]:
    """The busiest network processes: their core and its distance from their interrupts."""
    facts = scene.facts
    if facts is None or height < 2:
        return []
    busy = sorted(
        (p for p in facts.processes if p.networked or (p.user or 0) + (p.system or 0) >= 5),
        key=lambda p: (
            not p.networked,
            -((p.rx_per_s or 0) + (p.tx_per_s or 0)),
            -((p.user or 0) + (p.system or 0)),
        ),
    )
    if not busy:
        return []
    columns = (
        Column(" PROCESS", 20, grow=1), Column("core", 5, ">"), Column("node", 4, ">"),
        Column("user", 5, ">"), Column("system", 6, ">"), Column("receives", 10, ">"),
        Column("sends", 10, ">"), Column("IRQ", 26, grow=1),
    )  # fmt: skip
    sizes = widths(columns, width)
    out = [heading(columns, sizes)]
    for process in busy[: height - 1]:
        where = process.distance or ""
        if process.irq_cpu is not None:
            where = f"core {process.irq_cpu}" + f" ({where})" * bool(where)
        rates = (process.rx_per_s, process.tx_per_s)
        if process.udp and not any(rates):  # the kernel counts no bytes of datagrams
            rates = (None, None)
        bad = process.far and (sum(r or 0.0 for r in rates) > 1e6 or not any(rates))
        blank = "bytes unknown" if process.udp and rates == (None, None) else ""
        out.append(
            row(
                (
                    (f"  {process.name}[{process.pid}]", "user"), _number(process.cpu),
                    _number(process.node), percent(process.user), percent(process.system),
                    scene.units.rate(rates[0]), scene.units.rate(rates[1]),
                    (f"✗ {where.upper()}" if bad else where or blank, "bad" if bad else "dim"),
                ),
                columns, sizes,
            )
        )  # fmt: skip
    return out


def _number(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)


def findings(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The top findings, with the keys of the one under the cursor."""
    if height < 2:
        return []
    every = listed.listed(scene, muted=False)
    cursor = under(tuple(one.id for one in every), view.spot)
    longest = max((len(one.id) for one in every), default=0)
    rows = [
        listed.row(one, width, keys_of(scene, one) if at == cursor else "", longest)
        for at, one in enumerate(every)
    ]
    if not rows:
        silent = len({result.rule for result in scene.silent if result.applies})
        text = f" none; {silent} silent rules (5 shows why)" if silent else " none"
        text, role = (f" {unjudged(scene.shortfall)}", "warn") if scene.shortfall else (text, "dim")
        text += f"; {len(scene.mutes)} muted (M)" if scene.mutes else ""
        return [section("FINDINGS", "", width), fit_line(line((text, role)), width)]
    hold = len(scene.findings)
    remark = f"{count(len(rows))}" if len(rows) > height - 1 else ""
    if len(rows) > hold:
        remark = f"{hold} hold, {len(rows) - hold} done or ended"
    return [section("FINDINGS", remark, width), *listing(rows, cursor, width, height - 1)]


def tiny(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The smallest screens: the verdict, the rates, the cores."""
    out = [verdict(scene, width)]
    nic = nic_of(scene, view)
    if nic is not None:
        rates = f" {nic.name} rx {scene.units.rate(nic.per_s.rx_bytes)}"
        out.append(line((crop(rates, width), "")))
        out.append(line((crop(f" tx {scene.units.rate(nic.per_s.tx_bytes)}", width), "")))
        drops = lost(nic.per_s)
        if drops:
            out.insert(1, line((f" ✗ {per_second(drops, 'lost')}", "bad")))
    if scene.facts is not None:
        out += grid.block(scene.facts, width, height - len(out))
    return [fit_line(one, width) for one in out[:height]]


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """Verdict, path, cores, interfaces, processes, findings: as much as the height allows."""
    waits = waiting(scene.facts, width)
    if waits is not None or scene.facts is None:
        return waits or []
    if height < 12 or width < 50:
        return tiny(scene, view, width, height)
    facts = scene.facts
    top = [verdict(scene, width), *path_of(scene, view, width, height)]
    reserved = GRAPH + 2 if height >= ROOMY and len(scene.past.fine) > 1 else 0
    left = height - len(top) - reserved
    low = min(1 + max(1, len(items(scene, view))), 5 if left >= 16 else 4)
    tables = plan(scene, view, width, left - low)
    mean = f"mean idle {percent(facts.host.idle)}" if facts.host.idle is not None else ""
    legend = "█ softirq ▓ irq ▒ system ░ user" if width >= 70 else ""
    cores = [section("CORES", "  ".join(filter(None, (legend, mean))), width)]
    cores += grid.block(facts, width, left - low - sum(map(len, tables)) - 1)
    if facts.missing and not facts.cores:
        cores = unread(scene, width)
    last = findings(
        scene,
        view,
        width,
        max(low, left - len(cores) - sum(map(len, tables))) if left > 4 else left,
    )
    parts = [part for part in (top, cores, *tables, last) if part]
    spare = height - sum(map(len, parts))
    graphs = recent(scene, view, width, spare)
    parts[0] = top + graphs
    spare -= len(graphs)
    room = spare - len(parts)  # a gap before each part
    if height >= ROOMY and room > SHORT:
        past = history.load(scene, width, min(room, len(facts.cores) + 1))
        parts[-1:-1] = [past] * bool(past)
        spare -= len(past)
    out: list[Line] = []
    for part in parts:
        if out and spare > 0:
            out.append(())
            spare -= 1
        out += part
    return [fit_line(one, width) for one in out[:height]]


def recent(scene: Scene, view: View, width: int, spare: int) -> list[Line]:
    """Graphs of the last minutes; two possible heights, so that the other parts rarely move."""
    nic = nic_of(scene, view)
    if nic is None or spare <= GRAPH:
        return []
    return trend.graphs(scene, nic, width, GRAPH if spare < EMPTY else 2 * GRAPH)


def unread(scene: Scene, width: int) -> list[Line]:
    """The tables that could not be read, with the reasons."""
    missing = scene.facts.missing if scene.facts is not None else {}
    out = [section("NOT READ", "", width)]
    out += [
        line((fit(f" {name}", 16), "head"), (why, "")) for name, why in sorted(missing.items())[:8]
    ]
    return out


def path_of(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The packet path through the chosen interface."""
    nic = nic_of(scene, view)
    if nic is None or scene.facts is None:
        return []
    way = path.of(scene.facts, nic.name)
    direction = {"rx": "receive · ", "tx": "send · "}.get(way.direction if way else "", "")
    out = [section(f"PATH {nic.name}", direction + path.title(nic), width)]
    out.append(path.rates(nic, scene.units, width))
    if way is not None:
        out += path.stages(way, width, 4 if height >= 18 else 3)
    return out + path.reasons(scene.facts, width)


def plan(scene: Scene, view: View, width: int, room: int) -> list[list[Line]]:
    """Interfaces and processes, in the lines of `room` that the cores do not need."""
    if scene.facts is None or room < 9:
        return []
    cores = scene.facts.cores
    wanted = 2 + (len(cores) if width < 76 else -(-len(cores) // 2))
    spare = room - min(wanted, max(5, room * 2 // 3))
    many = sum(n.kind != "loopback" for n in scene.facts.nics)
    interfaces = (
        ports(scene, view, width, min(1 + spare // 2, 10)) if many > 1 or spare >= 6 else []
    )
    running = processes(scene, width, min(spare - len(interfaces), 9))
    return [part for part in (interfaces, running) if len(part) > 1]
