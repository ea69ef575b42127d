"""Stages between the socket and the wire: byte queue limits, kernel threads that carry packets."""

from collections.abc import Callable
from typing import Any

import pytest
from flow_tables import Tables, task
from limit_frames import flow, limits, moment
from limit_situations import counters, sender
from limit_situations import device as losing
from nic_tables import joined, link, stats

from nettop.collect import (
    bql,
    drvinfo,
    link_stats,
    linkmodes,
    nicstats,
    pci,
    qdiscs,
)
from nettop.facts.limits import Limit, Reading


def step(limit: Limit, stage: str, name: str = "") -> Reading:
    return next(one for one in limit.ladder if one.stage == stage and name in one.name)


def device(second: float, inflight: int, backlog: int, most: int = 1_000_000) -> Tables:
    queue = qdiscs.Row("eth0", "root", "0:", "fq_codel", True, backlog, 9)
    limit = bql.Row("eth0", "tx-3", inflight, 66_000, most)
    return moment(second, queue=queue, more={"bql": [limit]})


def test_a_byte_queue_limit_that_is_reached_while_packets_wait() -> None:
    found = flow(limits(lambda s: device(s, 66_500, 90_000)))
    assert (found.stage.stage, found.stage.end) == ("tx-ring", "here")
    assert found.stage.name == "transmit ring of eth0, tx-3"
    assert found.stage.because == (
        "its byte queue limit, 64.5 KiB, is reached in 100% of the samples; packets wait before "
        "it in 100%"
    )


def test_the_largest_byte_queue_limit_is_named() -> None:
    found = flow(limits(lambda s: device(s, 66_500, 90_000, most=66_000)))
    assert found.stage.name == "transmit ring of eth0, tx-3, BQL limit_max"


def standing(second: float, kind: str, backlog: int = 90_000, rate: float | None = None) -> Tables:
    """Packets before a device without byte queue limits."""
    queue = qdiscs.Row("eth0", "root", "1:", kind, True, backlog, 60, 0, rate=rate)
    return moment(second, queue=queue)


@pytest.mark.parametrize("kind", ["pfifo_fast", "fq_codel"])
def test_packets_that_stand_before_a_device_are_its_limit(kind: str) -> None:
    found = flow(limits(lambda s: standing(s, kind)))
    assert (found.stage.stage, found.stage.end) == ("tx-ring", "here")
    assert found.stage.because == (
        "packets stand before it in 100% of the samples, 60 on average, in a qdisc that holds "
        "none back: the device takes no more"
    )
    assert found.stage.capacity is not None
    assert found.stage.capacity[0] <= (found.rate or 0.0) <= found.stage.capacity[1]


def past(second: float, port: int, seen: int) -> Tables:
    """An interface whose port receives `port` bytes a second; the kernel sees some of them."""
    counted = counters(
        link_stats.Row, interface="eth0", index=2, rx_bytes=int(seen * second),
        rx_packets=int(seen * second) // 1000,
    )  # fmt: skip
    own = nicstats.Row("eth0", "mlx5_core", port_rx_bytes=int(port * second))
    return moment(second, more={"link_stats": [counted], "nicstats": [own]})


def receiving(port: int, seen: int) -> Limit:
    found = limits(lambda s: past(s, port, seen))
    return next(one for one in found if (one.over, one.direction) == ("nic", "rx"))


def test_what_passes_the_kernel_by_loads_the_link() -> None:
    found = receiving(600_000_000, 40_000)
    assert found.stage.name == "what passes the kernel by"
    assert found.stage.because.startswith("4.8 Gb/s pass the kernel by")
    wire = step(found, "wire")
    assert wire.utilisation == pytest.approx(0.48, abs=0.01)
    assert "4.8 Gb/s of it pass the kernel by" in wire.because


def test_headers_that_the_port_counts_pass_nothing_by() -> None:
    found = receiving(105_000_000, 100_000_000)
    assert found.stage.name != "what passes the kernel by"
    assert "pass the kernel by" not in step(found, "wire").because


def kernel(name: str, ran: float, on: int = 2) -> Callable[[float], Tables]:
    """A kernel thread that ran that share of the time."""

    def tables(second: float) -> Tables:
        row = task(50, name, on, 0.0, system=ran * second, kernel=True)
        return moment(second, more={"processes": [row]})

    return tables


def test_a_thread_that_polls_the_interface_limits() -> None:
    found = flow(limits(kernel("napi/eth0-12", 0.97)))
    assert (found.stage.stage, found.stage.name) == ("thread", "napi/eth0-12[50]")
    assert found.stage.because == "the kernel thread ran 97% of the time"
    assert found.stage.capacity is not None


@pytest.mark.parametrize("name", ["napi/eth1-12", "vhost-77", "kworker/2:1"])
def test_a_kernel_thread_that_carries_other_packets_does_not(name: str) -> None:
    found = flow(limits(kernel(name, 0.97)))
    assert found.stage.name != f"{name}[50]"


def port(second: int, name: str, bus: str, **counts: int) -> dict[str, list[Any]]:
    return {
        "links": [link(name, int(name[-1]) + 2, carrier=True, parent=bus, bus="pci", mtu=1500)],
        "linkmodes": [linkmodes.Row(name, speed=1e9)],
        "pci": [pci.carried(pci.Row(name, 5.0, 1))],
        "link_stats": [stats(name, **{what: second * rate for what, rate in counts.items()})],
    }


def test_ports_of_one_slot_fill_it_together() -> None:
    def at(second: int) -> Tables:
        each = [
            port(second, f"p{n}", f"0000:01:00.{n}", tx_bytes=100_000_000, tx_packets=70_000)
            for n in range(4)
        ]
        return {table: [row for one in each for row in one[table]] for table in each[0]}

    facts = joined(*map(at, range(4)))
    sends = [one for one in facts.limits if one.over == "nic" and one.direction == "tx"]
    assert {one.stage.stage for one in sends} == {"slot"}
    assert sends[0].stage.name == "PCI Express slot of p0, p1, p2, p3"
    assert step(sends[0], "slot").capacity == pytest.approx((0.9 * 0.8e9, 1.1 * 0.8e9))


@pytest.mark.parametrize(
    ("passed", "why"), [(0, "nobody empties it"), (90_000, "no free receive descriptor")]
)
def test_a_ring_that_nobody_empties_is_told_from_a_full_one(passed: int, why: str) -> None:
    def at(second: int) -> Tables:
        return {
            **port(second, "p0", "0000:01:00.0", rx_packets=passed, rx_bytes=passed * 500),
            "drvinfo": [drvinfo.Row("p0", "bnx2")],
            "nicstats": [nicstats.Row("p0", "bnx2", ring_drops=730 * second)],
        }

    (received,) = [
        one for one in joined(*map(at, range(4))).limits
        if one.over == "nic" and one.direction == "rx"
    ]  # fmt: skip
    assert received.stage.because == f"mean 730 packets/s dropped: {why}"


@pytest.mark.parametrize(("notsent", "again", "stage"), [
    (500_000, 0, "provider"), (0, 40, "provider"), (0, 0, "application"),
])  # fmt: skip
def test_an_allowance_limits_no_flow_of_which_nothing_waits(
    notsent: int, again: int, stage: str
) -> None:
    """Others spend it: what is forwarded, such as by a NAT instance."""

    def make(second: float) -> Tables:
        rates = {"total_retrans": again, "busy_time": 30_000}
        tables: Tables = sender(second, notsent=notsent, rates=rates, more=losing(second, pps=800))
        return tables

    assert flow(limits(make)).stage.stage == stage
