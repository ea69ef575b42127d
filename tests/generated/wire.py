"""The netlink and ioctl answers of a generated host.

Numbers are those of include/uapi/linux/{if_link,ethtool_netlink,inet_diag,tcp}.h, written here once
more: an error in the reader's tables must not cancel out.
"""

import struct
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address
from itertools import count
from typing import Final

import nft_bytes
from generated.ioctls import FEATURES, MODES, feature_bits, ioctls, parent
from generated.model import Flow, Host, Listener, Port
from netlink_bytes import (
    bitset,
    counters,
    device,
    link,
    message,
    nest,
    number,
    string_set,
    text,
    u8,
)

from nettop.host.netlink.codec import attribute

LINK: Final = tuple(
    "rx_packets tx_packets rx_bytes tx_bytes rx_errors tx_errors rx_dropped tx_dropped multicast "
    "collisions rx_length_errors rx_over_errors rx_crc_errors rx_frame_errors rx_fifo_errors "
    "rx_missed_errors tx_aborted_errors tx_carrier_errors tx_fifo_errors tx_heartbeat_errors "
    "tx_window_errors rx_compressed tx_compressed rx_nohandler rx_otherhost_dropped".split()
)
COALESCE: Final = {
    "rx_usecs": 2, "rx_max_frames": 3, "tx_usecs": 6, "tx_max_frames": 7,
    "use_adaptive_rx": 11, "use_adaptive_tx": 12,
}  # fmt: skip


def answers(host: Host, moment: int) -> Iterator[tuple[str, bytes]]:
    """Every answer by the name that a recording gives it."""
    yield "netlink/route/links", b"".join(_link(host, port, moment) for port in host.ports)
    yield "netlink/route/counters", b"".join(_counters(host, port, moment) for port in host.ports)
    yield "netlink/route/addresses", b"".join(_address(port) for port in host.ports if port.address)
    yield "netlink/route/routes4", b"".join(_routes(host))
    yield "netlink/route/qdiscs", b"".join(_qdisc(host, port, moment) for port in host.ports)
    yield "netlink/sock_diag/tcp", b"".join(_sockets(host, moment))
    yield "netlink/sock_diag/time-wait", b"".join(_waiting(host))
    yield "netlink/sock_diag/packet", b""
    if host.admin:
        yield "netlink/netfilter/chains", nft_bytes.chain("input", 1, nft_bytes.ACCEPT)
        yield "netlink/netfilter/rules", b"".join(_firewall(host, moment))
    if host.kernel >= (5, 7):
        yield "netlink/ethtool/strings/features", string_set(4, list(FEATURES))
        yield "netlink/ethtool/strings/linkmodes", string_set(9, list(MODES))
        for what, made in _ethtool(host, moment).items():
            if what not in host.absent:
                yield f"netlink/ethtool/{what}", made
    for port in host.ports:
        yield from ioctls(host, port, moment)


def _link(host: Host, port: Port, moment: int) -> bytes:
    flags = 0x1003 | (0x10040 if port.carrier else 0)
    if port.name == "lo":
        flags = 0x10049
    parts = [
        number(4, port.mtu), number(13, 1000), attribute(16, u8(6 if port.carrier else 2)),
        text(6, port.qdisc), number(30, 0), number(31, port.queues), number(32, port.queues),
        attribute(33, u8(int(port.carrier))),
        number(35, port.carrier_before + (
            host.count(f"{port.name} carrier", port.carrier_changes, moment) % (1 << 31)
            if port.carrier_changes else 0
        )),
        number(40, 65535), number(41, 65536), number(50, 68), number(51, 9216),
        attribute(1, bytes((2, 0, 0, 0, port.index >> 8, port.index & 255))),
    ]  # fmt: skip
    by_name = {one.name: one for one in host.ports}
    if port.below:
        parts.append(number(5, by_name[port.below].index))
    if port.namespace:
        parts += [number(5, port.index + 1000), attribute(37, struct.pack("=i", 0))]
    if port.master:
        parts.append(number(10, by_name[port.master].index))
    if port.kind or port.master:
        info = [text(1, port.kind)] if port.kind else []
        if port.vlan:
            info.append(nest(2, attribute(1, struct.pack("=H", port.vlan))))
        if port.master:
            info.append(text(4, by_name[port.master].kind))
        parts.append(nest(18, *info))
    if port.xdp:
        parts.append(nest(43, attribute(2, u8(port.xdp_mode)), number(4, port.xdp)))
    if port.hardware and host.kernel >= (5, 14):
        parts += [text(56, parent(host, port)), text(57, port.bus)]
    return link(port.index, port.name, *parts, flags=flags, kind=port.type)


