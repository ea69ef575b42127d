"""A send buffer full of data on the way, which the kernel's own clock does not always see."""

from __future__ import annotations

from typing import Any

import pytest
from test_facts_flows import joined, moving


@pytest.mark.parametrize(
    ("more", "full", "limit"),
    [
        # 64 KiB over 20 ms as seen in the lab: the kernel's clock of the buffer stands still
        ({}, True, "sender"),
        ({"notsent": 20_000}, False, "application"),
        ({"unacked": 35}, False, "application"),  # the congestion window is what holds it
        ({"send_q": 30_000}, False, "application"),
        ({"sndbuf": None}, None, "application"),
    ],
)
def test_a_send_buffer_full_of_data_on_the_way_is_seen_without_the_kernels_clock(
    more: dict[str, Any], full: bool | None, limit: str
) -> None:
    seen: dict[str, Any] = {
        "send_q": 65912, "sndbuf": 65536, "notsent": 0, "unacked": 15,  # of a window of 40
        "sndbuf_limited": 0, "rwnd_limited": 0, "app_limited": True, "total_retrans": 0, **more,
    }  # fmt: skip
    (flow,) = joined(*moving(**seen)).flows
    assert flow.sndbuf_limited == 0.0
    assert (flow.sndbuf_full, flow.limit) == (full, limit)
