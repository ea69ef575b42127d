"""The busiest flows for the overview: what limits each, and its rate over the last minute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..facts.flow_words import peer, rate, together
from ..facts.limits import words
from ..facts.limits.stages import SHORT
from ..terms import braille
from ..terms.text import Line, fit_line, text_of
from ..terms.units import UNKNOWN, brief, seconds, share
from ..views.scene import Scene, once
from ..views.timeline import trace
from .limit import limit_cell, of_flow
from .parts import Cell, Column, fitted, listing, telling

if TYPE_CHECKING:
    from ..facts.kinds.flow import Flow


COLUMNS: Final = (
    Column("PROCESS", 15, grow=2),
    Column("FLOW", 24, grow=2),
    Column("RATE", 10, ">"),
    Column("LAST MINUTE", 11),
    Column("LIMITED BY", 22, grow=1),
    Column("LIMIT", 2 + SHORT),
    Column("RTT", 8, ">"),
    Column("RETR", 6, ">"),
    Column("CORE ← IRQ", 10, ">"),
    Column("DISTANCE", 12),
    Column("WHY", 30, grow=6),
)
WIDE: Final = 110  # columns from which there is room for the last minute
NARROW: Final = ("process", "flow", "rate", "limit", "rtt", "retr", "core ← irq")
LEAST: Final = 62  # columns from which there is room for the addresses
PLACE: Final = 20  # columns of a flow's place that are never cut
TRACE: Final = 11  # cells of the last minute
TRACED: Final = "LAST MINUTE"
SPANS: Final = ((15.0, "LAST 15 s"), (30.0, "LAST 30 s"), (60.0, TRACED))
SOCKETS: Final = "sockets_tcp"
SMALL: Final = 100.0  # bytes/s below which a flow carries nothing


@once
def busiest(scene: Scene) -> tuple[Flow, ...]:
    """The flows that carry or lose data, by rate."""
    flows = scene.mean.flows if scene.mean is not None else ()
    rated = [(rate(one) or 0.0, one) for one in flows]
    shown = [pair for pair in rated if pair[0] >= SMALL or pair[1].drops_per_s or pair[1].notsent]
    shown.sort(key=lambda pair: (-pair[0], -(pair[1].drops_per_s or 0.0), pair[1].id))
    return tuple([one for _, one in shown])


def payload(scene: Scene, flows: Sequence[Flow]) -> str:
    """`44.3 Mb/s payload` of all; how old it is, where the budget lets the sockets wait."""
    total = together(flows)
    if total is None:
        return "rates unknown" if flows else ""
    return f"{scene.units.rate(total)} payload{read_ago(scene)}"


def read_ago(scene: Scene) -> str:
    """How old the figures are, where the budget lets the sockets wait."""
    age = scene.ages.get(SOCKETS)
    return "" if age is None else f", read {age:.0f} s ago"


def lines(scene: Scene, flows: Sequence[Flow], width: int, height: int, on: str = "") -> list[Line]:
    """A heading, and the flows for which there is room; `on` is the one under the cursor."""
    if height < 2 or not flows:
        return []
    wide = width >= WIDE
    shown, names = tuple(COLUMNS), tuple(NARROW)
    if wide:
        last = _span(scene)[1]
        shown = tuple(replace(one, title=last) if one.title == TRACED else one for one in COLUMNS)
        names = tuple(one.title.lower() for one in shown if one.title != "LIMIT")
    elif width < LEAST:
        names = tuple(name for name in NARROW if name != "flow")
    ids = [flow.id for flow in flows]
    cursor = ids.index(on) if on in ids else -1
    first = max(0, cursor - height + 2)
    cells = [_cells(scene, one, wide) for one in flows[first : first + height - 1]]
    table = fitted(shown, width, telling(shown, cells, names))
    rows = [table.row(one) for one in cells]
    return [fit_line(table.heading(), width), *listing(rows, cursor - first, width, height - 1)]


def at(scene: Scene, painted: Line) -> str:
    """The id of the flow whose row was painted; empty for another row."""
    text = text_of(painted)
    return next((one.id for one in busiest(scene) if _place(one)[:PLACE] in text), "")


def _place(flow: Flow) -> str:
    """The local port, the direction, and the other end."""
    arrow = "→" if (flow.tx_per_s or 0.0) >= (flow.rx_per_s or 0.0) else "←"
    way = f"{arrow} " if rate(flow) is not None else ""  # of datagrams it is not known
    return f":{flow.local_port} {way}{peer(flow)}"


def _cells(scene: Scene, flow: Flow, wide: bool) -> tuple[Cell, ...]:
    name = flow.process or "?"
    arrow = "→" if (flow.tx_per_s or 0.0) >= (flow.rx_per_s or 0.0) else "←"
    limit = flow.limit or UNKNOWN
    of = limit, flow.limit_how
    told = "elsewhere" if words.NOT_HERE in (flow.limit_why or "") else words.brief(*of)
    one, host = of_flow(scene, flow), ""
    if one is not None and scene.peer is not None and words.away(one.stage):
        host = f"{scene.peer.hosts[1]}: "
    sent_again = share(flow.retransmit_ratio) if arrow == "→" else UNKNOWN  # the sender knows it
    drops = brief(flow.drops_per_s) if flow.drops_per_s else sent_again  # a cell cuts no number
    bad = bool(flow.far and flow.bulk)
    cores = tuple(UNKNOWN if cpu is None else str(cpu) for cpu in (flow.app_cpu, flow.irq_cpu))
    return (
        (f"{name}[{flow.pid}]" if flow.pid is not None else name, "user"),
        _place(flow),
        (scene.units.rate(rate(flow)), "strong"),
        (_minute(scene, flow) if wide else "", "rx-4" if arrow == "←" else "tx-4"),
        limit_cell(scene, flow, f"{host}{told}"),
        limit_cell(scene, flow, told),
        seconds(flow.rtt),
        (drops, "bad" if flow.drops_per_s or (flow.loss_ratio or 0.0) > 0.001 else "dim"),
        (f"{cores[0]} ← {cores[1]}", "bad" if bad else ""),
        ((flow.distance or UNKNOWN).upper() if bad else flow.distance or UNKNOWN,
         "bad" if bad else "dim"),
        (flow.limit_why or (UNKNOWN if flow.limit is None else ""), "dim"),
    )  # fmt: skip


def _span(scene: Scene) -> tuple[float, str]:
    """The seconds of the small graphs, which are filled from the first samples on; their title."""
    moments = scene.past.fine
    known = moments[-1].at - moments[0].at if moments else 0.0
    return next((one for one in SPANS if known <= one[0]), SPANS[-1])


def _minute(scene: Scene, flow: Flow) -> str:
    if rate(flow) is None:
        return UNKNOWN
    values = trace(scene.past, flow.id, 2 * TRACE, _span(scene)[0] / (2 * TRACE))
    top = max((value for value in values if value), default=0.0)
    return braille.area(values, 1, top)[0] if top else ""
