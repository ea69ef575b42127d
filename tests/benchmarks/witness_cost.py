"""What the kernel's counting costs: drops, failed calls, samples of cores, the journey of packets.

    python tests/benchmarks/witness_cost.py [--pairs 30] [--only drops,calls,profile,journey,answer]

As root. Pairs of neighbouring runs without and with the programs, each first in every other pair;
the median of the differences. One thread sends a datagram over loopback, which is dropped or which
it reads, on one core; its own CPU time is taken, so that other programs do not count. The stage
`woken` of the journey costs each switch of threads, so there a second thread answers. A sample of a
core costs too little to be seen: cores are sampled `TIMES` as often, and a sample is told.
The first answer is that of a whole command which looks for one second. Asserts nothing.
"""

import argparse
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median
from typing import Final

import goals

from nettop.commands.journey import STEP
from nettop.host.bpf import Counter, calls, drops, journey, profile

PACKETS: Final = 1000  # of a run
TIMES: Final = 32
LOOK: Final = 5.0  # seconds in which the programs of the journey rest as they do in use
FEW: Final = 20  # packets, then a pause
PAUSE: Final = 1e-3  # seconds
RUNS: Final = {"softirq": 2, "datagram": 2, "socket": 0, "woken": 4, "queue": 2, "again": 0}
EVERY: Final = sum(RUNS.values()) - RUNS["woken"]
COMMANDS: Final = ("advise", "why lo", "profile", "journey")


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


def flooded() -> Callable[[], object]:
    """Send a datagram to a socket that is full: it is dropped, in the call that sends it."""
    full, door = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    full.bind(("127.0.0.1", 0))
    full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    door.connect(full.getsockname())

    def packet(_full: socket.socket = full) -> int:
        return door.send(b"x")

    return packet


def nanoseconds(packet: Callable[[], object]) -> float:
    """The time of a packet: the least of five runs."""
    found = []
    for _ in range(5):
        begun = time.process_time_ns()
        for _ in range(PACKETS):
            packet()
        found.append((time.process_time_ns() - begun) / PACKETS)
    return min(found)


def looked(packet: Callable[[], object], counter: Counter | None) -> tuple[float, int]:
    """Own seconds of a look at a host with some traffic, with reading the counter; and packets."""
    end, packets, begun = time.monotonic() + LOOK, 0, time.process_time()
    read = 0.0
    while (now := time.monotonic()) < end:
        for _ in range(FEW):
            packet()
        packets += FEW
        time.sleep(PAUSE)
        if counter is not None and now >= read:
            counter.text()
            read = now + STEP
    return time.process_time() - begun, packets


def cost(begin: Callable[[], Counter], run: Callable[[], float], pairs: int) -> tuple[float, float]:
    """What `run` measures without the programs, and what they add to it."""
    found, bare = [], []
    for number in range(pairs):
        times = {}
        for on in (False, True) if number % 2 else (True, False):
            counter = begin() if on else None
            times[on] = run()
            if counter is not None:
                counter.close()
        bare.append(times[False])
        found.append(times[True] - times[False])
    return median(bare), median(found)


def of_drops(pairs: int) -> None:
    """A drop that is counted with all its detail, and one of so many that they are sampled."""
    packet = flooded()

    def sampled() -> float:
        for _ in range(drops.MANY):
            packet()
        return nanoseconds(packet)

    bare, added = cost(drops.Counter, partial(nanoseconds, packet), pairs)
    _, many = cost(drops.Counter, sampled, pairs)
    print(f"drops: {added:.0f} ns for each, beyond {drops.MANY:,} a second {many:.0f} ns; ", end="")
    print(f"without, the packet takes {bare:.0f} ns")
    goals.note("drops: one of a flood", many)


def of_calls(pairs: int) -> None:
    """A call that succeeds, while those that fail are counted."""
    packet = flooded()
    bare, added = cost(calls.Counter, partial(nanoseconds, packet), pairs)
    share = 100 * added / (bare + added)
    print(
        f"calls: {added:.0f} ns for each of {bare:.0f} ns: a flood of datagrams loses {share:.1f} %"
    )
    goals.note("calls: a flood of datagrams loses", share)


