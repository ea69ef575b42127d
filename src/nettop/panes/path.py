"""The title of an interface, its rates and their shares of the link, and drops by reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..facts import Facts
from ..terms.text import Line, bar, ends, fit, fit_line, line, line_cells
from ..terms.units import Units, link, per_second, scaled, share

if TYPE_CHECKING:
    from ..facts.kinds.nic import Nic


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
        tail = line((f"TCP can carry {scaled(rate * 8 / load, 'b/s')} ", "dim"))
    room = max(6, min(30, (width - 48 - line_cells(tail)) // 2)) if width >= 56 else 0
    both = gauge("rx", nic.per_s.rx_bytes, loads[0], units, room)
    both += line("  ") + gauge("tx", nic.per_s.tx_bytes, loads[1], units, room)
    return ends(both, tail, width)


def reasons(facts: Facts, width: int, *, asked: bool) -> list[Line]:
    """One line with the kernel drops by reason, host-wide; [] without any if it is not `asked`."""
    drops = next((p.reasons for p in facts.paths if p.reasons is not None), None)
    if not drops and not asked:
        return []
    if drops is None:
        why = facts.missing.get("drop_reasons")
        return (
            [fit_line(line((f"  drops not counted by reason: {why}", "dim")), width)] if why else []
        )
    if not drops:
        return [fit_line(line(("  no kernel drops on any interface", "dim")), width)]
    text = " · ".join(f"{reason} {per_second(rate)}" for reason, rate in drops)
    return [fit_line(line(("  kernel drops (host-wide): ", "dim"), text), width)]
