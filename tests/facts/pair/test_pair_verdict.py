"""The limit of a flow from those of its ends."""

from __future__ import annotations

import pytest

from nettop.facts.limits import Limit, Reading
from nettop.facts.pair import HERE, THERE
from nettop.facts.pair.verdict import verdict


def limit(stage: str, held: float, direction: str, joint: tuple[str, ...] = ()) -> Limit:
    one = Reading(stage, "here", stage, "measured", "", held=held)
    return Limit(
        "flow", "10.0.0.1:1>10.0.0.2:2", direction, 1e8, stage=one, joint=joint, ladder=(one,)
    )


@pytest.mark.parametrize(
    ("writer", "reader", "stage", "end"),
    [
        (("sndbuf", 1.0), ("thread", 0.9), "thread", THERE),
        (("application", 0.3), ("thread", 0.9), "thread", THERE),
        (("application", 0.9), ("thread", 0.6), "application", HERE),
        (("application", 0.3), ("peer", 0.9), "application", HERE),
        (("application", 0.3), ("thread", 0.4), "application", HERE),
        (("qdisc", 0.6), ("thread", 0.9), "qdisc", HERE),
        (("peer", 0.9), ("thread", 0.4), "thread", THERE),
    ],
)
def test_the_end_that_holds_the_flow_longer_limits_it(
    writer: tuple[str, float], reader: tuple[str, float], stage: str, end: str
) -> None:
    sender, receiver = limit(*writer, "tx", ("peer",)), limit(*reader, "rx")
    found = verdict(sender, receiver, None, sends=True, line=(), reader="reader[2]")
    assert found is not None
    assert (found.stage.stage, found.stage.end) == (stage, end)
