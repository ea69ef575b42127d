"""A send buffer full of data on the way, which the kernel's own clock does not always see."""

from __future__ import annotations

from typing import Any

import pytest
from flow_tables import joined, moving


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
