"""What the screen costs: CPU, bytes to the terminal, memory, first paint; beside its peers.

    python tests/benchmarks/tui_cost.py [--seconds 15] [--runs 3] [--size 120x40] [--only a,b]
        [--panes 12345678p] [--transfer] [--replay tests/hosts/big-256.host.gz]

`--panes` are the keys of nettop's panes, `p` is the first one paused; `--transfer` has iperf3 run
between two namespaces meanwhile (as root); `--replay` gives nettop a recorded host.

The peers are htop, btop, glances, bottom, below, and the irqtop and network-top of netutils-linux;
one that is not on PATH is named and left out. Each figure is the median of the runs.

The programs run in turn, round by round, so that all see the same noise. Beside nettop's figures
are the goals: CPU at most btop's median, 5 KiB/s (10 with a transfer), 60 MiB, first paint 0.3 s,
first rate 0.5 s.

Each program runs in a pseudo-terminal of the same size that answers what a terminal answers (cursor
position), at one refresh a second. Python may keep compiled files, as for an installed package; the
first run, which compiles, is not counted. CPU is the process tree's run time from
/proc/PID/schedstat over the measured seconds, after a warm-up; memory is the resident size at the
end.
"""

import argparse
import contextlib
import fcntl
import math
import os
import pty
import re
import select
import shutil
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Mapping
from dataclasses import dataclass

import goals
from key_latency import transfer

RATE = re.compile(rb"\d [kMGT]?(?:b/s|pps)")  # as nettop draws it
NETTOP = [sys.executable, "-m", "nettop"]
PROGRAMS = {
    "nettop": NETTOP,
    "htop": ["htop", "-d", "10"],
    "btop": ["btop", "--utf-force"],
    "glances": ["glances", "--time", "1", "--disable-check-update"],
    "bottom": ["btm", "--rate", "1s"],
    "below": ["below", "live", "--interval-s", "1"],
    "irqtop": ["irqtop", "--interval", "1"],
    "network-top": ["network-top", "--interval", "1"],
}


@dataclass(frozen=True)
class Cost:
    """Figures of one run."""

    cpu: float  # percent of one core
    bytes_per_s: float
    rss: float  # MiB
    first: float  # seconds from exec to the first painted row
    rate: float  # seconds from exec to the first rate; nan: none was drawn
    last: bytes  # the end of what was written


def tree(pid: int) -> list[int]:
    """The process and its descendants."""
    found, queue = [], [pid]
    while queue:
        one = queue.pop()
        found.append(one)
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/children") as file:
                    queue += map(int, file.read().split())
        except OSError:
            continue
    return found


def runtime(pid: int) -> float:
    """Seconds on a CPU, all threads of all processes."""
    total = 0
    for one in tree(pid):
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/schedstat") as file:
                    total += int(file.read().split()[0])
        except OSError:
            continue
    return total / 1e9


def resident(pid: int) -> float:
    """Resident size of the tree, MiB."""
    pages = 0
    for one in tree(pid):
        try:
            with open(f"/proc/{one}/statm") as file:
                pages += int(file.read().split()[1])
        except OSError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def settle() -> None:
    """A clean home: btop at one refresh a second."""
    folder = os.path.join(tempfile.gettempdir(), "nettop-bench", "btop")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "btop.conf"), "w") as file:
        file.write("update_ms = 1000\n")


