"""What `nettop journey` costs each packet: a datagram over loopback with and without its programs.

    python tests/benchmarks/journey_cost.py [--pairs 30]

As root. Pairs of neighbouring runs without and with the programs of one stage, each first in every
other pair; the median of the differences, for a packet and for each run of a program that it
causes. One thread sends a packet and reads it, so it has no wakeup: the stage `woken` costs each
switch of threads instead, so there a second thread answers. Asserts nothing.
"""

import argparse
import os
import socket
import threading
import time
from collections.abc import Callable
from statistics import median

import goals

from nettop.host.bpf import journey

PACKETS = 1000  # of a run
RUNS = {"softirq": 2, "datagram": 2, "socket": 0, "woken": 4, "queue": 2, "again": 0}
EVERY = sum(RUNS.values()) - RUNS["woken"]


def alone() -> Callable[[], None]:
    """Send a packet to oneself and read it."""
    here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    here.bind(("127.0.0.1", 0))
    to = here.getsockname()

    def packet() -> None:
        here.sendto(b"x", to)
        here.recv(9)

    return packet


def answered() -> Callable[[], None]:
    """Send a packet to a thread on the same core, and read its answer."""
    here, there = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    for one in (here, there):
        one.bind(("127.0.0.1", 0))
    to = there.getsockname()

    def echo() -> None:
        while True:
            there.sendto(*there.recvfrom(9))

    threading.Thread(target=echo, daemon=True).start()

    def packet() -> None:
        here.sendto(b"x", to)
        here.recv(9)

    return packet


def nanoseconds(packet: Callable[[], None]) -> float:
    """The time of a packet: the least of five runs."""
    found = []
    for _ in range(5):
        begun = time.perf_counter_ns()
        for _ in range(PACKETS):
            packet()
        found.append((time.perf_counter_ns() - begun) / PACKETS)
    return min(found)


def cost(stages: tuple[str, ...], packet: Callable[[], None], pairs: int) -> float:
    """Nanoseconds that the programs of these stages add to a packet."""
    every = journey.POINTS
    found = []
    for number in range(pairs):
        times = {}
        for on in (False, True) if number % 2 else (True, False):
            journey.POINTS = {name: every[name] for name in stages}  # type: ignore[misc]
            counter = journey.Counter() if on else None
            times[on] = nanoseconds(packet)
            if counter is not None:
                counter.close()
        found.append(times[True] - times[False])
    journey.POINTS = every  # type: ignore[misc]
    return median(found)


def main() -> None:
    """Each stage, then all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30)
    args = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    packet = alone()
    print(f"a packet without programs: {nanoseconds(packet):.0f} ns")
    dearest = 0.0
    for stage, runs in RUNS.items():
        if runs:
            way = answered() if stage == "woken" else packet
            added = cost((stage,), way, args.pairs)
            dearest = max(dearest, added / runs)
            print(f"{stage}: {added:.0f} ns for a packet, {added / runs:.0f} ns for each run")
    added = cost(tuple(journey.POINTS), packet, args.pairs)
    print(f"all: {added:.0f} ns for a packet, {added / EVERY:.0f} ns for each run")
    goals.note("journey: a run of a program", max(dearest, added / EVERY))


if __name__ == "__main__":
    main()
