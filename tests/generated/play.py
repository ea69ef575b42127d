"""Play generated hosts and print precision and recall.

    python tests/generated/play.py [COUNT] [--first SEED] [--only TEXT]
    python tests/generated/play.py --host NAME:SEED > x.host

COUNT seeds (20): one host of each sound kind, one with each fault and some with two. Exit code 1
where something was found that is not there, or an invariant is broken. `--host` prints the
recording of one host, named FAULT:SEED or KIND:SEED.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from generated import score, tally
from generated.archive import archive
from generated.plant_host import FAULTS
from generated.sound import KINDS
from live.scoreboard import aligned

PAIRS = 10  # hosts with two faults, for each seed


def outcomes(seed: int, only: str = "") -> Iterator[score.Outcome]:
    """One host of each sound kind, one with each fault, and some with two."""
    for kind in KINDS:
        if only in kind:
            yield score.judge(score.sound(kind, seed))
    for name in FAULTS:
        if only in name:
            yield score.judge(score.sick(name, seed), (name,))
    for one, other in () if only else score.drawn_pairs(seed, PAIRS):
        yield score.judge(score.sick(one, seed, other), (one, other))


def seed_of(only: str, seed: int) -> list[score.Outcome]:
    """The outcomes of one seed."""
    return [*outcomes(seed, only)]


def told(outcome: score.Outcome) -> Iterator[str]:
    """A line for each thing that is not right."""
    for name in outcome.missed:
        if score.expected()[name].covered:
            seen = ", ".join(sorted(outcome.rules)) or "nothing"
            yield f"missed {outcome.seed}: {name}; seen {seen}"
    yield from (f"false {outcome.seed}: {name}" for name in outcome.false)
    yield from (f"broken {outcome.seed}: {name}: {what}" for name, what in outcome.broken)


def main() -> int:
    """Play as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("count", nargs="?", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="seed to begin with")
    parser.add_argument("--only", default="", help="faults and kinds whose name has this")
    parser.add_argument("--host", metavar="NAME:SEED", help="print one generated host")
    args = parser.parse_args()
    if args.host:
        name, _, number = args.host.partition(":")
        made = score.sick if name in FAULTS else score.sound
        print(archive(made(name, int(number or 0))), end="")
        return 0
    counts = tally.Tally()
    seeds = range(args.first, args.first + args.count)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for seed, found in zip(seeds, pool.map(partial(seed_of, args.only), seeds), strict=True):
            counts.seeds[str(seed)] += 1
            counts.add(found)
            for one in found:
                for line in told(one):
                    print(line, flush=True)
    lines = [[tuple(map(str, row)) for row in rows] for rows in (counts.faults(), counts.rules())]
    print(*map(aligned, lines), sep="\n\n")
    print("", *counts.sums(), sep="\n")
    return int(bool(counts.false) or bool(counts.broken))


if __name__ == "__main__":
    sys.exit(main())
