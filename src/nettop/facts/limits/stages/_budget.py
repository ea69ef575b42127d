"""What a CPU stage could carry, from what it carries now and the CPU time that this costs.

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
FAR: Final = 5.0  # where it is less than half full (DESIGN: the ladder)
TOLD: Final = 2.0  # most by least, above which an interval tells nothing
# of a core that a thread gets once it is always ready: beside three neighbours, and beside one
SHARE: Final = (0.25, 0.5)

Carried = tuple[Interval | None, Interval | None]  # capacity, reach; one of them at the most


def carried(rate: float, used: float, ran: float = 1.0, waited: float = 0.0) -> Carried:
    """Capacity and reach of a stage that is `used`, 0 to 1, at this rate.

    A thread that waits for its core at each wakeup waits less for each byte once it has more to do:
    its share of the core then is that of threads that are always ready. So `used` by waiting does
    not grow with the rate.
    """
    if not rate or not used:
        return None, None
    if used >= BUSY:
        return (max(rate, rate / used / NEARLY), max(rate, rate / used * NEARLY)), None
    wide = WIDE if used >= HALF else FAR
    gets = ran / (ran + waited) if ran > 0 else 1.0
    whole = rate / (used * gets)  # of a core that nothing else wants
    least, most = (whole * max(gets, share) for share in SHARE)
    around = max(rate, least / wide), max(rate, most * wide)
    told = used >= HALF and around[1] <= TOLD * around[0]
    return (around, None) if told else (None, around)
