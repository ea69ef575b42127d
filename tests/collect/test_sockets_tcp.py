"""TCP sockets from the bytes of sock_diag: old and new kernels, idle and busy, and any bytes."""

import struct
import tracemalloc
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from netlink_bytes import Fake, link, message, text
from tcp_bytes import socket, tcp_info

from nettop.collect import sockets_tcp
from nettop.collect._table import Memory
from nettop.host.netlink.codec import attribute
from nettop.sampling.sampler import Sampler


def parse(raw: bytes) -> list[Any]:
    return sockets_tcp.parse(raw, {}, {})


def test_every_field_is_where_the_kernel_puts_it() -> None:
    row = parse(socket(recv_q=5))[0]
    assert (row.cookie, row.family, row.local, row.local_port) == (7, 4, "192.0.2.1", 5001)
    assert (row.remote, row.remote_port, row.state) == ("192.0.2.2", 40000, "established")
    assert (row.recv_q, row.send_q, row.uid, row.inode) == (5, 300, 1000, 4711)
    assert (row.rmem_alloc, row.rcvbuf, row.sndbuf, row.wmem_queued, row.drops) == (
        10, 11, 13, 15, 18,
    )  # fmt: skip
    assert (row.congestion, row.interface) == ("cubic", None)
    assert (row.timestamps, row.sack, row.wscale, row.ecn) == (True, True, True, False)
    assert (row.snd_wscale, row.rcv_wscale, row.app_limited) == (10, 7, True)
    assert (row.probes, row.backoff) == (2, 5)
    assert (row.mss, row.unacked, row.lost, row.pmtu) == (1448, 12, 2, 1500)
    assert (row.rtt, row.rttvar, row.min_rtt, row.ssthresh, row.cwnd) == (250, 30, 200, 99, 10)
    assert (row.rcv_space, row.total_retrans, row.pacing_rate) == (14600, 5, 1 << 40)
    assert (row.bytes_acked, row.bytes_received, row.segs_out, row.segs_in) == (1000, 2000, 50, 60)
    assert (row.notsent, row.delivery_rate) == (4096, 125000000)
    assert (row.busy_time, row.rwnd_limited, row.sndbuf_limited) == (9000, 800, 70)
    assert (row.delivered, row.bytes_sent, row.bytes_retrans) == (44, 1234, 56)
    assert (row.dsack_dups, row.reord_seen, row.rcv_ooopack) == (3, 9, 17)
    assert (row.max_pacing_rate, row.snd_wnd) == (1 << 41, 65536)


def test_numbers_that_mean_nothing_yet_are_unknown() -> None:
    info = tcp_info(ssthresh=0x7FFFFFFF, pacing=(1 << 64) - 1, max_pacing=(1 << 64) - 1,
                    min_rtt=0xFFFFFFFF, delivery=0)  # fmt: skip
    row = parse(socket(info=info))[0]
    assert (row.ssthresh, row.pacing_rate, row.max_pacing_rate) == (None,) * 3
    assert (row.min_rtt, row.delivery_rate) == (None, None)
    row = parse(socket(info=tcp_info(options=0)))[0]
    assert (row.wscale, row.snd_wscale, row.rcv_wscale) == (False, None, None)


def test_older_kernels_do_not_count_drops() -> None:
    row = parse(socket(memory=8))[0]
    assert (row.backlog, row.drops) == (17, None)


def test_a_listening_socket_has_queues_but_no_tcp_info() -> None:
    row = parse(socket(state=10, recv_q=3))[0]
    assert (row.state, row.recv_q, row.send_q, row.rcvbuf) == ("listen", 3, 300, 11)
    assert (row.rtt, row.congestion, row.sack, row.snd_wnd) == (None, None, None, None)


def test_ipv6_and_an_interface_it_is_bound_to() -> None:
    answers = {
        "sock_diag/tcp4": socket(1),
        "sock_diag/tcp6": socket(2, ipv6=True, interface=3),
        "route/links": link(3, "eth1"),
    }
    first, second = sockets_tcp.update(Fake(answers), {})
    assert (second.family, second.local, second.remote) == (6, "2001:db8::1", "2001:db8::2")
    assert (first.interface, second.interface) == (None, "eth1")


