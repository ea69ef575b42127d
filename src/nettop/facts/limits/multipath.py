"""The entries of a TCP socket that is a subflow, with what its MPTCP socket holds.

Data that the program has not read, or that the window of the connection stops, is in the MPTCP
socket; the subflow and its clocks know nothing of it (net/mptcp/protocol.c, __mptcp_push_pending(),
__mptcp_move_skbs()). So the gauges are those of the MPTCP socket, and the clocks ran while it held
data: in each sample all of the interval or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...frame.rates import Entry
from ..kinds.flow import Flow
from .window import Track

SECOND: Final = 1_000_000.0  # us
OPEN: Final = 0.9  # of the congestion window in flight: below it has room


def entries(tcp: Track, multipath: Track, flow: Flow) -> Sequence[Entry[Any]]:
    """The entries of the flow's socket, the oldest first; an ordinary one's as they are."""
    whole = {at: entry.now for at, entry in multipath.series.get(flow.inode, ())}
    if not whole:
        return tcp.entries(flow.inode)
    ends = flow.local, flow.local_port, flow.remote, flow.remote_port
    return [
        _joined(entry, whole[at])
        for at, entry in tcp.series.get(flow.inode, ())
        if entry.rated and at in whole and ends == (  # subflows share the inode
            entry.now.local, entry.now.local_port, entry.now.remote, entry.now.remote_port)
    ]  # fmt: skip


def _joined(entry: Entry[Any], whole: Any) -> Entry[Any]:
    row, rates = entry.now, entry.per_s
    flying = (row.unacked or 0) * (row.mss or 0)
    waits = max(0, whole.unacked - flying)
    seen = row._replace(
        recv_q=whole.unread, rmem_alloc=whole.unread, rcvbuf=whole.rcvbuf, sndbuf=whole.sndbuf,
        wmem_queued=whole.wmem_queued, notsent=waits,
    )  # fmt: skip
    if not whole.unacked or rates is None:
        return Entry(seen, rates)
    stopped = waits >= (row.mss or 1) and not row.notsent and flying < OPEN * _window(row)
    clock = max(rates.rwnd_limited or 0.0, SECOND * stopped)
    return Entry(seen, rates._replace(busy_time=SECOND, rwnd_limited=clock))


def _window(row: Any) -> float:
    return float((row.cwnd or 0) * (row.mss or 0))
