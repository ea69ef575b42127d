"""The goals of the benchmarks, and a table of them beside what was measured last.

    python tests/benchmarks/goals.py

A benchmark calls `note`, which adds a line to lab-out/bench.jsonl. `make bench` begins with an
empty file after a change of the code (`every.py`) and prints the table at its end. Asserts nothing:
a goal that is missed is marked.
"""

import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

FILE: Final = Path(__file__).parents[2] / "lab-out" / "bench.jsonl"


class Goal(NamedTuple):
    """What a figure should be: at most `value`, or at least it."""

    value: float
    unit: str
    least: bool = False

    def met(self, figure: float) -> bool:
        """Whether a figure reaches the goal."""
        return figure >= self.value if self.least else figure <= self.value


CORE: Final = "% of a core"
GOALS: Final = {
    "screen at rest: CPU beside btop": Goal(1.0, "times"),
    "screen at rest: output": Goal(5.0, "KiB/s"),
    "screen at rest: memory": Goal(60.0, "MiB"),
    "screen at rest: first paint": Goal(0.3, "s"),
    "screen at rest: first rate": Goal(0.5, "s"),
    "10,000 active connections": Goal(2.0, CORE),
    "10,000 active connections: memory": Goal(70.0, "MiB"),
    "100,000 idle connections": Goal(2.0, CORE),
    "1,000 interfaces": Goal(1.5, CORE),
    "30,000 processes": Goal(2.0, CORE),
    "all of these together": Goal(4.0, CORE),
    "1,152 recorded CPUs": Goal(2.0, CORE),
    "advise: this host": Goal(1.3, "s"),
    "advise: 10,000 active connections": Goal(2.0, "s"),
    "advise: 100,000 idle connections": Goal(2.0, "s"),
    "advise: 1,000 interfaces": Goal(2.0, "s"),
    "advise: 30,000 processes": Goal(2.0, "s"),
    "advise: all of these together": Goal(2.0, "s"),
    "advise: 1,152 recorded CPUs": Goal(2.0, "s"),
    "bulk / iperf3, 1 stream": Goal(1.0, "times", least=True),
    "bulk / iperf3, 4 streams": Goal(1.0, "times", least=True),
    "bulk / iperf3, 16 streams": Goal(1.0, "times", least=True),
    "capture / netsniff-ng": Goal(1.0, "times", least=True),
    "udp-latency / C loop": Goal(1.05, "times"),
    "drops: one of a flood": Goal(200.0, "ns"),
    "calls: a flood of datagrams loses": Goal(8.0, "%"),
    "profile: sampling": Goal(0.5, CORE),
    "journey: a run of a program": Goal(250.0, "ns"),
    "journey: on average": Goal(2.0, CORE),
    "the kernel's counts: first answer": Goal(3.0, "s"),
    "rules: judging a large frame": Goal(20.0, "ms"),
    "rules: loading 200": Goal(60.0, "ms"),
}


def note(name: str, figure: float, file: Path = FILE) -> None:
    """Keep the figure of a goal; KeyError for one that is not in `GOALS`."""
    line = {"goal": name, "figure": round(figure, 4), "unit": GOALS[name].unit, "at": time.time()}
    file.parent.mkdir(exist_ok=True)
    with file.open("a") as out:
        out.write(json.dumps(line) + "\n")


def measured(lines: Iterable[str]) -> dict[str, float]:
    """The last figure of each goal."""
    found = map(json.loads, lines)
    return {one["goal"]: float(one["figure"]) for one in found}


def table(figures: dict[str, float]) -> Iterator[str]:
    """A line for each goal."""
    yield f"{'goal':<38}{'':<12}{'measured':>10}"
    for name, goal in GOALS.items():
        wanted = f"{'≥' if goal.least else '≤'} {goal.value:g}"
        figure = figures.get(name)
        if figure is None:
            yield f"{name:<38}{wanted:<12}{'–':>10} {goal.unit:<12}not measured"
        else:
            met = "met" if goal.met(figure) else "not met"
            yield f"{name:<38}{wanted:<12}{figure:>10.2f} {goal.unit:<12}{met}"


def main() -> None:
    """Print the table."""
    lines = FILE.read_text().splitlines() if FILE.exists() else []
    print("\n".join(table(measured(lines))))


if __name__ == "__main__":
    main()
