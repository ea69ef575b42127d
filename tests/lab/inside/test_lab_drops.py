"""Why the kernel drops packets, on a distribution's kernel: told apart, exact, gone afterwards."""

import contextlib
import os
import socket
import time
from collections import Counter

import pytest

from nettop.frame.rates import Frame
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler
from nettop.views.observer import Observer

pytestmark = pytest.mark.topology("two-nodes")
SENT = 200


def test_a_closed_port_and_a_full_socket_have_their_names_on_the_path() -> None:
    source = Live()
    observer = Observer(source)
    observer.deep = True
    first = observer.step()
    assert "drop_reasons" not in first.frame.missing
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as full,
    ):
        for _ in range(SENT):
            with contextlib.suppress(ConnectionRefusedError):
                door.sendto(b"x", ("127.0.0.1", 9))
        full.bind(("127.0.0.1", 0))
        full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        for _ in range(SENT):
            door.sendto(b"x" * 1000, full.getsockname())
        time.sleep(1)
        seen = observer.step()
    before, after = (by_reason(one.frame) for one in (first, seen))
    (reasons,) = (path.reasons for path in seen.facts.paths if path.reasons is not None)
    dropped = {reason: after[reason] - before[reason] for reason, _ in reasons}
    print(f"drop reasons on {os.uname().release}: {dropped}")
    assert dropped["NO_SOCKET"] == pytest.approx(SENT, abs=3)
    assert SENT - 10 <= dropped["SOCKET_RCVBUFF"] <= SENT
    observer.deep = False
    assert all(path.reasons is None for path in observer.step().facts.paths)


def by_reason(frame: Frame) -> Counter[str]:
    sums = Counter[str]()
    for row in frame.rows("drop_reasons"):
        sums[row.reason] += row.packets
    return sums


def test_a_place_a_port_and_a_failed_call_are_known_on_this_kernel() -> None:
    source = Live()
    observer = Observer(source)
    observer.look_deep()
    assert not {"drop_reasons", "failed_calls"} & observer.step().frame.missing.keys()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        for _ in range(SENT):
            with contextlib.suppress(ConnectionRefusedError):
                door.sendto(b"x", ("127.0.0.1", 9))
    for _ in range(5):
        with contextlib.suppress(ConnectionRefusedError), socket.socket() as one:
            one.connect(("127.0.0.1", 9))
    time.sleep(1.0)  # both counts are read at most once in 0.9 s: not again in the first instants
    facts = observer.step().facts
    (closed,) = (one for one in facts.more["drop"] if "udp port 9" in one.whose)
    assert closed.reason == "NO_SOCKET"
    assert "udp" in closed.place
    assert closed.packets >= SENT
    (refused,) = (one for one in facts.more["call"] if one.pid == os.getpid())
    told = refused.call, refused.error, refused.to, refused.events, refused.share
    assert told == ("connection", "ECONNREFUSED", "127.0.0.1 port 9", 5, 1.0)


def test_statistics_of_802_3_are_given_or_named_as_missing() -> None:
    """e1000e of Linux 6.1 gives none; nothing is a zero that nobody counted."""
    frame = Sampler(Live()).take(["ethstats", "nicstats", "irqs"])
    print(f"802.3 statistics: {len(frame.rows('ethstats'))} rows, missing {frame.missing}")
    assert "ethstats" in frame.tables
    assert {row.interface for row in frame.rows("ethstats")} <= {
        row.interface for row in frame.rows("nicstats")
    }
