"""Make what `nettop --demo` plays: `python tests/hosts/demo.py [--out rules]`.

A host that should receive 100 Gbit/s: mlx5, 32 cores on two nodes, eight streams of iperf3 over
12 ms. Bursts overrun its receive ring of 1024 descriptors, and after each loss a stream slows down.
`demo-cured.host.gz` has the entries that differ with a ring of 8192: the streams fill the link.
"""

import sys
from collections.abc import Iterator
from math import sin, tau
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from generated.model import Flow
from hosts.demo_host import (
    HARD,
    MSS,
    NIC,
    SECONDS,
    SOFT,
    TUNED,
    Demo,
    Steps,
    changes,
    machine,
    moments,
    move,
    name_of,
    programs,
    queue_for,
    rest,
    write,
)

from nettop.host.archive import written

FAST, SLOW, SENDER, CLIENT, MONITOR = (
    "10.40.2.12", "10.1.0.12", "10.60.7.21", "10.1.0.31", "10.1.0.9",
)  # fmt: skip
STREAMS = 8
RINGS = {False: 1024, True: 8192}  # by whether it is cured
RTT = 12_000  # us
LATE = (*(0.0,) * 8, 0.02, 0.2, 0.7)  # of its share, while the last stream begins
SICK = 58_000  # packets a second of a stream in the mean
WAVES = 0.015  # of it: screens show flows of two seconds ago beside an interface of now
BURSTS = 2.4  # overruns of a ring in a second
LINK = 1_360_000  # packets a second that the link carries
MERGED = 6.6  # packets that GRO makes one
COPY = (0.16, 2.5)  # percent of a core that a stream takes for each Gbit/s: user, kernel


def streams() -> dict[int, Flow]:
    """The streams by queue: each has its own."""
    found: dict[int, Flow] = {}
    for remote in range(40_112, 50_000, 2):
        flow = Flow(
            SENDER, 5201 + len(found), remote, local=FAST, tx=0, rtt=RTT, min_rtt=RTT - 60,
            cwnd=10, mss=MSS, busy=0, rcvbuf=128 << 20, scales=0xDD, gaps=1.0,
        )  # fmt: skip
        if len(found) < STREAMS:
            found.setdefault(queue_for(flow), flow)
    return found


def packets(draw: Random, *, cured: bool) -> Iterator[list[tuple[int, int]]]:
    """By second, then stream: packets received, and those that the ring had no room for."""
    shares = [draw.uniform(0.93, 1.07) for _ in range(STREAMS)]
    for second in range(SECONDS):
        late = LATE[second] if second < len(LATE) else 1.0
        begun = [*shares[:-1], shares[-1] * late]
        wave = 1 + WAVES * sin(tau * second / SECONDS)
        all_of_them = LINK * draw.uniform(0.997, 1.0) if cured else SICK * sum(begun) * wave
        now = []
        for share in begun:
            bursts = (
                0 if cured or share < 0.5 else sum(draw.random() < BURSTS / 6 for _ in range(6))
            )
            lost = sum(draw.randrange(70, 190) for _ in range(bursts))
            now.append((share * draw.uniform(0.97, 1.03) * (1.13 - 0.055 * bursts), lost))
        weights = sum(weight for weight, _ in now)
        yield [(round(all_of_them * weight / weights), lost) for weight, lost in now]


def host() -> Demo:
    """The host, without what its traffic counts."""
    made = machine("demo", "dtn1", (6, 8), (FAST, SLOW), (MSS, 0), TUNED)
    programs(made, [("iperf3", flow) for flow in streams().values()], (CLIENT, MONITOR))
    return made


def traffic(made: Demo, *, cured: bool) -> Steps:
    """What each second adds to each counter and to the time of each core."""
    draw, steps = Random("traffic"), Steps()
    fast = made.port(NIC)
    fast.ring = (RINGS[cured], RINGS[True], 1024, 8192)
    for at, shares in enumerate(packets(Random("packets"), cured=cured)):
        for (come, lost), flow in zip(shares, made.flows, strict=False):
            queue = queue_for(flow)
            merged = round(come / (MERGED * draw.uniform(0.97, 1.03)))
            turns = round(come / (14 + come / 9000) * draw.uniform(0.97, 1.03))
            move(made, steps, at, flow, fast, queue, (come, merged, round(merged * 0.55), turns))
            for name, amount in (
                (f"{NIC} rx_out_of_buffer", lost), (f"{NIC} rx_missed_errors", lost),
                (f"{NIC} rx_packets_phy", lost), (f"{NIC} rx_bytes_phy", lost * (MSS + 70)),
                (f"{name_of(flow)} gaps", lost * 9 if lost else draw.randrange(3)),
            ):  # fmt: skip
                steps.counts[name][at] += amount
            steps.soft[fast.cpus[queue]][at] += come / 1000 * SOFT * draw.uniform(0.97, 1.03)
            steps.hard[fast.cpus[queue]][at] += come / 1000 * HARD
            gbit = come * MSS * 8e-9 * draw.uniform(0.96, 1.04)
            steps.user[flow.pid][at], steps.system[flow.pid][at] = (gbit * one for one in COPY)
        rest(made, steps, at, draw)
    made.course = {name: [round(one) for one in values] for name, values in steps.counts.items()}
    return steps


def now(made: Demo, moment: int) -> tuple[tuple[str, str], ...]:
    """What the streams show at a moment."""
    draw = Random(f"moment {moment}")
    for flow in made.flows[:STREAMS]:
        flow.rcv_rtt, flow.recv_q = RTT + draw.randrange(20, 500), draw.randrange(9) * MSS
    return ()


def archives() -> Iterator[tuple[str, bytes]]:
    """Both courses: name and recording."""
    made, other = host(), host()
    sick = [*changes(moments(made, traffic(made, cured=False), now))]
    other.starts = made.starts
    cured = moments(other, traffic(other, cured=True), now)
    for name, comment, told in (
        ("demo", "mlx5 of 100 Gbit/s whose receive ring of 1024 overflows. Generated.", sick),
        ("demo-cured", "Its ring is of 8192.", changes(cured, below=sick)),
    ):
        yield f"{name}.host.gz", f"{comment}\n".encode() + b"".join(map(written, told))


if __name__ == "__main__":
    write(archives(), __doc__)
