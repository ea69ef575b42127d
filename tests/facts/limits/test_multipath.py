"""Subflows of MPTCP: what limits them is often in the socket of the connection."""

from typing import Any

from flow_tables import socket
from limit_frames import AWAY, GAUGES, RECEIVES, SENDS, every, flow, limits, moment

from nettop.collect.sockets_tcp_multipath import Row
from nettop.facts.limits import Limit
from nettop.facts.limits.words import line

EMPTY = {"notsent": 0, "unacked": 0, "wmem_queued": 0, "rtt": 3000, "min_rtt": 30}


def whole(**more: int) -> Row:
    values = {"cookie": 9, "namespace": 0, "inode": 101, "token": 1, "subflows": 0, "unread": 0,
              "rcvbuf": 800_000, "sndbuf": 3_000_000, "wmem_queued": 0, "unacked": 0}  # fmt: skip
    return Row(**{**values, **more})


def seen(connection: Row | None, **more: Any) -> Limit:
    tables = {"sockets_tcp_multipath": [connection] if connection is not None else []}
    return flow(limits(lambda second: moment(second, more=tables, **more)))


def test_data_that_the_window_of_the_connection_stops() -> None:
    moves = {"busy_time": 60_000, "bytes_acked": 2_000_000}
    alone = seen(None, gauges=EMPTY, rates=moves)
    assert alone.stage.stage == "application", line(alone)
    held = seen(whole(unacked=2_000_000, wmem_queued=2_100_000), gauges=EMPTY, rates=moves)
    assert (held.stage.stage, held.stage.end) == ("peer", "there"), line(held)
    assert all(one.held < 0.5 for one in held.ladder if one.stage == "application")


def test_a_window_of_the_connection_that_is_small_for_the_distance() -> None:
    far = {**EMPTY, "unacked": 40, "rtt": 20_000, "min_rtt": 20_000, "snd_wnd": 60_000}
    held = seen(whole(unacked=2_000_000, wmem_queued=2_100_000), gauges=far)
    assert (held.stage.stage, held.stage.end) == ("rwnd", "there"), line(held)


def test_unread_data_of_the_connection() -> None:
    slow = {"rates": {**RECEIVES, "bytes_received": 2_000_000}, "gauges": AWAY, "ran": 0.02}
    assert seen(None, **slow).stage.stage == "peer"
    held = seen(whole(unread=700_000), **slow)
    assert (held.stage.stage, held.stage.end) == ("application", "here"), line(held)
    assert held.stage.because.startswith("683.6 KiB wait to be read"), held.stage.because
    assert seen(whole(unread=20_000), **slow).stage.stage == "peer"


def test_a_program_that_writes_less() -> None:
    held = seen(whole(unacked=1448 * 3), gauges={**EMPTY, "unacked": 3},
                rates={"busy_time": 60_000, "bytes_acked": 2_000_000})  # fmt: skip
    assert held.stage.stage == "application", line(held)


def test_data_in_a_full_congestion_window_is_not_stopped_by_the_window() -> None:
    full = {**EMPTY, "unacked": 400, "rtt": 10_000, "snd_wnd": 30_000_000}
    held = seen(whole(unacked=2_000_000, wmem_queued=2_100_000), gauges=full,
                rates={"bytes_acked": 50_000_000})  # fmt: skip
    assert held.stage.stage == "cwnd", line(held)


def test_each_subflow_has_its_own_rate() -> None:
    """They share the inode of the connection."""

    def at(second: float) -> Any:
        tables = dict(moment(second, more={"sockets_tcp_multipath": [whole(unacked=1_000_000)]}))
        slow = {name: int(rate * second / 10) for name, rate in SENDS.items()}
        other = socket(2, **{**GAUGES, **slow, "inode": 101})
        tables["sockets_tcp"] = [*tables["sockets_tcp"], other]
        return tables

    found = [one for one in every(at)[-1].limits if one.over == "flow"]
    assert sorted(round((one.rate or 0) / 1e6) for one in found) == [100, 1000]
