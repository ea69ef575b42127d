"""Totals of the protocols in this network namespace: /proc/net/snmp, snmp6, netstat and sockstat.

net/ipv4/proc.c: pairs of lines, the names of a section and then their values. New kernels add
names, so each value is found by its name. What IPv6 counts (/proc/net/snmp6) is added to what IPv4
counts. Documentation/networking/snmp_counter.rst defines the counters.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields
from functools import cache, partial
from typing import Final

from ..files.bounds import count
from ..frame.fields import counter, gauge, maybe
from ..frame.rates import Partly
from ..host.source import Source
from ..terms.dataclass import dataclass
from ..terms.errors import sentence
from ._lines import Figures, by_line, sections, singles
from ._table import Memory, Table, parsed, recall

TABLE: Final = Table(
    needed="losses and errors of TCP, UDP and IP", may_rest=True,
    keep_open=("/proc/net/netstat", "/proc/net/snmp", "/proc/net/snmp6", "/proc/net/sockstat",
               "/proc/net/sockstat6"), memory="sockets",
)  # fmt: skip

# What each field adds up, as `Section.Name`.
_SUMS: Final[Mapping[str, str]] = {
    "tcp_in": "Tcp.InSegs", "tcp_out": "Tcp.OutSegs", "tcp_retrans": "Tcp.RetransSegs",
    "tcp_errors": "Tcp.InErrs", "tcp_checksum_errors": "Tcp.InCsumErrors",
    "tcp_resets": "Tcp.OutRsts",
    "tcp_aborts": "TcpExt.TCPAbortOnData TcpExt.TCPAbortOnClose TcpExt.TCPAbortOnMemory "
    "TcpExt.TCPAbortOnTimeout TcpExt.TCPAbortOnLinger",
    "tcp_cut": "TcpExt.TCPAbortOnData TcpExt.TCPAbortOnClose",
    "tcp_given_up": "TcpExt.TCPAbortOnTimeout", "tcp_silent": "TcpExt.TCPDeferAcceptDrop",
    "tcp_established": "Tcp.CurrEstab",
    "tcp_opened": "Tcp.ActiveOpens Tcp.PassiveOpens", "tcp_active": "Tcp.ActiveOpens",
    "tcp_passive": "Tcp.PassiveOpens", "tcp_failed": "Tcp.AttemptFails",
    "tcp_unsigned": "TcpExt.TCPMD5NotFound TcpExt.TCPMD5Unexpected TcpExt.TCPMD5Failure "
    "TcpExt.TCPAORequired TcpExt.TCPAOBad TcpExt.TCPAOKeyNotFound",
    "tcp_twice": "TcpExt.TCPDSACKOldSent TcpExt.TCPDSACKOfoSent",
    "tcp_timeouts": "TcpExt.TCPTimeouts",
    "tcp_lost_retransmit": "TcpExt.TCPLostRetransmit",
    "tcp_spurious": "TcpExt.TCPSpuriousRTOs", "tcp_fast_retransmits": "TcpExt.TCPFastRetrans",
    "listen_overflows": "TcpExt.ListenOverflows", "listen_drops": "TcpExt.ListenDrops",
    "rcvq_drops": "TcpExt.TCPRcvQDrop TcpExt.TCPOFODrop",
    "socket_backlog_drops": "TcpExt.TCPBacklogDrop",
    "zero_windows": "TcpExt.TCPToZeroWindowAdv", "zero_window_drops": "TcpExt.TCPZeroWindowDrop",
    "prune_called": "TcpExt.PruneCalled", "rcv_pruned": "TcpExt.RcvPruned",
    "ofo_pruned": "TcpExt.OfoPruned", "memory_pressures": "TcpExt.TCPMemoryPressures",
    "mtup_fail": "TcpExt.TCPMTUPFail", "mtup_success": "TcpExt.TCPMTUPSuccess",
    "reno_recovery": "TcpExt.TCPRenoRecovery", "sack_recovery": "TcpExt.TCPSackRecovery",
    "sack_reorder": "TcpExt.TCPSACKReorder", "busy_poll_packets": "TcpExt.BusyPollRxPackets",
    "ip_in": "Ip.InReceives 6.Ip6InReceives", "ip_discards": "Ip.InDiscards 6.Ip6InDiscards",
    "ip_forwarded": "Ip.ForwDatagrams 6.Ip6OutForwDatagrams",
    "ip_requests": "Ip.OutRequests 6.Ip6OutRequests",
    "ip_transmits": "Ip.OutTransmits 6.Ip6OutTransmits",
    "frag_refused": "Ip.FragFails", "paws_drops": "TcpExt.PAWSEstab",
    "frag_creates": "Ip.FragCreates 6.Ip6FragCreates",
    "reasm_fails": "Ip.ReasmFails 6.Ip6ReasmFails",
    "reasm_needed": "Ip.ReasmReqds 6.Ip6ReasmReqds", "reasm_done": "Ip.ReasmOKs 6.Ip6ReasmOKs",
    "delayed_acks": "TcpExt.DelayedACKs",
    "udp_in": "Udp.InDatagrams 6.Udp6InDatagrams", "udp_out": "Udp.OutDatagrams 6.Udp6OutDatagrams",
    "udp_errors": "Udp.InErrors 6.Udp6InErrors", "udp_no_ports": "Udp.NoPorts 6.Udp6NoPorts",
    "udp_rcvbuf_errors": "Udp.RcvbufErrors 6.Udp6RcvbufErrors",
    "udp_sndbuf_errors": "Udp.SndbufErrors 6.Udp6SndbufErrors",
    "udp_memory_errors": "Udp.MemErrors 6.Udp6MemErrors",
    "udp_checksum_errors": "Udp.InCsumErrors 6.Udp6InCsumErrors",
    "syn_cookies": "TcpExt.TCPReqQFullDoCookies", "syn_drops": "TcpExt.TCPReqQFullDrop",
    "time_wait_overflows": "TcpExt.TCPTimeWaitOverflow",
    "reverse_path_drops": "TcpExt.IPReversePathFilter",
    "ip_delivers": "Ip.InDelivers 6.Ip6InDelivers",
    "ip_no_routes": "IpExt.InNoRoutes 6.Ip6InNoRoutes",
    "ip_foreign": "Ip.InAddrErrors 6.Ip6InAddrErrors",
    "ip_no_way_out": "Ip.OutNoRoutes", "ip6_no_way_out": "6.Ip6OutNoRoutes",
    "ip_header_errors": "Ip.InHdrErrors 6.Ip6InHdrErrors",
    "ip_expired": "Icmp.OutTimeExcds 6.Icmp6OutTimeExcds",
    "ip_unreachable": "Icmp.InDestUnreachs 6.Icmp6InDestUnreachs",
    "too_big_sent": "6.Icmp6OutPktTooBigs",
    "ip_errors": "Ip.InHdrErrors 6.Ip6InHdrErrors IpExt.InTruncatedPkts 6.Ip6InTruncatedPkts "
    "6.Ip6InTooBigErrors",
    "ip_wire": "IpExt.InNoECTPkts IpExt.InECT1Pkts IpExt.InECT0Pkts IpExt.InCEPkts "
    "6.Ip6InNoECTPkts 6.Ip6InECT1Pkts 6.Ip6InECT0Pkts 6.Ip6InCEPkts",
    "ip6_multicast": "6.Ip6InMcastPkts",
    "udp_unasked": "Udp.IgnoredMulti 6.Udp6IgnoredMulti", "syn_retrans": "TcpExt.TCPSynRetrans",
    "tcp_inuse": "TCP.inuse TCP6.inuse", "tcp_orphan": "TCP.orphan", "time_wait": "TCP.tw",
    "tcp_mem_pages": "TCP.mem", "udp_inuse": "UDP.inuse UDP6.inuse", "udp_mem_pages": "UDP.mem",
    "frag_waiting": "FRAG.inuse FRAG6.inuse", "frag_memory": "FRAG.memory",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """The one row. None: the kernel lacks this counter or file."""

    tcp_in: int | None = counter("TCP segments received (merged segments count once)", "segments")
    tcp_out: int | None = counter("TCP segments sent", "segments")
    tcp_retrans: int | None = counter("retransmitted TCP segments", "segments")
    tcp_errors: int | None = counter("TCP segments received with errors", "segments")
    tcp_checksum_errors: int | None = counter("TCP segments with a wrong checksum", "segments")
    tcp_resets: int | None = counter("TCP resets sent", "segments")
    tcp_aborts: int | None = counter("connections aborted by this host", "connections")
    tcp_cut: int | None = counter(
        "connections that this host ended by a reset with data left", "connections"
    )
    tcp_given_up: int | None = counter("connections ended without an answer", "connections")
    tcp_silent: int | None = counter(
        "handshakes without data, for a listener with TCP_DEFER_ACCEPT", "events"
    )
    tcp_established: int | None = gauge("connections established", "connections")
    tcp_opened: int | None = counter("connections opened, in both directions", "connections")
    tcp_active: int | None = counter("outgoing connections opened", "connections")
    tcp_passive: int | None = counter("incoming connections opened", "connections")
    tcp_failed: int | None = counter(
        "connections refused, or given up, before they were open", "connections"
    )
    tcp_twice: int | None = counter("TCP segments received a second time (DSACK)", "segments")
    tcp_unsigned: int | None = counter(
        "TCP segments dropped, MD5 or TCP-AO signature absent or wrong", "segments"
    )
    tcp_timeouts: int | None = counter("retransmission timeouts", "events")
    tcp_lost_retransmit: int | None = counter("retransmissions lost again", "segments")
    tcp_spurious: int | None = counter("spurious retransmission timeouts", "events")
    tcp_fast_retransmits: int | None = counter("fast retransmissions", "segments")
    listen_overflows: int | None = counter("connections dropped, accept queue full", "events")
    listen_drops: int | None = counter("SYNs dropped", "events")
    rcvq_drops: int | None = counter(
        "packets dropped, no socket memory (TCPRcvQDrop, TCPOFODrop)", "packets"
    )
    socket_backlog_drops: int | None = counter(
        "packets dropped, socket backlog full (TCPBacklogDrop)", "packets"
    )
    zero_windows: int | None = counter("zero windows advertised", "events")
    zero_window_drops: int | None = counter("packets dropped, window zero", "packets")
    prune_called: int | None = counter("receive queues pruned", "events")
    rcv_pruned: int | None = counter(
        "packets dropped, receive buffer of the socket full", "packets"
    )
    ofo_pruned: int | None = counter("out-of-order queues pruned", "events")
    memory_pressures: int | None = counter("TCP memory pressure events", "events")
    mtup_fail: int | None = counter("failed MTU probes", "events")
    mtup_success: int | None = counter("successful MTU probes", "events")
    reno_recovery: int | None = counter("recoveries without SACK", "events")
    sack_recovery: int | None = counter("recoveries with SACK", "events")
    sack_reorder: int | None = counter("reorderings found by SACK", "events")
    busy_poll_packets: int | None = counter("packets received by busy polling", "packets")
    ip_in: int | None = counter("IP packets received", "packets")
    ip_discards: int | None = counter("IP packets discarded", "packets")
    ip_forwarded: int | None = counter("IP packets forwarded", "packets")
    ip_requests: int | None = counter("IP packets that this host originates", "packets")
    ip_transmits: int | None = counter(
        "IP packets given to an interface, originated or forwarded", "packets"
    )
    frag_refused: int | None = counter("packets above the MTU, not fragmented", "packets")
    paws_drops: int | None = counter("TCP segments with an old timestamp (PAWS)", "segments")
    frag_creates: int | None = counter("IP fragments created", "fragments")
    reasm_fails: int | None = counter("failed reassemblies", "events")
    reasm_needed: int | None = counter("IP fragments received", "fragments")
    reasm_done: int | None = counter("packets reassembled", "packets")
    delayed_acks: int | None = counter("delayed ACKs sent by the timer", "events")
    udp_in: int | None = counter("datagrams delivered", "packets")
    udp_out: int | None = counter("datagrams sent", "packets")
    udp_errors: int | None = counter("datagrams not delivered to their socket", "packets")
    udp_no_ports: int | None = counter("datagrams to a port that no socket has", "packets")
    udp_rcvbuf_errors: int | None = counter("datagrams dropped, receive buffer full", "packets")
    udp_sndbuf_errors: int | None = counter(
        "datagrams dropped, send buffer or queue full", "packets"
    )
    udp_memory_errors: int | None = counter("datagrams dropped, UDP memory limit", "packets")
    udp_checksum_errors: int | None = counter("datagrams with a wrong checksum", "packets")
    syn_cookies: int | None = counter("SYN cookies sent, SYN queue full", "events")
    syn_drops: int | None = counter("SYNs dropped, SYN queue full", "events")
    time_wait_overflows: int | None = counter(
        "sockets closed without TIME_WAIT, too many of them", "events"
    )
    reverse_path_drops: int | None = counter("packets dropped, reverse path filter", "packets")
    ip_delivers: int | None = counter("IP packets delivered to a protocol", "packets")
    ip_no_routes: int | None = counter("IP packets received, no route", "packets")
    ip_foreign: int | None = counter("IP packets received for another host", "packets")
    ip_no_way_out: int | None = counter("IPv4 packets not sent, no route", "packets")
    ip6_no_way_out: int | None = counter("IPv6 packets not sent, no route", "packets")
    ip_header_errors: int | None = counter(
        "IP packets received with a wrong header or an expired TTL", "packets"
    )
    ip_expired: int | None = counter("ICMP messages sent: time exceeded", "packets")
    ip_unreachable: int | None = counter(
        "ICMP messages received: destination unreachable", "packets"
    )
    too_big_sent: int | None = counter("ICMPv6 messages sent: packet too big", "packets")
    ip_errors: int | None = counter("IP packets received with a wrong header", "packets")
    ip_wire: int | None = counter("IP packets received; each of a merged packet counts", "packets")
    ip6_multicast: int | None = counter("IPv6 multicast packets received", "packets")
    udp_unasked: int | None = counter(
        "broadcast and multicast datagrams that no socket takes", "packets"
    )
    syn_retrans: int | None = counter("SYN segments sent again", "segments")
    tcp_inuse: int | None = gauge("TCP sockets", "sockets")
    tcp_orphan: int | None = gauge("orphaned TCP sockets", "sockets")
    time_wait: int | None = gauge("sockets in TIME_WAIT", "sockets")
    tcp_mem_pages: int | None = gauge("memory of all TCP sockets", "pages")
    udp_inuse: int | None = gauge("UDP sockets", "sockets")
    udp_mem_pages: int | None = gauge("memory of all UDP sockets", "pages")
    frag_waiting: int | None = gauge("packets that wait for the rest of their fragments", "packets")
    frag_memory: int | None = maybe("memory of the fragments that wait, of IPv4", "bytes")


@dataclass
class Known:
    """The last reading, for `_udp_senders`."""

    parts: list[Figures] = field(default_factory=list)  # the figures of each file
    rows: list[Row] = field(default_factory=list)


def update(source: Source, memory: Memory) -> Sequence[Row]:
    """One row. OSError without /proc/net/snmp, ValueError for another format.

    A kernel without IPv6 lacks some of the other files; one that is empty or forbidden is said.
    """
    last = recall(memory, Known)
    texts = {"snmp": source.text("/proc/net/snmp")}
    if "Tcp:" not in texts["snmp"]:
        raise ValueError("/proc/net/snmp has no line Tcp:")
    unread = []
    for name in _MORE:
        try:
            texts[name] = source.text(f"/proc/net/{name}").strip(" \t\n\0")
        except FileNotFoundError:
            texts[name] = ""
        except OSError as error:
            texts[name] = ""
            unread.append(sentence(error))
        else:
            unread += [] if texts[name] else [f"/proc/net/{name} is empty"]
    parts = [parsed(memory, name, text, _PARSE[name]) for name, text in texts.items()]
    unread += [
        f"/proc/net/{name}: {why}"
        for name, part in zip(texts, parts, strict=True) for why in part.wrong[:1]
    ]  # fmt: skip
    if not last.rows or any(new is not old for new, old in zip(parts, last.parts, strict=True)):
        figures = {k: v for part in parts for k, v in part.items()}
        last.parts = parts
        last.rows = [row(figures, whole=not any(part.wrong for part in parts))]
    return Partly(last.rows, "; ".join(unread)) if unread else last.rows


def row(figures: Mapping[str, int], *, whole: bool = True) -> Row:
    """The row of these figures, by `Section.Name`; a field without any is None.

    If lines could not be read (not `whole`), so is a sum that lacks a figure.
    """
    values: list[int | None] = []
    for names in _parts():
        known = [figures[name] for name in names if name in figures]
        known = known if whole or len(known) == len(names) else []
        values.append(sum(known) if len(known) > 1 else known[0] if known else None)
    return Row(*values)


@cache
def _parts() -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(_SUMS[item.name].split()) for item in fields(Row))


_ASKED: Final = frozenset(name for names in _SUMS.values() for name in names.split())


def sockets(text: str) -> Figures:
    """The figures of lines such as `TCP: inuse 1 orphan 0`, by `TCP.inuse`."""
    return by_line(text.splitlines(), _sockets)


def _sockets(line: str) -> list[tuple[str, int]]:
    section, colon, rest = line.partition(":")
    words = rest.split()
    if not colon or len(words) % 2:
        raise ValueError(f"not names with their figures: {line[:60]!r}")
    pairs = zip(words[::2], words[1::2], strict=True)
    return [(f"{section}.{name}", count(word)) for name, word in pairs]


_PARSE: Final[Mapping[str, Callable[[str], Figures]]] = {
    "snmp": partial(sections, asked=_ASKED), "netstat": partial(sections, asked=_ASKED),
    "sockstat": sockets, "sockstat6": sockets, "snmp6": partial(singles, asked=_ASKED),
}  # fmt: skip
_MORE: Final = tuple(name for name in _PARSE if name != "snmp")
