"""The settings of both ends of each joined flow, as facts for rules, from the side of each host."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address, ip_network

from ...collect.sockets_tcp import Row as TcpRow
from ...frame.rates import Close, Frame
from .. import Facts, single
from ..kinds.flow import Flow
from ..kinds.nic import Nic
from ..kinds.pair import Pair, PairEnd
from .match import Tuple4


def pairs(
    names: Iterable[tuple[Tuple4, TcpRow, TcpRow]], frame: Frame, here: Facts, there: Facts,
    hosts: tuple[str, str], ahead: float | None = None,
) -> tuple[Pair, ...]:  # fmt: skip
    """The pairs as the facts `here` see them; each by name, with the sockets of here and there.

    `ahead`: seconds by which the clock there is ahead of the one here, at the least.
    """
    out = []
    for name, near, far in names:
        own, other = _flow(here, near), _flow(there, far)
        if own is None or other is None:
            continue
        first, last = _end(hosts[0], here, own, near), _end(hosts[1], there, other, far)
        sends = None if own.direction is None else own.direction == "send"
        rate = 8 * max(own.rx_per_s or 0.0, own.tx_per_s or 0.0)
        out.append(
            Pair(f"{_shown(name[0])}:{name[1]}>{_shown(name[2])}:{name[3]}", own.nic, sends, rate,
                 _direct(frame, name), near.timestamps, near.sack, near.wscale,
                 near.ecn, ahead, first, last)
        )  # fmt: skip
    return tuple(out)


def clock_ahead(close: Close) -> float:
    """Seconds by which the clock of the other host is ahead at the least; below 0: behind.

    It was read between the two frames of this host, so the difference is known within a range.
    """
    least, most = close.there.wall - close.after.wall, close.there.wall - close.before.wall
    return 0.0 if least <= 0.0 <= most else min(least, most, key=abs)


def _shown(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _flow(facts: Facts, row: TcpRow) -> Flow | None:
    return next(
        (one for one in facts.flows if one.inode == row.inode and one.protocol == "tcp"), None
    )


def _end(host: str, facts: Facts, flow: Flow, row: TcpRow) -> PairEnd:
    nic = next((one for one in facts.nics if one.name == flow.nic), None)
    rmem = single.triple(facts.sysctls.get("net.ipv4.tcp_rmem"))
    return PairEnd(
        host, flow.nic,
        nic.mtu if nic else None, nic.speed if nic else None, nic.duplex if nic else None,
        _on(nic, "tx-tcp-segmentation"), _on(nic, "rx-gro"),
        nic.per_s.pause_tx if nic else None, nic.per_s.pause_rx if nic else None,
        flow.congestion, row.pmtu, flow.rcvbuf, flow.rcvbuf_fixed,
        rmem[2] if len(rmem) == 3 else None, flow.recv_q, flow.window, flow.rwnd_limited,
        flow.min_rtt, flow.retransmits_per_s,
        _switch(facts, "tcp_timestamps"), _switch(facts, "tcp_sack"),
        _switch(facts, "tcp_window_scaling"), _whole(facts, "tcp_ecn"),
    )  # fmt: skip


def _on(nic: Nic | None, name: str) -> bool | None:
    return next((one.on for one in (nic.features if nic else ()) if one.name == name), None)


def _whole(facts: Facts, name: str) -> int | None:
    text = facts.sysctls.get(f"net.ipv4.{name}", "").strip()
    return int(text) if text.isdecimal() else None


def _switch(facts: Facts, name: str) -> bool | None:
    value = _whole(facts, name)
    return None if value is None else value > 0


def _direct(frame: Frame, name: Tuple4) -> bool | None:
    """Whether the other end is in the network of this end's address; None if not known."""
    own = next((row for row in frame.rows("addresses") if row.address == name[0]), None)
    if own is None:
        return None
    return ip_address(name[2]) in ip_network(f"{own.address}/{own.prefix}", strict=False)
