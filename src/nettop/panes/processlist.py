"""The busiest network processes: their core and its distance from their interrupts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..terms.text import Line
from ..terms.units import UNKNOWN, percent
from ..views.scene import Scene, once
from .parts import Column, heading, row, widths

if TYPE_CHECKING:
    from ..facts.kinds.process import Process

COLUMNS: Final = (
    Column(" PROCESS", 20, grow=1), Column("core", 5, ">"), Column("node", 4, ">"),
    Column("user", 5, ">"), Column("system", 6, ">"), Column("receives", 10, ">"),
    Column("sends", 10, ">"), Column("IRQ", 26, grow=1),
)  # fmt: skip
BUSY: Final = 5.0  # percent of a core from which a process without sockets is listed


@once
def busiest(scene: Scene) -> tuple[Process, ...]:
    """Processes with sockets by their rate, then others that use a CPU."""
    processes = scene.facts.processes if scene.facts is not None else ()
    busy = sorted(
        (p for p in processes if p.networked or (p.user or 0) + (p.system or 0) >= BUSY),
        key=lambda p: (
            not p.networked,
            -((p.rx_per_s or 0) + (p.tx_per_s or 0)),
            -((p.user or 0) + (p.system or 0)),
        ),
    )
    return tuple(busy)


def lines(scene: Scene, width: int, height: int) -> list[Line]:
    """A heading, and the processes for which there is room; [] without any."""
    busy = busiest(scene)
    if not busy or height < 2:
        return []
    sizes = widths(COLUMNS, width)
    out = [heading(COLUMNS, sizes)]
    for process in busy[: height - 1]:
        where = process.distance or ""
        if process.irq_cpu is not None:
            where = f"core {process.irq_cpu}" + f" ({where})" * bool(where)
        rates = (process.rx_per_s, process.tx_per_s)
        if process.udp and not any(rates):  # the kernel counts no bytes of datagrams
            rates = (None, None)
        bad = process.far and (sum(r or 0.0 for r in rates) > 1e6 or not any(rates))
        out.append(
            row(
                (
                    (f" {process.name}[{process.pid}]", "user"), _number(process.cpu),
                    _number(process.node), percent(process.user), percent(process.system),
                    scene.units.rate(rates[0]), scene.units.rate(rates[1]),
                    (f"✗ {where.upper()}" if bad else where, "bad" if bad else "dim"),
                ),
                COLUMNS, sizes,
            )
        )  # fmt: skip
    return out


def _number(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)