def _counters(host: Host, port: Port, moment: int) -> bytes:
    rates = {
        "rx_packets": port.rx_packets, "tx_packets": port.tx_packets,
        "rx_bytes": port.rx_packets * port.rx_size, "tx_bytes": port.tx_packets * port.tx_size,
        **port.link,
    }  # fmt: skip
    values = []
    for name in LINK:
        owner = f"{port.name} {name.removesuffix('_bytes').removesuffix('_packets')}"
        if name.endswith("_bytes"):  # packets and bytes waver together
            size = port.rx_size if name[0] == "r" else port.tx_size
            values.append(host.count(owner, rates[name[:2] + "_packets"], moment) * size)
        else:
            values.append(host.count(owner, rates.get(name, 0.0), moment))
    return counters(port.index, *values)


def _address(port: Port) -> bytes:
    raw = ip_address(port.address).packed
    prefix = 8 if port.name == "lo" else 24
    head = struct.pack("=BBBBI", 2, prefix, 0, 254 if port.name == "lo" else 0, port.index)
    return message(20, head + attribute(1, raw) + attribute(2, raw))


def _routes(host: Host) -> Iterator[bytes]:
    first = True
    for port in host.ports:
        if not port.address or port.name == "lo":
            continue
        raw = ip_address(port.address).packed
        head = struct.pack("=BBBBBBBBI", 2, 24, 0, 0, 254, 2, 253, 1, 0)
        body = attribute(1, raw[:3] + b"\0") + number(4, port.index) + number(15, 254)
        yield message(24, head + body)
        if first:
            head = struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 254, 3, 0, 1, 0)
            body = number(4, port.index) + attribute(5, raw[:3] + b"\1") + number(15, 254)
            yield message(24, head + body)
            first = False


def _qdisc(host: Host, port: Port, moment: int) -> bytes:
    whole_port = host.count(f"{port.name} tx", port.tx_packets, moment)
    drops = host.count(f"{port.name} qdisc", port.qdisc_drops, moment) if port.qdisc_drops else 0
    queued = port.qdisc_backlog
    made = b""
    for place in range(port.queues + 1 if port.qdisc == "mq" else 1):
        kind, root, sent = port.qdisc, 0xFFFFFFFF, whole_port
        if place:
            kind, root = "fq_codel", 0x10000 | place
            each = port.tx_packets / port.queues
            sent = host.count(f"{port.name} tx queue {place - 1}", each, moment)
        basic = struct.pack("=QI4x", sent * port.tx_size, sent & 0xFFFFFFFF)
        whole = place == 0
        stats = struct.pack("=5I", queued, queued * port.tx_size, drops & 0xFFFFFFFF, 0, 0)
        if not whole and place > 1:
            stats = bytes(20)
        head = struct.pack("=BxHiIII", 0, 0, port.index, 0 if place else 0x10000, root, 0)
        options = b""
        if port.qdisc_rate:  # struct tc_tbf_qopt: two rates, then limit, buffer and mtu
            rate = struct.pack("=8xI12x3I", round(port.qdisc_rate), 1 << 20, 1 << 14, 0)
            options = nest(2, attribute(1, rate))
        made += message(
            36, head + text(1, kind) + options + nest(7, attribute(1, basic), attribute(3, stats))
        )
    if port.policed:
        lost = host.count(f"{port.name} policed", port.policed, moment)
        stats = struct.pack("=5I", 0, 0, lost & 0xFFFFFFFF, 0, 0)
        head = struct.pack("=BxHiIII", 0, 0, port.index, 0xFFFF0000, 0xFFFFFFF1, 0)
        made += message(
            36, head + text(1, "ingress") + nest(7, attribute(1, basic), attribute(3, stats))
        )
    return made


