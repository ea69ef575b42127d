"""Kernel threads that carry packets: threaded NAPI, vhost; and those on an interrupt core.

`napi/IF-N` polls an interface (net/core/dev.c, napi_kthread_create()). `vhost-PID` carries the
packets of a virtual machine to and from its tap device (drivers/vhost/vhost.c). Other kernel
threads on the interrupt core are listed; soft interrupts run before them, so they do not limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ....terms import units
from .. import Reading
from ..looks import Look
from ..window import Window, mean
from ._budget import BUSY, carried

LISTED: Final = 0.25  # of wall time

_Thread = tuple[str, float, int | None, int]  # name, share of wall time, CPU, number


def readings(look: Look, cpu: int | None) -> Iterator[Reading]:
    """The busiest kernel thread that carries packets of this interface; those on its core."""
    nic = look.nic
    if nic is None:
        return
    carries = [f"napi/{nic.name}-"] + (["vhost-"] if nic.driver == "tun" else [])
    known = _known(look)
    own = [one for one in known if one[0].startswith(tuple(carries))]
    if own:
        name, used, _, number = max(own, key=lambda one: one[1])
        yield _reading(look, name, used, used if used >= BUSY else used / 2, number)
    for name, used, place, number in known:
        beside = cpu is not None and place == cpu and used >= LISTED
        if beside and not name.startswith(("ksoftirqd/", *carries)):
            yield _reading(look, name, used, 0.0, number)


def softirqs(look: Look, cpu: int | None) -> str:
    """What ksoftirqd of this core ran, as the rest of a sentence; empty where that is little."""
    used = next(
        (used for name, used, *_ in _known(look) if name.startswith(f"ksoftirqd/{cpu}[")), 0.0
    )
    return f"; ksoftirqd/{cpu} ran {units.share(used)}" if used >= LISTED else ""


def _known(look: Look) -> Sequence[_Thread]:
    """Every kernel thread."""
    return look.window.once("kernel threads", lambda: tuple(_threads(look.window)))


def _threads(window: Window) -> Iterator[_Thread]:
    for key in window.kernel.series:
        entries = window.kernel.entries(key)
        if entries:
            row = entries[-1].now
            ran = [(e.rate("user") or 0.0) + (e.rate("system") or 0.0) for e in entries]
            yield f"{row.name}[{row.pid}]", min(1.0, mean(ran) or 0.0), row.cpu, row.pid


def _reading(look: Look, name: str, used: float, held: float, number: int) -> Reading:
    why = f"the kernel thread ran {units.share(used)} of the time"
    capacity, reach = carried(look.rate, used) if held else (None, None)
    return Reading("thread", "here", name, "measured", why, used, capacity, held, reach, number)
