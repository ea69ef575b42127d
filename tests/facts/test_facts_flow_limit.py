"""What limits a flow: sender, receiver, network or application."""

from __future__ import annotations

from typing import Any

import pytest

from nettop.facts import bottleneck
from nettop.facts.kinds.core import Core
from nettop.facts.kinds.flow import Flow
from nettop.facts.kinds.nic import Counters, Nic, Pcie

SENDER = {"id": "f", "protocol": "tcp", "bulk": True, "direction": "send"}
FULL = Core(1, user=2.0, system=40.0, softirq=55.0, irq=1.0, idle=2.0)
BUSY_APP = Core(2, user=90.0, system=8.0, softirq=0.0, irq=0.0, idle=1.0)


@pytest.mark.parametrize(
    ("flow", "nic", "irq", "app", "who"),
    [
        ({}, Nic("e", "nic", per_s=Counters(allowance_bw_out=3)), None, None, "provider"),
        ({}, Nic("e", "nic", tx_load=0.97), None, None, "link"),
        (
            {},
            Nic("e", "nic", per_s=Counters(tx_bytes=7e8), pcie=Pcie(usable=6.4e9)),
            None,
            None,
            "bus",
        ),
        ({}, Nic("e", "nic", per_s=Counters(allowance_bw_out=0.3)), None, None, None),
        ({}, Nic("e", "nic", per_s=Counters(pause_rx=9)), None, None, "receiver"),
        ({}, Nic("e", "nic", per_s=Counters(pause_rx=0.3)), None, None, None),
        ({}, Nic("e", "nic", speed=10e9, per_s=Counters(pause_rx=29)), None, None, None),
        ({}, Nic("e", "nic", speed=10e9, per_s=Counters(pause_rx=31)), None, None, "receiver"),
        ({"rwnd_limited": 0.4}, None, FULL, None, "receiver"),
        ({"sndbuf_limited": 0.4}, None, None, None, "sender"),
        ({"busy": 0.2}, None, None, None, "application"),
        ({"busy": 1.0, "loss_ratio": 0.01}, None, None, None, "network"),
        ({"busy": 1.0, "cwnd": 10, "unacked": 10}, None, None, None, "network"),
        ({"busy": 1.0}, None, FULL, None, "cpu"),
        ({"busy": 1.0}, None, None, BUSY_APP, "application"),
        ({"busy": 1.0}, None, None, None, None),
        ({"direction": "receive"}, None, FULL, None, "cpu"),
        ({"direction": "receive", "recv_q": 50, "rcvbuf": 100}, None, None, None, "application"),
        ({"direction": "receive"}, None, None, None, None),
        (
            {"direction": "receive"},
            Nic("e", "nic", per_s=Counters(allowance_bw_out=3)),
            None,
            None,
            None,
        ),
    ],
)
def test_who_limits_a_flow(
    flow: dict[str, Any], nic: Nic | None, irq: Core | None, app: Core | None, who: str | None
) -> None:
    verdict = bottleneck.judge(Flow(**{**SENDER, **flow}), nic, irq, app)
    assert verdict.who == who
    assert verdict.why
