"""The packet path through one interface, from the wire to the process, with drops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..facts import Facts
from ..facts.kinds.nic import Nic
from ..facts.kinds.path import Path, Stage
from ..terms.text import Line, bar, cells, ends, fit, fit_line, line, line_cells
from ..terms.units import Units, brief, link, packets, per_second, scaled, share

_SHORT: Final = {"packets/s": "pps", "bit/s": "b/s", "interrupts/s": "irq/s"}
_FEW_CELLS: Final[dict[str, Callable[[float], str]]] = {  # for a stage of eight cells
    "pps": lambda rate: f"{brief(rate)}/s",
    "% softirq": lambda load: f"{load:.0f}% si",
}


def of(facts: Facts, nic: str, direction: str = "") -> Path | None:
    """The path of an interface in a direction; by default the one with more drops, else traffic."""
    paths = [p for p in facts.paths if p.nic == nic and direction in ("", p.direction)]
    if not paths:
        return None
    return max(paths, key=lambda p: (p.lost or 0.0, _rate(p), p.direction == "rx"))


def _rate(path: Path) -> float:
    return max((s.rate or 0.0 for s in path.stages if s.unit == "packets/s"), default=0.0)


def title(nic: Nic) -> str:
    """Driver, speed, MTU, node and link state of an interface."""
    parts = [nic.driver or nic.kind]
    if nic.speed:
        parts.append(link(nic.speed))
    if nic.mtu:
        parts.append(f"MTU {nic.mtu}")
    if nic.node is not None:
        parts.append(f"node {nic.node}")
    if nic.carrier is False:
        parts.append("NO LINK")
    return " · ".join(parts)


def load_of(nic: Nic, direction: str) -> float | None:
    """The load relative to the TCP capacity; None if the nominal speed has no meaning (veth)."""
    if nic.kind in ("veth", "tunnel", "bridge", "loopback"):
        return None
    load: float | None = getattr(nic, f"{direction}_load")
    return load


def gauge(label: str, rate: float | None, load: float | None, units: Units, room: int) -> Line:
    """The rate of one direction, and its share of the TCP capacity as a bar and in percent."""
    filled, rest = bar(load, room) if load is not None else ("", " " * room)
    role = "accent" if (load or 0) > 0.98 else "good"  # a full link is no fault
    percent = f" {share(load)}" if load is not None else ""
    return line(
        (f" {label} ", "head"), (fit(units.rate(rate), 10, ">"), "strong"), " ",
        (filled, role), (rest, "faint"), (percent, ""),
    )  # fmt: skip


def rates(nic: Nic, units: Units, width: int) -> Line:
    """Both directions of an interface on one line, and the TCP capacity."""
    loads = load_of(nic, "rx"), load_of(nic, "tx")
    load, rate = max(
        zip(loads, (nic.per_s.rx_bytes, nic.per_s.tx_bytes), strict=True), key=lambda p: p[0] or 0
    )
    tail: Line = ()
    if load and rate and width >= 96:
        tail = line((f"TCP can carry {scaled(rate * 8 / load, 'b/s')} ", "dim"))
    room = max(6, min(30, (width - 48 - line_cells(tail)) // 2))
    both = gauge("rx", nic.per_s.rx_bytes, loads[0], units, room)
    both += line("  ") + gauge("tx", nic.per_s.tx_bytes, loads[1], units, room)
    return ends(both, tail, width)


def stage_cells(stage: Stage, terse: int = 0) -> tuple[str, str, str, str]:
    """The four cells of a stage: name, detail, rate, loss.

    `terse`: 1 leaves out the word "lost" beside a loss, 2 writes rates in few cells as well.
    """
    unit = _SHORT.get(stage.unit, stage.unit)
    if terse > 1 and stage.rate is not None and unit in _FEW_CELLS:
        return stage.name, stage.detail, _FEW_CELLS[unit](stage.rate), _lost(stage, "")
    rate = "" if stage.rate is None else (
        packets(stage.rate) if unit == "pps" else scaled(stage.rate, unit)
        if "b/s" in unit or "B/s" in unit else f"{stage.rate:,.0f} {unit}".rstrip()
    )  # fmt: skip
    return stage.name, stage.detail, rate, _lost(stage, "" if terse else "lost")


def _lost(stage: Stage, unit: str) -> str:
    if stage.lost is None:
        return "lost ?" if stage.why else ""
    return f"✗ {per_second(stage.lost, unit)}" if stage.lost > 0 else "0 lost"


def stages(path: Path, width: int, rows: int = 4) -> list[Line]:
    """The stages side by side, joined by arrows; a stage has a row for name, detail, rate, drops.

    `rows` from 1 to 3 leaves out the detail, then the rate, then the name.
    """
    if not path.stages:
        return []
    for terse in range(3):  # figures are never cut: shorten their words instead
        table = [stage_cells(stage, terse) for stage in path.stages]
        sizes = _sizes(table, width)
        if all(size >= _least(cell) for cell, size in zip(table, sizes, strict=True)):
            break
    out: list[list[tuple[str, str]]] = [[("  ", "")] for _ in range(4)]
    for index, ((name, detail, rate, lost), size) in enumerate(zip(table, sizes, strict=True)):
        stage = path.stages[index]
        bad = bool(stage.lost)
        arrow = "▶ " if index else ""
        gap = " " * cells(arrow)
        out[0] += [(arrow, "accent"), (fit(name, size + 1), "bad" if bad else "head")]
        out[1] += [(gap, ""), (fit(detail, size), ""), (" ", "")]
        out[2] += [(gap, ""), (fit(rate, size), "strong"), (" ", "")]
        role = "bad" if bad else "dim" if stage.lost is None else "good"
        out[3] += [(gap, ""), (fit(lost, size), role), (" ", "")]
    picked = {1: [3], 2: [0, 3], 3: [0, 2, 3]}.get(rows, [0, 1, 2, 3])
    return [fit_line(tuple(out[i]), width) for i in picked]


def reasons(facts: Facts, width: int) -> list[Line]:
    """One line with the kernel drops by reason, host-wide; [] if they are not counted."""
    drops = next((p.reasons for p in facts.paths if p.reasons is not None), None)
    if drops is None:
        why = facts.missing.get("drop_reasons")
        return (
            [fit_line(line((f"  drops not counted by reason: {why}", "dim")), width)] if why else []
        )
    if not drops:
        return [fit_line(line(("  no kernel drops on any interface", "dim")), width)]
    text = " · ".join(f"{reason} {per_second(rate)}" for reason, rate in drops)
    return [fit_line(line(("  kernel drops (host-wide): ", "dim"), text), width)]


def _least(cell: tuple[str, ...]) -> int:
    """The width that a stage needs for its name and figures; its detail may be cut."""
    name, _, rate, lost = cell
    return max(4, cells(name), cells(rate), cells(lost))


def _sizes(table: Sequence[tuple[str, ...]], width: int) -> list[int]:
    """The width of each stage: what its texts need; the widest shrink until all fit."""
    sizes = [max(4, *(cells(text) for text in cell)) for cell in table]
    least = [_least(cell) for cell in table]
    room = width - 2 - 3 * len(table)
    while sum(sizes) > room:
        loose = [i for i, size in enumerate(sizes) if size > least[i]]
        loose = loose or [i for i, size in enumerate(sizes) if size > 6]
        if not loose:
            break
        sizes[max(loose, key=sizes.__getitem__)] -= 1
    spare = room - sum(sizes)
    if spare > 0:
        sizes = [size + min(4, spare // len(sizes)) for size in sizes]
    return sizes
