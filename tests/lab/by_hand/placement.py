"""Losses at known places, from both ends: the place that nettop says, its bound, the true count.

    python tests/lab/by_hand/placement.py [CASE …]

Needs root and about ten seconds a case. `far-backlog` needs free CPUs. Ends with 1 when a place or
a bound is wrong.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from live.limits.ends import Seen, seen
from live.limits.losses import LOSSES, Loss, names
from live.limits.stage import Stage


def verdict(loss: Loss, found: Seen, *, sending: bool) -> tuple[bool, bool]:
    """Whether the place is right, and whether the count is in its bound."""
    places = found.losses.places if found.losses is not None else ()
    if not places or (places[0].end, places[0].stage) != loss.where(sending=sending):
        return False, False
    least, most = places[0].segments
    slack = max(1, 0.02 * most)
    inside = least - slack <= found.lost[1] and found.lost[0] <= most + slack
    return True, inside or not loss.exact


def play(name: str) -> list[tuple[bool, bool]]:
    """Both ends of a case; prints a line for each."""
    loss, out = LOSSES[name], []
    with Stage(f"placed{list(LOSSES).index(name)}") as stage:
        loss.case.make(stage)
        time.sleep(2)
        for sending in (True, False):
            found = seen(names(stage), loss.lost, sending=sending, ring=loss.ring)
            right, inside = verdict(loss, found, sending=sending)
            out.append((right, inside))
            said = [
                f"{one.end} {one.stage} {one.segments[0]:.0f}-{one.segments[1]:.0f}"
                for one in (found.losses.places if found.losses is not None else ())
            ]
            end = "writer" if sending else "reader"
            words = f"{'right' if right else 'WRONG'} {'inside' if inside else 'OUTSIDE'}"
            true = f"{found.lost[0]:.0f}-{found.lost[1]:.0f}"
            print(f"{name:18} {end} {words:13} true {true}: {'; '.join(said)}", flush=True)
    return out


if __name__ == "__main__":
    results = [one for name in sys.argv[1:] or LOSSES for one in play(name)]
    placed, held = (sum(column) for column in zip(*results, strict=True))
    print(f"{placed} of {len(results)} places right, {held} counts inside the bound")
    sys.exit(0 if placed == held == len(results) else 1)
