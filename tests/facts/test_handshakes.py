"""The listener with a full SYN queue, and what a receiving flow waits for."""

from typing import Any

import pytest
from flow_tables import joined, socket

from nettop.collect import half_open, kernel, socket_owners, sysctls
from nettop.collect.sockets_tcp import Row
from nettop.facts.kinds.listener import build
from nettop.frame.fields import altered
from nettop.frame.rates import Entry, Frame

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


# Connections that a program does not close, or has not got, at the socket of their port.


_UNUSED = (
    "interface", "congestion", "timestamps", "sack", "wscale", "ecn", "snd_wscale", "rcv_wscale",
    "app_limited", "probes", "backoff", "uid",
)  # fmt: skip


def _row(state: str, inode: int, send_q: int = 0) -> Row:
    fields: dict[str, Any] = dict.fromkeys(_UNUSED)
    fields |= {"cookie": inode, "namespace": 0, "family": 4, "local": "10.0.0.1", "local_port": 80}
    fields |= {"remote": "10.0.0.2", "remote_port": 4000, "state": state, "inode": inode}
    return Row(**{**fields, "recv_q": 1, "send_q": send_q})


@pytest.mark.parametrize(
    ("state", "inode", "send_q", "counted"),
    [
        ("close-wait", 8, 0, 1),
        ("close-wait", 0, 0, 0),  # not accepted: it has no file
        ("close-wait", 8, 900, 0),  # the answer is not yet sent
        ("established", 8, 0, 0),
    ],
)
def test_a_connection_closed_by_the_peer_alone_counts(
    state: str, inode: int, send_q: int, counted: int
) -> None:
    rows = (_row("listen", 7, send_q=128), _row(state, inode, send_q))
    (listener,) = build(Frame(0.0, 0.0, {"sockets_tcp": tuple(map(Entry, rows))}), None)
    assert listener.unclosed == counted


@pytest.mark.parametrize(("local", "port", "silent"), [
    ("10.0.0.1", 80, 4), ("10.0.0.1", 81, 0), ("10.0.0.3", 80, 0),
])  # fmt: skip
def test_clients_that_say_nothing_wait_at_the_socket_of_their_port(
    local: str, port: int, silent: int
) -> None:
    rows = (_row("listen", 7, send_q=128), altered(_row("established", 8), bytes_received=9))
    (listener,) = build(Frame(0.0, 0.0, {
        "sockets_tcp": tuple(map(Entry, rows)),
        "half_open": (Entry(half_open.Row(local, port, 5, 4)),),
    }), None)  # fmt: skip
    assert (listener.silent, listener.heard, listener.open) == (silent, 1, 1)
