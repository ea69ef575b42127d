"""Capture with a TPACKET_V3 ring: count whole blocks; the kernel reports drops.

Documentation/networking/packet_mmap.rst; struct tpacket_block_desc in linux/if_packet.h.
"""

import contextlib
import mmap
import select
import socket
import struct
import time
from typing import TYPE_CHECKING, List, Tuple

from nettop.trials.far.protocol import pin, send, stopping, watch_input

if TYPE_CHECKING:
    from nettop.trials.far.schema import HelperOptions

PACKET_VERSION, PACKET_RX_RING, PACKET_STATISTICS, PACKET_IGNORE_OUTGOING = 10, 5, 6, 23
SOL_PACKET = 263
TPACKET_V3 = 2
SO_ATTACH_FILTER = 26
BLOCK = 1 << 20  # at most
SMALLEST = 16 << 10  # a jumbo frame and its header
RETIRE = 50  # ms after which the kernel closes a block that is not full
BLOCKS = 64  # the one that the kernel fills is not released: at most so much of the ring
RING = 64 << 20
FRAME = 2048
STATUS, COUNT, LENGTH = 8, 12, 20  # offsets in a block: its status, packets, bytes used
HEADER = struct.Struct("=I")


def filtered(port: int, v6: bool) -> List[Tuple[int, int, int, int]]:
    """Classic BPF: UDP to `port`, unfragmented, over IPv4 or IPv6 without extension headers."""
    if v6:
        return [
            (0x28, 0, 0, 12), (0x15, 0, 5, 0x86DD), (0x30, 0, 0, 20), (0x15, 0, 3, 17),
            (0x28, 0, 0, 56), (0x15, 0, 1, port), (0x06, 0, 0, 0x40000), (0x06, 0, 0, 0),
        ]  # fmt: skip
    return [
        (0x28, 0, 0, 12), (0x15, 0, 8, 0x0800), (0x30, 0, 0, 23), (0x15, 0, 6, 17),
        (0x28, 0, 0, 20), (0x45, 4, 0, 0x1FFF), (0xB1, 0, 0, 14), (0x48, 0, 0, 16),
        (0x15, 0, 1, port), (0x06, 0, 0, 0x40000), (0x06, 0, 0, 0),
    ]  # fmt: skip


def attach(sock: socket.socket, program: List[Tuple[int, int, int, int]]) -> None:
    """Attach the filter: the kernel drops all other packets before it counts them."""
    import ctypes

    code = b"".join(struct.pack("=HBBI", *line) for line in program)
    held = ctypes.create_string_buffer(code, len(code))
    sock.setsockopt(
        socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", len(program), ctypes.addressof(held))
    )


def shape(size: int) -> Tuple[int, int]:
    """Bytes of a block, a power of two, and how many blocks make a ring of about `size` bytes.

    The packets of the block that the kernel fills stay in the ring until it is full: with eight
    blocks, up to an eighth of the ring is not free when the reader is held up.
    """
    block = BLOCK
    while block > SMALLEST and size // block < BLOCKS:
        block //= 2
    return block, max(2, size // block)


def ring(sock: socket.socket, block: int, blocks: int) -> mmap.mmap:
    """Create the ring (PACKET_RX_RING) and map it."""
    sock.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V3)
    frames = blocks * (block // FRAME)
    sock.setsockopt(
        SOL_PACKET, PACKET_RX_RING, struct.pack("7I", block, blocks, FRAME, frames, RETIRE, 0, 0)
    )
    return mmap.mmap(sock.fileno(), block * blocks, mmap.MAP_SHARED)


def main(options: "HelperOptions") -> None:
    """Capture datagrams to UDP `port` on `interface` until told to stop; then report the counts."""
    watch_input()
    pin(options.get("cpus"))
    try:
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    except OSError as error:
        send(error="a capture socket: {} (needs root)".format(error.strerror))
        return
    with sock:
        block, blocks = shape(int(options.get("ring") or RING))
        try:
            attach(sock, filtered(int(options["port"] or 0), bool(options.get("v6"))))
            memory = ring(sock, block, blocks)
            sock.bind((options["interface"], 3))  # ETH_P_ALL
        except OSError as error:
            send(error="capture on {}: {}".format(options["interface"], error.strerror))
            return
        with contextlib.suppress(OSError):  # before Linux 4.20 sent packets count too
            sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 12)  # reading resets the counts
        send(capturing=options["interface"])
        packets, size, first, last = walk(sock, memory, block, blocks)
        seen, dropped, frozen = struct.unpack(
            "3I", sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 12)
        )
        send(
            packets=packets, bytes=size, lasted=last - first, seen=seen, dropped=dropped,
            frozen=frozen,
        )  # fmt: skip


def walk(
    sock: socket.socket, memory: mmap.mmap, block: int, blocks: int
) -> Tuple[int, int, float, float]:
    """Count full blocks in ring order and release them; packets, bytes, first and last time."""
    waiting = select.poll()
    waiting.register(sock, select.POLLIN | select.POLLERR)
    unpack, pack = HEADER.unpack_from, HEADER.pack_into
    packets = size = 0
    first = last = 0.0
    current = 0
    idle = 0
    while True:
        base = current * block
        if not unpack(memory, base + STATUS)[0] & 1:  # TP_STATUS_USER: the block is ours
            if stopping.is_set():
                idle += 1
                if idle > 3:
                    return packets, size, first, last
            waiting.poll(60)
            continue
        last = time.monotonic()
        first = first or last
        packets += unpack(memory, base + COUNT)[0]
        size += unpack(memory, base + LENGTH)[0]
        pack(memory, base + STATUS, 0)
        current = (current + 1) % blocks
