"""What generated code saves: the shipped rules judged by it and by the three-valued walk, in pairs.

    python tests/benchmarks/judge_cost.py

Two hosts: 256 CPUs with 64 NICs and 1,024 queues, and 10,000 flows on one NIC. Every value changes
with each frame. CPU time, medians; it prints figures and asserts nothing.
"""

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import rules_cost

from nettop.advice.judge import judge as judging
from nettop.advice.judge.condition import Row
from nettop.advice.judge.judge import Judge
from nettop.advice.judge.loop import Hit, Loop, Walk, true_on
from nettop.advice.language.moment import Moment
from nettop.advice.rules.load import load
from nettop.facts import Facts

PACK = Path(__file__).parents[2] / "rules"
PAIRS = 7
Way = Callable[..., list[Hit]]


def walked(
    loop: Loop,
    count: int,
    rows: Sequence[Row],
    moment: Moment,
    label: object,
    walk: Walk,
) -> list[Hit]:
    """`true_on` without generated code."""
    return [(place, row) for row in rows for place in range(count) if walk(place, row)]


def queues(turn: int) -> Facts:
    """The large host of `rules_cost` without its flows."""
    return replace(rules_cost.host(turn), flows=())


def flows(turn: int) -> Facts:
    """10,000 flows on one NIC."""
    large = rules_cost.host(turn)
    some = tuple(
        replace(flow, id=f"{flow.id}-{copy}") for copy in range(50) for flow in large.flows
    )
    return replace(large, nics=large.nics[:1], queues=(), cores=large.cores[:8], flows=some)


def milliseconds(judge: Judge, way: Way, facts: Facts) -> float:
    """CPU time of one frame judged that way."""
    with patch.object(judging, "true_on", way):
        begun = time.process_time_ns()
        judge.judge(facts)
        return (time.process_time_ns() - begun) / 1e6


def main() -> int:
    """Print both ways for both hosts."""
    pack = load([PACK])
    for name, host in (("1,024 queues, 256 CPUs", queues), ("10,000 flows", flows)):
        one, other = Judge(pack), Judge(pack)
        for judge, way in ((one, true_on), (other, walked)):  # compiles
            milliseconds(judge, way, replace(host(0), at=-1.0))
        pairs = []
        for turn in range(PAIRS):
            facts = host(turn)
            pairs.append((milliseconds(one, true_on, facts), milliseconds(other, walked, facts)))
        code, walk = (statistics.median(side) for side in zip(*pairs, strict=True))
        print(f"{name}: {len(pack)} rules, generated code {code:.1f} ms a frame,", end=" ")
        print(f"three-valued walk {walk:.1f} ms, {walk / code:.1f} times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
