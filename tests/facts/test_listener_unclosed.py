"""Connections that a program does not close, or has not got, at the socket of their port."""

from __future__ import annotations

from typing import Any

import pytest

from nettop.collect import half_open
from nettop.collect.sockets_tcp import Row
from nettop.facts.kinds.listener import build
from nettop.frame.fields import altered
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


@pytest.mark.parametrize(("local", "port", "silent"), [
    ("10.0.0.1", 80, 4), ("10.0.0.1", 81, 0), ("10.0.0.3", 80, 0),
])  # fmt: skip
def test_clients_that_say_nothing_wait_at_the_socket_of_their_port(
    local: str, port: int, silent: int
) -> None:
    rows = (_row("listen", 7, send_q=128), altered(_row("established", 8), bytes_received=9))
    (listener,) = build(Frame(0.0, 0.0, {
        "sockets_tcp": tuple(map(Entry, rows)),
        "half_open": (Entry(half_open.Row(local, port, 5, 4)),),
    }), None)  # fmt: skip
    assert (listener.silent, listener.heard, listener.open) == (silent, 1, 1)
