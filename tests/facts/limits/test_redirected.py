"""What arrives at an interface and is shaped by an ifb to which it is redirected."""

from typing import Any

import pytest
from flow_tables import HOST, Tables, link
from limit_frames import AWAY, RECEIVES, flow, limits, moment

from nettop.collect import link_stats, qdiscs
from nettop.facts.limits import Limit
from nettop.facts.limits.words import line

MOVES = 130_000_000  # bytes/s: the flow with its headers


def counted(name: str, **moved: float) -> link_stats.Row:
    names = link_stats.Row.__dataclass_fields__.keys() - {"interface"}
    counts = {field: int(count) for field, count in moved.items()}
    return link_stats.Row(name, **{**dict.fromkeys(names, 0), **counts})


def seen(sent: float = MOVES, kind: str = "ifb", backlog: int = 90_000) -> Limit:
    """The limit of a flow that receives by eth0, beside an interface that sends so much."""

    def at(second: float) -> Tables:
        queue = qdiscs.Row("ifb0", "root", "1:", "tbf", True, backlog, 9, int(sent * second),
                           rate=8.0 * sent)  # fmt: skip
        more: dict[str, Any] = {
            "links": [*HOST["links"], link("ifb0", 9, kind=kind)],
            "link_stats": [counted("eth0", rx_bytes=MOVES * second),
                           counted("ifb0", tx_bytes=sent * second)],
        }  # fmt: skip
        return moment(second, rates=RECEIVES, gauges=AWAY, queue=queue, more=more)

    return flow(limits(at))


def test_a_full_shaper_behind_the_interface_limits_what_arrives() -> None:
    found = seen()
    assert (found.direction, found.stage.stage, found.stage.end) == ("rx", "qdisc", "here")
    assert found.stage.name == "tbf 1: of ifb0", line(found)


@pytest.mark.parametrize(
    "other",
    [{"sent": 1.3 * MOVES}, {"sent": 0.6 * MOVES}, {"kind": "veth"}, {"backlog": 0}],
    ids=["it sends more", "it sends less", "no ifb", "nothing waits"],
)
def test_what_does_not_limit_what_arrives(other: dict[str, Any]) -> None:
    found = seen(**other)
    assert found.stage.stage == "peer", line(found)
