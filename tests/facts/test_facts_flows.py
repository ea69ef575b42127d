"""Flows joined: their path, queue, interrupt and process."""

from dataclasses import replace
from typing import Any

import pytest
from flow_tables import HOST, KEY, Tables, joined, moving, socket, table_of, task
from folded import folded

from nettop.collect import (
    addresses,
    nicqueues,
    queues,
    routes,
    rss,
    socket_owners,
    sockets_udp,
)
from nettop.facts.kinds import path
from nettop.facts.toeplitz import Packet, key_bytes, queue_of
from nettop.facts.wiring import Routes


@folded(
    ("values", "wants"),
    [({}, False), ({"notsent": 200}, True), ({"backoff": 3}, True), ({"probes": 1}, True),
     ({"lost": 1}, True), ({"busy_time": 600_000}, True), ({"busy_time": 400_000}, False)],
)  # fmt: skip
def test_a_flow_wants_to_move_when_data_waits_however_slow_it_is(
    values: dict[str, int], wants: bool
) -> None:
    plain = {"bytes_acked": 1000, "bytes_received": 0, "total_retrans": 0, "busy_time": 0}
    (flow,) = joined(*moving(**{**plain, **values})).flows
    assert (flow.bulk, flow.wants) == (False, wants)


def test_what_a_flow_lost_since_it_began_is_known() -> None:
    (flow,) = joined(*moving(total_retrans=50, data_segs_out=4000, dsack_dups=10)).flows
    assert (flow.resent, flow.loss_total) == (50, 0.01)
    assert round(flow.loss_bound or 0) == round(8 * 1448 * 1.22 / (0.0004 * 0.1))
    (flow,) = joined(*moving(total_retrans=50, data_segs_out=40)).flows
    assert (flow.loss_total, flow.loss_bound) == (None, None), "more than was ever sent"
    (flow,) = joined(
        *moving(unacked=1, bytes_acked=0, bytes_received=0, backoff=4, data_segs_out=1)
    ).flows
    assert (flow.direction, flow.backoff, flow.acked) == ("send", 4, 0)


@pytest.mark.parametrize(
    ("drops", "waiting", "name"),
    [(9, 0, "web[7], 0.0.0.0:80"), (0, 11, "web[7], 0.0.0.0:80"), (0, 10, None)],
)
def test_the_listener_with_a_full_accept_queue_is_named(
    drops: int, waiting: int, name: str | None
) -> None:
    def at(step: int) -> Tables:
        row = socket(state="listen", local="0.0.0.0", local_port=80, inode=5, recv_q=waiting,
                     send_q=10, drops=drops * step)  # fmt: skip
        other = replace(row, cookie=9, local_port=81, inode=6, recv_q=0, drops=0)
        return {"sockets_tcp": [row, other], "socket_owners": [socket_owners.Row(5, 7, "web")]}

    host = joined(at(0), at(1)).host
    assert (host.full_listener, host.full_backlog) == (name, 10 if name else None)


def test_a_process_with_datagrams_is_not_at_the_end_of_a_path_with_no_bytes() -> None:
    (process,) = joined(*moving()).processes
    silent = replace(process, tx_per_s=0.0)
    assert path._process(silent, "tx").rate == 0.0
    assert path._process(replace(silent, udp=1), "tx").rate is None
    assert path._process(replace(process, udp=1), "tx").rate == 8e8


@folded(
    ("change", "why"),
    [
        ({"rss": []}, "does not report how"),
        ({"rss": [rss.Row("eth0", None, (0, 1), "toeplitz")]}, "hides its RSS key"),
        (
            {
                "rss": [
                    rss.Row(
                        "eth0", KEY, (0, 1), "toeplitz", hash_tcp4="sdfn", transform="transform 4"
                    )
                ]
            },
            "a transform 4 makes",
        ),
        ({"rss": [rss.Row("eth0", KEY, (0, 1), "toeplitz")]}, "which fields"),
        ({"rss": [rss.Row("eth0", KEY, (0, 1), "xor", hash_tcp4="sdfn")]}, "cannot be computed"),
        ({"routes": [], "addresses": []}, "no route"),
    ],
)
def test_an_unknown_queue_has_its_reason(change: Tables, why: str) -> None:
    first, second = moving()
    (flow,) = joined({**first, **change}, {**second, **change}).flows
    assert flow.queue is None
    assert why in (flow.queue_why or "")
    assert flow.irq_cpu is None


def queue_counts(first: int, second: int) -> list[nicqueues.Row]:
    return [nicqueues.Row("eth0", "rx-0", 0, first, 0), nicqueues.Row("eth0", "rx-1", 0, second, 0)]