def of_profile(pairs: int) -> None:
    """A sample, and its reading once a second."""
    packet, usual = alone(), (profile.RATE, profile._ALL)
    profile.RATE, profile._ALL = TIMES * usual[0], TIMES * usual[1]  # type: ignore[misc]

    def run() -> float:
        begun = time.process_time_ns()
        for _ in range(20 * PACKETS):
            packet()
        return time.process_time_ns() - begun

    bare, added = cost(profile.Counter, run, pairs)
    profile.RATE, profile._ALL = usual  # type: ignore[misc]
    taken = 100 * added / bare / TIMES
    counter = profile.Counter()
    counter.text()
    reads = []
    for _ in range(5):
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            packet()
        begun = time.process_time()
        counter.text()
        reads.append(time.process_time() - begun)
    counter.close()
    share = 100 * median(reads)  # the dearest ones learn names of functions
    one = 1e9 * taken / 100 / usual[0]
    print(f"profile: {one:.0f} ns for a sample, {taken:.2f} % of a core; reading {share:.2f} %, "
          f"with new names of functions {100 * max(reads):.2f} %")  # fmt: skip
    goals.note("profile: sampling", taken + share)


def of_journey(pairs: int) -> None:
    """Each stage, then all, then all with their rests."""
    every, dearest = journey.POINTS, 0.0
    packet = alone()

    def begin(*stages: str) -> Callable[[], Counter]:
        def begun() -> Counter:
            journey.POINTS = {name: every[name] for name in stages}  # type: ignore[misc]
            return journey.Counter()

        return begun

    for stage, runs in RUNS.items():
        if runs:
            way = partial(nanoseconds, answered() if stage == "woken" else packet)
            _, added = cost(begin(stage), way, pairs)
            dearest = max(dearest, added / runs)
            print(f"journey, {stage}: {added:.0f} ns for a packet, {added / runs:.0f} ns a run")
    bare, added = cost(begin(*every), partial(nanoseconds, packet), pairs)
    print(
        f"journey, all: {added:.0f} ns for a packet of {bare:.0f} ns, {added / EVERY:.0f} ns a run"
    )
    goals.note("journey: a run of a program", max(dearest, added / EVERY))
    shares = []
    for _ in range(max(3, pairs // 6)):
        own, packets = looked(packet, None)
        counter = begin(*every)()
        spent, more = looked(packet, counter)
        counter.close()
        shares.append(100 * (spent - more * own / packets) / LOOK)
    rate = f"{packets / LOOK:,.0f} packets/s"
    print(f"journey, with its rests: {median(shares):.2f} % of a core, {rate}")
    goals.note("journey: on average", median(shares))


def of_answer(_pairs: int) -> None:
    """A whole command that looks for a second."""
    packet, ended = flooded(), threading.Event()

    def lose() -> None:
        while not ended.wait(0.01):
            packet()

    loser = threading.Thread(target=lose)
    loser.start()
    slowest = 0.0
    for command in COMMANDS:
        words = [sys.executable, "-m", "nettop", *command.split(), "--seconds", "1", "--json"]
        begun = time.monotonic()
        subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        took = time.monotonic() - begun
        slowest = max(slowest, took)
        print(f"answer: nettop {command} --seconds 1 takes {took:.2f} s")
    ended.set()
    loser.join()
    goals.note("the kernel's counts: first answer", slowest)


PARTS: Final[Mapping[str, Callable[[int], None]]] = {
    "drops": of_drops, "calls": of_calls, "profile": of_profile, "journey": of_journey,
    "answer": of_answer,
}  # fmt: skip


def main() -> None:
    """One part after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--only", default=",".join(PARTS))
    args = parser.parse_args()
    every = os.sched_getaffinity(0)
    for name in args.only.split(","):
        # a command may use every core
        os.sched_setaffinity(0, every if name == "answer" else {max(every)})
        PARTS[name](args.pairs)


if __name__ == "__main__":
    main()
