"""What a frame keeps of the one before: an idle host costs little. Counts, never seconds."""

from dataclasses import fields, replace
from typing import Any

import pytest
from flow_tables import HOST, Tables, frames, link, socket, task

from nettop.advice.language.moment import Past
from nettop.collect import link_stats, socket_owners
from nettop.facts.joined import Joiner
from nettop.facts.kinds.nic import Counters, Nic
from nettop.facts.limits import window

IDLE: dict[str, Any] = {
    "rtt": 400, "mss": 1448, "cwnd": 10, "bytes_acked": 5, "bytes_received": 5, "segs_out": 2,
    "total_retrans": 0, "busy_time": 0, "rwnd_limited": 0, "sndbuf_limited": 0,
}  # fmt: skip


def idle(count: int) -> Tables:
    """A host whose connections move nothing: the collector gives the same rows each time."""
    return {
        **HOST,
        "sockets_tcp": [
            socket(**{**IDLE, "cookie": n, "inode": 100 + n, "remote_port": 40_000 + n})
            for n in range(count)
        ],
        "socket_owners": [socket_owners.Row(100 + n, 7, "server") for n in range(count)],
        "processes": [task(7, "server", 0, 0.0)],
    }


def test_flows_of_closed_sockets_are_forgotten() -> None:
    joiner = Joiner()
    moments = [idle(600), idle(600), idle(3), idle(3)]
    for frame in frames(*moments):
        joiner.build(frame)
    assert len(joiner.kept) == 3


def test_a_socket_that_rests_for_ten_seconds_is_not_followed() -> None:
    joiner = Joiner()
    moment = idle(5)
    for frame in frames(*[moment] * 14):
        joiner.build(frame)
    assert joiner.ladder.window.tcp.series == {}
    assert joiner.ladder.window.tcp.last_wanted == {}


def test_the_window_computes_a_mean_once_a_frame() -> None:
    past = window.Window()
    values = iter((1.0, 2.0))
    assert [past.once("a", lambda: next(values)) for _ in range(3)] == [1.0] * 3
    (frame,) = frames(HOST)
    past.add(frame, ())
    assert past.once("a", lambda: next(values)) == 2.0


def test_the_worst_of_a_value_that_does_not_change_is_kept_once() -> None:
    past = Past()
    for second in range(100):
        past.add("worst(x, 60)", float(second), 60.0, {"eth0": 3.0})
    assert past.worst("worst(x, 60)", "eth0") == 3.0
    assert len(past._values["worst(x, 60)"]["eth0"]) == 1


def test_the_worst_value_is_that_of_the_last_seconds() -> None:
    past, values = Past(), [5.0, 1.0, 4.0, None, 2.0, 3.0, 0.0, 0.0]
    for second, value in enumerate(values):
        past.add("w", float(second), 3.0, {"eth0": value})
        recent = [v for v in values[max(0, second - 3) : second + 1] if v is not None]
        assert past.worst("w", "eth0") == max(recent)
    past.add("w", 9.0, 3.0, {})
    assert past.worst("w", "eth0") is None


def test_the_value_of_a_target_that_rests_is_what_it_was() -> None:
    past, values = Past(), [5.0, 1.0, None]
    for at, value in zip((0.0, 1.0, 2.0), values, strict=True):
        past.add("w", at, 3.0, {"a": value, "b": 1.0, "c": 7.0})
    for at in (3.0, 4.0, 5.0, 6.0):  # only `b` changes
        past.add("w", at, 3.0, {"b": 1.0}, rest=True)
    assert past.worst("w", "c") == 7.0
    past.add("w", 7.0, 3.0, {"a": None, "b": 1.0, "c": 0.0})
    assert (past.worst("w", "a"), past.worst("w", "c")) == (None, 7.0)  # `c` was 7 until 6.0
    past.add("w", 9.5, 3.0, {"a": 1.0, "b": 1.0, "c": 0.0})
    assert (past.worst("w", "a"), past.worst("w", "c")) == (1.0, 0.0)
    past.add("w", 10.0, 3.0, {"b": 1.0})
    assert past.worst("w", "c") is None  # gone


