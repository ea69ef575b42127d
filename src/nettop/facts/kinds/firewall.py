"""What drops packets by its configuration: rules, long chains, filters of tc, IPsec.

From the collectors `nftables`, `nft_chains`, `filters` (a policer, a drop, a redirect that nobody
takes) and `xfrm`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from operator import attrgetter
from typing import Final

from ...collect.filters import Row
from ...frame.fields import gauge, label, maybe
from ...frame.rates import Entry, Frame
from ...terms.dataclass import dataclass
from ...terms.units import scaled
from .. import Facts
from ..kind import Kind

LEAVING: Final = ("output", "postrouting")  # passed before the interface


@dataclass(frozen=True, slots=True)
class Firewall:
    """A rule or policy of nf_tables that drops packets now."""

    id: str = label("family, table, chain and handle, e.g. inet/filter/input/7")
    hook: str = gauge("hook of its chain; empty: another chain jumps to it", default="")
    limited: bool = gauge("drops what exceeds a limit", default=False)
    drops: float | None = maybe("packets dropped", "packets/s")
    share: float | None = maybe(
        "packets dropped / packets of the busiest interface and those dropped before one", "ratio"
    )
    rejects: bool = gauge("it answers by ICMP or a reset", default=False)
    tests: str = gauge("what it tests of connections, sets, fragments and its quota", default="")


def build(frame: Frame, facts: Facts) -> tuple[Firewall, ...]:
    """One fact for each rule and policy whose counter moved."""
    moved = [
        (nic.per_s.rx_packets or 0.0) + (nic.per_s.tx_packets or 0.0)
        for nic in facts.nics
        if nic.kind != "loopback"
    ]
    busiest = max(moved, default=0.0)
    found = []
    for entry in frame.tables.get("nftables", ()):
        row, drops = entry.now, entry.rate("packets")
        if drops:
            # the interface counts what is dropped behind it, and not what it never was given
            whole = busiest + drops if row.hook in LEAVING else max(busiest, drops)
            share = drops / whole if busiest else None
            found.append(
                Firewall(row.name, row.hook, row.limited, drops, share, row.rejects, row.tests)
            )
    return tuple(found)


KIND = Kind(
    Firewall, "firewalls", needs=("nftables",), build=build,
    example={"id": "inet/filter/input/7", "hook": "input"},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chain:
    """A long chain of packet filter rules."""

    id: str = label("family, table and chain, e.g. inet/filter/input")
    hook: str = gauge("hook of the chain; empty: another chain jumps to it", default="")
    rules: int = gauge("rules of the chain", "rules", default=0)


def _chains(frame: Frame, facts: object) -> tuple[Chain, ...]:  # noqa: ARG001
    """One fact for each row."""
    return tuple(
        Chain(f"{row.family}/{row.table}/{row.chain}", row.hook, row.rules)
        for row in frame.rows("nft_chains")
    )


CHAIN = Kind(
    Chain, "chains", needs=("nft_chains",), build=_chains,
    example={"id": "inet/filter/input", "hook": "input"},
)  # fmt: skip


AMPLE: Final = 0.02  # s of its rate: what TCP sends at once on a short path
HOOKS: Final = ("ingress", "egress")
ACTIONS: Final = {"gact": "drop"}  # the word of tc(8), where it is not the name of the module


@dataclass(frozen=True, slots=True)
class Filter:
    """One action of one filter of tc that drops packets."""

    id: str = label("interface, place and preference, e.g. eth0/1:/pref-5")
    nic: str = gauge("interface", default="")
    parent: str = gauge("ingress, egress, or the root qdisc that it sorts for", default="")
    kind: str = gauge("kind of filter: flower matchall u32 …", default="")
    action: str = gauge("action with its rate or target, e.g. police at 300 Mb/s", default="")
    rate: float | None = maybe("rate of a policer", "bit/s")
    burst: int | None = maybe("burst of a policer", "bytes")
    lasts: float | None = maybe("time of its rate that the burst lets pass", "s")
    ample: str = gauge("burst that lasts 20 ms, as tc takes it", default="")
    taken: float | None = maybe("packets that reach the action", "packets/s")
    passed: float | None = maybe("packets that it lets pass", "packets/s")
    drops_per_s: float | None = maybe("packets dropped by the action", "packets/s")


def _filters(frame: Frame, facts: object) -> tuple[Filter, ...]:  # noqa: ARG001
    """Those that have dropped a packet since they exist.

    What an interface that is up does not take of what is redirected to it, that interface drops, in
    its queue (net/sched/act_mirred.c, tcf_mirred_to_dev(): one that is down is not asked).
    """
    takes = {one.interface for one in frame.rows("links") if one.up and one.carrier is not False}
    found = []
    for entry in frame.tables.get("filters", ()):
        row, taken, drops = entry.now, entry.rate("packets"), entry.rate("drops")
        if not row.drops or row.target in takes:
            continue
        found.append(
            Filter(
                f"{row.interface}/{row.parent}/pref-{row.priority}", row.interface, row.parent,
                row.kind, words(row), row.rate, row.burst,
                8 * row.burst / row.rate if row.burst and row.rate else None,
                f"{AMPLE * row.rate / 8e3:.0f}kb" if row.rate else "", taken,
                max(0.0, taken - drops) if taken is not None and drops is not None else None,
                drops,
            )
        )  # fmt: skip
    return tuple(found)


def words(row: Row) -> str:
    """The action with its rate or target."""
    known = f" at {scaled(row.rate, 'b/s')}" if row.rate else ""
    known += f" to {row.target}" if row.target else ""
    return ACTIONS.get(row.action, row.action) + known


def dropping(entries: Sequence[Entry[Row]], place: str, nics: Container[str]) -> Counter[str]:
    """The filters of these interfaces whose drops rise, at ingress, egress, or (empty) a root.

    Without any, the BPF programs at ingress or egress: they decide by themselves and count nothing.
    """
    at = (place,) if place else {one.now.parent for one in entries} - {*HOOKS}
    here = [one for one in entries if one.now.interface in nics and one.now.parent in at]
    counting = Counter(
        {f"{words(one.now)} ({one.now.kind}, pref {one.now.priority})": rate
         for one in here if (rate := one.rate("drops"))}
    )  # fmt: skip
    programs = Counter(f"program {one.now.program}" for one in here if one.now.program and place)
    return counting or programs


FILTER = Kind(
    Filter, "filters", needs=("filters", "links"), build=_filters,
    parents={"nic": attrgetter("nic")},
    example={"id": "eth0/1:/pref-5", "nic": "eth0", "parent": "1:", "kind": "flower"},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Xfrm:
    """A reason for which IPsec drops packets now, by the name of its counter."""

    reason: str = label("reason, e.g. XfrmInStateSeqError")
    drops: float | None = maybe("packets dropped by IPsec", "packets/s")


def _xfrms(frame: Frame, facts: Facts) -> tuple[Xfrm, ...]:  # noqa: ARG001
    """One fact for each counter that moved."""
    rates = ((entry.now.reason, entry.rate("packets")) for entry in frame.tables.get("xfrm", ()))
    return tuple(Xfrm(reason, drops) for reason, drops in rates if drops)


XFRM = Kind(Xfrm, "xfrms", needs=("xfrm",), build=_xfrms, example={"reason": "XfrmInStateSeqError"})
