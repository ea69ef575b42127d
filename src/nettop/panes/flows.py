"""Flows: peers, rates, what limits each flow, the distance of process and interrupt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from ..facts import Facts
from ..facts.flow_words import peer, rate
from ..facts.limits import words
from ..facts.limits.stages import SHORT
from ..terms.dataclass import dataclass
from ..terms.errors import nearest
from ..terms.text import Line, line
from ..terms.units import UNKNOWN, count, seconds, share
from ..views.ask import Hint, Next
from ..views.scene import Scene, only
from ..views.view import Spot, View, chosen
from . import flowgroups, flowpage
from .flowlist import payload, read_ago
from .frame import drawn_inside, enclosed
from .limit import limit_cell
from .parts import (
    Cell,
    Column,
    Order,
    Table,
    fitted,
    listing,
    marked,
    matches,
    ordered,
    section,
    telling,
    waiting,
)

if TYPE_CHECKING:
    from ..facts.kinds.flow import Flow


TITLE = "Flows"
KEY = "4"
LEGEND: Final = (
    "LIMIT is what limits the flow. APP and IRQ are the cores of its process and its interrupts, "
    "DISTANCE is the distance between them. –: unknown. z: by process. A filter may name columns: "
    "limit:cwnd peer:10.0.0.2"
)
NEEDS: tuple[str, ...] = (
    "sockets_tcp", "sockets_tcp_multipath", "sockets_udp", "netns_tcp", "netns_udp",
)  # fmt: skip
DRAWS: Final = ("threads",)  # of an opened flow; sockets are drawn from facts
FILTERED = True
COLUMNS: Final = (
    Column("PROCESS", 13, grow=2),
    Column("LOCAL", 6, ">"),
    Column("PEER", 18, grow=3),
    Column("RECEIVES", 10, ">"),
    Column("SENDS", 10, ">"),
    Column("LIMIT", 2 + SHORT),
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
    Column("RATE", 11, ">"),  # of both directions, where there is no room for two columns
)
WIDE: Final = 86  # columns from which the limit has room beside both rates
NARROW: Final = ("process", "local", "peer", "rate", "limit", "rtt", "retr")
LEAST: Final = 70  # columns from which the limit has room beside the addresses
NARROWEST: Final = ("process", "rate", "limit", "rtt", "app", "irq", "retr")
SPLIT: Final = 28  # lines from which the flow under the cursor is always shown below the list
BELOW: Final = 14  # lines that it needs
FEW: Final = 8  # rows from which the flow under the cursor has a part of its own
_ROWS: Final = 2000  # nobody reads a longer list; it can be filtered


ORDERS: Final[Sequence[Order[Flow]]] = (
    Order("RATE", lambda f: rate(f) or 0.0),
    Order("RECEIVES", lambda f: f.rx_per_s),
    Order("SENDS", lambda f: f.tx_per_s),
    Order("RTT", lambda f: f.rtt),
    Order("RETR/s", lambda f: f.retransmits_per_s),
    Order("CWND", lambda f: f.cwnd),
    Order("PROCESS", lambda f: f.process or "", down=False),
    Order("PEER", lambda f: f.remote, down=False),
    Order("LOCAL", lambda f: f.local_port, down=False),
    Order("LIMIT", lambda f: f.limit, down=False),
    Order("APP", lambda f: f.app_cpu, down=False),
    Order("IRQ", lambda f: f.irq_cpu, down=False),
    Order("DISTANCE", lambda f: f.distance, down=False),
    Order("QUEUE", lambda f: f.queue, down=False),
    Order("NIC", lambda f: f.nic, down=False),
    Order("RETR", lambda f: f.retransmit_ratio),
    Order("CONTROL", lambda f: f.congestion, down=False),
    Order("WHY", lambda f: f.limit_why, down=False),
)


def orders(view: View) -> tuple[str, ...]:
    """The columns that the flows, or the processes, can be sorted by."""
    return tuple(one.title for one in (flowgroups.ORDERS if view.spot.mode else ORDERS))


def rows_of(scene: Scene, view: View) -> list[Flow]:
    """The flows shown: filtered and sorted; by default by rate."""
    facts = scene.mean
    if facts is None:
        return []
    wanted, nic = parsed(view.spot.filter, FILTERS), only(scene, view)
    flows = [
        f
        for f in facts.flows
        if (not nic or f.nic == nic)
        and wanted.passes(f, (f.id, f.process, f.nic, f.limit, f.distance, f.queue))
    ]
    return ordered(flows, ORDERS, Spot() if view.spot.mode else view.spot)[:_ROWS]


def _groups(scene: Scene, view: View) -> list[flowgroups.Group]:
    return flowgroups.grouped(rows_of(scene, view), view.spot)


def items(scene: Scene, view: View) -> tuple[str, ...]:
    """The flows, or their processes, in the order shown."""
    if view.spot.open:
        return ()
    if view.spot.mode:
        return tuple(one.id for one in _groups(scene, view))
    return tuple(flow.id for flow in rows_of(scene, view))


def fold(view: View) -> View:
    """Flows by process, or each flow."""
    return view.at(mode=1 - view.spot.mode, on="", index=0, open="", sort=0, invert=False)


def enter(view: View, scene: Scene, here: str) -> Next:
    """Open the flow; of a process, list its flows."""
    if view.spot.mode:
        return flowgroups.opened(view, _groups(scene, view), here), None
    return (view.at(open=here, top=0) if here and not view.spot.open else view), None


FILTERS: Final[dict[str, Callable[[Flow], str | None]]] = {  # columns that a filter may name
    "process": lambda f: f.process,
    "pid": lambda f: UNKNOWN if f.pid is None else str(f.pid),
    "local": lambda f: f"{f.local}:{f.local_port}",
    "peer": peer,
    "limit": lambda f: f"{f.limit} {words.brief(f.limit or '', f.limit_how)}",
    "nic": lambda f: f.nic,
    "namespace": lambda f: f.namespace,
    "queue": lambda f: f.queue,
    "control": lambda f: f.congestion,
    "distance": lambda f: f.distance,
    "app": lambda f: UNKNOWN if f.app_cpu is None else str(f.app_cpu),
    "irq": lambda f: UNKNOWN if f.irq_cpu is None else str(f.irq_cpu),
    "why": lambda f: f.limit_why,
}


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
    arrow = "→" if (flow.tx_per_s or 0.0) >= (flow.rx_per_s or 0.0) else "←"
    retr = flow.retransmits_per_s
    return (
        (process, "user" if flow.bulk else ""),
        (f":{flow.local_port}", "dim"),
        peer(flow),
        (scene.units.rate(flow.rx_per_s), "strong" if (flow.rx_per_s or 0) > 1e5 else "dim"),
        (scene.units.rate(flow.tx_per_s), "strong" if (flow.tx_per_s or 0) > 1e5 else "dim"),
        limit_cell(scene, flow, words.brief(limit, flow.limit_how)),
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
        (flow.nic or (f"@{flow.namespace}" if flow.namespace is not None else ""), "dim"),
        (share(flow.retransmit_ratio), "bad" if (flow.loss_ratio or 0) > 0.001 else "dim"),
        (flow.congestion or "", "dim"),
        (flow.limit_why or "", "dim"),
        (UNKNOWN if rate(flow) is None else f"{arrow}{scene.units.rate(rate(flow))}", "strong"),
    )


def columns(view: View, width: int, cells: Sequence[Sequence[Cell]]) -> Table:
    """The chosen columns in that width; else the limit has room first, then both rates.

    Of columns that were not chosen, those without a known value in the `cells` are left out.
    """
    names = () if width >= WIDE else NARROW if width >= LEAST else NARROWEST
    return fitted(COLUMNS, width, view.columns.get("flows") or telling(COLUMNS, cells, names))


def large(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The graphs of the flow that is open or under the cursor; [] without one."""
    rows = rows_of(scene, view)
    on = view.spot.open or view.spot.on or (rows[0].id if rows else "")
    flow = next((one for one in rows if one.id == on), None)
    if flow is None:
        return []
    drawn = flowpage.graphs(flow, scene.past, (width - 2, height - 1), scene.units)
    return enclosed(drawn, width, height) if drawn else []