def test_the_inodes_of_listening_sockets_are_kept_for_others() -> None:
    memory: Memory = {}
    answers: dict[str, bytes | int] = {"sock_diag/tcp4": socket() + socket(2, state=10)}
    *_, listening = sockets_tcp.update(Fake({**answers, "sock_diag/tcp6": 2}), memory)
    known = memory[sockets_tcp.Known]
    assert isinstance(known, sockets_tcp.Known)
    assert (known.listening, known.reading) == (frozenset({listening.inode}), 1)


def test_what_is_remembered_of_a_socket_takes_little() -> None:
    count = 300
    reply = b"".join(
        socket(n, info=tcp_info(acked=n << 20, busy=n << 21, rtt=n + 999, segs_out=n + 99_999))
        for n in range(count)
    )
    sockets_tcp.parse(reply, {}, {})  # fills the caches
    tracemalloc.start()
    seen: dict[Any, Any] = {}
    rows = sockets_tcp.parse(reply, {}, seen)
    size, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(seen) == count
    assert size / count < 1800  # bytes; 500 more with copies of the kernel's bytes and addresses
    assert {id(row.local) for row in rows} == {id(rows[0].local)}


def test_rates_are_of_the_socket_and_not_of_its_place() -> None:
    source = Fake({"sock_diag/tcp4": socket(1) + socket(2), "sock_diag/tcp6": b""})
    sampler = Sampler(source)
    sampler.take(["sockets_tcp"])
    source.at = 2.0
    busy = socket(2, info=tcp_info(acked=5000))
    source.netlinks["sock_diag/tcp4"] = socket(3) + busy + socket(1)
    found = sampler.take(["sockets_tcp"]).tables["sockets_tcp"]
    entries: dict[int, Any] = {entry.now.cookie: entry for entry in found}
    assert entries[2].per_s.bytes_acked == 2000.0
    assert entries[1].per_s.bytes_acked == 0.0
    assert entries[3].per_s is None
    assert entries[2].per_s.rtt == 250  # a gauge stays what it is


def test_equal_lengths_with_other_contents_are_told_apart() -> None:
    """`dctcp` and `cubic` take the same room; a swapped order of attributes does too."""
    usual, other = socket(1), socket(2, congestion="dctcp")
    head, rest = usual[:88], usual[88:]
    shutdown, memory, tail = rest[:8], rest[8:48], rest[48:]
    swapped = head + memory + shutdown + tail
    rows = parse(usual + other + swapped)
    assert [row.congestion for row in rows] == ["cubic", "dctcp", "cubic"]
    assert rows[2] == rows[0]


GOOD = socket(1) + socket(2, ipv6=True) + socket(3, state=10) + socket(4, info=tcp_info(104))


@given(st.integers(0, len(GOOD)))
def test_cut_off_answers_are_a_value_error_or_fewer_rows(at: int) -> None:
    try:
        assert len(parse(GOOD[:at])) <= 4
    except ValueError:
        return


@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=8))
def test_changed_bytes_are_a_value_error_or_rows(changes: list[tuple[int, int]]) -> None:
    raw = bytearray(GOOD)
    for at, value in changes:
        raw[at] = value
    seen: dict[Any, Any] = {}
    try:
        sockets_tcp.parse(GOOD, {}, seen)
        sockets_tcp.parse(bytes(raw), seen, {})
    except ValueError:
        return


@given(st.binary(max_size=300))
def test_any_bytes_are_a_value_error_or_rows(raw: bytes) -> None:
    try:
        parse(raw)
    except ValueError:
        return


# Any figures of a socket, against the places that the kernel's headers give them.
#
# The oracle is struct tcp_info (include/uapi/linux/tcp.h) and the order of SK_MEMINFO
# (include/uapi/linux/sock_diag.h).


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
