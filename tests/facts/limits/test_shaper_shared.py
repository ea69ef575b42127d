"""A shaper that a flow shares with others says how much of it they take."""

import pytest
from flow_tables import Tables, socket
from limit_frames import GAUGES, SENDS, flow, limits, moment

from nettop.collect import qdiscs, socket_owners


@pytest.mark.parametrize(("own", "other", "told"), [
    (0.5, 0.4, "; others send 450 Mb/s by it, such as backup[9]"),
    (0.5, 0.0, "; others send 450 Mb/s by it"),  # datagrams, or what is forwarded
    (0.9, 0.0, ""),
])  # fmt: skip
def test_what_others_send_by_a_shaper_is_told(own: float, other: float, told: str) -> None:
    """Of a shaper of 1 Gb/s that is full."""

    def at(s: float) -> Tables:
        queue = qdiscs.Row("eth0", "root", "8001:", "tbf", True, 9000, 6, int(125e6 * s), 0, 0,
                           rate=1e9)  # fmt: skip
        counts = [{**SENDS, "bytes_acked": 125e6 * part} for part in (own, other)]
        rows = [
            socket(**{**GAUGES, "inode": inode, "remote_port": 40_000 + inode,
                      **{name: int(rate * s) for name, rate in one.items()}})
            for inode, one in zip((101, 102), counts, strict=True)
        ]  # fmt: skip
        owners = [socket_owners.Row(101, 7, "iperf3"), socket_owners.Row(102, 9, "backup")]
        return moment(s, queue=queue, more={"sockets_tcp": rows, "socket_owners": owners})

    found = flow([one for one in limits(at) if one.pid == 7])
    shaper = next(one for one in found.ladder if one.stage == "qdisc")
    assert shaper.because.partition("of the samples")[2] == told
