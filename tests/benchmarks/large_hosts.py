"""What the screen costs on large hosts that are built live, in turn with its peers.

    sudo python tests/benchmarks/large_hosts.py [--only connections,interfaces] [--seconds 20]
        [--runs 5] [--programs nettop] [--connections 10000] [--idle 100000] [--interfaces 1000]
        [--processes 30000]

Hosts: TCP connections that each move a message every five seconds, TCP connections that rest, veth
interfaces, sleeping processes, all of these at once (`together`), and recorded hosts
of 256 and 1,152 CPUs. `tests/support/built_hosts.py` builds them in namespaces and removes them.

Programs run in a terminal of 120x40 at one refresh a second, in turn: nettop, htop, btop, nettop,
… The figures are medians. `ss -tin` and `ip -s link` have no screen: one call is measured, and its
CPU time is given as if it were repeated each second. On each host the time of `nettop advise --json
--seconds 1` is measured too. Prints a table beside the goals; asserts nothing. Without root only
the recorded hosts are measured.
"""

import argparse
import contextlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import goals
from tui_cost import NETTOP, PROGRAMS, Cost, compiled, run

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import built_hosts as build

HOSTS = Path(__file__).parents[1] / "hosts"
NAMES = {  # of their goals
    "connections": "10,000 active connections", "idle": "100,000 idle connections",
    "interfaces": "1,000 interfaces", "processes": "30,000 processes",
    "together": "all of these together", "big-1152": "1,152 recorded CPUs",
}  # fmt: skip
BESIDE = {"connections": ["ss", "-tin"], "idle": ["ss", "-tin"], "interfaces": ["ip", "-s", "link"]}


@contextlib.contextmanager
def built(name: str, args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    """The host of that name: its description, and the prefix of commands on it."""
    with contextlib.ExitStack() as stack:
        told = []
        if name != "processes":
            stack.enter_context(build.namespaces())
        if name in ("connections", "together"):
            told.append(stack.enter_context(build.connections(args.connections, 0.2)))
        if name in ("idle", "together"):
            told.append(stack.enter_context(build.connections(args.idle, 0.0, 7100)))
        if name in ("interfaces", "together"):
            told.append(stack.enter_context(build.interfaces(args.interfaces)))
        if name in ("processes", "together"):
            told.append(stack.enter_context(build.processes(args.processes)))
        yield "; ".join(told), [] if name == "processes" else build.IN_NEAR


def once(argv: list[str]) -> tuple[float, float]:
    """The seconds and the CPU seconds of one call."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=False, env=compiled(os.environ))
    took, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(host: str, name: str, prefix: list[str], args: argparse.Namespace) -> None:
    """Print what each program costs on this host; they run in turn."""
    wanted = args.programs.split(",")
    here = {one: PROGRAMS[one] for one in wanted if shutil.which(PROGRAMS[one][0])}
    costs: dict[str, list[Cost]] = {one: [] for one in here}
    for _ in range(args.runs):
        for one, argv in here.items():
            costs[one].append(run([*prefix, *argv], (120, 40), args.warm, args.seconds))
    report(host, NAMES[name], costs)
    if (call := BESIDE.get(name)) and shutil.which(call[0]):
        spent = statistics.median(once([*prefix, *call])[1] for _ in range(args.runs))
        print(f"  {' '.join(call):<12}{100 * spent:>8.2f}", flush=True)
    advise(NAMES[name], prefix, args.runs)


def advise(name: str, words: list[str], runs: int, more: tuple[str, ...] = ()) -> None:
    """Print how long `advise --json --seconds 1` takes."""
    argv = [*words, *NETTOP, "advise", "--json", "--seconds", "1", *more]
    took, spent = map(statistics.median, zip(*(once(argv) for _ in range(runs)), strict=True))
    goals.note(f"advise: {name}", took)
    told = f"{took:.2f} s, CPU {spent:.2f} s{against(f'advise: {name}', took)}"
    print(f"  advise --json --seconds 1: {told}", flush=True)


def against(name: str, figure: float) -> str:
    """The goal of a figure, and whether it is met; nothing if it has none."""
    goal = goals.GOALS.get(name)
    if goal is None:
        return ""
    return f"; goal {goal.value:g} {goal.unit}  {'met' if goal.met(figure) else 'not met'}"


def report(host: str, name: str, costs: dict[str, list[Cost]]) -> None:
    """The medians, and whether the goals of this name are met."""
    print(host)
    for one, runs in costs.items():
        cpu = statistics.median(cost.cpu for cost in runs)
        rss = statistics.median(cost.rss for cost in runs)
        remark = ""
        if one == "nettop":
            for goal, figure in ((name, cpu), (f"{name}: memory", rss)):
                if goal in goals.GOALS:
                    goals.note(goal, figure)
                    remark += against(goal, figure)
        print(f"  {one:<12}{cpu:>8.2f}{rss:>9.1f}{remark}", flush=True)


def main() -> None:
    """Build the hosts in turn, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="connections,idle,interfaces,processes,together,cpus")
    parser.add_argument("--programs", default="nettop,htop,btop")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--warm", type=float, default=15.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--idle", type=int, default=100_000)
    parser.add_argument("--interfaces", type=int, default=1_000)
    parser.add_argument("--processes", type=int, default=30_000)
    args = parser.parse_args()
    only = args.only.split(",")
    if os.geteuid() != 0:
        print("not root: no host can be built, recorded ones are measured")
        only = [name for name in only if name == "cpus"]
    print("this host")
    advise("this host", [], args.runs)
    print(f"  {'program':<12}{'CPU %':>8}{'RSS MiB':>9}")
    for name in only:
        if name != "cpus":
            with built(name, args) as (host, prefix):
                compare(host, name, prefix, args)
            continue
        for recorded in ("big-256", "big-1152"):
            file = str(HOSTS / f"{recorded}.host.gz")
            argv = [*NETTOP, "--replay", file]
            runs = [run(argv, (120, 40), args.warm, args.seconds) for _ in range(args.runs)]
            report(f"recorded host {recorded}", NAMES.get(recorded, ""), {"nettop": runs})
            if recorded in NAMES:
                advise(NAMES[recorded], [], args.runs, ("--replay", file))


if __name__ == "__main__":
    main()
