"""A program that passes data on, and waits for its other connection."""

from typing import Any

from asleep import asleep
from flow_tables import Tables, socket
from folded import folded
from limit_frames import AWAY, GAUGES, RECEIVES, flow, limits, moment

from nettop.collect import socket_owners, waits

ROOM = {**AWAY, "wmem_queued": 0}
IDLE = {"busy_time": 50_000}
UNREAD = {**AWAY, "recv_q": 3_000_000, "rmem_alloc": 4_000_000, "rcvbuf": 6_000_000}


def row(call: str, kind: str, of: str) -> waits.Row:
    """Its only thread: it sleeps in this call."""
    return asleep(7, 7, 5, "iperf3", "S", call, kind, of)


@folded(("call", "of", "other", "stage"), [
    ("recvfrom", "socket:[99]", {"bytes_received": 1e6}, "relay"),
    ("recvfrom", "socket:[101]", {"bytes_received": 1e6}, "application"),
    ("epoll_wait", "", {"bytes_received": 1.2e8}, "relay"),
    ("epoll_wait", "", {"bytes_received": 1e6}, "application"),  # too little for what it sends
])  # fmt: skip
def test_a_program_that_sends_on_waits_for_its_other_connection(
    call: str,
    of: str,
    other: dict[str, float],
    stage: str,
) -> None:
    one = row(call, "input" if of else "events", of)
    found = flow(limits(lambda s: relayed(s, one, IDLE, ROOM, other, {})))
    assert found.stage.stage == stage
    if stage == "relay":
        assert "10.0.0.9:80" in found.stage.because


@folded(("rate", "more", "stage"), [
    (5e7, {}, "application"),  # each thread has a client of its own, which sends requests
    (1e8, {}, "relay"),  # what one client sends, the others get
    (5e5, {"local_port": 5002}, "application"),  # hardly a byte comes
])  # fmt: skip
def test_another_client_whose_request_a_thread_waits_for_is_no_relay(
    rate: float, more: dict[str, Any], stage: str
) -> None:
    one, port = row("recvfrom", "input", "socket:[99]"), {"local_port": 5001, **more}
    found = flow(limits(lambda s: relayed(s, one, IDLE, ROOM, {"bytes_received": rate}, port)))
    assert found.stage.stage == stage


@folded(("call", "of", "unsent", "stage"), [
    ("sendto", "socket:[99]", 0, "relay"),
    ("epoll_wait", "", 90_000, "relay"),
    ("epoll_wait", "", 0, "application"),  # the other connection takes what there is
])  # fmt: skip
def test_a_program_that_passes_on_what_it_reads_waits_for_its_other_connection(
    call: str,
    of: str,
    unsent: int,
    stage: str,
) -> None:
    one = row(call, "output" if of else "events", of)
    other = {"bytes_acked": 1.2e8}
    found = flow(limits(lambda s: relayed(s, one, RECEIVES, UNREAD, other, {"notsent": unsent})))
    assert found.stage.stage == stage


def relayed(
    s: float, one: waits.Row, rates: Any, gauges: Any, other: dict[str, float], more: dict[str, Any]
) -> Tables:
    """A program with the flow of the tests and a second one, with 10.0.0.9."""
    tables = moment(s, rates=rates, gauges=gauges, ran=0.05, more={"waits": [one]})
    counts = {name: int(rate * s) for name, rate in other.items()}
    second = socket(inode=99, cookie=99, remote_port=80,
                    **{"remote": "10.0.0.9", "local_port": 5002, **GAUGES, **ROOM, **counts,
                       **more})  # fmt: skip
    return {
        **tables,
        "sockets_tcp": [*tables["sockets_tcp"], second],
        "socket_owners": [*tables["socket_owners"], socket_owners.Row(99, 7, "iperf3")],
    }


def test_both_connections_of_a_proxy_may_lead_to_one_host() -> None:
    """Of two flows with one host the outgoing one is known by what waits in it."""
    one = row("poll", "events", "")
    more = {"notsent": 90_000, "remote": "10.0.0.2"}
    found = flow(limits(lambda s: relayed(s, one, RECEIVES, UNREAD, {"bytes_acked": 1.2e8}, more)))
    assert (found.stage.stage, found.direction) == ("relay", "rx")


def test_what_limits_the_connection_for_which_a_relay_waits_is_told() -> None:
    """A proxy whose other client or server reads late, or whose backend is behind a shaper."""
    one = row("sendto", "output", "socket:[99]")

    def tables(s: float) -> Tables:
        later = {"notsent": 90_000, "rwnd_limited": int(s * 9e5), "busy_time": int(s * 1e6)}
        return relayed(s, one, RECEIVES, UNREAD, {"bytes_acked": 1.2e8}, later)

    found = flow(limits(tables))
    assert found.stage.stage == "relay"
    assert "10.0.0.9:80; that connection is limited by the peer: the peer's window" in (
        found.stage.because
    )
    assert found.ladder[0] == found.stage
