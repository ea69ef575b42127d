"""Both ends of a flow on one host, interfaces that take their largest flow's limit, UDP sockets."""

from typing import Any

import pytest
from flow_tables import Tables, frames, link, socket
from limit_frames import GAUGES, RECEIVES, SENDS, limits, moment

from nettop.collect import drop_reasons, link_stats, snmp, socket_owners, sockets_udp, threads
from nettop.facts.joined import Joiner
from nettop.facts.limits import Limit
from nettop.facts.limits.looks import FLOWS


def local(second: float, reader: float, unread: int = 0) -> Tables:
    """A flow over loopback whose reader's thread ran that share of the time."""
    tables = moment(second, rates={"rwnd_limited": 900_000})
    ends = {"local": "10.0.0.1", "remote": "10.0.0.1"}
    counts = {name: int(rate * second) for name, rate in {**SENDS, **RECEIVES}.items()}
    write = tables["sockets_tcp"][0]._replace(**ends)
    read = socket(2, **{**GAUGES, **counts, "notsent": 0, "recv_q": unread, "rmem_alloc": unread,
                        "local_port": write.remote_port, "remote_port": write.local_port,
                        **ends})  # fmt: skip
    thread = threads.Row(8, 8, 6, "reader", "S", reader * second, 0.0, 1)
    return {
        **tables,
        "sockets_tcp": [write, read],
        "socket_owners": [*tables["socket_owners"], socket_owners.Row(102, 8, "reader")],
        "threads": [*tables["threads"], thread],
    }


def by_direction(found: tuple[Limit, ...]) -> dict[str, Limit]:
    return {one.direction: one for one in found if one.over == "flow"}


def test_a_slow_reader_on_this_host_is_named_at_both_ends() -> None:
    ends = by_direction(limits(lambda s: local(s, 0.1, 3_000_000)))
    for end in ends.values():
        assert (end.stage.stage, end.stage.end, end.stage.name) == (
            "application", "here", "reader[8]",
        )  # fmt: skip


def test_a_reader_whose_core_is_full_limits_its_sender() -> None:
    ends = by_direction(limits(lambda s: local(s, 0.95, 700_000)))
    for end in ends.values():
        assert (end.stage.stage, end.stage.name) == ("thread", "reader[8]")


@pytest.mark.parametrize(("rate", "same"), [(125e6, True), (500e6, False)])
def test_an_interface_is_limited_as_its_largest_flow(rate: float, same: bool) -> None:
    """The flow's capacity is the interface's only if the flow is most of its rate."""

    def at(second: float) -> Tables:
        sent = int(rate * second)
        names = link_stats.Row.__dataclass_fields__.keys() - {"interface", "tx_bytes", "tx_packets"}
        counted = link_stats.Row(
            interface="eth0", tx_bytes=sent, tx_packets=sent // 1500, **dict.fromkeys(names, 0)
        )
        return moment(second, gauges={"max_pacing_rate": 130_000_000}, more={
            "link_stats": [counted], "links": [link("eth0", 2, parent="p", mtu=1500)],
        })  # fmt: skip

    nic = next(
        one for one in limits(at) if (one.over, one.target, one.direction) == ("nic", "eth0", "tx")
    )
    assert nic.stage.stage == "pacing"
    assert (nic.stage.capacity is not None) == same
    assert nic.rate == pytest.approx(8 * rate)


@pytest.mark.parametrize(
    ("ran", "waits", "stage"), [(0.95, 1, "thread"), (0.1, 1, "application"), (0.1, 0, "rcvbuf")]
)
def test_a_udp_socket_that_drops(ran: float, waits: int, stage: str) -> None:
    def at(second: float) -> Tables:
        row = sockets_udp.Row(101, "10.0.0.1", 53, "", 0, ipv6=False, send_q=0, recv_q=9 * waits,
                              uid=0, drops=int(300 * second))  # fmt: skip
        return {**moment(second, ran=ran), "sockets_tcp": [], "sockets_udp": [row]}

    (one,) = (one for one in limits(at) if one.over == "socket")
    assert (one.target, one.rate, one.stage.end) == ("10.0.0.1:53", None, "here")
    assert one.stage.stage == stage
    assert one.joint == (("rcvbuf",) if stage == "application" else ())


