"""Two programs that wait for each other: each waits to send, and neither reads what the other sent.

A call that sends sleeps until the other end has taken more (sk_stream_wait_memory() of
net/core/stream.c), and that end takes nothing while its own call sleeps the same way. Here it is
seen by a closed window of the peer, a receive buffer full of unread data, and a program that
neither runs nor sleeps in another call than one that sends or waits for events.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ....frame.rates import Entry
from ....terms import units
from .. import Reading
from ..looks import Look
from ..stage import Stage
from . import cpu as cpus

STAGES: Final = (
    Stage("deadlock", "the deadlock of both ends", "both ends write, and neither reads", "PROCESS",
          "read while it writes, at one end", precedence=22, sending=37),
)  # fmt: skip
SAMPLES: Final = 3  # the latest: a reader may be about to run
RUNNING: Final = 0.2  # of wall time: a program that works may read later
FULL: Final = 0.5  # of the receive buffer in use: no window is left for the other end


def readings(look: Look) -> Iterator[Reading]:
    """That of a flow on which nothing moves any more in either direction."""
    latest = look.tcp[-SAMPLES:]
    if look.over != "flow" or not look.sends or len(latest) < SAMPLES:
        return
    if all(map(_stands, latest)) and _waits_to_send(look):
        why = f"the peer's window is closed, and {units.size(look.now('recv_q'))} of its data wait "
        why += "unread here: neither end reads"
        yield Reading("deadlock", "here", "both programs", "measured", why, 1.0, None, 1.0)


def _stands(entry: Entry[Any]) -> bool:
    """Whether the peer takes nothing, and what it sent fills the buffer here, in one sample."""
    row = entry.now
    if entry.rate("bytes_acked") or entry.rate("bytes_received") or not row.rcvbuf:
        return False
    closed = row.snd_wnd == 0 or bool(row.probes)
    return closed and bool(row.recv_q) and max(row.recv_q, row.rmem_alloc or 0) >= FULL * row.rcvbuf


def _waits_to_send(look: Look) -> bool:
    """Whether the program sleeps in the call that sends at this socket, or waits for events."""
    flow = look.flow
    if flow is None or flow.pid is None:
        return False
    if any(one.ran + one.waited >= RUNNING for one in cpus.threads(look, flow.pid)):
        return False
    threads = look.window.samples(flow.pid).values()
    return any(
        all(
            entry.now.kind == "events"
            or (entry.now.kind, entry.now.object) == ("output", f"socket:[{flow.inode}]")
            for entry in entries[-SAMPLES:]
        )
        for entries in threads
    )
