"""What a frame's facts cost: on this host, and on large ones made by `tests/hosts/make_big.py`.

    python tests/benchmarks/frame_cost.py [--frames 15]

Prints medians; asserts nothing. The large hosts: 256 CPUs, 1,200 interrupt lines of which one in
ten changes, 64 queues on one NIC, then on four; with sockets added as rows.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "hosts"))

import make_big  # type: ignore[import-not-found]

from nettop.collect import sockets_tcp
from nettop.facts.joined import NEEDS, Joiner
from nettop.frame.pairs import entries
from nettop.frame.rates import Frame
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler

UNKNOWN = dict.fromkeys(sockets_tcp.Row.__dataclass_fields__)


def sockets(count: int, second: int) -> list[Any]:
    """Established flows, all of which move."""
    still: dict[str, Any] = {
        **UNKNOWN, "family": 4, "local": "10.0.0.1", "local_port": 5001, "remote_port": 40000,
        "state": "established", "recv_q": 0, "send_q": 0, "uid": 0, "rtt": 200, "min_rtt": 100,
        "bytes_received": 0, "total_retrans": 0, "busy_time": second * 1000,
    }  # fmt: skip
    return [
        sockets_tcp.Row(
            **{
                **still,
                "cookie": n,
                "inode": n,
                "remote": f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}",
                "bytes_acked": second * n * 1000,
                "segs_out": second * n,
            }
        )
        for n in range(count)
    ]


def measure(folder: str, big: Any, frames: int, flows: int) -> tuple[list[float], Any]:
    """Milliseconds of each steady frame's facts."""
    sampler, joiner = Sampler(Live(folder)), Joiner()
    taken: list[float] = []
    past: Any = ()
    facts = None
    for second in range(frames + 2):
        make_big.step(folder, big, second)
        frame = sampler.take(NEEDS)
        past = entries(sockets(flows, second), past, 1.0)
        tables = {**frame.tables, "sockets_tcp": past}
        frame = Frame(float(second), 0.0, tables, frame.missing)
        begun = time.perf_counter()
        facts = joiner.build(frame)
        taken.append(1e3 * (time.perf_counter() - begun))
    return taken, facts


def report(name: str, taken: list[float], facts: Any) -> None:
    steady = taken[2:]
    print(
        f"{name:<46} first {taken[0]:7.2f} ms   then median {median(steady):6.2f} ms   "
        f"least {min(steady):6.2f} ms   ({len(facts.nics)} nics, {len(facts.queues)} queues, "
        f"{len(facts.cores)} cores, {len(facts.flows)} flows)"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=15)
    frames = parser.parse_args().frames
    sampler, joiner, taken, facts = Sampler(Live()), Joiner(), [], None
    for _ in range(frames + 2):
        frame = sampler.take(NEEDS)
        begun = time.perf_counter()
        facts = joiner.build(frame)
        taken.append(1e3 * (time.perf_counter() - begun))
        time.sleep(0.2)
    report("this host", taken, facts)
    for cpus, nics, queues, flows in ((256, 1, 64, 0), (256, 4, 64, 0), (256, 1, 64, 1000)):
        big = make_big.Big(cpus=cpus, nics=nics, queues=queues)
        with tempfile.TemporaryDirectory() as folder:
            make_big.write(folder, big)
            name = f"{cpus} CPUs, {big.lines} lines, {nics} x {queues} queues, {flows} sockets"
            report(name, *measure(folder, big, frames, flows))


if __name__ == "__main__":
    main()
