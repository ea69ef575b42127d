"""Interfaces as a table: the ones that matter as rows, the others together in one line.

Also the title of one interface, its rates and their shares of the link, and drops by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from ..facts import Facts
from ..terms.text import Line, bar, ends, fit, fit_line, line, line_cells
from ..terms.units import UNKNOWN, Units, brief, link, per_second, share
from ..views.past import lost
from ..views.scene import Scene, nic_of, once
from ..views.view import View
from .parts import Cell, Column, fitted, listing, telling

if TYPE_CHECKING:
    from ..facts.kinds.nic import Nic


MATTERS: Final = 0.01  # of the busiest interface's rate: an interface with more is listed
COLUMNS: Final = (
    Column("INTERFACE", 13, grow=1),
    Column("rx", 10, ">"),
    Column("rx load", 8),
    Column("tx", 10, ">"),
    Column("tx load", 8),
    Column("dropped", 9, ">"),
    Column("rx / tx pps", 15, ">"),
    Column("LINK", 26, grow=2),
)
NARROW: Final = ("interface", "rx", "tx", "dropped", "rx / tx pps", "link")
WIDE: Final = 76  # columns from which there is room for the loads, where a speed is known
BUSY: Final = 10_000.0  # bytes/s from which an interface carries data; loopback is listed then
FEWEST: Final = 3  # interfaces that carry data or lose packets: of fewer there is no table


@once
def known(scene: Scene) -> tuple[Nic, ...]:
    """The interfaces, those that lose packets first, then by rate; loopback only if it is busy."""
    nics = scene.mean.nics if scene.mean is not None else ()
    shown = (one for one in nics if one.kind != "loopback" or rate(one) > BUSY)
    return tuple(sorted(shown, key=lambda one: (not lost(one.per_s), -rate(one), one.name)))


@once
def _together(scene: Scene) -> tuple[float, float]:
    """The sums of rates (bytes/s) and of losses (packets/s)."""
    nics = known(scene)
    return sum(map(rate, nics)), sum(lost(one.per_s) or 0.0 for one in nics)


def rate(nic: Nic) -> float:
    """Both directions together, bytes/s."""
    return (nic.per_s.rx_bytes or 0.0) + (nic.per_s.tx_bytes or 0.0)


def needs(scene: Scene, view: View) -> int:
    """The lines for all that matter, with heading and the line of the others; 0 without a table."""
    rows = len(shown(scene, view))
    return 1 + rows + (rows < len(known(scene))) if rows else 0


def shown(scene: Scene, view: View) -> tuple[Nic, ...]:
    """The rows of the table, as far as there is room; () where fewer than `FEWEST` have data."""
    return _shown(scene, _name(nic_of(scene, view))) if _several(scene) else ()


@once
def _several(scene: Scene) -> bool:
    return sum(rate(one) > BUSY or bool(lost(one.per_s)) for one in known(scene)) >= FEWEST


def _name(nic: Nic | None) -> str:
    return nic.name if nic is not None else ""


@once
def _shown(scene: Scene, chosen: str) -> tuple[Nic, ...]:
    """Those that matter, with the interface of that name."""
    every = known(scene)
    return tuple(mattering(every, next((one for one in every if one.name == chosen), None)))


def mattering(every: Sequence[Nic], chosen: Nic | None) -> list[Nic]:
    """Interfaces that lose, the chosen one, those with a share of the traffic; at least two."""
    least, out = 0.0, []
    for one in every:  # those that lose come first, then the busiest
        moved = rate(one)
        least = max(least, MATTERS * moved)
        if lost(one.per_s) or (moved >= least and moved > 0):
            out.append(one)
        else:
            break
    if chosen is not None and all(one is not chosen for one in out):
        out += [one for one in every[len(out) :] if one is chosen]
    return out if len(out) > 1 else list(every[:2])


def lines(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The table in at most `height` lines; [] for few interfaces, or where there is no room."""
    every, rows = known(scene), list(shown(scene, view))
    if not rows or height < 3:
        return []
    name = _name(nic_of(scene, view))
    chosen = next((one for one in every if one.name == name), None)
    room = height - 1 - (len(rows) < len(every) or len(rows) > height - 1)
    on = next((one for one in rows if f"nic:{one.name}" == view.spot.on), None)
    rows = rows[:room]
    for must in (chosen, on):
        if must is not None and _among(must, every) and not _among(must, rows):
            rows[-1] = must
    loads = any(load_of(one, way) is not None for one in rows for way in ("rx", "tx"))
    cells = [_cells(scene, one, one is chosen) for one in rows]
    names = telling(COLUMNS, cells, () if width >= WIDE and loads else NARROW)
    table = fitted(COLUMNS, width, names)
    at = next((place for place, one in enumerate(rows) if one is on), -1)
    out = [table.heading(), *listing([*map(table.row, cells)], at, width, len(cells))]
    more = len(every) - len(rows)
    if more:
        moved, gone = _together(scene)
        moved = max(0.0, moved - sum(map(rate, rows)))
        gone = max(0.0, gone - sum(lost(one.per_s) or 0.0 for one in rows))
        text = f"   {more} more{_members(every, rows)}: {scene.units.rate(moved)} together"
        out.append(line((text, "dim"), (f", {per_second(gone, 'dropped')}" if gone else "", "bad")))
    return [fit_line(one, width) for one in out]


