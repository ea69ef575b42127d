"""A connection that no program has accepted waits at this end."""

from __future__ import annotations

from typing import Any

import pytest
from flow_tables import frames, socket

from nettop.collect import socket_owners
from nettop.facts.joined import Joiner
from nettop.facts.limits import Limit


def limit(*more: Any, **known: Any) -> Limit:
    plain: dict[str, Any] = {
        "rcvbuf": 131072, "recv_q": 9000, "bytes_received": 9000, "bytes_acked": 0,
        "segs_in": 9, "segs_out": 9,
    }  # fmt: skip
    tables = {"sockets_tcp": [socket(1, **{**plain, **known}), *more],
              "socket_owners": [socket_owners.Row(77, 7, "web")]}  # fmt: skip
    moments = [tables for _ in range(5)]
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


@pytest.mark.parametrize(("local", "name"), [
    ("10.0.0.1", "web[7]"), ("0.0.0.0", "web[7]"), ("127.0.0.1", "the program that listens"),
])  # fmt: skip
def test_who_does_not_accept_is_named(local: str, name: str) -> None:
    door = socket(2, state="listen", local=local, inode=77, remote="0.0.0.0", remote_port=0)
    assert limit(door, inode=0).stage.name == name