def crowd(count: int, octets: int) -> Tables:
    """A host with so many virtual interfaces; the first one has received `octets`."""
    names = [f"veth{n}" for n in range(count)]
    zero: dict[str, Any] = dict.fromkeys(f.name for f in fields(link_stats.Row))
    added = [link(name, n + 10, kind="veth") for n, name in enumerate(names)]
    return {
        **HOST,
        "links": [*HOST["links"], *added],
        "link_stats": [
            link_stats.Row(**{
                **zero, "interface": name, "index": n + 10, "tx_bytes": 0, "rx_packets": 0,
                "tx_packets": 0, "rx_bytes": 0 if n else octets,
            })
            for n, name in enumerate(names)
        ],
    }  # fmt: skip


def judged(count: int) -> set[str]:
    joiner = Joiner()
    still = crowd(count, 0)["link_stats"][1:]
    busy = [crowd(count, second * 1_000_000) for second in range(4)]
    moments = [{**one, "link_stats": [one["link_stats"][0], *still]} for one in busy]
    facts = [joiner.build(frame) for frame in frames(*moments)][-1]
    return {one.target for one in facts.limits}


def test_of_many_interfaces_virtual_ones_that_rest_are_not_judged() -> None:
    assert judged(60) == {f"veth{n}" for n in range(60)}
    assert judged(300) == {"veth0"}


@pytest.mark.parametrize("octets", [0, 1_000_000])
def test_a_bond_that_loses_a_port_counts_it_whether_it_moves_data_or_not(octets: int) -> None:
    joiner, found = Joiner(), []
    moments = []
    for second, up in enumerate((True, True, True, False)):
        moment: dict[str, Any] = dict(crowd(1, octets * second))
        legs = [
            link(f"leg{n}", 40 + n, parent=f"q{n}", master="veth0", carrier=up or not n)
            for n in range(2)
        ]
        bond = replace(moment["links"][-1], kind="bond")
        moment["links"] = [*moment["links"][:-1], bond, *legs]
        moments.append(moment)
    for frame in frames(*moments):
        (bond,) = (nic for nic in joiner.build(frame).nics if nic.name == "veth0")
        found.append(bond.ports_down)
    assert found == [0, 0, 0, 1]


def test_an_interface_that_loses_or_has_a_queue_does_not_rest() -> None:
    past = window.Window()
    rest = Nic(name="veth0", kind="veth", per_s=Counters(rx_bytes=10.0, tx_bytes=10.0))
    (frame,) = frames(HOST)
    for at, nic in enumerate((rest, replace(rest, per_s=Counters(rx_bytes=11.0)))):
        past.add(replace(frame, at=float(at)), [nic])
    assert past.rests(nic)
    for other in (
        replace(rest, qdisc_backlog=9),
        replace(rest, per_s=Counters(qdisc_drops=1.0)),
        replace(rest, per_s=Counters(rx_bytes=2000.0)),
    ):
        assert not past.rests(other)
    past.add(replace(frame, at=2.0), [replace(rest, per_s=Counters(tx_bytes=5000.0))])
    past.add(replace(frame, at=3.0), [nic])
    assert not past.rests(nic)


@pytest.mark.parametrize(("count", "followed"), [(999, 999), (1000, 1)])
def test_of_many_sockets_only_those_that_may_be_limited_are_followed(
    count: int, followed: int
) -> None:
    def moment(second: int) -> Tables:
        rows = [
            socket(**{
                **IDLE, "cookie": n, "inode": 100 + n, "remote_port": 40_000 + n,
                "bytes_acked": second * (100_000 if n == 5 else 100),
            })
            for n in range(count)
        ]  # fmt: skip
        return {**HOST, "sockets_tcp": rows}

    past = window.Window()
    for frame in frames(*map(moment, range(1, 5)))[1:]:
        past.add(frame, ())
    assert len(past.tcp.series) == followed
    assert 105 in past.tcp.series
