"""What a CPU stage could carry, from what it carries now and the CPU time that this costs.

A thread that waits for data spends CPU time on each wakeup, too. It saves that time once there is
always more to do. The more often it is woken, the more it may carry, and the less is known of it.
The interval is told where its most is at most twice its least. Otherwise it is only the reach of
the stage: it says whether another stage is surely full before this one.
"""

from __future__ import annotations

from typing import Final

from .. import Interval

BUSY: Final = 0.85  # of wall time: it limits, and what it carries now is about all
HALF: Final = 0.5  # of utilisation, below which batches and with them costs will change
NEARLY: Final = 1.1  # least and most by this factor where it is busy
WIDE: Final = 1.35  # where it is half full
COUNTED: Final = 1.15  # where it is half full and its wakeups are counted
WAKE: Final = 25e-6  # s of CPU time for a wakeup, at the most (measured on a guest: 16 to 26 us)
FAR: Final = 5.0  # most by this factor where it is less: larger batches cost less for each byte
# bit/s of a core that does nothing but what a slow flow does not show, as contention for memory and
# soft interrupts beside the thread (measured: 146 Gb/s estimated at a tenth of the rate, 31 true)
HIDDEN: Final = 10e9
TOLD: Final = 2.0  # most by least, above which an interval tells nothing
# of a core that a thread gets once it is always ready: beside three neighbours, and beside one
SHARE: Final = (0.25, 0.5)

Carried = tuple[Interval | None, Interval | None]  # capacity, reach; one of them at the most


def carried(
    rate: float, used: float, ran: float | None = None, gets: float = 1.0,
    woken: float | None = None,
) -> Carried:  # fmt: skip
    """Capacity and reach of a stage that is `used`, 0 to 1, at this rate.

    `ran` is the part of `used` that carried data; `gets` what a thread ran of the time in which it
    wanted to. A thread that waits for its core at each wakeup waits less for each byte once it has
    more to do: its share of the core then is that of threads that are always ready. `woken` is the
    part of its CPU time that wakeups took, at the most; None for what is not woken.
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
    told = used >= HALF and around[1] <= TOLD * around[0]
    return (around, None) if told else (None, around)
