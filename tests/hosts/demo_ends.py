"""Make what `nettop --demo ends` plays: `python tests/hosts/demo_ends.py [--out rules]`.

bbcp sends one stream from dtn1 to dtn2 over 48 ms and 100 Gbit/s. dtn1 is tuned; at dtn2 the
maximum of net.ipv4.tcp_rmem is still the kernel's 6 MiB, of which half is window: 0.52 Gbit/s.

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

from nettop.host.archive import written
from nettop.host.recording import Mark

HOSTS, FAST, SLOW = ("dtn1", "dtn2"), ("10.40.2.12", "10.60.7.21"), ("10.1.0.12", "10.2.0.21")
OTHERS = (("10.1.0.31", "10.1.0.9"), ("10.2.0.31", "10.2.0.9"))  # a client of ssh, and a monitor
PORTS, PIDS = (45_122, 5031), (4100, 2718)
BUFFER = 6 << 20  # bytes: the maximum of net.ipv4.tcp_rmem; tcp_adv_win_scale 1 makes half of it
WINDOW = BUFFER // 2
FLIGHT = WINDOW // MSS  # segments: the next one does not fit into the window
SCALES = (0xD7, 0x7D)  # 13 bits for the 256 MiB of dtn1, 7 for the 6 MiB of dtn2; the peer's is low
WAY = 48_000  # us
TRIPS = [Random(f"trip {second}").randrange(WAY + 60, WAY + 260) for second in range(SECONDS)]
CWND = 2 * FLIGHT  # slow start ends where the window stops it: tcp_is_cwnd_limited()
SENDING = 2 * CWND * 16_640  # bytes: tcp_sndbuf_expand(), with the memory of a segment of 9000
MERGED = 6.4  # packets that GRO makes one; each is acknowledged
COPY = ((0.3, 1.4), (0.4, 3.2))  # percent of a core for each Gbit/s, with its file: user, kernel
AHEAD, WITHIN = 0.0031, 0.0241  # seconds of the clock of dtn2


def host(place: int) -> Demo:
    """An end, without what its traffic counts; 0: that which sends."""
    tuned = {name: value for name, value in TUNED.items() if not (place and "rmem" in name)}
    sizes = (MSS, 0) if place else (0, MSS)
    made = machine(f"ends {place}", HOSTS[place], (6, 1), (FAST[place], SLOW[place]), sizes, tuned)
    made.sysctls["net.ipv4.tcp_adv_win_scale"] = "1"
    made.older = BEFORE
    made.port(NIC).ring = (8192, 8192, 8192, 8192)
    flow = Flow(
        FAST[1 - place], PORTS[place], PORTS[1 - place], local=FAST[place], tx=0, rtt=WAY + 100,
        min_rtt=WAY, cwnd=10, mss=MSS, busy=0, rcvbuf=BUFFER, scales=SCALES[place],
    )  # fmt: skip
    if not place:
        flow = replace(
            flow, rx=0, cwnd=CWND, busy=1.0, rwnd_limited=0.97, rcvbuf=131_072, sndbuf=SENDING,
            app_limited=False, flight=FLIGHT, window=WINDOW,
        )  # fmt: skip
    programs(made, [("bbcp", flow)], OTHERS[place], first=PIDS[place])
    return made


def traffic(made: Demo, place: int) -> Steps:
    """What each second adds to each counter and to the time of each core."""
    both, draw, steps = Random("ends"), Random(made.seed), Steps()
    fast, flow = made.port(NIC), made.flows[0]
    queue = queue_for(flow)
    for at, trip in enumerate(TRIPS):
        data = round(FLIGHT * 1e6 / trip)
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
        flow.rtt, flow.tx = trip, FLIGHT * MSS * 1e6 / trip
        flow.send_q = round(SENDING * draw.uniform(0.7, 0.99))  # a third is free: the writer wakes
        flow.notsent = flow.send_q - FLIGHT * MSS
    else:
        flow.rcv_rtt = trip + draw.randrange(10, 90)  # and its reader leaves nothing
    made.sockstat["mem"] = 24 + (flow.send_q >> 12)
    read = {"before": trip / 1e6, "after": 0.0} if flow.flight else {"there": 0.0}
    for name, early in read.items():
        other = replace(made, early=early, moments=tuple(at - early for at in made.moments))
        told = dict(answers(other, moment))["netlink/sock_diag/tcp"]
        yield f"close/{name}/netlink/sock_diag/tcp", b64encode(told).decode()


def archives() -> Iterator[tuple[str, bytes]]:
    """Both ends: name and recording."""
    about = "One stream over 48 ms to a host whose tcp_rmem ends at 6 MiB. Generated."
    for place, name in enumerate(("demo-ends", "demo-ends.peer")):
        made = host(place)
        began = BEGAN + place * (AHEAD - WAY / 2e6)
        mark = Mark("51e7b0c4", not place, AHEAD * (1 - 2 * place), WITHIN).words()
        told = changes(moments(made, traffic(made, place), shown), began=began)
        yield f"{name}.host.gz", f"{about}{mark}\n".encode() + b"".join(map(written, told))


if __name__ == "__main__":
    write(archives(), __doc__)
