"""Connections that a program does not close, counted at the socket that listens on their port."""

from __future__ import annotations

from typing import Any

import pytest

from nettop.collect.sockets_tcp import Row
from nettop.facts.kinds.listener import build
from nettop.frame.rates import Entry, Frame

_UNUSED = (
    "interface", "congestion", "timestamps", "sack", "wscale", "ecn", "snd_wscale", "rcv_wscale",
    "app_limited", "probes", "backoff", "uid",
)  # fmt: skip


def _row(state: str, inode: int, send_q: int = 0) -> Row:
    fields: dict[str, Any] = dict.fromkeys(_UNUSED)
    fields |= {"cookie": inode, "namespace": 0, "family": 4, "local": "10.0.0.1", "local_port": 80}
    fields |= {"remote": "10.0.0.2", "remote_port": 4000, "state": state, "inode": inode}
    return Row(**{**fields, "recv_q": 1, "send_q": send_q})


@pytest.mark.parametrize(
    ("state", "inode", "send_q", "counted"),
    [
        ("close-wait", 8, 0, 1),
        ("close-wait", 0, 0, 0),  # not accepted: it has no file
        ("close-wait", 8, 900, 0),  # the answer is not yet sent
        ("established", 8, 0, 0),
    ],
)
def test_a_connection_closed_by_the_peer_alone_counts(
    state: str, inode: int, send_q: int, counted: int
) -> None:
    rows = (_row("listen", 7, send_q=128), _row(state, inode, send_q))
    (listener,) = build(Frame(0.0, 0.0, {"sockets_tcp": tuple(map(Entry, rows))}), None)
    assert listener.unclosed == counted
