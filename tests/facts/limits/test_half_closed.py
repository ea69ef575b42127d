"""A connection of which one direction is closed, and that moves bytes in the other."""

from typing import Any

from folded import folded
from limit_frames import AWAY, RECEIVES, every, moment


@folded(("state", "moves", "inode", "flows"), [
    ("fin-wait-2", True, 101, 1), ("close-wait", True, 101, 1), ("fin-wait-1", True, 101, 1),
    ("close-wait", False, 101, 0),  # a program that never closed it
    ("fin-wait-1", True, 0, 0),  # no program has it any more
    ("last-ack", True, 101, 0),
])  # fmt: skip
def test_a_half_closed_connection_that_moves_bytes_is_a_flow(
    state: str, *, moves: bool, inode: int, flows: int
) -> None:
    def at(s: float) -> Any:
        rates = RECEIVES if moves else {**RECEIVES, "bytes_received": 0}
        gauges = {**AWAY, "state": state, "inode": inode, "recv_q": 900}
        return moment(s, rates=rates, gauges=gauges, ran=0.1)

    facts = every(at)[-1]
    assert len([one for one in facts.limits if one.over == "flow"]) == flows
    assert len(facts.flows) == flows
