"""Flows: peers, rates, what limits each flow, the distance of process and interrupt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..facts import Facts
from ..facts.kinds.flow import Flow
from ..facts.limits import words
from ..facts.limits.looks import name
from ..terms.text import Line, area, fit, fit_line, line, line_cells, wrap
from ..terms.units import UNKNOWN, amount, count, seconds, share, size
from ..views.ask import Hint, Next
from ..views.past import History, Trace
from ..views.scene import Scene, View, chosen
from .grid import beside, in_columns
from .parts import Cell, Column, listing, matches, section, sort_rows, waiting
from .table import fitted

TITLE = "Flows"
KEY = "4"
LEGEND: Final = (
    "LIMIT is what limits the flow. APP and IRQ are the cores of its process and its interrupts, "
    "DISTANCE is the distance between them. –: unknown."
)
NEEDS: tuple[str, ...] = ("sockets_tcp", "sockets_udp")
SORTS = 8
COLUMNS: Final = (
    Column("PROCESS", 14, grow=2),
    Column("PEER", 21, grow=3),
    Column("RECEIVES", 10, ">"),
    Column("SENDS", 10, ">"),
    Column("LIMIT", 11),
    Column("RTT", 7, ">"),
    Column("RETR/s", 7, ">"),
    Column("CWND", 6, ">"),
    Column("APP", 4, ">"),
    Column("IRQ", 4, ">"),
    Column("DISTANCE", 12, grow=1),
    Column("QUEUE", 6),
    Column("NIC", 8),
    Column("RETR", 6, ">"),
    Column("CONTROL", 7),
    Column("WHY", 34, grow=6),
)
UNLIMITED: Final = (None, "none", "application")
SPLIT: Final = 28  # lines from which the flow under the cursor is always shown below the list
BELOW: Final = 14  # lines that it needs
WIDE: Final = 110  # columns from which the figures of an opened flow are in two columns
TRACES: Final[tuple[tuple[str, str, Callable[[Trace], float | None], str], ...]] = (
    ("rate", "good", lambda t: None if t.rate is None else t.rate * 8, "bit/s"),
    ("rtt", "accent", lambda t: t.rtt, "s"),
    ("cwnd", "system", lambda t: t.cwnd, "segments"),
    ("retransmits", "bad", lambda t: t.retransmits, "segments/s"),
)
_ROWS: Final = 2000  # nobody reads a longer list; it can be filtered


def _key(flow: Flow, column: int) -> float | str | None:
    rate = (flow.rx_per_s or 0.0) + (flow.tx_per_s or 0.0)
    return (
        rate, flow.rx_per_s, flow.tx_per_s, flow.rtt, flow.retransmits_per_s, flow.cwnd,
        flow.process or "", flow.remote,
    )[column % 8]  # fmt: skip


_SORTED: Final = {1: 2, 2: 3, 3: 5, 4: 6, 5: 7, 6: 0, 7: 1}  # sort order → its column


def rows_of(scene: Scene, view: View) -> list[Flow]:
    """The flows shown: filtered and sorted; by default by rate."""
    facts = scene.facts
    if facts is None:
        return []
    flows = [
        f
        for f in facts.flows
        if (not view.nic or f.nic == view.nic)
        and matches(view.spot.filter, f.id, f.process, f.nic, f.limit, f.distance, f.queue)
    ]
    sort = view.spot.sort % 8
    down = (sort not in (6, 7)) != view.spot.invert
    return sort_rows(flows, lambda f: _key(f, sort), down=down)[:_ROWS]


def items(scene: Scene, view: View) -> tuple[str, ...]:
    """The flows in the order shown."""
    if view.spot.open:
        return ()
    return tuple(flow.id for flow in rows_of(scene, view))


def enter(view: View, scene: Scene, here: str) -> Next:  # noqa: ARG001
    """Open the flow."""
    return (view.at(open=here, top=0) if here and not view.spot.open else view), None


def hints(scene: Scene, view: View, here: str) -> tuple[Hint, ...]:  # noqa: ARG001
    """Opening, sorting, filtering."""
    if view.spot.open:
        return Hint("n", "next", "next_detail"), Hint("Esc", "back", "escape")
    some = scene.facts is not None and scene.facts.flows
    known = (Hint("Enter", "open", "enter"),) if some else ()
    return (*known, Hint(">", "sort", "sort"), Hint("/", "filter", "filter"))


def flow_cells(flow: Flow, scene: Scene) -> tuple[Cell, ...]:
    """The cells of one flow, one per column."""
    name = flow.process or "?"
    process = f"{name}[{flow.pid}]" if flow.pid is not None else name
    bad = bool(flow.far and flow.bulk)
    limit = flow.limit or UNKNOWN
    retr = flow.retransmits_per_s
    return (
        (process, "user" if flow.bulk else ""),
        f"{flow.remote}:{flow.remote_port}",
        (scene.units.rate(flow.rx_per_s), "strong" if (flow.rx_per_s or 0) > 1e5 else "dim"),
        (scene.units.rate(flow.tx_per_s), "strong" if (flow.tx_per_s or 0) > 1e5 else "dim"),
        (limit, "dim" if limit in (*UNLIMITED, UNKNOWN) else "warn"),
        seconds(flow.rtt),
        (UNKNOWN if retr is None else f"{retr:.0f}", "bad" if retr else "dim"),
        UNKNOWN if flow.cwnd is None else str(flow.cwnd),
        UNKNOWN if flow.app_cpu is None else str(flow.app_cpu),
        UNKNOWN if flow.irq_cpu is None else str(flow.irq_cpu),
        (
            (flow.distance or UNKNOWN).upper() if bad else flow.distance or UNKNOWN,
            "bad" if bad else "dim",
        ),
        (flow.queue or UNKNOWN, "dim"),
        (flow.nic or "", "dim"),
        (share(flow.retransmit_ratio), "bad" if (flow.loss_ratio or 0) > 0.001 else "dim"),
        (flow.congestion or "", "dim"),
        (flow.limit_why or "", "dim"),
    )


def limit_of(flow: Flow, scene: Scene, width: int) -> list[Line]:
    """What limits the flow, what would limit it next, and the measurement behind the limit."""
    if not flow.limit and not flow.limit_why:
        return []
    limits = scene.facts.limits if scene.facts is not None else ()
    key = ("flow", name(flow), None)  # the namespace: this one
    limit = next((one for one in limits if (one.over, one.target, one.namespace) == key), None)
    text = f"limited by {words.LONG[flow.limit]}" if flow.limit in words.LONG else "not limited"
    if limit is not None:
        text = words.verdict(limit)
    why = flow.limit_why or ""
    role = "dim" if flow.limit in UNLIMITED else "warn"
    both = line((f" {text}", role), f"  {why}")
    if line_cells(both) <= width:
        return [both]
    return [
        line((f" {row}", kind))
        for sentence, kind in ((text, role), (why, ""))
        for row in wrap(sentence, max(20, width - 2))
    ]


def detail(
    flow: Flow, scene: Scene, width: int, height: int, hint: str = "Esc back", most: int = 6
) -> list[Line]:
    """One flow in full: its limit, its cores, its figures, graphs of the last minutes.

    A graph has at most `most` rows: every second all of its rows are written to the terminal.
    """
    out = [section(f"FLOW {flow.process or '?'}[{flow.pid or '?'}]", hint, width)]
    out.append(
        line(
            f" {flow.local}:{flow.local_port}  ",
            ("←→", "accent"),
            f"  {flow.remote}:{flow.remote_port}",
            (f"   {flow.protocol} over {flow.nic or '?'}", "dim"),
        )
    )
    out += limit_of(flow, scene, width)
    app, irq = (UNKNOWN if c is None else str(c) for c in (flow.app_cpu, flow.irq_cpu))
    where = f" process on core {app}, interrupt on core {irq}"
    where += f" (queue {flow.queue or '?'})"
    out.append(
        line(
            (where, ""),
            (f"  {flow.distance or 'distance unknown'}", "bad" if flow.far else "dim"),
            (f"  {flow.queue_why or ''}", "dim"),
        )
    )
    facts = [
        ("rate", f"{scene.units.rate(flow.rx_per_s)} in, {scene.units.rate(flow.tx_per_s)} out"),
        ("rtt", f"{seconds(flow.rtt)}, least {seconds(flow.min_rtt)}, ± {seconds(flow.rtt_var)}"),
        (
            "window",
            f"{amount(flow.cwnd)} segments of {amount(flow.mss)}, ssthresh {amount(flow.ssthresh)}",
        ),
        (
            "retransmits",
            f"{amount(flow.retransmits_per_s)}/s, {share(flow.retransmit_ratio)} of segments"
            + (f", {share(flow.needless)} spurious" if flow.needless else ""),
        ),
        ("in flight", f"{amount(flow.unacked)} segments, {size(flow.notsent)} not sent yet"),
        ("BDP", f"{size(flow.bdp)}; windows allow {scene.units.speed(flow.window_cap)}"),
        (
            "buffers",
            f"receive {size(flow.rcvbuf)} ({size(flow.recv_q)} unread), send {size(flow.sndbuf)}",
        ),
        (
            "waited for",
            f"peer's window {share(flow.rwnd_limited)}, own buffer {share(flow.sndbuf_limited)}",
        ),
        (
            "pacing",
            " delivery ".join(map(scene.units.speed, (flow.pacing_rate, flow.delivery_rate))),
        ),
        (
            "control",
            ", ".join(
                (
                    flow.congestion or UNKNOWN,
                    f"timestamps {amount(flow.timestamps)}",
                    f"SACK {amount(flow.sack)}",
                    f"scaling {amount(flow.wscale)}",
                )
            ),
        ),
    ]
    shown = facts if height >= 20 or width >= WIDE else facts[:4]
    rows = [line((fit(f" {label}", 13), "dim"), text) for label, text in shown]
    out += in_columns(rows, 2, width // 2, width) if width >= WIDE else rows
    out += traces(flow, scene.past, (width, height - len(out)), most)
    return [fit_line(one, width) for one in out[:height]]


def traces(flow: Flow, past: History, size: tuple[int, int], most: int) -> list[Line]:
    """Graphs of the last minutes in `size` columns and rows; side by side if there is room."""
    width, height = size
    across = 2 if width >= WIDE else 1
    each = width // across
    rows = max(1, min(most, height * across // 4 - 1))
    blocks: list[list[Line]] = []
    for label, role, value, unit in TRACES:
        values = past.flow(flow.id, value)
        known = [v for v in values if v is not None]
        top = max(known, default=0.0)
        remark = "not known yet"
        if known:
            span = "" if blocks else f" in {seconds(past.fine[-1].at - past.moments()[0].at)}"
            remark = f"now {amount(known[-1], unit)}, peak {amount(top, unit)}{span}"
        drawn = area(values, each - 2, rows, top or 1.0) if known else []
        blocks.append([section(label, remark, each), *(line((f" {t}", role)) for t in drawn)])
    shown = blocks[: height // (rows + 1) * across]
    deep = [beside(shown[at : at + across], each, width) for at in range(0, len(shown), across)]
    return [row for block in deep for row in block]


def large(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The graphs of the flow that is open or under the cursor; [] without one."""
    rows = rows_of(scene, view)
    on = view.spot.open or view.spot.on or (rows[0].id if rows else "")
    flow = next((one for one in rows if one.id == on), None)
    return [] if flow is None else traces(flow, scene.past, (width, height), height)


