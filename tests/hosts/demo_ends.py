"""Make what `nettop --demo ends` plays: `python tests/hosts/demo_ends.py [--out rules]`.

bbcp sends one stream from dtn1 to dtn2 over 48 ms and 100 Gbit/s. dtn1 is tuned; at dtn2 the
maximum of net.ipv4.tcp_rmem is still the kernel's 6 MiB, of which half is window: 0.52 Gbit/s.

`demo-ends-cured` has the entries that differ where that maximum is 32 MiB and bbcp was started
again: 2.8 Gbit/s.

Both hosts are read as `record --peer` does: dtn1 asks, dtn2 answers half of a round trip later, and
its answer is here after another half. So the bytes that dtn1 knows to be acknowledged are those
that dtn2 had received at its moment, and what is sent beyond them is the window.
"""

import sys
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from generated.model import Flow
from generated.wire import answers
from hosts.demo_host import (
    BEFORE,
    BEGAN,
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
    programs,
    queue_for,
    rest,
    write,
)

from nettop.host.archive import RecordedMoment, written
from nettop.host.recording import Mark

HOSTS, FAST, SLOW = ("dtn1", "dtn2"), ("10.40.2.12", "10.60.7.21"), ("10.1.0.12", "10.2.0.21")
OTHERS = (("10.1.0.31", "10.1.0.9"), ("10.2.0.31", "10.2.0.9"))  # a client of ssh, and a monitor
PIDS = (4100, 2718)
WAY = 48_000  # us
TRIPS = [Random(f"trip {second}").randrange(WAY + 60, WAY + 260) for second in range(SECONDS)]
MERGED = 6.4  # packets that GRO makes one; each is acknowledged
COPY = ((0.3, 1.4), (0.4, 3.2))  # percent of a core for each Gbit/s, with its file: user, kernel
AHEAD, WITHIN = 0.0031, 0.0241  # seconds of the clock of dtn2


class Course(NamedTuple):
    """What differs with the larger buffer."""

    buffer: int  # bytes: the maximum of net.ipv4.tcp_rmem; tcp_adv_win_scale 1 makes half of it
    ports: tuple[int, int]
    scales: tuple[int, int]  # 13 bits for the 256 MiB of dtn1, those of dtn2; the peer's is low

    @property
    def window(self) -> int:
        """Bytes."""
        return self.buffer // 2

    @property
    def flight(self) -> int:
        """Segments: the next one does not fit into the window."""
        return self.window // MSS

    @property
    def cwnd(self) -> int:
        """Slow start ends where the window stops it: tcp_is_cwnd_limited()."""
        return 2 * self.flight

    @property
    def sending(self) -> int:
        """Bytes: tcp_sndbuf_expand(), with the memory of a segment of 9000."""
        return 2 * self.cwnd * 16_640


COURSES = {
    False: Course(6 << 20, (45_122, 5031), (0xD7, 0x7D)),
    True: Course(32 << 20, (45_136, 5031), (0xDA, 0xAD)),
}


def host(place: int, one: Course) -> Demo:
    """An end, without what its traffic counts; 0: that which sends."""
    tuned = {name: value for name, value in TUNED.items() if not (place and "rmem" in name)}
    if place and one is not COURSES[False]:
        tuned["net.ipv4.tcp_rmem"] = f"4096\t131072\t{one.buffer}"
    sizes = (MSS, 0) if place else (0, MSS)
    made = machine(f"ends {place}", HOSTS[place], (6, 1), (FAST[place], SLOW[place]), sizes, tuned)
    made.sysctls["net.ipv4.tcp_adv_win_scale"] = "1"
    made.older = BEFORE
    made.port(NIC).ring = (8192, 8192, 8192, 8192)
    flow = Flow(
        FAST[1 - place], one.ports[place], one.ports[1 - place], local=FAST[place], tx=0,
        rtt=WAY + 100, min_rtt=WAY, cwnd=10, mss=MSS, busy=0, rcvbuf=one.buffer,
        scales=one.scales[place],
    )  # fmt: skip
    if not place:
        flow = replace(
            flow, rx=0, cwnd=one.cwnd, busy=1.0, rwnd_limited=0.97, rcvbuf=131_072,
            sndbuf=one.sending, app_limited=False, flight=one.flight, window=one.window,
        )  # fmt: skip
    programs(made, [("bbcp", flow)], OTHERS[place], first=PIDS[place])
    return made