def compiled(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which Python writes compiled files, into a folder of the benchmark."""
    kept = {k: v for k, v in environment.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": tempfile.gettempdir() + "/nettop-bench/compiled"}


def run(
    argv: list[str], size: tuple[int, int], warm: float, seconds: float, keys: bytes = b""
) -> Cost:
    """Measure a program in a terminal of that size; `keys` are typed after the first paint."""
    settle()
    pid, tty = pty.fork()
    if pid == 0:
        environment = {
            **compiled(os.environ), "TERM": "xterm-256color", "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "XDG_STATE_HOME": tempfile.gettempdir() + "/nettop-bench",
            "XDG_CONFIG_HOME": tempfile.gettempdir() + "/nettop-bench",
        }  # fmt: skip
        os.execvpe(argv[0], argv, environment)
    fcntl.ioctl(tty, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    begun = time.monotonic()
    first, rate = 0.0, math.nan
    written = counted = 0
    start = 0.0
    tail = b""
    typed = False
    end = begun + warm + seconds
    while (now := time.monotonic()) < end:
        if counted == 0 and now - begun >= warm:
            start, counted, written = runtime(pid), 1, 0
        ready, _, _ = select.select([tty], [], [], min(0.1, end - now))
        if not ready:
            continue
        try:
            data = os.read(tty, 65536)
        except OSError:
            break
        written += len(data)
        tail = (tail + data)[-20000:]
        for _ in range(data.count(b"\x1b[6n")):
            os.write(tty, b"\x1b[1;1R")
        if not first and (b"\x1b[38" in data or b"\x1b[1" in data) and len(data) > 200:
            first = time.monotonic() - begun
        if math.isnan(rate) and RATE.search(tail):
            rate = time.monotonic() - begun
        if first and keys and not typed and now - begun > warm / 2:
            os.write(tty, keys)
            typed = True
    used = runtime(pid) - start
    rss = resident(pid)
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + 4
    while time.monotonic() < deadline:
        ready, _, _ = select.select([tty], [], [], 0.1)
        if ready:
            try:
                tail = (tail + os.read(tty, 65536))[-20000:]
            except OSError:
                break
        if os.waitpid(pid, os.WNOHANG)[0]:
            break
    else:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.close(tty)
    return Cost(100 * used / seconds, written / seconds, rss, first, rate, tail)


def median(costs: list[Cost]) -> Cost:
    """Each figure's median over the runs."""
    return Cost(
        statistics.median(one.cpu for one in costs),
        statistics.median(one.bytes_per_s for one in costs),
        statistics.median(one.rss for one in costs),
        statistics.median(one.first for one in costs),
        statistics.median(one.rate for one in costs),
        costs[-1].last,
    )


def main() -> None:
    """Print one line a program and pane."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--warm", type=float, default=5.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--only", default="")
    parser.add_argument("--panes", default="1", help="keys of nettop's panes, p: paused")
    parser.add_argument("--transfer", action="store_true", help="while iperf3 runs")
    parser.add_argument("--replay", help="a recording, for nettop only")
    args = parser.parse_args()
    with transfer() if args.transfer else contextlib.nullcontext(False) as moving:
        told = [args.replay] * bool(args.replay) + ["iperf3 over veth"] * moving
        table(args, ", ".join(told) or "at rest")


def table(args: argparse.Namespace, told: str) -> None:
    """A line a program and pane."""
    width, height = map(int, args.size.split("x"))
    print(
        f"{'program':<12}{'CPU %':>8}{'KiB/s':>8}{'RSS MiB':>9}{'first s':>9}{'rate s':>8}"
        f"   {args.size}, {told}"
    )
    only = args.only.split(",") if args.only else []
    programs: dict[str, tuple[list[str], bytes]] = {}
    for name, argv in PROGRAMS.items():
        if only and name not in only:
            continue
        if shutil.which(argv[0]) is None:
            print(f"{name:<12}  not on PATH: not measured")
        elif name == "nettop":
            replayed = ["--replay", args.replay] if args.replay else []
            for digit in args.panes:
                keys = b"1 " if digit == "p" else digit.encode()
                programs[f"nettop {digit}"] = [*argv, *replayed], keys
        else:
            programs[name] = argv, b""
    if "nettop" in only or not only:
        run(NETTOP, (width, height), 4.0, 1.0)  # compiles
    costs: dict[str, list[Cost]] = {name: [] for name in programs}
    for _ in range(args.runs):
        for name, (argv, keys) in programs.items():
            costs[name].append(run(argv, (width, height), args.warm, args.seconds, keys))
    medians = {name: median(runs) for name, runs in costs.items()}
    most = medians["btop"].cpu if "btop" in medians else None
    if "nettop 1" in medians and not args.transfer and not args.replay:
        mine = medians["nettop 1"]
        if most:
            goals.note("screen at rest: CPU beside btop", mine.cpu / most)
        goals.note("screen at rest: output", mine.bytes_per_s / 1024)
        goals.note("screen at rest: memory", mine.rss)
        goals.note("screen at rest: first paint", mine.first)
        goals.note("screen at rest: first rate", mine.rate)
    for name, cost in medians.items():
        remark = unmet(cost, most, moving=args.transfer) if name.startswith("nettop") else ""
        print(
            f"{name:<12}{cost.cpu:>8.2f}{cost.bytes_per_s / 1024:>8.2f}{cost.rss:>9.1f}"
            f"{cost.first:>9.2f}{cost.rate:>8.2f}   {remark}",
            flush=True,
        )


def unmet(cost: Cost, most: float | None, *, moving: bool) -> str:
    """The goals that are not met; CPU is compared if btop was measured."""
    goals = [
        ("KiB/s", cost.bytes_per_s / 1024, 10.0 if moving else 5.0),
        ("MiB", cost.rss, 60.0),
        ("s to the first paint", cost.first, 0.3),
        ("s to the first rate", cost.rate, 0.5),
    ]
    if most is not None:
        goals.insert(0, ("% CPU of btop", cost.cpu, most))
    missed = [f"{goal:.2f} {unit}" for unit, value, goal in goals if value > goal]
    return "goals met" if not missed else f"not met: {', '.join(missed)}"


if __name__ == "__main__":
    main()
