"""An open connection of this host whose segments a rule drops as invalid, so that none arrives.

Tracking that does not know a connection picks it up only where net.netfilter.nf_conntrack_tcp_loose
is not 0; else each segment but a SYN is invalid (net/netfilter/nf_conntrack_proto_tcp.c,
tcp_new()). Who waits for an answer repeats his segments ever more rarely: few are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ..collect.sockets_tcp import Row as TcpRow
from .flow_words import end
from .way.chains import cure, passed, shown
from .way.flow import Host, address
from .way.packet import ESTABLISHED, INVALID, Packet

HOOKS: Final = ("prerouting", "input")


def cut(seen: Any) -> Mapping[str, Any]:
    """The rule that drops what is invalid, and the connection of which nothing else arrives."""
    host: Host = seen.host
    silent = {
        (str(address(one.now.local)), one.now.local_port, str(address(one.now.remote)),
         one.now.remote_port)
        for one in host.frame.tables.get("sockets_tcp", ())
        if one.now.state == "established" and _heard(one.past) in (None, _heard(one.now))
    }  # fmt: skip
    for row in seen.rows:
        ends = row.to, row.to_port, row.source, row.source_port
        if row.protocol != "tcp" or ends not in silent:
            continue
        link = host.numbered.get(row.interface)
        packet = Packet(row.to, row.source, "tcp", row.to_port, row.source_port, state=INVALID,
                        arrives=link.interface if link is not None else None)  # fmt: skip
        if found := _rule(host, packet):
            return {**found, "cut": True, "ends": f"{end(row.source, row.source_port)} to "
                    f"{end(row.to, row.to_port)}"}  # fmt: skip
    return {}


def _heard(row: TcpRow | None) -> tuple[int | None, int | None] | None:
    """What of a connection came: data, and what it acknowledges."""
    return None if row is None else (row.bytes_received, row.bytes_acked)


def _rule(host: Host, packet: Packet) -> Mapping[str, str]:
    """The first rule that drops such a packet, and none of a connection that is tracked."""
    families = "ip6" if address(packet.to).version == 6 else "ip", "inet"
    tracked = replace(packet, state=ESTABLISHED)
    for hook in HOOKS:
        kept = passed(host, hook, families, tracked)
        passes = {id(chain) for chain, ended, _ in kept if not ended.drops(chain)}
        for chain, ended, _ in passed(host, hook, families, packet):
            who, rule = ended.drops(chain), ended.rule
            if who and rule is not None and id(chain) in passes:
                return {"by": f"{who[0].upper()}{who[1:]}", "show": shown(rule), "cure": cure(rule)}
    return {}