def counted(shown: int, facts: Facts) -> str:
    """The number of flows shown, and of all; facts exist for the busiest flows only."""
    known = len(facts.flows)
    others = sum(f.protocol != "tcp" or f.namespace is not None for f in facts.flows)
    every = max(known, facts.host.tcp_flows + others)
    if every == known:
        return f"{count(shown)} of {count(known)}"
    if shown == known:
        return f"the busiest {count(shown)} of {count(every)}"
    return f"{count(shown)} of the busiest {count(known)} of {count(every)}"


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The list, and the flow under the cursor below it if there is room; or the opened flow."""
    if scene.mean is None:
        return waiting(scene, width)
    return drawn_inside(partial(_rows, scene, scene.mean, view), width, height)


def _rows(scene: Scene, facts: Facts, view: View, width: int, height: int) -> list[Line]:
    """The lines of the pane, without a frame."""
    if view.spot.open:
        flow = next((f for f in facts.flows if f.id == view.spot.open), None)
        if flow is None:
            told = line((" this flow has ended", "warn"), ("   Esc back to the list", "key"))
            return [told, (), *_rows(scene, facts, view.at(open=""), width, height - 2)]
        return flowpage.lines(flow, scene, width, height)
    shown = rows_of(scene, view)
    title, down = marked(ORDERS, view.spot)
    if view.spot.mode:
        return by_process(scene, view, shown, width, height)
    cursor = chosen(tuple(f.id for f in shown), view.spot)
    left = height - 2 - max(5, len(shown))  # rows that the list does not need
    below = left if left >= FEW else BELOW if height >= SPLIT else 0
    below = below if shown else 0
    span = max(0, height - 2 - below)
    lo = max(0, cursor - span)
    cells = [flow_cells(f, scene) for f in shown[lo : cursor + span + 1]] if shown else []
    table = columns(view, width, cells)
    by = f"by {title} {'▼' if down else '▲'}   " if view.spot.sort and not table.has(title) else ""
    many = " · ".join(filter(None, (counted(len(shown), facts), payload(scene, shown))))
    remark = f"{by}{over(scene, view)}{many}"
    near = [table.row(one) for one in cells]
    before: list[Line] = [()] * lo
    after: list[Line] = [()] * max(0, len(shown) - lo - len(near))
    out = [section(f"FLOWS · {scene.window}", remark, width), table.heading(title, down=down)]
    out += listing([*before, *near, *after], cursor, width, span)
    if below:
        out += [()] * (height - below - len(out))
        out += flowpage.lines(shown[cursor], scene, width, below, "Enter the whole screen")
    if not shown:
        out.append(nothing(scene, facts, view))
    return out


def by_process(scene: Scene, view: View, shown: list[Flow], width: int, height: int) -> list[Line]:
    """A row for each process instead of each flow."""
    groups = flowgroups.grouped(shown, view.spot)
    many = f"{over(scene, view)}{len(shown)} flow{'s' * (len(shown) != 1)} of "
    many += f"{len(groups)} process{'es' * (len(groups) != 1)}{read_ago(scene)}"
    head, *rows = flowgroups.lines(groups, scene, width, view.spot)
    cursor = chosen(tuple(one.id for one in groups), view.spot)
    title = f"FLOWS BY PROCESS · {scene.window}"
    out = [section(title, f"{many}   z flows  Enter its flows", width), head]
    below = height - 2 - max(5, len(rows))  # rows that the list does not need
    below = below if groups and below >= FEW else 0
    out += listing(rows, cursor, width, height - 2 - below)
    if below:
        own = groups[cursor]
        cells = [flow_cells(one, scene) for one in own.flows[: below - 2]]
        table = columns(view, width, cells)
        out += [()] * (height - below - len(out))
        out += [section(f"FLOWS OF {own.title}", "Enter lists them", width), table.heading()]
        out += [table.row(one) for one in cells]
    if scene.facts is not None and not groups:
        out.append(nothing(scene, scene.facts, view))
    return out


def over(scene: Scene, view: View) -> str:
    """The interface whose flows are shown, if one was chosen (i)."""
    nic = only(scene, view)
    return f"over {nic}: " if nic else ""


def nothing(scene: Scene, facts: Facts, view: View) -> Line:
    """The line in place of the rows: flows cannot be read, or none matches."""
    why = facts.missing.get("sockets_tcp")
    if why:
        return line((f" flows cannot be read: {why}", "dim"))
    if not view.spot.filter and (nic := only(scene, view)):
        return line((f" no flow over {nic}", "dim"), ("   i next interface", "key"))
    if not view.spot.filter:
        known = " no flow" if facts.host.tcp_flows else " no flow: no connected socket was seen"
        return line((known, "dim"))
    hint = advice(view.spot.filter, FILTERS)
    return line((" no flow matches", "dim"), (f": {hint}" if hint else "", "warn"))


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Filter(Generic[T]):
    """A filter such as `limit:cpu peer:10.0.0.2 bulk`; every part must match, case is ignored.

    A word `name:value` with the name of a column asks for rows whose column contains the value. The
    other words are one text, which any column may contain.
    """

    columns: tuple[tuple[Callable[[T], str | None], str], ...]
    text: str

    def passes(self, row: T, others: Iterable[str | None]) -> bool:
        """Whether a row matches; `others` are the texts in which the other text may be."""
        named = all(matches(value, column(row) or "–") for column, value in self.columns)
        return named and (not self.text or matches(self.text, *others))


def parsed(text: str, columns: Mapping[str, Callable[[T], str | None]]) -> Filter[T]:
    """The filter of a text that was typed; unknown columns are other text (an IPv6 address)."""
    named, rest = [], []
    for word in text.split():
        name, colon, value = word.partition(":")
        if colon and name.casefold() in columns:
            named.append((columns[name.casefold()], value))
        else:
            rest.append(word)
    return Filter(tuple(named), text if not named else " ".join(rest))


def advice(text: str, columns: Iterable[str]) -> str:
    """What a filter without a match may have meant; empty if it names no column."""
    known = tuple(columns)
    for word in text.split():
        name, colon, _ = word.partition(":")
        if colon and name.isalpha() and name.casefold() not in known:
            return f"no column {name!r}{nearest(name, known) or '; columns: ' + ', '.join(known)}"
    return ""