def _members(every: Sequence[Nic], rows: Sequence[Nic]) -> str:
    """`, 148 in br0`: how many of those that are not shown belong to each bond or bridge."""
    many = Counter(one.master for one in every if one.master and not _among(one, rows))
    return "".join(f", {count} in {name}" for name, count in many.most_common(2))


def _among(nic: Nic, nics: Sequence[Nic]) -> bool:
    """Whether it is one of these objects: to compare the fields of a thousand is slow."""
    return any(one is nic for one in nics)


def _cells(scene: Scene, nic: Nic, chosen: bool) -> tuple[Cell, ...]:
    drops = lost(nic.per_s)
    pps = f"{_brief(nic.per_s.rx_packets)} / {_brief(nic.per_s.tx_packets)}"
    text = per_second(drops) if drops else "0" if drops == 0 else UNKNOWN
    return (
        (("▸" if chosen else " ") + nic.name, "head" if nic.carrier is not False else "dim"),
        scene.units.rate(nic.per_s.rx_bytes),
        _load(load_of(nic, "rx")),
        scene.units.rate(nic.per_s.tx_bytes),
        _load(load_of(nic, "tx")),
        (text, "bad" if drops else "dim"),
        (pps, "dim"),
        (title(nic), "dim"),
    )


def _brief(per_s: float | None) -> str:
    return brief(None if per_s is None else round(per_s))


def _load(load: float | None) -> tuple[str, str]:
    if load is None:
        return "", ""
    filled, rest = bar(load, 3)
    text = f"{filled}{rest} {min(999, load * 100):>3.0f}%"
    return text[:8], "good" if load < 0.98 else "accent"


def title(nic: Nic) -> str:
    """Driver, speed, MTU, node and link state of an interface."""
    parts = [nic.driver or nic.kind]
    if nic.speed:
        parts.append(link(nic.speed))
    if nic.mtu:
        parts.append(f"MTU {nic.mtu}")
    if nic.node is not None:
        parts.append(f"node {nic.node}")
    if state(nic):
        parts.append(state(nic).upper())
    return " · ".join(parts)


def state(nic: Nic) -> str:
    """Why an interface can carry nothing; empty if it can, or if that is not known."""
    return "down" if nic.up is False else "no link" if nic.carrier is False else ""


def load_of(nic: Nic, direction: str) -> float | None:
    """The load relative to the TCP capacity; None if the nominal speed has no meaning (veth)."""
    if nic.kind in ("veth", "tunnel", "bridge", "loopback"):
        return None
    load: float | None = getattr(nic, f"{direction}_load")
    return load


def gauge(label: str, rate: float | None, load: float | None, units: Units, room: int) -> Line:
    """The rate of one direction, and its share of the TCP capacity as a bar and in percent."""
    filled, rest = bar(load, room) if load is not None else ("", " " * room)
    role = "accent" if (load or 0) > 0.98 else "good"  # a full link is not a fault
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
        tail = line((f"TCP can carry {units.rate(rate / load)} ", "dim"))
    room = max(6, min(30, (width - 48 - line_cells(tail)) // 2)) if width >= 56 else 0
    both = gauge("rx", nic.per_s.rx_bytes, loads[0], units, room)
    both += line("  ") + gauge("tx", nic.per_s.tx_bytes, loads[1], units, room)
    return ends(both, tail, width)


def reasons(facts: Facts, width: int) -> list[Line]:
    """The kernel drops by reason, host-wide, and the losses of the last look; [] without any."""
    drops = next((p.reasons for p in facts.paths if p.reasons is not None), None)
    rows = list[Line]()
    if drops:
        text = " · ".join(f"{reason} {per_second(rate)}" for reason, rate in drops)
        rows.append(line(("  kernel drops (host-wide): ", "dim"), text))
    if facts.losses is not None:
        from ..facts.losses import sentences  # after the first paint

        for told in sentences(facts.losses, facts.rhythms):
            texts = wrap(told, width, initial_indent="  ", subsequent_indent="    ")
            rows += [line(text) for text in texts]
    return [fit_line(row, width) for row in rows]
