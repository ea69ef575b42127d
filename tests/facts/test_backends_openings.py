"""Programs behind Unix sockets, connections opened again and again, routes with metrics."""

from typing import Any

import pytest
from flow_tables import HOST, joined, socket, task
from nic_tables import stats

from nettop.collect import routes, socket_owners, sockets_udp, sockets_unix, sysctls
from nettop.facts import Facts

OWNERS = [
    socket_owners.Row(101, 70, "app"), socket_owners.Row(301, 70, "app"),
    socket_owners.Row(300, 80, "rsyslogd"), socket_owners.Row(302, 90, "cron"),
    socket_owners.Row(310, 85, "php-fpm"),
]  # fmt: skip


def behind(*rows: sockets_unix.Row, longest: str = "10") -> Any:
    """The backends of a host whose process 70 has a connection, on which nothing moves."""

    def at() -> Any:
        flow = socket(1, bytes_received=0, bytes_acked=0)
        settings = [sysctls.Row("net.unix.max_dgram_qlen", longest)]
        return {**HOST, "sockets_tcp": [flow], "socket_owners": OWNERS, "sysctls": settings,
                "processes": [task(70, "app", 1, 0.1), task(90, "cron", 1, 0.1)],
                "sockets_unix": rows}  # fmt: skip

    return joined(at(), at()).more["backend"]


def logs(inode: int, waiting: int, kind: str = "dgram") -> sockets_unix.Row:
    return sockets_unix.Row(inode, kind, 300, waiting, 212992)


def test_a_log_with_a_full_queue_and_the_program_that_waits_for_it() -> None:
    (one,) = behind(logs(301, 8448))
    assert (one.id, one.type, one.waiting) == ("rsyslogd[80]", "dgram", 8448)
    assert (one.writers, one.networked, one.pid) == (("app[70]",), True, 80)


def test_a_program_without_network_sockets_and_one_that_cannot_be_read_wait_too() -> None:
    (one,) = behind(logs(302, 8448), logs(399, 8448))
    assert (one.id, one.networked) == ("rsyslogd[80]", False)
    assert one.writers == ("cron[90]", "socket:[399]")


def test_of_writers_that_are_not_told_the_reader_is_known() -> None:
    (one,) = behind(sockets_unix.Row(300, "dgram", unread=70))
    assert (one.id, one.unread, one.waiting, one.writers) == ("rsyslogd[80]", 70, 0, ())


@pytest.mark.parametrize(
    "row",
    [
        logs(301, 1536),  # two messages on their way
        logs(301, 8448, "stream"),  # a stream has no limit of messages
        sockets_unix.Row(301, "dgram", None, 8448, 212992),
    ],
)
def test_a_backend_that_keeps_up_or_delays_nobody(row: sockets_unix.Row) -> None:
    assert behind(row) == ()


@pytest.mark.parametrize("kind", ["stream", "dgram"])
def test_a_send_buffer_that_is_full(kind: str) -> None:
    (one,) = behind(logs(301, 200_000, kind), longest="512")
    assert one.id == "rsyslogd[80]"


def test_a_listener_whose_backlog_is_exceeded() -> None:
    full, not_full = (sockets_unix.Row(310, "listen", None, n, 128) for n in (129, 128))
    (one,) = behind(full)
    assert (one.id, one.clients) == ("php-fpm[85]", 129)
    assert behind(not_full) == ()


def opened(before: list[Any], now: list[Any]) -> Any:
    tables = {**HOST, "socket_owners": OWNERS}
    return joined({**tables, "sockets_tcp": before}, {**tables, "sockets_tcp": now}).more["opening"]


def client(cookie: int, **more: Any) -> Any:
    return socket(cookie, local_port=40000 + cookie, remote="192.0.2.7", remote_port=443, **more)


def test_connections_that_were_not_there_at_the_last_look() -> None:
    stays, other = client(9, min_rtt=41_000), socket(20, min_rtt=90)
    new = [client(1, state="syn-sent"), client(2, state="last-ack", min_rtt=40_008), client(3)]
    (one,) = opened([stays, other, client(8)], [stays, other, *new])
    assert (one.id, one.fresh, one.sockets) == ("192.0.2.7:443", 3, 4)
    assert one.rtt == pytest.approx(0.040008)
    assert one.processes == ("app[70]",)


def test_a_server_does_not_open_the_connections_of_its_clients() -> None:
    door = socket(30, state="listen", local_port=443)
    new = [socket(n, local_port=443, remote="192.0.2.7", remote_port=4000) for n in (1, 2, 3)]
    assert opened([door], [door, *new]) == ()


