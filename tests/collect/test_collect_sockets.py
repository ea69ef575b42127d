"""Collectors of sockets: UDP, packet, XDP, and the processes that own them."""

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from net_files import UDP, host

from nettop.collect import (
    packet_sockets,
    socket_owners,
    sockets_tcp,
    sockets_udp,
    xdp_sockets,
)
from nettop.collect._table import Memory, recall
from nettop.host.recording import Replay


def test_udp_sockets() -> None:
    (row,) = sockets_udp.parse(UDP)
    assert (row.local, row.local_port, row.remote_port) == ("127.0.0.1", 53, 0)
    assert (row.recv_q, row.uid, row.inode, row.drops, row.ipv6) == (3328, 101, 26519, 297, False)
    assert sockets_udp.end("000080FE00000000FF005450FE000ABC:1F90")[1] == 8080
    assert sockets_udp.end("00000000000000000000000001000000:0000") == ("::1", 0)
    mapped = "0000000000000000FFFF00000202 4D0A:DDD0".replace(" ", "")
    assert sockets_udp.end(mapped) == ("10.77.2.2", 0xDDD0)
    assert [row.local for row in sockets_udp.update(host({"/proc/net/udp": UDP}), {})] == [
        "127.0.0.1"
    ]


def attribute(kind: int, payload: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(payload), kind) + payload + b"\0" * (-len(payload) % 4)


def message(body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), 20, 2, 1, 0) + body


def packet(inode: int, *parts: bytes) -> bytes:
    return message(struct.pack("=BBHIII", 17, 3, 3, inode, 0, 0) + b"".join(parts))


PLAIN = packet(
    11, attribute(0, struct.pack("=6I", 2, 0, 0, 0, 0, 0)),
    attribute(6, struct.pack("=9I", 512, 4096, 0, 0, 0, 0, 0, 0, 7)),
)  # fmt: skip
RING = packet(
    12, attribute(0, struct.pack("=6I", 0, 2, 0, 0, 0, 0)),
    attribute(2, struct.pack("=7I", 4096, 100, 2048, 200, 60, 0, 0)),
    attribute(4, struct.pack("=I", 1 << 16 | 77)),
    attribute(6, struct.pack("=9I", 0, 4096, 0, 0, 0, 0, 0, 0, 0)),
)  # fmt: skip


def test_packet_sockets_by_diag() -> None:
    plain, ring = packet_sockets.decode(PLAIN + RING)
    assert (plain.inode, plain.index, plain.type, plain.protocol) == (11, 2, "raw", 3)
    assert (plain.drops, plain.queued, plain.rcvbuf, plain.ring_version) == (7, 512, 4096, None)
    assert (ring.index, ring.ring_version, ring.ring_bytes) == (None, 3, 409600)
    assert (ring.fanout, ring.fanout_type) == (77, "lb")
    assert ring.drops is None  # only the owner of a ring is told its losses


def test_packet_sockets_from_proc_where_netlink_refuses() -> None:
    text = (
        "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n"
        "00000000deadbeef 3      3    0003   2     1 640    0      75831\n"
    )
    (row,) = packet_sockets.read(host({"/proc/net/packet": text}))
    assert (row.inode, row.index, row.type, row.protocol, row.queued, row.drops) == (
        75831, 2, "raw", 3, 640, None,
    )  # fmt: skip
    answer = base64.b64encode(PLAIN).decode()
    assert packet_sockets.read(host({"netlink/sock_diag/packet": answer}))[0].inode == 11


def test_xdp_sockets() -> None:
    body = struct.pack("=BBHIII", 44, 3, 0, 99, 0, 0)
    body += attribute(1, struct.pack("=II", 4, 7)) + attribute(9, struct.pack("=6Q", *range(1, 7)))
    (row,) = xdp_sockets.decode(message(body))
    assert (row.inode, row.index, row.queue) == (99, 4, 7)
    assert (row.drops, row.ring_full, row.fill_empty) == (1, 3, 4)
    (bare,) = xdp_sockets.decode(message(struct.pack("=BBHIII", 44, 3, 0, 99, 0, 0)))
    assert (bare.index, bare.drops) == (None, None)


