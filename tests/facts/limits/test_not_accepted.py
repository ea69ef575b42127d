"""A connection that no program has accepted waits at this end."""

from __future__ import annotations

from typing import Any

import pytest
from flow_tables import frames, socket

from nettop.facts.joined import Joiner
from nettop.facts.limits import Limit


def limit(**known: Any) -> Limit:
    plain: dict[str, Any] = {
        "rcvbuf": 131072, "recv_q": 9000, "bytes_received": 9000, "bytes_acked": 0,
        "segs_in": 9, "segs_out": 9,
    }  # fmt: skip
    moments = [{"sockets_tcp": [socket(1, **{**plain, **known})]} for _ in range(5)]
    joiner = Joiner()
    facts = [joiner.build(frame) for frame in frames(*moments)][-1]
    return next(one for one in facts.limits if one.over == "flow" and one.direction == "rx")


@pytest.mark.parametrize(("known", "waits"), [({"inode": 0}, True), ({"inode": 5}, False)])
def test_the_accept_queue_is_at_this_end(known: Any, waits: bool) -> None:
    found = limit(**known)
    assert ("waits in the accept queue" in str(found)) is waits


def test_a_few_bytes_that_lie_unread_while_none_come_wait_for_the_program() -> None:
    held = {one.stage: one.held for one in limit(inode=5, recv_q=18).ladder}
    assert (held["application"], held["peer"]) == (1.0, 0.0)
