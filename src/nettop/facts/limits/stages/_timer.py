"""The timer of a paced socket that expires late: it sends less than its pacing rate.

TCP sends the next packet from a timer on the core that sent the last one (tcp_pace_kick()). The
timer expires late on a core without idle time, or on one that the hypervisor takes away. A delay is
made up for by at most half the time of a packet (tcp_update_skb_after_send()).
"""

from __future__ import annotations

from typing import Final

from ....terms import units
from .. import Reading
from ..following import BINDS
from ..looks import Look
from . import cpu as cpus

CORE: Final = 0.95  # of a core in use
STOLEN: Final = 0.05  # of its time


def reading(look: Look, limit: float, waits: float) -> Reading:
    """What holds the data of a socket with that pacing limit, in bit/s."""
    cpu = _core(look)
    load = look.window.core(cpu)
    around = (0.9 * look.rate, 1.1 * look.rate) if waits >= BINDS else None
    why = (
        f"mean {units.scaled(look.rate, 'b/s')}, {units.share(look.rate / limit)} of the pacing "
        f"limit, {units.scaled(limit, 'b/s')}; data waits {units.share(waits)} of the time and "
        "both windows have room: the pacing timer expires late"
    )
    if load is None:
        return Reading("pacing", "here", "pacing timer", "measured", why, 1.0, around, waits)
    stolen = load["steal"] / 100
    busy = 1.0 - (load["idle"] + load["iowait"]) / 100
    if busy < CORE and stolen < STOLEN:
        return Reading("pacing", "here", "pacing timer", "measured", why, 1.0, around, waits)
    why += f"; core {cpu} was {units.share(busy)} busy"
    if stolen >= STOLEN:
        why += f", {units.share(stolen)} taken by the hypervisor"
    return Reading("core", "here", f"core {cpu}, where the pacing timer runs", "measured", why,
                   busy, around, waits)  # fmt: skip


def _core(look: Look) -> int | None:
    """The core of the thread that writes: it started the timer, or the interrupt beside it did."""
    flow = look.flow
    if flow is None or flow.pid is None:
        return None
    busiest = max(cpus.threads(look, flow.pid), key=lambda one: one.used, default=None)
    return busiest.cpu if busiest is not None else flow.app_cpu
