"""Flows by process: one row for all flows of a process, with their sums (key `z`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from ..facts.limits.stages import SHORT, short
from ..terms.dataclass import dataclass
from ..terms.text import Line
from ..terms.units import UNKNOWN, seconds
from ..views.scene import Scene
from ..views.view import Spot, View
from .limit import limit_cell
from .parts import Cell, Column, Order, fitted, marked, ordered, telling

if TYPE_CHECKING:
    from ..facts.kinds.flow import Flow

PREFIX: Final = "process."  # of the id of a row
COLUMNS: Final = (
    Column("PROCESS", 14, grow=2), Column("FLOWS", 5, ">"), Column("RECEIVES", 10, ">"),
    Column("SENDS", 10, ">"), Column("LIMIT", 2 + SHORT, grow=1), Column("MAX RTT", 9, ">"),
    Column("RETR/s", 7, ">"), Column("CORES", 12, grow=1), Column("PEERS", 24, grow=3),
)  # fmt: skip
LEAST: Final = 62  # columns from which the limit has room beside the rates
NARROW: Final = ("process", "flows", "limit", "max rtt", "retr/s")
BULK: Final = 1e5  # bytes/s


@dataclass(frozen=True, slots=True)
class Group:
    """The flows of one process; rates are sums in bytes/s."""

    name: str
    pid: int | None
    flows: tuple[Flow, ...]

    @property
    def id(self) -> str:
        """The id of the row."""
        return f"{PREFIX}{self.name}" if self.pid is None else f"{PREFIX}{self.pid}"

    @property
    def title(self) -> str:
        """The name of the process, with its id if that is known."""
        return self.name if self.pid is None else f"{self.name}[{self.pid}]"

    @property
    def filter(self) -> str:
        """The filter that shows the flows of the process."""
        return f"process:{self.name}" if self.pid is None else f"pid:{self.pid}"


def grouped(flows: Iterable[Flow], spot: Spot) -> list[Group]:
    """The flows by process, in the chosen order; by default by the sum of their rates."""
    known: dict[tuple[str, int | None], list[Flow]] = {}
    for flow in flows:
        known.setdefault((flow.process or "?", flow.pid), []).append(flow)
    groups = [Group(name, pid, tuple(members)) for (name, pid), members in known.items()]
    return ordered(groups, ORDERS, spot)


def lines(groups: Sequence[Group], scene: Scene, width: int, spot: Spot) -> list[Line]:
    """The heading and a row for each process."""
    cells = [_cells(one, scene) for one in groups]
    names = telling(COLUMNS, cells, () if width >= LEAST else NARROW)
    table = fitted(COLUMNS, width, names)
    title, down = marked(ORDERS, spot)
    return [table.heading(title, down=down), *map(table.row, cells)]


def opened(view: View, groups: Iterable[Group], here: str) -> View:
    """The view after Enter: the flows of the process under the cursor."""
    group = next((one for one in groups if one.id == here), None)
    if group is None:
        return view
    return view.at(mode=0, filter=group.filter, on="", index=0)


def _rates(flows: Iterable[Flow]) -> tuple[float, float]:
    rows = tuple(flows)
    return sum(f.rx_per_s or 0.0 for f in rows), sum(f.tx_per_s or 0.0 for f in rows)


ORDERS: Final[Sequence[Order[Group]]] = (
    Order("", lambda one: sum(_rates(one.flows))),
    Order("PROCESS", lambda one: one.name, down=False),
    Order("FLOWS", lambda one: len(one.flows)),
    Order("RECEIVES", lambda one: _rates(one.flows)[0]),
    Order("SENDS", lambda one: _rates(one.flows)[1]),
    Order("MAX RTT", lambda one: max((f.rtt for f in one.flows if f.rtt), default=None)),
    Order("RETR/s", lambda one: sum(f.retransmits_per_s or 0.0 for f in one.flows)),
)


def _cells(one: Group, scene: Scene) -> tuple[Cell, ...]:
    rx, tx = _rates(one.flows)
    known = any(flow.rx_per_s is not None or flow.tx_per_s is not None for flow in one.flows)
    limits = Counter(flow.limit or UNKNOWN for flow in one.flows if flow.limit != "none")
    limit, count = limits.most_common(1)[0] if limits else ("none", len(one.flows))
    times = [flow.rtt for flow in one.flows if flow.rtt is not None]
    again = sum(flow.retransmits_per_s or 0.0 for flow in one.flows)
    cores = sorted({flow.app_cpu for flow in one.flows if flow.app_cpu is not None})
    peers = list(dict.fromkeys(flow.remote for flow in one.flows))
    return (
        (one.title, "user"),
        str(len(one.flows)),
        (scene.units.rate(rx if known else None), "strong" if rx > BULK else "dim"),
        (scene.units.rate(tx if known else None), "strong" if tx > BULK else "dim"),
        limit_cell(scene, next((flow for flow in one.flows if flow.limit == limit), None),
                     short(limit) if count == len(one.flows) else f"{short(limit)} ({count})"),
        (seconds(max(times)) if times else UNKNOWN, ""),
        (f"{again:.0f}", "bad" if again else "dim"),
        ",".join(map(str, cores)) or UNKNOWN,
        (" ".join(peers), "dim"),
    )  # fmt: skip
