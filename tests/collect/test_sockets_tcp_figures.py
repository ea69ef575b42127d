"""Any figures of a socket, against the places that the kernel's headers give them.

The oracle is struct tcp_info (include/uapi/linux/tcp.h) and the order of SK_MEMINFO
(include/uapi/linux/sock_diag.h).
"""

from __future__ import annotations

import struct
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from netlink_bytes import message, text

from nettop.collect import sockets_tcp
from nettop.host.netlink.codec import attribute

INFO = {
    "mss": 16, "unacked": 24, "lost": 32, "last_sent": 44, "last_received": 52,
    "pmtu": 60, "rtt": 68, "rttvar": 72,
    "ssthresh": 76, "cwnd": 80, "rcv_rtt": 92, "rcv_space": 96, "total_retrans": 100,
    "segs_out": 136, "segs_in": 140, "notsent": 144, "min_rtt": 148, "data_segs_in": 152,
    "data_segs_out": 156, "delivered": 192, "delivered_ce": 196, "dsack_dups": 216,
    "reord_seen": 220, "rcv_ooopack": 224, "snd_wnd": 228,
}  # fmt: skip
LONG = {"pacing_rate": 104, "max_pacing_rate": 112, "bytes_acked": 120, "bytes_received": 128,
        "delivery_rate": 160, "busy_time": 168, "rwnd_limited": 176, "sndbuf_limited": 184,
        "bytes_sent": 200, "bytes_retrans": 208}  # fmt: skip
MEMORY = ("rmem_alloc", "rcvbuf", "wmem_alloc", "sndbuf", "fwd_alloc", "wmem_queued", "optmem",
          "backlog", "drops")  # fmt: skip
COUNTS = ("recv_q", "send_q", "uid", "inode")
ALL32, ALL64 = 2**32 - 1, 2**64 - 1
EDGES = st.sampled_from([0, 1, 2**31 - 2, 2**31 - 1, 2**31, ALL32 - 1, ALL32])
SHORT = EDGES | st.integers(0, ALL32)
WIDE = EDGES | st.sampled_from([ALL64 - 1, ALL64]) | st.integers(0, ALL64)
FIGURES = st.fixed_dictionaries({
    **dict.fromkeys((*COUNTS, *MEMORY, *INFO), SHORT), **dict.fromkeys(LONG, WIDE),
})  # fmt: skip


def expected(name: str, value: int) -> int | None:
    """What a figure means: `not set` and `no limit` have numbers of their own."""
    if name == "ssthresh":
        return None if value >= 2**31 - 1 else value
    if name in ("pacing_rate", "max_pacing_rate"):
        return None if value == ALL64 else value
    if name == "min_rtt":
        return None if value == ALL32 else value
    return None if name == "delivery_rate" and value == 0 else value


def message_of(figures: dict[str, int], *, turned: bool, size: int, state: int = 1) -> bytes:
    """One message; `turned`: the attributes in another order; `size` of tcp_info."""
    info = bytearray(280)
    for places, form in ((INFO, "=I"), (LONG, "=Q")):
        for name, at in places.items():
            struct.pack_into(form, info, at, figures[name])
    head = struct.pack("=BBBB", 2, state, 0, 0) + struct.pack(">HH", 5001, 40000)
    head += bytes([192, 0, 2, 1, *[0] * 12, 192, 0, 2, 2, *[0] * 12]) + struct.pack("=IQ", 0, 7)
    head += struct.pack("=5I", 0, *(figures[name] for name in COUNTS))
    parts = [attribute(7, struct.pack("=9I", *(figures[name] for name in MEMORY))),
             attribute(2, bytes(info[:size])), text(4, "cubic")]  # fmt: skip
    return message(20, head + b"".join(parts[::-1] if turned else parts))


def row(raw: bytes) -> Any:
    (found,) = sockets_tcp.parse(raw, {}, {})
    return found


@given(FIGURES, st.booleans())
def test_each_figure_is_that_of_its_place(figures: dict[str, int], turned: bool) -> None:
    found = row(message_of(figures, turned=turned, size=280))
    assert {name: getattr(found, name) for name in figures} == {
        name: expected(name, value) for name, value in figures.items()
    }


@given(FIGURES, st.sampled_from([104, 120, 136, 160, 168, 192, 224, 232]))
def test_a_kernel_that_sends_less_knows_less(figures: dict[str, int], size: int) -> None:
    found = row(message_of(figures, turned=False, size=size))
    ends = {name: at + 4 for name, at in INFO.items()} | {n: at + 8 for n, at in LONG.items()}
    for name, end in ends.items():
        known = getattr(found, name)
        assert known == (expected(name, figures[name]) if end <= size else None), name


@given(FIGURES)
def test_a_listening_socket_has_its_queues_and_memory(figures: dict[str, int]) -> None:
    found = row(message_of(figures, turned=False, size=280, state=10))
    assert [getattr(found, name) for name in (*COUNTS, *MEMORY)] == [
        figures[name] for name in (*COUNTS, *MEMORY)
    ]
    assert all(getattr(found, name) is None for name in (*INFO, *LONG))
    assert found.state == "listen"