def traffic(made: Demo, place: int, flight: int) -> Steps:
    """What each second adds to each counter and to the time of each core."""
    both, draw, steps = Random("ends"), Random(made.seed), Steps()
    fast, flow = made.port(NIC), made.flows[0]
    queue = queue_for(flow)
    for at, trip in enumerate(TRIPS):
        data = round(flight * 1e6 / trip)
        acks = round(data / (MERGED * both.uniform(0.97, 1.03)))
        come, merged, sent = (data, acks, acks) if place else (acks, acks, data)
        turns = round(acks * draw.uniform(0.8, 0.9))
        move(made, steps, at, flow, fast, queue, (come, merged, sent, turns))
        steps.soft[fast.cpus[queue]][at] += come / 1000 * SOFT * draw.uniform(0.97, 1.03)
        steps.hard[fast.cpus[queue]][at] += come / 1000 * HARD
        gbit = data * MSS * 8e-9 * draw.uniform(0.96, 1.04)
        steps.user[flow.pid][at], steps.system[flow.pid][at] = (gbit * one for one in COPY[place])
        rest(made, steps, at, draw)
        steps.counts["switches"][at] = 9000 + draw.randrange(600)
        steps.counts["soft"][at] = 11_000 + draw.randrange(600)
    made.course = {name: [round(one) for one in values] for name, values in steps.counts.items()}
    return steps


def shown(made: Demo, moment: int) -> Iterator[tuple[str, str]]:
    """What the stream shows at a moment, and the sockets that are read close to the other end's."""
    draw, flow = Random(f"{made.seed} {moment}"), made.flows[0]
    trip = TRIPS[max(0, moment - 1)]
    if flow.flight:
        flow.rtt, flow.tx = trip, flow.flight * MSS * 1e6 / trip
        # a third is free: the writer wakes
        flow.send_q = round(flow.sndbuf * draw.uniform(0.7, 0.99))
        flow.notsent = flow.send_q - flow.flight * MSS
    else:
        flow.rcv_rtt = trip + draw.randrange(10, 90)  # and its reader leaves nothing
    made.sockstat["mem"] = 24 + (flow.send_q >> 12)
    read = {"before": trip / 1e6, "after": 0.0} if flow.flight else {"there": 0.0}
    for name, early in read.items():
        other = replace(made, early=early, moments=tuple(at - early for at in made.moments))
        told = dict(answers(other, moment))["netlink/sock_diag/tcp"]
        yield f"close/{name}/netlink/sock_diag/tcp", b64encode(told).decode()


def archives() -> Iterator[tuple[str, bytes]]:
    """Both courses of both ends: name and recording."""
    about = "One stream over 48 ms to a host whose tcp_rmem ends at"
    for place, end in enumerate(("", ".peer")):
        began = BEGAN + place * (AHEAD - WAY / 2e6)
        mark = Mark("51e7b0c4", not place, AHEAD * (1 - 2 * place), WITHIN).words()
        below: list[RecordedMoment] = []
        for cured, one in COURSES.items():
            made = host(place, one)
            told = moments(made, traffic(made, place, one.flight), shown)
            below = [*changes(told, below=below, began=began)]
            size = f"{one.buffer >> 20} MiB"
            yield (
                f"demo-ends{'-cured' * cured}{end}.host.gz",
                f"{about} {size}. Generated.{mark}\n".encode() + b"".join(map(written, below)),
            )


if __name__ == "__main__":
    write(archives(), __doc__)
