"""The rates of interfaces, flows and paths over the window of the verdicts; round trips as well.

Facts have those of the last interval. A verdict is of the last ten seconds: beside it stand the
means of the same seconds, also of a flow that was not there in all of them, so that flows carry no
more than their interface.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..flow_words import part
from ..kinds.core import Core
from ..kinds.path import Path, summed
from ..means import Means
from . import SECONDS
from .looks import of_subflow
from .window import Track, Window, mean

if TYPE_CHECKING:
    from ...frame.rates import Entry
    from .. import Facts
    from ..kinds.flow import Flow
    from ..kinds.nic import Nic

_PORT: Final = (
    "rx_bytes", "tx_bytes", "rx_packets", "tx_packets",
    "ring_drops", "rx_dropped", "tx_dropped", "phy_discards", "qdisc_drops",
)  # fmt: skip
HALF: Final = 50.0  # percent idle: with more in one interval, a core is not full in the window


def over(facts: Facts) -> Facts:
    """The facts with these rates."""
    known = facts.means
    drops = facts.host.cpu_backlog_drops if known.backlog is None else known.backlog
    return replace(
        facts,
        host=replace(facts.host, cpu_backlog_drops=drops),
        nics=tuple(known.nics.get(nic.name, nic) for nic in facts.nics),
        cores=tuple(known.cores.get(core.cpu, core) for core in facts.cores),
        flows=tuple(
            replace(flow, **rates) if (rates := known.flows.get(flow.id)) else flow
            for flow in facts.flows
        ),
        paths=tuple(known.paths.get((one.nic, one.direction), one) for one in facts.paths),
    )


def means(window: Window, facts: Facts) -> Means:
    """The means of this moment; the window has its frame."""
    nics = [nic for nic in facts.nics if _moved(window, nic)]
    paths = {way: _path([path for _, path in series]) for way, series in window.paths.items()}
    passed = window.at - (window.begun or 0.0)
    known = {nic.name: _nic(window, nic) for nic in nics}
    dropped = mean(drops for series in window.backlog.values() for _, drops in series)
    cores = {core.cpu: _core(window, core) for core in facts.cores
             if core.idle is not None and core.idle < HALF}  # fmt: skip
    return Means(min(SECONDS, passed), window.passed or 1.0, known, _flows(window, facts), paths,
                 cores, window.taken, dropped)  # fmt: skip


def _core(window: Window, core: Core) -> Core:
    """The core with its mean load."""
    load: Mapping[str, Any] = window.core(core.cpu) or {}
    return replace(core, **load)


def _flows(window: Window, facts: Facts) -> Mapping[str, Mapping[str, Any]]:
    """The rates of flows by id; the same until sockets are read again."""
    tracks = window.tcp, window.udp, window.netns_tcp, window.netns_udp, window.multipath
    reads = tuple(track.changes for track in tracks)
    if window.rated[0] != reads:
        known = {flow.id: rates for flow in facts.flows if (rates := _flow(window, flow))}
        window.rated = reads, known
    return window.rated[1]


def _moved(window: Window, nic: Nic) -> bool:
    """Whether it differed in the window: one at rest is the same object."""
    return any(one is not nic for _, one in window.nics.get(nic.name, ()))


def _nic(window: Window, nic: Nic) -> Nic:
    """The interface with the mean of what moves and of what it loses."""
    past = [one for _, one in window.nics[nic.name]]
    return replace(
        nic, per_s=replace(nic.per_s, **{name: window.counted(nic.name, name) for name in _PORT}),
        rx_load=mean(one.rx_load for one in past), tx_load=mean(one.tx_load for one in past),
    )  # fmt: skip


# sizes and times of a flow, the column of its socket, and how many of a unit of that are one here
_LEVELS: Final = (
    ("rtt", "rtt", 1e6), ("rtt_var", "rttvar", 1e6), ("cwnd", "cwnd", 1), ("unacked", "unacked", 1),
    ("notsent", "notsent", 1), ("recv_q", "recv_q", 1),
    ("pacing_rate", "pacing_rate", 0.125), ("delivery_rate", "delivery_rate", 0.125),
)  # fmt: skip


def _flow(window: Window, flow: Flow) -> dict[str, Any]:
    """The rates, levels and shares of a flow; none where it did not move."""
    here = flow.namespace is None
    if flow.protocol == "udp":
        track = window.udp if here else window.netns_udp
        lost = _rate(track, track.entries(flow.inode), "drops")
        return {} if lost is None else {"drops_per_s": lost}
    track = window.tcp if here else window.netns_tcp
    entries = of_subflow(track, window.multipath, flow)
    if not entries:
        return {}
    rx, tx, again, sent, twice, busy, rwnd, sndbuf = (
        _rate(track, entries, name) for name in (
            "bytes_received", "bytes_acked", "total_retrans", "segs_out", "dsack_dups",
            "busy_time", "rwnd_limited", "sndbuf_limited",
        )
    )  # fmt: skip
    lost = None if again is None else max(0.0, again - (twice or 0.0))
    levels = {
        name: whole / unit if unit != 1 else round(whole)
        for name, column, unit in _LEVELS
        if getattr(flow, name) is not None
        and (whole := mean(getattr(entry.now, column, None) for entry in entries)) is not None
    }
    if flow.window_cap is not None and flow.rtt and levels.get("rtt"):
        levels["window_cap"] = flow.window_cap * flow.rtt / levels["rtt"]
    return levels | {
        "rx_per_s": rx, "tx_per_s": tx, "retransmits_per_s": again,
        "retransmit_ratio": part(again, sent), "loss_ratio": part(lost, sent),
        "needless": part(twice, again), "busy": part(busy, 1e6),
        "rwnd_limited": part(rwnd, busy), "sndbuf_limited": part(sndbuf, busy),
    }  # fmt: skip


def _rate(track: Track, entries: Sequence[Entry[Any]], counter: str) -> float | None:
    """The mean of a counter in the whole window, also before its row was there."""
    known = [rate for entry in entries if (rate := entry.rate(counter)) is not None]
    return sum(known) / max(len(known), len(track.reads)) if known else None


def _path(past: Sequence[Path]) -> Path:
    """The last of these paths, with what passed and what was lost at each stage on average."""
    stages = []
    for stage in past[-1].stages:
        known = [one for path in past for one in path.stages if one.name == stage.name]
        stages.append(
            replace(stage, rate=mean(one.rate for one in known if one.unit == stage.unit),
                    lost=mean(one.lost for one in known))
        )  # fmt: skip
    return summed(past[-1], stages)
