"""The core that takes the packets of an interface, where no interrupt of its queues tells it."""

import pytest
from flow_tables import Tables
from limit_frames import AWAY, RECEIVES, flow, limits, moment

from nettop.collect import cpu, queues, softnet

FULL = 0  # the core without idle time


def at(second: float, packets: tuple[int, ...], rps: tuple[int, ...] = ()) -> Tables:
    """Core 0 has no time left; `packets` a second by core."""
    cores = [
        cpu.Row(n, 0.0, 0.0, 0.0, 0.0 if n == FULL else second, softirq=second * (n == FULL))
        for n in range(4)
    ]
    taken = [softnet.Row(n, int(each * second), 0, 0) for n, each in enumerate(packets)]
    more: Tables = {
        "cpu": cores,
        "softnet": taken,
        "queues": [queues.Row("eth0", "rx-0", rps_cpus=rps)],
    }
    return moment(second, rates=RECEIVES, gauges=AWAY, ran=0.1, more=more)


@pytest.mark.parametrize(
    ("packets", "rps", "found"),
    [
        ((90_000, 100, 100, 100), (), True),  # as of an adapter whose interrupt is the bus's
        ((80_000, 5_000, 5_000, 5_000), (), False),  # others take packets too: it is not known
        ((80_000, 5_000, 5_000, 5_000), (FULL,), True),  # RPS leads there
        ((90_000, 100, 100, 100), (2, 3), False),  # RPS leads to cores with idle time
    ],
)
def test_a_full_core_that_takes_the_packets_limits(
    packets: tuple[int, ...], rps: tuple[int, ...], *, found: bool
) -> None:
    limit = flow(limits(lambda second: at(second, packets, rps)))
    assert (limit.stage.stage == "core") is found