@given(st.sampled_from([PLAIN + RING, PLAIN]), st.data())
def test_damaged_answers_are_value_errors(good: bytes, data: st.DataObject) -> None:
    raw = bytearray(good[: data.draw(st.integers(0, len(good)))])
    for _ in range(data.draw(st.integers(0, 4))):
        if raw:
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    for decode in (packet_sockets.decode, xdp_sockets.decode):
        try:
            decode(bytes(raw))
        except ValueError:
            continue


class Asked(Replay):
    """A recording that counts links followed and directories listed."""

    links = lists = 0

    def link(self, path: str) -> str:
        self.links += 1
        return super().link(path)

    def listing(self, path: str) -> list[str]:
        self.lists += 1
        return super().listing(path)


def holders(processes: int, sockets: int) -> str:
    lines = ["c"]
    for pid in range(100, 100 + processes):
        lines += [f"-- /proc/{pid}/comm --", f"p{pid}"]
        for fd in range(sockets):
            lines += [f"-- /proc/{pid}/fd/{fd}@ --", f"socket:[{pid * 1000 + fd}]"]
        lines += [f"-- /proc/{pid}/fd/99@ --", "/dev/null"]
    return "\n".join(lines) + "\n"


def test_owners_are_found_and_unchanged_lists_trusted() -> None:
    source, memory = Asked(holders(3, 2)), Memory()
    rows = socket_owners.update(source, memory)
    assert {(row.inode, row.pid, row.name) for row in rows} == {
        (pid * 1000 + fd, pid, f"p{pid}") for pid in (100, 101, 102) for fd in (0, 1)
    }
    before = source.links
    assert socket_owners.update(source, memory) == rows
    assert source.links == before


def test_a_process_with_many_descriptors_does_not_keep_others_from_being_read() -> None:
    many = socket_owners.LINKS + 1000
    lines = ["counters", "-- /proc/100/comm --", "many", "-- /proc/101/comm --", "few"]
    lines += [f"-- /proc/100/fd/{fd}@ --\nsocket:[{100_000 + fd}]" for fd in range(many)]
    lines += ["-- /proc/101/fd/3@ --\nsocket:[7]"]
    source, memory = Asked("\n".join(lines) + "\n"), Memory()
    rows = socket_owners.update(source, memory)
    assert {row.name for row in rows} == {"many", "few"}
    assert len(rows) == many + 1
    for _ in range(7):  # while all links are followed again as well
        assert socket_owners.update(source, memory) == rows


def test_a_process_with_thousands_of_descriptors_is_listed_seldom_unless_sockets_appear(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket_owners, "LINKS", 10)
    source, memory = Asked(holders(1, 20)), Memory()
    opened = recall(memory, sockets_tcp.Known)
    lists = []
    for reading in range(30):
        opened.opened += reading in (25, 26)
        before = source.lists
        assert len(socket_owners.update(source, memory)) == 20
        lists.append(source.lists - before - 1)  # without that of /proc itself
    assert sum(lists[:25]) == 8
    assert lists[25:27] == [1, 1]


def test_links_are_followed_although_lists_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_owners, "LINKS", 1)
    monkeypatch.setattr(socket_owners, "FEW", 2)
    source, memory = Asked(holders(3, 40)), Memory()
    found = [len(socket_owners.update(source, memory)) for _ in range(6)]
    assert found[-1] == 120
    assert recall(memory, socket_owners.Known).changes <= 4


def test_descriptors_that_wait_to_be_followed_keep_what_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source, memory = Asked(holders(3, 3)), Memory()
    rows = socket_owners.update(source, memory)
    monkeypatch.setattr(socket_owners, "FEW", 1)
    monkeypatch.setattr(socket_owners, "LINKS", 2)
    for _ in range(20):
        assert socket_owners.update(source, memory) == rows
    other = holders(3, 3).replace("socket:[101001]", "socket:[55]")
    for _ in range(20):
        last = socket_owners.update(Asked(other), memory)
    assert {row.inode for row in last} == {row.inode for row in rows} - {101001} | {55}


def test_closed_processes_are_counted() -> None:
    files = {"/proc/7/fd/": "!13 Permission denied", "/proc/7/comm": "root's"}
    files["/proc/8/fd/3@"] = "socket:[55]"
    rows = socket_owners.update(host(files), {})
    assert [(row.inode, row.pid, row.closed) for row in rows] == [(0, None, 1), (55, 8, 0)]
