"""What a CPU stage could carry, from what it carries now and the CPU time that this costs.

A thread that waits for data also spends CPU time on each wakeup. It saves that time once there is
always more to do. The more often it is woken, the more it may carry, and the less certain its
capacity is. The interval is given as the capacity if its upper end is at most twice its lower end.
A wider one is only the reach of the stage: it shows whether another stage is certainly full before
this one.

Kernel threads that carry packets are threads like others: `napi/IF-N` polls an interface
(net/core/dev.c, napi_kthread_create()), `vhost-PID` carries the packets of a virtual machine to and
from its tap device (drivers/vhost/vhost.c). Other kernel threads on the interrupt core are listed;
soft interrupts run before them, so they do not limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ....terms import units
from .. import Interval, Reading
from ..looks import Look
from ..window import Window, mean

BUSY: Final = 0.85  # of wall time: it limits, and what it carries now is about all
HALF: Final = 0.5  # of utilisation; below it, the batches and the cost of a byte will change
# the estimate divided and multiplied by this factor is the interval: of a busy stage, of one that
# is half full, of one that is half full and whose wakeups are counted
NEARLY: Final = 1.1
WIDE: Final = 1.35
COUNTED: Final = 1.15
WAKE: Final = 25e-6  # s of CPU time for a wakeup, at the most (measured on a guest: 16 to 26 us)
FAR: Final = 5.0  # the upper end by this factor below HALF: larger batches cost less for each byte
# bit/s that a core carries at most because of costs that a slow flow does not show, such as
# contention for memory and soft interrupts beside the thread (measured: 146 Gb/s estimated at a
# tenth of the rate, 31 true)
HIDDEN: Final = 10e9
WIDEST: Final = 2.0  # upper by lower end; a wider interval is not given as a capacity
# share of a core for a thread that is always ready: beside three neighbours, and beside one
SHARE: Final = (0.25, 0.5)

Carried = tuple[Interval | None, Interval | None]  # capacity, reach; one of them at the most


def carried(
    rate: float, used: float, ran: float | None = None, gets: float = 1.0,
    woken: float | None = None,
) -> Carried:  # fmt: skip
    """Capacity and reach of a stage that is `used`, 0 to 1, at this rate.

    `ran` is the part of `used` that carried data; `gets` is the share of the time in which a thread
    wanted to run that it ran. A thread that waits for its core at each wakeup waits less for each
    byte once it has more to do: its share of the core then is that of threads that are always
    ready. `woken` is the part of its CPU time that wakeups took, at the most; None for what is not
    woken.
    """
    if not rate or not used:
        return None, None
    if used >= BUSY:
        return (max(rate, rate / used / NEARLY), max(rate, rate / used * NEARLY)), None
    whole = rate / (ran or used)  # of a core that nothing else wants
    if used >= HALF:
        wide = WIDE if woken is None else COUNTED
        least, most = (
            whole / wide,
            min(whole * wide / max(1 - (woken or 0.0), 1 / FAR), whole * FAR),
        )
    else:
        least, most = 1 / (WIDE / whole + 1 / HIDDEN), whole * FAR
    around = max(rate, least * max(gets, SHARE[0])), max(rate, most * max(gets, SHARE[1]))
    known = used >= HALF and around[1] <= WIDEST * around[0]
    return (around, None) if known else (None, around)


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
