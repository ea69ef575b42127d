"""The listener with a full SYN queue, and what a receiving flow waits for."""

from __future__ import annotations

from typing import Any

import pytest
from flow_tables import joined, socket

from nettop.collect import half_open, kernel, socket_owners, sysctls

OWNERS = [socket_owners.Row(101, 9, "nginx"), socket_owners.Row(102, 7, "app")]


def listener(cookie: int, port: int, backlog: int, local: str = "0.0.0.0") -> Any:
    return socket(cookie, state="listen", local=local, local_port=port, remote="0.0.0.0",
                  remote_port=0, send_q=backlog)  # fmt: skip


def host(*rows: half_open.Row, **more: Any) -> Any:
    tables = {
        "sockets_tcp": [listener(1, 443, 5), listener(2, 80, 100, "10.0.0.1")],
        "socket_owners": OWNERS, "half_open": list(rows), "kernel": [], **more,
    }  # fmt: skip
    return joined(tables, tables).host


def test_the_listener_whose_handshakes_fill_its_backlog_is_named() -> None:
    found = host(half_open.Row("10.0.0.1", 443, 3), half_open.Row("10.0.0.9", 443, 2))
    assert (found.syn_listener, found.syn_backlog) == ("nginx[9], 0.0.0.0:443", 5)


def test_a_listener_with_room_is_not_named() -> None:
    found = host(half_open.Row("10.0.0.1", 443, 4), half_open.Row("10.0.0.1", 80, 99))
    assert (found.syn_listener, found.syn_backlog) == (None, None)


def test_a_listener_of_another_address_has_no_part_in_it() -> None:
    assert host(half_open.Row("10.0.0.9", 80, 500)).syn_listener is None


@pytest.mark.parametrize(("waiting", "most", "cookies", "room"), [
    (7, "8", "0", (7, True)), (6, "8", "0", None), (7, "8", "1", None), (7, "x", "0", None),
    (100, "512", "0", (100, False)),
])  # fmt: skip
def test_without_cookies_the_host_bounds_the_queue(
    waiting: int, most: str, cookies: str, room: tuple[int, bool] | None
) -> None:
    values = {"net.ipv4.tcp_max_syn_backlog": most, "net.ipv4.tcp_syncookies": cookies}
    rows = [sysctls.Row(*one) for one in values.items()]
    found = host(half_open.Row("10.0.0.1", 80, waiting), sysctls=rows)
    assert (found.syn_backlog, found.syn_bound) == (room or (None, False))


def flow(**more: Any) -> Any:
    counts = {"segs_out": 0, "data_segs_in": 0, "data_segs_out": 0, "bytes_received": 300}
    later = {"segs_out": 50, "data_segs_in": 44, "data_segs_out": 22, "bytes_received": 300}
    tables = {"kernel": [kernel.Row(release="6.1", hostname="host")]}
    (one,) = joined(
        {**tables, "sockets_tcp": [socket(**counts, **more)]},
        {**tables, "sockets_tcp": [socket(**later, **more)]},
    ).flows
    return one


def test_memory_without_unread_bytes_waits_behind_a_gap() -> None:
    one = flow(rmem_alloc=2304, rcv_ooopack=1)
    assert (one.behind_gap, one.received) == (2304, 300)
    assert flow(rmem_alloc=2304, rcv_ooopack=1, recv_q=9).behind_gap == 0
    assert flow(rmem_alloc=2304, rcv_ooopack=0).behind_gap == 0  # completions of MSG_ZEROCOPY


def test_the_window_that_this_end_offers_is_bound_by_its_scale() -> None:
    assert flow(rcv_ssthresh=900_000, wscale=True, rcv_wscale=0).offers == 65535
    assert flow(rcv_ssthresh=900_000, wscale=True, rcv_wscale=7).offers == 900_000
    assert flow(rcv_ssthresh=90_000, wscale=False, rcv_wscale=None).offers == 90_000
    assert flow(rcv_ssthresh=None, wscale=True, rcv_wscale=0).offers is None


def test_segments_without_data_are_acknowledgements() -> None:
    one = flow()
    assert (one.data_in, one.data_out, one.acks_out) == (44, 22, 28)