def counted(shown: int, facts: Facts) -> str:
    """The number of flows shown, and of all; facts exist for the busiest flows only."""
    known = len(facts.flows)
    not_tcp = sum(f.protocol != "tcp" for f in facts.flows)
    every = max(known, facts.host.tcp_flows + not_tcp)
    if every == known:
        return f"{count(shown)} of {count(known)}"
    if shown == known:
        return f"the busiest {count(shown)} of {count(every)}"
    return f"{count(shown)} of the busiest {count(known)} of {count(every)}"


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The list, and the flow under the cursor below it if there is room; or the opened flow."""
    waits = waiting(scene.facts, width)
    if waits is not None or scene.facts is None:
        return waits or []
    facts = scene.facts
    if view.spot.open:
        flow = next((f for f in facts.flows if f.id == view.spot.open), None)
        if flow is None:
            return [fit_line(line((" this flow has ended", "dim"), ("   Esc back", "key")), width)]
        return detail(flow, scene, width, height)
    shown = rows_of(scene, view)
    table = fitted(COLUMNS, width, view.columns.get("flows", ()))
    sort = view.spot.sort % 8
    down = (sort not in (6, 7)) != view.spot.invert
    total = sum((f.rx_per_s or 0) + (f.tx_per_s or 0) for f in shown)
    remark = f"{counted(len(shown), facts)}, together {scene.units.rate(total)}"
    cursor = chosen(tuple(f.id for f in shown), view.spot)
    roomy = height >= SPLIT or len(shown) + 2 + BELOW <= height
    below = max(BELOW, height - 2 - max(5, len(shown))) if shown and roomy else 0
    span = max(0, height - 2 - below)
    lo = max(0, cursor - span)
    near = [table.row(flow_cells(f, scene)) for f in shown[lo : cursor + span + 1]] if shown else []
    before: list[Line] = [()] * lo
    after: list[Line] = [()] * max(0, len(shown) - lo - len(near))
    out = [section("FLOWS", remark, width), table.heading(_SORTED.get(sort, -1), down=down)]
    out += listing([*before, *near, *after], cursor, width, span)
    if below:
        out += [()] * (height - below - len(out))
        out += detail(shown[cursor], scene, width, below, "Enter the whole screen", 3)
    if not shown:
        why = facts.missing.get("sockets_tcp")
        text = (
            f" flows cannot be read: {why}"
            if why
            else " no flow" + " matches" * bool(view.spot.filter)
        )
        out.append(line((text, "dim")))
    return [fit_line(one, width) for one in out[:height]]
