"""The figures of the demo fit together: what is on a core, a queue or an interface adds up."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hosts import demo, demo_ends
from hosts.demo_host import NIC, SECONDS

from nettop.facts import Facts
from nettop.frame.rates import Both, Frame
from nettop.host.played import Played
from nettop.host.recording import Replay, load, mark_of, other_end
from nettop.sampling.sampler import BothSampler, Sampler
from nettop.views.observer import Observer

RULES = Path(__file__).parents[2] / "rules"
SLACK = 2.0  # percent of a core: times are counted in ticks of 10 ms, in two windows
ENDS = ("demo-ends.host.gz", "demo-ends.peer.host.gz")
CURED = tuple(name.replace("ends", "ends-cured") for name in ENDS)
ALL = ("demo.host.gz", "demo-cured.host.gz", *ENDS, *CURED)
BOTH = pytest.mark.parametrize("files", [ENDS, CURED], ids=["as it is", "after the change"])
FEW = 0.001  # of an interface: its ARP and the like are no packets of a flow
HEADERS = 66  # bytes of Ethernet, IP and TCP with timestamps


def played(name: str) -> Replay:
    """A demo; of the entries that differ after its change, the demo with them."""
    if "-cured" not in name:
        return Replay(load(str(RULES / name)))
    both = (load(str(RULES / one)) for one in (name.replace("-cured", ""), name))
    source = Played(*both).changed(far=False)
    source.loop = False
    return source


@cache
def moments(name: str) -> tuple[Facts, ...]:
    """The facts of all moments that have rates, in a demo or in one after its change."""

    def read() -> Iterator[Facts]:
        source = played(name)
        observer = Observer(source)
        observer.step()
        while source.wait(1):
            yield observer.step().facts

    return tuple(read())


@pytest.mark.parametrize("name", ALL)
def test_no_core_and_no_process_is_busier_than_there_is_time(name: str) -> None:
    assert len(moments(name)) >= 10
    for facts in moments(name):
        busy = {core.cpu: 100.0 - core.idle for core in facts.cores if core.idle is not None}
        used = {one.pid: (one.user or 0.0) + (one.system or 0.0) for one in facts.processes}
        assert busy
        assert all(0.0 <= load <= 100.0 for load in busy.values())
        assert sum(used.values()) <= sum(busy.values()) + SLACK * len(busy)


@pytest.mark.parametrize("name", ALL)
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


@pytest.mark.parametrize("name", ALL)
def test_queues_and_flows_are_their_interface(name: str) -> None:
    for facts in moments(name):
        (nic,) = (one for one in facts.nics if (one.per_s.rx_packets or 0.0) > 1000)
        assert bool(nic.per_s.ring_drops) is (name == "demo.host.gz")
        flows = [one for one in facts.flows if one.nic == nic.name]
        for way in ("rx", "tx"):
            packets, carried = (
                getattr(nic.per_s, f"{way}_{what}") for what in ("packets", "bytes")
            )
            own = [one for one in facts.queues if (one.nic, one.direction) == (nic.name, way)]
            assert sum(one.packets_per_s or 0.0 for one in own) == pytest.approx(packets, rel=FEW)
            assert sum(one.bytes_per_s or 0.0 for one in own) == pytest.approx(carried, rel=FEW)
            assert sum(one.share or 0.0 for one in own) == pytest.approx(1.0, rel=FEW)
            data = sum(getattr(one, f"{way}_per_s") or 0.0 for one in flows)
            assert data + HEADERS * packets == pytest.approx(carried, rel=FEW)
            for one in own:  # a stream has a queue of its own
                here = [flow for flow in flows if flow.queue == f"rx-{one.number}"]
                assert len(here) <= 1
                data = sum(getattr(flow, f"{way}_per_s") or 0.0 for flow in here)
                whole = data + HEADERS * (one.packets_per_s or 0.0)
                assert whole == pytest.approx(one.bytes_per_s or 0.0, rel=FEW, abs=1)


@pytest.mark.parametrize("name", ALL)
def test_flows_of_two_seconds_ago_are_no_more_than_the_interface_now(name: str) -> None:
    """A screen reads sockets less often than interfaces, and shows both."""
    for way in ("rx_per_s", "tx_per_s"):
        told = [
            (sum(getattr(one, way) or 0.0 for one in facts.flows if one.nic == NIC),
             max(getattr(nic.per_s, f"{way[:2]}_bytes") or 0.0 for nic in facts.nics))
            for facts in moments(name)
        ]  # fmt: skip
        for place in range(2, len(told)):
            before = told[place - 2][0], told[place - 1][0]
            assert max(sum(before) / 2, before[1]) <= told[place][1]


def test_the_larger_ring_receives_more_in_each_second() -> None:
    def rates(name: str) -> list[float]:
        return [max(nic.per_s.rx_bytes or 0.0 for nic in facts.nics) for facts in moments(name)]

    for before, after in zip(rates("demo.host.gz"), rates("demo-cured.host.gz"), strict=True):
        assert 8 * after > 9e10 > 8 * before


def stream(frame: Frame) -> Any:
    """The socket of the transfer."""
    (one,) = (
        row
        for row in frame.rows("sockets_tcp")
        if row.state == "established" and {row.local, row.remote} == {*demo_ends.FAST}
    )
    return one


@cache
def frames(files: tuple[str, str]) -> tuple[Both, ...]:
    """Both ends at all moments, as they are read together."""
    near = played(files[0])
    far = other_end(near, str(RULES / ENDS[1]), mark_of(near.comment))
    far.begin(played(files[1]).moments)
    sampler = BothSampler(Sampler(near), Sampler(far))
    wanted = {"sockets_tcp", "link_stats", "sysctls"}
    return (
        sampler.take(wanted),
        *(sampler.take(wanted) for _ in iter(lambda: near.wait(1), False)),
    )


@BOTH
def test_both_ends_of_a_transfer_tell_the_same(files: tuple[str, str]) -> None:
    assert len(frames(files)) == SECONDS + 1
    for both in frames(files):
        near, far = stream(both.here), stream(both.there)
        assert (near.local, near.local_port) == (far.remote, far.remote_port)
        assert (near.snd_wscale, near.rcv_wscale) == (far.rcv_wscale, far.snd_wscale)
        # what dtn1 knows of when the answer of dtn2 has come
        assert near.bytes_acked == far.bytes_received
        (here,), (there,) = (
            [row for row in one.rows("link_stats") if row.interface == NIC]
            for one in (both.here, both.there)
        )
        assert (here.tx_packets, here.rx_packets) == (there.rx_packets, there.tx_packets)
        assert (here.tx_bytes, here.rx_bytes) == (there.rx_bytes, there.tx_bytes)


@BOTH
def test_the_transfer_is_limited_by_the_window_that_the_receiver_offers(
    files: tuple[str, str],
) -> None:
    before: Both | None = None
    buffer = demo_ends.COURSES[files is CURED].buffer
    for both in frames(files):
        near, far = stream(both.here), stream(both.there)
        known = {row.name: row.value for row in both.there.rows("sysctls")}
        most = int(known["net.ipv4.tcp_rmem"].split()[2])
        assert far.rcvbuf == most == buffer  # tcp_rcv_space_adjust(): twice what arrives, at most
        assert far.rcv_ssthresh == far.rcv_space == most // 2  # tcp_adv_win_scale is 1
        assert near.snd_wnd == far.rcv_ssthresh
        flying = near.unacked * near.mss
        assert flying <= near.snd_wnd < flying + near.mss < 2 * near.cwnd * near.mss
        assert near.bytes_sent - near.bytes_acked == flying == near.send_q - near.notsent
        assert near.data_segs_out - far.data_segs_in == near.unacked
        assert near.wmem_queued <= near.sndbuf
        assert far.rmem_alloc < most // 50
        assert near.min_rtt <= near.rtt <= far.rcv_rtt
        if before is not None:
            was = stream(before.here)
            moved = near.bytes_acked - was.bytes_acked
            assert moved * near.rtt / 1e6 == pytest.approx(flying, rel=FEW)
            assert 0.9e6 < near.rwnd_limited - was.rwnd_limited < near.busy_time - was.busy_time
        before = both


@BOTH
def test_the_sockets_close_together_are_read_before_and_after_those_of_the_other_end(
    files: tuple[str, str],
) -> None:
    for both in frames(files):
        first, last = stream(both.close.before), stream(both.close.after)
        there = stream(both.close.there)
        assert first.bytes_acked < there.bytes_received < first.bytes_sent + first.mss
        assert last.bytes_acked == there.bytes_received
        trip = last.rtt / 1e6
        ahead = both.close.there.wall - both.close.after.wall + trip / 2
        assert ahead == pytest.approx(demo_ends.AHEAD, abs=0.001)


def test_the_demo_is_what_its_program_writes() -> None:
    for program in (demo, demo_ends):
        for name, data in program.archives():
            assert load(str(RULES / name)) == data, f"run {program.__file__}"
