"""What of the packet filter, and of connection tracking, drops packets or writes into them.

`seen`: the drop and the host, as in `drop_causes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any, Final

from ..collect._counted import NORMAL
from ..collect.nftables import INVALID
from ..terms.text import few
from .flow_words import end
from .used_ports import chosen
from .way.chains import cure, filtered, named, shown, writing
from .way.flow import Host

MOST: Final = 3  # rules that are named
SUMS: Final = ("IP_CSUM", "TCP_CSUM", "UDP_CSUM", "ICMP_CSUM")  # a checksum is wrong
AGAIN: Final = "syn_retrans"  # the counter of SYNs that are sent again
UNSENT: Final = "udp_sndbuf_errors"  # the counter of datagrams that a queue or hook below refuses
UNTRACKED: Final = frozenset(("arp", "bridge"))  # families of rules for frames
NEARLY: Final = 0.8  # of the drops: as many entries of tracking were not inserted
HALF: Final = 0.5  # of the drops: as many are of connections that have no answer here


def rules(seen: Any) -> Mapping[str, Any]:
    """The rules of the packet filter that may drop such packets there.

    While nothing is invalid for connection tracking, another rule than one for that is it.
    """
    found = filtered(seen.host, seen.rows)
    if _valid(seen.host):
        found = [one for one in found if INVALID not in one.tests.split(", ")] or found
    if not found:
        return {}
    # at an interface, the sender is told as of a full queue: net/core/dev.c, nf_hook_egress()
    unsent = all(one.family == "netdev" for one in found) and any(
        row.protocol == "udp" and row.source and seen.host.local(row.source) for row in seen.rows
    )
    return {
        "raises": (UNSENT,) if unsent else again(seen),
        "filters": few((one.told for one in found), MOST),
        "rules": tuple(one.name for one in found[:MOST]),
        "show": found[0].shown,
    }


def again(seen: Any) -> tuple[str, ...]:
    """What rises where segments of this host alone are dropped: SYNs among them come again."""
    own = all(row.source and seen.host.local(row.source) for row in seen.rows)
    return (AGAIN,) if own and any(row.protocol == "tcp" for row in seen.rows) else ()


def _valid(host: Host) -> bool:
    """Whether connection tracking has called no packet invalid just now, nor before in this look.

    It counts each one: net/netfilter/nf_conntrack_core.c, nf_conntrack_in().
    """
    entries = host.frame.tables.get("conntrack", ())
    quiet = (one.rate("invalid") == 0 and (one.past is None or one.past.invalid == one.now.invalid)
             for one in entries)  # fmt: skip
    return bool(entries) and all(quiet)


def tracked(seen: Any) -> Mapping[str, Any]:
    """That one of the rules may test what connection tracking knows; of frames it knows nothing."""
    families = {name.partition("/")[0] for name in seen.drop.rules}
    return {} if families <= UNTRACKED else {"filters": seen.drop.filters}


def invalid(seen: Any) -> Mapping[str, Any]:
    """That one of the rules is for what connection tracking calls invalid."""
    return {"filters": seen.drop.filters} if INVALID in seen.drop.filters else {}


def halved(seen: Any) -> Mapping[str, Any]:
    """Connections between other hosts, of which this one sees no answer.

    What follows the first packet is invalid then: net/netfilter/nf_conntrack_proto_tcp.c,
    tcp_conntracks[].
    """
    silent = {(row.origin, row.to, row.port) for row in seen.host.frame.rows("translated")
              if row.protocol == "tcp" and not (row.answered or row.moved)}  # fmt: skip
    half = [row for row in seen.rows if (row.source, row.to, row.to_port) in silent
            and not (seen.host.local(row.source) or seen.host.local(row.to))]  # fmt: skip
    if INVALID not in seen.drop.filters or not half:
        return {}
    if sum(row.packets for row in half) < HALF * seen.drop.packets:
        return {}
    most = max(half, key=lambda row: row.packets)
    return {
        "filters": seen.drop.filters, "source": most.source, "to": most.to,
        "ends": f"{most.source} to {end(most.to, most.to_port)}", "kind": "loss", "rule": "",
    }  # fmt: skip


def unserved(seen: Any) -> Mapping[str, Any]:
    """That a policy alone drops, and all of it is for ports at which this host has no socket.

    At a port that the kernel chooses for clients a socket may be gone.
    """
    host, clients = seen.host, chosen(seen.facts.sysctls) or range(0)
    if any(host.unread(table) for table in ("sockets_tcp", "sockets_udp")):
        return {}
    used = {(kind, row.local_port) for kind in ("tcp", "udp")
            for row in host.frame.rows(f"sockets_{kind}")}  # fmt: skip
    strange = all(
        row.to_port and row.to_port not in clients and row.protocol in ("tcp", "udp")
        and (row.protocol, row.to_port) not in used and host.local(row.to) for row in seen.rows
    )  # fmt: skip
    policies = all(name.endswith("/policy") for name in seen.drop.rules)
    if not (strange and policies and seen.drop.rules):
        return {}
    return {"filters": seen.drop.filters, "kind": NORMAL, "rule": ""}


def rewritten(seen: Any) -> Mapping[str, Any]:
    """The rule of this host that writes such packets before they are found to be wrong."""
    row = max(seen.rows, key=lambda one: one.packets)
    found = writing(seen.host, row, hops=seen.drop.reason not in SUMS)
    if found is None:
        return {}
    chain, rule = found
    return {"by": named(rule, chain), "show": shown(rule), "cure": cure(rule)}


def untracked(seen: Any) -> Mapping[str, Any]:
    """Connection tracking, if that, and no rule, dropped the packets.

    nf_conntrack_confirm() is called at a hook of the filter, and its NF_DROP has no reason of its
    own. As many entries were not inserted.
    """
    entries = seen.host.frame.tables.get("conntrack", ())
    failures = sum(one.rate("failures") or 0.0 for one in entries)
    if seen.drop.filters or failures < NEARLY * (seen.drop.per_s or inf):
        return {}
    return {"failures": failures}


def unported(seen: Any) -> Mapping[str, Any]:
    """Such a packet for which a rule that translates has no port left."""
    rule = seen.facts.host.few_ports
    return {"by": rule} if rule is not None and untracked(seen) else {}
