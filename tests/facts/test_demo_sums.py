"""The figures of the demo fit together: what is on a core, a queue or an interface adds up."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hosts import demo

from nettop.facts import Facts
from nettop.host.played import Played
from nettop.host.recording import Replay, load
from nettop.views.observer import Observer

RULES = Path(__file__).parents[2] / "rules"
SLACK = 2.0  # percent of a core: times are counted in ticks of 10 ms, in two windows
ENDS = ("demo-ends.host.gz", "demo-ends.peer.host.gz")
PACKETS = 0.001  # of an interface: its ARP and the like are no packets of a flow
HEADERS = 66  # bytes of Ethernet, IP and TCP with timestamps


@cache
def moments(name: str) -> tuple[Facts, ...]:
    """The facts of all moments that have rates; `cured` is the demo after its change."""

    def read() -> Iterator[Facts]:
        source = Replay(load(str(RULES / ("demo.host.gz" if name == "cured" else name))))
        if name == "cured":
            both = (load(str(RULES / f"{one}.host.gz")) for one in ("demo", "demo-cured"))
            source.moments = [*Played(*both).courses[True]]
            source._step(0)
        observer = Observer(source)
        observer.step()
        while source.wait(1):
            yield observer.step().facts

    return tuple(read())


@pytest.mark.parametrize("name", ["demo.host.gz", "cured", *ENDS])
def test_no_core_and_no_process_is_busier_than_there_is_time(name: str) -> None:
    assert len(moments(name)) >= 10
    for facts in moments(name):
        busy = {core.cpu: 100.0 - core.idle for core in facts.cores if core.idle is not None}
        used = {one.pid: (one.user or 0.0) + (one.system or 0.0) for one in facts.processes}
        assert busy
        assert all(0.0 <= load <= 100.0 for load in busy.values())
        assert sum(used.values()) <= sum(busy.values()) + SLACK * len(busy)


@pytest.mark.parametrize("name", ["demo.host.gz", "cured"])
def test_a_core_is_as_busy_as_its_processes_and_interrupts(name: str) -> None:
    """Processes are read each two seconds: their core is that of these seconds."""
    before: list[dict[int, float]] = []
    for facts in moments(name):
        before.append({core.cpu: core.idle or 0.0 for core in facts.cores})
        del before[:-3]
        for core in facts.cores if len(before) == 3 else ():
            own = sum((one.user or 0.0) + (one.system or 0.0)
                      for one in facts.processes if one.cpu == core.cpu)  # fmt: skip
            busy = [100.0 - idle[core.cpu] for idle in before]
            rest = (core.softirq or 0.0) + (core.irq or 0.0)
            assert own + rest <= max(busy) + SLACK, core
            assert own + rest >= min(busy) - SLACK, core


@pytest.mark.parametrize("name", ["demo.host.gz", "cured"])
def test_queues_and_flows_are_their_interface(name: str) -> None:
    for facts in moments(name):
        (nic,) = (one for one in facts.nics if (one.per_s.rx_packets or 0.0) > 1000)
        packets, received = nic.per_s.rx_packets, nic.per_s.rx_bytes
        assert packets
        assert received
        own = [one for one in facts.queues if one.nic == nic.name and one.direction == "rx"]
        assert sum(one.packets_per_s or 0.0 for one in own) == pytest.approx(packets, rel=PACKETS)
        assert sum(one.share or 0.0 for one in own) == pytest.approx(1.0, rel=PACKETS)
        flows = [one for one in facts.flows if one.nic == nic.name]
        data = sum(one.rx_per_s or 0.0 for one in flows)
        assert data + HEADERS * packets == pytest.approx(received, rel=PACKETS)
        assert bool(nic.per_s.ring_drops) is (name != "cured")
        for one in own:  # a stream has a queue of its own
            here = [flow for flow in flows if flow.queue == one.name]
            assert len(here) <= 1
            data = sum(flow.rx_per_s or 0.0 for flow in here)
            whole = data + HEADERS * (one.packets_per_s or 0.0)
            assert whole == pytest.approx(one.bytes_per_s or 0.0, rel=PACKETS, abs=1)


@pytest.mark.parametrize("name", ["demo.host.gz", "cured"])
def test_flows_of_two_seconds_ago_are_no_more_than_the_interface_now(name: str) -> None:
    """A screen reads sockets less often than interfaces, and shows both."""
    told = [
        (sum(one.rx_per_s or 0.0 for one in facts.flows if one.nic == "ens2np0"),
         max(nic.per_s.rx_bytes or 0.0 for nic in facts.nics))
        for facts in moments(name)
    ]  # fmt: skip
    for place in range(2, len(told)):
        before = told[place - 2][0], told[place - 1][0]
        assert max(sum(before) / 2, before[1]) <= told[place][1]


def test_the_larger_ring_receives_more_in_each_second() -> None:
    def rates(name: str) -> list[float]:
        return [max(nic.per_s.rx_bytes or 0.0 for nic in facts.nics) for facts in moments(name)]

    for before, after in zip(rates("demo.host.gz"), rates("cured"), strict=True):
        assert 8 * after > 9e10 > 8 * before


def test_the_demo_is_what_its_program_writes() -> None:
    for name, data in demo.archives():
        assert load(str(RULES / name)) == data, "run tests/hosts/demo.py"
