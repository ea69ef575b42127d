"""What fills the shaper of an interface."""

from typing import Any

from flow_tables import HOST, Tables, joined, link, socket

from nettop.collect import filters, qdiscs, socket_owners, sockets_udp

RATE = 40e6 / 8  # bytes/s


def told(*parts: float, way: str = "bytes_acked", nic: str = "eth0", **more: Any) -> str:
    """What fills a full shaper of 40 Mb/s: flows with these parts of it, the first of restore."""

    def at(second: int) -> Tables:
        rows = [
            socket(number, **{way: int(part * RATE * second)})
            for number, part in enumerate(parts, 1)
        ]
        queue = qdiscs.Row(nic, "root", "1:", "tbf", True, 9000, 6, int(RATE * second), 0, 0,
                           rate=8 * RATE)  # fmt: skip
        names = [socket_owners.Row(100 + number, 7 + (number > 1), "syncer" if number > 1 else
                                   "restore") for number in range(1, 9)]  # fmt: skip
        return {**HOST, "sockets_tcp": rows, "qdiscs": [queue], "socket_owners": names, **more}

    (one,) = joined(at(0), at(1)).more["qdisc"]
    return str(one.filled)


def test_programs_are_told_with_their_flows_and_shares() -> None:
    assert told(0.3, 0.3, 0.35) == "2 flows of syncer 65%, 1 flow of restore 30%"
    assert told(0.9, 0.001) == "1 flow of restore 90%"  # one that is idle


def test_what_no_flow_explains_are_datagrams_that_wait_or_others() -> None:
    assert told(0.05) == "other packets 95%, 1 flow of restore 5.0%"
    plain: dict[str, Any] = dict.fromkeys(sockets_udp.Row.__dataclass_fields__)
    waits = sockets_udp.Row(**{**plain, "local": "10.0.0.1", "remote": "10.0.0.2", "inode": 108,
                               "local_port": 9, "remote_port": 9, "recv_q": 0,
                               "send_q": 40_000})  # fmt: skip
    assert told(0.05, sockets_udp=[waits]) == "datagrams of syncer[8] 95%, 1 flow of restore 5.0%"


def test_an_ifb_is_filled_by_what_arrives() -> None:
    redirect = filters.Row("eth0", "ingress", 5, 1, 0, kind="u32", action="redirect", target="ifb0")
    links = [*HOST["links"], link("ifb0", 9, kind="ifb")]
    found = told(0.9, way="bytes_received", nic="ifb0", links=links, filters=[redirect])
    assert found == "1 flow of restore 90%"
