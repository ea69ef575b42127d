"""What the stages are judged by: one `Look` for each direction of a flow, interface or socket.

Of a TCP socket that is a subflow, data that the program has not read, or that the window of the
connection stops, is in the MPTCP socket; the subflow and its clocks know nothing of it
(net/mptcp/protocol.c, __mptcp_push_pending(), __mptcp_move_skbs()). So the gauges are those of the
MPTCP socket, and the clocks ran while it held data: in each sample all of the interval or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final

from ...collect._counted import NORMAL
from ...frame.rates import Entry
from ...terms.dataclass import dataclass
from .. import Facts, single
from ..flow_words import QUIET, end, name
from ..kinds.flow import Flow
from ..kinds.nic import Nic
from .window import INTERFACES, Track, Window, mean, share

FLOWS: Final = 64  # TCP flows that are judged, the busiest first
MESSAGES: Final = 0.01  # of what it receives: who sends less only answers


@dataclass(frozen=True, slots=True)
class Look:
    """One target over the window. `tcp` and `udp` are its socket's entries, the oldest first."""

    over: str
    target: str
    direction: str
    rate: float
    window: Window
    facts: Facts
    nic: Nic | None = None
    flow: Flow | None = None
    tcp: Sequence[Entry[Any]] = ()
    udp: Sequence[Entry[Any]] = ()
    triples: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # tcp_rmem and tcp_wmem
    namespace: str | None = None  # None: this one
    device: tuple[int, str] | None = None  # its interface in another namespace, by inode

    @property
    def sends(self) -> bool:
        """Whether data goes out."""
        return self.direction == "tx"

    def counted(self, counter: str) -> float | None:
        """The mean rate of a counter of its interface, per second."""
        if self.device is not None:
            return self.window.counted_elsewhere(self.device, counter)
        return self.window.counted(self.nic.name, counter) if self.nic is not None else None

    def rated(self, counter: str) -> float | None:
        """The mean rate of a counter of its TCP socket, per second."""
        return mean(entry.rate(counter) for entry in self.tcp)

    def now(self, name: str) -> Any:
        """The latest value of a gauge of its TCP socket; None when it is not known."""
        return getattr(self.tcp[-1].now, name, None) if self.tcp else None

    def part(self, counter: str) -> float:
        """The share of wall time that a clock of its TCP socket (in us) ran; 0 if unknown."""
        return min(1.0, (self.rated(counter) or 0.0) / 1e6)

    def often(self, name: str, least: float = 1.0) -> float:
        """The share of samples in which a gauge of its TCP socket was at least `least`."""
        return share((getattr(entry.now, name) or 0) >= least for entry in self.tcp)


def looks(window: Window, facts: Facts) -> list[Look]:
    """A look for each direction of flows that want to move, sockets that drop, and interfaces."""
    found: list[Look] = []
    nics = {nic.name: nic for nic in facts.nics}
    triples = {
        name: single.triple(facts.sysctls.get(f"net.ipv4.{name}"))
        for name in ("tcp_rmem", "tcp_wmem")
    }
    for flow in facts.here().flows:  # those of others: `elsewhere`
        nic = nics.get(flow.nic or "")
        if flow.id in window.idle:
            continue
        if flow.protocol == "tcp" and len(found) < FLOWS:
            entries = of_subflow(window.tcp, window.multipath, flow)
            wanted = wanting(Look("flow", name(flow), "tx", 0.0, window, facts, nic, flow, entries,
                                  triples=triples))  # fmt: skip
            if not wanted:
                window.idle.add(flow.id)
            found += wanted
        elif flow.protocol == "udp":
            entries = window.udp.entries(flow.inode)
            if (mean(entry.rate("drops") for entry in entries) or 0.0) > 0.0:
                target = end(flow.local, flow.local_port)
                found.append(
                    Look("socket", target, "rx", 0.0, window, facts, nic, flow, udp=entries)
                )
    many = len(facts.nics) > INTERFACES
    for nic in facts.nics:
        if nic.up is False or nic.carrier is False:
            continue
        if many and nic.kind != "nic" and window.rests(nic):
            continue
        for direction in ("rx", "tx"):
            moved = window.counted(nic.name, f"{direction}_bytes")
            if moved is not None:
                found.append(Look("nic", nic.name, direction, 8 * moved, window, facts, nic))
    return found


def wanting(look: Look) -> list[Look]:
    """The direction in which a TCP flow wants to move most; none for an idle flow."""
    entries = look.tcp
    if not entries:
        return []
    tx, rx = 8 * (look.rated("bytes_acked") or 0.0), 8 * (look.rated("bytes_received") or 0.0)
    answers = 0 < tx < MESSAGES * rx
    again = (look.rated("total_retrans") or 0.0) > 0.0 and not answers
    waits = look.often("notsent") >= 0.5 or again
    unread = look.often("recv_q") >= 0.5
    if max(tx, rx) < QUIET and not waits and not unread:
        return []
    sends = waits or (tx >= rx and not unread)
    return [replace(look, direction="tx" if sends else "rx", rate=tx if sends else rx)]


def loses(look: Look, least: float = 0.0) -> str:
    """What of this host loses the packets of a flow: its way, or drops at its port; else empty.

    `least`: drops a second. Of a flow that receives, the dropped packets come from its other end.
    """
    flow, more = look.flow, look.facts.more
    if flow is None or look.namespace is not None:
        return ""
    for way in more.get("way", ()):
        if way.stops and flow.id in way.explains:
            return str(way.decider)
    port = f"tcp port {flow.local_port}"
    for drop in more.get("drop", ()):
        comes = look.sends or str(drop.of).startswith((f"{flow.remote} ", f"{flow.remote}:"))
        if drop.kind != NORMAL and port in drop.ports and comes and (drop.per_s or 0.0) >= least:
            means = "" if look.sends else f": {drop.means}"
            return f"this host drops packets of {port} ({drop.reason}{means})"
    return ""


def waits(look: Look) -> bool:
    """Whether data of a flow waits to be sent, or to be sent again."""
    return bool(look.now("notsent") or look.now("lost"))


SECOND: Final = 1_000_000.0  # us
OPEN: Final = 0.9  # of the congestion window in flight: below it has room


def of_subflow(tcp: Track, multipath: Track, flow: Flow) -> Sequence[Entry[Any]]:
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
