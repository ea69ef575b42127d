"""A core as a row: its number, its load, the kinds of its time, its rates, queues and processes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ..terms.text import Line, fit, fit_line, line, line_cells, over, stacked
from ..terms.units import UNKNOWN, brief, percent
from .parts import KINDS, SHARES, core_load, kinds, load_role, main_kind, shares

if TYPE_CHECKING:
    from ..facts.kinds.core import Core

RATED: Final = 56  # columns of a core that has its rates too
RATES: Final = (("nic_irqs", "irq/s"), ("processed", "pps"))  # facts, and titles of 5 columns
FIGURES: Final = 21  # columns of the number, the load and the kinds of time of a core
_PID: Final = re.compile(r"\[\d+\]")


def users_of(core: Core) -> Line:
    """The queues that interrupt a core and the processes that run on it: first what takes most."""
    queues = line((_short(core.queues[:3]), "accent")) if core.queues else ()
    more = line((f" +{len(core.queues) - 3}", "dim")) if len(core.queues) > 3 else ()
    names = line((" ".join(core.processes[:2]), "user")) if core.processes else ()
    gap = line(" ") if queues and names else ()
    if main_kind(core) in ("user", "system"):
        return names + gap + queues + more
    return queues + more + gap + names


def _short(queues: Sequence[str]) -> str:
    """`eth0/rx-0 tx-0`: an interface is named once."""
    out, before = [], ""
    for queue in queues:
        nic, _, name = queue.rpartition("/")
        out.append(name if nic and nic == before else queue)
        before = nic
    return " ".join(out)


def rated(per_s: float | None) -> tuple[str, str]:
    """A rate per second as a cell of three digits; one below a half is dim."""
    if per_s is None:
        return UNKNOWN, "dim"
    return brief(float(f"{round(per_s):.3g}")), "" if per_s >= 0.5 else "dim"


def rates_of(cores: Sequence[Core], width: int) -> tuple[tuple[str, str], ...]:
    """Those of `RATES` that a core has a value of, if rows of that width have room for them."""
    known = (one for one in RATES if any(getattr(core, one[0]) is not None for core in cores))
    return tuple(known) if width >= RATED else ()


def heading(name: str, width: int, digits: int, rates: Sequence[tuple[str, str]] = ()) -> Line:
    """The name of a group of cores, and the kinds of time above their columns with their glyphs."""
    wide = digits + _bar(width, rates) + 8
    parts: list[str | tuple[str, str]] = [(fit(f" {name}", wide), "dim")]
    for _, short, glyph, role in SHARES:
        parts += [(f" {glyph}", role), (short, "dim")]
    return fit_line(line(*parts, *((f"{title:>6}", "dim") for _, title in rates)), width)


def _bar(width: int, rates: Sequence[tuple[str, str]] = ()) -> int:
    """The length of the bar of a row's core: the queues and processes need its room too."""
    return 20 if width >= 70 else 5 if rates else 8


def core_row(
    core: Core, width: int, digits: int, *, headed: bool = False,
    rates: Sequence[tuple[str, str]] = (), on: int | None = None,
) -> Line:  # fmt: skip
    """One core: number, stacked bar, load, kinds of time, rates, queues and processes.

    `headed`: the kinds have columns below `heading`; else the two largest are named. `on` is the
    number of the core under the cursor.
    """
    load = core_load(core)
    bar = _bar(width, rates)
    parts = [(getattr(core, name), glyph, role) for name, _, glyph, role in KINDS]
    head = line(
        (f" {core.cpu:>{digits}} ", "head"),
        *stacked(parts, bar),
        (f" {percent(load):>4} " if load is not None else "    – ", load_role(core)),
    )
    if headed:
        head += line(*((f"{text:>4}", role) for text, role in shares(core)))
        known = (rated(getattr(core, name)) for name, _ in rates)
        head += line(*((f"{text:>6}", role) for text, role in known), " ")
    else:
        head += line((fit(kinds(core) if (load or 0) >= 1 else "", 12), "dim"))
    users = users_of(core)
    if line_cells(head + users) > width:  # rather whole names than a part of a number
        users = tuple((_PID.sub("", text), role) for text, role in users)
    shown = fit_line(head + users, width)
    return over(shown, "select") if core.cpu == on else shown


def figures(core: Core, width: int, on: int | None) -> Line:
    """The number, the load, the kinds of time and the users of a core."""
    role = load_role(core)
    told = line((f" {core.cpu:>2} ", "head"), (f"{percent(core_load(core)):>4} ", role),
                (fit(kinds(core), FIGURES - 9), role), " ")  # fmt: skip
    shown = fit_line((*told, *users_of(core)), width)
    return over(shown, "select") if core.cpu == on else shown
