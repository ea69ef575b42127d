"""How often the verdict of an experiment errs, and how many pairs of runs it needs.

    verdict_errors.py [--tests 2000] [--no-generated] [--seconds FILE] [--run 10]

Prints the table of docs/records/statistics.md: false verdicts of a state against itself, and the
share of 5 % effects that are found, on generated noise with a seed, beside the exact power of a
fixed number of pairs. FILE has one figure a line, one line a second: rates of a link from `nettop
rate IF --json`, or as record_seconds.py writes them (recorded_seconds.txt has those of the page).
Then a state is compared with itself on that noise too. Its seconds depend on each other, so that
experiments are made of blocks of consecutive seconds (moving block bootstrap), each as long as the
experiment, and the number of independent seconds is printed. Asserts nothing.
"""

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from statistics import fmean, median, stdev

from nettop.trials import statistics

SEED = 20261123


def noise(kind: str, share: float, draw: random.Random) -> Iterator[float]:
    """Relative errors of one run after the other, with the standard deviation `share`."""
    last = 0.0
    while True:
        last = 0.8 * last + draw.gauss(0, 0.6 * share)
        plain = draw.gauss(0, share)
        slow = 3 * share * (draw.random() < 0.1)
        yield {
            "independent": plain, "autocorrelated 0.8": last, "one of ten slow": plain - slow,
            "skewed": share * (1 - draw.expovariate(1)),
        }[kind]  # fmt: skip


def verdict(run: Callable[[], float], effect: float) -> tuple[str, int]:
    """One experiment of interleaved runs, as `nettop prove` makes it; its verdict and pairs."""
    a: list[float] = []
    b: list[float] = []
    while len(a) < statistics.MOST and not (a and statistics.settled(statistics.gains(a, b))):
        for _ in range(2 if a else statistics.PAIRS):
            a.append(run())
            b.append(run() * (1 + effect))
    return statistics.compare(a, b).verdict, len(a)


def autocorrelation(values: Sequence[float], lag: int) -> float:
    """The correlation of each value with the one `lag` later; 0 for equal values."""
    mean = fmean(values)
    spread = sum((one - mean) ** 2 for one in values)
    moved = zip(values[:-lag], values[lag:], strict=True)
    return sum((a - mean) * (b - mean) for a, b in moved) / spread if spread else 0.0


def independent(values: Sequence[float]) -> float:
    """How many independent values say as much about the mean as these (initial positive sums).

    n / (1 + 2 times the sum of the autocorrelations up to the first that is not positive).
    """
    total = 0.0
    for lag in range(1, len(values) // 2):
        part = autocorrelation(values, lag)
        if part <= 0:
            break
        total += part
    return len(values) / (1 + 2 * total)


def of_blocks(values: Sequence[float], run: int, draw: random.Random) -> Iterator[float]:
    """The medians of consecutive runs of `run` seconds in a block that begins anywhere."""
    block = 2 * run * statistics.MOST
    if len(values) < block:
        raise SystemExit(f"{len(values)} seconds: an experiment takes up to {block}")
    begin = draw.randrange(len(values) - block + 1)
    for at in count(begin, run):
        yield median(values[at : at + run])


def verdict_of(values: Sequence[float], run: int, effect: float, draw: random.Random) -> str:
    """The verdict of one experiment on a block of recorded seconds."""
    runs = of_blocks(values, run, draw)
    return verdict(lambda: next(runs), effect)[0]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=2000)
    parser.add_argument("--generated", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--seconds", type=Path)
    parser.add_argument("--run", type=int, default=10, help="seconds of a run")
    args = parser.parse_args()
    draw = random.Random(SEED)
    if args.generated:
        generated(args.tests, draw)
    if args.seconds:
        recorded(args, draw)


def generated(tests: int, draw: random.Random) -> None:
    """The tables of generated noise."""
    print("| noise of a run | standard deviation | false verdicts | 5 % found | median pairs |")
    print("|---|---|---|---|---|")
    for kind in ("independent", "autocorrelated 0.8", "one of ten slow", "skewed"):
        for share in (0.01, 0.02, 0.03, 0.05, 0.1):
            errors = noise(kind, share, draw)
            same = [verdict(lambda: 1 + next(errors), 0.0) for _ in range(tests)]  # noqa: B023
            more = [verdict(lambda: 1 + next(errors), 0.05) for _ in range(tests)]  # noqa: B023
            wrong = sum(one in ("better", "worse") for one, _ in same) / tests
            right = sum(one == "better" for one, _ in more) / tests
            pairs = median(pairs for _, pairs in more)
            print(f"| {kind} | {share:.0%} | {wrong:.1%} | {right:.1%} | {pairs:g} |", flush=True)
    print("\n| standard deviation of a run | power of 5 pairs | of 11 | of 21 | pairs for 90 % |")
    print("|---|---|---|---|---|")
    for share in (0.005, 0.01, 0.02, 0.03, 0.05):
        known = " | ".join(f"{statistics.power(share, pairs):.0%}" for pairs in (5, 11, 21))
        print(f"| {share:.1%} | {known} | {statistics.needed(share) or 'more than 101'} |")


def recorded(args: argparse.Namespace, draw: random.Random) -> None:
    """The sentence about recorded seconds."""
    values = [float(line) for line in args.seconds.read_text().split()]
    found = {
        effect: [verdict_of(values, args.run, effect, draw) for _ in range(args.tests)]
        for effect in (0.0, 0.05)
    }
    wrong = sum(one in ("better", "worse") for one in found[0.0]) / args.tests
    right = found[0.05].count("better") / args.tests
    print(
        f"\n{len(values)} seconds of {args.seconds.name}: standard deviation "
        f"{stdev(values) / fmean(values):.0%}, autocorrelation {autocorrelation(values, 1):.2f}, "
        f"as much as {independent(values):.0f} independent ones; of {args.tests} experiments "
        f"(runs of {args.run} s) {wrong:.1%} had a false verdict, {right:.1%} found 5 %"
    )


if __name__ == "__main__":
    main()
