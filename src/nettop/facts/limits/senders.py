"""The sockets that send the datagrams of this host.

The kernel counts the datagrams of the host, and not of a socket. A socket sends if data waits in
its send queue, or a thread of its program sleeps in a call that sends into it. Else it is that of
the program with UDP sockets that runs most, far ahead of the others, and neither waits for
datagrams most of the time nor moves data by TCP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...collect._udp_senders import ASKED, LEAST
from ...frame.rates import Entry, Frame
from .. import Facts
from ..flow_words import end, name
from ..kinds.flow import Flow
from .looks import Look
from .window import Window, mean, share

RUNS: Final = 0.001  # of a core: a program that runs less sends nothing
FIRST: Final = 0.8  # of the CPU time of all these programs
READS: Final = 0.5  # of the samples: a program that waits for datagrams answers, or takes them
ALIKE: Final = 0.5  # datagrams received for each one sent: a host that answers, or talks to itself


def sending(window: Window, frame: Frame, facts: Facts) -> list[Look]:
    """A look for each socket that is seen to send, else for the one that must be sending."""
    sent = facts.host.udp_out or 0.0
    if sent < LEAST:
        return []
    owners = {row.inode: (row.pid, row.name) for row in frame.rows("socket_owners") if row.pid}
    sockets: dict[int, list[Any]] = {}
    for row in frame.rows("sockets_udp"):
        if row.inode in owners and row.remote_port not in ASKED:
            sockets.setdefault(owners[row.inode][0], []).append(row)
    found = _seen(window, sockets)
    if not found and (pid := _runs(window, facts, sockets)) is not None:
        connected = [row for row in sockets[pid] if row.remote_port]
        found = (connected or sockets[pid])[:1]
    return [_look(window, facts, row, *owners[row.inode]) for row in found]


def _seen(window: Window, sockets: Mapping[int, Sequence[Any]]) -> list[Any]:
    """The sockets with data that waits to leave, or with a thread that waits to send."""
    sleeps = {
        e.now.object for pid in sockets for series in window.samples(pid).values() for e in series
        if e.now.kind == "output"
    }  # fmt: skip
    return [
        row for some in sockets.values() for row in some
        if row.send_q or f"socket:[{row.inode}]" in sleeps
    ]  # fmt: skip


def _runs(window: Window, facts: Facts, sockets: Mapping[int, Sequence[Any]]) -> int | None:
    """The program that runs far more than the others with UDP sockets; None: there is none."""
    moves = {flow.pid for flow in facts.flows if flow.protocol == "tcp" and flow.bulk}
    answers = (facts.host.udp_in or 0.0) >= ALIKE * (facts.host.udp_out or 0.0)
    ran: dict[int, float] = {}
    for pid, rows in sockets.items():
        every = (e for series in window.samples(pid).values() for e in series)
        samples = [e for e in every if e.now.call is not None]  # else it may as well read
        reads = any(row.recv_q for row in rows) or _reads(samples, answers=answers) >= READS
        if pid not in moves and samples and not reads:
            ran[pid] = _ran(window, pid)
    most = max(ran, key=ran.__getitem__, default=None)
    if most is None or ran[most] < RUNS or ran[most] < FIRST * sum(ran.values()):
        return None
    return most


def _reads(samples: Sequence[Entry[Any]], *, answers: bool) -> float:
    """The share of the samples in which it waits for datagrams; if the host `answers`, events."""
    return share(
        (e.now.kind == "input" and e.now.type == "socket") or (answers and e.now.kind == "events")
        for e in samples
    )


def _ran(window: Window, pid: int) -> float:
    """Cores that the threads of a program used, on average."""
    series = (key for key in window.threads.series if isinstance(key, tuple) and key[0] == pid)
    return sum(mean(e.rate("ran") for e in window.threads.entries(key)) or 0.0 for key in series)


def _look(window: Window, facts: Facts, row: Any, pid: int, process: str) -> Look:
    route = window.routes().interface(row.remote) if row.remote_port else None
    ends = row.local, row.local_port, row.remote, row.remote_port
    identity = f"udp:{end(*ends[:2])}-{end(*ends[2:])}"
    flow = Flow(identity, "udp", *ends, row.inode, pid, process, route, direction="send")
    target = name(flow) if row.remote_port else end(row.local, row.local_port)
    nic = next((one for one in facts.nics if one.name == route), None)
    return Look("socket", target, "tx", 0.0, window, facts, nic, flow,
                udp=window.udp.entries(row.inode))  # fmt: skip