@pytest.mark.parametrize("mine", [True, False])
def test_a_queue_that_its_counters_contradict_is_not_named(mine: bool) -> None:
    """The flow receives 100 MB/s; the queue that RSS names counts them, or the other one does."""
    number = queue_of(
        key_bytes(KEY), table_of(2).table, "toeplitz", "sdfn",
        Packet("10.0.0.2", "10.0.0.1", 40001, 5001),
    )  # fmt: skip
    counts = [0, 0]
    counts[number if mine else 1 - (number or 0)] = 103_000_000  # type: ignore[index]
    first, second = moving(bytes_received=100_000_000, bytes_acked=0)
    facts = joined(
        {**first, "nicqueues": queue_counts(0, 0)}, {**second, "nicqueues": queue_counts(*counts)}
    )
    (flow,), (nic,) = facts.flows, [nic for nic in facts.nics if nic.name == "eth0"]
    assert nic.rss_obeyed is mine
    if mine:
        assert (flow.queue, flow.queue_why) == (f"rx-{number}", "computed from RSS")
        assert flow.irq_cpu == 2 + (number or 0)
    else:
        assert flow.queue is None
        assert (flow.queue_why or "").startswith(f"rx-{number} counts 0.0 Mbit/s, but the flows")
        assert flow.irq_cpu is None


def test_the_only_queue_is_the_queue() -> None:
    first, second = moving()
    one = {"queues": [queues.Row("eth0", "rx-0", ())], "rss": []}
    (flow,) = joined({**first, **one}, {**second, **one}).flows
    assert (flow.queue, flow.queue_why, flow.irq_cpu) == ("rx-0", "the only receive queue", 2)


def test_routes() -> None:
    found = Routes.of(
        [routes.Row("0.0.0.0/0", "eth1", 100, 254), routes.Row("10.0.0.0/8", "eth2", 0, 254),
         routes.Row("10.1.0.0/16", "eth3", 5, 254), routes.Row("10.1.0.0/16", "eth4", 1, 254),
         routes.Row("fd00::/8", "eth5", 0, 254), routes.Row("nonsense", "eth6", 0, 254)],
        [addresses.Row("eth7", "10.9.9.9", 24, 4, "global"),
         addresses.Row("eth8", "fe80::1", 64, 6, "link")],
    )  # fmt: skip
    assert found.interface("8.8.8.8") == "eth1"
    assert found.interface("10.2.0.1") == "eth2"
    assert found.interface("10.1.0.1") == "eth4"  # the lower metric
    assert found.interface("::ffff:10.2.0.1") == "eth2"
    assert found.interface("fd12::1") == "eth5"
    assert found.interface("2001:db8::1") is None
    assert found.interface("2001:db8::1", "10.9.9.9") == "eth7"
    assert found.interface("10.9.9.9") == "lo"
    assert found.interface("127.0.0.5") == "lo"
    assert found.interface("fe80::5", "fe80::1") == "eth8"
    assert found.interface("fe80::5%eth3") == "eth3"
    assert found.interface("*", "") is None


def test_a_route_is_looked_up_by_length_and_not_among_all() -> None:
    many = [routes.Row(f"20.{n >> 8}.{n & 255}.0/24", f"eth{n % 7}", 0, 254) for n in range(9999)]
    found = Routes.of([*many, routes.Row("0.0.0.0/0", "wan", 0, 254)], [])
    assert len(found.prefixes[4]) == 2
    assert found.interface("20.5.9.77") == f"eth{(5 << 8 | 9) % 7}"
    assert found.interface("21.0.0.1") == "wan"


def test_udp_sockets_that_lose() -> None:
    def at(drops: int) -> Tables:
        quiet = sockets_udp.Row(8, "0.0.0.0", 68, "0.0.0.0", 0, False, 0, 0, 0, 0)
        busy = sockets_udp.Row(9, "0.0.0.0", 4500, "0.0.0.0", 0, False, 0, 212992, 0, drops)
        return {
            **HOST,
            "sockets_udp": [quiet, busy],
            "socket_owners": [socket_owners.Row(9, 7, "wg")],
            "processes": [task(7, "wg", 1, 0)],
        }

    facts = joined(at(0), at(50))
    (flow,) = facts.flows
    assert (flow.protocol, flow.drops_per_s, flow.recv_q, flow.pid) == ("udp", 50, 212992, 7)
    assert flow.queue is None
    assert facts.processes[0].udp_drops == 50


# A send buffer full of data on the way, which the kernel's own clock does not always see.


@pytest.mark.parametrize(
    ("more", "full"),
    [
        # as seen in the lab, 64 KiB over 10 ms: 4.4 MB/s in 13 ms is 57 kB, of a window of 762
        ({}, True),
        # some looks met it empty: between an acknowledgement and the next write
        ({"send_q": 752, "unacked": 46}, True),
        ({"send_q": 0, "unacked": 0}, True),
        ({"sndbuf": 4_194_304}, False),  # the kernel has grown it
        ({"cwnd": 46}, False),  # the congestion window is what holds it
        ({"rtt": 1000}, False),  # 4 kB on the way: the program gives no more
        ({"sndbuf": None}, None),
        ({"rtt": None}, None),
    ],
)
def test_a_send_buffer_full_of_data_on_the_way_is_seen_without_the_kernels_clock(
    more: dict[str, Any], full: bool | None
) -> None:
    seen: dict[str, Any] = {
        "send_q": 65912, "sndbuf": 65536, "notsent": 0, "unacked": 46, "cwnd": 762, "rtt": 13_000,
        "bytes_acked": 4_400_000, "sndbuf_limited": 0, "rwnd_limited": 0, "app_limited": True,
        "total_retrans": 0, **more,
    }  # fmt: skip
    (flow,) = joined(*moving(**seen)).flows
    assert flow.sndbuf_limited == 0.0
    assert flow.sndbuf_full == full
