"""The capturing program and pktgen's: what they ask of the kernel, and what they count."""

import ctypes
import errno
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
from calls import keeping
from far_program import Clock, inside
from hypothesis import given
from hypothesis import strategies as st

from nettop.trials.far import capture, pktgen, protocol

BLOCK = 4096


@pytest.fixture(autouse=True)
def not_stopped() -> Iterator[None]:
    yield
    protocol.stopping.clear()


class Packets:
    """A packet socket: its options by level and name; some fail."""

    def __init__(self, fails: tuple[int, ...] = ()) -> None:
        self.fails = fails
        self.options: list[tuple[int, int, Any]] = []
        self.program: list[tuple[int, ...]] = []
        self.bound: Any = None
        self.asked: list[tuple[int, ...]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def setsockopt(self, level: int, name: int, value: Any) -> None:
        if name in self.fails:
            raise OSError(errno.EPERM, "Operation not permitted")
        if name == capture.SO_ATTACH_FILTER:
            count, at = struct.unpack("HL", value)
            lines = ctypes.string_at(at, 8 * count)
            self.program = list(struct.iter_unpack("=HBBI", lines))
            return
        self.options.append((level, name, value))

    def getsockopt(self, level: int, name: int, size: int) -> bytes:
        self.asked.append((level, name, size))
        return struct.pack("3I", 100, 7, 1)

    def bind(self, address: tuple[str, int]) -> None:
        self.bound = address
        if address[0] == "gone0":
            raise OSError(errno.ENODEV, "No such device")

    def fileno(self) -> int:
        return 4711


def test_the_numbers_are_the_kernels() -> None:
    """linux/if_packet.h, asm-generic/socket.h."""
    names = ("PACKET_VERSION", "PACKET_RX_RING", "PACKET_STATISTICS", "PACKET_IGNORE_OUTGOING")
    assert [getattr(capture, name) for name in names] == [10, 5, 6, 23]
    assert (capture.SOL_PACKET, capture.TPACKET_V3, capture.SO_ATTACH_FILTER) == (263, 2, 26)
    # struct tpacket_block_desc: version, offset; then tpacket_hdr_v1 from its status on
    assert (capture.STATUS, capture.COUNT, capture.LENGTH) == (8, 12, 20)


@given(st.integers(0, 1 << 40))
def test_a_ring_is_blocks_of_powers_of_two_about_as_large_as_asked(size: int) -> None:
    block, blocks = capture.shape(size)
    assert 16 << 10 <= block <= 1 << 20
    assert block & (block - 1) == 0
    assert blocks == max(2, size // block)
    assert blocks >= 64 or block == 16 << 10
    assert block == 1 << 20 or size // (2 * block) < 64  # no smaller than needed


@pytest.mark.parametrize(("block", "blocks"), [(1 << 20, 64), (1 << 16, 8), (4096, 2)])
def test_a_ring_is_told_to_the_kernel_and_mapped(
    monkeypatch: pytest.MonkeyPatch, block: int, blocks: int
) -> None:
    mapped: list[Any] = []
    fake = SimpleNamespace(mmap=lambda *words: mapped.append(words), MAP_SHARED=1)
    monkeypatch.setattr(capture, "mmap", fake)
    sock: Any = Packets()
    capture.ring(sock, block, blocks)
    frames = block * blocks // 2048
    assert sock.options == [
        (263, 10, 2), (263, 5, struct.pack("7I", block, blocks, 2048, frames, 50, 0, 0)),
    ]  # fmt: skip
    assert mapped == [(4711, block * blocks, 1)]


def captured(sock: Packets, error: OSError | None = None, **options: Any) -> list[dict[str, Any]]:
    """The messages of the program; its walk finds nine packets in two seconds."""
    shapes: list[Any] = []

    def opened(*words: int) -> Packets:
        assert words == (socket.AF_PACKET, socket.SOCK_RAW, 0)  # 0: nothing until bound
        if error is not None:
            raise error
        return sock

    fake = SimpleNamespace(**{n: getattr(socket, n) for n in dir(socket) if n.isupper()})
    fake.socket = opened
    with inside(capture) as program, pytest.MonkeyPatch.context() as patch:
        patch.setattr(capture, "socket", fake)
        patch.setattr(capture, "ring", lambda _sock, *shape: keeping(shapes, "memory")(*shape))
        patch.setattr(capture, "walk", lambda _s, memory, *shape: (9, 900, 3.0, 5.0))
        job: Any = {"interface": "eth0", "port": 7009, "cpus": [2], **options}
        capture.main(job)
        assert (program.pinned, program.watched) == ([[2]], 1)
    sock.asked.append(shapes[0] if shapes else ())
    return program.messages


def test_a_capture_is_filtered_bound_and_counted() -> None:
    sock = Packets()
    counted = {"packets": 9, "bytes": 900, "lasted": 2.0, "seen": 100, "dropped": 7, "frozen": 1}
    assert captured(sock) == [{"capturing": "eth0"}, counted]
    assert sock.program == capture.filtered(7009, False)
    assert sock.bound == ("eth0", 3)
    assert sock.options == [(263, 23, 1)]
    assert sock.asked == [(263, 6, 12), (263, 6, 12), (1 << 20, 64)]
    other = Packets((capture.PACKET_IGNORE_OUTGOING,))  # an older kernel
    assert len(captured(other, v6=True, port=9, ring=512 << 10)) == 2
    assert other.program == capture.filtered(9, True)
    assert other.asked[-1] == (16 << 10, 32)


def test_what_the_kernel_refuses_is_one_sentence() -> None:
    denied = OSError(errno.EPERM, "Operation not permitted")
    said = [{"error": "a capture socket: Operation not permitted (needs root)"}]
    assert captured(Packets(), denied) == said
    said = [{"error": "capture on eth0: Operation not permitted"}]
    assert captured(Packets((capture.SO_ATTACH_FILTER,))) == said
    assert captured(Packets(), interface="gone0") == [{"error": "capture on gone0: No such device"}]


class Blocks:
    """A ring in memory; the kernel fills blocks, in order, each time that it is waited for."""

    def __init__(self, blocks: int, fills: list[list[tuple[int, int]]], clock: Clock) -> None:
        self.memory = bytearray(blocks * BLOCK)
        self.blocks, self.fills, self.clock = blocks, fills, clock
        self.next = 0
        self.waits = 0
        self.fill()

    def fill(self) -> None:
        for packets, size in self.fills.pop(0) if self.fills else []:
            base = self.next * BLOCK
            assert self.memory[base + 8] == 0, "a block that was not given back"
            struct.pack_into("=IIII", self.memory, base + 8, 1, packets, 0, size)
            self.next = (self.next + 1) % self.blocks
        if not self.fills:
            protocol.stopping.set()

    def register(self, _sock: Any, events: int) -> None:
        assert events & 1

    def poll(self, milliseconds: int) -> None:
        assert 50 <= milliseconds <= 1000  # a block is given out after 50 ms
        self.waits += 1
        self.clock.now += 1.0
        self.fill()


def walked(fills: list[list[tuple[int, int]]], blocks: int = 3) -> tuple[Any, Blocks]:
    clock = Clock(10.0)
    with pytest.MonkeyPatch.context() as patch:
        ring = Blocks(blocks, fills, clock)
        fake = SimpleNamespace(poll=lambda: ring, POLLIN=1, POLLERR=8)
        patch.setattr(capture, "select", fake)
        patch.setattr(capture, "time", SimpleNamespace(monotonic=clock))
        sock: Any = None
        memory: Any = ring.memory
        return capture.walk(sock, memory, BLOCK, blocks), ring


def test_blocks_are_counted_in_order_and_given_back() -> None:
    found, ring = walked([[], [(3, 300), (1, 100)], [(2, 64)], [], [(5, 50)], [(1, 1), (1, 1)]])
    assert found == (13, 516, 11.0, 15.0)
    assert not any(ring.memory[at * BLOCK + 8] for at in range(3))


def test_after_stop_it_waits_for_the_last_blocks() -> None:
    found, ring = walked([[(4, 400)]])
    assert found == (4, 400, 10.0, 10.0)
    assert ring.waits == 3  # each longer than the kernel holds a block back
    assert walked([])[0] == (0, 0, 0.0, 0.0)


@given(st.lists(st.lists(st.tuples(st.integers(1, 1000), st.integers(1, 4000)), max_size=3)))
def test_no_packet_is_counted_twice_or_left_out(fills: list[list[tuple[int, int]]]) -> None:
    protocol.stopping.clear()
    every = [one for fill in fills for one in fill]
    found, _ = walked([list(fill) for fill in fills])
    assert found[:2] == (sum(n for n, _ in every), sum(size for _, size in every))


# pktgen


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """/proc/net/pktgen: what was written into which file, in order."""
    written: list[tuple[str, str]] = []
    names: dict[int, str] = {}

    def opened(path: str, flags: int) -> int:
        assert flags == 1
        name = path.removeprefix(f"{tmp_path}/")
        if name.startswith("gone"):
            raise OSError(errno.ENOENT, "No such file or directory")
        names[len(names)] = name
        return len(names) - 1

    def write(handle: int, data: bytes) -> None:
        written.append((names[handle], data.decode()))

    def close(handle: int) -> None:
        written.append((names[handle], ""))

    fake = SimpleNamespace(open=opened, write=write, close=close, O_WRONLY=1, path=os.path)
    monkeypatch.setattr(pktgen, "os", fake)
    monkeypatch.setattr(pktgen, "FOLDER", str(tmp_path))
    (tmp_path / "eth0").write_text("Result: OK: 5")
    return written


def commands(written: list[tuple[str, str]]) -> list[tuple[str, str]]:
    assert [data for _, data in written][1::2] == [""] * (len(written) // 2)  # each one closed
    assert all(data.endswith("\n") for _, data in written[::2])
    return [(name, data.strip()) for name, data in written[::2]]


def test_one_device_on_one_thread(folder: list[tuple[str, str]]) -> None:
    with inside(pktgen) as program:
        pktgen.main(
            {"interface": "eth0", "cpu": 3, "count": 7, "size": 60, "to": "192.0.2.1", "mac": "aa"}
        )
        assert program.watched == 1
    assert commands(folder) == [
        ("kpktgend_3", "rem_device_all"), ("kpktgend_3", "add_device eth0"), ("eth0", "count 7"),
        ("eth0", "clone_skb 0"), ("eth0", "pkt_size 60"), ("eth0", "delay 0"),
        ("eth0", "dst 192.0.2.1"), ("eth0", "dst_mac aa"), ("eth0", "udp_dst_min 9"),
        ("eth0", "udp_dst_max 9"), ("pgctrl", "start"), ("pgctrl", "stop"),
        ("kpktgend_3", "rem_device_all"),
    ]  # fmt: skip
    assert program.messages == [{"running": "eth0"}, {"result": "Result: OK: 5"}]


def test_a_device_that_is_gone_is_one_sentence_and_nothing_goes_on(
    folder: list[tuple[str, str]],
) -> None:
    with inside(pktgen) as program:
        pktgen.main({"interface": "gone0", "count": None, "size": 60, "to": "::1", "mac": "aa"})
    assert program.messages == [{"error": "pktgen on gone0: No such file or directory"}]
    assert commands(folder)[-2:] == [("pgctrl", "stop"), ("kpktgend_0", "rem_device_all")]
