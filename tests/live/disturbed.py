"""Whether something outside of a play took the cores meanwhile: other programs, the hypervisor.

The programs of the plays are in one process namespace, whose processes are all that /proc shows
(`alone_in_proc`). CPU time of the machine that they did not use was used by others.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

MOST: Final = 0.1  # of the CPU time of the machine
_TICK: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU seconds since boot: of all time, stolen, of programs, and of the programs seen here."""

    whole: float
    stolen: float
    programs: float
    ours: float

    @classmethod
    def now(cls) -> Self:
        """Read /proc/stat (user, nice, system; steal) and /proc/PID/stat."""
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        user, nice, system, idle, wait, hard, soft, steal = (
            int(word) / _TICK for word in words[:8]
        )
        whole = user + nice + system + idle + wait + hard + soft + steal
        return cls(whole, steal, user + nice + system, _ours())


def _ours() -> float:
    """CPU seconds of every process in sight, and of its children that have ended."""
    found = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended: its parent has its time
            continue
        found += sum(map(int, fields[11:15]))
    return found / _TICK


def disturbance(before: Cpu, after: Cpu) -> str:
    """What took more than a tenth of the CPU time; empty if nothing did."""
    whole = max(after.whole - before.whole, 1e-9)
    stolen = (after.stolen - before.stolen) / whole
    others = ((after.programs - before.programs) - (after.ours - before.ours)) / whole
    if stolen > MOST:
        return f"the hypervisor took {stolen:.0%} of the CPU time"
    return f"other programs took {others:.0%} of the CPU time" if others > MOST else ""