def _firewall(host: Host, moment: int) -> Iterator[bytes]:
    for handle, (limited, rate) in enumerate(host.firewall, 2):
        dropped = host.count(f"firewall {handle}", rate, moment)
        limit = [nft_bytes.expression("limit", nft_bytes.be64(1, 9))] if limited else []
        yield nft_bytes.rule(
            "input", handle, *limit, nft_bytes.counter(dropped), nft_bytes.verdict(nft_bytes.DROP)
        )


def _ethtool(host: Host, moment: int) -> dict[str, bytes]:
    """The dumps of the ethtool family: one message for each device that answers."""
    what = "rings channels coalesce pause eee features fec linkmodes linkstate linkinfo"
    made = dict.fromkeys(what.split(), b"")
    for port in host.ports:
        name = port.name
        if port.ring is not None:
            rx, rx_max, tx, tx_max = port.ring
            made["rings"] += device(
                name, number(2, rx_max), number(5, tx_max), number(6, rx), number(9, tx)
            )
        if port.channels is not None:
            now, most = port.channels
            made["channels"] += device(name, number(5, most), number(9, now))
        if port.coalesce is not None:
            made["coalesce"] += device(name, *(
                attribute(COALESCE[key], u8(value)) if "adaptive" in key
                else number(COALESCE[key], value)
                for key, value in port.coalesce.items()
            ))  # fmt: skip
        if port.pause is not None:
            made["pause"] += device(name, *(
                attribute(place, u8(port.pause[key]))
                for place, key in enumerate(("autoneg", "rx", "tx"), 2)
            ))  # fmt: skip
        if port.eee is not None:
            active, enabled = (u8(int(told)) for told in port.eee)
            made["eee"] += device(
                name, attribute(4, active), attribute(5, enabled), attribute(6, enabled),
                number(7, 17),
            )  # fmt: skip
        if port.features is not None:
            made["features"] += device(name, *(
                bitset(place, bits, None)
                for place, bits in enumerate(feature_bits(port.features), 2)
            ))  # fmt: skip
        if port.fec is not None and host.kernel >= (5, 13):
            blocks = [
                host.count(f"{name} fec {n}", rate, moment) for n, rate in enumerate(port.fec)
            ]
            made["fec"] += device(name, bitset(2, 0, None), attribute(3, u8(1)), nest(
                5, *(attribute(2 + n, struct.pack("=Q", value)) for n, value in enumerate(blocks))
            ))  # fmt: skip
        if port.hardware:
            made["linkstate"] += device(name, attribute(2, u8(int(port.carrier))))
        if port.hardware and port.modes:
            made["linkmodes"] += device(
                name, attribute(2, u8(1)),
                bitset(3, _mode_bits(port.modes), _mode_bits(port.modes), 128),
                bitset(4, _mode_bits(port.peer_modes), None, 128),
                number(5, (port.speed or 0xFFFFFFFF) if port.carrier else 0xFFFFFFFF),
                attribute(6, u8(port.duplex if port.carrier else 255)),
            )  # fmt: skip
    return made


def _mode_bits(names: tuple[str, ...]) -> int:
    return sum(1 << MODES.index(name) for name in names)


def _own(host: Host) -> str:
    return next((p.address for p in host.ports if p.address and p.name != "lo"), "127.0.0.1")


def _waiting(host: Host) -> Iterator[bytes]:
    """What the kernel gives of a socket in TIME_WAIT: struct inet_diag_msg without attributes."""
    own = ip_address(_own(host)).packed + bytes(12)
    for remote, port, many in host.waiting:
        other = ip_address(remote).packed + bytes(12)
        for place in range(many):
            head = struct.pack("=BBBB", 2, 6, 3, 0) + struct.pack(">HH", 32768 + place, port)
            yield message(18, head + own + other + bytes(32))


def _sockets(host: Host, moment: int) -> Iterator[bytes]:
    cookies = count(1)
    own = _own(host)
    for one in host.listeners:
        yield _socket(next(cookies), one, "0.0.0.0", 10, one.waiting, one.backlog, b"")
    for flow in host.flows:
        cookie = next(cookies)
        if flow.brief:
            cookie += 100_000 * moment
            flow = replace(flow, local_port=flow.local_port + 1000 * moment)  # noqa: PLW2901
        info = _tcp_info(host, flow, moment)
        yield _socket(cookie, flow, flow.local or own, 1, flow.recv_q, flow.send_q, info)


