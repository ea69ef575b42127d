"""A shaper at this host's end of a veth pair limits what a pod receives."""

from __future__ import annotations

from typing import Any

import pytest
from flow_tables import HOST, Tables, link
from limit_frames import AWAY, RECEIVES
from pod_tables import counted, limit_of_pod, pod

from nettop.collect import qdiscs
from nettop.facts.limits import Limit
from nettop.facts.limits.words import line


def seen(
    *, peer: int | None = 9, sends: bool = False, kind: str = "veth", moved: float = 130e6,
    used: float = 1.0,
) -> Limit:  # fmt: skip
    """The limit of a pod that receives 1 Gb/s by eth0, behind a shaper of 1.04 Gb/s of veth9."""

    def at(second: float) -> Tables:
        shaped, backlog = int(130e6 * used * second), 90_000 * int(used)
        more: Tables = {
            "links": [*HOST["links"], link("veth9", 9, kind=kind, link_netns=0)],
            "link_stats": [counted("veth9", second, tx=moved)],
            "qdiscs": [
                qdiscs.Row("veth9", "root", "1:", "tbf", True, backlog, 9, shaped, rate=1.04e9)
            ],
        }
        flow = {} if sends else {"rates": RECEIVES, "gauges": AWAY}
        return pod(second, more, peer=peer, moved={"rx_bytes": 126e6}, **flow)

    return limit_of_pod(at)


def test_the_shaper_outside_of_the_pod() -> None:
    found = seen()
    assert (found.direction, found.stage.stage, found.stage.end) == ("rx", "qdisc", "here")
    assert found.stage.name == "tbf 1: of veth9", line(found)


@pytest.mark.parametrize(
    "more",
    [{"peer": None}, {"peer": 2}, {"kind": "vlan"}, {"moved": 60e6}, {"used": 0.5}],
    ids=["not known", "another interface", "no veth", "moves less", "has room"],
)
def test_what_does_not_limit_the_pod(more: dict[str, Any]) -> None:
    assert seen(**more).stage.stage == "peer", line(seen(**more))


def test_what_the_pod_sends_does_not_pass_it() -> None:
    found = seen(sends=True)
    assert all(one.stage != "qdisc" for one in found.ladder), line(found)
