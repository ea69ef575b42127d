"""Messages of sock_diag for TCP sockets, with a value of its own in each field."""

import struct

from netlink_bytes import message, text

from nettop.host.netlink.codec import attribute


def tcp_info(size: int = 280, **changed: int) -> bytes:
    """A struct tcp_info with the fields that matter set to different values."""
    places = {
        "options": (5, "B", 0b0111), "scales": (6, "B", 0x7A), "flags": (7, "B", 1),
        "mss": (16, "I", 1448), "unacked": (24, "I", 12), "lost": (32, "I", 2),
        "ages": (44, "I", 77), "pmtu": (60, "I", 1500), "rtt": (68, "I", 250),
        "rttvar": (72, "I", 30), "ssthresh": (76, "I", 99), "cwnd": (80, "I", 10),
        "rcv_space": (96, "I", 14600), "retrans": (100, "I", 5), "pacing": (104, "Q", 1 << 40),
        "acked": (120, "Q", 1000), "received": (128, "Q", 2000), "segs_out": (136, "I", 50),
        "segs_in": (140, "I", 60), "notsent": (144, "I", 4096), "min_rtt": (148, "I", 200),
        "delivery": (160, "Q", 125000000), "busy": (168, "Q", 9000), "rwnd": (176, "Q", 800),
        "sndbuf": (184, "Q", 70), "delivered": (192, "I", 44), "sent": (200, "Q", 1234),
        "again": (208, "Q", 56), "needless": (216, "I", 3), "reordered": (220, "I", 9),
        "max_pacing": (112, "Q", 1 << 41), "offered": (228, "I", 65536), "gaps": (224, "I", 17),
    }  # fmt: skip
    raw = bytearray(280)
    raw[3:5] = 2, 5  # window probes, backoff
    for name, (at, form, value) in places.items():
        struct.pack_into(f"={form}", raw, at, changed.get(name, value))
    return bytes(raw[:size])


def socket(
    cookie: int = 7,
    info: bytes | None = None,
    *,
    state: int = 1,
    ipv6: bool = False,
    recv_q: int = 0,
    interface: int = 0,
    memory: int = 9,
    congestion: str = "cubic",
    expires: int = 0,
) -> bytes:
    source = bytes.fromhex("20010db8000000000000000000000001" if ipv6 else "c0000201" + "00" * 12)
    head = struct.pack("=BBBB", 10 if ipv6 else 2, state, 0, 0) + struct.pack(">HH", 5001, 40000)
    head += source + source[:-1] + b"\2" if ipv6 else source + bytes([192, 0, 2, 2]) + bytes(12)
    if ipv6:
        head = struct.pack("=BBBB", 10, state, 0, 0) + struct.pack(">HH", 5001, 40000)
        head += source + source[:-1] + b"\2"
    head += struct.pack("=IQ", interface, cookie)
    head += struct.pack("=IIIII", expires, recv_q, 300, 1000, 4711)
    mem = attribute(7, struct.pack(f"={memory}I", *range(10, 10 + memory)))
    tail = attribute(2, tcp_info() if info is None else info) + text(4, congestion)
    return message(20, head + attribute(8, b"\0") + mem + tail)