@pytest.mark.parametrize(("waits", "held"), [
    (10, {"application": 1.0, "rcvbuf": 0.5}), (8, {"application": 0.8, "rcvbuf": 0.6}),
    (6, {"application": 0.3, "rcvbuf": 0.7}), (0, {"application": 0.0, "rcvbuf": 1.0}),
])  # fmt: skip
def test_a_reader_behind_in_bursts_holds_half_of_its_time(
    waits: int, held: dict[str, float]
) -> None:
    def at(second: float) -> Tables:
        row = sockets_udp.Row(101, "10.0.0.1", 53, "", 0, ipv6=False, send_q=0, uid=0,
                              recv_q=9 * (second <= waits), drops=int(300 * second))  # fmt: skip
        return {**moment(second, ran=0.1), "sockets_tcp": [], "sockets_udp": [row]}

    (one,) = (one for one in limits(at, 10) if one.over == "socket")
    found = {reading.stage: reading.held for reading in one.ladder}
    assert {stage: found[stage] for stage in held} == pytest.approx(held)


FILTER, FULL = ("SOCKET_FILTER", 90), ("SOCKET_RCVBUFF", 10)


@pytest.mark.parametrize(("reasons", "errors", "held", "because"), [
    ([FILTER], 300.0, {"refused": 1.0},
     "mean 300 datagrams/s refused: A filter of the socket rejected"),
    ([FILTER, FULL], 300.0, {"refused": 0.9, "rcvbuf": 0.1},
     "mean 270 datagrams/s refused: A filter of the socket"),
    ([FULL], 0.0, {"rcvbuf": 1.0}, "mean 300 datagrams/s dropped, the buffer full"),
    ([("NO_SOCKET", 90)], 300.0, {"rcvbuf": 1.0}, "mean 300 datagrams/s dropped, the buffer full"),
    ([], 300.0, {"rcvbuf": 1.0}, "mean 300 datagrams/s dropped, the buffer full"),
    ([], 0.0, {"refused": 1.0},
     "mean 300 datagrams/s refused: a filter of the socket, a policy of IPsec"),
])  # fmt: skip
def test_why_a_udp_socket_drops_the_kernel_knows(
    reasons: list[tuple[str, int]], errors: float, held: dict[str, float], because: str
) -> None:
    def at(second: float) -> Tables:
        row = sockets_udp.Row(101, "10.0.0.1", 53, "", 0, ipv6=False, send_q=0, recv_q=0, uid=0,
                              drops=int(300 * second))  # fmt: skip
        told = [drop_reasons.Row(name, "udp_queue_rcv_one_skb", "here", "2", "udp", "53", packets)
                for name, packets in reasons]  # fmt: skip
        none: dict[str, Any] = dict.fromkeys(snmp.Row.__dataclass_fields__)
        counted = snmp.Row(**{**none, "udp_rcvbuf_errors": int(errors * second)})
        return {**moment(second), "sockets_tcp": [], "sockets_udp": [row], "drop_reasons": told,
                "snmp": [counted]}  # fmt: skip

    (one,) = (one for one in limits(at) if one.over == "socket")
    found = {one.stage: one.held for one in one.ladder if one.stage in {"rcvbuf", "refused"}}
    assert found == pytest.approx(held)
    assert one.stage.stage == max(held, key=lambda stage: held[stage])
    assert one.stage.because.startswith(because)


def test_of_many_flows_the_busiest_are_judged_and_the_others_are_not_called_unlimited() -> None:
    def at(second: float) -> Tables:
        tables = moment(second)
        one = tables["sockets_tcp"][0]
        more = [one._replace(cookie=n, inode=1000 + n, remote_port=n) for n in range(1, 100)]
        return {**tables, "sockets_tcp": more}

    joiner = Joiner()
    for frame in frames(at(0.0), at(1.0)):
        facts = joiner.build(frame)
    assert sum(one.over == "flow" for one in facts.limits) == FLOWS
    assert sum(flow.limit is None for flow in facts.flows) == 99 - FLOWS
