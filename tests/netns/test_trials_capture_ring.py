"""What the ring of `capture` holds while its reader is held up, counted packet by packet."""

import socket
import struct

import pytest

from nettop.trials.far import capture

pytestmark = pytest.mark.netns
RING = 1 << 20
PORT = 7091
PACKET = 144  # bytes in the ring: struct tpacket3_hdr, sockaddr_ll, 60 bytes, alignment
SENT = 12_000  # more than the ring holds


def released(memory: memoryview, block: int, blocks: int) -> int:
    """Release the full blocks, from the first one; how many."""
    for number in range(blocks):
        at = number * block + capture.STATUS
        if not capture.HEADER.unpack_from(memory, at)[0] & 1:
            return number
        capture.HEADER.pack_into(memory, at, 0)
    return blocks


def held(block: int, blocks: int, before: int) -> int:
    """Packets that find room after a reader released all that it could of `before` packets."""
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        capture.attach(sock, capture.filtered(PORT, v6=False))
        memory = capture.ring(sock, block, blocks)
        sock.bind(("lo", 3))
        sock.setsockopt(capture.SOL_PACKET, capture.PACKET_IGNORE_OUTGOING, 1)
        with memoryview(memory) as view:
            for _ in range(before):
                sender.sendto(bytes(18), ("127.0.0.1", PORT))
            released(view, block, blocks)
            sock.getsockopt(capture.SOL_PACKET, capture.PACKET_STATISTICS, 12)
            for _ in range(SENT):
                sender.sendto(bytes(18), ("127.0.0.1", PORT))
            seen, dropped, _ = struct.unpack(
                "3I", sock.getsockopt(capture.SOL_PACKET, capture.PACKET_STATISTICS, 12)
            )
        memory.close()
    return int(seen - dropped)


def test_a_ring_is_almost_all_free_when_the_reader_has_done_what_it_could(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With eight blocks a third less fits: the block being filled, and what remains at the ends."""
    monkeypatch.setattr(capture, "RETIRE", 600_000)  # a slow machine closes no block early
    block, blocks = capture.shape(RING)
    # a moment before a block is full, its packets are the most that no reader can release
    assert held(block, blocks, block // PACKET - 1) >= 0.85 * RING / PACKET