def test_one_fresh_connection_is_listed_beside_the_one_that_stays() -> None:
    (one,) = opened([client(9)], [client(9), client(1)])
    assert (one.id, one.fresh, one.sockets) == ("192.0.2.7:443", 1, 2)
    assert opened([client(9)], [client(9)]) == ()


def told_small(size: int, advmss: int | None, received: int, sent: int = 0) -> Facts:
    """A flow of so many bytes/s in segments of `size`, by a route with `advmss`."""

    def at(step: int) -> Any:
        counts = {"bytes_received": received * step, "bytes_acked": sent * step,
                  "data_segs_in": received // size * step}  # fmt: skip
        way = routes.Row("10.0.0.0/24", "eth0", 0, 254, advmss=advmss)
        return {**HOST, "routes": [way], "sockets_tcp": [socket(1, min_rtt=900, **counts)]}

    return joined(at(0), at(1))


def test_a_route_whose_peers_send_segments_as_small_as_it_announces() -> None:
    (one,) = told_small(288, 300, 2_000_000).more["metric"]
    assert (one.to, one.advmss, one.cut, one.flows) == ("10.0.0.0/24", 300, 1, 0)


@pytest.mark.parametrize(
    ("size", "advmss", "received", "sent"),
    [
        (1448, 300, 2_000_000, 0),
        (100, 300, 2_000_000, 0),
        (288, None, 2_000_000, 0),
        (288, 300, 0, 2_000_000),
        (288, 300, 20_000, 0),  # requests and answers, not bulk
        (288, 300, 200_000, 20_000_000),  # a sender that is answered in small segments
    ],
)
def test_other_segments_are_not_those_of_the_route(
    size: int, advmss: int | None, received: int, sent: int
) -> None:
    assert told_small(size, advmss, received, sent).more["metric"] == ()


@pytest.mark.parametrize(
    ("initcwnd", "acked", "flows"), [(1, 40_000, 1), (1, 400_000, 0), (20, 40_000, 0)]
)
def test_a_connection_that_begins_by_a_route_with_a_small_window(
    initcwnd: int, acked: int, flows: int
) -> None:
    way = routes.Row("10.0.0.0/24", "eth0", 0, 254, initcwnd=initcwnd)
    page = socket(1, state="fin-wait-1", min_rtt=60_000, mss=1448, unacked=4, bytes_acked=acked)
    tables = {**HOST, "routes": [way]}
    found = joined(tables, {**tables, "sockets_tcp": [page]}).more["metric"]
    assert [(one.initcwnd, one.flows) for one in found] == [(1, 1)] * flows


def sent_from(ports: range, **more: Any) -> Any:
    """The destinations of a host whose datagram sockets are connected from these ports."""
    known = {"local": "10.0.0.1", "remote": "10.0.0.2", "remote_port": 53, "ipv6": False,
             "send_q": 0, "recv_q": 0, "uid": 0, "drops": 0, **more}  # fmt: skip
    rows = [sockets_udp.Row(inode=port, local_port=port, **known) for port in ports]
    settings = [sysctls.Row("net.ipv4.ip_local_port_range", "40000 40039")]
    tables = {**HOST, "sockets_udp": rows, "sysctls": settings}
    return joined(tables, tables).more["destination"]


def test_datagram_sockets_use_a_local_port_each() -> None:
    (one,) = sent_from(range(40000, 40038))
    assert (one.id, one.local, one.ports, one.available) == ("10.0.0.2:53", "10.0.0.1", 38, 40)
    assert one.datagrams


def test_few_datagram_sockets_other_ports_and_servers_are_not_listed() -> None:
    assert sent_from(range(40000, 40009)) == ()
    assert sent_from(range(50000, 50090)) == ()
    assert sent_from(range(40000, 40038), remote="0.0.0.0", remote_port=0) == ()


@pytest.mark.parametrize(("received", "flows"), [(1_400_000, 1), (20_000, 0)])
def test_a_short_transfer_by_a_route_with_a_small_window(received: int, flows: int) -> None:
    way = routes.Row("10.0.0.0/24", "eth0", 0, 254, window=16384)
    page = socket(1, min_rtt=40_000, bytes_received=received)
    tables = {**HOST, "routes": [way], "link_stats": [stats("eth0", rx_packets=1)]}
    found = joined(tables, {**tables, "sockets_tcp": [page]}).more["metric"]
    assert [(one.window, one.flows, one.rtt) for one in found] == [(16384, 1, 0.04)] * flows
    unrated = {**HOST, "routes": [way], "sockets_tcp": [page]}  # it may be older than nettop
    assert joined(unrated, {**unrated, "sockets_tcp": [page]}).more["metric"] == ()