def _socket(
    cookie: int, one: Flow | Listener, own: str, state: int, recv_q: int, send_q: int, info: bytes
) -> bytes:
    remote, ports = "0.0.0.0", (0, 0)
    if isinstance(one, Flow):
        remote, ports = one.remote, (one.local_port, one.remote_port)
    else:
        ports = (one.port, 0)
    head = struct.pack("=BBBB", 2, state, 1 if info else 0, 0) + struct.pack(">HH", *ports)
    head += ip_address(own).packed + bytes(12) + ip_address(remote).packed + bytes(12)
    head += struct.pack("=IQ", 0, cookie) + struct.pack("=IIIII", 200, recv_q, send_q, 0, one.inode)
    received = one.rcvbuf if isinstance(one, Flow) else 131072
    sent = one.sndbuf if isinstance(one, Flow) else 16384
    held = recv_q + (one.behind if isinstance(one, Flow) else 0)
    memory = struct.pack("=9I", held, received, 0, sent, 0, send_q, 0, 0, 0)
    parts = attribute(8, b"\0") + attribute(7, memory)
    if info:
        parts += attribute(2, info) + text(4, one.congestion if isinstance(one, Flow) else "cubic")
    return message(18, head + parts)


def _tcp_info(host: Host, flow: Flow, moment: int) -> bytes:
    """struct tcp_info as of Linux 5.4: 228 bytes of it are filled."""
    raw = bytearray(248)

    def put(at: int, form: str, value: float) -> None:
        struct.pack_into(f"={form}", raw, at, int(value))

    def sum_of(name: str, rate: float) -> int:
        return host.count(
            f"{flow.local_port} {flow.remote_port} {flow.remote} {name}", rate, moment
        )

    segment = flow.segment or flow.mss
    segments = flow.tx / segment + flow.rx / segment / 2
    flying = flow.flight or min(flow.cwnd, (flow.tx > 0) + flow.send_q // flow.mss)
    put(0, "B", 1)
    put(2, "B", flow.backoff)  # retransmissions without an answer
    put(4, "B", flow.backoff)
    put(5, "B", flow.options)
    put(6, "B", flow.scales if flow.options & 4 else 0)
    put(7, "B", int(flow.app_limited))
    for at, value in (
        (16, flow.mss), (20, 536), (24, flying), (32, flow.lost),
        (60, 1500 if flow.mss < 1500 else 9000), (64, flow.rcvbuf // 2), (68, flow.rtt),
        (72, flow.rtt - flow.min_rtt if flow.flight else flow.rtt // 5), (76, 0x7FFFFFFF),
        (80, flow.cwnd), (84, flow.mss),
        (92, flow.rcv_rtt), (96, flow.rcvbuf // 2), (144, flow.notsent), (148, flow.min_rtt),
    ):  # fmt: skip
        put(at, "I", value)
    put(100, "I", sum_of("retransmits", flow.retransmits) % (1 << 32) if flow.retransmits else 0)
    put(104, "Q", 1 << 40 if flow.tx and not flow.flight else 2e6 * flow.cwnd * flow.mss / flow.rtt)
    put(120, "Q", sum_of("acked", flow.tx) if flow.acked is None else flow.acked)
    put(128, "Q", sum_of("received", flow.rx) if flow.received is None else flow.received)
    put(136, "I", sum_of("out", segments) % (1 << 32))
    put(140, "I", sum_of("in", segments) % (1 << 32))
    put(152, "I", sum_of("data in", flow.rx / segment) % (1 << 32))
    put(156, "I", (sum_of("data out", flow.tx / segment) + flow.flight) % (1 << 32))
    put(160, "Q", flow.tx)
    for at, _name, share in (
        (168, "busy", flow.busy), (176, "rwnd", flow.rwnd_limited),
        (184, "sndbuf", flow.sndbuf_limited),
    ):  # fmt: skip
        put(at, "Q", round(share * 1e6 * (host.older + host.moments[moment])))
    put(192, "I", sum_of("delivered", flow.tx / flow.mss) % (1 << 32))
    put(200, "Q", sum_of("acked", flow.tx) + flow.flight * flow.mss)
    put(208, "Q", 0)
    put(228, "I", flow.window)
    if flow.gaps or flow.behind:
        put(224, "I", 2 + (sum_of("gaps", flow.gaps) % (1 << 31) if flow.gaps else 0))
    return bytes(raw)
