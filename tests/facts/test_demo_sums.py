"""The figures of the demo fit together: what is on a core, a queue or an interface adds up."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from nettop.facts import Facts
from nettop.host.recording import Replay, load
from nettop.views.observer import Observer

RULES = Path(__file__).parents[2] / "rules"
SLACK = 2.0  # percent of a core: times are counted in ticks of 10 ms, in two windows
PACKETS = 0.03  # of an interface: its queues are counted by the driver, a moment later


@cache
def moments(name: str) -> tuple[Facts, ...]:
    """The facts of all moments that have rates."""

    def read() -> Iterator[Facts]:
        source = Replay(load(str(RULES / name)))
        observer = Observer(source)
        observer.step()
        while source.wait(1):
            yield observer.step().facts

    return tuple(read())


@pytest.mark.parametrize("name", ["demo.host.gz", "demo-ends.host.gz", "demo-ends.peer.host.gz"])
def test_no_core_and_no_process_is_busier_than_there_is_time(name: str) -> None:
    assert len(moments(name)) >= 10
    for facts in moments(name):
        busy = {core.cpu: 100.0 - core.idle for core in facts.cores if core.idle is not None}
        used = {one.pid: (one.user or 0.0) + (one.system or 0.0) for one in facts.processes}
        assert busy
        assert all(0.0 <= load <= 100.0 for load in busy.values())
        assert sum(used.values()) <= sum(busy.values()) + SLACK * len(busy)
        for one in facts.processes:
            if one.threads == 1 and one.cpu in busy and name == "demo.host.gz":
                assert used[one.pid] <= busy[one.cpu] + SLACK, one


def test_queues_and_flows_are_no_more_than_their_interface() -> None:
    for facts in moments("demo.host.gz"):
        (nic,) = (one for one in facts.nics if (one.per_s.rx_packets or 0.0) > 100)
        packets, received = nic.per_s.rx_packets, nic.per_s.rx_bytes
        assert packets
        assert received
        own = [one for one in facts.queues if one.nic == nic.name and one.direction == "rx"]
        assert sum(one.packets_per_s or 0.0 for one in own) == pytest.approx(packets, rel=PACKETS)
        assert sum(one.share or 0.0 for one in own) <= 1.0 + PACKETS
        flows = sum(one.rx_per_s or 0.0 for one in facts.flows if one.nic == nic.name)
        assert 0.0 < flows <= received
        assert nic.per_s.ring_drops
